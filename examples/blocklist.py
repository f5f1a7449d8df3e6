"""A block list, asked as of the time of each event.

Addresses are put on a list when they misbehave, and taken off it again. Later somebody looks at the
log: which requests came from an address that was on the list *when they came*? The list of today is
the wrong one to ask. It lacks those who have been let off since, and has those who were put on it
only afterwards, perhaps because of these very requests. A set over time has every state of the
list, and answers for a whole log at once (docs/temporal.md). Each entry carries the reason why it
was made. The list and the log are made here, and every answer is compared with a search through the
entries of the address; run `python examples/blocklist.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import tempfile
import time
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from wavedex.temporal import TemporalSet

FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DAYS = 90
ADDRESSES = 5_000
BLOCKED_DAYS = 5.0
"""How long an address stays on the list, on average."""
REASONS = ("scanner", "spam", "stolen passwords")
KIND = pa.timestamp("us", "UTC")
EVENTS = pa.schema(
    [("address", pa.string()), ("at", KIND), ("op", pa.int8()), ("reason", pa.string())]
)


# -- what happens ------------------------------------------------------------------------------


def address(number: int) -> str:
    """The address of a number, in the block for documentation of IPv6."""
    return f"2001:db8::{number:x}"


def edits(seed: int = 1) -> pa.Table:
    """Who was put on the list, why, and who was taken off it, in the order of time."""
    rng = random.Random(seed)
    made = []
    for number in range(ADDRESSES):
        at = rng.uniform(0, DAYS / 2)
        while at < DAYS:
            until = at + rng.expovariate(1 / BLOCKED_DAYS)
            made.append((at, number, 1, rng.choice(REASONS)))
            if until < DAYS:
                made.append((until, number, -1, None))
            at = until + rng.uniform(1, DAYS)
    made.sort(key=lambda edit: edit[:2])
    whens, numbers, ops, reasons = zip(*made, strict=True)
    columns = [[*map(address, numbers)], [*map(_instant, whens)], [*ops], [*reasons]]
    return pa.table(columns, schema=EVENTS)


def requests(count: int, seed: int = 2) -> pa.Table:
    """A log: who asked for something, and when. Of the addresses, half were never on the list."""
    rng = np.random.default_rng(seed)
    micros = np.sort(rng.integers(0, DAYS * 86_400 * 10**6, count))
    start = int(FIRST.timestamp()) * 10**6
    numbers = rng.integers(0, 2 * ADDRESSES, count).tolist()
    return pa.table(
        {
            "address": pa.array([address(number) for number in numbers]),
            "at": pa.array(start + micros, pa.int64()).cast(KIND),
        }
    )


def _instant(days: float) -> dt.datetime:
    return FIRST + dt.timedelta(days=days)


# -- asking ------------------------------------------------------------------------------------


def keep(path: Path, list_edits: pa.Table) -> TemporalSet:
    """A set of the addresses on the list, which carry the reason."""
    blocked = TemporalSet.create(path)
    blocked.load(list_edits, oid="address", time="at")
    blocked.commit()
    return blocked


def as_of_each(blocked: TemporalSet, log: pa.Table) -> pa.Table:
    """The log, and whether the address was on the list as each request came."""
    found = blocked.contains_many(log["address"], log["at"])
    return log.append_column("blocked", pa.array(found))


def as_of_now(blocked: TemporalSet, log: pa.Table) -> pa.Array:
    """Whether the address is on the list today."""
    return pa.array(blocked.contains_many(log["address"], blocked.last))


def plainly(list_edits: pa.Table, log: pa.Table) -> list[bool]:
    """Whether each was on the list, by a search through all edits of the address."""
    times: dict[str, list[dt.datetime]] = {}
    for each in list_edits.select(["address", "at"]).to_pylist():
        times.setdefault(each["address"], []).append(each["at"])
    # An address is added first, and then removed and added by turns.
    return [
        bisect_right(times.get(each["address"], []), each["at"]) % 2 == 1
        for each in log.select(["address", "at"]).to_pylist()
    ]


def by_reason(blocked: TemporalSet, log: pa.Table) -> dict[str, int]:
    """How many of these requests came from addresses that were on the list for each reason.

    REQUIRES: all of them did.
    """
    counts = dict.fromkeys(REASONS, 0)
    for each in log.to_pylist():
        row = blocked.row(each["address"], each["at"])
        assert row is not None
        counts[row["reason"]] += 1
    return counts


# -- showing it --------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Make a list and a log, and ask."""
    parser = argparse.ArgumentParser(description="Ask a block list as of the time of each event.")
    parser.add_argument("--requests", type=int, default=100_000, help="how many (100000)")
    parser.add_argument("--folder", type=Path, help="where to leave the set; none if not given")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    list_edits, log = edits(), requests(chosen.requests)
    with tempfile.TemporaryDirectory() as scratch:
        blocked = keep((chosen.folder or Path(scratch)) / "blocked.wxt", list_edits)
        console.print(f"{list_edits.num_rows:,} edits of a list, {log.num_rows:,} requests")
        as_of_each(blocked, log.slice(0, 1))  # Machine code is made or loaded once.
        begun = time.perf_counter()
        told = as_of_each(blocked, log)
        seconds = time.perf_counter() - begun
        if told["blocked"].to_pylist() != plainly(list_edits, log):
            raise SystemExit("The edits say otherwise. That is a bug; please report it.")
        today = as_of_now(blocked, log)
        missed = pc.sum(pc.and_not(told["blocked"], today)).as_py()
        accused = pc.sum(pc.and_not(today, told["blocked"])).as_py()
        console.print(
            f"{pc.sum(told['blocked']).as_py():,} came from an address that was on the list then. "
            f"({log.num_rows / seconds:,.0f} answers a second)\n"
            f"The list of today would miss {missed:,} of them and accuse {accused:,} others."
        )
        found = told.filter(told["blocked"]).slice(0, 1_000)
        why = (f"{count:,} {reason}" for reason, count in by_reason(blocked, found).items())
        console.print(f"Of the first {found.num_rows:,} of these: {', '.join(why)}.\n")
        console.print(str(blocked.draw()))


if __name__ == "__main__":
    main()
