"""A snapshot: the window as one commit left it, for as long as somebody looks at it.

It maps its files when it is taken, so that nothing a writer or a vacuum does can change or break it, and takes no lock
(where files are updated in place it tells the vacuum which commit it holds). A query is turned into one range of ordinals
for each part that can have an answer; a window that is soft on disk is cut exactly to its slots here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wavedex.errors import MissingColumn
from wavedex.index.definition import Definition
from wavedex.log import Manifest, manifest_name
from wavedex.store import Files, Part, Range, Shard, open_shard
from wavedex.store.part import Slots
from wavedex.store.reading import shard_of, shard_of_one

Target = tuple[Shard, Range | None]
"""A shard to ask, and the ordinals in which its rows count; None for all of them."""

SELECTIONS_MAX = 64
"""How many different since/until pairs a snapshot remembers."""


class Snapshot:
    """The window at one commit. All methods read; none sees a later commit."""

    def __init__(self, definition: Definition, files: Files, manifest: Manifest) -> None:
        """Map the files of a manifest. Raises FileNotFoundError where it was vacuumed meanwhile."""
        self._definition = definition
        self._files = files
        self._manifest = manifest
        changes = definition.technique.changes_files
        self._pin = files.pin(manifest_name(manifest.commit)) if changes else None
        opened: dict[str, Shard] = {}
        self._shards: list[list[tuple[Shard, Part]]] = [[] for _ in range(definition.shards)]
        for sub in manifest.indexes.values():
            for shard, parts in enumerate(sub.shards):
                for part in parts:
                    name = part.files["directory"].name
                    if name not in opened:
                        opened[name] = open_shard(files, definition.spec, part)
                    self._shards[shard].append((opened[name], part))
        self._select = lru_cache(SELECTIONS_MAX)(self._find_targets)
        self._everything = self._find_targets(None, None, False)
        self._is_hidden = definition.time is None

    @property
    def commit(self) -> int:
        """The number of the commit."""
        return self._manifest.commit

    @property
    def slots(self) -> list[int]:
        """The slots of the window, oldest first; empty while nothing was appended."""
        return sorted(self._window)

    @property
    def sub_indexes(self) -> dict[str, list[int]]:
        """The slots that each sub-index holds."""
        return {name: sorted(sub.slots) for name, sub in self._manifest.indexes.items()}

    @property
    def _window(self) -> Slots:
        state = self._manifest.state
        if state is None:
            return frozenset()
        newest = state["newest"]
        return frozenset(range(newest - self._definition.window + 1, newest + 1))

    def probe(
        self,
        key: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of one key (IndexProbe, and TimedIndexProbe with `since` or `until`).

        Slot numbers and dates mean their whole interval, a datetime is compared with the row's own time, and both ends
        are included. `expired` also shows what a soft window still holds. No order of rows is promised.
        COST: one look-up and one slice for each part that can have an answer.
        """
        key_type = self._definition.spec.key_type
        plain = key_type.plain(key)
        hashed = key_type.hash(plain)
        if since is None and until is None and not expired:
            selected = self._everything
        else:
            selected = self._selected(since, until, expired)
        batches = []
        for shard, within in selected[shard_of_one(hashed, len(selected))]:
            found = shard.probe(plain, hashed, within)
            if found is not None:
                batches.append(found)
        table = pa.Table.from_batches(batches, self._definition.spec.schema)
        if columns is None and not self._is_hidden:
            return table
        return table.select(self._names(columns))

    def probe_many(
        self,
        keys: Iterable[Any],
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of several keys in one table; a key that is given twice is answered once."""
        spec = self._definition.spec
        wanted = pc.unique(spec.key_type.array(keys))
        hashes = spec.key_type.hash_array(wanted)
        owners = shard_of(hashes, self._definition.shards)
        batches = []
        for number, targets in enumerate(self._selected(since, until, expired)):
            mine = owners == number
            if targets and mine.any():
                some, some_hashes = wanted.filter(pa.array(mine)), hashes[mine]
                for shard, within in targets:
                    batches.append(shard.probe_many(some, some_hashes, within))
        return self._table(batches, columns)

    def probe_range(
        self,
        low: Any,
        high: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries whose keys lie between two, both included."""
        key_type = self._definition.spec.key_type
        least, most = key_type.plain(low), key_type.plain(high)
        batches = [
            shard.probe_range(least, most, within)
            for targets in self._selected(since, until, expired)
            for shard, within in targets
        ]
        return self._table(batches, columns)

    def scan(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.RecordBatchReader:
        """All entries (SegmentScan, and TimedSegmentScan with `since` or `until`), batch by batch."""
        names = self._names(columns)
        selected = self._selected(since, until, expired)

        def batches() -> Iterator[pa.RecordBatch]:
            for targets in selected:
                for shard, within in targets:
                    yield shard.scan(within).select(names)

        schema = pa.schema([self._definition.schema.field(name) for name in names])
        return pa.RecordBatchReader.from_batches(schema, batches())

    def files(self, since: Any = None, until: Any = None) -> list[str]:
        """The paths of the files in which the entries of a span of time lie, for other tools to read.

        A file may hold rows outside of it too: filter by the time column.
        """
        shards = [shard for row in self._selected(since, until, False) for shard, _ in row]
        names = dict.fromkeys(shard.part.files["rows"].name for shard in shards)
        return [str(self._files.path(name)) for name in names]

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        known = self._definition.schema.names
        if columns is None:
            return list(known)
        if isinstance(columns, str):
            columns = [columns]
        for name in columns:
            if name not in known:
                raise MissingColumn(f"The index has no column {name!r}. It has {', '.join(known)}.")
        return list(columns)

    def _table(self, batches: Iterable[pa.RecordBatch], columns: Sequence[str] | None) -> pa.Table:
        rows = [batch for batch in batches if batch.num_rows]
        table = pa.Table.from_batches(rows, self._definition.spec.schema)
        return table.select(self._names(columns))

    def _selected(self, since: Any, until: Any, expired: bool) -> list[list[Target]]:
        start, stop = self._definition.slotting.bounds(since, until)
        return self._select(start, stop, bool(expired))

    def _find_targets(
        self, start: int | None, stop: int | None, expired: bool
    ) -> list[list[Target]]:
        """The shards that can have an answer, and where in them it can lie."""
        window = self._window
        slot_start = self._definition.slotting.start
        selected: list[list[Target]] = []
        for parts in self._shards:
            targets: list[Target] = []
            for shard, part in parts:
                visible = part.shown if expired else part.shown & window
                for within in part.ranges(visible, slot_start) if visible else ():
                    held = slot_start(min(part.held)), slot_start(max(part.held) + 1)
                    low, high = held if within is None else within
                    narrow = (
                        low if start is None else max(low, start),
                        high if stop is None else min(high, stop),
                    )
                    if narrow[0] < narrow[1]:
                        targets.append((shard, None if narrow == held else narrow))
            selected.append(targets)
        return selected

    def __repr__(self) -> str:
        return f"<Snapshot of {self._files.root} at commit {self.commit}>"


def rows_by_slot(snapshot: Snapshot) -> dict[int, int]:
    """How many entries each slot of the window has."""
    definition = snapshot._definition
    counts = dict.fromkeys(snapshot.slots, 0)
    for targets in snapshot._everything:
        for shard, within in targets:
            ordinals = definition.spec.ordinals(shard.scan(within))
            found, number = np.unique(definition.slotting.slots_of(ordinals), return_counts=True)
            for slot, count in zip(found.tolist(), number.tolist(), strict=True):
                counts[slot] += count
    return counts
