"""Whoever clears up beside others who write removes nothing that a kept commit names.

Nor what one names that is still to come.
"""

from __future__ import annotations

import itertools
import os
import shutil
import time
from contextlib import nullcontext

import pytest

import wavedex as wx
from kit.remote_places import Place
from kit.remote_rows import answers, filled, interrupted, interrupting, oracle_of, rows_of, table
from wavedex import errors
from wavedex.files.names import staged_prefix, staged_stem
from wavedex.index.core.staged import Staged, gather, stage
from wavedex.index.wave.append import append
from wavedex.log.journal import STAGED_HOURS_KEPT
from wavedex.log.manifest import Log
from wavedex.testing.oracle import same_rows


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def missing_files(place: Place, address: str) -> list[tuple[int, str]]:
    """Files that a kept commit names and that are not there."""
    log = Log(place.files(address))
    named = ((commit, name) for commit in log.commits() for name in log.read(commit).files)
    return [(commit, name) for commit, name in named if not log.files.exists(name)]


def staged_rows(index: wx.WaveIndex, slot: int, stem: str) -> Staged:
    """Rows as a task elsewhere stages them."""
    return stage(index.storage, index.definition, table(rows_of(slot)), None, stem)


def append_staged(index: wx.WaveIndex, staged: Staged) -> None:
    append(index.writer, lambda _: nullcontext(gather(index.definition, [staged])), None)


def test_an_append_that_clears_up_after_another_did_leaves_what_kept_commits_name(subtree):
    """The slower one has listed the commits.

    Those that tell of a file have gone when it asks them.
    """
    address = subtree.new()
    options = {"scheme": "reindex", "update": "packed-shadow", "keep_commits": 8, "shards": 1}
    faster = filled(subtree, address, *range(10), **options)
    overtaken = []

    def overtake() -> None:
        overtaken.append(faster.append(table(rows_of(faster.slots[-1] + 1))))

    for slot in (10, 12, 14):  # One of them is where a sub-index is begun anew.
        slower = interrupted(subtree, address, "remove_unpinned", overtake)
        slower.append(table(rows_of(slot)))
        assert missing_files(subtree, address) == []
    assert len(overtaken) == 3
    for commit in faster.commits:
        assert answers(faster.snapshot(commit))


def test_a_vacuum_passes_whenever_another_erases_meanwhile(subtree, tmp_path):
    """Commits that were listed are gone, and of those that are kept none was listed."""
    origin = subtree.new()
    filled(subtree, origin, *range(1, 7), shards=1)
    expected = [row for row in oracle_of(*range(1, 7)).rows() if row["k"] != "key 1"]
    for call in itertools.count(1):
        address, erased = subtree.new(), []
        shutil.copytree(tmp_path / origin, tmp_path / address)
        erase = lambda to=erased, at=address: to.append(  # noqa: E731
            subtree.open(at).erase(["key 1"])
        )
        files = interrupting(subtree, "list", erase, call)
        wx.open(address, surroundings=wx.Surroundings(files=files)).vacuum()
        if not erased:
            break
        survivor = subtree.open(address)
        survivor.verify()
        assert same_rows(answers(survivor), expected)
        assert missing_files(subtree, address) == []
    assert call > 2


def test_rows_staged_while_a_preparation_is_owed_survive_somebodys_vacuum(subtree):
    """The preparation takes the number that they were staged for, and names none of them."""
    address = subtree.new()
    other = filled(subtree, address, *range(8), update="runs")

    def fail() -> None:
        raise errors.DiskFailed("The cable is out.")

    files = interrupting(subtree, "publish", fail, call=2)  # that of the preparation
    with pytest.raises(errors.PreparationOwed):
        wx.open(address, surroundings=wx.Surroundings(files=files)).append(table(rows_of(8)))
    assert other.manifest.owed
    stem = f"data/{other.manifest.commit + 1:010d}-57a6ed-1"
    staged, removed = staged_rows(other, 9, stem), []
    files = interrupting(subtree, "publish", lambda: removed.extend(other.vacuum(2)), call=2)
    append_staged(wx.open(address, surroundings=wx.Surroundings(files=files)), staged)
    assert removed
    assert missing_files(subtree, address) == []
    survivor = subtree.open(address)
    survivor.verify()
    assert same_rows(answers(survivor), oracle_of(*range(10)).rows())


@pytest.mark.parametrize("kind", ["local", "subtree"])
def test_rows_that_were_staged_long_before_their_commit_stay_while_it_is_kept(
    request, tmp_path, kind
):
    """Their age tells nothing of who names them.

    That is so while commits are kept that are none of the newest or the oldest.
    """
    place = Place(kind, lambda name: str(tmp_path / name))
    place = place if kind == "local" else request.getfixturevalue("subtree")
    address = place.new()
    index = filled(place, address, *range(4), update="runs", keep_commits=40, shards=1)
    (tmp_path / address / "staged").mkdir()
    staged = staged_rows(index, 4, staged_stem(staged_prefix("0" * 16), 1, "57a6ed"))
    long_ago = time.time() - (STAGED_HOURS_KEPT + 1) * 3600
    for path in (tmp_path / address / "staged").iterdir():
        os.utime(path, (long_ago, long_ago))
    append_staged(index, staged)
    for slot in range(5, 9):
        index.append(table(rows_of(slot)))
        assert missing_files(place, address) == []
    index.verify()
    index.vacuum()
    assert missing_files(place, address) == []
