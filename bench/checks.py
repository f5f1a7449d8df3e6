"""What does it cost to be careful?

Writes that check what they copy, and reads of an index that was opened with `check`. Each write is
done to copies of one index, with and without its checks in turn, and so is each opening; what
counts is the ratio, of the processor's time too, which a busy machine disturbs less.
`python -m bench.checks [--quick]`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import wavedex as wx
from bench.command import options, publish, table
from bench.measure import expect
from bench.report import circumstances
from bench.workload import SCHEMA, Workload, make_workload, same_rows
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import open_shard

Result = dict[str, Any]
LAPS = 5
WAYS: dict[str, dict[str, Any]] = {
    "runs": {"update": "runs"},
    "packed-shadow": {"update": "packed-shadow", "scheme": "del"},
    "in-place": {"update": "in-place", "scheme": "reindex"},
    "runs in Parquet": {"update": "runs", "format": "parquet"},
}


@contextmanager
def unchecked() -> Iterator[None]:
    """Let nothing be checked that is copied."""
    kept = CheckedParts.open
    CheckedParts.open = lambda self, *part: open_shard(*part)  # type: ignore[method-assign]
    try:
        yield
    finally:
        CheckedParts.open = kept  # type: ignore[method-assign]


def take(call: Callable[[], object]) -> tuple[float, float]:
    """How long a call takes: by the clock, and of the processor."""
    begun = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def compare(laps: list[tuple[tuple[float, float], tuple[float, float]]]) -> Result:
    """The medians with and without, and the median of the ratios lap by lap."""
    found: Result = {}
    for place, name in enumerate(("s", "cpu_s")):
        found[name] = median(with_[place] for with_, _ in laps)
        found[f"{name}_unchecked"] = median(without[place] for _, without in laps)
        found[f"{name}_ratio"] = median(one[place] / other[place] for one, other in laps)
    return found


def create(path: Path, work: Workload, way: dict[str, Any]) -> None:
    """A full window, of which the last slot is left for later."""
    *slots, _ = work.slots
    index = wx.WaveIndex.create(
        path, SCHEMA, key="key", time="at", window=len(slots), indexes=4, shards=2, **way
    )
    for slot in slots:
        index.append(slot)


def measure_write(made: Path, scratch: Path, act: Callable[[Any], object]) -> Result:
    """A write with and without its checks, each on a copy that is in memory."""

    def lap() -> tuple[float, float]:
        shutil.copytree(made, scratch)
        taken = take(partial(act, wx.open(scratch)))
        shutil.rmtree(scratch)
        return taken

    def lap_unchecked() -> tuple[float, float]:
        with unchecked():
            return lap()

    lap(), lap_unchecked()
    return compare([(lap(), lap_unchecked()) for _ in range(LAPS)])


def measure_reads(made: Path, keys: Sequence[int], answer: pa.Table) -> dict[str, Result]:
    """Opening with a first probe, and probes after that, with `check` and without."""

    def first(check: bool) -> tuple[float, float]:
        return take(lambda: wx.open(made, check=check).probe(keys[0]))

    def later(check: bool) -> tuple[float, float]:
        index = wx.open(made, check=check)
        expect(same_rows(index.probe_many(keys), answer), "a checked answer")
        return take(lambda: [index.probe(key) for key in keys])

    return {
        "open and probe once": compare([(first(True), first(False)) for _ in range(LAPS)]),
        f"{len(keys)} probes after that": compare(
            [(later(True), later(False)) for _ in range(LAPS)]
        ),
    }


def run(settings: Result, folder: Path) -> Result:
    """Measure every way to keep an index."""
    work = make_workload(
        "uniform", settings["slots"] + 1, settings["rows"], 1_000, settings["seed"]
    )
    keys = list(dict.fromkeys(work.probes))[:500]
    answer = work.window(settings["slots"] - 1, settings["slots"]).of_keys(keys)
    found: dict[str, Result] = {}
    for name, way in WAYS.items():
        with TemporaryDirectory(dir=folder) as own:
            made, scratch = Path(own) / "made.wx", Path(own) / "scratch.wx"
            create(made, work, way)
            found[name] = {
                "bytes": wx.open(made).describe()["bytes"],
                "append": measure_write(made, scratch, lambda idx: idx.append(work.slots[-1])),
                "twice the shards": measure_write(made, scratch, lambda idx: idx.migrate(shards=4)),
                **measure_reads(made, keys, answer),
            }
    return {**circumstances(settings), "checks": found}


def markdown(report: Result) -> str:
    """The results as a table."""
    rows = [
        [
            way,
            f"{results['bytes'] / 1e6:.0f}",
            what,
            f"{each['s'] * 1e3:.1f}",
            f"{each['s_unchecked'] * 1e3:.1f}",
            f"{each['s_ratio']:.2f}",
            f"{each['cpu_s_ratio']:.2f}",
        ]
        for way, results in report["checks"].items()
        for what, each in results.items()
        if what != "bytes"
    ]
    return table(
        ["index", "MB", "what", "ms checked", "ms unchecked", "ratio", "ratio of processor time"],
        rows,
    )


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("checks", __doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows a slot (200,000)")
    parser.add_argument("--slots", type=int, default=8, help="slots in the window")
    parser.add_argument("--seed", type=int, default=17)
    chosen = parser.parse_args(arguments)
    chosen.rows = chosen.rows or (2_000 if chosen.quick else 200_000)
    settings = {name: getattr(chosen, name) for name in ("rows", "slots", "seed")}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder))
    publish(report, "checks", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
