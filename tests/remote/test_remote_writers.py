"""Writing without a lock: two writers, crashes, lost answers, and what is refused."""

from __future__ import annotations

import io
import itertools

import pyarrow.fs as pafs
import pytest
from remote_places import Place
from remote_rows import (
    UPDATES,
    answers,
    filled,
    interrupted,
    make,
    oracle_of,
    rows_of,
    table,
    unnamed_files,
)

import wavedex as wx
from wavedex import errors
from wavedex.store.files import Sink
from wavedex.store.remote import RemoteFiles
from wavedex.testing.disks import Crash
from wavedex.testing.oracle import same_rows

# -- two writers, without a lock --------------------------------------------------------------------


@pytest.mark.parametrize("update", UPDATES)
def test_of_two_writers_the_second_to_commit_is_refused(remote, update):
    address = remote.new()
    faster = filled(remote, address, 1, 2, update=update)
    slower = interrupted(remote, address, "link", lambda: faster.append(table(rows_of(3))))
    with pytest.raises(errors.ConcurrentWrite, match="Nothing was changed"):
        slower.append(table(rows_of(4)))
    index = remote.open(address)
    index.verify()
    assert index.slots[-1] == 3
    assert unnamed_files(remote, address) == set()
    slower.append(table(rows_of(4)))
    assert same_rows(answers(index), oracle_of(1, 2, 3, 4).rows())


def test_a_writer_that_clears_up_leaves_the_files_of_one_that_is_at_work(remote):
    address = remote.new()
    other = filled(remote, address, 1, 2)
    index = interrupted(remote, address, "link", other.vacuum)
    index.append(
        table(rows_of(3))
    )  # Its files are there, and named by nobody, when the other one clears up.
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())


def test_a_rename_that_fails_where_the_name_is_taken_is_a_lost_race(subtree):
    """As on HDFS: another writer takes the name after the look and before the move."""
    address = subtree.new()
    faster = filled(subtree, address, 1, 2)

    class Hdfs(RemoteFiles):
        class System:
            def __init__(self, system: pafs.FileSystem) -> None:
                self.system = system

            def __getattr__(self, name: str):
                return getattr(self.system, name)

            def move(self, source: str, target: str) -> None:
                faster.append(table(rows_of(3)))
                assert self.system.get_file_info(target).is_file
                raise OSError("HDFS Rename failed")

    inner = subtree.files(address)
    hdfs = Hdfs(Hdfs.System(inner._system), inner._base, inner.root)
    slower = wx.open(address, surroundings=wx.Surroundings(files=lambda path: hdfs))
    with pytest.raises(errors.ConcurrentWrite):
        slower.append(table(rows_of(4)))
    faster.verify()
    assert same_rows(answers(faster), oracle_of(1, 2, 3).rows())


# -- crashes, interrupts and answers that get lost ----------------------------------------------------


def crashing(place, number: int, torn: bool) -> tuple[wx.Surroundings, list[str]]:
    """Surroundings in which the machine goes down before a change, or half-way through it."""
    changes: list[str] = []

    def files(path: str):
        found = place.files(path)
        for change in ("make_folder", "create", "link", "remove"):
            method = getattr(found, change)

            def call(*args, change=change, method=method):
                if len(changes) >= number:
                    raise Crash
                changes.append(change)
                if len(changes) < number:
                    return method(*args)
                if torn and change == "create":
                    whole = io.BytesIO()
                    args[1](Sink(whole.write))
                    method(args[0], lambda sink: sink.write(whole.getvalue()[: whole.tell() // 2]))
                elif torn:
                    method(*args)
                raise Crash

            setattr(found, change, call)
        return found

    return wx.Surroundings(files=files), changes


@pytest.mark.parametrize("torn", [False, True], ids=["crash", "torn"])
@pytest.mark.parametrize("update", UPDATES)
def test_a_crash_at_any_change_leaves_the_old_window_or_the_new_one(subtree, update, torn):
    old, new = oracle_of(1, 2, 3, 4).rows(), oracle_of(1, 2, 3, 4, 5).rows()
    for number in itertools.count(1):
        address = subtree.new()
        filled(subtree, address, 1, 2, 3, 4, update=update, shards=1)
        around, changes = crashing(subtree, number, torn)
        index = wx.open(address, surroundings=around)
        try:
            index.append(table(rows_of(5)))
        except Crash:
            pass
        else:
            break
        survivor = subtree.open(address)
        survivor.verify()
        assert same_rows(answers(survivor), old) or same_rows(answers(survivor), new), changes
        survivor.append(table(rows_of(5)))
        survivor.prepare()
        survivor.vacuum()
        survivor.verify()
        assert same_rows(answers(survivor), new), changes
        survivor.append(table(rows_of(6)))
        assert unnamed_files(subtree, address) == set()
    assert number > 6


@pytest.mark.parametrize("torn", [False, True], ids=["crash", "torn"])
def test_a_crash_while_an_index_is_created_leaves_none_or_a_whole_one(subtree, torn):
    for number in itertools.count(1):
        address = subtree.new()
        around, _ = crashing(subtree, number, torn)
        try:
            make(subtree, address, surroundings=around)
        except Crash:
            pass
        else:
            break
        try:
            index = subtree.open(address)
        except errors.NotAnIndex:
            index = make(subtree, address)
        index.append(table(rows_of(1)))
        index.verify()
    assert number > 6


@pytest.mark.parametrize("update", UPDATES)
def test_an_interrupt_just_after_the_commit_keeps_its_files(place, update):
    address = place.new()
    filled(place, address, 1, 2, update=update)

    def files(path: str):
        found = place.files(path)
        link = found.link

        def interrupted_link(*names: str) -> None:
            link(*names)
            raise KeyboardInterrupt

        found.link = interrupted_link
        return found

    index = wx.open(address, surroundings=wx.Surroundings(files=files))
    with pytest.raises(KeyboardInterrupt):
        index.append(table(rows_of(3)))
    survivor = place.open(address)
    survivor.verify()
    assert same_rows(answers(survivor), oracle_of(1, 2, 3).rows())
    assert survivor.append(table(rows_of(3))).slots == []


def test_a_commit_whose_answer_gets_lost_is_uncertain_and_keeps_its_files(s3):
    address = s3.uri("bucket/lost.wx")
    index = filled(Place("s3", str), address, 1, 2)
    # The draft is copied to the manifest's name, and then cannot be removed.
    denied = {"status": 403, "code": "AccessDenied"}
    s3.refuse({"methods": ["DELETE"], "key": "lost.wx/log/.*tmp", **denied})
    with pytest.raises(errors.CommitUncertain, match="may then be repeated"):
        index.append(table(rows_of(3)))
    s3.refuse()
    assert same_rows(answers(wx.open(address)), oracle_of(1, 2, 3).rows())
    assert wx.open(address).prepare()
    # Nobody can say whether this one was made, so its files stay, until a later commit shows that it was not.
    following = wx.open(address).describe()["commit"] + 1
    s3.refuse({"methods": ["HEAD", "GET"], "key": f"lost.wx/log/0*{following}.json", **denied})
    with pytest.raises(errors.CommitUncertain, match="may have been"):
        index.append(table(rows_of(4)))
    s3.refuse()
    place = Place("s3", str)
    assert any(f"/{following:010d}-" in name for name in unnamed_files(place, address))
    survivor = wx.open(address)
    survivor.verify()
    for slot in (3, 4):
        survivor.append(table(rows_of(slot)))
    assert same_rows(answers(survivor), oracle_of(1, 2, 3, 4).rows())
    assert unnamed_files(place, address) == set()


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("update", ["in-place", "simple-shadow"])
def test_an_index_that_changes_files_in_place_needs_a_local_disk(remote, update):
    address = remote.new()
    with pytest.raises(errors.BadDefinition, match=r"local disk.*update='runs'"):
        make(remote, address, update=update)
    assert not remote.files(address).exists("")
    for change in (
        lambda files: files.size("a"),
        lambda files: files.copy("a", "b", 1),
        lambda files: files.resize("a", 1),
        lambda files: files.patch("a", 0, b""),
        lambda files: files.scatter("a", None, None),
        lambda files: files.hand_over("a", str),
    ):
        with pytest.raises(errors.BadDefinition, match="local disk"):
            change(remote.files(address))


@pytest.mark.parametrize("update", ["in-place", "simple-shadow"])
def test_a_copy_of_such_an_index_is_read_and_not_written(tmp_path, subtree, update):
    filled(Place("local", str), str(tmp_path / "copied.wx"), 1, 2, 3, update=update)
    index = subtree.open("copied.wx")
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())
    for write in (index.append, index.amend):
        with pytest.raises(errors.BadDefinition, match="local disk"):
            write(table(rows_of(3)))
    with pytest.raises(errors.BadDefinition, match="local disk"):
        index.prepare()


def test_nothing_is_created_where_something_is(remote):
    address = remote.new()
    make(remote, address)
    with pytest.raises(errors.AlreadyExists):
        make(remote, address)
    other = remote.new()
    files = remote.files(other)
    files.make_folder("")
    files.create("data", lambda sink: sink.write(b"mine"))
    below = f"{other}/data" if remote.kind == "subtree" else files.path("data")
    for taken in (other, below):
        with pytest.raises(errors.AlreadyExists):
            make(remote, taken)
    assert files.read("data") == b"mine"


def test_of_two_that_create_an_index_at_once_the_second_is_refused(remote):
    address = remote.new()
    found = remote.files(address)
    link = found.link

    def slow_link(source: str, target: str) -> None:
        if target == "index.json":
            other = remote.files(address)
            other.create("index.json", lambda sink: sink.write(b"another's"))
        link(source, target)

    found.link = slow_link
    with pytest.raises(errors.AlreadyExists):
        make(remote, address, surroundings=wx.Surroundings(files=lambda path: found))


def test_an_index_that_may_not_be_written_to_is_read_and_refuses_to_change(s3):
    address = s3.uri("bucket/locked.wx")
    index = filled(Place("s3", str), address, 1, 2)
    denied = {"key": "locked.wx", "status": 403, "code": "AccessDenied"}
    s3.refuse({"methods": ["PUT", "POST", "DELETE"], **denied})
    reader = wx.open(address)
    assert same_rows(answers(reader), oracle_of(1, 2).rows())
    with pytest.raises(errors.ReadOnly):
        reader.append(table(rows_of(3)))
    s3.refuse()
    index.verify()
    index.append(table(rows_of(3)))
    assert same_rows(answers(reader), oracle_of(1, 2, 3).rows())


def test_a_bucket_that_is_not_there_is_said_so(s3):
    with pytest.raises(errors.NotAnIndex):
        wx.open(s3.uri("nowhere/x.wx"))
    with pytest.raises(errors.DiskFailed, match="nowhere"):
        make(Place("s3", str), s3.uri("nowhere/x.wx"))
