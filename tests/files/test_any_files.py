"""Every kind of files keeps the same promises, and every refusal of a store has a name."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from wavedex import errors
from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles, FileRef, LinkingFiles
from wavedex.files.local import Files
from wavedex.files.objects import ObjectFiles
from wavedex.files.remote import RemoteFiles


@pytest.fixture
def files(anywhere) -> AnyFiles:
    found = anywhere.files(anywhere.new())
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


def test_some_of_a_file_is_read_in_the_order_that_is_asked_for(files):
    write(files, "log/a", b"0123456789")
    found = files.ranges("log/a", [(4, 7), (0, 2), (9, 10), (5, 5)])
    assert [piece.to_pybytes() for piece in found] == [b"456", b"01", b"9", b""]
    assert list(files.ranges("log/a", [])) == []
    with pytest.raises(FileNotFoundError) as caught:
        files.ranges("log/gone", [(0, 1)])
    assert caught.value.filename == str(files.path("log/gone"))
    for beyond in [(8, 12), (20, 22)]:
        with pytest.raises(errors.Damaged, match="log/a"):
            files.ranges("log/a", [(0, 2), beyond])


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
    files.publish("log/1", b"mine", "log/draft")
    assert files.read("log/1") == b"mine"
    with pytest.raises(FileExistsError) as caught:
        files.publish("log/1", b"another's", "log/draft")
    assert caught.value.filename in (None, files.path("log/1"), str(files.path("log/draft")))
    assert files.read("log/1") == b"mine"
    assert files.list("log") == ["1"]


def test_of_many_that_take_a_name_at_once_one_gets_it(files):
    def take(number: int) -> bool:
        try:
            files.publish("log/1", b"%d" % number, f"log/draft-{number}")
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        taken = [*pool.map(take, range(8))]
    assert taken.count(True) == 1
    assert files.read("log/1") == b"%d" % taken.index(True)
    assert files.list("log") == ["1"]


def test_a_link_gives_a_file_that_is_there_a_name_that_is_free(place):
    files = place.files(place.new())
    if isinstance(files, LinkingFiles):
        files.make_folder("")
        with pytest.raises(FileNotFoundError):
            files.link("none", "2")
        assert not files.exists("2")


def test_removing_removes(files):
    write(files, "log/a")
    ref = write(files, "log/b")
    held = files.map(ref)
    files.remove("log/a")
    with files.pin("log/b"):
        assert files.remove_unpinned("log/b") is not files.is_local
    files.remove("log/b")
    assert files.list("log") == []
    assert held.to_pybytes() == b"content"


def test_a_version_changes_with_the_names(files):
    seen = {files.version("log")}
    for change in (
        lambda: write(files, "log/a"),
        lambda: files.publish("log/b", b"b", "log/draft"),
        lambda: files.remove("log/a"),
        lambda: (files.remove("log/b"), write(files, "log/b", b"longer than it was")),
    ):
        change()
        version = files.version("log")
        # A local disk can tell only after a while, which may have passed.
        assert (files.is_local and version is None) or version not in seen
        seen.add(version)


def test_a_write_that_fails_half_way_raises_what_it_failed_with(files):
    def fail(sink):
        sink.write(b"some")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.create("log/a", fail)
    files.remove("log/a")
    assert files.list("log") == []


def test_files_can_be_pickled_and_made_again_from_their_root(files, anywhere):
    write(files, "log/a")
    if anywhere.kind != "memory":  # which is gone with its process
        assert pickle.loads(pickle.dumps(files)).read("log/a") == b"content"
    if anywhere.kind in ("local", "s3", "moto"):  # The others have no URI.
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


def test_a_file_is_written_and_fetched_with_one_request_each(s3):
    files = files_at(s3.uri("bucket/counted"))
    s3.requests()
    for act, methods in (
        (lambda: write(files, "b"), ["PUT"]),
        (lambda: files.read("b"), ["GET"]),
        (lambda: files.map(FileRef("b", 7, "00")), ["GET"]),
        (lambda: files.ranges("b", [(0, 2), (4, 5)]), ["GET"]),
        (lambda: files.version(""), ["GET"]),
        (lambda: files.publish("c", b"", ""), ["PUT", "PUT", "PUT"]),  # It asks first, once,
        (lambda: files.publish("d", b"", ""), ["PUT"]),  # whether the store keeps writers apart.
    ):
        act()
        assert [method for method, _ in s3.requests()] == methods


# -- refusals --------------------------------------------------------------------------------------


def test_what_s3_does_not_allow_is_read_only_or_failed(s3):
    files = files_at(s3.uri("bucket/denied"))
    write(files, "a")
    denied = {"key": "denied", "status": 403, "code": "AccessDenied"}
    s3.refuse({**denied, "methods": ["PUT", "POST", "DELETE"]})
    for change in (
        lambda: write(files, "b"),
        lambda: files.remove("a"),
        lambda: files.publish("c", b"", "draft"),
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


def test_an_object_store_that_does_not_answer_is_said_so():
    down = "s3://bucket/x?region=r&retry_limit_seconds=0&endpoint_override=http://127.0.0.1:1"
    files = files_at(down)
    for ask in (
        lambda: files.read("a"),
        lambda: files.list(""),
        lambda: write(files, "a"),
        lambda: files.publish("a", b"", "draft"),
    ):
        with pytest.raises(errors.DiskFailed, match="Check the address"):
            ask()


def test_a_process_that_is_forked_is_told_that_it_cannot_use_the_store(s3):
    """It would wait for threads that it does not have."""
    script = f"""
import os, wavedex as wx
from wavedex.store import files_at
files = files_at({s3.uri("bucket/forked")!r})
files.list("")
if os.fork() == 0:
    try:
        files.list("")
    except wx.errors.DiskFailed as error:
        os._exit("spawn" in str(error))
    os._exit(3)
raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 1


def test_an_object_store_needs_a_package_that_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(errors.PackageMissing, match=r"pip install 'wavedex\[objects\]'"):
        files_at("s3://bucket/x?region=us-east-1")


def test_a_store_that_cannot_be_reached_is_said_so():
    with pytest.raises(errors.DiskFailed, match="Check the address"):
        files_at("hdfs://nowhere.invalid:1/x")


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["sales.wx", "a:b.wx", "s3:/bucket/x", "C:\\x", "./s3://x", "/tmp/x", Path("s3://bucket/x"),
     "1s3://x", "://x"],
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
        ("s3://bucket/x?unknown=1", "unknown.*endpoint_override"),
        ("s3://bucket/x?allow_bucket_creation=true", "Make the bucket"),
        ("s3://bucket/x?region=r&anonymous=maybe", "neither true nor false"),
        ("s3://bucket/x?retry_limit_seconds=soon&region=r", "no whole number"),
        ("s3://user@bucket/x", "credentials"),
        ("s3://bucket/a b", "cannot be used"),
        ("s3://bucket/a//b", "empty name"),
        ("s3://bucket/a/../b", "empty name"),
        ("gs://user@bucket/x", "credentials"),
        (
            "az://container/x?blob_storage_authority=host",
            "endpoint_override=http://host:port/account",
        ),
        ("abfs://container@account.windows.net/x", "container@account.dfs"),
        ("abfs://account.dfs.core.windows.net/container", "names no folder"),
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
    ("uri", "base", "said"),
    [
        ("s3://b/x/y%20z?region=r", "x/y z", {"bucket": "b", "region": "r"}),
        ("s3://b/x?region=r&anonymous=true", "x", {"skip_signature": "true"}),
        ("s3://b/x?region=r&endpoint_override=h:1&scheme=http", "x", {"endpoint": "http://h:1"}),
        ("s3://b/x?region=r&endpoint_override=h:1", "x", {"endpoint": "https://h:1"}),
        ("gs://b/x", "x", {"bucket": "b"}),
        ("gcs://anonymous@b/x", "x", {"bucket": "b", "skip_signature": "true"}),
        ("gs://b/x?endpoint_override=h:1&scheme=http", "x", {"base_url": "http://h:1"}),
        (
            "abfs://c@a.dfs.core.windows.net/x/y",
            "x/y",
            {"container_name": "c", "account_name": "a"},
        ),
        ("abfss://a.blob.core.windows.net/c/x", "x", {"container_name": "c", "account_name": "a"}),
        ("abfs://a@c/x", "x", {"container_name": "c", "account_name": "a"}),
        (
            "abfs://c@a.dfs.core.chinacloudapi.cn/x",
            "x",
            {"endpoint": "https://a.blob.core.chinacloudapi.cn"},
        ),
        ("az://a@c/x?tenant_id=t&client_id=i", "x", {"tenant_id": "t", "client_id": "i"}),
        (
            "az://a@c/x?endpoint_override=http://127.0.0.1:10000/a",
            "x",
            {"endpoint": "http://127.0.0.1:10000/a"},
        ),
    ],
)
def test_a_uri_of_an_object_store_says_where_it_is(uri, base, said):
    files = files_at(uri)
    assert type(files) is ObjectFiles
    assert files.root == uri
    assert files._base == base
    config = {name: str(value) for name, value in files._store.config.items()}
    assert said.items() <= config.items()
    assert pickle.loads(pickle.dumps(files))._store.config == files._store.config


def test_an_account_may_be_left_to_the_environment(monkeypatch):
    with pytest.raises(errors.BadPath, match="Account must be specified"):
        files_at("az://container/x")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    assert files_at("az://container/x").root == "az://container/x"


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
