"""Schemes that weigh slots, in an index.

What they hold, what they remember, and what they must be told.
"""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from kit.matrix import examples
from kit.ways import WEIGHING, told
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.log.manifest import Log
from wavedex.plan import size_ratio
from wavedex.testing.oracle import Oracle, same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("n", pa.int64())])
EVERY = 10
ROWS = [3, 0, 40, 1, 1, 2, 0, 0, 35, 1, 4, 2, 2, 1, 50, 1, 0, 3, 2, 2, 2, 60, 1, 1]
"""A few slots have nearly all the rows, which is where weighing pays."""


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def largest_window(sizes: list[int], window: int) -> int:
    return max(sum(sizes[at : at + window]) for at in range(len(sizes)))


def foreseen(scheme: str, sizes: list[int], window: int, first: int = 1) -> dict:
    """What to tell the scheme of slots of these sizes."""
    if scheme.endswith("bounded"):
        return {"max_size": max(largest_window(sizes, window), 1)}
    return {"sizes": {first + place: rows for place, rows in enumerate(sizes)}}


def make(path, scheme: str, **options) -> wx.WaveIndex:
    options = {"window": 5, "indexes": 3, "shards": 1, "max_gap": 30, **options}
    return wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=EVERY, scheme=scheme, **options
    )


def rows_of(slot: int, count: int, first: int = 0) -> list[dict]:
    return [
        {"k": n % 7, "t": slot * EVERY + n % EVERY, "n": slot * 1000 + n}
        for n in range(first, first + count)
    ]


def table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def held(index: wx.WaveIndex) -> int:
    """The rows in its sub-indexes, those that are over included."""
    return index.scan(expired=True).read_all().num_rows


def sizes_of(index: wx.WaveIndex) -> dict[int, int]:
    """What the scheme remembers of sizes."""
    state = Log(index.storage).latest().state
    assert state is not None
    return {int(slot): rows for slot, rows in state.get("sizes", {}).items()}


def check(index: wx.WaveIndex, oracle: Oracle) -> None:
    index.verify()
    assert same_rows(index.scan().read_all().to_pylist(), oracle.rows())
    for key in range(8):
        assert same_rows(index.probe(key).to_pylist(), oracle.probe(key))
    assert len(index.sub_indexes) == index.definition.indexes
    if index.definition.scheme.hard:
        assert held(index) == len(oracle.rows())
    # What is remembered is what is there, so that it can be gone by.
    shown = [slot for slots in index.sub_indexes.values() for slot in slots]
    known = {**oracle.slots, **oracle.expired}
    assert sizes_of(index) == {slot: len(known[slot]) for slot in shown if known.get(slot)}


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("scheme", WEIGHING)
def test_appends_amendments_and_backfills_are_weighed_and_answered(tmp_path, scheme, update):
    index = make(tmp_path / "x", scheme, update=update, **foreseen(scheme, ROWS, 5))
    oracle = Oracle(5, "k", lambda row: row["t"] // EVERY)
    slot = 1
    while slot <= len(ROWS):
        step = 1 + slot % 3
        slots = [each for each in range(slot, slot + step) if each <= len(ROWS)]
        rows = [row for each in slots for row in rows_of(each, ROWS[each - 1])]
        slot += step
        if not rows:
            index.append(table([]), slot=slots[-1])
        else:
            index.append(table(rows))
            if max(row["t"] // EVERY for row in rows) < slots[-1]:
                index.append(table([]), slot=slots[-1])
        oracle.append(rows, slots[-1])
        check(index, oracle)
        index = wx.open(tmp_path / "x")
    late = [*rows_of(len(ROWS), 3, 500), *rows_of(len(ROWS) - 4, 2, 500)]
    index.amend(table(late))
    oracle.amend(late)
    check(index, oracle)
    for slot in range(len(ROWS) + 1, len(ROWS) + 13):
        index.append(table(rows_of(slot, 4)))
        oracle.append(rows_of(slot, 4), slot)
        check(index, oracle)


@pytest.mark.slow
@examples(12)
@given(
    sizes=st.lists(st.sampled_from([0, 0, 1, 2, 3, 20]), min_size=6, max_size=16).filter(any),
    window=st.integers(2, 5),
    indexes=st.integers(2, 4),
)
@pytest.mark.parametrize("scheme", ["wata-bounded", "wata-offline"])
def test_an_index_holds_what_its_planner_promises(scheme, sizes, window, indexes):
    indexes = min(indexes, window)
    with tempfile.TemporaryDirectory() as folder:
        index = make(
            Path(folder) / "x", scheme, window=window, indexes=indexes, update="packed-shadow",
            **foreseen(scheme, sizes, window),
        )  # fmt: skip
        most = 0
        for slot, count in enumerate(sizes, start=1):
            index.append(table(rows_of(slot, count)), slot=slot)
            most = max(most, held(index))
            filled = [name for name, slots in index.sub_indexes.items() if slots]
            assert len(filled) <= indexes
        window_rows = largest_window(sizes, window)
        assert most * (indexes - 1) <= window_rows * indexes
        if len(sizes) >= window:
            assert most == size_ratio(index.definition.scheme, sizes).held


def test_weighing_holds_less_than_not_weighing(tmp_path):
    most = {}
    for scheme in ("wata", "wata-bounded", "wata-offline"):
        options = {} if scheme == "wata" else foreseen(scheme, ROWS, 8)
        index = make(tmp_path / scheme, scheme, window=8, indexes=3, **options)
        most[scheme] = 0
        for slot, count in enumerate(ROWS, start=1):
            index.append(table(rows_of(slot, count)), slot=slot)
            most[scheme] = max(most[scheme], held(index))
    assert most["wata-offline"] <= most["wata-bounded"] < most["wata"]
    assert most["wata-bounded"] <= math.floor(1.5 * largest_window(ROWS, 8))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", WEIGHING)
def test_a_window_beyond_what_was_said_costs_room_and_no_answer(tmp_path, scheme):
    options = {"max_size": 6} if scheme.endswith("bounded") else {"sizes": {1: 1, 2: 1}}
    index = make(tmp_path / "x", scheme, **options)
    oracle = Oracle(5, "k", lambda row: row["t"] // EVERY)
    for slot in range(1, 20):
        rows = rows_of(slot, 30 + slot)
        index.append(table(rows))
        oracle.append(rows, slot)
        check(index, oracle)
        assert held(index) < 2 * 50 * 5


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "update"), [*zip(WEIGHING, TECHNIQUES, strict=True)])
def test_a_stream_is_weighed_when_its_slots_are_sealed(tmp_path, scheme, update):
    index = make(tmp_path / "x", scheme, update=update, **foreseen(scheme, ROWS, 5))
    brought: dict[int, list[dict]] = {}
    for number, count in enumerate(ROWS, start=1):
        batch = rows_of(number, count)
        if number > 2:
            batch += rows_of(number - 1, 2, 700)  # Of a slot that is still open.
        done = index.feed(table(batch), stream="s", number=number - 1, delay=12)
        assert done.late == 0
        late = rows_of(number - 3, 2, 900) if number > 5 else []  # Of one that is sealed.
        if late:
            index.amend(table(late))
        for row in batch + late:
            brought.setdefault(row["t"] // EVERY, []).append(row)
        index.verify()
        expected = [row for slot in index.slots for row in brought.get(slot, [])]
        assert same_rows(index.scan().read_all().to_pylist(), expected)
        state = Log(index.storage).latest().state
        if state is None:
            continue
        shown = [slot for slots in index.sub_indexes.values() for slot in slots]
        assert sizes_of(index) == {slot: len(brought[slot]) for slot in shown if slot in brought}
    assert Log(index.storage).latest().state is not None


@pytest.mark.parametrize("scheme", WEIGHING)
def test_a_backfill_of_many_windows_leads_where_slot_after_slot_does(tmp_path, scheme):
    options = foreseen(scheme, ROWS, 5)
    one_by_one, together = (make(tmp_path / name, scheme, **options) for name in ("one", "all"))
    for slot, count in enumerate(ROWS, start=1):
        one_by_one.append(table(rows_of(slot, count)), slot=slot)
    together.append(
        table([row for slot, count in enumerate(ROWS, start=1) for row in rows_of(slot, count)])
    )
    assert together.slots == one_by_one.slots
    assert same_rows(
        together.scan().read_all().to_pylist(), one_by_one.scan().read_all().to_pylist()
    )
    for index in (together, one_by_one):
        index.verify()
    assert together.sub_indexes == one_by_one.sub_indexes


@pytest.mark.parametrize("scheme", WEIGHING)
def test_a_gap_of_windows_begins_anew(tmp_path, scheme):
    index = make(tmp_path / "x", scheme, **told(scheme))
    index.append(table(rows_of(1, 9)))
    index.append(table(rows_of(20, 4)))
    index.append(table(rows_of(21, 4)))
    assert index.slots == [17, 18, 19, 20, 21]
    assert (index.scan().read_all().num_rows, sizes_of(index)) == (8, {20: 4, 21: 4})
    index.verify()


def test_what_the_scheme_was_told_survives_reopening(tmp_path):
    bounded = make(tmp_path / "b", "wata-bounded", max_size=77)
    offline = make(tmp_path / "o", "rata-offline", sizes={5: 9, 3: 4})
    for index in (bounded, offline):
        assert wx.open(index.path).definition == index.definition
        assert wx.open(index.path).definition.scheme == index.definition.scheme
    assert bounded.definition.scheme.max_size == 77
    assert (offline.definition.scheme.first, offline.definition.scheme.sizes) == (3, (4, 0, 9))


def test_sizes_are_of_slots_however_they_are_named(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    days = [dt.date(2026, 1, 2), "2026-01-04", 20_458]
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot="1 day", window=3,
        scheme="wata-offline", sizes=dict(zip(days, [5, 6, 7], strict=True)),
    )  # fmt: skip
    assert index.definition.sizes == {20_455: 5, 20_457: 6, 20_458: 7}
    assert index.definition.scheme.sizes == (5, 0, 6, 7)


WRONG = {
    "no bound": ("wata-bounded", {}, "needs max_size"),
    "a bound of nothing": ("rata-bounded", {"max_size": 0}, "max_size"),
    "half a row": ("wata-bounded", {"max_size": 2.5}, "max_size"),
    "a bound in words": ("wata-bounded", {"max_size": "9"}, "max_size"),
    "true rows": ("wata-bounded", {"max_size": True}, "max_size"),
    "sizes for a bound": ("wata-bounded", {"max_size": 9, "sizes": {1: 1}}, "sizes= goes with"),
    "no sizes": ("wata-offline", {}, "give the rows of each slot"),
    "empty sizes": ("rata-offline", {"sizes": {}}, "give the rows of each slot"),
    "a list of sizes": ("wata-offline", {"sizes": [1, 2]}, "give the rows of each slot"),
    "fewer rows than none": ("wata-offline", {"sizes": {1: -1}}, "sizes"),
    "rows in words": ("wata-offline", {"sizes": {1: "9"}}, "sizes"),
    "a slot that is none": ("wata-offline", {"sizes": {"soon": 9}}, "names a slot that is none"),
    "a slot twice": ("wata-offline", {"sizes": {1: 9, "1": 9}}, "twice"),
    "slots far apart": ("wata-offline", {"sizes": {1: 9, 10**12: 9}}, "are the most"),
    "a bound for sizes": ("wata-offline", {"sizes": {1: 1}, "max_size": 9}, "max_size= goes with"),
    "a bound for wata": ("wata", {"max_size": 9}, "max_size= goes with schemes that weigh"),
    "sizes for del": ("del", {"sizes": {1: 1}}, "sizes= goes with schemes that weigh"),
    "one sub-index": ("wata-bounded", {"max_size": 9, "indexes": 1}, "between 2 and"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_scheme_cannot_go_by_is_refused_and_nothing_is_created(tmp_path, name):
    scheme, options, said = WRONG[name]
    with pytest.raises(errors.BadDefinition, match=said):
        make(tmp_path / "x", scheme, **options)
    assert not (tmp_path / "x").exists()
