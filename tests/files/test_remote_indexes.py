"""An index answers on every kind of file system as on a local disk, and is named by its URI."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import pickle
from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import wavedex as wx
from kit.remote_places import Place, place_of
from kit.remote_rows import (
    SCHEMA,
    UPDATES,
    WINDOW,
    answers,
    filled,
    interrupted,
    make,
    oracle_of,
    rows_of,
    table,
    unnamed_files,
)
from wavedex import errors
from wavedex.cli import app
from wavedex.files.address import files_at
from wavedex.files.local import Files
from wavedex.files.names import DATA
from wavedex.files.objects import ObjectFiles
from wavedex.files.remote import RemoteFiles
from wavedex.log.manifest import Log
from wavedex.testing.oracle import Oracle, same_rows

# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "update"), [("wata", "runs"), ("rata", "packed-shadow"), ("reindex++", "runs")]
)
def test_an_index_answers_as_a_plain_dictionary_does_wherever_it_lies(remote, scheme, update):
    address = remote.new()
    index = make(remote, address, scheme=scheme, update=update)
    reader, oracle, held = remote.open(address), Oracle(WINDOW, "k", lambda row: row["t"] // 10), []
    for slots in [(1,), (2,), (3, 4), (5,), (6,), (7,), (9,), (10, 11, 12)]:
        done = index.append(table(rows_of(*slots)))
        assert done.slots == list(slots)
        oracle.append(rows_of(*slots), slots[-1])
        late = [{"k": "late", "t": (slots[-1] - 1) * 10, "v": None}]
        index.amend(table(late))
        oracle.amend(late)
        assert index.append(table(rows_of(slots[-1]))).slots == []
        assert not index.prepare()
        held.append((index.snapshot(), oracle.rows()))
        if slots[-1] % 3 == 0:
            index.vacuum()
        for asked in (index, reader):
            assert asked.slots == list(range(slots[-1] - WINDOW + 1, slots[-1] + 1))
            assert same_rows(answers(asked), oracle.rows())
            for key in ("key 0", "key 3", "late", "nobody"):
                assert same_rows(asked.probe(key).to_pylist(), oracle.probe(key))
            since = slots[-1] - 2
            some = asked.probe_many(["key 1", "late"], since=since).to_pylist()
            assert same_rows(
                some,
                oracle.rows(
                    lambda row: (
                        row["k"] in ("key 1", "late") and row["t"] // 10 >= since  # noqa: B023
                    )
                ),
            )
            between = asked.probe_range("key 1", "key 4").to_pylist()
            assert same_rows(between, oracle.rows(lambda row: "key 1" <= row["k"] <= "key 4"))
    for snapshot, rows in held:
        assert same_rows(answers(snapshot), rows)
    index.vacuum()
    index.verify()
    reader.verify()
    assert unnamed_files(remote, address) == set()
    assert remote.open(address).describe()["rows"] == len(oracle.rows())
    assert {row["_change"] for row in index.changes(None).read_all().to_pylist()} == {1}


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_other_engines_read_an_index_wherever_it_lies(remote, form):
    address = remote.new()
    index = filled(remote, address, *range(1, 9), format=form)
    connection = duckdb.connect()
    index.to_duckdb(connection, "entries")
    frame = index.to_polars()
    expected = sorted(row["v"] for row in answers(index))
    index.append(table(rows_of(9)))
    index.vacuum()
    for _ in range(2):
        found = connection.execute("select v from entries order by v").fetchall()
        assert [value for (value,) in found] == expected
    assert sorted(frame.collect()["v"]) == expected


@pytest.mark.slow
@pytest.mark.parametrize("update", UPDATES)
def test_the_files_are_the_same_byte_for_byte_wherever_they_lie(request, tmp_path, update):
    found = []
    for kind in ("local", "subtree", "s3"):
        place = place_of(request, tmp_path, kind)
        tokens = (f"{number:08x}" for number in itertools.count())
        around = replace(
            place.around, token=tokens.__next__, now=lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        )
        address = place.address(f"{kind}.wx")
        index = make(place, address, update=update, surroundings=around)
        for slot in range(1, 8):
            index.append(table(rows_of(slot)))
        files = place.files(address)
        names = [f"{folder}/{name}" for folder in ("data", "log") for name in files.list(folder)]
        found.append({name: files.read(name) for name in ["index.json", *names]})
    assert found[0] == found[1] == found[2]


def test_a_reader_lists_the_log_and_fetches_only_what_is_new(s3):
    address = s3.uri("bucket/counted.wx")
    index = filled(Place("s3", str), address, 1, 2, 3, update="packed-shadow", indexes=3, shards=1)
    reader = wx.open(address)
    reader.probe("key 3")
    s3.requests()
    reader.probe("key 3")
    reader.probe_many(["key 1", "key 2"])
    assert s3.requests() == [["GET", "bucket"], ["GET", "bucket"]]  # two listings
    before = set(files_at(address).list(DATA))
    index.append(table(rows_of(4)))
    new = set(files_at(address).list(DATA)) - before
    s3.requests()
    assert same_rows(answers(reader), oracle_of(1, 2, 3, 4).rows())
    fetched = [key.rpartition("/")[2] for method, key in s3.requests() if "/data/" in key]
    assert set(fetched) == new
    index.vacuum()
    s3.requests()
    reader.probe("key 3")
    # The log has changed and its newest commit has not: two listings, and the manifest.
    assert [method for method, _ in s3.requests()] == ["GET", "GET", "GET"]


def test_a_handle_that_writes_keeps_what_it_has_fetched(s3):
    address = s3.uri("bucket/kept.wx")
    index = filled(Place("s3", str), address, 1, 2, 3, indexes=3, shards=1, update="packed-shadow")
    index.probe("key 3")
    before = set(files_at(address).list(DATA))
    index.append(table(rows_of(4)))
    s3.requests()
    index.probe("key 3")
    fetched = {key.rpartition("/")[2] for _, key in s3.requests() if "/data/" in key}
    assert fetched == set(files_at(address).list(DATA)) - before


# -- readers beside a writer ----------------------------------------------------------------------


def test_a_reader_whose_files_vanish_half_way_looks_again(remote):
    address = remote.new()
    writer = filled(remote, address, 1, 2, 3)

    def overtake() -> None:
        for slot in range(4, 12):
            writer.append(table(rows_of(slot)))

    oracle = oracle_of(*range(1, 12))
    for method, ask in (
        ("ranges", lambda index: index.snapshot()),
        ("map", lambda index: (index.verify(), index)[1]),
    ):
        reader = interrupted(remote, address, method, overtake)
        assert same_rows(answers(ask(reader)), oracle.rows())
        overtake = writer.vacuum


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_probe_whose_files_vanish_half_way_looks_again(remote, kind):
    for ask in (
        lambda index: index.probe("key 2"),
        lambda index: index.probe_many(["key 2", "none"]),
        lambda index: index.probe_range("key 2", "key 2"),
    ):
        address = remote.new()
        writer = filled(remote, address, 1, 2, 3, format=kind)

        def overtake(writer=writer) -> None:
            for slot in range(4, 12):
                writer.append(table(rows_of(slot)))
            writer.vacuum()

        reader = interrupted(remote, address, "ranges", overtake)
        found = ask(reader).to_pylist()
        assert same_rows(found, oracle_of(*range(1, 12)).probe("key 2"))


def test_a_file_that_is_missing_for_good_is_called_damaged(remote):
    address = remote.new()
    index = filled(remote, address, 1, 2)
    files = remote.files(address)
    gone = next(iter(Log(files).latest().files))
    files.remove(gone)
    with pytest.raises(errors.Damaged, match=gone):
        remote.open(address).probe("key 1")
    with pytest.raises(errors.Damaged, match=gone):
        index.verify()


def test_an_index_that_is_removed_says_so(remote):
    address = remote.new()
    index = filled(remote, address, 1)
    if remote.kind == "s3":
        system, base = pafs.FileSystem.from_uri(address)
    else:
        system, base = index._files._system, index._files._base
    system.delete_dir(base)
    for ask in (
        lambda: index.probe("key 1"),
        lambda: index.append(table(rows_of(2))),
        lambda: index.vacuum(),
        lambda: remote.open(address),
    ):
        with pytest.raises(errors.NotAnIndex):
            ask()


# -- names -----------------------------------------------------------------------------------------


def test_an_index_is_named_by_its_uri(s3):
    address = s3.uri("bucket/with%20space/named.wx/")
    index = filled(Place("s3", str), address, 1)
    plain = s3.uri("bucket/with%20space/named.wx")
    assert index.path == index.describe()["path"] == plain
    assert plain in repr(index)
    assert plain in repr(index.snapshot())
    for path in index.files():
        system, name = pafs.FileSystem.from_uri(path)
        assert name.startswith("bucket/with space/named.wx/data/")
        with system.open_input_file(name) as file:
            assert pa.ipc.open_file(file).read_all().num_rows
    elsewhere = wx.open(str(pickle.loads(pickle.dumps(index._files)).root))
    assert same_rows(answers(elsewhere), oracle_of(1).rows())


def test_an_index_that_arrow_has_written_to_s3_is_read_and_written_on(s3):
    address = s3.uri("bucket/arrows.wx")

    def arrow(path: str) -> RemoteFiles:
        return RemoteFiles(*pafs.FileSystem.from_uri(path), path)

    filled(Place("s3", str, arrow), address, 1, 2)
    index = wx.open(address)
    assert type(index._files) is ObjectFiles
    index.append(table(rows_of(3)))
    index.verify()
    assert same_rows(answers(index), oracle_of(1, 2, 3).rows())
    assert same_rows(answers(Place("s3", str, arrow).open(address)), oracle_of(1, 2, 3).rows())
    with pytest.raises(errors.AlreadyExists):
        make(Place("s3", str), address)


def test_pointers_lead_to_records_on_the_same_store(s3):
    records, address = s3.uri("bucket/records.parquet"), s3.uri("bucket/pointers.wx")
    system, path = pafs.FileSystem.from_uri(records)
    pa.parquet.write_table(table(rows_of(1)), path, filesystem=system)
    index = wx.WaveIndex.create(
        address, SCHEMA, key="k", time="t", slot=10, window=5, include=["k", "t"],
        pointer=("file", "row"),
    )  # fmt: skip
    index.append(index.read_records(records))
    found = wx.open(address).probe("key 3", follow=True)
    assert same_rows(found.to_pylist(), oracle_of(1).probe("key 3"))


def test_a_file_uri_is_the_local_index(tmp_path):
    index = filled(Place("local", str), f"file://{tmp_path}/x.wx", 1, 2, update="in-place")
    assert type(index._files) is Files
    assert same_rows(answers(wx.open(tmp_path / "x.wx")), oracle_of(1, 2).rows())


def test_the_command_takes_a_uri(s3, tmp_path):
    address = s3.uri("bucket/command.wx")
    make(Place("s3", str), address)
    for slot in range(1, 8):
        pa.parquet.write_table(table(rows_of(slot)), tmp_path / f"{slot}.parquet")
    files = [str(tmp_path / f"{slot}.parquet") for slot in range(1, 8)]

    def run(*args: str) -> str:
        done = CliRunner(env={"NO_COLOR": "1"}).invoke(app, args, prog_name="wavedex")
        assert done.exit_code == 0, done.output
        return done.stdout

    run("append", address, *files)
    oracle = oracle_of(*range(1, 8))
    found = [json.loads(line) for line in run("probe", address, "key 3", "--json").splitlines()]
    assert same_rows(found, oracle.probe("key 3"))
    assert len(run("scan", address, "--json").splitlines()) == len(oracle.rows())
    assert json.loads(run("inspect", address, "--json"))["path"] == address
    assert address in run("inspect", address)
    assert run("verify", address).startswith("ok")
    run("vacuum", address)
    refused = CliRunner().invoke(app, ["verify", "foo://x"], prog_name="wavedex")
    assert refused.exit_code == 1
    assert "begins with s3://" in refused.stderr


def test_a_commit_on_lease_stays_there_too(remote):
    address = remote.new()
    index = make(remote, address)
    index.append(table(rows_of(1, 2)))
    held, now_s = index.commits[-1], dt.datetime.now(dt.UTC).timestamp()
    assert Log(index.storage).lease(held, now_s, "ab12")
    for slot in (3, 4, 5, 6):
        index.append(table(rows_of(slot)))
    assert index.commits[0] == held
    assert same_rows(answers(index.snapshot(held)), rows_of(1, 2))
    index.vacuum()
    assert held not in index.commits
    assert not [name for name in index.storage.list("log") if name.endswith(".lease")]
