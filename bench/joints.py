"""What do changes and atomic refreshes cost? `python -m bench.joints [--quick]`.

Changes between two commits of a lifetime index, beside those of a wave index that as many rows come
to and go from: both have the same rows, and every row of the wave lives for a window. A wave that
keeps slots as they came (`runs`) reads whole files where a slot comes or goes; so two more are
beside it that keep slots as the methods do, packed anew with others and updated in place. And one
`apply` of insertions, retractions and other ends, 1% of the living rows each, beside the three
calls one after the other. All take turns, and every answer is checked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

import wavedex as wx
from bench.command import options, publish, table
from bench.lives.targets import shown, target
from bench.measure import expect, spread
from bench.report import circumstances

Result = dict[str, Any]
WINDOW, WIDTH = 14, 1_000
"""Slots of a window, and the instants of a slot."""
ROUNDS = 5
CHANGES_MOST, APPLY_MOST = 1.5, 1.2
PART = 0.01
"""The part of the living rows that comes, goes, and gets another end."""
SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("born", pa.int64()),
        ("until", pa.int64()),
        ("amount", pa.float64()),
        ("label", pa.string()),
    ]
)
METHODS = {"rebuild": "packed wave", "no-rebuild": "wave in place"}
"""The methods, each with the wave that keeps its rows alike."""
WAVES = {"wave": "runs", "packed wave": "packed-shadow", "wave in place": "in-place"}
"""The waves, and how they are updated."""


def rows_of(slot: int, settings: Result, lives: int | None = WINDOW) -> pa.Table:
    """The rows of one slot, which live for a window, or for up to one if `lives` is None."""
    random = np.random.default_rng([settings["seed"], slot])
    count = settings["rows"]
    born = slot * WIDTH - random.integers(0, WIDTH - 1, count)
    if lives is None:
        until = born + random.integers(1, WINDOW * WIDTH, count)
    else:
        until = born + lives * WIDTH
    labels = np.array([f"label {number}" for number in range(1_000)])
    columns = [
        random.integers(0, settings["keys"], count),
        born,
        until,
        random.random(count).round(3),
        labels[random.integers(0, len(labels), count)],
    ]
    return pa.table(columns, schema=SCHEMA)


def life(path: Path, method: str) -> wx.LifetimeIndex:
    return wx.LifetimeIndex.create(
        path, SCHEMA, key="key", inserted="born", expires="until", max_lifetime=WINDOW * WIDTH,
        refresh=WIDTH, method=method, keep_commits=4,
    )  # fmt: skip


def wave(path: Path, update: str) -> wx.WaveIndex:
    # A slot ends with the row that is born at its last instant, as a refresh does.
    return wx.WaveIndex.create(
        path, SCHEMA, key="key", time="born", slot=WIDTH, window=WINDOW, origin=1, update=update,
        keep_commits=4,
    )  # fmt: skip


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = call()
    return (time.perf_counter() - begun) * 1e3, found


# -- changes ---------------------------------------------------------------------------------------


def measure_changes(folder: Path, settings: Result) -> list[Result]:
    """The changes of one commit, until they are in memory."""
    lives = {name: life(folder / f"{name}.wx", name) for name in METHODS}
    waves = {name: wave(folder / f"{name}.wx", update) for name, update in WAVES.items()}
    before: dict[str, int] = {}
    for slot in range(1, WINDOW + 3):
        rows = rows_of(slot, settings)
        before = {name: idx.commit for name, idx in (*waves.items(), *lives.items())}
        for idx in waves.values():
            idx.append(rows, prepare="now")
        for idx in lives.values():
            idx.update(slot * WIDTH, rows, prepare="now")
    calls = {
        name: lambda name=name, idx=idx: idx.changes(before[name]).read_all()
        for name, idx in (*waves.items(), *lives.items())
    }
    for name, call in calls.items():
        check_changes(name, call(), settings)
    laps: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            laps[name].append(timed(call)[0])
    return [
        {
            "what": name,
            "rows": 2 * settings["rows"],
            **spread(values),
            "ratio": median(values) / median(laps["wave"]),
            "ratio_alike": median(values) / median(laps[METHODS.get(name, name)]),
        }
        for name, values in laps.items()
    ]


def check_changes(name: str, found: pa.Table, settings: Result) -> None:
    """The newest rows came, and as many went."""
    newest = WINDOW + 2
    signs = found["_change"].to_numpy()
    came, went = found.filter(pa.array(signs > 0)), found.filter(pa.array(signs < 0))
    rows = rows_of(newest, settings)
    expect(came.num_rows == rows.num_rows, f"how many came to {name}")
    expect(came["amount"].to_numpy().sum().round(3) == rows["amount"].to_numpy().sum().round(3),
           f"what came to {name}")  # fmt: skip
    expect(went.num_rows > 0, f"what went from {name}")


# -- one commit ------------------------------------------------------------------------------------


@contextmanager
def counted_syncs() -> Iterator[list[int]]:
    """How many files were synced."""
    fsync, count = os.fsync, [0]

    def counting(descriptor: int) -> None:
        count[0] += 1
        fsync(descriptor)

    os.fsync = counting
    try:
        yield count
    finally:
        os.fsync = fsync


def measure_apply(folder: Path, method: str, settings: Result) -> Result:
    """One commit beside three, of the same rows, in turns."""
    one, three = life(folder / "one.wx", method), life(folder / "three.wx", method)
    for slot in range(1, WINDOW + 1):
        for idx in (one, three):
            idx.update(slot * WIDTH, rows_of(slot, settings, None), prepare="now")
    now = WINDOW * WIDTH
    laps: dict[str, list[float]] = {"one": [], "three": []}
    syncs: dict[str, int] = {}
    commits: dict[str, int] = {}
    for lap in range(ROUNDS):
        now += WIDTH
        given = changes_of(one, now, settings, lap)
        for name, idx, call in (("one", one, in_one), ("three", three, in_three)):
            before = idx.commit
            with counted_syncs() as count:
                laps[name].append(timed(partial(call, idx, now, given))[0])
            syncs[name], commits[name] = count[0], idx.commit - before
            idx.prepare()
        check_same(one, three)
    return {
        "what": method,
        "rows": given["insert"].num_rows,
        "one": spread(laps["one"]),
        "three": spread(laps["three"]),
        "ratio": median(laps["one"]) / median(laps["three"]),
        "syncs": syncs,
        "commits": commits,
    }


def changes_of(idx: wx.LifetimeIndex, now: int, settings: Result, lap: int) -> dict[str, pa.Table]:
    """Rows that come, and living rows that go and that get another end."""
    random = np.random.default_rng([settings["seed"], 10_000 + lap])
    lives = idx.scan().read_all()
    lives = lives.filter(pa.array(lives["until"].to_numpy() > now))
    lives = lives.sort_by([(name, "ascending") for name in lives.column_names])
    count = round(PART * lives.num_rows)
    chosen = random.choice(lives.num_rows, 2 * count, replace=False)
    gone, held = lives.take(pa.array(chosen[:count])), lives.take(pa.array(chosen[count:]))
    place = SCHEMA.get_field_index("until")
    later = pa.array(np.full(count, now + WINDOW * WIDTH // 2))
    come = rows_of(now // WIDTH, {**settings, "rows": count, "seed": settings["seed"] + 1}, None)
    return {"insert": come, "retract": gone, "prolong": held.set_column(place, "until", later)}


def in_one(idx: wx.LifetimeIndex, now: int, given: dict[str, pa.Table]) -> None:
    idx.apply(now, **given, prepare="later")


def in_three(idx: wx.LifetimeIndex, now: int, given: dict[str, pa.Table]) -> None:
    idx.retract(now, given["retract"], prepare="later")
    idx.prolong(now, given["prolong"], prepare="later")
    idx.update(now, given["insert"], prepare="later")


def check_same(one: wx.LifetimeIndex, three: wx.LifetimeIndex) -> None:
    order = [(name, "ascending") for name in SCHEMA.names]
    tables = [idx.scan().read_all().sort_by(order) for idx in (one, three)]
    expect(tables[0].num_rows > 0, "rows after an apply")
    expect(tables[0].equals(tables[1]), "what one commit and three leave")


# -- the report ------------------------------------------------------------------------------------


def run(settings: Result, folder: Path) -> Result:
    with TemporaryDirectory(dir=folder) as own:
        changes = measure_changes(Path(own), settings)
    applied = []
    for method in METHODS:
        with TemporaryDirectory(dir=folder) as own:
            applied.append(measure_apply(Path(own), method, settings))
    return {
        **circumstances(settings),
        "changes": changes,
        "applied": applied,
        "targets": judge(changes, applied),
        "checked": True,
    }


def judge(changes: Sequence[Result], applied: Sequence[Result]) -> list[Result]:
    found = []
    for each in changes:
        name = each["what"]
        if name in METHODS:
            for beside, ratio in (("wave", each["ratio"]), (METHODS[name], each["ratio_alike"])):
                is_met = ratio <= CHANGES_MOST
                said = f"changes, `{name}` beside the {beside}"
                found.append(target(said, ratio, f"at most {CHANGES_MOST}", is_met))
    for each in applied:
        name = f"`{each['what']}`"
        is_met = each["ratio"] <= APPLY_MOST
        found.append(
            target(
                f"apply beside three calls, {name}", each["ratio"], f"at most {APPLY_MOST}", is_met
            )
        )
        count = each["commits"]["one"]
        found.append(target(f"commits of an apply, {name}", count, "1", count == 1))
    return found


def markdown(report: Result) -> str:
    changes = [
        [
            each["what"],
            f"{each['rows']:,}",
            f"{each['median']:,.0f}",
            f"{each['ratio']:.2f}",
            f"{each['ratio_alike']:.2f}",
        ]
        for each in report["changes"]
    ]
    applied = [
        [
            f"`{each['what']}`",
            f"{each['rows']:,}",
            *(f"{each[name]['median']:,.0f}" for name in ("one", "three")),
            f"{each['ratio']:.2f}",
            *(f"{each['syncs'][name]}" for name in ("one", "three")),
        ]
        for each in report["applied"]
    ]
    heads = [
        "method",
        "rows of each",
        "one commit, ms",
        "three calls, ms",
        "ratio",
        "syncs",
        "three",
    ]
    return "\n\n".join(
        [
            table(["changes of", "rows", "ms", "to the wave", "to the wave kept alike"], changes),
            table(heads, applied),
            shown(report["targets"]),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("joints", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows a slot (300,000)")
    parser.add_argument("--seed", type=int, default=19)
    chosen = parser.parse_args(arguments)
    rows = chosen.rows or (3_000 if chosen.quick else 300_000)
    settings = {"rows": rows, "keys": max(10, rows // 3), "seed": chosen.seed}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder))
    publish(report, "joints", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
