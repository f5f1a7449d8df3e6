"""Ctrl-C ends a write.

With KeyboardInterrupt, whenever it comes, and with the old state or the new one.
"""

from __future__ import annotations

import gc
import itertools
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from kit import life_rows
from wavedex.testing.disks import WatchedDisk
from wavedex.testing.oracle import same_rows
from wavedex.testing.package_rows import rows_of, table
from wavedex.testing.package_trials import create

HAND_OVERS = ("crew.py", "behind.py", "weakref.py", "_weakrefset.py", "threading.py", "thread.py")
"""Where work is handed to threads and waited for, and where what is let go of is closed."""


class InterruptedDisk(WatchedDisk):
    """Ctrl-C is pressed before the change number `change`, whichever thread makes it."""

    def __init__(self, root: str, change: int) -> None:
        super().__init__(root)
        self.change = change

    def before(self, change: str, name: str) -> None:
        with self._guard:
            self.changes[change] += 1
            is_now = self.changes.total() == self.change
        if is_now:
            signal.raise_signal(signal.SIGINT)


def _life(path: Path, shards: int, method: str) -> None:
    index = wx.LifetimeIndex.create(
        path, life_rows.SCHEMA, key="k", inserted="b", expires="e", max_lifetime=16, refresh=2,
        grid=(2, 2), method=method, shards=shards,
    )  # fmt: skip
    for now in range(2, 21, 2):
        index.update(now, life_rows.table(life_rows.rows_at(now)))


def _wave(path: Path, shards: int, update: str, format_: str = "arrow") -> None:
    index = create(path, format_, "wata", update, shards=shards)
    for slot in range(1, 9):
        index.append(table(rows_of(slot)))


LIFE, WAVE = life_rows.table(life_rows.rows_at(22)), table(rows_of(9))
KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Any], object]]] = {
    "cells in place": (lambda path: _life(path, 2, "no-rebuild"), lambda x: x.update(22, LIFE)),
    "runs": (lambda path: _wave(path, 2, "runs"), lambda x: x.append(WAVE)),
    "sqlite": (lambda path: _wave(path, 1, "in-place", "sqlite"), lambda x: x.append(WAVE)),
}


@pytest.fixture
def unheard() -> Iterator[list[object]]:
    """What Python raised where nobody hears it."""
    heard, before = [], sys.unraisablehook
    sys.unraisablehook = lambda found: heard.append(found.exc_value)
    yield heard
    sys.unraisablehook = before


@pytest.fixture(params=KINDS)
def case(request, tmp_path) -> tuple[Path, Callable[[Any], object], list[Any]]:
    """A folder to copy, a write, and the rows before and after it."""
    make, write = KINDS[request.param]
    for name in ("old", "new"):
        make(tmp_path / name)
    write(wx.open(tmp_path / "new"))
    rows = [wx.open(tmp_path / name).scan().read_all().to_pylist() for name in ("old", "new")]
    gc.collect()
    return tmp_path / "old", write, rows


def check_survivor(path: Path, rows: list[Any]) -> None:
    survivor = wx.open(path)
    survivor.verify()
    found = survivor.scan().read_all().to_pylist()
    assert any(same_rows(found, expected) for expected in rows)


@pytest.mark.slow
def test_an_interrupt_before_any_change_to_the_disk_ends_the_write(case, tmp_path, unheard):
    old, write, rows = case
    shutil.copytree(old, tmp_path / "counted")
    counted = WatchedDisk(tmp_path / "counted")
    write(wx.open(tmp_path / "counted", surroundings=wx.Surroundings(files=lambda _: counted)))
    assert counted.changes.total() > 5
    for number in range(1, counted.changes.total() + 1):
        shutil.copytree(old, tmp_path / "x")
        disk = InterruptedDisk(str(tmp_path / "x"), number)
        index = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=lambda _, d=disk: d))
        index.scan().read_all()
        with pytest.raises(KeyboardInterrupt):
            write(index)
        assert not unheard
        del index
        check_survivor(tmp_path / "x", rows)
        shutil.rmtree(tmp_path / "x")


def test_an_interrupt_anywhere_in_a_hand_over_ends_the_write(case, tmp_path, unheard):
    old, write, rows = case
    for number in itertools.count():
        shutil.copytree(old, tmp_path / "x")
        index = wx.open(tmp_path / "x")
        index.scan().read_all()
        places: dict[object, None] = {}

        def look(frame: FrameType, event: str, arg: object, places: Any = places) -> None:
            code = frame.f_code
            if Path(code.co_filename).name not in HAND_OVERS and code.co_name != "__del__":
                return
            if event in ("call", "c_return"):
                places[code, event, getattr(arg, "__name__", "")] = None
                if len(places) == number + 1:  # noqa: B023 - it is over before the next
                    sys.setprofile(None)
                    signal.raise_signal(signal.SIGINT)

        sys.setprofile(look)
        try:
            write(index)
        except KeyboardInterrupt:
            pass
        else:
            assert len(places) <= number, [*places][-1]
            break
        finally:
            sys.setprofile(None)
        assert not unheard, [*places][-1]
        del index
        check_survivor(tmp_path / "x", rows)
        shutil.rmtree(tmp_path / "x")
    assert number > 5


WITHOUT_PANDAS = """
import sys
import pyarrow as pa
import wavedex as wx

class Refused:
    def find_spec(self, name, path=None, target=None):
        assert name.partition(".")[0] != "pandas", "pandas is imported"

column = pa.ipc.open_stream(sys.stdin.buffer).read_all()
sys.meta_path.insert(0, Refused())
for update in ("in-place", "runs"):
    for format in ("arrow", "sqlite"):
        index = wx.WaveIndex.create(
            f"{sys.argv[1]}/{update}{format}", column.schema, key="k", time="t", slot=10, window=2,
            update=update, format=format,
        )
        index.append(column)
        index.amend(column.slice(0, 1))
        index.erase([1])
        index.migrate(window=3)
        index.vacuum()
life = wx.LifetimeIndex.create(
    f"{sys.argv[1]}/life", column.schema, key="k", inserted="t", lifetime="k",
    max_lifetime=20, refresh=2, grid=(2, 2), method="no-rebuild",
)
life.update(10, column.slice(0, 1))
life.retract(10, column.slice(0, 1))
for now in (12, 14):
    life.update(now, column.slice(1, 1))
"""


def test_no_write_imports_pandas_whose_compiled_modules_swallow_interrupts(tmp_path):
    rows = table([{"k": 1, "t": 10, "v": "a"}, {"k": 2, "t": 11, "v": "b"}])
    sink = tmp_path / "rows"
    with pa.ipc.new_stream(str(sink), rows.schema) as stream:
        stream.write_table(rows)
    with sink.open("rb") as source:
        script = [sys.executable, "-c", WITHOUT_PANDAS, str(tmp_path)]
        done = subprocess.run(script, stdin=source, stderr=subprocess.PIPE, text=True, check=False)
    assert not done.returncode, done.stderr
