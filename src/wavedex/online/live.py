"""A window in memory and its archive on disk, read as one, with no row twice.

The archive has every basic window that was handed on to it, and a window has those that were not.
So what is on disk and what is owed to it are all rows that are complete, each once. What is asked
of a time that lies in memory altogether is answered from memory alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wavedex.errors import BadDefinition, BadKey
from wavedex.index import WaveIndex
from wavedex.online.archive import Archive, check_index
from wavedex.online.pace import TimePace
from wavedex.online.turns import Turn, in_turn
from wavedex.rows import compute as pc
from wavedex.rows.arrow import to_arrow
from wavedex.slots import ordinals

if TYPE_CHECKING:
    from wavedex.online.archive import AnyIndex
    from wavedex.online.window import Window


class Live:
    """The rows of a window and of its archive. Make one with `wavedex.live`."""

    def __init__(self, window: Window, index: AnyIndex) -> None:
        """Read a window and the index that is its archive. Raises BadDefinition."""
        check_index(index)
        self._window = window
        self.turn: Turn = window.turn
        self._index = index
        self._definition = index.definition
        archives = [each for each in window.watchers if isinstance(each, Archive)]
        found = [each for each in archives if each.index.path == index.path]
        if not found:
            raise BadDefinition(
                f"{index.path} is not the archive of the window, so rows could come twice. Begin "
                "with window.archive(index, stream=...), or Window.restore."
            )
        self._archive = found[0]

    @in_turn
    def probe(
        self, key: Any, since: Any = None, until: Any = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows of one key, the oldest first."""
        memory = self._in_memory(since, until, columns)
        if memory is not None:
            return _chosen(self._of_key(memory, key), columns)
        found = self._index.probe(key, since, until, columns)
        return self._with(found, self._of_key(self._owed(since, until), key), columns)

    @in_turn
    def scan(
        self, since: Any = None, until: Any = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """All rows."""
        memory = self._in_memory(since, until, columns)
        if memory is not None:
            return _chosen(memory, columns)
        found = self._index.scan(since, until, columns).read_all()
        return self._with(found, self._owed(since, until), columns)

    @in_turn
    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._index) + self._owed(None, None).num_rows

    def __repr__(self) -> str:
        return f"<Live: {self._window!r} and {self._index!r}>"

    def _with(self, found: pa.Table, owed: pa.Table, columns: Sequence[str] | None) -> pa.Table:
        owed = _chosen(owed, columns).select(found.column_names).cast(found.schema)
        return pa.concat_tables([found, owed]) if owed.num_rows else found

    def _owed(self, since: Any, until: Any) -> pa.Table:
        """The rows that are complete and not in the archive yet."""
        schema = self._index.schema
        batches = [batch.select(schema.names) for batch in self._archive.waiting()]
        rows = pa.Table.from_batches(batches, schema)
        for name in self._definition.key_names:  # The index will not have those without a key.
            if rows.column(name).null_count:
                rows = rows.filter(pc.is_valid(rows.column(name)))
        return self._between(rows, since, until)

    def _in_memory(self, since: Any, until: Any, columns: Sequence[str] | None) -> pa.Table | None:
        """The rows from an instant on, if memory has all of them."""
        pace, time = self._window.pace, self._definition.time
        oldest = next(self._window.basics(), None)
        if since is None or oldest is None or not isinstance(self._index, WaveIndex):
            return None
        if not isinstance(pace, TimePace) or pace.time != time:
            return None
        start, _ = self._definition.slotting.bounds(since, until)
        if start is None or start < pace.slotting.start(oldest.number):
            return None
        rows = pa.Table.from_batches([self._window.rows(self._index.schema.names)])
        return self._between(rows, since, until)

    def _between(self, rows: pa.Table, since: Any, until: Any) -> pa.Table:
        time = self._definition.time
        start, stop = self._definition.slotting.bounds(since, until)
        if time is None or (start is None and stop is None) or not rows.num_rows:
            return rows
        times = ordinals(rows.column(time))
        kept = times == times
        if start is not None:
            kept &= times >= start
        if stop is not None:
            kept &= times < stop
        return rows.filter(to_arrow(kept))

    def _of_key(self, rows: pa.Table, key: Any) -> pa.Table:
        names = self._definition.key_names
        parts: Iterable[Any] = key if len(names) > 1 else (key,)
        try:
            for name, part in zip(names, parts, strict=True):
                kind = rows.schema.field(name).type
                rows = rows.filter(pc.equal(rows.column(name), pa.scalar(part, kind)))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise BadKey(f"{key!r} is no key of {', '.join(names)}: {error}.") from error
        return rows


def live(window: Window, index: AnyIndex) -> Live:
    """Memory and disk as one: a window, and the index that is its archive.

    Raises BadDefinition where the index is not the archive of the window.
    """
    return Live(window, index)


def _chosen(rows: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    return rows if columns is None else rows.select(list(columns))
