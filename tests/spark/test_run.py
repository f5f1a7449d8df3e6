"""Pipelines run on Spark: batch, folder by folder, and as a stream.

What is wrong is said with its line.
"""

from __future__ import annotations

import datetime as dt
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.cli.output import figures
from wavedex.pipelines.pipeline import check_against, read_pipeline
from wavedex.spark.runner import Step, run
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("who", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])
DAY_US = 86_400_000_000
FIRST = 20_454  # 2026-01-01


def rows(*days: int, each: int = 3) -> pa.Table:
    found = [
        {"who": f"w{n}", "at": (FIRST + day) * DAY_US + n * 1000, "n": day * 100 + n}
        for day in days
        for n in range(each)
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def write(folder: Path, name: str, table: pa.Table) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name / "rows.parquet")


def pipeline(folder: Path, mode: str, more: str = "", options: str = "", source: str = "") -> Path:
    file = folder / "p.toml"
    file.write_text(
        f"""\
[source]
format = "parquet"
path = "in"
mode = "{mode}"
{source}
[shape]
sql = "select who, at, n from source"
[index]
path = "x.wx"
key = "who"
time = "at"
window = 3
indexes = 2
{options}
{more}
"""
    )
    return file


def go(file: Path, once: bool = True) -> list[Step]:
    steps: list[Step] = []
    run(read_pipeline(file), once=once, tell=steps.append)
    return steps


def content(folder: Path) -> list[dict[str, object]]:
    index = wx.open(folder / "x.wx")
    index.verify()
    return index.scan().read_all().to_pylist()


def test_a_batch_creates_the_index_and_appends_what_is_there(spark, tmp_path):
    write(tmp_path, "in", rows(0, 1, 2, 3))
    (step,) = go(pipeline(tmp_path, "batch"))
    assert (step.done, step.total, step.rows, step.last_rows) == (1, 1, 9, 9)
    assert step.slots == ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]
    assert same_rows(content(tmp_path), rows(1, 2, 3).to_pylist())
    assert go(pipeline(tmp_path, "batch"))[0].rows == 0


def test_folders_are_taken_in_order_and_a_later_run_goes_on_after_the_last(spark, tmp_path):
    for day in range(5):
        write(tmp_path / "in", f"day={day}", rows(day))
    steps = go(pipeline(tmp_path, "folders", source="at_once = 2"))
    assert [(step.done, step.total, step.rows) for step in steps] == [
        (1, 3, 6),
        (2, 3, 12),
        (3, 3, 15),
    ]
    assert same_rows(content(tmp_path), rows(2, 3, 4).to_pylist())
    assert go(pipeline(tmp_path, "folders")) == []
    write(tmp_path / "in", "day=5", rows(5))
    assert [step.rows for step in go(pipeline(tmp_path, "folders"))] == [3]
    assert same_rows(content(tmp_path), rows(3, 4, 5).to_pylist())


@pytest.mark.parametrize("begins_later", [False, True])
def test_a_pipeline_keeps_the_history_of_its_index(spark, tmp_path, begins_later):
    more = "[history]\n"
    for days in (range(3), range(3, 6)):
        for day in days:
            write(tmp_path / "in", f"day={day}", rows(day, each=1 + day % 2))
        is_first = 0 in days
        go(pipeline(tmp_path, "folders", "" if begins_later and is_first else more))
    history = wx.open(tmp_path / "x.wx").history
    assert history.method == "pph-s"
    noon = dt.datetime(2026, 1, 6, 12, tzinfo=dt.UTC)
    assert sorted(history.snapshot(noon)["oid"].to_pylist()) == ["w0", "w1"]
    if not begins_later:
        assert history.first == dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    other = read_pipeline(pipeline(tmp_path, "folders", '[history]\nmethod = "mvbt"\n'))
    (mistake,) = check_against(wx.open(tmp_path / "x.wx").definition, other)
    assert "kept by 'pph-s'" in mistake.text


def test_a_folder_whose_rows_are_refused_leaves_those_before_it(spark, tmp_path):
    write(tmp_path / "in", "a", rows(0))
    write(tmp_path / "in", "b", rows(400))
    write(tmp_path / "in", "c", rows(1))
    with pytest.raises(errors.GapTooLarge):
        go(pipeline(tmp_path, "folders"))
    assert same_rows(content(tmp_path), rows(0).to_pylist())


STREAM = """\
[stream]
checkpoint = "check"
delay = "1 day"
dead_letters = "late"
"""


def test_a_stream_takes_what_is_there_once_and_sets_aside_what_is_late(spark, tmp_path):
    source = 'schema = "who string, at timestamp, n long"'
    file = pipeline(tmp_path, "stream", STREAM, source=source)
    write(tmp_path, "in", rows(0, 1))
    assert sum(step.last_rows for step in go(file)) == 6
    pq.write_table(rows(4), tmp_path / "in" / "second.parquet")
    assert [step.slots for step in go(file)] == [["2026-01-01", "2026-01-02", "2026-01-03"]]
    pq.write_table(rows(0, 3), tmp_path / "in" / "third.parquet")
    assert [step.last_rows for step in go(file)] == [3]
    assert go(file) == []
    assert same_rows(content(tmp_path), rows(0, 1, 3, 4).to_pylist())
    assert wx.open(tmp_path / "x.wx").describe()["totals"]["late"] == 3
    (late,) = (tmp_path / "late").iterdir()
    assert same_rows(pq.read_table(late).to_pylist(), rows(0).to_pylist())


def test_an_index_that_is_not_what_the_file_says_is_refused_with_the_line(spark, tmp_path):
    write(tmp_path, "in", rows(0))
    go(pipeline(tmp_path, "batch"))
    with pytest.raises(errors.BadPipeline, match=r"p\.toml:14: .*scheme.*wata"):
        go(pipeline(tmp_path, "batch", options='scheme = "rata"'))


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("select who", "select nobody", 7, "nobody"),
        ('"parquet"', '"parquett"', 3, "parquett"),
        ('key = "who"', 'key = "whom"', 10, "whom"),
        ('time = "at"', 'time = "who"', 8, "time column"),
    ],
)
def test_what_only_spark_can_tell_is_said_with_its_line(spark, tmp_path, old, new, line, said):
    write(tmp_path, "in", rows(0))
    file = pipeline(tmp_path, "batch")
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(errors.WavedexError, match=rf"p\.toml:{line}: .*{said}") as caught:
        go(file)
    assert "\tat " not in str(caught.value)
    assert not (tmp_path / "x.wx").exists()


ENDLESS = """\
[source]
format = "rate-micro-batch"
mode = "stream"
options = { rowsPerBatch = 50, startTimestamp = 1767225600000, advanceMillisPerBatch = 60000 }
[index]
path = "x.wx"
key = "value"
time = "timestamp"
slot = "1 minute"
window = 5
[stream]
checkpoint = "check"
delay = "1 minute"
"""


def test_ctrl_c_ends_a_stream_after_the_batch_in_work_and_it_goes_on_from_there(tmp_path):
    file = tmp_path / "endless.toml"
    file.write_text(ENDLESS)
    seen = -1
    for _ in range(2):
        said = []
        with subprocess.Popen(
            [sys.executable, "-m", "wavedex", "run", str(file)],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as child:
            assert child.stderr is not None
            for line in child.stderr:
                said.append(line)
                if line.startswith("batch 2:"):
                    child.send_signal(signal.SIGINT)
        assert child.returncode == 0, "".join(said)
        index = wx.open(tmp_path / "x.wx")
        index.verify()
        (progress,) = index.describe()["streams"].values()
        assert progress["batch"] >= seen + 2
        seen = progress["batch"]
        values = index.scan(columns=["value"]).read_all()["value"].to_pylist()
        assert len(values) == len(set(values))
        assert max(values) == (seen + 1) * 50 - 1


def test_what_was_read_kept_and_left_out_is_said(spark, tmp_path):
    write(tmp_path, "in", rows(0, 1, 2, 3, 4))
    (step,) = go(pipeline(tmp_path, "batch"))
    assert (step.last_read, step.last_rows) == (15, 9)
    assert step.last_left == {"older than the window": 6}
    said = "15 rows read, 9 kept (6 older than the window), 2026-01-01 to 2026-01-05, "
    assert figures(step).startswith(said)
    later = replace(step, done=2, rows=12)
    assert "; 12 kept in all, " in figures(later)
