"""Retention by tenant: every row lives as long as the contract of its tenant says, in one index.

Tenants keep their events for 7, 30 or 90 days. A job inserts what came and refreshes once a day;
nobody deletes anything. Then things happen that no contract foresees: a legal hold, which gives
some rows a later end (`prolong`), and tenants who want their data gone before its time (`retract`,
and `erase` for the files). What each of these wrote is counted, since it must not cost the others
anything (docs/retention.md). The events are made here; run `python examples/retention.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import wavedex as wx

SCHEMA = pa.schema(
    [
        ("tenant", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("until", pa.timestamp("us", "UTC")),
        ("event", pa.int64()),
        ("payload", pa.string()),
    ]
)
CONTRACTS = {"acme": 7, "bolt": 30, "dune": 30, "echo": 90, "foxtrot": 90, "gale": 30}
"""For how many days each tenant keeps its events."""
GONE = ["dune", "gale"]
"""Who leaves. One has a shard for itself, the other shares one with bolt."""
FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAYS = 120
EVENTS = 20
"""How many events a tenant has on a day."""
SETTINGS = {"max_lifetime": "90 days", "refresh": "1 day", "grid": (3, 3), "shards": 8}
"""More shards than tenants: what is written for one should not be in the files of another."""


def midnight(day: int) -> dt.datetime:
    """The instant of the refresh that brings the events of the day before."""
    return FIRST + dt.timedelta(days=day)


def events(day: int) -> pa.Table:
    """What all tenants did on a day, around noon; each row has its end."""
    rows = [
        {
            "tenant": tenant,
            "at": (at := midnight(day) + dt.timedelta(hours=12, minutes=number)),
            "until": at + dt.timedelta(days=days),
            "event": day * EVENTS + number,
            "payload": f"{tenant} did something on day {day}, for the {number}. time " + "." * 200,
        }
        for tenant, days in CONTRACTS.items()
        for number in range(EVENTS)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def build(path: Path, days: int = DAYS, **options: Any) -> wx.LifetimeIndex:
    """An index of all events that are still to be kept, after so many days."""
    settings = {**SETTINGS, **options}
    life = wx.LifetimeIndex.create(
        path, SCHEMA, key="tenant", inserted="at", expires="until", **settings
    )
    go_on(life, 0, days)
    return life


def go_on(life: wx.LifetimeIndex, since: int, until: int) -> None:
    """Refresh at every midnight after a day, up to another."""
    for day in range(since, until):
        life.update(midnight(day + 1), events(day))


def kept(life: wx.LifetimeIndex) -> dict[str, int]:
    """How many events of each tenant are kept."""
    counts = pc.value_counts(life.scan(columns=["tenant"]).read_all()["tenant"])
    return dict(sorted((entry["values"], entry["counts"]) for entry in counts.to_pylist()))


# -- what no contract foresees -----------------------------------------------------------------


def hold(life: wx.LifetimeIndex, now: dt.datetime, tenant: str, days: int) -> wx.Retracted:
    """A legal hold: all that is kept of a tenant stays for so many days from now."""
    rows = life.probe(tenant)
    ends = pa.repeat(
        pa.scalar(now + dt.timedelta(days=days), SCHEMA.field("until").type), len(rows)
    )
    return life.prolong(now, rows.set_column(2, "until", ends))


def leave(life: wx.LifetimeIndex, now: dt.datetime, tenant: str) -> wx.Retracted:
    """A tenant leaves: nobody finds its events from now on."""
    return life.retract(now, life.probe(tenant))


@dataclass(frozen=True)
class Change:
    """What something did to the files of an index.

    So many were written, and so many of those from before are still there.
    """

    what: str
    rows: int
    written: list[str]
    bytes: int
    stayed: int
    before: int

    @property
    def shards(self) -> set[str]:
        """The shards of the files that were written. The names of files have them.

        But for the one that tells readers of changes what went.
        """
        return {name.split("-")[2] for name in self.written if not name.endswith(".told")}


def watch(what: str, life: wx.LifetimeIndex, act: Callable[[], Any]) -> Change:
    """Do something, and look at the files before and after it.

    Files that only an earlier commit needs are left out.
    """
    data = Path(life.path) / "data"
    life.vacuum()
    before = {file.name for file in data.iterdir()}
    done = act()
    life.vacuum()
    sizes = {file.name: file.stat().st_size for file in data.iterdir()}
    written = sorted(sizes.keys() - before)
    return Change(
        what,
        done.rows,
        written,
        sum(sizes[name] for name in written),
        len(before & sizes.keys()),
        len(before),
    )


def whole(life: wx.LifetimeIndex) -> int:
    """The size of all files of an index."""
    return sum(file.stat().st_size for file in (Path(life.path) / "data").iterdir())


# -- showing it --------------------------------------------------------------------------------


def story(life: wx.LifetimeIndex, say: Callable[[str], None]) -> list[Change]:
    """What happens after the first days, told as it happens."""
    day = DAYS
    say(f"after {day} days: {kept(life)}")
    changes = [watch("hold acme for 60 days", life, lambda: hold(life, midnight(day), "acme", 60))]
    go_on(life, day, day + 10)
    day += 10
    say(f"ten days later: {kept(life)}")
    changes.append(watch("retract dune", life, lambda: leave(life, midnight(day), "dune")))
    say(f"dune has left: {kept(life)}")
    for tenant in GONE:
        changes.append(watch(f"erase {tenant}", life, partial(life.erase, [tenant])))
    say(f"gale has left too: {kept(life)}")
    changes.append(
        watch("an ordinary day", life, lambda: life.update(midnight(day + 1), others(day)))
    )
    return changes


def others(day: int) -> pa.Table:
    """The events of a day without those of tenants that have left."""
    return events(day).filter(~pc.field("tenant").isin(GONE))


def shown(changes: Sequence[Change], size: int) -> Table:
    """What was done to the files, for people."""
    heads = ("what", "rows", "files written", "kB written", "files left as they were")
    table = Table(*heads, title=f"an index of {size / 1e3:,.0f} kB", title_justify="left", box=None)
    for change in changes:
        kb = f"{change.bytes / 1e3:,.0f}"
        left = f"{change.stayed} of {change.before}"
        table.add_row(change.what, str(change.rows), str(len(change.written)), kb, left)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the index in a folder, and let things happen."""
    parser = argparse.ArgumentParser(description="Keep events for as long as contracts say.")
    parser.add_argument("--folder", type=Path, help="where to leave the index; none if not given")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as scratch:
        life = build((chosen.folder or Path(scratch)) / "events.wx")
        size = whole(life)
        changes = story(life, console.print)
        console.print()
        console.print(shown(changes, size))


if __name__ == "__main__":
    main()
