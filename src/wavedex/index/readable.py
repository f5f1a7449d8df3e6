"""What can be asked of an index and of a snapshot of it: the same questions, answered by one piece of code.

A query is turned into a list of targets by the snapshot that answers it; this module asks them and puts the answers
together. An index answers from a snapshot of its newest commit, a snapshot from itself.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadKey
from wavedex.store import compute as pc
from wavedex.store.arrow import to_arrow
from wavedex.store.codes import dictionary_of, shared_words
from wavedex.store.reading import Shard, shard_of, shard_of_one

if TYPE_CHECKING:
    from wavedex.index.snapshot import Snapshot, Target

KEYS_MANY = 10_000
"""From how many keys on several parts are asked at the same time."""
ROWS_MANY = 100_000
"""From how many rows to copy on a scan does so in the background."""
BATCHES_AHEAD = 2
"""How many batches wait to be read then."""


class Readable(ABC):
    """The reading methods. Rows come in no promised order, and with the columns of the schema only.

    In `since` and `until`, slot numbers and dates mean their whole interval and a datetime is compared with the row's own
    time; both ends are included. `columns` chooses columns; `expired` also shows what a soft window still holds.
    """

    @abstractmethod
    def _current(self) -> Snapshot:
        """The snapshot that answers."""

    def probe(
        self,
        key: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of one key (IndexProbe, and TimedIndexProbe with `since` or `until`).

        COST: one look-up and one slice for each part that can have an answer.
        """
        snapshot = self._current()
        definition = snapshot.definition
        key_type = definition.spec.key_type
        plain = key_type.plain(key)
        hashed = key_type.hash(plain)
        number = shard_of_one(hashed, definition.shards)
        batches = []
        for shard, within in snapshot.targets(number, since, until, expired):
            found = shard.probe(plain, hashed, within)
            if found is not None:
                batches.append(found)
        return snapshot.table(batches, columns)

    def probe_many(
        self,
        keys: Iterable[Any],
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
    ) -> pa.Table:
        """The entries of several keys in one table; a key that is given twice is answered once."""
        if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
            raise BadKey(f"{keys!r} is not several keys. Pass a list, or use probe for one key.")
        snapshot = self._current()
        key_type = snapshot.definition.spec.key_type
        wanted = pc.unique(key_type.array(keys))
        hashes = key_type.hash_array(wanted)
        owners = shard_of(hashes, snapshot.definition.shards)
        calls: list[Callable[[], pa.RecordBatch]] = []
        for number in np.unique(owners).tolist():
            mine = owners == number
            some, some_hashes = wanted.filter(to_arrow(mine)), hashes[mine]
            for shard, within in snapshot.targets(number, since, until, expired):
                calls.append(partial(shard.probe_many, some, some_hashes, within))
        return snapshot.table(_call_all(calls, len(wanted)), columns)

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
        snapshot = self._current()
        key_type = snapshot.definition.spec.key_type
        least, most = key_type.plain(low), key_type.plain(high)
        batches = [
            shard.probe_range(least, most, within)
            for shard, within in snapshot.all_targets(since, until, expired)
        ]
        return snapshot.table(batches, columns)

    def scan(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        dictionaries: bool = False,
    ) -> pa.RecordBatchReader:
        """All entries (SegmentScan, and TimedSegmentScan with `since` or `until`), batch by batch.

        With `dictionaries`, columns of text that have few values are handed over as Arrow's dictionaries, in which they
        are kept besides; whoever groups by them is done in half the time, or in a third with `wavedex.split_codes`. The
        schema of the reader says which; a column's dictionary is the same in all batches.
        """
        snapshot = self._current()
        names = snapshot.names(columns)
        targets = snapshot.all_targets(since, until, expired)
        words = _words_of(snapshot, [s for s, _ in targets], names) if dictionaries else {}

        def batches(held: Snapshot) -> Iterator[pa.RecordBatch]:
            # The reader holds the snapshot for as long as it is read.
            def stream(some: Sequence[Target]) -> Iterator[pa.RecordBatch]:
                for shard, within in some:
                    yield from shard.stream(within, names, words)

            whole = [target for target in targets if target[1] is None]
            cut = [target for target in targets if target[1] is not None]
            if sum(shard.part.rows for shard, _ in cut) < ROWS_MANY:
                yield from stream([*whole, *cut])
                return
            # Rows are copied in the background while those that are handed over as they lie are read.
            with contextlib.closing(read_ahead(stream(cut))) as copied:
                yield from stream(whole)
                yield from copied

        fields = (snapshot.definition.schema.field(name) for name in names)
        schema = pa.schema(
            [
                field.with_type(dictionary_of(field.type)) if field.name in words else field
                for field in fields
            ],
            snapshot.definition.schema.metadata if columns is None else None,
        )
        return pa.RecordBatchReader.from_batches(schema, batches(snapshot))

    def files(self, since: Any = None, until: Any = None) -> list[str]:
        """The paths, or URIs, of the files in which the entries of a span of time lie, for other tools to read.

        A file may hold rows outside of it too: filter by the time column.
        """
        snapshot = self._current()
        targets = snapshot.all_targets(since, until, False)
        names = (shard.part.files["rows"].name for shard, _ in targets)
        return [snapshot.path_of(name) for name in dict.fromkeys(names)]

    @property
    def slots(self) -> list[int]:
        """The slots of the window, oldest first; empty while nothing was appended."""
        return sorted(self._current().window)

    @property
    def sub_indexes(self) -> dict[str, list[int]]:
        """The slots that each sub-index holds."""
        indexes = self._current().manifest.indexes
        return {name: sorted(sub.slots) for name, sub in indexes.items()}


def _words_of(
    snapshot: Snapshot, shards: Sequence[Shard], names: Sequence[str]
) -> dict[str, pa.Array]:
    """The words of those columns that all shards can hand over as dictionaries, and that have few enough."""
    spec = snapshot.definition.spec
    found = {
        name: shared_words(spec.schema.field(name).type, (shard.words_of(name) for shard in shards))
        for name in spec.text.intersection(names, *(shard.codable for shard in shards))
    }
    return {name: words for name, words in found.items() if words is not None}


def read_ahead(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
    """The same batches, of which a thread makes the next few before they are asked for, from now on."""
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


def _call_all(calls: Sequence[Callable[[], pa.RecordBatch]], keys: int) -> list[pa.RecordBatch]:
    """What the calls return: one after the other, or on threads where they have many keys to look up."""
    if keys < KEYS_MANY or len(calls) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(len(calls), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda call: call(), calls))
