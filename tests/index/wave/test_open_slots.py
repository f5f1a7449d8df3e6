"""Appends and amendments beside a stream.

Open slots are part of the window, and small batches do not pile up in them.
"""

from __future__ import annotations

import pytest

import wavedex as wx
from kit.stream_oracle import EVERY, SCHEMA, rows
from kit.ways import CASES, told
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def make(path, **options) -> wx.WaveIndex:
    options = {"window": 4, "indexes": 2, "max_gap": 5, "shards": 1, **options}
    return wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=EVERY, **options)


def times(index: wx.WaveIndex) -> list[int]:
    index.verify()
    found = sorted(index.scan().read_all()["t"].to_pylist())
    assert found == sorted(time for key in range(3) for time in index.probe(key)["t"].to_pylist())
    return found


def open_slots(index: wx.WaveIndex) -> list[int]:
    return (index.describe()["open"] or {"slots": []})["slots"]


@pytest.mark.parametrize("update", TECHNIQUES)
def test_an_open_slot_can_be_amended_and_not_appended(tmp_path, update):
    index = make(tmp_path / "x", update=update)
    index.feed(rows(100, 115), stream="s", number=0, delay=3)
    before = index.describe()
    for batch in (rows(116), rows(116, 131), rows(115)):
        with pytest.raises(errors.SlotConflict, match="a stream is filling it"):
            index.append(batch)
    with pytest.raises(errors.OutsideWindow):
        index.amend(rows(116, 121))
    assert index.describe() == before
    assert index.amend(rows(116, 105)).slots == [10, 11]
    assert (times(index), open_slots(index)) == ([100, 105, 115, 116], [11])
    done = index.feed(rows(117, 124), stream="s", number=1, delay=3)
    assert (done.rows, done.sealed, open_slots(index)) == (2, [11], [12])
    assert times(index) == [100, 105, 115, 116, 117, 124]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "update"), CASES)
def test_an_append_beyond_open_slots_seals_them_with_their_rows(tmp_path, scheme, update):
    how = {"scheme": scheme, "update": update, **told(scheme, first=10)}
    index = make(tmp_path / "x", spread=False, **how)
    index.feed(rows(100, 104, 118, 121), stream="s", number=0, delay=15)
    assert (index.slots, open_slots(index)) == ([10, 11, 12], [10, 11, 12])
    assert index.append(rows(135)).slots == [13]
    assert (index.slots, open_slots(index)) == ([10, 11, 12, 13], [])
    assert times(index) == [100, 104, 118, 121, 135]
    # What the watermark has not passed is amended now; what the append has pushed out is late.
    done = index.feed(rows(119, 136, 152, 171), stream="s", number=1, delay=20)
    assert (done.rows, done.amended, done.late, done.sealed) == (4, 2, 0, [14])
    assert (index.slots, open_slots(index)) == ([11, 12, 13, 14, 15, 17], [15, 17])
    index.append(rows(163, 182))
    assert (index.slots, open_slots(index)) == ([15, 16, 17, 18], [])
    assert times(index) == [152, 163, 171, 182]
    done = index.feed(rows(149, 151), stream="s", number=2, delay=20)
    assert (done.rows, done.amended, done.late, done.sealed) == (1, 1, 1, [])
    assert times(index) == [151, 152, 163, 171, 182]


@pytest.mark.parametrize("update", TECHNIQUES)
def test_an_append_far_beyond_open_slots_begins_anew_without_them(tmp_path, update):
    index = make(tmp_path / "x", update=update, max_gap=20)
    index.feed(rows(100, 111), stream="s", number=0, delay=1)
    index.append(rows(305))
    assert (index.slots, open_slots(index), times(index)) == ([27, 28, 29, 30], [], [305])
    assert index.feed(rows(112, 269, 270), stream="s", number=1, delay=1).late == 2


def test_rows_older_than_the_window_move_no_watermark(tmp_path):
    index = make(tmp_path / "x")
    index.append(rows(305))
    assert index.feed(rows(100, 269), stream="s", number=0, delay=0).late == 2
    assert index.describe()["streams"] == {"s": {"batch": 0, "watermark": None}}
    assert index.feed(rows(270, 301, 99), stream="s", number=1, delay=0).amended == 2
    assert index.describe()["streams"] == {"s": {"batch": 1, "watermark": 301}}


def test_open_slots_fill_the_gap_before_an_append(tmp_path):
    index = make(tmp_path / "x", max_gap=3)
    index.append(rows(95))
    index.feed(rows(125, 155), stream="s", number=0, delay=99)
    assert open_slots(index) == [12, 15]
    with pytest.raises(errors.GapTooLarge, match=r"Between slot 15 .* and slot 20"):
        index.append(rows(200))
    index.append(rows(185))
    assert times(index) == [155, 185]


def test_one_row_dated_far_ahead_or_far_back_cannot_push_open_slots_out(tmp_path):
    index = make(tmp_path / "x")
    index.feed(rows(1000, 1011), stream="s", number=0, delay=99)
    before = index.describe()
    for far in (10**9, 1080, 930):
        with pytest.raises(errors.GapTooLarge):
            index.append(rows(far))
        with pytest.raises(errors.GapTooLarge):
            index.feed(rows(1012, far), stream="s", number=1, delay=99)
        assert index.describe() == before
    assert index.append(rows(975)).slots == [97]
    assert open_slots(index) == [100, 101]
    assert index.feed(rows(1012, 1025), stream="s", number=1, delay=99).rows == 2
    assert times(index) == [975, 1000, 1011, 1012, 1025]


def test_a_slot_that_a_stream_brought_is_not_appended_again(tmp_path):
    index = make(tmp_path / "x")
    index.feed(rows(100, 125), stream="s", number=0, delay=0)
    for passed in (rows(100), rows(101), rows(110)):
        with pytest.raises(errors.SlotConflict):
            index.append(passed)
    assert index.append(rows(135)).slots == [13]
    assert index.append(rows(135)).slots == []
    assert times(index) == [100, 125, 135]


def test_many_small_batches_are_merged_in_the_delta(tmp_path):
    index = make(tmp_path / "x", update="runs")
    parts = []
    for number in range(40):
        index.feed(rows(100 + number % 10), stream="s", number=number, delay=50)
        parts.append(index.describe()["open"]["parts"])
    assert parts[:9] == [1, 2, 3, 4, 5, 6, 7, 8, 1]
    assert max(parts) < 12
    assert times(index) == sorted(100 + number % 10 for number in range(40))
    index.feed(rows(165), stream="s", number=40, delay=50)
    assert (index.slots, open_slots(index)) == ([7, 8, 9, 10, 16], [16])
    assert len(times(index)) == 41


def test_a_large_delta_is_not_merged_for_every_small_batch_and_yet_has_not_many_parts(tmp_path):
    index = make(tmp_path / "x", update="runs")
    index.feed(rows(*[100] * 5000), stream="s", number=0, delay=50)
    parts = []
    for number in range(1, 70):
        index.feed(rows(101), stream="s", number=number, delay=50)
        parts.append(index.describe()["open"]["parts"])
    assert parts == [*range(2, 65), 1, 2, 3, 4, 5, 6]
    assert index.describe()["rows"] == 5069
