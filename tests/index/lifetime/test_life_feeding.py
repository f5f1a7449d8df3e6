"""Streams into a lifetime index without Spark.

Each batch is one refresh, once, and its clock is that of its rows.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.index.lifetime.clock import LifeClock
from wavedex.log.manifest import Log

SCHEMA = pa.schema([("k", pa.string()), ("b", pa.int64()), ("e", pa.int64())])
COUNTED = pa.schema([("k", pa.string()), ("b", pa.int64()), ("n", pa.int64())])


def create(path: Any, schema: pa.Schema = SCHEMA, **options: Any) -> wx.LifetimeIndex:
    wanted = {"key": "k", "inserted": "b", "max_lifetime": 16, "refresh": 2, **options}
    return wx.LifetimeIndex.create(path, schema, **wanted)


@pytest.fixture
def life(tmp_path) -> wx.LifetimeIndex:
    return create(tmp_path / "x.wx", expires="e")


def rows(*found: tuple[str | None, int, int], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in found], schema
    )


def seen(life: wx.LifetimeIndex) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in life.scan().read_all().to_pylist())


def test_the_instant_is_the_latest_insertion_and_never_goes_back(life):
    first = life.feed(rows(("a", 3, 9), ("b", 5, 8)), stream="s", number=0)
    assert (first.rows, first.slot, first.repeated) == (2, 2, False)
    second = life.feed(rows(("c", 4, 12)), stream="s", number=1)
    assert (second.rows, second.slot, life.describe()["now"]) == (1, 2, 5)
    third = life.feed(rows(("d", 8, 20), ("e", 2, 8)), stream="s", number=2)
    assert (third.rows, third.over, third.slot) == (1, 1, 4)
    assert seen(life) == [("a", 3, 9), ("c", 4, 12), ("d", 8, 20)]
    assert life.describe()["streams"] == {"s": {"batch": 2, "watermark": None}}


def test_a_batch_that_comes_again_is_passed_over_and_equal_ones_are_not(life):
    batch = rows(("a", 3, 9))
    assert not life.feed(batch, stream="s", number=0).repeated
    commits = life.commits
    again = life.feed(rows(("b", 9, 10)), stream="s", number=0)
    assert (again.repeated, again.rows, again.slot) == (True, 0, 1)
    assert life.commits == commits
    assert not life.feed(batch, stream="s", number=1).repeated
    assert seen(life) == [("a", 3, 9)] * 2
    assert life.update(3, batch).rows == 1  # which is no batch of the stream
    assert life.update(3, batch).repeated


def test_a_batch_without_rows_is_only_noted(tmp_path):
    life = create(tmp_path / "x.wx", expires="e", nulls="skip")
    assert life.feed(rows(), stream="s", number=0).slot is None
    done = life.feed(rows((None, 90, 91)), stream="s", number=1)
    assert (done.rows, done.null_keys, done.slot) == (0, 1, None)
    life.feed(rows(("a", 3, 9)), stream="s", number=2)
    assert life.feed(rows(), stream="s", number=3).slot == 1
    assert life.feed(rows(("b", 4, 9)), stream="s", number=4).rows == 1
    assert seen(life) == [("a", 3, 9), ("b", 4, 9)]
    assert life.describe()["totals"]["null_keys"] == 1
    life.verify()


def test_a_row_that_is_too_far_ahead_is_refused_and_may_come_after_a_refresh(life):
    life.feed(rows(("a", 3, 9)), stream="s", number=0)
    commits = life.commits
    far = rows(("b", 21, 25))
    with pytest.raises(errors.GapTooLarge, match=r"refresh 10 \(10\), which is 9 refreshes after"):
        life.feed(far, stream="s", number=1)
    assert life.commits == commits
    assert seen(life) == [("a", 3, 9)]
    life.update(5)
    assert life.feed(far, stream="s", number=1).rows == 1
    assert life.feed(rows(("c", 36, 40)), stream="s", number=2).slot == 18  # all that is allowed


def test_streams_keep_out_of_each_others_way(life):
    life.feed(rows(("a", 3, 9)), stream="s", number=0)
    for stream, number, error in [
        ("t", 0, errors.AnotherStream),
        ("s", 2, errors.StreamOutOfStep),
        ("s", -1, errors.BadDefinition),
        (3, 1, errors.BadDefinition),
    ]:
        with pytest.raises(error):
            life.feed(rows(("b", 4, 9)), stream=stream, number=number)
    life.feed(rows(("b", 4, 9)), stream="t", number=7, takeover=True)
    assert seen(life) == [("a", 3, 9), ("b", 4, 9)]
    with pytest.raises(errors.LifetimeTooLong):
        life.feed(rows(("c", 4, 99)), stream="t", number=8)
    with pytest.raises(errors.MissingColumn):
        life.feed(rows(("c", 4, 9)).drop_columns(["e"]), stream="t", number=8)


def test_counted_windows_come_as_far_as_the_largest_position_that_was_seen(tmp_path):
    life = create(tmp_path / "x.wx", COUNTED, counts={"n": 3}, method="count-rebuild", nulls="skip")

    def feed(number: int, *found: tuple[str | None, int, int]) -> wx.Refreshed:
        return life.feed(rows(*found, schema=COUNTED), stream="s", number=number)

    feed(0)
    feed(1, ("a", 2, 1), ("b", 2, 2), (None, 80, 99))
    feed(2, ("c", 5, 4), ("d", 4, 3))
    assert seen(life) == [("b", 2, 2), ("c", 5, 4), ("d", 4, 3)]
    feed(3, ("e", 3, 1))
    feed(4)
    assert seen(life) == [("b", 2, 2), ("c", 5, 4), ("d", 4, 3)]
    manifest = Log(life.storage).latest()
    assert (LifeClock.of(manifest).now, LifeClock.of(manifest).came) == (5, {"n": 4})
    with pytest.raises(errors.NullTimes, match="have no 'n'"):
        feed(5, ("f", 6, None))
    feed(5, ("g", 6, 7))
    assert seen(life) == [("g", 6, 7)]
    life.verify()
