"""A window is filled again from an index that the same stream feeds, at whatever batch it stops."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.online import Window

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.int64()), ("n", pa.int64())])
LIVES = SCHEMA.append(pa.field("until", pa.int64()))
TIMED: dict[str, Any] = {"span": 40, "basic": 10, "time": "at", "delay": 6, "ring": ["user"]}
COUNTED: dict[str, Any] = {"rows": 24, "basic": 8, "ring": ["user"]}


def batches(late: int, seed: int = 5) -> list[pa.RecordBatch]:
    """Batches of a stream, some without a row, in which a row may come late."""
    draw, found, number = random.Random(seed), [], 0
    for place in range(70):
        rows = []
        for _ in range(draw.randrange(6)):
            at = place * 3 + draw.randrange(3) - draw.randint(0, late) if late else number
            rows.append({"user": f"u{draw.randrange(4)}", "at": max(at, 0), "n": number})
            number += 1
        found.append(pa.RecordBatch.from_pylist(rows, SCHEMA))
    return found


def wave(path: Path) -> wx.WaveIndex:
    return wx.WaveIndex.create(path, SCHEMA, key="user", time="at", slot=20, window=6)


def lifetime(path: Path) -> wx.LifetimeIndex:
    return wx.LifetimeIndex.create(
        path, LIVES, key="user", inserted="at", expires="until", max_lifetime=400, refresh=20
    )


def feed(idx: Any, batch: pa.RecordBatch, number: int) -> None:
    """Hand a batch over to an index; in one of lifetimes, every row lives for 300."""
    if isinstance(idx, wx.LifetimeIndex):
        until = pa.array([at + 300 for at in batch["at"].to_pylist()], pa.int64())
        idx.feed(batch.append_column("until", until), stream="s", number=number)
    else:
        idx.feed(batch, stream="s", number=number, delay=6)


def bag(rows: pa.RecordBatch) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


def restored(idx: Any, **settings: Any) -> Window:
    return Window.restore(wx.open(idx.path), schema=SCHEMA, **settings)


@pytest.mark.parametrize("make", [wave, lifetime])
@pytest.mark.parametrize("settings", [TIMED, COUNTED], ids=["by time", "by rows"])
def test_a_window_that_is_lost_at_any_batch_is_as_if_it_had_not_been(tmp_path, make, settings):
    idx, whole = make(tmp_path / "i.wx"), Window(SCHEMA, **settings)
    window, draw = restored(idx, **settings), random.Random(4)
    for number, batch in enumerate(batches(3 if settings is TIMED else 0)):
        feed(idx, batch, number)
        whole.push(batch, stream="s", number=number)
        if draw.random() < 0.4:
            window = restored(idx, **settings)  # Lost between the index and the window.
            assert window.streams.position == {"s": number + 1}
        window.push(batch, stream="s", number=number)
        assert bag(window.rows()) == bag(whole.rows())
        assert window.waiting == whole.waiting
        assert whole.complete in (window.complete, None)
        assert window.histogram("user").equals(whole.histogram("user"))
    assert len(whole) > 15


def test_nobody_is_told_of_what_was_there_and_no_archive_begins(tmp_path):
    idx = wave(tmp_path / "i.wx")
    for number, batch in enumerate(batches(3)):
        feed(idx, batch, number)
    window = restored(idx, **TIMED)
    assert window.watchers == ()
    assert not window.schedule
    assert len(window) > 0
    early = {"user": "u", "at": 3, "n": 0}
    with pytest.raises(errors.LateRows):
        window.push(early)


def test_an_index_of_nothing_gives_an_empty_window(tmp_path):
    for settings in (TIMED, COUNTED):
        window = restored(wave(tmp_path / f"{len(settings)}.wx"), **settings)
        assert (len(window), window.waiting, window.streams.position) == (0, 0, {})
        window.push(batches(0)[3], stream="s", number=17)


def test_times_are_filled_in_without_a_thought_of_how_long_it_takes(tmp_path):
    schema = pa.schema([("user", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    idx = wx.WaveIndex.create(tmp_path / "i.wx", schema, key="user", time="at", window=3)
    begun = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    rows = [{"user": "a", "at": begun + dt.timedelta(minutes=m)} for m in range(200)]
    idx.feed(pa.Table.from_pylist(rows, schema), stream="s", number=0, delay="1 minute")
    settings: dict[str, Any] = {"span": "2 hours", "basic": "10 minutes", "time": "at"}
    window = Window.restore(idx, **settings)
    assert window.load is not None
    assert window.load.sample == 1.0
    window.push({"user": "a", "at": begun + dt.timedelta(minutes=210)})
    assert window.load.sample == 1.0
    assert (len(window), window.waiting) == (110, 1)


def test_an_index_without_the_times_or_columns_of_a_window_is_refused(tmp_path):
    idx = wave(tmp_path / "i.wx")
    with pytest.raises(errors.BadDefinition, match="time= is missing"):
        Window.restore(idx, span="2 minutes", basic="1 minute")
    with pytest.raises(errors.MissingColumn, match="no 'until'"):
        Window.restore(idx, schema=LIVES, **COUNTED)
    with pytest.raises(errors.BadDefinition, match="give its stream="):
        Window.restore(idx, every=3, **COUNTED)
    with pytest.raises(errors.BadDefinition, match="is no index"):
        Window.restore("i.wx", schema=SCHEMA, **COUNTED)


def test_memory_and_disk_are_read_as_one_and_numba_is_not_loaded_before(tmp_path):
    idx = wave(tmp_path / "i.wx")
    window = Window(SCHEMA, **TIMED)
    with pytest.raises(errors.BadDefinition, match="not the archive"):
        wx.live(window, idx)
    window.archive(idx, stream="s")
    for batch in batches(3):
        window.push(batch)
    assert wx.live(window, idx).scan().num_rows == len(wx.live(window, idx)) > len(window) > 0
    script = "import sys, wavedex; wavedex.live; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
