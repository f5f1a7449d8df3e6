"""What do retractions cost a probe?

One row in a hundred is hidden, and the same keys are probed with and without that. Ends fall on
refreshes, so that many rows of a key end at the same instant and nothing but their positions tells
them apart. Two indexes of the same rows are probed in turn, key by key; each answer is compared
with the rows that should be there. `python -m bench.hidden [--quick]`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

import wavedex as wx
from bench.command import options, publish, table
from bench.lives.papers import settle
from bench.lives.targets import target
from bench.measure import expect
from bench.race.standings import figure
from bench.report import circumstances

Result = dict[str, Any]
RETRACTED = 0.01
RATIO_MOST = 1.2
ROUNDS = 30
METHODS = ("rebuild", "no-rebuild")
NUMBERS = pa.schema([("key", pa.int64()), ("born", pa.int64()), ("until", pa.int64())])
TEXT = pa.field("text", pa.string())
REFRESHES, MORE, WIDTH = 36, 3, 10
"""Refreshes of a window, those after it, and the instants from one to the next."""


def rows_of(slot: int, settings: Result, with_text: bool) -> pa.Table:
    """The rows of one slot, all of which end on a refresh."""
    random = np.random.default_rng([settings["seed"], slot])
    count = settings["rows"]
    born = slot * WIDTH - random.integers(0, WIDTH, count)
    until = (slot + random.integers(1, REFRESHES, count)) * WIDTH
    keys = random.integers(0, settings["keys"], count)
    made = pa.table([keys, born, until], schema=NUMBERS)
    if not with_text:
        return made
    return made.append_column(TEXT, pa.array([f"row {slot} of {key}" for key in keys.tolist()]))


def filled(path: Path, method: str, slots: Sequence[pa.Table]) -> wx.LifetimeIndex:
    """An index that was refreshed with each slot in turn."""
    idx = wx.LifetimeIndex.create(
        path,
        slots[0].schema,
        key="key",
        inserted="born",
        expires="until",
        max_lifetime=REFRESHES * WIDTH,
        refresh=WIDTH,
        grid=(3, 3),
        method=method,
        shards=1,
    )
    for slot, rows in enumerate(slots, start=1):
        idx.update(slot * WIDTH, rows)
    return idx


def counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows as they can be compared, whatever their order."""
    return Counter(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def measure(folder: Path, method: str, with_text: bool, settings: Result) -> Result:
    """Probes of an index with hidden rows, beside those of one with all rows."""
    slots = [rows_of(slot, settings, with_text) for slot in range(1, REFRESHES + MORE + 1)]
    now = len(slots) * WIDTH
    whole, less = (filled(folder / f"{name}.wx", method, slots) for name in ("whole", "less"))
    everything = pa.concat_tables(slots)
    live = everything.filter(pa.array(everything["until"].to_numpy() > now))
    random = np.random.default_rng([settings["seed"], 0])
    gone = random.choice(live.num_rows, round(RETRACTED * live.num_rows), replace=False)
    less.retract(now, live.take(pa.array(np.sort(gone))))
    settle()
    left = live.take(pa.array(np.setdiff1d(np.arange(live.num_rows), gone)))
    keys = random.permutation(settings["keys"]).tolist()
    for idx in (whole, less):
        expect(idx.probe(-1).num_rows == 0, "probe for what is not there")
    measured = in_turn(less.probe, whole.probe, keys)
    for key in keys:
        for idx, rows in ((whole, live), (less, left)):
            right = rows.filter(pa.array(rows["key"].to_numpy() == key))
            expect(counted(idx.probe(key)) == counted(right), f"probe for {key}")
    return {
        "method": method,
        "text": with_text,
        "live_rows": live.num_rows,
        "hidden_rows": less.describe()["rows_hidden"],
        **measured,
    }


def in_turn(one: Callable[[int], Any], other: Callable[[int], Any], keys: Sequence[int]) -> Result:
    """What a probe takes, in microseconds, of one and of the other, and the ratio.

    Of each key the fastest of many probes counts, which take turns: whatever else the machine does
    can only add to it. The first probe of a key works out what lies between the hidden rows; of
    those the medians are compared.
    """
    laps = np.zeros((ROUNDS, 2, len(keys)))
    for lap in laps:
        for place, key in enumerate(keys):
            for side, probe in enumerate((one, other)):
                begun = time.perf_counter()
                probe(key)
                lap[side, place] = (time.perf_counter() - begun) * 1e6
    probe_us, other_us = laps.min(axis=0).mean(axis=1).tolist()
    first_us, first_other_us = np.median(laps[0], axis=1).tolist()
    return {
        "probe_us": probe_us,
        "other_us": other_us,
        "ratio": probe_us / other_us,
        "first_ratio": first_us / first_other_us,
    }


def run(settings: Result, folder: Path) -> Result:
    """Measure both methods, with a column of text and without."""
    found = []
    for method in METHODS:
        for with_text in (False, True):
            with TemporaryDirectory(dir=folder) as own:
                found.append(measure(Path(own), method, with_text, settings))
    return {**circumstances(settings), "results": found, "targets": judge(found), "checked": True}


def judge(results: Sequence[Result]) -> list[Result]:
    """A probe over hidden rows takes at most so much longer than one where none is hidden."""
    return [
        target(
            f"a probe with hidden rows, `{each['method']}`{', with text' * each['text']}",
            each["ratio"],
            f"at most {RATIO_MOST}",
            each["ratio"] <= RATIO_MOST,
        )
        for each in results
    ]


def markdown(report: Result) -> str:
    """The results as a table."""
    rows = [
        [
            f"`{each['method']}`",
            "yes" if each["text"] else "no",
            f"{each['hidden_rows']:,} of {each['live_rows']:,}",
            figure(each["probe_us"]),
            figure(each["other_us"]),
            f"{each['ratio']:.2f}",
            f"{each['first_ratio']:.2f}",
        ]
        for each in report["results"]
    ]
    heads = ["method", "text", "rows hidden", "probe µs", "with all rows", "ratio", "first probes"]
    return table(heads, rows)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("hidden", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows a refresh (1,400)")
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--seed", type=int, default=17)
    chosen = parser.parse_args(arguments)
    settings = {
        "rows": chosen.rows or (140 if chosen.quick else 1_400),
        "keys": 10 if chosen.quick else chosen.keys,
        "seed": chosen.seed,
    }
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder))
    publish(report, "hidden", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
