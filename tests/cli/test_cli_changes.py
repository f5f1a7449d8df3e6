"""What came and went, from a shell: once, and as it happens."""

import json
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

import wavedex as wx
from kit.cli_sales import SCHEMA, table_of


@pytest.fixture
def kept(tmp_path):
    """A window of two days whose commits are kept."""
    path = tmp_path / "sales.wx"
    idx = wx.WaveIndex.create(path, SCHEMA, key="user", time="at", window=2, keep_commits=50)
    idx.append(table_of(1))
    idx.append(table_of(2))
    return path


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_changes_are_shown_since_a_commit_or_as_all_that_came(run, kept):
    known = wx.open(kept).commit
    wx.open(kept).append(table_of(3))
    told = lines(run("changes", kept, "--since", known, "--json").stdout)
    assert {row["_at"] for row in told} == {"2026-01-04T00:00:00+00:00"}
    assert [row["_change"] for row in told] == [-1, -1, 1, 1, 1, 1]
    assert [row["_change"] for row in lines(run("changes", kept, "--json").stdout)] == [1] * 7
    told = run("changes", kept, "--since", known, "--until", known)
    assert (told.exit_code, told.stdout, told.stderr) == (0, "", "No rows.\n")


def test_changes_are_shown_since_a_batch_of_a_stream(run, tmp_path):
    path = tmp_path / "sales.wx"
    idx = wx.WaveIndex.create(path, SCHEMA, key="user", time="at", window=2, keep_commits=50)
    for number in (0, 1):
        idx.feed(table_of(number + 1), stream="a:b", number=number, delay="1 hour")
    told = lines(run("changes", path, "--since", "a:b:0", "--json").stdout)
    assert {row["at"] for row in told} == {"2026-01-02T12:00:00+00:00"}


def test_what_cannot_be_meant_is_said(run, kept):
    for asked, said in [
        ("soon", "'soon' is no commit and no batch of a stream. Give the number of a commit"),
        ("99", "Commit 99 was never there: the newest is 2, and the index keeps 0 to 2"),
        ("s:1", "No stream 's' has fed the index; the streams that have are: none."),
    ]:
        result = run("changes", kept, "--since", asked)
        assert (result.exit_code, result.stdout) == (1, "")
        assert said in result.stderr
    result = run("changes", kept, "--follow", "--until", "2")
    assert result.exit_code == 2
    assert "Leave out --until" in result.stderr


@pytest.mark.parametrize("kind", ["json", "table"])
def test_changes_are_followed_until_somebody_interrupts(kept, kind):
    known = wx.open(kept).commit
    process = subprocess.Popen(
        [sys.executable, "-m", "wavedex", "changes", str(kept), "--follow", "--format", kind,
         "--since", str(known)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    for day in (3, 4):
        wx.open(kept).append(table_of(day))
        # What was appended is shown before the command goes on, and it does not end by itself.
        seen = ""
        while f"2026-01-0{day + 1}" not in seen:
            seen = process.stdout.readline()
            assert seen
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate()
    assert (process.returncode, complaints) == (130, "")


def test_a_follower_goes_on_where_it_stopped(run, kept):
    assert [row["_change"] for row in lines(run("changes", kept, "--as", "me", "--json").stdout)]
    wx.open(kept).append(table_of(3))
    told = lines(run("changes", kept, "--as", "me", "--json").stdout)
    assert {row["_at"] for row in told} == {"2026-01-04T00:00:00+00:00"}
    again = run("changes", kept, "--as", "me")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "No rows.\n")
    assert "me, up to the newest commit" in run("inspect", kept).stdout
    wx.open(kept).append(table_of(4))
    assert "me, 1 commit behind" in run("inspect", kept).stdout
    ended = run("changes", kept, "--as", "me", "--forget")
    assert (ended.exit_code, ended.stdout) == (0, "me is no follower any more\n")
    assert wx.open(kept).followers == {}
    assert "followed by" not in run("inspect", kept).stdout


def many(path):
    """An index with more rows than a table shows."""
    schema = pa.schema([("k", pa.int64())])
    idx = wx.WaveIndex.create(path, schema, key="k", window=3, keep_commits=9)
    idx.append(pa.table({"k": range(1000, 1120)}), slot=1)
    return path


def test_a_follower_gets_all_rows_in_whatever_form(run, tmp_path):
    path = many(tmp_path / "many.wx")
    for kind in ("table", "csv", "json"):
        told = run("changes", path, "--as", kind, "--format", kind)
        assert (told.exit_code, told.stderr) == (0, "")
        assert all(str(key) in told.stdout for key in range(1000, 1120))
    assert "of which the first 50 are shown" in run("changes", path).stdout
    assert "of which the first 7 are shown" in run("changes", path, "--limit", 7).stdout
    assert wx.open(path).followers == dict.fromkeys(("csv", "json", "table"), 1)


def test_a_follower_that_goes_on_for_ever_gets_all_rows_as_tables(tmp_path):
    path = many(tmp_path / "many.wx")
    process = subprocess.Popen(
        [sys.executable, "-m", "wavedex", "changes", str(path), "--as", "me", "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    seen = ""
    while "120 rows" not in seen:
        line = process.stdout.readline()
        assert line
        seen += line
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert all(str(key) in seen for key in range(1000, 1120))
    assert "are shown" not in seen


def test_a_follower_begins_where_it_is_told(run, kept):
    known = wx.open(kept).commit
    wx.open(kept).append(table_of(3))
    told = lines(run("changes", kept, "--as", "me", "--since", known, "--json").stdout)
    assert {row["_change"] for row in told} == {1, -1}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--as", "me", "--until", "2"), "Leave out --until"),
        (("--as", "me", "--limit", "50"), "Leave out --limit"),
        (("--as", "me", "--follow", "--limit", "9"), "Leave out --limit"),
        (("--forget",), "give its name, as --as NAME"),
    ],
)
def test_options_of_followers_that_contradict_are_refused(run, kept, asked, said):
    result = run("changes", kept, *asked)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.parametrize("kind", ["json", "csv", "table"])
def test_a_follower_that_is_cut_off_before_it_has_written_gets_it_again(kept, kind):
    """What a broken pipe did not take is not noted as read."""
    command = [sys.executable, "-m", "wavedex", "changes", str(kept), "--as", "me", "--format"]
    command.append(kind)
    closed, out = os.pipe()
    os.close(closed)
    cut = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False)
    os.close(out)
    assert cut.returncode != 0
    assert wx.open(kept).followers.get("me") is None
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(lines(done.stdout)) == 5 if kind == "json" else done.stdout.count("2026-01-0") >= 5
