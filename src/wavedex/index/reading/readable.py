"""What can be asked of an index and of a snapshot: the same questions, answered by the same code.

The snapshot that answers turns a query into a list of targets. This module asks them and puts the
answers together. An index answers from a snapshot of its newest commit, a snapshot from itself.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from wavedex.errors import BadCondition
from wavedex.files.opened import AT_ONCE_MAX
from wavedex.index.reading.arrangement import arrange_stream, check_arrangement
from wavedex.index.reading.asked import ALL, Asked
from wavedex.rows.codes import dictionary_of, shared_words, with_codes
from wavedex.slots import NamedSlots
from wavedex.store.blame import raise_blamed
from wavedex.store.shard import Shard, shard_of_one

if TYPE_CHECKING:
    from wavedex.index.core.definition import Target
    from wavedex.index.reading.snapshot import Snapshot

KEYS_MANY = 10_000
"""From this many keys on, several parts are asked at the same time."""
ROWS_MANY = 100_000
"""From this many rows to copy on, a scan copies in the background."""
COLD_NS = 150_000
"""A probe that takes longer than this has waited for a disk.

It is ten times as long as a probe in memory takes.
"""
BATCHES_AHEAD = 2
"""How many batches a background thread makes ahead."""


class Readable(ABC):
    """The reading methods. Rows have the columns of the schema only.

    The rows of one key come in the order of their times, oldest first: by the time column, by the
    slot where there is none, by insertion in a lifetime index. Those of several keys, of a range of
    keys and of a scan come as they lie, in no promised order. On all of them:

    - `order` is "time", oldest first, or "-time", newest first.
    - `last` is how many of the latest rows: of each key, or of all in a scan. They come oldest
      first.
    - `limit` is how many rows at most: the first ones in that order.
    - `where` is a condition in DuckDB's SQL, such as "amount > 100 and country = 'FR'". What it
      says of the time or of the key is looked up rather than compared row by row. Instants are
      compared to the microsecond, and those without a zone are local to that of the index.

    In `since` and `until`, slot numbers and dates mean their whole interval. A datetime is compared
    with the row's own time. Both ends are included. `columns` chooses columns. `expired` also shows
    what a soft window still holds. `follow` fetches the whole records to which the entries point,
    one for each entry, and `columns` are then those of the records.

    A lifetime index compares `since` and `until` with the insertion time of a row, and `expired`
    shows rows that are over and still there. With `shorten`, it answers as if its windows were
    shorter: by a duration, such as "4 minutes", where all are shorter by as much. Where it keeps
    the times of the rows that an entry was made of (`spans`), or their positions (`counts`), by how
    much each is shorter, by name. Raises BadDefinition where windows cannot be shortened.
    """

    @abstractmethod
    def _current(self) -> Snapshot:
        """The snapshot that answers."""

    def _as_of(
        self, key: Any, time: Any, columns: Sequence[str] | None, others: Sequence[Any]
    ) -> pa.Table:
        raise BadCondition(
            "as_of= is asked of an index: a snapshot is as of its commit and of no other time."
        )

    def probe(
        self,
        key: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        follow: bool = False,
        shorten: Any = None,
        order: str | None = None,
        last: int | None = None,
        limit: int | None = None,
        where: str | None = None,
        as_of: Any = None,
    ) -> pa.Table:
        """The entries of one key (IndexProbe, and TimedIndexProbe with `since` or `until`).

        With `as_of`, and `columns` at most beside it, those that an index had at a past time, from
        the commits that are kept; a date is the end of its day. Raises RowsGone where only its
        `history` still tells whether the key was there, and CommitGone where nothing does.

        COST: one look-up and one slice for each part that can have an answer.
        """
        if as_of is not None:
            others = (since, until, shorten, order, last, limit, where)
            return self._as_of(key, as_of, columns, [*others, expired or None, follow or None])
        snapshot = self._current()
        asked = ALL
        as_they_lie = order is None and last is None and limit is None and where is None
        if not as_they_lie:
            asked = Asked(
                since, until, columns, expired, follow, shorten, order, last, limit, where
            )
            check_arrangement(asked)
        elif not since is until is columns is shorten is None or expired or follow:
            asked = Asked(since, until, columns, expired, follow, shorten)
        if shorten is not None:
            snapshot = snapshot.seen(shorten)
        definition = snapshot.definition
        key_type = definition.spec.key_type
        plain = key_type.plain(key)
        hashed = key_type.hash(plain)
        targets = snapshot.targets(shard_of_one(hashed, definition.shards), asked)
        begun_ns = perf_counter_ns()
        batches: list[pa.RecordBatch] = []
        try:
            if snapshot.cold_probes:
                snapshot.seek(targets, [plain], [hashed])
            for shard, within in targets:
                try:
                    found = shard.probe(plain, hashed, within)
                except Exception as error:
                    raise_blamed(shard, error)
                if found is None:
                    continue
                if type(found) is list:
                    batches += found
                else:
                    batches.append(found)
        except FileNotFoundError as error:
            # What it is renewed to is shortened already.
            newer = snapshot.renewed(error)
            return newer.probe(
                key, since, until, columns, expired, follow, None, order, last, limit, where
            )
        if perf_counter_ns() - begun_ns > COLD_NS:
            snapshot.note_slow_probe()
        if not (as_they_lie and targets.in_order):
            batches = snapshot.arranged(batches, asked, of_one_key=True)
        return snapshot.table(batches, asked)

    def probe_many(
        self,
        keys: Iterable[Any],
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        follow: bool = False,
        shorten: Any = None,
        order: str | None = None,
        last: int | None = None,
        limit: int | None = None,
        where: str | None = None,
    ) -> pa.Table:
        """The entries of several keys in one table; a key that is given twice is answered once."""
        asked = Asked(since, until, columns, expired, follow, shorten, order, last, limit, where)
        check_arrangement(asked)
        return _probe_many(self._current().seen(shorten), keys, asked)

    def probe_range(
        self,
        low: Any,
        high: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        follow: bool = False,
        shorten: Any = None,
        order: str | None = None,
        last: int | None = None,
        limit: int | None = None,
        where: str | None = None,
    ) -> pa.Table:
        """The entries whose keys lie between two, both included."""
        asked = Asked(since, until, columns, expired, follow, shorten, order, last, limit, where)
        check_arrangement(asked)
        snapshot = self._current().seen(shorten).held()
        key_type = snapshot.definition.spec.key_type
        least, most = key_type.plain(low), key_type.plain(high)
        batches = [
            shard.probe_range(least, most, within) for shard, within in snapshot.all_targets(asked)
        ]
        if asked.is_arranged:
            batches = snapshot.arranged(batches, asked, of_one_key=False)
        return snapshot.table(batches, asked)

    def scan(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        dictionaries: bool = False,
        shorten: Any = None,
        order: str | None = None,
        last: int | None = None,
        limit: int | None = None,
        where: str | None = None,
    ) -> pa.RecordBatchReader:
        """All entries (SegmentScan, and TimedSegmentScan with `since` or `until`), batch by batch.

        With `dictionaries`, columns of text that have few values are handed over as Arrow's
        dictionaries, in which they are kept besides. Grouping by them then takes half the time, or
        a third with `wavedex.split_codes`. The schema of the reader says which columns these are. A
        column's dictionary is the same in all batches.
        """
        snapshot = self._current().seen(shorten).held()
        names = snapshot.names(columns)
        asked = Asked(since, until, columns, expired, False, shorten, order, last, limit, where)
        check_arrangement(asked)
        targets = snapshot.all_targets(asked)
        words = words_of(snapshot, [s for s, _ in targets], names) if dictionaries else {}
        fields = (snapshot.definition.schema.field(name) for name in names)
        schema = pa.schema(
            [
                field.with_type(dictionary_of(field.type)) if field.name in words else field
                for field in fields
            ],
            snapshot.definition.schema.metadata if columns is None else None,
        )
        if asked.is_arranged:
            batches = stream_arranged(snapshot, asked, targets, names, words)
        else:
            batches = stream_targets(snapshot, targets, names, words)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def to_duckdb(
        self,
        connection: Any,
        name: str,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        shorten: Any = None,
    ) -> Any:
        """Make the window a view of that name in a DuckDB connection, and return it as a relation.

        The view shows one commit, that of now, however often it is queried and whatever is appended
        later. Calling this again shows the newest. The view is temporary. It holds the commit's
        files until it is made again or the connection is closed.

        Raises BadName, SchemaMismatch, MissingColumn or BadTime; PackageMissing where there is no
        DuckDB.

        COST: no row is copied of packed files, and none is read of Parquet.
        """
        from wavedex.index.reading.duckdb_view import make_view

        asked = Asked(since, until, columns, expired)
        return make_view(self._current().seen(shorten).held(), connection, name, asked)

    def to_polars(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        shorten: Any = None,
    ) -> Any:
        """The window as a lazy frame of Polars, which reads nothing until it is collected.

        It shows one commit, that of now, however often it is collected. What Polars does not need
        of it is not read: columns, rows past a limit, and slots outside of the times with which the
        time column is compared.

        Raises SchemaMismatch, MissingColumn or BadTime; PackageMissing where there is no Polars.
        """
        from wavedex.index.reading.polars_frame import make_frame

        asked = Asked(since, until, columns, expired)
        return make_frame(self._current().seen(shorten).held(), asked)

    def files(self, since: Any = None, until: Any = None) -> list[str]:
        """The paths, or URIs, of the files with the entries of a span of time, for other tools.

        A file may hold rows outside of the span too: filter by the time column. The files of a
        lifetime index also hold rows that are over and rows that were retracted. Nothing in the
        files tells them from others. So do not take them for an answer, and ask with `scan`.
        """
        snapshot = self._current()
        targets = snapshot.all_targets(Asked(since, until))
        names = (shard.part.files["rows"].name for shard, _ in targets)
        return [snapshot.path_of(name) for name in dict.fromkeys(names)]

    def last(self, span: Any) -> Readable:
        """The last part of it, to be read as all of it is: so many slots, or so much time.

        `last(7)` are the last seven slots, `last("7 days")` the last seven days: up to the end of
        the newest slot, or up to the present instant of a lifetime index, where rows count by their
        insertion. It moves on as the index does. Raises BadTime.
        """
        from wavedex.index.reading.recent import Recent

        found = Recent(self, span)
        found._current()
        return found

    def to_arrow(self, **asked: Any) -> pa.Table:
        """All of it as a table, or what `scan` is asked for."""
        return self.scan(**asked).read_all()

    def to_pandas(self, **asked: Any) -> Any:
        """All of it as a data frame of pandas, or what `scan` is asked for."""
        return self.to_arrow(**asked).to_pandas()

    def __arrow_c_schema__(self) -> Any:
        """Its columns, for whoever knows Arrow's C interface."""
        return self._current().definition.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All of it, for whoever knows Arrow's C interface: Polars, DuckDB, pandas and others."""
        return self.scan().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """How many rows there are. COST: the rows of parts that count in part are looked at."""
        return self._current().count_rows()

    def __bool__(self) -> bool:
        """It is there, even where it has no rows."""
        return True

    def __contains__(self, key: Any) -> bool:
        """Whether a key has rows. Raises BadKey."""
        return self.probe(key).num_rows > 0

    @property
    def slots(self) -> NamedSlots:
        """The slots of the window, oldest first; empty while nothing was appended."""
        current = self._current()
        return NamedSlots(sorted(current.window), current.definition.slotting)

    @property
    def sub_indexes(self) -> dict[str, NamedSlots]:
        """The slots that each sub-index holds, including those that drain since a migration."""
        current = self._current()
        manifest, slotting = current.manifest, current.definition.slotting
        draining = {name: sub for name, sub in manifest.draining.items() if not sub.is_over}
        subs = {**manifest.indexes, **draining}
        return {name: NamedSlots(sorted(sub.slots), slotting) for name, sub in subs.items()}

    def __dir__(self) -> list[str]:
        """What users call. What parts of Wavedex call on each other is there and not shown."""
        return sorted({name for name in super().__dir__() if name not in self._inner})

    _inner: ClassVar[frozenset[str]] = frozenset()
    """What is public among our own modules only."""


def _probe_many(snapshot: Snapshot, keys: Iterable[Any], asked: Asked) -> pa.Table:
    try:
        entries = snapshot.entries_of(keys, asked)
    except FileNotFoundError as error:
        return _probe_many(snapshot.renewed(error), keys, asked)
    if asked.is_arranged:
        entries = snapshot.arranged(entries, asked, of_one_key=False)
    return snapshot.table(entries, asked)


def words_of(
    snapshot: Snapshot, shards: Sequence[Shard], names: Sequence[str]
) -> dict[str, pa.Array]:
    """The words of columns that all shards have as dictionaries, where there are few enough."""
    spec = snapshot.definition.spec
    found = {
        name: shared_words(spec.schema.field(name).type, (shard.words_of(name) for shard in shards))
        for name in spec.text.intersection(names, *(shard.codable for shard in shards))
    }
    return {name: words for name, words in found.items() if words is not None}


def stream_targets(
    snapshot: Snapshot,
    targets: Sequence[Target],
    names: list[str],
    words: Mapping[str, pa.Array] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Some columns of all rows that targets have, batch by batch; those of `words` as dictionaries.

    The snapshot is held for as long as somebody reads them.
    """

    def stream(some: Sequence[Target]) -> Iterator[pa.RecordBatch]:
        for shard, within in some:
            yield from shard.stream(within, names, words)

    disks = snapshot.by_disk(targets)
    if len(disks) > 1:
        yield from read_together([stream(some) for some in disks])
        return
    whole = [target for target in targets if target[1] is None]
    cut = [target for target in targets if target[1] is not None]
    if sum(shard.part.rows for shard, _ in cut) < ROWS_MANY:
        yield from stream([*whole, *cut])
        return
    # Rows are copied in the background while those that are handed over as they lie are read.
    with contextlib.closing(read_ahead(stream(cut))) as copied:
        yield from stream(whole)
        yield from copied


def stream_arranged(
    snapshot: Snapshot,
    asked: Asked,
    targets: Sequence[Target],
    names: list[str],
    words: Mapping[str, pa.Array],
) -> Iterator[pa.RecordBatch]:
    """Some columns of the rows that meet a condition, in order, and as many as were asked for."""
    condition = None if asked.where is None else snapshot.condition(asked.where)
    keys = None if condition is None else condition.keys
    looked_at = () if condition is None else condition.columns
    needed = [*dict.fromkeys([*names, *looked_at, snapshot.order_column])]

    def read(some: Sequence[Target]) -> Iterator[pa.RecordBatch]:
        return stream_targets(snapshot, some, needed, words)

    def probe(_: Sequence[Target]) -> Iterator[pa.RecordBatch]:
        for entries in snapshot.entries_of(keys or (), asked):
            yield with_codes(entries.select(needed), words)

    in_order = asked.order is not None or asked.last is not None
    stretches = snapshot.stretches(targets) if in_order and keys is None else [targets]
    for batch in arrange_stream(snapshot, asked, read if keys is None else probe, stretches):
        yield batch.select(names)


def read_ahead(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
    """The same batches. From now on a thread makes the next few before they are asked for."""
    pool = ThreadPoolExecutor(1)
    ahead = deque(pool.submit(next, batches, None) for _ in range(BATCHES_AHEAD))

    def made() -> Generator[pa.RecordBatch]:
        try:
            while (batch := ahead.popleft().result()) is not None:
                ahead.append(pool.submit(next, batches, None))
                yield batch
        finally:
            pool.shutdown(cancel_futures=True)

    return made()


def read_together(streams: Sequence[Iterator[pa.RecordBatch]]) -> Generator[pa.RecordBatch]:
    """The batches of several streams in turn.

    For each stream, a thread reads from its disk before batches are asked for.
    """
    with contextlib.ExitStack() as stack:
        ahead = [
            stack.enter_context(contextlib.closing(read_ahead(map(_touched, stream))))
            for stream in streams
        ]
        while ahead:
            for stream in tuple(ahead):
                batch = next(stream, None)
                if batch is None:
                    ahead.remove(stream)
                else:
                    yield batch


def _touched(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch that is in memory, not only mapped."""
    for column in batch.columns:
        for buffer in column.buffers():
            if buffer is not None and buffer.size:
                np.frombuffer(buffer, np.uint8)[:: mmap.PAGESIZE].max()
    return batch


def call_all(
    calls: Sequence[Callable[[], pa.RecordBatch]], keys: int, at_once: bool = False
) -> list[pa.RecordBatch]:
    """What the calls return.

    They run one after the other, or on threads where they have many keys to look up or are told to.
    """
    if len(calls) < 2 or (keys < KEYS_MANY and not at_once):
        return [call() for call in calls]
    workers = AT_ONCE_MAX if at_once else os.cpu_count() or 1
    with ThreadPoolExecutor(min(len(calls), workers)) as pool:
        return list(pool.map(lambda call: call(), calls))
