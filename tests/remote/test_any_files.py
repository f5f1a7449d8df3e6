"""Every kind of files keeps the same promises, and every refusal of a store has a name."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from wavedex import errors
from wavedex.store import AnyFiles, FileRef, Files, files_at
from wavedex.store.remote import RemoteFiles


@pytest.fixture
def files(place) -> AnyFiles:
    found = place.files(place.new())
    found.make_folder("")
    found.make_folder("log")
    return found


def write(files: AnyFiles, name: str, content: bytes = b"content") -> FileRef:
    return files.create(name, lambda sink: sink.write(content))


def test_what_was_written_is_read_again(files):
    ref = files.create("log/a", lambda sink: (sink.write(b"one "), sink.write(bytearray(b"two"))))
    assert ref == FileRef("log/a", 7, "7b48e40eb685ec50")
    assert files.read("log/a") == b"one two"
    assert files.map(ref).to_pybytes() == b"one two"
    assert files.exists("log/a")
    assert files.exists("log")
    assert files.exists("")
    assert not files.exists("log/b")
    assert files.is_folder("log")
    assert not files.is_folder("log/a")
    assert not files.is_folder("log/b")
    assert files.age_s("log/a") > -60  # the clocks of two machines may differ
    files.sync("log/a")
    files.sync_folder("log")


def test_a_large_file_and_an_empty_one_are_read_whole(files):
    content = bytes(range(256)) * 25_000
    ref = files.create("log/large", lambda sink: [sink.write(content) for _ in range(2)])
    assert files.map(ref).to_pybytes() == 2 * content
    empty = files.create("log/empty", lambda sink: None)
    assert empty.bytes == 0
    assert files.map(empty).size == 0
    assert files.read("log/empty") == b""


def test_a_file_is_not_written_over(files):
    write(files, "log/a", b"first")
    with pytest.raises(FileExistsError):
        write(files, "log/a", b"second")
    assert files.read("log/a") == b"first"


def test_what_is_gone_is_named(files):
    gone = FileRef("log/gone", 3, "00")
    for ask in (lambda: files.read("log/gone"), lambda: files.map(gone)):
        with pytest.raises(FileNotFoundError) as caught:
            ask()
        assert caught.value.filename == str(files.path("log/gone"))
    with pytest.raises(FileNotFoundError):
        files.map(FileRef("log/gone", 0))
    with pytest.raises(FileNotFoundError):
        files.age_s("log/gone")
    files.remove("log/gone")
    assert files.remove_unpinned("log/gone")


def test_a_file_of_another_size_is_called_damaged(files):
    ref = write(files, "log/a", b"1234567")
    for wrong in (
        FileRef("log/a", 6, ref.checksum),
        FileRef("log/a", 8, ref.checksum),
        FileRef("log/a", 9),
    ):
        with pytest.raises(errors.Damaged, match="7 bytes"):
            files.map(wrong)
    # A file that grows may be longer than it was.
    assert files.map(FileRef("log/a", 5)).to_pybytes() == b"12345"


def test_a_folder_lists_its_names_and_a_file_is_no_folder(files):
    for name in ("log/b", "log/a", "c"):
        write(files, name)
    assert sorted(files.list("log")) == ["a", "b"]
    assert sorted(files.list("")) == ["c", "log"]
    assert files.list("nothing") == []
    files.make_folder("log")
    files.make_folder("empty")
    assert files.list("empty") == []
    with pytest.raises(NotADirectoryError):
        files.list("c")


def test_a_name_is_taken_only_if_it_is_free(files):
    write(files, "log/draft", b"mine")
    files.link("log/draft", "log/1")
    assert files.read("log/1") == b"mine"
    write(files, "log/other", b"another's")
    with pytest.raises(FileExistsError):
        files.link("log/other", "log/1")
    assert files.read("log/1") == b"mine"
    assert files.exists("log/other")
    with pytest.raises(FileNotFoundError):
        files.link("log/none", "log/2")
    assert not files.exists("log/2")


def test_removing_removes(files):
    write(files, "log/a")
    ref = write(files, "log/b")
    held = files.map(ref)
    files.remove("log/a")
    with files.pin("log/b"):
        assert files.remove_unpinned("log/b") is not files.is_local
    files.remove("log/b")
    assert files.list("log") == []
    assert files.exists("log")
    assert held.to_pybytes() == b"content"


def test_a_version_changes_with_the_names(files):
    seen = {files.version("log")}
    for change in (
        lambda: write(files, "log/a"),
        lambda: write(files, "log/draft"),
        lambda: files.link("log/draft", "log/b"),
        lambda: files.remove("log/a"),
        lambda: (files.remove("log/b"), write(files, "log/b", b"longer than it was")),
    ):
        change()
        version = files.version("log")
        # Only a remote store can tell at once.
        assert version is None if files.is_local else version not in seen
        seen.add(version)


def test_a_write_that_fails_half_way_raises_what_it_failed_with(files):
    def fail(sink):
        sink.write(b"some")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.create("log/a", fail)
    files.remove("log/a")
    assert files.list("log") == []


def test_files_can_be_pickled_and_made_again_from_their_root(files, place):
    write(files, "log/a")
    assert pickle.loads(pickle.dumps(files)).read("log/a") == b"content"
    if place.kind != "subtree":  # which has no URI
        again = files_at(str(files.root))
        assert type(again) is type(files)
        assert again.root == files.root
        assert again.read("log/a") == b"content"
        assert str(files.path("log/a")).startswith(str(files.root).partition("?")[0] + "/log/a")


def test_the_path_of_a_remote_file_leads_arrow_to_it(s3):
    files = files_at(s3.uri("bucket/paths/"))
    assert files.root == s3.uri("bucket/paths")
    write(files, "log/a")
    system, path = pafs.FileSystem.from_uri(files.path("log/a"))
    with system.open_input_file(path) as file:
        assert file.read() == b"content"


def test_a_file_is_fetched_with_one_request_for_its_size_and_one_for_its_bytes(s3):
    files = files_at(s3.uri("bucket/counted"))
    ref = write(files, "a", bytes(20_000_000))
    s3.requests()
    files.map(ref)
    assert [method for method, _ in s3.requests()] == ["HEAD", "GET"]
    files.version("")
    assert [method for method, _ in s3.requests()] == ["GET"]


# -- refusals ---------------------------------------------------------------------------------------


def test_what_s3_does_not_allow_is_read_only_or_failed(s3):
    files = files_at(s3.uri("bucket/denied"))
    write(files, "a")
    denied = {"key": "denied", "status": 403, "code": "AccessDenied"}
    s3.refuse({**denied, "methods": ["PUT", "POST", "DELETE"]})
    for change in (
        lambda: write(files, "b"),
        lambda: files.remove("a"),
        lambda: files.link("a", "c"),
        lambda: files.make_folder("folder"),
    ):
        with pytest.raises(errors.ReadOnly, match="credentials"):
            change()
    s3.refuse({**denied, "methods": ["GET", "HEAD"]})
    for ask in (
        lambda: files.read("a"),
        lambda: files.map(FileRef("a", 7, "00")),
        lambda: files.list(""),
        lambda: files.exists("a"),
        lambda: files.version(""),
    ):
        with pytest.raises(errors.DiskFailed, match="credentials"):
            ask()


def test_an_object_that_goes_between_its_size_and_its_bytes_is_gone(s3):
    files = files_at(s3.uri("bucket/vanishing"))
    ref = write(files, "a")
    gone = {"status": 404, "code": "NoSuchKey", "removes": True}
    s3.refuse({"methods": ["GET"], "key": r"vanishing/a\?$", **gone})
    with pytest.raises(FileNotFoundError) as caught:
        files.map(ref)
    assert caught.value.filename == files.path("a")


def test_whatever_a_file_system_in_python_raises_gets_a_name():
    class Broken(pafs.FileSystemHandler):
        def get_type_name(self):
            return "broken"

        def fail(self, *_, **__):
            raise RuntimeError("the cable is out")

        get_file_info = get_file_info_selector = open_input_file = open_output_stream = fail
        create_dir = delete_file = move = normalize_path = fail
        open_input_stream = open_append_stream = copy_file = delete_dir = fail
        delete_dir_contents = delete_root_dir_contents = fail

    files = RemoteFiles(pafs.PyFileSystem(Broken()), "x")
    for act in (
        lambda: files.read("a"),
        lambda: files.list(""),
        lambda: files.remove("a"),
        lambda: files.make_folder("a"),
        lambda: write(files, "a"),
    ):
        with pytest.raises(errors.DiskFailed, match=r"broken://x.*the cable is out"):
            act()


def test_a_store_that_cannot_be_reached_is_said_so():
    with pytest.raises(errors.DiskFailed, match="Check the address"):
        files_at("hdfs://nowhere.invalid:1/x")


# -- addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["sales.wx", "a:b.wx", "s3:/bucket/x", "C:\\x", "./s3://x", "/tmp/x", Path("s3://bucket/x"), "1s3://x", "://x"],
)  # fmt: skip
def test_a_path_is_local_unless_it_begins_with_a_scheme(path):
    files = files_at(path)
    assert type(files) is Files
    assert files.root == Files(path).root
    assert files_at(str(files.root)).root == files.root


def test_a_file_uri_is_local():
    for uri in ("file:///tmp/a%20b", "FILE:///tmp/a%20b", "file://localhost/tmp/a%20b/"):
        assert files_at(uri).root == Path("/tmp/a b")
        assert type(files_at(uri)) is Files


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("foo://bucket/x", "begins with s3://"),
        ("s3://", "names no folder"),
        ("s3:///x", "bucket"),
        ("s3://bucket/x?unknown=1", "unknown"),
        ("s3://bucket/a b", "cannot be used"),
        ("s3://bucket/x#1", "%23"),
        ("s3://[bucket/x", "cannot be understood"),
        ("hdfs://host:port/x", "cannot be understood"),
        ("file://host/x", "absolute path"),
        ("file://x", "absolute path"),
        ("file:///x?a=b", "absolute path"),
        ("fsspec+nothing://x", "cannot be used"),
    ],
)
def test_a_uri_that_names_no_place_is_refused(uri, said):
    with pytest.raises(errors.BadPath, match=said):
        files_at(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "s3://me:hunter2@bucket/x",
        "s3://:hunter2@bucket/x",
        "s3://me:hunter2/2@bucket/x",
        "s3://me:hunter2#2@bucket/x",
        "abfs://container@account.dfs.core.windows.net/x?client_secret=hunter2",
        "abfs://container@account.dfs.core.windows.net/x?sig=hunter2",
    ],
)
def test_a_uri_with_a_secret_is_refused_and_not_repeated(uri):
    with pytest.raises(errors.BadPath, match="credentials") as caught:
        files_at(uri)
    assert "hunter2" not in str(caught.value)
