"""Rows that come, go and get another end from a shell, in one commit."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from kit.cli_calls import call, fill, minute, table_of

NOW = "2026-01-05T12:10"


@pytest.fixture
def calls(tmp_path):
    """Calls as of 12:08."""
    fill(tmp_path / "calls.wx", keep_commits=50)
    return tmp_path / "calls.wx"


@pytest.fixture
def write(tmp_path):
    def written(name, rows):
        pq.write_table(table_of(rows), tmp_path / name)
        return tmp_path / name

    return written


def callers(path):
    return sorted(wx.open(path).scan().read_all()["caller"].to_pylist())


def test_all_of_it_is_applied_at_once_and_a_batch_of_a_stream_once(run, calls, write):
    before = wx.open(calls).commit
    asked = [
        "apply", calls, "--now", NOW,
        "--insert", write("new.parquet", [call("fay", 9, 14)]),
        "--retract", write("gone.parquet", [call("bob", 3, 15)]),
        "--prolong", write("held.parquet", [call("dot", 6, 24)]),
        "--stream", "calls", "--number", 0,
    ]  # fmt: skip
    told = run(*asked)
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.startswith(f"as of {NOW}: 1 row")
    assert "1 retracted, 1 with another end" in told.stdout
    assert callers(calls) == ["ann", "cid", "dot", "eve", "fay"]
    idx = wx.open(calls)
    assert idx.probe("dot")["until"].to_pylist() == [minute(24)]
    changes = idx.changes(before).read_all()
    assert set(changes["_commit"].to_pylist()) == {before + 1}
    again = run(*asked)
    assert again.stdout == f"as of {NOW}: already there\n"
    assert json.loads(run(*asked, "--json").stdout)["repeated"] is True


def test_rows_are_retracted_by_keys_and_by_some_columns(run, calls, tmp_path):
    told = json.loads(run("apply", calls, "--now", NOW, "--retract-key", "eve", "--json").stdout)
    assert told["retracted"] == 1
    some = tmp_path / "some.csv"
    some.write_text("caller,line\ndot,1\n")
    told = run("apply", calls, "--now", NOW, "--retract-matching", some, "--json")
    assert json.loads(told.stdout)["retracted"] == 1
    assert callers(calls) == ["ann", "bob", "cid"]


def test_what_is_not_there_is_named_and_nothing_is_changed(run, calls, write):
    before = callers(calls)
    told = run("apply", calls, "--now", NOW, "--retract", write("no.parquet", [call("zoe", 1, 15)]),
               "--insert", write("new.parquet", [call("fay", 9, 14)]))  # fmt: skip
    assert (told.exit_code, told.stdout) == (1, "")
    assert "1 of the rows are not there" in told.stderr
    assert "zoe" in told.stderr
    assert callers(calls) == before
    told = run("apply", calls, "--now", NOW, "--retract-key", "a", "--retract-matching", "x.csv")
    assert (told.exit_code, "give one of --retract" in told.stderr) == (2, True)
    assert run("apply", calls).exit_code == 2  # the instant is needed


def test_rows_without_a_key_are_told_of(run, tmp_path, write):
    fill(tmp_path / "skips.wx", nulls="skip")
    rows = [call("fay", 9, 14), {**call("fay", 9, 14), "caller": None}]
    told = run("apply", tmp_path / "skips.wx", "--now", NOW, "--insert", write("new.parquet", rows))
    assert (told.exit_code, told.stderr) == (0, "")
    assert "1 skipped without a key" in told.stdout


def test_a_wave_index_is_told_what_it_has_instead(run, tmp_path):
    schema = table_of([]).schema
    wx.WaveIndex.create(tmp_path / "w.wx", schema, key="caller", time="begun", window=3)
    told = run("apply", tmp_path / "w.wx", "--now", NOW)
    assert (told.exit_code, told.stdout) == (1, "")
    assert "is no lifetime index: its rows leave by themselves" in told.stderr


def test_rows_say_themselves_what_is_to_be_done(run, calls, tmp_path):
    before = wx.open(calls).commit
    (tmp_path / "some.csv").write_text(
        "caller,begun,until,line,op\n"
        "fay,2026-01-05T12:09,2026-01-05T12:14,1,insert\n"
        "dot,2026-01-05T12:06,2026-01-05T12:24,1,prolong\n"
    )
    (tmp_path / "more.csv").write_text(
        "caller,begun,until,line,op\nbob,2026-01-05T12:03,2026-01-05T12:15,1,retract\n"
    )
    told = run(
        "apply", calls, "--rows", tmp_path / "some.csv", "--rows", tmp_path / "more.csv",
        "--by", "op",
    )  # fmt: skip
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.startswith("as of 2026-01-05T12:09+00:00: 1 row")
    assert "1 retracted, 1 with another end" in told.stdout
    living = callers(calls)
    assert ("bob" in living, "fay" in living) == (False, True)
    assert wx.open(calls).probe("dot")["until"].to_pylist() == [minute(24)]
    assert wx.open(calls).commit == before + 1


def test_files_without_rows_change_nothing_in_an_index_that_was_never_refreshed(
    run, tmp_path, write
):
    schema = table_of([]).schema
    path = tmp_path / "fresh.wx"
    wx.LifetimeIndex.create(
        path, schema, key="caller", inserted="begun", expires="until", max_lifetime="16 minutes",
        refresh="2 minutes",
    )  # fmt: skip
    empty = write("empty.parquet", [])
    for option in ("--retract", "--prolong", "--retract-matching", "--insert"):
        told = run("apply", path, option, empty)
        assert (told.exit_code, told.stdout, told.stderr) == (0, "no rows\n", "")
    assert wx.open(path).commit == 0


def test_rows_of_counted_windows_are_retracted_and_pushed_out(run, tmp_path):
    schema = pa.schema([("k", pa.string()), ("at", pa.int64()), ("p", pa.int64())])
    path = tmp_path / "counted.wx"
    index = wx.LifetimeIndex.create(
        path, schema, key="k", inserted="at", counts={"p": 5}, method="count-rebuild",
        max_lifetime=12, refresh=1,
    )  # fmt: skip
    index.append(pa.table({"k": ["a", "b", "c"], "at": [1, 2, 3], "p": [1, 2, 3]}, schema))
    told = run("apply", path, "--retract-key", "a")
    assert (told.exit_code, told.stdout, told.stderr) == (0, "as of 3: no rows, 1 retracted\n", "")
    assert sorted(wx.open(path).scan().read_all()["k"].to_pylist()) == ["b", "c"]
    told = run("apply", path, "--arrived", "p=7")
    assert (told.exit_code, told.stderr) == (0, "")
    assert wx.open(path).scan().read_all()["k"].to_pylist() == ["c"]


def test_a_column_that_is_there_twice_is_refused_with_the_name_of_the_file(run, calls, tmp_path):
    before = wx.open(calls).commit
    said = "fay,2026-01-05T12:09,2026-01-05T12:14,1,insert"
    for name, head, more in (("op", "op,op", "insert"), ("line", "op,line", "1")):
        file = tmp_path / f"{name}.csv"
        file.write_text(f"caller,begun,until,line,{head}\n{said},{more}\n")
        told = run("apply", calls, "--rows", file, "--by", "op")
        assert (told.exit_code, told.stdout) == (1, "")
        assert f"{name}.csv: The " in told.stderr
        assert f"column '{name}' twice" in told.stderr
    (tmp_path / "keys.csv").write_text("caller,caller\ndot,dot\n")
    told = run("apply", calls, "--now", NOW, "--retract-matching", tmp_path / "keys.csv")
    assert (told.exit_code, "Give some of these, each once" in told.stderr) == (1, True)
    assert wx.open(calls).commit == before


def test_files_that_contradict_are_refused(run, calls, write):
    new = write("new.parquet", [call("fay", 9, 14)])
    for asked in (("--rows", new), ("--by", "op"), ("--rows", new, "--by", "op", "--insert", new)):
        result = run("apply", calls, *asked)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "give --rows with --by" in result.stderr
    result = run("apply", calls, "--rows", new, "--by", "op")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "new.parquet: The rows have no column 'op'" in result.stderr
