"""What Spark adds and what it costs: `python -m bench.spark [--quick] [--json PATH]`.

Each figure is a ratio to what Spark does by itself with the same rows in the same run, or a count.
Answers are checked before a time counts.
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import wavedex as wx
from bench.measure import check_sums, expect, spread
from bench.report import circumstances, write_report
from bench.workload import SCHEMA, Workload, make_workload
from wavedex import spark as wxs
from wavedex.log.manifest import Log
from wavedex.spark.source.reader import Wanted, WindowReader
from wavedex.spark.types import spark_schema

SHARDS = 4
BACKFILL = {"window": 10, "indexes": 4, "shards": 8}
REPEATS = 5
GROUPED = "select label, cast(sum(units) as long), sum(amount) from {} group by label"
LOCAL_RESULTS = Path(__file__).parent / "results" / "local"


def laps(*calls: Callable[[], Any], repeats: int = REPEATS) -> list[dict[str, float]]:
    """The seconds of each call.

    They take turns, so that what the machine does meanwhile hits all alike.
    """
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for place, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            times[place].append(time.perf_counter() - begun)
    return [spread(each) for each in times]


def create(path: Path, **options: Any) -> wx.WaveIndex:
    shutil.rmtree(path, ignore_errors=True)
    settings = {"window": 2, "indexes": 2, "shards": SHARDS, **options}
    return wx.WaveIndex.create(path, SCHEMA, key="key", time="at", **settings)


def measure_build(
    spark: SparkSession, work: Workload, folder: Path, repeats: int
) -> dict[str, Any]:
    """A packed sub-index against Parquet that Spark sorts by the same key, from the same rows."""
    frame = _as_frame(spark, work.slots[0], folder / "rows")
    path = folder / "build.wx"

    def build() -> None:
        wxs.append(create(path), frame)

    def parquet() -> None:
        frame.repartition(SHARDS, "key").sortWithinPartitions("key").write.mode(
            "overwrite"
        ).parquet(str(folder / "sorted"))

    ours, theirs = laps(build, parquet, repeats=repeats)
    idx, answers = wx.open(path), work.window(0, 1)
    expect(idx.scan().read_all().num_rows == work.slots[0].num_rows, "build")
    for key in work.probes[:100]:
        expect(idx.probe(key).num_rows == answers.counts([key])[0], f"build, probe({key})")
    expect(
        {len(parts) for parts in idx.snapshot().manifest.indexes["I2"].shards} <= {0, 1}, "packed"
    )
    return {"wavedex_s": ours, "parquet_s": theirs, "ratio": ours["median"] / theirs["median"]}


def measure_backfill(
    spark: SparkSession, rows: int, seed: int, folder: Path, repeats: int
) -> dict[str, Any]:
    """Ten slots at once, as people call it, against Parquet that Spark sorts by the same key.

    The call returns when the rows last and can be queried. What is then prepared for the next slot
    in the background is waited for, outside of the time of both.
    """
    work = make_workload("uniform", BACKFILL["window"], rows // BACKFILL["window"], 100, seed)
    frame = _as_frame(spark, pa.concat_tables(work.slots), folder / "rows")
    path = folder / "backfill.wx"
    shards = BACKFILL["shards"]
    times: dict[str, list[float]] = {"parquet_s": [], "wavedex_s": [], "prepared_s": []}

    def timed(name: str, call: Callable[[], object]) -> None:
        begun = time.perf_counter()
        call()
        times[name].append(time.perf_counter() - begun)

    def parquet() -> None:
        sorted_frame = frame.repartition(shards, "key").sortWithinPartitions("key")
        sorted_frame.write.mode("overwrite").parquet(str(folder / "sorted"))

    for _ in range(repeats):
        timed("parquet_s", parquet)
        idx = wxs.open(create(path, **BACKFILL).path, spark)
        timed("wavedex_s", lambda idx=idx: wxs.append(idx, frame, prepare="background"))
        timed("prepared_s", idx.close)
    idx, answers = wx.open(path), work.window(len(work.slots) - 1, len(work.slots))
    expect(len(idx) == len(answers.rows), "backfill")
    for key in work.probes:
        expect(idx.probe(key).num_rows == answers.counts([key])[0], f"backfill, probe({key})")
    ratios = [
        ours / theirs for ours, theirs in zip(times["wavedex_s"], times["parquet_s"], strict=True)
    ]
    return {
        "rows": rows,
        "first": {name: values[0] for name, values in times.items()},
        **{name: spread(values) for name, values in times.items()},
        "ratio": median(ratios),
    }


def measure_transition_bytes(
    spark: SparkSession, work: Workload, folder: Path, update: str
) -> dict[str, Any]:
    """The bytes that a slide reads and writes.

    For a window and for one twice as long with twice the sub-indexes.
    """
    found = {}
    for window, indexes in ((6, 3), (12, 6)):
        idx = create(
            folder / "slide.wx",
            window=window,
            indexes=indexes,
            scheme="reindex",
            update=update,
            keep_commits=1000,
        )
        idx.append(pa.concat_tables(work.slots[:window]))
        moved = []
        for slot in work.slots[window:]:
            before = Log(idx.storage).latest()
            wxs.append(idx, _as_frame(spark, slot, folder / "slot"))
            moved.append(_bytes_moved(idx, before.commit))
        last = len(work.slots) - 1
        expect(idx.scan().read_all().num_rows == len(work.window(last, window).rows), "slide")
        # A slide of each sub-index in turn, so that both windows are seen at the same points.
        found[window] = sum(moved) / len(moved)
    return {
        "bytes": found,
        "ratio": found[12] / found[6],
        "update": update,
    }


def _bytes_moved(idx: wx.WaveIndex, since: int) -> int:
    """What the commits after one have written.

    And what they have read of the files that they replaced.
    """
    log = Log(idx.storage)
    manifests = [log.read(number) for number in log.commits() if number >= since]
    total = 0
    for before, after in pairwise(manifests):
        total += sum(ref.bytes for name, ref in after.files.items() if name not in before.files)
        for sub in after.indexes.values():
            fresh = [
                part
                for part in sub.parts
                if not before.files.keys() & {f.name for f in part.files.values()}
            ]
            rewritten = {slot for part in fresh for slot in part.shown}
            total += sum(
                part.bytes
                for old in before.indexes.values()
                for part in old.parts
                if part.shown & rewritten
            )
    return total


def measure_scan(spark: SparkSession, work: Workload, folder: Path, repeats: int) -> dict[str, Any]:
    """A grouped sum over the window through the data source.

    Against the same over Spark's own Parquet.
    """
    slots = len(work.slots)
    idx = create(folder / "scan.wx", window=slots, indexes=4)
    idx.append(pa.concat_tables(work.slots))
    plain = _as_frame(spark, pa.concat_tables(work.slots), folder / "plain")
    plain.createOrReplaceTempView("plain")
    load = spark.read.format("wavedex")
    load.load(idx.path).createOrReplaceTempView("whole")
    load.option("columns", "label,units,amount").load(idx.path).createOrReplaceTempView("some")
    answers = work.window(slots - 1, slots)
    calls = []
    for view in ("plain", "some", "whole"):
        frame = spark.sql(GROUPED.format(view))
        check_sums([tuple(row) for row in frame.collect()], answers)
        calls.append(frame.collect)
    theirs, some, whole = laps(*calls, repeats=repeats)
    return {
        "parquet_s": theirs,
        "columns_s": some,
        "whole_s": whole,
        "ratio_columns": some["median"] / theirs["median"],
        "ratio_whole": whole["median"] / theirs["median"],
        **_look_up(idx, work),
    }


def _look_up(idx: wx.WaveIndex, work: Workload) -> dict[str, int]:
    """How many files a key that is asked for makes Spark open, of how many."""

    def files(wanted: Wanted) -> int:
        pieces = WindowReader(idx.path, spark_schema(idx.schema), wanted).partitions()
        return sum(piece.files for piece in pieces)

    one = Wanted(keys=(work.probes[0],))
    return {"files": files(Wanted()), "files_of_a_key": files(one)}


def measure_micro_batch(spark: SparkSession, folder: Path, batches: int) -> dict[str, Any]:
    """What a micro-batch of 1,000 rows costs over a foreachBatch that does nothing."""
    path = folder / "stream.wx"
    schema = pa.schema([("value", pa.int64()), ("timestamp", pa.timestamp("us", "UTC"))])
    wx.WaveIndex.create(path, schema, key="value", time="timestamp", window=30, shards=2)
    took: dict[str, list[float]] = {"empty": [], "fed": []}

    def run(name: str, take: Callable[[DataFrame, int], object]) -> None:
        def each(frame: DataFrame, number: int) -> None:
            begun = time.perf_counter()
            take(frame, number)
            took[name].append(time.perf_counter() - begun)

        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000)
        source = source.option("advanceMillisPerBatch", 60_000)
        writer = source.load().writeStream.foreachBatch(each)
        query = writer.option("checkpointLocation", str(folder / name)).start()
        while len(took[name]) < batches and not query.awaitTermination(0.1):
            pass
        query.stop()

    run("empty", lambda frame, number: None)
    run("fed", wxs.sink(path, delay="1 minute"))
    expect(wx.open(path).scan().read_all().num_rows >= 1000 * (batches - 1), "stream")
    empty, fed = spread(took["empty"][2:]), spread(took["fed"][2:])
    return {"empty_s": empty, "fed_s": fed, "overhead_s": fed["median"] - empty["median"]}


def _as_frame(spark: SparkSession, rows: pa.Table, path: Path) -> DataFrame:
    path.mkdir(parents=True, exist_ok=True)
    step = -(-rows.num_rows // 4)
    for place in range(4):
        pq.write_table(rows.slice(place * step, step), path / f"{place}.parquet")
    return spark.read.parquet(str(path))


def run(settings: dict[str, Any], folder: Path, console: Console) -> dict[str, Any]:
    spark = wxs.session()
    results: dict[str, Any] = {}

    def note(name: str, call: Callable[[Path], dict[str, Any]]) -> None:
        console.print(f"Spark: {name}")
        room = Path(tempfile.mkdtemp(dir=folder))
        results[name] = call(room)
        shutil.rmtree(room)

    seed, repeats = settings["seed"], settings["repeats"]
    build = make_workload("uniform", 1, settings["build_rows"], 200, seed)
    note("build", lambda room: measure_build(spark, build, room, repeats))
    for rows in settings["backfill_rows"]:
        note(
            f"backfill of {rows:,} rows",
            lambda room, rows=rows: measure_backfill(spark, rows, seed, room, repeats),
        )
    slides = make_workload("uniform", 18, settings["slide_rows"], 10, seed)
    for update in ("packed-shadow", "runs"):
        note(
            f"slide, {update}",
            lambda room, update=update: measure_transition_bytes(spark, slides, room, update),
        )
    scan = make_workload("uniform", 8, settings["scan_rows"] // 8, 10, seed)
    note("scan", lambda room: measure_scan(spark, scan, room, repeats))
    note("micro-batch", lambda room: measure_micro_batch(spark, room, settings["batches"]))
    return results


def show(results: dict[str, Any], console: Console) -> None:
    table = Table("what", "measured", "at most", box=None, pad_edge=False)
    scan = results["scan"]
    rows = [
        (
            "packed sub-index / Spark's sorted Parquet, time",
            f"{results['build']['ratio']:.2f}",
            "1",
        ),
        *(
            (f"{name} / Spark's sorted Parquet, time", f"{results[name]['ratio']:.2f}", "1")
            for name in results
            if name.startswith("backfill")
        ),
        *(
            (f"{name}: bytes with twice the window", f"{results[name]['ratio']:.3f}", "1.05")
            for name in results
            if name.startswith("slide")
        ),
        ("grouped sum / Spark's Parquet, with columns", f"{scan['ratio_columns']:.2f}", "1.5"),
        ("grouped sum / Spark's Parquet, without", f"{scan['ratio_whole']:.2f}", "3"),
        ("files opened for a key", f"{scan['files_of_a_key']} of {scan['files']}", "its shard's"),
        (
            "micro-batch of 1,000 rows, over an empty one",
            f"{results['micro-batch']['overhead_s']:.2f} s",
            "0.5 s",
        ),
    ]
    for row in rows:
        table.add_row(*row)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    parser.add_argument("--json", type=Path, help="where to write the results as JSON")
    parser.add_argument("--folder", type=Path, help="where to measure")
    chosen = parser.parse_args(arguments)
    part = 100 if chosen.quick else 1
    settings = {
        "build_rows": 5_000_000 // part,
        "backfill_rows": [2_000_000 // part, 20_000_000 // part],
        "slide_rows": 100_000 // part,
        "scan_rows": 4_000_000 // part,
        "batches": 3 if chosen.quick else 12,
        "repeats": 1 if chosen.quick else REPEATS,
        "seed": 13,
    }
    console = Console(highlight=False, width=None if Console().is_terminal else 120)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        results = run(settings, Path(folder), console)
    # A wrong answer would have stopped it.
    report = {**circumstances(settings), "results": results, "checked": True}
    now = dt.datetime.now(dt.UTC)
    path = chosen.json or LOCAL_RESULTS / f"spark-{now:%Y%m%d-%H%M%S}.json"
    write_report(report, path)
    show(results, console)
    console.print(f"Written to {path}")
    return report


if __name__ == "__main__":
    main()
