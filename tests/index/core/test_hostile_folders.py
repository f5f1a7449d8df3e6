"""A folder that somebody else made reads, creates, changes and removes nothing outside itself."""

from __future__ import annotations

import json
import os
import shutil
import time

import pyarrow.fs as pafs
import pytest
import xxhash

import wavedex as wx
from kit.hostile import KINDS, acts_on, forge, named_files, tree
from kit.small_waves import make, rows_of, table
from wavedex.errors import Damaged, NotOurs, RootMissing, WavedexError
from wavedex.files.contract import FileRef
from wavedex.files.local import Files
from wavedex.files.names import base_of
from wavedex.files.remote import RemoteFiles
from wavedex.files.spread import MARK
from wavedex.log.manifest import Log
from wavedex.store.databases.postgresql import ServerTable
from wavedex.store.databases.server import Address
from wavedex.store.part import SLOTS_MAX


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """An index of each kind, made once."""
    folder = tmp_path_factory.mktemp("made")
    for kind, make_it in KINDS.items():
        make_it(folder / kind)
    return folder


@pytest.fixture
def outside(tmp_path):
    """A folder with a private index and a file that is older than a day."""
    folder = tmp_path / "outside"
    make(folder / "private", "wata", "in-place", range(1, 7))
    (folder / "letter.txt").write_text("dear diary")
    long_ago = time.time() - 3 * 86_400
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (long_ago, long_ago))
    return folder


def copy_of(made, kind, tmp_path):
    return shutil.copytree(made / kind, tmp_path / "given", symlinks=True)


def try_all(path):
    """Do everything; whatever goes wrong has a name. Returns what it was, by what was done."""
    errors = {}
    for name, act in acts_on(path).items():
        try:
            act()
        except WavedexError as error:
            errors[name] = error
    return errors


def bad_names(outside, file):
    """Names that lead out of the folder, by how they do."""
    target = next((outside / "private" / "data").glob("*.rows"))
    return {
        "absolute": str(target),
        "upwards": f"../outside/private/data/{target.name}",
        "upwards from data": f"data/../../outside/private/data/{target.name}",
        "through a link": f"data/way/{target.name}",
        "with an empty part": f"data//{target}",
        "with a dot": f"data/./{target.name}",
        "with a backslash": f"data\\..\\{target.name}",
        "with a null": f"{file}\0",
        "of a folder of ours that has no parts": f"log/{target.name}",
        "with no folder": target.name,
        "of another pattern": "data/letter.txt",
        "no text": 7,
    }


def rename_one(path, place, name):
    """Give one of the files that the newest manifest mentions another name there."""
    forge(path, lambda body: [*named_files(body)][place].update(name=name))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_name_in_a_manifest_leads_out(made, outside, tmp_path, kind):
    path = copy_of(made, kind, tmp_path)
    (path / "data" / "way").symlink_to(outside / "private" / "data")
    newest = path / "log" / f"{Log(Files(path)).commits()[-1]:020d}.json"
    good = newest.read_bytes()
    mentions = [*named_files(json.loads(good))]
    assert len(mentions) >= 2
    before = tree(outside)
    for place, mention in enumerate(mentions):
        for bad in bad_names(outside, mention["name"]).values():
            newest.write_bytes(good)
            rename_one(path, place, bad)
            with pytest.raises(NotOurs, match="gives no file such a name"):
                wx.open(path).probe(1)
    for act, error in try_all(path).items():
        assert isinstance(error, NotOurs), act
    assert set(try_all(path)) == set(acts_on(path))
    assert tree(outside) == before
    newest.write_bytes(good)
    wx.open(path).verify()


def test_a_name_in_an_earlier_commit_leads_out_as_little(made, outside, tmp_path):
    path = copy_of(made, "packed", tmp_path)
    bad = bad_names(outside, "")["upwards"]
    forge(path, lambda body: next(named_files(body)).update(name=bad), commit=0)
    before = tree(outside)
    index = wx.open(path)
    with pytest.raises(NotOurs):
        index.snapshot(index.commits[0])
    index.vacuum()  # with which that commit goes, and nothing that it names
    index.append(table(rows_of(10)))
    assert tree(outside) == before


@pytest.mark.slow
@pytest.mark.parametrize("part", ["data", "log", "staged"])
@pytest.mark.parametrize("kind", ["everything", "in place", "sqlite in place", "lifetimes"])
def test_a_folder_that_is_a_link_is_not_followed(made, outside, tmp_path, kind, part):
    """What is behind the link is as good as what was there, so that following it would work."""
    path = copy_of(made, kind, tmp_path)
    away = outside / "away"
    (path / part).rename(away) if (path / part).exists() else away.mkdir()
    shutil.copy2(outside / "letter.txt", away / "letter.txt")
    (path / part).symlink_to(away)
    before = tree(outside)
    errors = try_all(path)
    assert all(isinstance(error, NotOurs) for error in errors.values())
    assert errors.keys() >= {"append", "correct", "erase", "migrate", "vacuum"}
    if part != "staged":
        assert errors.keys() >= acts_on(path).keys() - {"describe"}
    assert tree(outside) == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_file_that_is_a_link_is_followed(made, outside, tmp_path, kind):
    path = copy_of(made, kind, tmp_path)
    away = outside / "away"
    newest = f"log/{Log(Files(path)).commits()[-1]:020d}.json"
    named = sorted(
        {mention["name"] for mention in named_files(json.loads((path / newest).read_text()))}
    )
    for name in ["index.json", newest, *named]:
        if not (path / name).exists():
            continue  # as the write-ahead log of a database that nobody has open
        (path / name).rename(away)
        (path / name).symlink_to(away)
        before = tree(outside)
        with pytest.raises(NotOurs, match="is a link"):
            wx.open(path).verify()
        errors = try_all(path)
        assert errors, name
        assert tree(outside) == before, name
        shutil.rmtree(path)
        away.unlink()
        copy_of(made, kind, tmp_path)


def test_a_lock_that_is_a_link_makes_no_file(made, outside, tmp_path):
    path = copy_of(made, "packed", tmp_path)
    (path / "lock").unlink()
    (path / "lock").symlink_to(outside / "made")
    before = tree(outside)
    errors = try_all(path)
    assert errors.keys() == {"append", "correct", "erase", "migrate", "vacuum"}
    assert all("is a link" in str(error) for error in errors.values())
    assert tree(outside) == before


def test_a_pipe_keeps_nobody_waiting(made, tmp_path):
    path = copy_of(made, "packed", tmp_path)
    named = sorted((path / "data").iterdir())[-1].relative_to(path)
    for name in ("index.json", "lock", str(named)):
        (path / name).unlink()
        os.mkfifo(path / name)
        with pytest.raises(NotOurs, match="neither file nor folder"):
            wx.open(path).vacuum() if name == "lock" else wx.open(path).verify()
        shutil.rmtree(path)
        copy_of(made, "packed", tmp_path)


def test_a_link_to_the_folder_of_an_index_is_followed(made, tmp_path):
    path = copy_of(made, "in place", tmp_path)
    (tmp_path / "way").symlink_to(path)
    (tmp_path / "above").symlink_to(tmp_path)
    for way in (tmp_path / "way", tmp_path / "above" / "given"):
        index = wx.open(way)
        index.verify()
        index.append(table(rows_of(7 + len(index.commits))))
        assert index.probe(1).num_rows


def test_vacuum_removes_only_what_has_a_name_of_ours(made, tmp_path):
    path = copy_of(made, "everything", tmp_path)
    letters = ["data/notes.txt", "data/2023010112-report.pdf", "log/draft.tmp", "log/0001.tmp"]
    letters += ["log/00000000000000000003.json.bak", "staged/report.csv", "staged/0123-report.csv"]
    ours = ["data/0000000001-0a1b2c3d-00000-9.arrow", f"log/{3:020d}.0a1b2c3d.tmp"]
    ours += [f"staged/{'a' * 16}-3f-0a1b2c3d-00001.dir"]
    long_ago = time.time() - 3 * 86_400
    for name in [*letters, *ours]:
        (path / name).write_text("something")
        os.utime(path / name, (long_ago, long_ago))
    removed = wx.open(path).vacuum()
    assert set(ours) <= set(removed)
    assert all((path / name).exists() for name in letters)


@pytest.mark.parametrize("target", ["../../outside/private", "/etc", "I1\0"])
def test_names_of_sub_indexes_and_streams_are_no_paths(made, outside, tmp_path, target):
    """Sub-indexes, operations that are owed, streams and marks have names.

    No file is looked for by them.
    """
    path = copy_of(made, "everything", tmp_path)

    def rename(body):
        body["owed"] = [{"op": "merge", "target": target}]
        body["streams"] = {target: {"batch": 0, "watermark": None}}
        body["marks"] = {target: target}
        body["temps"] = {f"{target}{name}": sub for name, sub in body["temps"].items()}

    forge(path, rename)
    before = tree(outside)
    assert {"append", "verify"} <= try_all(path).keys()
    assert tree(outside) == before


# -- several disks --------------------------------------------------------------------------------


def spread_index(path, roots):
    index = wx.WaveIndex.create(
        path, table([]).schema, key="k", time="t", slot=10, window=5, indexes=2, roots=roots
    )
    for slot in range(1, 7):
        index.append(table(rows_of(slot)))
    return index


@pytest.mark.parametrize("where", ["files", "hidden"])
def test_roots_that_belong_to_another_index_are_left_alone(made, tmp_path, where):
    """Its folders are named as roots, and its files as parts.

    Parts that are shown, or rows that are hidden of them.
    """
    private = tmp_path / "outside"
    spread_index(private / "index", [private / "disk1", private / "disk2"])
    before = tree(private)
    path = copy_of(made, "packed", tmp_path)
    definition = json.loads((path / "index.json").read_text())
    definition["roots"] = [str(private / "disk1"), str(private / "disk2")]
    (path / "index.json").write_text(json.dumps(definition))

    def point(body):
        target = next((private / "disk1").glob("*.arrow")).name
        part = next(p for sub in body["indexes"].values() for ps in sub["shards"] for p in ps)
        aimed = {**part, "shown": []} if where == "hidden" else part
        aimed = json.loads(json.dumps(aimed))
        for file in aimed["files"].values():
            file["name"] = f"data@1/{target}"
        part.update({"hidden": aimed} if where == "hidden" else aimed)
        body["definition"] = xxhash.xxh64_hexdigest((path / "index.json").read_bytes())

    forge(path, point)
    errors = try_all(path)
    assert errors.keys() >= acts_on(path).keys() - {"describe"}
    assert all(isinstance(error, RootMissing) for error in errors.values())
    assert tree(private) == before


def test_a_copy_of_an_index_leaves_the_roots_of_the_original_alone(tmp_path):
    index = spread_index(tmp_path / "index", [tmp_path / "disk1", tmp_path / "disk2"])
    rows = index.scan().read_all().num_rows
    shutil.copytree(tmp_path / "index", tmp_path / "given")
    before = tree(tmp_path / "disk1"), tree(tmp_path / "disk2")
    errors = try_all(tmp_path / "given")
    assert errors.keys() >= acts_on(tmp_path).keys() - {"describe"}
    assert all(isinstance(error, NotOurs) for error in errors.values())
    assert "of which" in str(errors["probe"])
    assert (tree(tmp_path / "disk1"), tree(tmp_path / "disk2")) == before
    shutil.rmtree(tmp_path / "index")  # so that it was moved
    moved = wx.open(tmp_path / "given")
    assert moved.scan().read_all().num_rows == rows
    moved.append(table(rows_of(7)))
    moved.verify()


def test_a_mark_or_a_file_in_a_root_that_is_a_link_is_not_followed(tmp_path):
    disks = [tmp_path / "disk1", tmp_path / "disk2"]
    spread_index(tmp_path / "index", disks)
    named = {base_of(name) for name in wx.open(tmp_path / "index").manifest.files}
    for name in (MARK, next(each.name for each in disks[0].iterdir() if each.name in named)):
        (disks[0] / name).rename(tmp_path / "away")
        (disks[0] / name).symlink_to(tmp_path / "away")
        with pytest.raises(NotOurs, match="is a link"):
            wx.open(tmp_path / "index").verify()
        (disks[0] / name).unlink()
        (tmp_path / "away").rename(disks[0] / name)
    wx.open(tmp_path / "index").verify()


# -- packages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", ["wal", "shm"])
def test_nothing_beside_a_database_is_a_link(made, outside, tmp_path, beside):
    path = copy_of(made, "sqlite in place", tmp_path)
    database = next((path / "data").glob("*.sqlite"))
    link = database.with_name(f"{database.name}-{beside}")
    link.unlink(missing_ok=True)
    link.symlink_to(outside / "made")
    before = tree(outside)
    assert isinstance(try_all(path)["scan"], NotOurs)
    assert tree(outside) == before


def test_no_journal_is_played_back_that_we_did_not_leave(made, outside, tmp_path):
    """It could name a file that SQLite would then remove."""
    path = copy_of(made, "sqlite in place", tmp_path)
    for database in (path / "data").glob("*.sqlite"):
        database.with_name(f"{database.name}-journal").write_bytes(b"journal")
    acts = acts_on(path)
    for act in ("probe", "scan", "verify", "correct", "erase", "migrate"):
        with pytest.raises(NotOurs, match="none of the files that Wavedex leaves"):
            acts[act]()


@pytest.mark.parametrize("table_name", ["payroll", "0000000001-0a1b2c3d-00001-0", "x' or 'x"])
def test_a_marker_stands_for_the_table_of_its_own_name_alone(tmp_path, table_name):
    (tmp_path / "data").mkdir()
    said = {"server": "postgresql:///db", "schema": "public", "table": table_name}
    files, marker = Files(tmp_path), "data/0000000001-0a1b2c3d-00000-0.pg"
    ref = files.create(marker, lambda sink: sink.write(json.dumps(said).encode()))
    with pytest.raises(NotOurs, match="stands for the table"):
        ServerTable.of(files, ref)
    files.remove(marker)
    stem = marker.removesuffix(".pg")
    own = ServerTable(Address("postgresql:///db", "wavedex"), stem.removeprefix("data/"))
    assert ServerTable.of(files, own.mark(files, stem)) == own


# -- what is claimed -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["packed", "lifetimes"])
@pytest.mark.parametrize("name", ["index.json", "manifest"])
def test_nested_json_is_damage(made, tmp_path, kind, name):
    path = copy_of(made, kind, tmp_path)
    file = path / name
    if name == "manifest":
        file = path / "log" / f"{Log(Files(path)).commits()[-1]:020d}.json"
    file.write_text('{"manifest":' + "[" * 200_000)
    for act, error in try_all(path).items():
        assert isinstance(error, Damaged), act
    assert try_all(path).keys() == acts_on(path).keys()


def test_rows_that_are_hidden_of_hidden_rows_without_end_are_damage(made, tmp_path):
    path = copy_of(made, "packed", tmp_path)

    def nest(body):
        part = next(p for sub in body["indexes"].values() for ps in sub["shards"] for p in ps)
        for _ in range(400):
            part["hidden"] = {**part}

    forge(path, nest)
    with pytest.raises(Damaged, match="hidden of hidden rows"):
        wx.open(path).probe(1)


@pytest.mark.parametrize("where", ["slots", "held", "shown", "born", "hidden"])
def test_a_small_manifest_cannot_claim_many_slots(made, tmp_path, where):
    path = copy_of(made, "lifetimes", tmp_path)
    half = SLOTS_MAX // 2 + 1

    def claim(body):
        first, second, *_ = body["indexes"].values()
        for sub in (first, second):  # which claim too much only together
            part = next(p for parts in sub["shards"] for p in parts)
            if where == "hidden":
                part["hidden"] = json.loads(json.dumps({**part, "held": [[0, half]]}))
            else:
                (sub if where == "slots" else part)[where] = [[0, half], [9, 3]]

    forge(path, claim)
    with pytest.raises(Damaged, match=f"more than {SLOTS_MAX:,}"):
        wx.open(path).probe(1)


# -- the second wall -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize(
    "name", ["../letter.txt", "/letter.txt", "a/../../letter.txt", "a//b", "./a", "a\\b", "a\0b"]
)
def test_files_take_no_name_that_leads_out(tmp_path, is_local, name):
    (tmp_path / "letter.txt").write_text("dear diary")
    folder = tmp_path / "folder"
    folder.mkdir()
    files = Files(folder) if is_local else RemoteFiles(pafs.LocalFileSystem(), str(folder))
    before = tree(tmp_path)
    for act in (
        lambda: files.read(name),
        lambda: files.map(FileRef(name, 1)),
        lambda: files.create(name, lambda sink: None),
        lambda: files.remove(name),
        lambda: files.list(name),
        lambda: files.make_folder(name),
        lambda: files.link(name, "b"),
    ):
        with pytest.raises(NotOurs, match="leads out of its folder"):
            act()
    assert tree(tmp_path) == before
