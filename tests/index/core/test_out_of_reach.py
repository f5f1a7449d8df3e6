"""Commits that are asked for and not there, and folders that may not be read.

Each case has its own name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import wavedex as wx
from kit.small_waves import SCHEMA, rows_of, table
from wavedex.errors import CommitGone, Damaged

KEPT = 6


@pytest.fixture
def index(shared) -> wx.WaveIndex:
    """With commits that name files which later ones do not.

    It lies in a folder of its own, which others may enter.
    """
    made = wx.WaveIndex.create(
        shared / "x", SCHEMA, key="k", time="t", slot=10, window=4, indexes=2, scheme="reindex",
        update="packed-shadow", keep_commits=KEPT,
    )  # fmt: skip
    for slot in range(2 * KEPT):
        made.append(table(rows_of(slot)))
    return made


def test_a_kept_commit_whose_file_is_missing_is_damaged_and_not_gone(index):
    oldest, *_, newest = index.commits
    own = index.snapshot(oldest).manifest.files.keys() - index.manifest.files.keys()
    missing = Path(index.path) / min(own)
    missing.unlink()
    with pytest.raises(Damaged, match=f"{missing.name} is missing"):
        index.snapshot(oldest)
    with pytest.raises(Damaged, match=f"{missing.name} is missing"):
        wx.open(index.path, commit=oldest).scan().read_all()
    assert index.snapshot(newest).probe(1).num_rows


@pytest.mark.parametrize("commit", [10**300, -(10**300)], ids=["above", "below"])
def test_a_number_that_no_commit_has_is_gone_however_large(index, commit):
    with pytest.raises(CommitGone, match=f"it keeps \\[{index.commits[0]}, "):
        index.snapshot(commit)


AS_NOBODY = """
import os, sys
import wavedex as wx

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for ask in (
    lambda: wx.open(sys.argv[1]).probe(3),
    lambda: wx.open(sys.argv[1]).scan().read_all(),
    lambda: wx.open(sys.argv[1]).verify(),
):
    try:
        ask()
    except wx.errors.DiskFailed as error:
        print("user who may" in str(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "mode"), [("data", 0o000), ("data", 0o644), ("log", 0o644), ("", 0o644)], ids=ascii
)
def test_a_folder_that_may_not_be_looked_into_is_no_mistake_of_ours(index, folder, mode):
    """One of which only names can be read, too: those of files that cannot be reached."""
    path = Path(index.path)
    try:
        (path / folder).chmod(mode)
        script = [sys.executable, "-c", AS_NOBODY, index.path]
        done = subprocess.run(script, capture_output=True, text=True, cwd="/", check=False)
        assert done.stdout.split() == ["True"] * 3, done.stderr
    finally:
        (path / folder).chmod(0o755)
