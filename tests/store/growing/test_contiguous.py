"""A shard that is updated in place holds what a dictionary holds.

It shows its past to whoever kept it.
"""

from __future__ import annotations

import random
import tempfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.files.local import Files
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.formats import FORMATS, open_shard
from wavedex.store.growing import grower
from wavedex.store.growing.contiguous import ContiguousShard, build_contiguous
from wavedex.store.growing.inplace import Updater
from wavedex.store.part import Part
from wavedex.store.room import Sizes
from wavedex.store.sorted import parquet
from wavedex.store.sorted.packed import PackedShard

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])
SPEC = EntrySpec(SCHEMA, "k", "t")
KEYS = [f"key {number}" for number in range(7)]


def batch_of(rows: list[dict]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def ordered(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def check(files: Files, part: Part, rows: list[dict], open_as=ContiguousShard) -> None:
    shard = open_as(files, SPEC, part)
    assert ordered(shard.scan(None).to_pylist()) == ordered(rows)
    assert part.rows == len(rows)
    assert not list(shard.findings())
    for key in [*KEYS, "nobody"]:
        plain = SPEC.key_type.plain(key)
        found = shard.probe(plain, SPEC.key_type.hash(plain), (0, 20))
        expected = [row for row in rows if row["k"] == key and row["t"] < 20]
        assert ordered([] if found is None else found.to_pylist()) == ordered(expected)
    asked = pa.array([*KEYS[::2], "nobody"])
    many = shard.probe_many(asked, SPEC.key_type.hash_array(asked), None)
    assert ordered(many.to_pylist()) == ordered([row for row in rows if row["k"] in KEYS[::2]])
    low, high = b"key 1", b"key 4"
    between = shard.probe_range(low, high, None).to_pylist()
    assert ordered(between) == ordered([row for row in rows if "key 1" <= row["k"] <= "key 4"])


step = st.one_of(
    st.tuples(st.just("add"), st.lists(st.integers(0, 6), min_size=1, max_size=9)),
    st.tuples(st.just("late"), st.lists(st.integers(0, 6), min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.just([])),
    st.tuples(st.just("copy"), st.just([])),
)


@examples(30)
@given(
    steps=st.lists(step, max_size=14),
    growth=st.sampled_from([1.1, 2.0, 4.0]),
    first=st.integers(1, 4),
    kept=st.integers(1, 3),
)
def test_adding_and_deleting_in_place_equals_a_dictionary(steps, growth, first, kept):
    with tempfile.TemporaryDirectory() as folder:
        add_and_delete(Files(folder), steps, Sizes(growth, first), kept)


def add_and_delete(files: Files, steps: list, sizes: Sizes, kept: int) -> None:
    slots: dict[int, list[dict]] = {0: [{"k": KEYS[0], "t": 0, "v": "first"}]}
    part = build_contiguous(files, SPEC, "0", batch_of(slots[0]), frozenset({0}))
    past: list[tuple[int, Part, list[dict]]] = []

    def rows_now() -> list[dict]:
        return [row for rows in slots.values() for row in rows]

    for commit, (what, numbers) in enumerate(steps, 1):
        past = [*past, (commit - 1, part, rows_now())][-kept:]
        updater = Updater(files, SPEC, sizes, commit, past[0][0])
        stem = str(commit)
        slot = max(slots) + 1 if what == "add" else min(slots)
        if what in ("add", "late"):
            new = [
                {"k": KEYS[number], "t": slot * 2 + place % 2, "v": "x" * number}
                for place, number in enumerate(numbers)
            ]
            part = updater.add(part, stem, batch_of(new), frozenset({slot}))
            slots[slot] = slots.get(slot, []) + new
        elif what == "delete" and len(slots) > 1:
            del slots[slot]
            after = updater.delete(part, stem, (slot * 2, slot * 2 + 2), frozenset({slot}))
            assert after is not None
            part = after
        elif what == "copy":
            part = updater.copy(part, stem)
        assert part.held == frozenset(slots)
        check(files, part, rows_now())
        for _, old, rows in past:
            check(files, old, rows)


def test_deleting_everything_leaves_no_part(tmp_path):
    files = Files(tmp_path)
    part = build_contiguous(
        files, SPEC, "0", batch_of([{"k": "a", "t": 1, "v": None}]), frozenset({1})
    )
    updater = Updater(files, SPEC, Sizes(), 1, 0)
    assert updater.delete(part, "1", (0, 5), frozenset({1})) is None
    assert updater.delete(part, "1", (5, 9), frozenset({2})) == part


@pytest.mark.parametrize("values", ["heap", "rows"])
def test_a_shard_that_is_mostly_dead_is_written_anew(tmp_path, monkeypatch, values):
    monkeypatch.setattr(grower, "WASTE_LEAST_BYTES", 64)
    files = Files(tmp_path)
    rnd = random.Random(7)
    rows: dict[int, list[dict]] = {}

    def rows_of(slot: int) -> list[dict]:
        text = "long text " * 20 if values == "heap" else ""
        return [{"k": rnd.choice(KEYS), "t": slot, "v": text} for _ in range(6)]

    rows[0] = rows_of(0)
    part = build_contiguous(files, SPEC, "0", batch_of(rows[0]), frozenset({0}))
    names, sizes = set(), []
    for slot in range(1, 60):
        updater = Updater(files, SPEC, Sizes(2.0, 1), slot, slot - 1)
        rows[slot] = rows_of(slot)
        part = updater.add(part, f"{slot}a", batch_of(rows[slot]), frozenset({slot}))
        if slot >= 3:
            del rows[slot - 3]
            part = updater.delete(part, f"{slot}d", (slot - 3, slot - 2), frozenset({slot - 3}))
        check(files, part, [row for some in rows.values() for row in some])
        names.add(part.files["rows"].name)
        sizes.append(part.bytes)
    assert len(names) > 2, "never written anew"
    assert max(sizes[30:]) <= 2 * max(sizes[:30]), "the waste grows"


def test_freed_room_is_used_again_so_that_a_steady_window_does_not_grow(tmp_path):
    files = Files(tmp_path)
    keys = KEYS[:3]

    def rows_of(slot: int) -> list[dict]:
        return [{"k": key, "t": slot, "v": None} for key in keys]

    part = build_contiguous(files, SPEC, "0", batch_of(rows_of(0)), frozenset({0}))
    sizes = []
    for slot in range(1, 80):
        updater = Updater(files, SPEC, Sizes(2.0, 1), slot, slot - 1)
        part = updater.add(part, f"{slot}a", batch_of(rows_of(slot)), frozenset({slot}))
        if slot >= 3:
            part = updater.delete(part, f"{slot}d", (slot - 3, slot - 2), frozenset({slot - 3}))
        sizes.append(part.files["rows"].bytes)
    assert max(sizes[40:]) == max(sizes[:40])


@examples(40)
@pytest.mark.parametrize("name", ["arrow", "parquet", "sqlite"])
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "k": st.sampled_from(KEYS),
                "t": st.integers(0, 30),
                "v": st.none() | st.text(max_size=3),
            }
        ),
        min_size=1,
        max_size=30,
    )
)
def test_a_shard_that_never_changes_equals_a_dictionary_and_lies_sorted(name, rows):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "GROUP_ROWS", 3)
        patch.setattr(parquet, "PIECE_GROUPS", 2)
        build_and_read(Files(folder), name, rows)


def build_and_read(files: Files, name: str, rows: list[dict]) -> None:
    held = frozenset(row["t"] for row in rows)
    part = FORMATS[name].build(files, SPEC, "p", Pieces.of(batch_of(rows)), held)
    check(files, part, rows, open_shard)
    shard = open_shard(files, SPEC, part)
    lying = shard.scan(None).to_pylist()
    assert [(row["k"], row["t"]) for row in lying] == sorted((row["k"], row["t"]) for row in rows)
    inside = shard.scan((5, 10)).to_pylist()
    assert ordered(inside) == ordered([row for row in rows if 5 <= row["t"] < 10])
    pieces = [row for piece in shard.stream((5, 10), ["v", "k"]) for row in piece.to_pylist()]
    assert pieces == [{"v": row["v"], "k": row["k"]} for row in inside]
    if isinstance(shard, PackedShard):
        assert np.array_equal(shard.starts[:-1], np.flatnonzero([
            place == 0 or lying[place]["k"] != lying[place - 1]["k"] for place in range(len(lying))
        ]))  # fmt: skip
