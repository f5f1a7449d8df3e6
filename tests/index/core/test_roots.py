"""Several disks: sub-indexes are spread over them, found there again, and missed by name."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.crashing import crash_numbers
from kit.small_waves import SCHEMA, WINDOW, answers, rows_of, table
from kit.ways import WAYS
from wavedex.files.local import Files
from wavedex.files.spread import MARK
from wavedex.index.reading.readable import read_together
from wavedex.plan import SCHEMES
from wavedex.testing.disks import Crash
from wavedex.testing.oracle import Oracle, same_rows


def make(path: Path, scheme: str = "wata", way: str = "runs", roots: int = 3, slots: int = 8):
    disks = [path / f"disk{number}" for number in range(roots)]
    index = wx.WaveIndex.create(
        path / "x", SCHEMA, key="k", time="t", slot=10, window=WINDOW, indexes=3, scheme=scheme,
        first_room=1, roots=disks, **WAYS[way],
    )  # fmt: skip
    oracle = Oracle(WINDOW, "k", lambda row: row["t"] // 10)
    for slot in range(1, slots + 1):
        index.append(table(rows_of(slot)))
        oracle.append(rows_of(slot), slot)
    return index, oracle, disks


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [name for name in SCHEMES if not SCHEMES[name].needs])
@pytest.mark.parametrize("way", WAYS)
def test_answers_are_the_same_and_every_disk_has_its_share(tmp_path, scheme, way):
    index, oracle, disks = make(tmp_path, scheme, way)
    late = [{"k": 3, "t": 81, "v": "late"}, {"k": 4, "t": 51, "v": "late"}]
    index.amend(table(late))
    oracle.amend(late)
    index.verify()
    for asked in (index, wx.open(tmp_path / "x")):
        assert same_rows(answers(asked), oracle.rows())
        for key in range(7):
            assert same_rows(asked.probe(key).to_pylist(), oracle.probe(key))
    index.vacuum()
    assert all(len(list(disk.iterdir())) > 1 for disk in disks)
    assert not list((tmp_path / "x" / "data").iterdir())
    del asked  # which holds a commit where files are changed in place
    index.migrate(scheme="rata", shards=3, update="runs")
    index.erase([3])
    assert same_rows(answers(index), oracle.rows(lambda row: row["k"] != 3))
    index.verify()


def test_a_sub_index_lies_on_one_disk(tmp_path):
    index, _, disks = make(tmp_path)
    homes = {
        name: {
            Path(index.storage.path(file.name)).parent
            for part in sub.parts
            for file in part.files.values()
        }
        for name, sub in index.snapshot().manifest.indexes.items()
    }
    assert all(len(found) == 1 for found in homes.values())
    assert set.union(*homes.values()) == set(disks)
    assert {Path(name).parent for name in index.files()} == set(disks)


@pytest.mark.parametrize("way", ["runs", "in-place"])
def test_a_disk_that_is_missing_is_named_with_the_slots_it_held(tmp_path, way):
    index, oracle, disks = make(tmp_path, way=way)
    held = {disk: set() for disk in disks}
    for sub in index.snapshot().manifest.indexes.values():
        for part in sub.parts:
            held[Path(index.storage.path(part.files["rows"].name)).parent] |= part.shown
    gone = disks[1]
    shutil.move(gone, tmp_path / "away")
    gone.mkdir()  # as the mount point of a disk that is not mounted
    first, last = min(held[gone]), max(held[gone])
    said = f"slots {first} to {last}" if last > first else f"slot {first}"
    commit = wx.open(tmp_path / "x").commits[-1]
    for act in (
        lambda: wx.open(tmp_path / "x").probe(3),
        lambda: wx.open(tmp_path / "x").append(table(rows_of(9))),
        lambda: wx.open(tmp_path / "x").verify(),
        lambda: wx.open(tmp_path / "x").erase([3]),
    ):
        with pytest.raises(wx.errors.RootMissing, match=f"{gone}, which holds the {said}"):
            act()
    assert wx.open(tmp_path / "x").commits[-1] == commit
    gone.rmdir()
    shutil.move(tmp_path / "away", gone)
    assert same_rows(answers(wx.open(tmp_path / "x")), oracle.rows())
    wx.open(tmp_path / "x").append(table(rows_of(9)))


class Counted:
    """Makes disks that share one count of changes, and crash together when it is reached."""

    def __init__(self, crash_at: int) -> None:
        self.crash_at = crash_at
        self.changes = 0
        self.is_down = False

    def __call__(self, path):
        count = self

        class Disk(Files):
            def __getattribute__(self, name):
                found = super().__getattribute__(name)
                if name not in CHANGES:
                    return found

                def change(*args, **kwargs):
                    count.changes += 1
                    if count.is_down or count.changes >= count.crash_at:
                        count.is_down = True
                        raise Crash
                    return found(*args, **kwargs)

                return change

        return Disk(path)


CHANGES = (
    "create", "sync", "sync_folder", "link", "remove", "remove_unpinned", "resize", "patch",
    "scatter", "copy", "make_folder",
)  # fmt: skip


@pytest.mark.parametrize("way", ["runs", "in-place"])
def test_a_crash_on_any_of_the_disks_leaves_the_old_window_or_the_new_one(tmp_path, way):
    _, oracle, _ = make(tmp_path / "live", way=way, roots=2, slots=7)
    shutil.copytree(tmp_path / "live", tmp_path / "kept")
    old = oracle.rows()
    oracle.append(rows_of(8), 8)
    for number in crash_numbers():
        shutil.rmtree(tmp_path / "live")
        shutil.copytree(tmp_path / "kept", tmp_path / "live")
        disks = Counted(number)
        index = wx.open(tmp_path / "live" / "x", surroundings=wx.Surroundings(files=disks))
        try:
            index.append(table(rows_of(8)))
        except Crash:
            pass
        else:
            break
        survivor = wx.open(tmp_path / "live" / "x")
        survivor.verify()
        found = answers(survivor)
        assert same_rows(found, old) or same_rows(found, oracle.rows()), number
        survivor.append(table(rows_of(8)))
        survivor.verify()
        assert same_rows(answers(survivor), oracle.rows()), number
    assert number > 12


def test_roots_that_cannot_be_are_refused(tmp_path):
    def create(**options):
        return wx.WaveIndex.create(
            tmp_path / "new", SCHEMA, key="k", time="t", slot=10, window=5, **options
        )

    for roots in ("one", [], [tmp_path / "a", tmp_path / "a"], 7):
        with pytest.raises(wx.errors.BadDefinition):
            create(roots=roots)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(wx.errors.AlreadyExists, match="full"):
        create(roots=[tmp_path / "full"])
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "full" / "letter.txt").read_text() == "mine"


def test_a_scan_reads_all_disks_and_may_be_given_up(tmp_path):
    index, oracle, _ = make(tmp_path)
    reader = index.scan()
    first = reader.read_next_batch()
    rest = reader.read_all()
    assert first.num_rows + rest.num_rows == len(oracle.rows())
    given_up = index.scan()
    given_up.read_next_batch()
    del given_up
    assert pa.Table.from_batches([first]).num_rows > 0
    assert (tmp_path / "disk0" / MARK).exists()


def test_roots_of_another_index_are_taken(tmp_path):
    make(tmp_path)
    with pytest.raises(wx.errors.AlreadyExists, match="disk0"):
        wx.WaveIndex.create(
            tmp_path / "y", SCHEMA, key="k", time="t", slot=10, window=5, roots=[tmp_path / "disk0"]
        )
    assert wx.open(tmp_path / "x").probe(3).num_rows


def test_roots_in_each_others_place_are_noticed_before_anything_is_removed(tmp_path):
    index, oracle, disks = make(tmp_path)
    before = sorted(path.name for disk in disks for path in disk.iterdir())
    disks[0].rename(tmp_path / "spare")
    disks[1].rename(disks[0])
    (tmp_path / "spare").rename(disks[1])
    for act in (index.vacuum, lambda: wx.open(tmp_path / "x").probe(3)):
        with pytest.raises(wx.errors.RootMissing):
            act()
    assert sorted(path.name for disk in disks for path in disk.iterdir()) == before
    disks[1].rename(tmp_path / "spare")
    disks[0].rename(disks[1])
    (tmp_path / "spare").rename(disks[0])
    (tmp_path / "x").rename(tmp_path / "moved")
    assert same_rows(answers(wx.open(tmp_path / "moved")), oracle.rows())


def test_roots_that_are_one_folder_or_lie_in_the_index_are_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    for roots in (
        [tmp_path / "real", tmp_path / "alias"],
        [tmp_path / "new" / "data"],
        [tmp_path],
    ):
        with pytest.raises(wx.errors.WavedexError):
            wx.WaveIndex.create(
                tmp_path / "new", SCHEMA, key="k", time="t", slot=10, window=5, roots=roots
            )
        with pytest.raises(wx.errors.NotAnIndex):
            wx.open(tmp_path / "new")


def test_roots_go_with_packages_that_change_their_files(tmp_path):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=WINDOW, indexes=2,
        update="in-place", format="sqlite", roots=[tmp_path / "a", tmp_path / "b"],
    )  # fmt: skip
    for slot in range(1, 8):
        index.append(table(rows_of(slot)))
    index.verify()
    assert len(answers(index)) == WINDOW * len(rows_of(1))


def test_an_erase_leaves_sub_indexes_on_their_disks(tmp_path):
    index, _, _ = make(tmp_path)

    def homes():
        subs = index.snapshot().manifest.indexes
        return {
            name: {part.files["rows"].name.partition("/")[0] for part in sub.parts}
            for name, sub in subs.items()
        }

    before = homes()
    index.erase([3])
    assert homes() == before


def test_disks_are_read_at_the_same_time():
    both = threading.Barrier(2, timeout=30)

    def slow(number: int):
        both.wait()  # which only ends once the other disk is being read, too
        yield pa.record_batch({"n": [number]})

    found = list(read_together([slow(1), slow(2)]))
    assert sorted(batch["n"][0].as_py() for batch in found) == [1, 2]


def test_disks_are_written_to_at_the_same_time(tmp_path):
    both = threading.Barrier(2, timeout=30)

    class Slow(Files):
        def create(self, name, fill):
            if name.endswith(".arrow"):
                both.wait()
            return super().create(name, fill)

    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=4, indexes=2, scheme="reindex",
        update="packed-shadow", shards=1, roots=[tmp_path / "a", tmp_path / "b"],
        surroundings=wx.Surroundings(files=Slow),
    )  # fmt: skip
    index.append(table([row for slot in range(1, 5) for row in rows_of(slot)]))
    assert len(answers(index)) == 4 * len(rows_of(1))
