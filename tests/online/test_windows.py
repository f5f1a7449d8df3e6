"""A window holds what a list of basic windows holds, however rows come and whatever it keeps."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex import errors
from wavedex.online import Split, Window
from wavedex.testing.window_oracle import PlainWindow

SCHEMA = pa.schema([("src", pa.int64()), ("size", pa.float64()), ("host", pa.string())])
TIMED = SCHEMA.append(pa.field("ts", pa.int64()))
STORAGES = ("list", "aggr", "hash", "group")
INDEXES = ("counts", "list", "tree", "hash", "unsorted-hash", "group")
RINGS = ("numbered", "simple", "auxiliary", "backward", "dirty-bits")

values = st.one_of(st.none(), st.integers(-3, 12))
rows = st.builds(
    lambda src, size, host: {"src": src, "size": size, "host": host},
    values,
    st.one_of(st.none(), st.sampled_from([0.5, -2.0, 7.25, float("inf")])),
    st.one_of(st.none(), st.sampled_from(["a", "b", "", "zebra", "é"])),
)


def as_batch(some: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(some, schema)


def counted(window: Window, name: str) -> dict[Any, int]:
    found = window.histogram(name).to_pylist()
    values = [row[name] for row in found]
    assert values[1:] == sorted(values[1:], key=lambda each: (each is None, each)) or None in values
    known = [each for each in values if each is not None]
    assert known == sorted(known)
    return {row[name]: row["count"] for row in found}


def grouped(numbers: list[Any], bounds: list[int]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    ends = [None, *bounds, None]
    for number in numbers:
        if number is None:
            found[None] += 1
        else:
            place = sum(number >= bound for bound in bounds)
            found[ends[place], ends[place + 1]] += 1
    return found


def agree(window: Window, plain: PlainWindow, *, grouped_by: list[int] | None = None) -> None:
    assert len(window) == len(plain.rows)
    assert window.waiting == plain.waiting
    kept = window.contents.kept
    assert window.rows().to_pylist() == [{name: row[name] for name in kept} for row in plain.rows]
    for name in window.contents.attributes:
        held = [row[name] for row in plain.rows]
        if grouped_by is not None and name == "src":
            found = {
                None if row["src"] is None else (row["src"]["from"], row["src"]["below"]): row[
                    "count"
                ]
                for row in window.histogram("src").to_pylist()
            }
            assert found == grouped(held, grouped_by)
        else:
            assert counted(window, name) == Counter(held)
    assert [basic.number for basic in window.basics()][-1:] == [
        number for number, _ in plain.complete
    ][-1:]


def combinations() -> list[dict[str, Any]]:
    """Every storage, index and ring that go together, of one attribute."""
    found: list[dict[str, Any]] = []
    for storage in STORAGES:
        for index in (None, *INDEXES):
            if (storage == "group" and index not in (None, "group")) or (
                index == "group" and storage not in ("list", "group")
            ):
                continue
            rings = RINGS if storage == "list" and index not in (None, "group") else ()
            for ring in (None, *rings):
                settings: dict[str, Any] = {"storage": {"src": storage}}
                settings["index"] = {} if index is None else {"src": index}
                settings["ring"] = {} if ring is None else {"src": ring}
                if "group" in (storage, index):
                    settings["groups"] = {"src": [0, 5, 9]}
                found.append(settings)
        if storage != "group":
            found += [
                {"storage": {"src": storage}, "index": {"src": Split(kind, parts), "host": split}}
                for kind, parts in (("counts", 2), ("list", 3), ("tree", 4), ("hash", 2))
                for split in (Split("tree", 2),)
            ]
    return found


@pytest.mark.parametrize("settings", combinations(), ids=str)
@examples(6)
@given(
    batches=st.lists(st.lists(rows, max_size=9), max_size=12),
    pointers=st.sampled_from(["eager", "lazy"]),
    purge=st.sampled_from([1, 5, None, "zeros"]),
    shape=st.sampled_from([(1, 1), (1, 4), (3, 1), (4, 3), (2, 7)]),
)
def test_a_window_that_counts_rows_holds_the_last_ones(settings, batches, pointers, purge, shape):
    count, basic = shape
    window = Window(
        SCHEMA, rows=count * basic, basic=basic, pointers=pointers, purge=purge, **settings
    )
    plain = PlainWindow(count, basic)
    for batch in batches:
        assert window.push(as_batch(batch)) == plain.push(batch)
        bounds = [0, 5, 9] if "groups" in settings else None
        agree(window, plain, grouped_by=bounds)


@examples(60)
@given(
    data=st.data(),
    delay=st.integers(0, 12),
    shape=st.sampled_from([(1, 1), (2, 5), (6, 2)]),
    late=st.sampled_from(["error", "drop"]),
    ring=st.sampled_from([None, "numbered", "simple", "dirty-bits"]),
    pointers=st.sampled_from(["eager", "lazy"]),
)
def test_a_window_that_goes_by_time_holds_the_last_basic_windows(
    data, delay, shape, late, ring, pointers
):
    count, basic = shape
    window = Window(
        TIMED,
        span=count * basic,
        basic=basic,
        time="ts",
        delay=delay,
        late=late,
        pointers=pointers,
        index={"src": "counts", "host": "tree"},
        ring={} if ring is None else {"src": ring},
        purge=4,
    )
    plain = PlainWindow(count, basic, lambda row: row["ts"], delay)
    now = data.draw(st.integers(-50, 50))
    dropped = 0
    for _ in range(data.draw(st.integers(0, 10))):
        now += data.draw(st.sampled_from([0, 1, 2, 5, 40]))
        back = st.integers(0, delay + data.draw(st.sampled_from([0, 0, 3])))
        some = [
            {**row, "ts": now - data.draw(back)} for row in data.draw(st.lists(rows, max_size=5))
        ]
        batch = as_batch(some, TIMED)
        if plain.is_late(some):
            if late == "error":
                with pytest.raises(errors.LateRows, match="longer delay"):
                    window.push(batch)
                agree(window, plain)
                continue
            kept = [row for row in some if not plain.is_late([row])]
            dropped += len(some) - len(kept)
            latest = max(row["ts"] for row in some)
            done = plain.push(kept)
            assert window.push(batch) == done + plain.advance(latest)
        else:
            assert window.push(batch) == plain.push(some)
        agree(window, plain)
        if data.draw(st.booleans()):
            now += data.draw(st.integers(0, 9))
            assert window.advance(now) == plain.advance(now)
            agree(window, plain)
    assert window.late_rows == dropped


def test_rows_come_in_many_forms():
    made = {"src": [1, 2], "size": [0.5, None], "host": ["a", "b"]}
    table = pa.table(made, schema=SCHEMA)
    forms = [
        table,
        table.to_batches()[0],
        table.to_reader(),
        table.to_batches(),
        made,
        {name: pa.array(column) for name, column in made.items()},
        {"src": np.array([1, 2]), "size": pa.array([0.5, None]), "host": np.array(["a", "b"])},
        table.to_pylist(),
        pd.DataFrame(made),
        pl.DataFrame(made),
        table.cast(pa.schema([("src", pa.int8()), ("size", pa.float32()), ("host", pa.string())])),
        table.select(["host", "src", "size"]),
    ]
    for form in forms:
        window = Window(SCHEMA, rows=2, basic=2)
        assert window.push(form) == 1, form
        assert window.rows().to_pylist() == table.to_pylist(), form
    window = Window(SCHEMA, rows=2, basic=1)
    for row in table.to_pylist():
        assert window.push(row) == 1
    assert window.rows().to_pylist() == table.to_pylist()


def test_what_is_pushed_may_be_written_to_afterwards():
    numbers = np.array([1, 2, 3])
    window = Window({"src": pa.int64()}, span=10, basic=10, time="src")
    window.push({"src": numbers})
    numbers[:] = 9
    window.advance(10)
    assert window.rows().column(0).to_pylist() == [1, 2, 3]


def test_arrow_tools_read_a_window():
    window = Window(SCHEMA, rows=2, basic=1)
    window.push({"src": [1, 2], "size": [1.0, 2.0], "host": ["a", "b"]})
    assert pl.DataFrame(window)["src"].to_list() == [1, 2]
    assert pa.table(window).num_rows == 2


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        ({"src": [1]}, errors.MissingColumn, "lack 'size', 'host'"),
        ({"src": [1], "size": [1.0], "host": ["a"], "x": [1]}, errors.SchemaMismatch, "no column"),
        ({"src": ["a"], "size": [1.0], "host": ["a"]}, errors.SchemaMismatch, "'src'"),
        ({"src": [1, 2], "size": [1.0], "host": ["a"]}, errors.SchemaMismatch, "different numbers"),
        (17, errors.SchemaMismatch, "Cannot read"),
        (pa.table({"src": ["x"], "size": [1.0], "host": ["a"]}), errors.SchemaMismatch, "'src'"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_taken(rows, error, said):
    window = Window(SCHEMA, rows=2, basic=1)
    with pytest.raises(error, match=said):
        window.push(rows)
    assert (len(window), window.waiting) == (0, 0)


def test_rows_without_a_time_are_refused():
    window = Window(TIMED, span=4, basic=2, time="ts")
    with pytest.raises(errors.NullTimes, match="have no 'ts'"):
        window.push({"src": [1, 1], "size": [1.0, 1.0], "host": ["a", "a"], "ts": [1, None]})
    assert window.waiting == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "basic= is missing"),
        ({"basic": 5}, "rows=100_000 with basic=1_000"),
        ({"rows": 10, "basic": 3}, "basic=2, say"),
        ({"rows": 3, "basic": 10}, "basic=3, say"),
        ({"rows": 0, "basic": 1}, "above 0"),
        ({"rows": 4, "basic": 1, "delay": "1 s"}, "go with span="),
        ({"span": 4, "basic": 8, "time": "src"}, "basic=4, say"),
        ({"span": "1 hour", "basic": "7 minutes"}, "whole number of basic windows"),
        ({"span": "1 hour", "basic": "2 hours"}, "whole number of basic windows"),
        ({"span": "soon", "basic": "1 minute"}, "1 hour"),
        ({"span": 4, "basic": 2, "time": "never"}, "no column 'never'"),
        ({"rows": 4, "basic": 1, "storage": "heap"}, "heap"),
        ({"rows": 4, "basic": 1, "index": {"src": "btree"}}, "btree"),
        ({"rows": 4, "basic": 1, "ring": {"src": "rope"}}, "rope"),
        ({"rows": 4, "basic": 1, "index": "src"}, r"index=\['src'\]"),
        ({"rows": 4, "basic": 1, "index": ["x"]}, "which is no column"),
        ({"rows": 4, "basic": 1, "ring": ["src"], "storage": "aggr"}, "A ring links rows"),
        ({"rows": 4, "basic": 1, "index": {"src": "group"}}, "give the boundaries"),
        ({"rows": 4, "basic": 1, "groups": {"src": [1]}}, "not grouped"),
        (
            {"rows": 4, "basic": 1, "groups": {"src": [5, 1]}, "index": {"src": "group"}},
            "must rise",
        ),
        (
            {"rows": 4, "basic": 1, "groups": {"host": ["a"]}, "index": {"host": "group"}},
            "cannot be grouped",
        ),
        (
            {
                "rows": 4, "basic": 1, "storage": {"src": "aggr"}, "index": {"src": "group"},
                "groups": {"src": [1]},
            },
            "do not go together",
        ),
        ({"rows": 4, "basic": 1, "buckets": 0}, "buckets=0"),
        ({"rows": 4, "basic": 1, "purge": "5 minutes"}, "purge="),
        ({"rows": 4, "basic": 1, "pointers": "late"}, "pointers="),
        ({"rows": 4, "basic": 1, "late": "keep"}, "late="),
        ({"rows": 4, "basic": 1, "keep_up": "yes"}, "keep_up="),
    ],
)  # fmt: skip
def test_windows_that_cannot_be_are_refused_with_what_would_do(settings, said):
    with pytest.raises(errors.WavedexError, match=said) as caught:
        Window(SCHEMA, **settings)
    assert isinstance(caught.value, errors.BadDefinition | errors.BadTime)


def test_a_type_that_cannot_be_indexed_is_refused():
    with pytest.raises(errors.BadDefinition, match=r"list<.*cannot be indexed"):
        Window({"tags": pa.list_(pa.string())}, rows=2, basic=1, index=["tags"])
    Window({"tags": pa.list_(pa.string())}, rows=2, basic=1).push({"tags": [["a"]]})


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("by_clock", [True, False])
def test_rows_are_seen_after_the_delay_and_a_basic_window_later_at_most(delay, by_clock):
    """No sooner than d, and up to t_b + d; by rows alone up to d more, as they are late."""
    schema = pa.schema([("ts", pa.timestamp("s")), ("n", pa.int64())])
    late = f"{delay} seconds"
    window = Window(schema, span="1 minute", basic="10 seconds", time="ts", delay=late)
    begun = dt.datetime(2026, 1, 5)
    seen_at: dict[int, int] = {}
    draw = random.Random(4)
    on_their_way: list[tuple[int, int]] = []
    for second in range(200):
        on_their_way.append((second + draw.randint(0, delay), second))
        ready = [each for each in on_their_way if each[0] <= second]
        on_their_way = [each for each in on_their_way if each[0] > second]
        if ready:
            stamps = [begun + dt.timedelta(seconds=each) for _, each in ready]
            window.push({"ts": stamps, "n": [each for _, each in ready]})
        if by_clock:
            window.advance(begun + dt.timedelta(seconds=second))
        for number in window.rows(["n"]).column(0).to_pylist():
            seen_at.setdefault(number, second)
    waits = [at - number for number, at in seen_at.items()]
    assert len(waits) > 150
    assert min(waits) > delay or (min(waits), delay) == (1, 0)
    assert max(waits) <= 10 + delay + (0 if by_clock else delay)
    if by_clock:
        assert max(waits) == 10 + delay


def test_implicit_times_are_those_of_the_clock():
    now = [dt.datetime(2026, 1, 5, tzinfo=dt.UTC)]
    window = Window({"src": pa.int64()}, span="3 minutes", basic="1 minute", clock=lambda: now[0])
    for number in range(10):
        window.push({"src": number})
        now[0] += dt.timedelta(seconds=30)
    assert window.rows().column(0).to_pylist() == [2, 3, 4, 5, 6, 7]
    now[0] += dt.timedelta(seconds=60)
    assert window.advance() == 2
    assert window.rows().column(0).to_pylist() == [6, 7, 8, 9]
    assert (window.since, window.until) == (
        dt.datetime(2026, 1, 5, 0, 3, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 5, 0, 6, tzinfo=dt.UTC),
    )
    now[0] += dt.timedelta(days=400)
    assert window.advance() > 500_000
    assert len(window) == 0


def test_a_window_that_counts_rows_has_no_clock():
    with pytest.raises(errors.BadTime, match="goes by rows"):
        Window(SCHEMA, rows=2, basic=1).advance()


def test_steps_and_bytes_are_told():
    window = Window(SCHEMA, rows=100, basic=10, index={"src": "list", "host": "counts"})
    for number in range(300):
        window.push({"src": number % 7, "size": 1.0, "host": f"host {number % 3}"})
    assert window.steps["src"]["search"] > 300
    assert 0 < window.nbytes < 100_000


def test_texts_that_are_gone_are_forgotten():
    window = Window({"host": pa.string()}, rows=10, basic=1, index=["host"], purge=20)
    for number in range(2_000):
        window.push({"host": f"host {number}"})
    values = window.index("host").values
    assert len(values._words) <= 40
    assert window.index("host").index.size <= 40
    assert [row["host"] for row in window.histogram("host").to_pylist()] == sorted(
        f"host {number}" for number in range(1_990, 2_000)
    )


@pytest.mark.parametrize("storage", ["aggr", "hash"])
def test_texts_without_an_index_are_forgotten_too(storage):
    window = Window({"host": pa.string()}, rows=10, basic=5, storage=storage, purge=20)
    for number in range(2_000):
        window.push({"host": f"host {number}"})
    assert len(window.contents.attributes["host"].domain.values.known()) <= 40
    assert window.histogram("host").num_rows == 10


def test_memory_is_bounded_by_the_rows():
    """At most twice the bytes of the rows, and 32 bytes a row for each ring."""
    rows = 2**17
    draw = np.random.default_rng(5)
    batch = pa.record_batch(
        {"src": draw.integers(0, 10_000, rows), "size": draw.integers(0, 10_000, rows)}
    )
    for several in (1, 4):
        window = Window(batch.schema, rows=100_000, basic=1_000, ring=["src"])
        for _ in range(several):
            window.push(batch)
        assert window.nbytes <= 100_000 * (2 * 16 + 32)


@examples(40)
@given(
    batches=st.lists(st.lists(rows, max_size=9), max_size=12),
    shape=st.sampled_from([(1, 1), (4, 3), (2, 7)]),
    ring=st.sampled_from([{}, {"src": "numbered"}, {"src": "backward"}]),
)
def test_a_window_on_disk_holds_the_same(tmp_path_factory, batches, shape, ring):
    count, basic = shape
    folder = tmp_path_factory.getbasetemp() / "disk"
    window = Window(SCHEMA, rows=count * basic, basic=basic, ring=ring, disk=folder)
    plain = PlainWindow(count, basic)
    for batch in batches:
        assert window.push(as_batch(batch)) == plain.push(batch)
        agree(window, plain)
    assert list(folder.iterdir()) == []


def test_a_window_on_disk_takes_little_memory(tmp_path):
    draw = np.random.default_rng(5)
    batch = pa.record_batch({"src": draw.integers(0, 9, 50_000), "text": ["x" * 100] * 50_000})
    window = Window(batch.schema, rows=50_000, basic=1_000, disk=tmp_path / "new" / "folder")
    window.push(batch)
    assert window.nbytes < 10_000
    assert window.rows().equals(batch)
    assert window.lookup("src", 3).num_rows == (batch["src"].to_numpy() == 3).sum()
    with pytest.raises(errors.BadDefinition, match="local disk"):
        Window(batch.schema, rows=50, basic=1, disk="s3://bucket/window")
