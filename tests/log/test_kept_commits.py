"""How many commits are kept, and what is said of one that is not."""

from __future__ import annotations

import pytest

import wavedex as wx
from kit.stream_oracle import EVERY, SCHEMA, rows
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.log.manifest import Log

pytestmark = pytest.mark.usefixtures("small_row_groups")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def make(path, **options) -> wx.WaveIndex:
    options = {"window": 4, "indexes": 2, "keep_commits": 200, **options}
    return wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=EVERY, **options)


def kept_by(index: wx.WaveIndex) -> list[int]:
    return Log(Files(index.path)).commits()


def test_a_commit_that_is_gone_or_was_never_there_is_refused(tmp_path):
    index = make(tmp_path / "x")
    for slot in (10, 11, 12, 13):
        index.append(rows(slot * EVERY))
    last = kept_by(index)[-1]
    index.vacuum(3)
    kept = range(last - 2, last + 1)
    assert kept_by(index) == list(kept)
    for wrong in (0, last - 3, last + 1, -1, -(10**15), 10**15):
        for since, until in ((wrong, None), (wrong, last), (None, wrong), (last, wrong)):
            with pytest.raises(errors.CommitGone, match=f"keeps {kept[0]} to {kept[-1]}"):
                index.changes(since, until)
    assert index.changes(kept[0], kept[-1]).read_all().num_rows
    assert not index.changes(kept[-1], kept[0]).read_all().num_rows


@pytest.mark.parametrize("update", TECHNIQUES)
def test_changes_whose_files_go_while_they_are_read_say_so(tmp_path, update):
    index = make(tmp_path / "x", update=update, shards=1)
    index.append(rows(100))
    slow = index.changes(0)
    for slot in range(11, 18):
        index.append(rows(slot * EVERY))
    index.vacuum()
    with pytest.raises(errors.CommitGone, match="while it was read"):
        slow.read_all()


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("keep", [1, 2, 5])
def test_writes_keep_as_many_commits_as_the_index_was_created_for(tmp_path, update, keep):
    make(tmp_path / "x", update=update, keep_commits=keep, scheme="rata")
    index = wx.open(tmp_path / "x")
    for slot in range(10, 18):
        if slot % 3:
            index.append(rows(slot * EVERY))
        else:
            index.feed(rows(slot * EVERY), stream="s", number=slot // 3 - 4, delay=0)
        index.amend(rows(slot * EVERY))
        last = kept_by(index)[-1]
        assert kept_by(index) == list(range(max(0, last - keep + 1), last + 1))
        index.verify()
    since = index.changes(last - keep + 1).read_all()
    assert set(since["_commit"].to_pylist()) <= set(kept_by(index)[1:])
    assert since.num_rows or keep < 3
