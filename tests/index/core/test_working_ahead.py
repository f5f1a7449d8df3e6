"""Writes that return when rows can be queried, and writers that wait for one another."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadDefinition, ConcurrentWrite, DiskFull, StillPreparing
from wavedex.files.names import LOCK
from wavedex.index.core.manner import Manner, manner_of
from wavedex.testing.disks import WatchedDisk

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64())])
LIFE = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("end", pa.int64())])
WAYS = ["background", "now", "later"]

pytestmark = pytest.mark.slow


def rows(slot: int) -> pa.Table:
    return pa.table({"k": [*range(50)], "t": [slot] * 50}, SCHEMA)


def create(path: Path, **options: Any) -> wx.WaveIndex:
    wanted = {"key": "k", "time": "t", "slot": 1, "window": 6, "indexes": 3, **options}
    return wx.WaveIndex.create(path, SCHEMA, **wanted)


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is outside of tests."""
    monkeypatch.delenv("WAVEDEX_PREPARE")


def owed(idx: wx.WaveIndex | wx.LifetimeIndex) -> bool:
    return bool(idx.manifest.owed)


@pytest.mark.parametrize("prepare", WAYS)
@pytest.mark.parametrize("scheme", ["wata", "rata", "reindex++", "del"])
@pytest.mark.parametrize("update", ["runs", "packed-shadow", "in-place"])
def test_answers_do_not_depend_on_when_work_is_done(
    tmp_path: Path, scheme: str, update: str, prepare: str
) -> None:
    idx = create(tmp_path / "i", scheme=scheme, update=update)
    other = create(tmp_path / "o", scheme=scheme, update=update)
    for slot in range(1, 16):
        done = idx.append(rows(slot), prepare=prepare)
        assert idx.snapshot().commit >= done.commit
        assert idx.probe(7)["t"].to_pylist() == [*range(max(1, slot - 5), slot + 1)]
        other.append(rows(slot), prepare="now")
    idx.close()
    assert idx.sub_indexes == other.sub_indexes
    idx.prepare()
    assert not owed(idx)
    idx.verify()
    idx.vacuum()


def test_what_is_left_for_later_is_owed_and_done_by_the_next_write(tmp_path: Path) -> None:
    idx = create(tmp_path / "i")
    for slot in range(1, 12):
        idx.append(rows(slot), prepare="later")
    assert owed(idx)
    assert idx.prepare()
    assert not owed(idx)
    assert not idx.prepare()


def test_the_usual_way_is_the_background(tmp_path: Path, usual: None) -> None:
    idx = create(tmp_path / "i")
    for slot in range(1, 12):
        idx.append(rows(slot))
    idx.close()
    assert not owed(idx)
    assert not [each for each in threading.enumerate() if each.name == "wavedex preparation"]


def test_a_lifetime_index_works_ahead_too(tmp_path: Path) -> None:
    for prepare in WAYS:
        life = wx.LifetimeIndex.create(
            tmp_path / prepare, LIFE, key="k", inserted="t", expires="end",
            max_lifetime=8, refresh=1, method="lazy-rebuild",
        )  # fmt: skip
        for now in range(1, 12):
            batch = pa.table({"k": [1, 2], "t": [now] * 2, "end": [now + 2, now + 6]}, LIFE)
            life.update(now, batch, prepare=prepare)
            life.retract(now, batch.slice(0, 1), prepare=prepare, wait=1)
        life.append(pa.table({"k": [1], "t": [12], "end": [13]}, LIFE), prepare=prepare)
        life.close()
        assert life.probe(2)["t"].to_pylist() == [*range(7, 12)]
        life.verify()


def is_ahead() -> bool:
    """Whether this is the thread that works ahead."""
    return threading.current_thread().name == "wavedex preparation"


class SlowPreparation(WatchedDisk):
    """A disk on which a preparation takes until it is let go on."""

    def __init__(self, root: Any) -> None:
        super().__init__(root)
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()

    def before(self, change: str, name: str) -> None:
        if is_ahead():
            self.has_begun.set()
            assert self.may_go_on.wait(60)


class FailingPreparation(WatchedDisk):
    """A disk that has no room for preparations."""

    def before(self, change: str, name: str) -> None:
        if is_ahead():
            raise DiskFull("no room")


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[wx.WaveIndex, SlowPreparation]]:
    """An index whose preparations wait to be let go on, with one under way."""
    create(tmp_path / "i", scheme="rata")
    disk = SlowPreparation(tmp_path / "i")
    around = wx.Surroundings(files=lambda path: disk)
    idx = wx.WaveIndex.open(tmp_path / "i", surroundings=around)
    for slot in range(1, 8):
        idx.append(rows(slot), prepare="now")
    idx.append(rows(8), prepare="background")
    assert disk.has_begun.wait(60)
    yield idx, disk
    disk.may_go_on.set()
    idx.close()


def test_rows_can_be_queried_while_work_goes_on(
    slow: tuple[wx.WaveIndex, SlowPreparation],
) -> None:
    idx, disk = slow
    assert owed(idx)
    assert 8 in idx.probe(3)["t"].to_pylist()
    disk.may_go_on.set()
    idx.close()
    assert not owed(idx)


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:  # for whoever looks at it
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


@pytest.mark.parametrize("opens", [False, True])
def test_the_next_write_waits_for_what_is_under_way(
    slow: tuple[wx.WaveIndex, SlowPreparation], opens: bool
) -> None:
    """A writer of its own waits as well: nobody need know that somebody works ahead."""
    idx, disk = slow
    writer = wx.WaveIndex.open(idx.path) if opens else idx
    thread, found = in_thread(lambda: writer.append(rows(9), prepare="now"))
    thread.join(0.2)
    assert thread.is_alive()
    disk.may_go_on.set()
    thread.join(60)
    assert found[0].slots == [9]
    idx.verify()


def test_who_does_not_want_to_wait_is_told(slow: tuple[wx.WaveIndex, SlowPreparation]) -> None:
    idx, _ = slow
    other = wx.WaveIndex.open(idx.path)
    with pytest.raises(StillPreparing, match="wait='30 s'"):
        other.append(rows(9), wait=0)
    with pytest.raises(ConcurrentWrite):
        other.vacuum(wait="0 s")


def test_a_preparation_that_fails_stays_owed_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create(tmp_path / "i", scheme="rata")
    around = wx.Surroundings(files=FailingPreparation)
    idx = wx.WaveIndex.open(tmp_path / "i", surroundings=around)
    with caplog.at_level(logging.WARNING, "wavedex"):
        for slot in range(1, 9):
            idx.append(rows(slot), prepare="background")
        idx.close()
    assert "no room" in caplog.text
    assert owed(idx)
    wx.WaveIndex.open(idx.path).append(rows(9), prepare="now")
    assert not owed(idx)
    idx.verify()


def test_where_what_is_over_must_be_gone_it_is(tmp_path: Path) -> None:
    idx = create(tmp_path / "i", scheme="del", keep_commits=1)
    for slot in range(1, 10):
        idx.append(rows(slot), prepare="later")
        assert idx.commits == [idx.commit]


class Holder:
    """Another process that holds the writer's lock until it is told to let go."""

    PROGRAM = (
        "import sys\n"
        "from wavedex.files.local import Files\n"
        "with Files(sys.argv[1]).lock(sys.argv[2]):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
    )

    def __init__(self, path: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, path, LOCK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "held\n"

    def let_go(self) -> None:
        self._process.communicate("\n")


WRITES: dict[str, Callable[[wx.WaveIndex, Any], Any]] = {
    "append": lambda idx, wait: idx.append(rows(9), wait=wait),
    "amend": lambda idx, wait: idx.amend(rows(8), wait=wait),
    "feed": lambda idx, wait: idx.feed(rows(9), stream="s", number=0, delay=0, wait=wait),
    "erase": lambda idx, wait: idx.erase([3], wait=wait),
    "migrate": lambda idx, wait: idx.migrate(window=5, wait=wait),
    "vacuum": lambda idx, wait: idx.vacuum(wait=wait),
    "prepare": lambda idx, wait: idx.prepare(wait=wait),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_waits_where_it_is_told_to(tmp_path: Path, write: str) -> None:
    idx = create(tmp_path / "i")
    idx.append(pa.concat_tables(map(rows, range(3, 9))))
    holder = Holder(idx.path)
    with pytest.raises(ConcurrentWrite):
        WRITES[write](idx, None)
    begun = time.monotonic()
    with pytest.raises(ConcurrentWrite):
        WRITES[write](idx, 0.2)
    assert time.monotonic() - begun >= 0.2
    thread, found = in_thread(lambda: WRITES[write](idx, "60 s"))
    thread.join(0.1)
    assert thread.is_alive()
    holder.let_go()
    thread.join(60)
    assert not isinstance(found[0], Exception)
    idx.verify()


def test_two_writers_that_wait_lose_nothing(tmp_path: Path) -> None:
    """Each of two processes amends a slot many times over."""
    idx = create(tmp_path / "i")
    idx.append(rows(1))
    program = (
        "import sys, pyarrow as pa, wavedex as wx\n"
        "idx = wx.open(sys.argv[1])\n"
        "for n in range(15):\n"
        "    idx.amend(pa.table({'k': [1000 + int(sys.argv[2]) + n], 't': [1]}), wait='2m')\n"
    )
    environment = {**os.environ}
    environment.pop("WAVEDEX_PREPARE", None)
    writers = [
        subprocess.Popen([sys.executable, "-c", program, idx.path, start], env=environment)
        for start in ("0", "100")
    ]
    assert [writer.wait() for writer in writers] == [0, 0]
    found = [key for key in idx.to_arrow()["k"].to_pylist() if key >= 1000]
    assert sorted(found) == [*range(1000, 1015), *range(1100, 1115)]
    idx.verify()


def test_a_process_ends_when_its_work_is_done(tmp_path: Path) -> None:
    program = (
        "import sys, pyarrow as pa, wavedex as wx\n"
        "idx = wx.WaveIndex.create(sys.argv[1], pa.table({'k': [1], 't': [1]}), key='k',"
        " time='t', slot=1, window=6, indexes=3, rows=True)\n"
        "for slot in range(2, 12): idx.append(pa.table({'k': [1], 't': [slot]}))\n"
    )
    environment = {**os.environ}
    environment.pop("WAVEDEX_PREPARE", None)
    path = str(tmp_path / "i")
    subprocess.run([sys.executable, "-c", program, path], env=environment, check=True)
    assert not owed(wx.WaveIndex.open(path))


@pytest.mark.parametrize(
    ("said", "seconds"), [("30 s", 30.0), ("1 minute", 60.0), (0.5, 0.5), (3, 3.0), (None, None)]
)
def test_a_time_to_wait_is_read(said: Any, seconds: float | None) -> None:
    assert manner_of(said, "now") == replace(Manner(), wait_s=seconds)


@pytest.mark.parametrize("said", ["soon", True, -1, "1 month", object()])
def test_what_is_no_time_to_wait_is_refused(tmp_path: Path, said: Any) -> None:
    idx = create(tmp_path / "i")
    for write in WRITES.values():
        with pytest.raises(BadDefinition, match="is no time to wait"):
            write(idx, said)
    assert idx.commit == 0


def test_what_is_no_way_to_prepare_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idx = create(tmp_path / "i")
    with pytest.raises(BadDefinition, match="none of 'background', 'now' and 'later'"):
        idx.append(rows(1), prepare="soon")
    monkeypatch.setenv("WAVEDEX_PREPARE", "soon")
    with pytest.raises(BadDefinition, match="WAVEDEX_PREPARE='soon'"):
        idx.append(rows(1))
    assert idx.commit == 0
