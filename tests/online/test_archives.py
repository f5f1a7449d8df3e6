"""Basic windows go to an index on disk, each once, and a window is filled again from there."""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.online import Window
from wavedex.online.live import live

SCHEMA = pa.schema([("user", pa.string()), ("at", pa.int64()), ("n", pa.int64())])


def index(path: Path, **settings: Any) -> wx.WaveIndex:
    options: dict[str, Any] = {"slot": 20, "window": 50, **settings}
    return wx.WaveIndex.create(path, SCHEMA, key="user", time="at", **options)


def batches(count: int, seed: int = 3, late: int = 0) -> list[list[dict[str, Any]]]:
    """Batches of a stream, in which a row may come late."""
    draw, found, number = random.Random(seed), [], 0
    for place in range(count):
        rows = []
        for _ in range(draw.randrange(6)):
            at = place * 3 + draw.randrange(3) - draw.randint(0, late)
            rows.append({"user": f"u{draw.randrange(4)}", "at": max(at, 0), "n": number})
            number += 1
        found.append(rows)
    return found


def bag(rows: pa.Table | pa.RecordBatch) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in rows.to_pylist())


TIMED: dict[str, Any] = {"span": 40, "basic": 10, "time": "at", "delay": 2, "ring": ["user"]}
COUNTED: dict[str, Any] = {"rows": 40, "basic": 8, "ring": ["user"]}


@pytest.mark.parametrize("settings", [TIMED, COUNTED], ids=["by time", "by rows"])
@pytest.mark.parametrize("every", [1, 3])
def test_every_complete_basic_window_is_in_the_archive_once(tmp_path, settings, every):
    idx = index(tmp_path / "a.wx")
    window = Window(SCHEMA, **settings)
    archive = window.archive(idx, stream="s", every=every)
    pushed = [row for rows in batches(60) for row in rows]
    for rows in batches(60):
        window.push(pa.RecordBatch.from_pylist(rows, SCHEMA))
        seen = bag(idx.scan().read_all()) + sum(map(bag, archive.waiting()), Counter())
        complete = Counter(tuple(row.values()) for row in pushed)
        assert seen <= complete
        assert not bag(window.rows()) - seen
    archive.flush()
    assert archive.behind == 0
    done = len(pushed) - window.waiting
    assert len(idx) == done
    idx.verify()


def test_a_lifetime_index_is_an_archive_too(tmp_path):
    schema = SCHEMA.append(pa.field("until", pa.int64()))
    idx = wx.LifetimeIndex.create(
        tmp_path / "l.wx", schema, key="user", inserted="at", expires="until",
        max_lifetime=400, refresh=20,
    )  # fmt: skip
    window = Window(schema, **TIMED)
    window.archive(idx, stream="s")
    for rows in batches(40):
        some = [{**row, "until": row["at"] + 300} for row in rows]
        window.push(pa.RecordBatch.from_pylist(some, schema))
    assert not bag(window.rows()) - bag(idx.scan().read_all())


def test_rows_that_are_too_late_for_the_archive_are_told_of(tmp_path, caplog):
    idx = index(tmp_path / "a.wx")
    window = Window(SCHEMA, rows=4, basic=2)
    archive = window.archive(idx, stream="s")
    for at in (5, 100, 3, 101):
        window.push({"user": "a", "at": at, "n": at})
    assert archive.late_rows == 1
    assert "Begin the archive with a delay" in caplog.text
    with pytest.raises(errors.BadDefinition, match="Give the window a delay"):
        Window(SCHEMA, **TIMED).archive(idx, stream="s", delay=5)


@pytest.mark.parametrize("settings", [TIMED, COUNTED], ids=["by time", "by rows"])
@pytest.mark.parametrize("every", [1, 2])
def test_a_window_goes_on_where_its_archive_stopped(tmp_path, settings, every):
    """Thrown away at any batch and restored, it ends as one that was never thrown away.

    One that counts rows is filled again in the order of their times.
    """
    whole = Window(SCHEMA, **settings)
    came = batches(60, late=2)
    if "rows" in settings:
        came = [[{**row, "at": row["n"]} for row in rows] for rows in came]
    stream = [pa.RecordBatch.from_pylist(rows, SCHEMA) for rows in came]
    for number, batch in enumerate(stream):
        whole.push(batch, stream="s", number=number)
    draw = random.Random(8)
    idx = index(tmp_path / "a.wx", keep_commits=2)
    kills = 0
    while True:
        window = Window.restore(idx, "archive", every=every, **settings)
        first = window.streams.position.get("s", 0)
        # Sent from a little before what is lacking, as a source may do.
        start, stop = max(first - draw.randrange(3), 0), first + draw.randint(1, 25)
        for number in range(start, min(stop, len(stream))):
            window.push(stream[number], stream="s", number=number)
        if stop >= len(stream):
            break
        kills += 1
    assert kills > 2
    for archive in window.watchers:
        archive.flush()
    assert bag(window.rows()) == bag(whole.rows())
    assert window.waiting == whole.waiting
    assert window.complete == whole.complete
    assert window.streams.position == {"s": len(stream)}
    pushed = sum(batch.num_rows for batch in stream)
    assert len(idx) == pushed - whole.waiting


def test_a_restored_window_of_nothing_is_an_empty_one(tmp_path):
    idx = index(tmp_path / "a.wx")
    window = Window.restore(idx, "s", **TIMED)
    assert len(window) == 0
    assert window.streams.position == {}


CHILD = """
import sys
import pyarrow as pa
import wavedex as wx
from wavedex.online import Window

sys.path.insert(0, {tests!r})
from online.test_archives import SCHEMA, TIMED, batches

window = Window.restore(wx.open({path!r}), "archive", **TIMED)
first = window.streams.position.get("s", 0)
for number, rows in list(enumerate(batches(400)))[first:]:
    window.push(pa.RecordBatch.from_pylist(rows, SCHEMA), stream="s", number=number)
    print(number, flush=True)
"""


@pytest.mark.crash
def test_a_process_that_is_killed_again_and_again_archives_each_row_once(tmp_path):
    idx = index(tmp_path / "a.wx", window=1_000)
    script = textwrap.dedent(CHILD).format(
        tests=str(Path(__file__).parents[1]), path=str(tmp_path / "a.wx")
    )
    draw, kills = random.Random(2), 0
    while True:
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            for lines, _ in enumerate(child.stdout, start=1):
                if lines == draw.randint(30, 120):
                    os.kill(child.pid, signal.SIGKILL)
            child.wait()
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL
        kills += 1
    assert kills > 1
    whole = Window(SCHEMA, **TIMED)
    for rows in batches(400):
        whole.push(pa.RecordBatch.from_pylist(rows, SCHEMA))
    pushed = [row for rows in batches(400) for row in rows]
    assert whole.pace.slotting.start(whole.complete + 1) == (whole.complete + 1) * 10
    complete = [row for row in pushed if row["at"] < (whole.complete + 1) * 10]
    idx = wx.open(tmp_path / "a.wx")
    assert bag(idx.scan().read_all()) == Counter(tuple(row.values()) for row in complete)
    idx.verify()


def test_memory_and_disk_are_read_as_one(tmp_path):
    idx = index(tmp_path / "a.wx")
    window = Window(SCHEMA, **TIMED)
    with pytest.raises(errors.BadDefinition, match="not the archive"):
        live(window, idx)
    window.archive(idx, stream="s", every=3)
    both = live(window, idx)
    taken: list[dict[str, Any]] = []
    for rows in batches(80):
        window.push(pa.RecordBatch.from_pylist(rows, SCHEMA))
        taken += rows
        end = 0 if window.complete is None else (window.complete + 1) * 10
        seen = [row for row in taken if row["at"] < end]
        assert bag(both.scan()) == Counter(tuple(row.values()) for row in seen)
        assert len(both) == len(seen)
        for user in ("u0", "u3", "nobody"):
            of_user = [row for row in seen if row["user"] == user]
            assert bag(both.probe(user)) == Counter(tuple(row.values()) for row in of_user)
        for since in (end // 20 - 3, end // 20 - 1):
            recent = [row for row in seen if row["at"] >= since * 20]
            assert bag(both.scan(since)) == Counter(tuple(row.values()) for row in recent)
            found = both.probe("u1", since, columns=["n"])
            assert found.column_names == ["n"]
            assert sorted(found["n"].to_pylist()) == [
                row["n"] for row in recent if row["user"] == "u1"
            ]
    with pytest.raises(errors.BadKey):
        both.probe(17)


def test_an_archive_that_cannot_be_written_to_is_told_of_and_tried_again(tmp_path, caplog):
    idx = index(tmp_path / "a.wx")
    window = Window(SCHEMA, **TIMED)
    archive = window.archive(idx, stream="s")
    with wx.open(tmp_path / "a.wx").storage.lock("lock") as held:
        del held
        came = [pa.RecordBatch.from_pylist(rows, SCHEMA) for rows in batches(60)]
        pushed = 0
        while archive.behind < window.pace.count:
            window.push(came[pushed])
            pushed += 1
        with pytest.raises(errors.ConcurrentWrite):
            window.push(came[pushed])
        assert archive.behind == window.pace.count
        assert isinstance(archive.error, errors.ConcurrentWrite)
        assert "tried again" in caplog.text
    for rows in batches(60)[pushed:]:
        window.push(pa.RecordBatch.from_pylist(rows, SCHEMA))
    assert archive.error is None
    assert archive.behind == 0
    total = sum(map(len, batches(60)))
    assert len(idx) == total - window.waiting


@pytest.mark.parametrize(
    ("settings", "options", "error", "said"),
    [
        ({"span": 60, "basic": 30, "time": "at"}, {}, errors.Straddling, "basic windows of 30"),
        ({**TIMED, "storage": {"n": "aggr"}}, {}, errors.MissingColumn, "'n'"),
        (TIMED, {"every": 0}, errors.BadDefinition, "every=0"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(tmp_path, settings, options, error, said):
    idx = index(tmp_path / "a.wx")
    with pytest.raises(error, match=said):
        Window(SCHEMA, **settings).archive(idx, stream="s", **options)
    with pytest.raises(errors.BadDefinition, match="is no index"):
        Window(SCHEMA, **TIMED).archive("a.wx", stream="s")


def test_a_stream_out_of_step_is_refused(tmp_path):
    window = Window(SCHEMA, **TIMED)
    row = {"user": "a", "at": 1, "n": 1}
    window.push(row, stream="s", number=4)
    assert window.push({**row, "n": 2}, stream="s", number=4) == 0
    for number in (3, 6):
        with pytest.raises(errors.StreamOutOfStep, match="Send batch 5"):
            window.push(row, stream="s", number=number)
    with pytest.raises(errors.BadDefinition, match="number="):
        window.push(row, stream="s")
    assert window.waiting == 1
    window.push({**row, "at": 50}, stream="other", number=0)
    assert len(window) == 1


def test_times_go_with_slots_of_the_same_origin(tmp_path):
    schema = pa.schema([("user", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    idx = wx.WaveIndex.create(
        tmp_path / "t.wx", schema, key="user", time="at", slot="1 hour", window=6
    )
    window = Window(schema, span="2 hours", basic="10 minutes", time="at", ring=["user"])
    window.archive(idx, stream="s")
    begun = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    for minute in range(0, 400, 3):
        window.push({"user": f"u{minute % 7}", "at": begun + dt.timedelta(minutes=minute)})
    both = live(window, idx)
    since = begun + dt.timedelta(minutes=350)
    assert both.probe("u0", since).num_rows == both.scan(since).to_pylist().count(
        {"user": "u0", "at": begun + dt.timedelta(minutes=357)}
    ) + both.scan(since).to_pylist().count({"user": "u0", "at": begun + dt.timedelta(minutes=378)})
    crooked = Window(schema, span="49 minutes", basic="7 minutes", time="at")
    with pytest.raises(errors.Straddling, match="minutes"):
        crooked.archive(idx, stream="s")
