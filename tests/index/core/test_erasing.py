"""Rows that somebody has a right to have forgotten are in no file any more.

That holds whatever the index is kept as.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import wavedex as wx
from kit.crashing import crash_everywhere
from kit.small_waves import WINDOW, answers, make, rows_of, table
from kit.ways import SQLITE, WAYS
from wavedex.files.local import Files
from wavedex.files.names import LOCK
from wavedex.testing.crashes import DISKS
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("who", pa.string()), ("t", pa.int64()), ("text", pa.string())])
DOOMED = "erin.mcleod@example.org"
WORDS = "her very words"


def people(slot: int) -> pa.Table:
    names = ["ann", "bob", DOOMED, "cyd"]
    text = [WORDS if name == DOOMED else f"says {name}" for name in names]
    return pa.table({"who": names, "t": [slot * 10 + n for n in range(4)], "text": text}, SCHEMA)


def naming(path: Path) -> list[str]:
    """The files that have the rows, in whatever way their format keeps text."""
    found = []
    for file in path.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            if file.suffix == ".parquet":
                content += str(pa.parquet.read_table(file).to_pylist()).encode()
            if DOOMED.encode() in content or WORDS.encode() in content:
                found.append(str(file))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "scheme"),
    [
        *itertools.product(WAYS, ["wata", "rata", "reindex+", "reindex++", "del"]),
        *itertools.product(SQLITE, ["rata"]),
    ],
)
def test_no_file_has_them_any_more(tmp_path, scheme, way):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="who", time="t", slot=10, window=6, indexes=2, scheme=scheme,
        keep_commits=20, **(WAYS | SQLITE)[way],
    )  # fmt: skip
    for slot in range(1, 12):
        index.append(people(slot))
    index.feed(people(12), stream="s", number=0, delay=30)
    assert naming(tmp_path)
    held = index.scan(expired=True).read_all().to_pylist()
    done = index.erase([DOOMED, "nobody"])
    assert done.rows == sum(row["who"] == DOOMED for row in held)
    assert not naming(tmp_path)
    assert len(index.commits) <= 2
    left = index.scan(expired=True).read_all().to_pylist()
    assert same_rows(left, [row for row in held if row["who"] != DOOMED])
    index.verify()


@pytest.mark.parametrize(("way", "disk"), [*zip(WAYS, itertools.cycle(DISKS), strict=False)])
def test_a_crash_in_an_erase_leaves_the_old_window_or_the_new_one(tmp_path, way, disk):
    oracle = make(tmp_path / "origin", "rata", way, range(1, WINDOW + 4))
    new = oracle.rows(lambda row: row["k"] not in (3, 5))
    crash_everywhere(
        tmp_path,
        DISKS[disk],
        lambda index: index.erase([3, 5]),
        oracle.rows(),
        new,
    )


def test_an_erase_that_a_crash_cut_off_is_finished_by_the_next_write(tmp_path):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="who", time="t", slot=10, window=6, keep_commits=20
    )
    for slot in range(1, 9):
        index.append(people(slot))

    class Stubborn(Files):
        def remove_unpinned(self, name: str) -> bool:
            raise wx.errors.DiskFailed("The disk says no.")

    stubborn = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=Stubborn))
    with pytest.raises(wx.errors.EraseUnfinished, match="vacuum"):
        stubborn.erase([DOOMED])
    assert index.probe(DOOMED).num_rows == 0
    assert naming(tmp_path)
    index.append(people(9).filter(pa.array([True, True, False, True])))
    assert not naming(tmp_path)


def test_a_reader_that_holds_a_commit_in_place_is_named(tmp_path):
    make(tmp_path / "x", "wata", "in-place", range(1, WINDOW + 4))
    index = wx.open(tmp_path / "x")
    with wx.open(tmp_path / "x").snapshot() as held:
        rows = held.scan().read_all().num_rows
        with pytest.raises(wx.errors.EraseUnfinished, match=f"commit {held.commit}"):
            index.erase([3])
        assert index.probe(3).num_rows == 0
        assert held.scan().read_all().num_rows == rows
    index.vacuum()
    assert index.commits == [index.snapshot().commit]
    index.verify()


def test_keys_of_another_kind_and_another_writer_are_refused(tmp_path):
    oracle = make(tmp_path / "x", "wata", "runs", range(1, WINDOW + 4))
    index = wx.open(tmp_path / "x")
    commit = index.snapshot().commit
    with pytest.raises(wx.errors.BadKey):
        index.erase("3")
    with pytest.raises(wx.errors.BadKey):
        index.erase(["three"])
    assert index.erase([]).rows == 0
    with Files(tmp_path / "x").lock(LOCK), pytest.raises(wx.errors.ConcurrentWrite):
        index.erase([3])
    assert index.snapshot().commit == commit
    assert same_rows(answers(index), oracle.rows())


def test_a_slot_that_was_erased_from_is_not_appended_again(tmp_path):
    make(tmp_path / "x", "wata", "runs", range(1, WINDOW + 4))
    index = wx.open(tmp_path / "x")
    newest = WINDOW + 3
    keys = {row["k"] for row in rows_of(newest)}
    index.erase(sorted(keys))
    assert index.append(table(rows_of(newest))).slots == []
    assert index.probe(next(iter(keys))).num_rows == 0


def test_erasing_keys_of_several_columns(tmp_path):
    schema = pa.schema([("a", pa.string()), ("b", pa.int32()), ("t", pa.int64())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key=["a", "b"], time="t", slot=1, window=5)
    for slot in range(8):
        index.append(pa.table({"a": ["x", "x", "y"], "b": [1, 2, 1], "t": [slot] * 3}, schema))
    assert index.erase([("x", 1)]).rows == index.probe(("y", 1), expired=True).num_rows
    assert index.probe(("x", 1)).num_rows == 0
    assert index.probe(("x", 2)).num_rows == 5
    index.verify()


@pytest.mark.parametrize("update", ["in-place", "simple-shadow"])
def test_room_that_a_deletion_left_is_cleared_too(tmp_path, update):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="who", time="t", slot=10, window=2, indexes=1, scheme="del",
        update=update, shards=1,
    )  # fmt: skip
    index.append(people(1))
    for slot in range(2, 6):
        index.append(people(slot).filter(pa.array([True, True, False, True])))
    assert naming(tmp_path)
    assert index.erase([DOOMED]).rows == 0
    assert not naming(tmp_path)
    index.verify()


def test_words_of_a_dictionary_go_with_their_rows(tmp_path):
    coded = SCHEMA.set(2, pa.field("text", pa.dictionary(pa.int32(), pa.string())))
    index = wx.WaveIndex.create(
        tmp_path / "x", coded, key="who", time="t", slot=10, window=6, indexes=2
    )
    for slot in range(1, 9):
        rows = people(slot)
        texts = rows["text"].combine_chunks().dictionary_encode()
        index.append(rows.set_column(2, coded.field(2), texts))
    index.erase([DOOMED])
    assert not naming(tmp_path)
    assert set(index.scan().read_all()["text"].to_pylist()) == {"says ann", "says bob", "says cyd"}
