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
from remote_places import Place, place_of
from remote_rows import (
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
from typer.testing import CliRunner

import wavedex as wx
from wavedex import errors
from wavedex.cli import app
from wavedex.log import DATA, Log
from wavedex.store import files_at
from wavedex.store.files import Files
from wavedex.testing.oracle import Oracle, same_rows

# -- answers ----------------------------------------------------------------------------------------


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
                oracle.rows(lambda row: row["k"] in ("key 1", "late") and row["t"] // 10 >= since),  # noqa: B023
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
    assert [method for method, _ in s3.requests()] == ["GET", "GET", "HEAD", "GET"]


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

    expected = oracle_of(*range(1, 12)).rows()
    for ask in (lambda index: index.snapshot(), lambda index: (index.verify(), index)[1]):
        reader = interrupted(remote, address, "map", overtake)
        found = ask(reader)
        assert same_rows(answers(found), expected)
        overtake = writer.vacuum


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


# -- names ----------------------------------------------------------------------------------------------


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
