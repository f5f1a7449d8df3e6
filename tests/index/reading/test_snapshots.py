"""What was handed out does not change, whatever the writer does afterwards."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

import wavedex as wx
from kit.ways import WAYS
from wavedex.files.local import Files
from wavedex.log.manifest import Log

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64())])


def slot_of_new_keys(slot: int) -> pa.Table:
    keys = range(slot * 50, slot * 50 + 50)
    return pa.table({"k": list(keys), "v": [slot] * 50}, schema=SCHEMA)


def filled(path, way: str, slots: range) -> wx.WaveIndex:
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", window=4, indexes=2, scheme="del", shards=1, first_room=1,
        **WAYS[way],
    )  # fmt: skip
    for slot in slots:
        index.append(slot_of_new_keys(slot), slot=slot)
    return index


@pytest.mark.parametrize("way", WAYS)
def test_a_scan_that_was_begun_reads_the_window_it_began_with(tmp_path, way):
    index = filled(tmp_path / "x", way, range(4))
    reader = wx.open(tmp_path / "x").scan()
    gc.collect()
    for slot in range(4, 14):
        index.append(slot_of_new_keys(slot), slot=slot)
    assert set(reader.read_all()["v"].to_pylist()) == {0, 1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_an_answer_stays_as_it_was_given(tmp_path, way):
    index = filled(tmp_path / "x", way, range(4))
    one, many = index.probe(7), index.probe_range(0, 20)
    before = one.to_pylist(), many.to_pylist()
    for slot in range(4, 14):
        index.append(slot_of_new_keys(slot), slot=slot)
        index.probe(7)
    assert (one.to_pylist(), many.to_pylist()) == before


def test_a_snapshot_of_files_that_change_holds_its_commit_until_it_is_closed(tmp_path):
    index = filled(tmp_path / "x", "in-place", range(4))
    log = Log(Files(tmp_path / "x"))
    with index.snapshot() as snapshot:
        for slot in range(4, 8):
            index.append(slot_of_new_keys(slot), slot=slot)
        index.vacuum()
        assert snapshot.commit in log.commits()
        assert snapshot.slots == [0, 1, 2, 3]
    index.vacuum()
    assert snapshot.commit not in log.commits()


def test_a_snapshot_that_is_dropped_lets_go_of_its_commit(tmp_path):
    index = filled(tmp_path / "x", "in-place", range(4))
    snapshot = index.snapshot()
    snapshot.probe(7, since=1)
    held = snapshot.commit
    for slot in range(4, 8):
        index.append(slot_of_new_keys(slot), slot=slot)
    del snapshot
    index.vacuum()
    assert held not in Log(Files(tmp_path / "x")).commits()


def test_an_index_is_verified_while_a_writer_goes_on(tmp_path):
    filled(tmp_path / "x", "packed-shadow", range(4))
    writer = wx.open(tmp_path / "x")

    class Interrupted(Files):
        """Lets a writer commit three times before the first file is opened."""

        mapped = 0

        def open(self, ref):
            self.mapped += 1
            if self.mapped == 1:
                for slot in range(4, 7):
                    writer.append(slot_of_new_keys(slot), slot=slot)
            return super().open(ref)

    wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=Interrupted)).verify()


def test_many_open_parts_cost_no_descriptors(tmp_path):
    import os

    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="k", window=4, shards=40)
    for slot in range(4):
        index.append(pa.table({"k": list(range(400)), "v": [slot] * 400}, schema=SCHEMA), slot=slot)
    before = len(os.listdir("/proc/self/fd"))
    snapshot = index.snapshot()
    assert snapshot.probe(7).num_rows == 4
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_probes_at_the_same_time_end_the_looking_ahead_as_one_after_another_do(tmp_path):
    """All of them see that one more is to look ahead, and then all of them count.

    Here each begins within the one before.
    """
    filled(tmp_path / "x", "packed-shadow", range(4))
    snapshot, begun = wx.open(tmp_path / "x").snapshot(), []
    seek = snapshot.seek

    def begin_another(*args: object) -> None:
        begun.append(args)
        if len(begun) < 4:
            assert snapshot.probe(len(begun)).num_rows == 1
        seek(*args)

    snapshot.cold_probes, snapshot.seek = 1, begin_another
    assert snapshot.probe(0).num_rows == 1
    assert len(begun) == 4
    assert snapshot.cold_probes >= 0
