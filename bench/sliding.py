"""An index that is watched while its window slides, and the rows for it.

Rows need not all be kept to know the right answers. What is counted are the bytes below `data/`: a
manifest is the same small thing whatever a plan asks for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import wavedex as wx
from bench.grouping import connect, grouped_sum
from bench.ledger import CountingFiles, Ledger
from bench.measure import SAMPLE, check_sums, expect, repeat, spread
from bench.race import laps as race_laps
from bench.workload import DAY_US, LABEL_LENGTH, LABELS, SCHEMA, Answers, first_slot
from wavedex.files.local import FileRef, Files
from wavedex.files.names import DATA

ROUND_S = 2.0
"""After this time a round of single probes ends, of which there are five."""
OPEN = """
import json, sys, time
import wavedex
begun = time.perf_counter()
idx = wavedex.open(sys.argv[1])
rows = idx.probe(int(sys.argv[2])).num_rows
print(json.dumps([(time.perf_counter() - begun) * 1e3, rows]))
"""


class DataFiles(CountingFiles):
    """The disk, with a ledger of what is written below `data/`."""

    def create(self, name: str, fill: Callable[..., object]) -> FileRef:
        if name.startswith(f"{DATA}/"):
            return super().create(name, fill)
        return Files.create(self, name, fill)


@dataclass(frozen=True)
class Lap:
    """One append: until its slot can be queried, and the rest of the call, clearing up included."""

    transition_ms: float
    preparation_ms: float
    transition_bytes: int
    preparation_bytes: int

    @property
    def append_ms(self) -> float:
        return self.transition_ms + self.preparation_ms


class Watched:
    """An index, made anew, whose appends are timed and counted."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.ledger = Ledger()
        around = wx.Surroundings(files=lambda root: DataFiles(root, self.ledger))
        self.idx = wx.WaveIndex.create(
            path, SCHEMA, key="key", time="at", surroundings=around, **options
        )

    def append(self, table: pa.Table, slot: int | None = None) -> Lap:
        """Append a slot, whose number must be given where it has no rows."""
        self.ledger.commits.clear()
        before = self.ledger.bytes_written
        begun = time.perf_counter()
        appended = self.idx.append(table, slot)
        ended = time.perf_counter()
        expect(appended.rows == table.num_rows, "append")
        seen, bytes_then = self.ledger.commits[0]
        return Lap(
            (seen - begun) * 1e3,
            (ended - seen) * 1e3,
            bytes_then - before,
            self.ledger.bytes_written - bytes_then,
        )

    def settle(self) -> None:
        """Wait until a snapshot is kept.

        That is once the newest commit is older than a step of the clock.
        """
        time.sleep(0.05)

    @property
    def disk_bytes(self) -> int:
        """All files of its folder, those of the commit before the newest included."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def mean_and_max(values: Iterable[float]) -> dict[str, float]:
    numbers = list(values)
    return {"mean": sum(numbers) / len(numbers), "max": max(numbers)}


def measure_probes(
    probe: Callable[[int], pa.Table], keys: list[int], answers: Answers
) -> dict[str, float]:
    """Single probes in microseconds, as the race has them.

    Some are compared row by row and all by the number of rows.
    """
    race_laps.check_rows(probe, keys[:SAMPLE], answers, "probe")
    return race_laps.measure_probes(probe, keys, answers.counts(keys), ROUND_S)


def measure_grouped_sum(idx: wx.WaveIndex, answers: Answers) -> dict[str, float]:
    """A grouped sum by DuckDB over the window, in milliseconds."""
    with connect() as connection:
        laps, found = repeat(lambda: grouped_sum(idx, connection))
    check_sums(found, answers)
    return laps


def measure_opening(path: Path, keys: list[int], answers: Answers) -> dict[str, float]:
    """Opening an index and its first probe, in milliseconds.

    In fresh processes that have imported what they need.
    """
    laps = []
    for key, count in zip(keys, answers.counts(keys), strict=True):
        lap, rows = run_fresh(OPEN, str(path), str(key))
        expect(rows == count, "first probe")
        laps.append(lap)
    return spread(laps)


def run_fresh(program: str, *arguments: str) -> Any:
    """What a Python program of its own prints as JSON."""
    command = [sys.executable, "-c", program, *arguments]
    # What can be imported here can be imported there.
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=around)
    return json.loads(done.stdout)


@dataclass(frozen=True)
class SampledAnswers(Answers):
    """The right answers for some keys, and the sums over the rows of all keys.

    Of the former keys all rows are kept.
    """

    totals: dict[str, tuple[int, float]]

    @property
    def sums(self) -> dict[str, tuple[int, float]]:
        return self.totals


class Feed:
    """Slots of evenly drawn keys, made one by one and not kept.

    What is kept of a slot is what answers are checked with, by NumPy and knowing nothing of an
    index: the rows of the keys that will be probed for, and the sums by label. `keys` is how many
    keys there are, `probes` how many are probed for, one in ten of which is in no row.
    """

    def __init__(self, rows: int, keys: int, probes: int, seed: int) -> None:
        random = np.random.default_rng([seed, 0])
        self._rows, self._keys, self._seed = rows, keys, seed
        letters = random.integers(ord("a"), ord("z") + 1, (LABELS, LABEL_LENGTH), np.uint8)
        self._labels = [row.tobytes().decode() for row in letters]
        asked = random.integers(0, keys, probes)
        asked[::10] += keys
        self.probes: list[int] = random.permutation(asked).tolist()
        self._asked = np.unique(asked)
        self._sampled: dict[int, pa.Table] = {}
        self._sums: dict[int, np.ndarray] = {}
        self.raw_bytes = 0
        """The bytes of one slot as a table."""

    def slot(self, number: int) -> pa.Table:
        """Make a slot, counted from 0, and note the answers that it adds to."""
        random = np.random.default_rng([self._seed, 1, number])
        rows = self._rows
        begin = (first_slot() + number) * DAY_US
        keys = random.integers(0, self._keys, rows)
        times = np.sort(random.integers(begin, begin + DAY_US, rows))
        amounts = random.integers(0, 1_000_000, rows) / 4
        units = random.integers(0, 10_000, rows, np.int32)
        names = random.integers(0, LABELS, rows)
        columns = [
            keys,
            pa.array(times, pa.timestamp("us", "UTC")),
            amounts,
            units,
            pa.array(self._labels).take(pa.array(names)),
        ]
        table = pa.table(columns, schema=SCHEMA)
        places = np.searchsorted(self._asked, keys).clip(max=len(self._asked) - 1)
        self._sampled[number] = table.take(np.flatnonzero(self._asked[places] == keys))
        self._sums[number] = np.stack(
            [np.bincount(names, weights, LABELS) for weights in (None, units, amounts)]
        )
        self.raw_bytes = table.nbytes
        return table

    def answers(self, newest: int, width: int) -> SampledAnswers:
        """The answers over the slots `newest - width + 1 .. newest`.

        REQUIRES: all of them were made.
        """
        span = range(newest - width + 1, newest + 1)
        rows, units, amounts = sum(self._sums[slot] for slot in span)
        totals = {
            self._labels[label]: (int(units[label]), float(amounts[label]))
            for label in np.flatnonzero(rows)
        }
        return SampledAnswers(pa.concat_tables([self._sampled[slot] for slot in span]), totals)
