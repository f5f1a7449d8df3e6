"""Chained shards with keys of every shape, walked through any updates.

Beside them is a list of the rows that they must hold.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.files.local import Files
from wavedex.rows.entries import EntrySpec
from wavedex.store.growing.chain_rule import ROOMY
from wavedex.store.growing.chain_updates import Chainer
from wavedex.store.growing.chained import ChainedShard
from wavedex.store.part import Part
from wavedex.store.room import Sizes

Row = dict[str, Any]

REST = [
    ("t", pa.int64()), ("v", pa.string()), ("y", pa.large_binary()), ("f", pa.float64()),
    ("b", pa.bool_()), ("c", pa.dictionary(pa.int32(), pa.string())),
]  # fmt: skip
SPECS = {
    "numbers": EntrySpec(pa.schema([("k", pa.int64()), *REST]), "k", "t"),
    "text": EntrySpec(pa.schema([("k", pa.string()), *REST]), "k", "t"),
    "several columns": EntrySpec(
        pa.schema([("k", pa.string()), ("n", pa.int16()), *REST]), ("k", "n"), "t"
    ),
}
KEYS = 8
EVERY = 2
"""How many ordinals a slot has."""


def key_columns(spec: EntrySpec, number: int) -> Row:
    """The columns of one of the keys."""
    if spec.key_names == ("k", "n"):
        return {"k": f"key {number // 2}", "n": -(number % 2)}
    text = spec.schema.field("k").type == pa.string()
    return {"k": "é" * number if text else number - 2}


def key_of(spec: EntrySpec, row: Row) -> Any:
    values = tuple(row[name] for name in spec.key_names)
    return values if len(values) > 1 else values[0]


def make_row(spec: EntrySpec, number: int, t: int, rnd: random.Random) -> Row:
    """A row of a key; some are equal to others in every column."""
    return {
        **key_columns(spec, number),
        "t": t,
        "v": rnd.choice([None, "", "a", "ß" * 9, "long " * 40]),
        "y": rnd.choice([None, b"", b"\0\xff"]),
        "f": rnd.choice([None, 0.0, -0.0, float("nan")]),
        "b": rnd.choice([None, True, False]),
        "c": rnd.choice([None, "x", "yy"]),
    }


def batch_of(spec: EntrySpec, rows: Sequence[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), spec.schema)


def known(rows: Sequence[Row]) -> list[str]:
    """By their text, so that -0.0 is not 0.0 and a NaN is itself."""
    return sorted(repr(sorted(row.items())) for row in rows)


def check(files: Files, spec: EntrySpec, part: Part, rows: Sequence[Row]) -> ChainedShard:
    """Ask a part everything, and look for faults in it."""
    shard = ChainedShard(files, spec, part)
    assert not list(shard.findings())
    assert part.rows == len(rows)
    assert known(shard.scan(None).to_pylist()) == known(rows)
    low, high = 3, 9
    inside = [row for row in rows if low <= row["t"] < high]
    assert known(shard.scan((low, high)).to_pylist()) == known(inside)
    keys = [key_of(spec, key_columns(spec, number)) for number in range(KEYS)]
    plains = [spec.key_type.plain(key) for key in keys]
    for key, plain in zip(keys, plains, strict=True):
        found = shard.probe(plain, spec.key_type.hash(plain), (low, high))
        expected = [row for row in inside if key_of(spec, row) == key]
        assert (found is None) == (not expected)
        assert known([] if found is None else found.to_pylist()) == known(expected)
    asked = spec.key_type.array(keys[::2])
    many = shard.probe_many(asked, spec.key_type.hash_array(asked), None)
    assert known(many.to_pylist()) == known([r for r in rows if key_of(spec, r) in keys[::2]])
    first, last = sorted(plains)[1], sorted(plains)[-2]
    between = [r for r in rows if first <= spec.key_type.plain(key_of(spec, r)) <= last]
    assert known(shard.probe_range(first, last, None).to_pylist()) == known(between)
    return shard


def check_apart(
    files: Files,
    spec: EntrySpec,
    one: tuple[Part, Sequence[Row]],
    other: tuple[Part, Sequence[Row]],
) -> None:
    """Of two versions of the same files, either has all rows that the other does not show."""
    if one[0].files["rows"].name != other[0].files["rows"].name:
        return
    for (part, rows), (known_part, known_rows) in ((one, other), (other, one)):
        shard, beside = ChainedShard(files, spec, part), ChainedShard(files, spec, known_part)
        found = Counter(known(shard.piece(None, other=beside).rows().to_pylist()))
        assert found >= Counter(known(rows)) - Counter(known(known_rows))
        assert found <= Counter(known(rows))


def check_chains(shard: ChainedShard, sizes: Sizes) -> None:
    """What the rule of chains says of every key.

    Few buckets, of sizes of the series, without too much room.
    """
    chains, buckets = shard.chains, shard.buckets
    assert chains.lengths.max() <= math.ceil(2 * sizes.per_key)
    assert (sizes.at_least(buckets.sizes) == buckets.sizes).all()
    counts = np.bincount(chains.owners, buckets.counts).astype(np.int64)
    room = np.bincount(chains.owners, buckets.sizes).astype(np.int64)
    fitting = sizes.of_buckets(counts)
    assert (room <= ROOMY * fitting * -(-counts // fitting)).all()


@dataclass
class Walk:
    """A part that is changed again and again, as commits would.

    The last `kept` commits stay readable.
    """

    files: Files
    spec: EntrySpec
    sizes: Sizes
    kept: int = 1
    commit: int = 0
    part: Part | None = None
    slots: dict[int, list[Row]] = field(default_factory=dict)
    past: list[tuple[int, Part, list[Row]]] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.slots.values() for row in rows]

    def chainer(self) -> Chainer:
        """That of the next commit."""
        if self.part is not None:
            self.past = [*self.past, (self.commit, self.part, self.rows)][-self.kept :]
        self.commit += 1
        oldest = self.past[0][0] if self.past else self.commit
        return Chainer(self.files, self.spec, self.sizes, self.commit, oldest)

    def add(self, slot: int, rows: list[Row]) -> None:
        chainer, stem, held = self.chainer(), str(self.commit), frozenset({slot})
        batch = batch_of(self.spec, rows)
        if self.part is None:
            self.part = chainer.build(stem, batch, held)
        else:
            self.part = chainer.add(self.part, stem, batch, held)
        self.slots.setdefault(slot, []).extend(rows)

    def delete(self, slot: int) -> None:
        assert self.part is not None
        dead = slot * EVERY, (slot + 1) * EVERY
        chainer = self.chainer()
        self.part = chainer.delete(self.part, str(self.commit), dead, frozenset({slot}))
        self.slots.pop(slot, None)

    def remove(self, rows: list[Row]) -> None:
        assert self.part is not None
        chainer = self.chainer()
        self.part = chainer.remove(self.part, str(self.commit), batch_of(self.spec, rows))
        for row in rows:
            text = known([row])
            slot = self.slots[row["t"] // EVERY]
            del slot[next(place for place, other in enumerate(slot) if known([other]) == text)]

    def copy(self) -> None:
        assert self.part is not None
        self.part = self.chainer().copy(self.part, str(self.commit))

    def check(self) -> None:
        """The part that there is, and all that are kept, answer for their rows."""
        if self.part is None:
            assert not self.rows
        else:
            check_chains(check(self.files, self.spec, self.part, self.rows), self.sizes)
            assert self.part.held >= {slot for slot, rows in self.slots.items() if rows}
        for _, old, rows in self.past:
            check(self.files, self.spec, old, rows)
            if self.part is not None:
                check_apart(self.files, self.spec, (old, rows), (self.part, self.rows))
