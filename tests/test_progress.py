"""How far long work has come: told in steps that grow, to whoever looks, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import progress
from wavedex.progress import Progress

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.float64())])
ROWS = 20_000


def rows(slot: int) -> pa.Table:
    numbers = np.arange(ROWS)
    return pa.table([numbers % 500, np.full(ROWS, slot * 10), numbers / 4], schema=SCHEMA)


@pytest.fixture
def index(tmp_path: Path) -> wx.WaveIndex:
    return wx.WaveIndex.create(
        tmp_path / "a.wx", SCHEMA, key="k", time="t", slot=10, window=4, indexes=2, shards=2
    )


@pytest.fixture
def seen() -> Iterator[list[Progress]]:
    found: list[Progress] = []
    stop = progress.watch(found.append)
    yield found
    stop()


def of(seen: list[Progress], doing: str) -> list[Progress]:
    return [each for each in seen if each.doing == doing]


def check(steps: list[Progress], index: wx.WaveIndex, total: int) -> None:
    """They begin with nothing, grow, and end with all."""
    shares = [each.share for each in steps]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(set(shares)) > 3
    assert {each.path for each in steps} == {index.path}
    assert steps[-1].rows_done == steps[-1].rows == total


def test_writes_and_checks_tell_how_far_they_are(index: wx.WaveIndex, seen: list[Progress]) -> None:
    for slot in range(4):
        index.append(rows(slot))
    check(of(seen, "append")[: len(of(seen, "append")) // 4], index, ROWS)
    index.verify()
    check(of(seen, "verify"), index, 4 * ROWS)
    index.migrate(shards=3)
    check(of(seen, "migrate"), index, 4 * ROWS)
    index.erase([7])
    assert of(seen, "erase")[-1].share == 1


def test_nobody_is_told_once_it_has_stopped(index: wx.WaveIndex) -> None:
    found: list[Progress] = []
    progress.watch(found.append)()
    assert not progress.is_watched()
    index.append(rows(1))
    assert found == []


def test_work_that_fails_never_says_that_it_is_done(seen: list[Progress]) -> None:
    with pytest.raises(OSError, match="full"), progress.underway("here", "append", 10, 100):
        raise OSError("full")
    assert [each.share for each in seen] == [0]
    progress.step("here", 50)
    assert len(seen) == 1


def test_an_estimate_that_was_too_low_waits_for_the_end(seen: list[Progress]) -> None:
    with progress.underway("here", "append", 10, 100):
        progress.step("here", 500)
    assert [each.share for each in seen] == [0, 0.99, 1]


def test_a_watcher_that_fails_disturbs_nobody(
    index: wx.WaveIndex, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(each: Progress) -> None:
        raise RuntimeError("nobody looks")

    stop = progress.watch(fail)
    index.append(rows(1))
    stop()
    assert len(index) == ROWS
    assert "A watcher failed at append" in caplog.text
