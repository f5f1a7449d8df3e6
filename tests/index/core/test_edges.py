"""Where things end.

The first and last times, batches longer than the window and text past two gigabytes, and
interrupts.
"""

from __future__ import annotations

import errno
import signal
import threading

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.rows import entries

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


def rows(*slots: int) -> pa.Table:
    return pa.Table.from_pylist([{"k": s % 3, "t": s, "v": str(s)} for s in slots], SCHEMA)


def make(path, **options) -> wx.WaveIndex:
    options = {"key": "k", "time": "t", "slot": 1, "window": 4, "indexes": 2, **options}
    return wx.WaveIndex.create(path, SCHEMA, **options)


@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("edge", [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1])
def test_the_first_and_the_last_times_of_a_column_can_be_indexed(tmp_path, edge, update):
    index = make(tmp_path / "x", update=update)
    index.append(rows(edge))
    assert index.probe(edge % 3).num_rows == 1
    assert index.probe(edge % 3, since=edge, until=edge).num_rows == 1
    index.verify()


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_backfill_longer_than_the_window_can_be_repeated(tmp_path, update):
    index = make(tmp_path / "x", update=update)
    first = index.append(rows(*range(10)))
    assert first.slots == list(range(10))
    assert first.expired + first.rows == 10
    assert index.append(rows(*reversed(range(10)))).slots == []
    assert sorted(index.scan().read_all()["t"].to_pylist()) == [6, 7, 8, 9]
    with pytest.raises(errors.OutsideWindow):
        index.append(rows(*range(9)))


def test_a_slot_is_named_by_what_lies_in_one_slot_only(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us"))])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", time="t", slot="1 hour", window=4)
    with pytest.raises(errors.BadTime, match="spans"):
        index.append(schema.empty_table(), slot="2026-01-01")
    assert index.append(schema.empty_table(), slot="2026-01-01T05:00").slots == [490901]


def test_a_short_window_has_as_many_sub_indexes_as_it_can(tmp_path):
    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=3)
    assert index.definition.indexes == 3


@pytest.mark.parametrize("update", TECHNIQUES)
def test_text_that_does_not_fit_one_file_is_refused_or_left_in_runs(tmp_path, monkeypatch, update):
    monkeypatch.setattr(entries, "TEXT_BYTES_MAX", 1000)
    index = make(tmp_path / "x", update=update, shards=1, scheme="wata", window=6, indexes=2)
    for slot in range(3):
        batch = pa.table({"k": [slot], "t": [slot], "v": ["x" * 400]}, schema=SCHEMA)
        if update == "packed-shadow" and slot == 2:
            with pytest.raises(errors.TooLarge, match="more shards"):
                index.append(batch)
        else:
            index.append(batch)
    kept = 2 if update == "packed-shadow" else 3
    assert sum(index.probe(slot).num_rows for slot in range(3)) == kept
    if update in ("packed-shadow", "runs"):
        index.verify()


def test_dictionaries_of_several_batches_have_room_in_one(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("v", pa.dictionary(pa.int8(), pa.string()))])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=3, indexes=2, shards=1)
    for slot in range(3):
        values = pa.array([f"{slot}-{number}" for number in range(100)]).dictionary_encode()
        narrow = pa.DictionaryArray.from_arrays(values.indices.cast(pa.int8()), values.dictionary)
        index.append(pa.table({"k": pa.array(range(100)), "v": narrow}), slot=slot)
    found = sorted(index.probe(5)["v"].to_pylist())
    assert found == ["0-5", "1-5", "2-5"]


@pytest.mark.parametrize("folder", ["data", "log"])
def test_a_folder_of_somebody_elses_is_left_alone(tmp_path, folder):
    (tmp_path / "project" / folder).mkdir(parents=True)
    precious = tmp_path / "project" / folder / "precious.csv"
    precious.write_text("mine")
    with pytest.raises(errors.AlreadyExists):
        make(tmp_path / "project")
    assert precious.read_text() == "mine"


def test_of_two_that_create_an_index_at_once_the_second_is_refused(tmp_path):
    class Slow(Files):
        """Lets another one create the index, and append to it, before it gets the lock."""

        def lock(self, name, preparing=False):
            if not self.exists("index.json"):
                make(tmp_path / "x").append(rows(1))
            return super().lock(name)

    with pytest.raises(errors.AlreadyExists):
        make(tmp_path / "x", surroundings=wx.Surroundings(files=Slow))
    assert wx.open(tmp_path / "x").probe(1).num_rows == 1


def test_an_append_interrupted_as_a_thread_writes_keeps_the_lock_until_it_writes_no_more(tmp_path):
    make(tmp_path / "x", update="in-place", shards=2, window=6).append(rows(0, 1, 2, 3))
    writing, refused = threading.Event(), threading.Event()

    class Blocked(Files):
        def create(self, name, fill):
            if not writing.is_set():
                writing.set()
                signal.raise_signal(signal.SIGINT)
            assert refused.wait(60)
            return super().create(name, fill)

    def second_writer() -> None:
        assert writing.wait(60)
        with pytest.raises(errors.ConcurrentWrite):
            wx.open(tmp_path / "x").append(rows(9))
        refused.set()

    index = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=Blocked))
    other = threading.Thread(target=second_writer)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        index.append(rows(4, 5))
    other.join()
    assert refused.is_set()
    survivor = wx.open(tmp_path / "x")
    survivor.append(rows(4, 5))
    survivor.verify()
    assert sorted(survivor.scan().read_all()["t"].to_pylist()) == [0, 1, 2, 3, 4, 5]


def test_whatever_fails_after_the_commit_says_that_the_rows_are_in(tmp_path):
    make(tmp_path / "x", update="runs", scheme="del", indexes=1, shards=1).append(rows(1))

    class Failing(Files):
        commits = 0

        def link(self, source, target):
            super().link(source, target)
            Failing.commits += 1

        def sync(self, name):
            if Failing.commits and name.startswith("data/"):
                raise OSError(errno.EIO, "Input/output error")
            super().sync(name)

    index = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=Failing))
    with pytest.raises(errors.PreparationOwed, match="do not do the same again"):
        index.append(rows(2))
    survivor = wx.open(tmp_path / "x")
    assert survivor.describe()["preparation_owed"]
    assert survivor.prepare()
    assert not survivor.prepare()
    survivor.verify()
    assert sorted(survivor.scan().read_all()["t"].to_pylist()) == [1, 2]


def test_a_commit_whose_sync_fails_keeps_its_files(tmp_path):
    make(tmp_path / "x").append(rows(1))

    class Failing(Files):
        def sync_folder(self, name):
            if name == "log":
                raise errors.DiskFull("no room")
            super().sync_folder(name)

    index = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=Failing))
    with pytest.raises(errors.CommitUncertain):
        index.append(rows(2))
    survivor = wx.open(tmp_path / "x")
    survivor.verify()
    assert survivor.append(rows(2)).slots == []
    assert sorted(survivor.scan().read_all()["t"].to_pylist()) == [1, 2]


def test_a_file_of_somebody_elses_in_the_data_folder_is_left_alone(tmp_path):
    index = make(tmp_path / "x")
    (tmp_path / "x" / "data" / "notes").mkdir()
    (tmp_path / "x" / "data" / "readme.txt").write_text("mine")
    index.append(rows(1))
    index.vacuum()
    assert (tmp_path / "x" / "data" / "readme.txt").read_text() == "mine"


def test_an_index_whose_folder_is_gone_says_so(tmp_path):
    import shutil

    index = make(tmp_path / "x")
    index.append(rows(1))
    shutil.rmtree(tmp_path / "x")
    for ask in (lambda: index.probe(1), lambda: index.snapshot(), lambda: index.append(rows(2))):
        with pytest.raises(errors.NotAnIndex, match="gone"):
            ask()


def test_a_handle_stays_with_its_index_when_the_working_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = make("x")
    index.append(rows(1))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert index.probe(1).num_rows == 1


def test_one_string_is_not_several_keys(tmp_path):
    schema = pa.schema([("k", pa.string())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=2)
    for wrong in ("ann", b"ann", 5):
        with pytest.raises(errors.BadKey, match="list of keys"):
            index.probe_many(wrong)
