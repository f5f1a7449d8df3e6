"""Batches of a stream that come again, last or earlier, and from where a stream must be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from kit.matrix import examples
from wavedex import errors
from wavedex.log.progress import RECALLED

LIVES = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64())])
COUNTED = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])
SLOTS = pa.schema([("k", pa.int64()), ("t", pa.int64())])
GRID = {"key": "k", "inserted": "b", "max_lifetime": 16, "refresh": 2, "shards": 1}
Feed = Callable[[Any, int], Any]


def table(schema: pa.Schema, *rows: tuple[int, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def make_wave(path: Path) -> wx.WaveIndex:
    return wx.WaveIndex.create(path, SLOTS, key="k", time="t", slot=4, window=3, shards=1)


def feed_wave(index: wx.WaveIndex, number: int) -> Any:
    rows = table(SLOTS, (number % 3, 3 * number), (1, 3 * number + 1))
    return index.feed(rows, stream="s", number=number, delay=2)


def make_ends(path: Path) -> wx.LifetimeIndex:
    return wx.LifetimeIndex.create(path, LIVES, expires="e", **GRID)


def make_lengths(path: Path) -> wx.LifetimeIndex:
    return wx.LifetimeIndex.create(path, LIVES, lifetime="e", **GRID)


def make_counted(path: Path) -> wx.LifetimeIndex:
    how = {**GRID, "counts": {"n": 5}, "method": "count-rebuild"}
    return wx.LifetimeIndex.create(path, COUNTED, **how)


def feed_lives(index: wx.LifetimeIndex, number: int) -> Any:
    rows = table(index.schema, (number % 3, number, number + 9), (2, number - 1, number + 1))
    return index.feed(rows, stream="s", number=number)


def feed_lengths(index: wx.LifetimeIndex, number: int) -> Any:
    rows = table(index.schema, (number % 3, number, 9), (2, number - 1, 2))
    return index.feed(rows, stream="s", number=number)


def feed_counted(index: wx.LifetimeIndex, number: int) -> Any:
    rows = table(COUNTED, (number % 3, number, 2 * number), (2, number, 2 * number - 7))
    return index.feed(rows, stream="s", number=number)


def apply_lives(index: wx.LifetimeIndex, number: int) -> Any:
    came = table(LIVES, (0, number, number + 9), (1, number, number + 5), (2, number, number))
    before = number - 1
    gone = table(LIVES, (0, before, before + 9)) if number else None
    later = table(LIVES, (1, before, before + 12)) if number else None
    return index.apply(number, insert=came, retract=gone, prolong=later, stream="s", number=number)


def apply_matching(index: wx.LifetimeIndex, number: int) -> Any:
    came = table(LIVES, (number, number, number + 9))
    gone = wx.matching({"k": [number - 1]}) if number else None
    return index.apply(number, insert=came, retract=gone, stream="s", number=number)


def apply_counted(index: wx.LifetimeIndex, number: int) -> Any:
    rows = table(COUNTED, (1, number, 2 * number), (2, number, 2 * number - 7))
    arrived = {"n": 2 * number + 1}
    return index.apply(number, insert=rows, arrived=arrived, stream="s", number=number)


WAYS: dict[str, tuple[Callable[[Path], Any], Feed]] = {
    "wave": (make_wave, feed_wave),
    "ends": (make_ends, feed_lives),
    "lengths": (make_lengths, feed_lengths),
    "counted": (make_counted, feed_counted),
    "apply": (make_ends, apply_lives),
    "matching": (make_ends, apply_matching),
    "apply counted": (make_counted, apply_counted),
}


@pytest.fixture(params=WAYS)
def way(request) -> tuple[Callable[[Path], Any], Feed]:
    return WAYS[request.param]


def state(index: Any) -> tuple[Any, ...]:
    rows = index.scan().read_all().to_pylist()
    return index.commit, sorted(tuple(row.values()) for row in rows), index.describe()["streams"]


def test_batches_that_come_again_are_passed_over_in_whatever_order(tmp_path, way):
    make, feed = way
    index = make(tmp_path / "x")
    for number in range(9):
        assert not feed(index, number).repeated
        before = state(index)
        for again in range(number, -1, -1):
            assert feed(index, again).repeated
            assert state(index) == before
    index.verify()


def test_an_earlier_batch_with_other_rows_is_refused_and_changes_nothing(tmp_path, way):
    make, feed = way
    index = make(tmp_path / "x")
    for number in range(4):
        feed(index, number)
    before = state(index)
    for number, others in ((0, 1), (1, 2), (2, 1)):
        renamed = _Renumbered(index, number)
        with pytest.raises(errors.StreamOutOfStep, match="other rows"):
            feed(renamed, others)
        assert state(index) == before


class _Renumbered:
    """An index that is handed batches under another number."""

    def __init__(self, index: Any, number: int) -> None:
        self._index, self._number, self.schema = index, number, index.schema

    def feed(self, *given: Any, **said: Any) -> Any:
        return self._index.feed(*given, **{**said, "number": self._number})

    def apply(self, *given: Any, **said: Any) -> Any:
        return self._index.apply(*given, **{**said, "number": self._number})


def test_batches_are_known_for_a_while(tmp_path):
    index = make_ends(tmp_path / "x")
    last = RECALLED + 3
    for number in range(last + 1):
        feed_lives(index, number)
    known = last + 1 - RECALLED
    assert feed_lives(index, known).repeated
    with pytest.raises(errors.StreamOutOfStep, match=f"has taken is batch {last}"):
        feed_lives(index, known - 1)


def test_a_stream_that_takes_over_may_begin_with_a_number_that_was_there(tmp_path):
    index = make_wave(tmp_path / "x")
    for number in range(3):
        feed_wave(index, number)
    rows = table(SLOTS, (7, 9))
    done = index.feed(rows, stream="s", number=1, delay=2, takeover=True)
    assert (done.rows, done.repeated) == (1, False)
    assert index.describe()["streams"]["s"]["batch"] == 1
    assert index.feed(rows, stream="s", number=1, delay=2).repeated
    with pytest.raises(errors.StreamOutOfStep):
        feed_wave(index, 0)  # which the stream before brought


def test_a_stream_that_has_fed_nothing_begins_at_the_beginning(tmp_path):
    fed, empty = make_ends(tmp_path / "fed"), make_ends(tmp_path / "empty")
    assert wx.position(empty.path) == {}
    for number in range(3):
        feed_lives(fed, number)
    assert wx.position(tmp_path / "fed") == {"s": 3}
    assert wx.position(fed, empty.path) == {"s": 0}
    other = make_wave(tmp_path / "other")
    other.feed(table(SLOTS, (1, 1)), stream="another", number=0, delay=0)
    assert wx.position(fed, other) == {"s": 3, "another": 1}


def test_what_lies_too_far_apart_is_named(tmp_path):
    ahead, behind = make_ends(tmp_path / "ahead"), make_ends(tmp_path / "behind")
    feed_lives(behind, 0)
    for number in range(RECALLED + 2):
        feed_lives(ahead, number)
    with pytest.raises(errors.StreamOutOfStep, match=r"lacks batch 1 in .*behind"):
        wx.position(ahead, behind)
    feed_lives(behind, 1)
    assert wx.position(ahead, behind) == {"s": 2}


def test_a_path_without_an_index_is_named(tmp_path):
    with pytest.raises(errors.NotAnIndex, match="nowhere"):
        wx.position(tmp_path / "nowhere")


FOLDERS: Iterator[int] = count()


@examples(15)
@given(
    cuts=st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_after_crashes_all_agree_once_the_stream_is_read_from_their_position(
    tmp_path_factory, cuts
):
    """Several things are fed, each gets some batches more, then all that runs is cut off."""
    root = tmp_path_factory.mktemp(f"run{next(FOLDERS)}")
    fed = [(WAYS[name][0](root / name), WAYS[name][1]) for name in ("wave", "ends", "apply")]
    last = 0
    for cut in cuts:
        first = wx.position(*(index for index, _ in fed)).get("s", 0)
        for (index, feed), more in zip(fed, cut, strict=True):
            for number in range(first, first + more):
                feed(index, number)
            last = max(last, first + more)
    first = wx.position(*(index for index, _ in fed)).get("s", 0)
    for index, feed in fed:
        for number in range(first, last + 1):
            feed(index, number)
        whole = type(index).open(index.path)
        alone = WAYS[Path(index.path).name][0](root / f"{Path(index.path).name} alone")
        for number in range(last + 1):
            feed(alone, number)
        assert state(whole)[1:] == state(alone)[1:]


def test_what_is_neither_a_path_nor_an_index_has_no_position(tmp_path):
    index = make_ends(tmp_path / "x")
    for place in (None, 5, [index.path], b"x", index.snapshot()):
        with pytest.raises(errors.BadPath, match="Pass paths or indexes, one by one"):
            wx.position(index, place)
    assert wx.position(index, index.path, tmp_path / "x") == {}


def test_the_last_batch_is_known_by_its_number_alone_and_those_before_by_their_rows(tmp_path, way):
    make, feed = way
    index = make(tmp_path / "x")
    for number in range(3):
        feed(index, number)
    before = state(index)
    assert feed(_Renumbered(index, 2), 0).repeated
    with pytest.raises(errors.StreamOutOfStep, match="other rows"):
        feed(_Renumbered(index, 1), 0)
    assert state(index) == before
