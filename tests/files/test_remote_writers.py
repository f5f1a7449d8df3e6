"""Writing without a lock: two writers, crashes, lost answers, and what is refused."""

from __future__ import annotations

import datetime as dt
import io
import itertools
from collections.abc import Callable
from dataclasses import replace

import pyarrow.fs as pafs
import pytest

import wavedex as wx
from kit.crashing import crash_numbers
from kit.remote_places import Place
from kit.remote_rows import (
    UPDATES,
    answers,
    filled,
    interrupted,
    interrupting,
    make,
    oracle_of,
    rows_of,
    table,
    unnamed_files,
)
from wavedex import errors
from wavedex.files.local import Output
from wavedex.files.names import manifest_name
from wavedex.files.remote import RemoteFiles
from wavedex.log.manifest import Log
from wavedex.testing.disks import Crash
from wavedex.testing.oracle import same_rows

# -- two writers, without a lock -------------------------------------------------------------------


@pytest.mark.parametrize("update", UPDATES)
def test_of_two_writers_the_second_to_commit_is_refused(remote, update):
    address = remote.new()
    faster = filled(remote, address, 1, 2, update=update)
    slower = interrupted(remote, address, "publish", lambda: faster.append(table(rows_of(3))))
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
    index = interrupted(remote, address, "publish", other.vacuum)
    index.append(
        table(rows_of(3))
    )  # Its files are there, and named by nobody, when the other one clears up.
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())


def test_a_writer_so_slow_that_its_number_is_free_again_is_refused(remote):
    address = remote.new()
    faster = filled(remote, address, 1, 2)

    def overtake() -> None:
        for slot in (3, 4, 5):
            faster.append(table(rows_of(slot)))
        faster.vacuum()

    slower = interrupted(remote, address, "publish", overtake)
    with pytest.raises(errors.ConcurrentWrite, match="Nothing was changed"):
        slower.append(table(rows_of(5)))
    assert len(faster.commits) == 1
    assert same_rows(answers(remote.open(address)), oracle_of(1, 2, 3, 4, 5).rows())
    assert unnamed_files(remote, address) == set()
    slower.append(table(rows_of(6)))
    assert same_rows(answers(slower), oracle_of(*range(1, 7)).rows())


def test_a_writer_whose_files_are_cleared_away_while_it_reads_them_is_told_why(remote):
    address = remote.new()
    one = {"scheme": "del", "indexes": 1, "shards": 1}
    faster = filled(remote, address, 1, 2, 3, update="packed-shadow", **one)

    def overtake() -> None:
        for slot in (4, 5):
            faster.append(table(rows_of(slot)))
        faster.vacuum()

    slower = interrupted(remote, address, "ranges", overtake)
    with pytest.raises(errors.ConcurrentWrite, match="cleared away"):
        slower.amend(table([{"k": "late", "t": 30, "v": ""}]))
    assert same_rows(answers(slower), oracle_of(*range(1, 6)).rows())
    assert unnamed_files(remote, address) == set()


def test_two_that_do_the_same_at_the_same_instant_do_it_once(remote):
    address = remote.new()
    filled(remote, address, 1, 2)
    late = table([{"k": "late", "t": 20, "v": "once"}])
    instant = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def writer(files) -> wx.WaveIndex:
        return wx.open(address, surroundings=wx.Surroundings(files=files, now=lambda: instant))

    for write in (
        lambda index: index.amend(late),
        # It writes nothing but a manifest.
        lambda index: index.feed(table([]), stream="s", number=0, delay=0),
    ):
        faster = writer(remote.files)
        slower = writer(interrupting(remote, "publish", lambda: write(faster)))  # noqa: B023
        with pytest.raises(errors.ConcurrentWrite):
            write(slower)
    assert remote.open(address).probe("late").num_rows == 1


# -- what says that rows are in has looked ---------------------------------------------------------


def before_the_preparation(place, address: str, act: Callable[[], object]) -> wx.WaveIndex:
    """An index in which something happens between a commit and the preparation that follows it."""
    files = interrupting(place, "publish", act, call=2)
    return wx.open(address, surroundings=wx.Surroundings(files=files))


def test_rows_that_are_in_are_said_to_be_in_though_their_commit_is_not_kept_any_more(remote):
    address = remote.new()
    faster = filled(remote, address, 1, 2, 3, update="runs", indexes=1, scheme="del")

    def overtake() -> None:
        for slot in (5, 6):
            faster.append(table(rows_of(slot)))
        faster.vacuum()

    index = before_the_preparation(remote, address, overtake)
    with pytest.raises(errors.PreparationOwed, match="is in the index"):
        index.append(table(rows_of(4)))
    index.verify()
    assert same_rows(answers(index), oracle_of(*range(1, 7)).rows())


def test_rows_that_another_has_written_over_are_not_said_to_be_in(subtree):
    """As where two move their drafts to one name at the same instant.

    The second replaces the first.
    """
    address = subtree.new()
    filled(subtree, address, 1, 2, 3, update="runs", indexes=1, scheme="del")
    files = subtree.files(address)
    other = Log(files).latest()

    def write_over() -> None:
        name = manifest_name(Log(files).commits()[-1])
        files.remove(name)
        theirs = replace(other, commit=other.commit + 1, tokens=(*other.tokens, "another"))
        files.create(name, lambda sink: sink.write(theirs.to_bytes()))
        raise errors.DiskFailed("the cable is out")

    index = before_the_preparation(subtree, address, write_over)
    with pytest.raises(errors.ConcurrentWrite, match="is not in the index"):
        index.append(table(rows_of(4)))
    assert same_rows(answers(subtree.open(address)), oracle_of(1, 2, 3).rows())


# -- stores that heed no conditions ----------------------------------------------------------------


def test_a_store_that_does_not_keep_writers_apart_is_found_out(s3):
    address, place = s3.uri("bucket/careless.wx"), Place("s3", str)
    filled(place, address, 1, 2)
    s3.heed(False)
    index = wx.open(address)
    with pytest.raises(errors.UnsafeStore, match="&one_writer=true"):
        index.append(table(rows_of(3)))
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2).rows())
    assert unnamed_files(place, address) == set()
    with pytest.raises(errors.UnsafeStore):
        make(place, s3.uri("bucket/careless-too.wx"))
    with pytest.raises(errors.NotAnIndex):
        wx.open(s3.uri("bucket/careless-too.wx"))


def test_one_writer_alone_may_use_such_a_store_if_it_says_so(s3):
    s3.heed(False)
    place = Place("s3", lambda name: f"{s3.uri(f'bucket/alone/{name}')}&one_writer=true")
    address = place.new()
    faster = filled(place, address, 1, 2)
    with pytest.raises(errors.AlreadyExists):
        make(place, address)
    # A second one is refused, if it does not come at the very same instant.
    slower = interrupted(place, address, "publish", lambda: faster.append(table(rows_of(3))))
    with pytest.raises(errors.ConcurrentWrite):
        slower.append(table(rows_of(4)))
    assert same_rows(answers(slower), oracle_of(1, 2, 3).rows())


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


# -- crashes, interrupts and answers that get lost -------------------------------------------------


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
                    args[1](Output(whole.write))
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
    for number in crash_numbers():
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
        publish = found.publish

        def interrupted_publish(*args) -> None:
            publish(*args)
            raise KeyboardInterrupt

        found.publish = interrupted_publish
        return found

    index = wx.open(address, surroundings=wx.Surroundings(files=files))
    with pytest.raises(KeyboardInterrupt):
        index.append(table(rows_of(3)))
    survivor = place.open(address)
    survivor.verify()
    assert same_rows(answers(survivor), oracle_of(1, 2, 3).rows())
    assert survivor.append(table(rows_of(3))).slots == []


LOST = {"methods": ["PUT"], "status": 500, "code": "InternalError", "obeys": True}
DENIED = {"status": 403, "code": "AccessDenied"}


def following(address: str) -> str:
    """The key of the next manifest."""
    return f"log/0*{wx.open(address).describe()['commit'] + 1}.json"


def test_a_put_that_is_sent_again_is_not_taken_for_another_writers(s3):
    """It is carried out, and the answer gets lost.

    The client is told of the second one that there is one already.
    """
    address = s3.uri("bucket/again.wx")
    s3.refuse({**LOST, "key": "again.wx/index.json", "times": 1})
    index = filled(Place("s3", str), address, 1, 2)
    s3.refuse(
        {**LOST, "key": "again.wx/data", "times": 1},
        {**LOST, "key": f"again.wx/{following(address)}", "times": 1},
    )
    index.append(table(rows_of(3)))
    assert same_rows(answers(wx.open(address)), oracle_of(1, 2, 3).rows())
    assert unnamed_files(Place("s3", str), address) == set()


@pytest.mark.slow
def test_a_commit_that_the_store_never_answers_is_looked_up(s3):
    address = s3.uri("bucket/lost.wx")
    index = filled(Place("s3", str), address, 1, 2)
    key = f"lost.wx/{following(address)}"
    s3.refuse({**LOST, "key": key, "status": 501})  # It is not asked again, and there it is.
    index.append(table(rows_of(3)))
    s3.refuse({**LOST, "key": f"lost.wx/{following(address)}", "status": 501, "obeys": False})
    with pytest.raises(errors.CommitUncertain, match=r"may have been.*may then be repeated"):
        index.append(table(rows_of(4)))
    s3.refuse()
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())
    index.append(table(rows_of(4)))
    assert same_rows(answers(index), oracle_of(1, 2, 3, 4).rows())


@pytest.mark.slow
def test_a_commit_of_which_nobody_can_say_whether_it_was_made_keeps_its_files(s3):
    address, place = s3.uri("bucket/unknown.wx"), Place("s3", str)
    index = filled(place, address, 1, 2)
    key = f"unknown.wx/{following(address)}"
    s3.refuse(
        {**LOST, "key": key, "status": 501, "obeys": False},
        {"methods": ["HEAD", "GET"], "key": key, **DENIED},
    )
    with pytest.raises(errors.CommitUncertain, match="may have been"):
        index.append(table(rows_of(3)))
    s3.refuse()
    assert unnamed_files(place, address)
    survivor = wx.open(address)
    survivor.verify()
    for slot in (3, 4):
        survivor.append(table(rows_of(slot)))
    assert same_rows(answers(survivor), oracle_of(1, 2, 3, 4).rows())
    assert unnamed_files(place, address) == set()


# -- what is refused -------------------------------------------------------------------------------


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
    publish = found.publish

    def slow_publish(name: str, *args) -> None:
        if name == "index.json":
            other = remote.files(address)
            other.create("index.json", lambda sink: sink.write(b"another's"))
        publish(name, *args)

    found.publish = slow_publish
    with pytest.raises(errors.AlreadyExists):
        make(remote, address, surroundings=wx.Surroundings(files=lambda path: found))


@pytest.mark.parametrize(
    ("name", "call"),
    [("list", 1), ("make_folder", 1), ("make_folder", 2), ("publish", 1), ("publish", 2)],
)
def test_one_that_creates_an_index_spoils_nothing_of_another_that_was_faster(remote, name, call):
    address = remote.new()

    def overtake() -> None:
        filled(remote, address, 1, 2, 3).vacuum()

    slower = wx.Surroundings(files=interrupting(remote, name, overtake, call))
    with pytest.raises(errors.AlreadyExists):
        make(remote, address, surroundings=slower, indexes=3)
    index = remote.open(address)
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())
    index.append(table(rows_of(4)))
    assert same_rows(answers(remote.open(address)), oracle_of(1, 2, 3, 4).rows())


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
