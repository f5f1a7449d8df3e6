"""What came and went, from a shell: once, and as it happens."""

import json
import os
import signal
import subprocess
import sys

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
