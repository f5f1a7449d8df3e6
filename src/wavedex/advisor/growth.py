"""Tries on a sample, in real files, which growth factor suits your keys.

Follows Section 6 of the wave-index paper. With `update="in-place"` a bucket that is full moves to
room that is `growth` times larger. The larger the factor, the more room lies empty. The smaller it
is, the more often buckets are copied. Which weighs more depends on how rows are spread over keys.
So the paper tried several factors on a day of data. It took 2.0 for words of articles and 1.08 for
suppliers. This does the same: for each factor, the slots of a sample are added to a contiguous
store, one after the other, as an index would, in a folder that is removed afterwards.

1. The first slot is built packed, each further one is added in place.
2. After each, the directories before and after say which buckets have moved, and so how many bytes
   were copied.
3. After each, too, the file of records is compared with the records in it. The difference is room
   in buckets that is not used yet, and room that buckets have left and that nobody uses again.
   The size of the file goes up and down, so all slots count, not only the last one.

The factor with the least cost is recommended. The cost is the sum of two numbers: bytes of room for
each byte of rows, and bytes copied for each byte added, times their weight (`copying`).
"""

from __future__ import annotations

import tempfile
import time as clocks
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, BadSample
from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles
from wavedex.index.core.arrival import arrive
from wavedex.index.wave.definition import WaveDefinition
from wavedex.index.wave.index import WaveIndex
from wavedex.rows.entries import one_batch
from wavedex.rows.tables import to_table
from wavedex.store.growing.contiguous import ContiguousShard, build_contiguous
from wavedex.store.growing.inplace import Updater
from wavedex.store.part import Part
from wavedex.store.room import Sizes

GROWTHS = (1.08, 1.2, 1.5, 2.0, 3.0)
SLOTS_MIN = 3
"""The fewest slots that say anything.

The first is packed, the second moves every bucket that grows, the third need not.
"""
KEPT = 2
"""How many commits before the one that is made are kept, as `keep_commits` is by default.

Room that they show is not used.
"""


@dataclass(frozen=True)
class Tried:
    """What one growth factor led to."""

    growth: float
    """The factor."""
    used_bytes: int
    """The records of all rows."""
    room_bytes: int
    """The file they lie in, after the last slot."""
    bucket_bytes: int
    """How much of the file belongs to buckets."""
    space: float
    """The mean of room over rows after each slot (S' over S in the paper)."""
    added_bytes: int
    """The records that were added in place."""
    copied_bytes: int
    """The records that were moved for it."""
    moves: int
    """In how many moves."""
    seconds: float
    """How long the additions took."""

    @property
    def copied(self) -> float:
        """Bytes copied for each byte added."""
        return self.copied_bytes / self.added_bytes

    def cost(self, copying: float) -> float:
        """What it costs in all, if a copied byte costs `copying` times what a byte of room does."""
        return self.space + copying * self.copied


@dataclass(frozen=True)
class Tuning:
    """What was tried, the factor that costs least, and why."""

    tried: tuple[Tried, ...]
    copying: float
    """How many times as much as a byte of room a copied byte costs."""
    slots: int
    rows: int
    keys: int

    @property
    def best(self) -> Tried:
        """The least cost; of two that cost the same, the smaller factor."""
        return min(self.tried, key=lambda one: (one.cost(self.copying), one.growth))

    @property
    def reason(self) -> str:
        """Why it is the best, in a sentence."""
        best = self.best
        weight = "" if self.copying == 1 else f" (weighed {self.copying:g} times)"
        return (
            f"growth={best.growth:g}: {best.space:.2f} bytes of room for a byte of rows and "
            f"{best.copied:.2f} bytes copied{weight} for a byte added make "
            f"{best.cost(self.copying):.2f}, "
            f"the least of the {len(self.tried)} that were tried."
        )


def tune(
    sample: Any,
    *,
    key: str | Sequence[str],
    time: str | None = None,
    slot: str | int | None = "1 day",
    zone: str = "UTC",
    include: Sequence[str] | None = None,
    growth: Sequence[float] = GROWTHS,
    first_room: int = 4,
    copying: float = 1.0,
    clock: Callable[[], float] = clocks.perf_counter,
) -> Tuning:
    """Try growth factors of contiguous buckets on a sample, and say which costs least.

    `sample` is whatever `append` takes. Its slots are those of the `time` column. Without one it is
    a list with a table for each slot. `include` has the columns that the index would keep.
    `copying` is what a byte that is copied costs against a byte of room.
    Raises BadSample, BadDefinition, MissingColumn, SchemaMismatch.

    COST: for each factor, that of an index of the sample that is updated in place, in one shard.
    """
    tables = [to_table(one) for one in (sample if isinstance(sample, list | tuple) else [sample])]
    if not tables:
        raise BadSample("The sample is an empty list. Give tables, one for each slot.")
    if not copying >= 0:
        raise BadDefinition(
            f"copying={copying!r} is less than 0. Give the weight of a copied byte."
        )
    if not growth:
        raise BadDefinition("growth has no factor to try. Give some, such as [1.2, 2.0].")
    sizes = [Sizes(float(factor), first_room) for factor in dict.fromkeys(growth)]
    definition = _definition(
        tables[0].schema, key=key, time=time, slot=slot, zone=zone, include=include
    )
    batches = _slots(tables, definition)
    keys = definition.spec.keys(one_batch(pa.Table.from_batches(batches)))
    return Tuning(
        tried=tuple(_try(batches, definition, one, clock) for one in sizes),
        copying=float(copying),
        slots=len(batches),
        rows=len(keys),
        keys=len(definition.spec.key_type.distinct(keys)),
    )


def _definition(schema: pa.Schema, **options: Any) -> WaveDefinition:
    """What an index of such rows would be, updated in place, checked as any other is."""
    with tempfile.TemporaryDirectory(prefix="wavedex-tune-") as folder:
        index = WaveIndex.create(
            f"{folder}/sample.wx",
            schema,
            window=1,
            indexes=1,
            scheme="del",
            update="in-place",
            shards=1,
            nulls="skip",
            **options,
        )
        return index.definition


def _slots(tables: Sequence[pa.Table], definition: WaveDefinition) -> list[pa.RecordBatch]:
    """The rows of each slot that has any, oldest first. Raises BadSample."""
    found: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for at, table in enumerate(tables):
        arriving = arrive(table, definition, at if definition.time is None else None)
        for slot in arriving.summary:
            found[slot].append(arriving.only([slot]).batch)
    batches = [one_batch(pa.Table.from_batches(found[slot])) for slot in sorted(found)]
    if len(batches) < SLOTS_MIN:
        advice = (
            "Give a longer sample or a shorter slot"
            if definition.time is not None
            else "Give a table for each slot, or name the column of times"
        )
        raise BadSample(
            f"The sample has {len(batches)} slots with rows, and {SLOTS_MIN} are the least: "
            f"buckets grow from slot to slot. {advice}."
        )
    return batches


def _try(
    batches: Sequence[pa.RecordBatch],
    definition: WaveDefinition,
    sizes: Sizes,
    clock: Callable[[], float],
) -> Tried:
    """Add the slots one after the other, and see what is copied."""
    spec = definition.spec
    with tempfile.TemporaryDirectory(prefix="wavedex-tune-") as folder:
        files = files_at(folder)
        part = build_contiguous(files, spec, "0", batches[0], frozenset({0}))
        width = ContiguousShard(files, spec, part).format.dtype.itemsize
        first = part.rows
        copied = moves = 0
        spaces: list[float] = []
        seconds = 0.0
        for commit, batch in enumerate(batches[1:], start=1):
            updater = Updater(files, spec, sizes, commit, commit - KEPT)
            started = clock()
            after = updater.add(part, str(commit), batch, frozenset({commit}))
            seconds += clock() - started
            rows, buckets = _moved(files, definition, part, after)
            copied, moves = copied + rows, moves + buckets
            files.remove(part.files["directory"].name)
            part = after
            spaces.append(part.files["rows"].bytes / (part.rows * width))
        return Tried(
            growth=sizes.growth,
            used_bytes=part.rows * width,
            room_bytes=part.files["rows"].bytes,
            bucket_bytes=int(ContiguousShard(files, spec, part).buckets.sizes.sum()) * width,
            space=sum(spaces) / len(spaces),
            added_bytes=(part.rows - first) * width,
            copied_bytes=copied * width,
            moves=moves,
            seconds=seconds,
        )


def _moved(
    files: AnyFiles, definition: WaveDefinition, before: Part, after: Part
) -> tuple[int, int]:
    """How many records lie elsewhere than before, and of how many buckets.

    Where the shard was written anew, all of them do.
    """
    spec = definition.spec
    old, new = ContiguousShard(files, spec, before), ContiguousShard(files, spec, after)
    if before.files["rows"].name != after.files["rows"].name:
        return before.rows, len(old.keys)
    places = new.find_many(old.keys, spec.key_type.hash_array(old.keys))
    moved = new.buckets.rooms[places] != old.buckets.rooms
    return int(old.buckets.counts[moved].sum()), int(np.count_nonzero(moved))
