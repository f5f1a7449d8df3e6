"""The rows that everything is measured on, and what the right answers are.

A workload is a list of tables, a slot each, made from a seed. The answers come from NumPy over
those tables and know nothing of an index.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

I64 = npt.NDArray[np.int64]

SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("amount", pa.float64()),
        ("units", pa.int32()),
        ("label", pa.string()),
    ]
)
FIRST_DAY = dt.date(2026, 1, 1)
DAY_US = 86_400_000_000
UNIFORM_KEYS = 1_000_000
ZIPF_KEYS = 200_000
ZIPF_EXPONENT = 1.1
LABELS = 1_000
LABEL_LENGTH = 12
WORKLOADS = ("uniform", "zipf")


def first_slot() -> int:
    """The number of the first slot: days since 1970."""
    return (FIRST_DAY - dt.date(1970, 1, 1)).days


@dataclass(frozen=True)
class Workload:
    """Tables of one slot each, in time order, and keys to probe for.

    One key in ten is in no row.
    """

    name: str
    slots: list[pa.Table]
    probes: list[int]

    def window(self, newest: int, width: int) -> Answers:
        """The answers over the slots `newest - width + 1 .. newest`, counted from 0."""
        return Answers(pa.concat_tables(self.slots[newest - width + 1 : newest + 1]))


def make_workload(name: str, slots: int, rows: int, probes: int, seed: int) -> Workload:
    """Make the rows and the keys to probe for."""
    random = np.random.default_rng([seed, WORKLOADS.index(name)])
    letters = random.integers(ord("a"), ord("z") + 1, (LABELS, LABEL_LENGTH), np.uint8)
    labels = pa.array([row.tobytes().decode() for row in letters])
    keys = _make_keys(name, random, slots * rows).reshape(slots, rows)
    tables = []
    for slot, slot_keys in enumerate(keys):
        begin = (first_slot() + slot) * DAY_US
        times = np.sort(random.integers(begin, begin + DAY_US, rows))
        columns = [
            slot_keys,
            pa.array(times, pa.timestamp("us", "UTC")),
            # Quarters, so that sums are exact in whatever order they are added up.
            random.integers(0, 1_000_000, rows) / 4,
            random.integers(0, 10_000, rows, np.int32),
            labels.take(pa.array(random.integers(0, LABELS, rows))),
        ]
        tables.append(pa.table(columns, schema=SCHEMA))
    # Each key is as likely as any other, however many rows it has.
    present = random.choice(np.unique(keys), probes - probes // 10)
    absent = random.integers(UNIFORM_KEYS, 2 * UNIFORM_KEYS, probes // 10)
    return Workload(name, tables, random.permutation(np.append(present, absent)).tolist())


def _make_keys(name: str, random: np.random.Generator, count: int) -> I64:
    if name == "uniform":
        return random.integers(0, UNIFORM_KEYS, count)
    weights = np.arange(1, ZIPF_KEYS + 1) ** -ZIPF_EXPONENT
    steps = np.cumsum(weights) / weights.sum()
    ranks = np.minimum(np.searchsorted(steps, random.random(count)), ZIPF_KEYS - 1)
    return random.permutation(ZIPF_KEYS)[ranks]


@dataclass(frozen=True)
class Answers:
    """What the right answers are over some rows."""

    rows: pa.Table

    @cached_property
    def _by_key(self) -> tuple[I64, pa.Table]:
        keys = self.rows["key"].to_numpy()
        order = np.argsort(keys, kind="stable")
        return keys[order], self.rows.take(pa.array(order))

    def counts(self, keys: list[int]) -> list[int]:
        """How many rows each key has."""
        known, _ = self._by_key
        return (np.searchsorted(known, keys, "right") - np.searchsorted(known, keys)).tolist()

    def of_key(self, key: int) -> pa.Table:
        """The rows of one key."""
        known, rows = self._by_key
        start, stop = np.searchsorted(known, [key, key + 1]).tolist()
        return rows.slice(start, stop - start)

    def of_keys(self, keys: list[int]) -> pa.Table:
        """The rows of several distinct keys."""
        return pa.concat_tables([self.of_key(key) for key in keys])

    @cached_property
    def sums(self) -> dict[str, tuple[int, float]]:
        """For each label the sum of units and of amount."""
        grouped = self.rows.group_by("label").aggregate([("units", "sum"), ("amount", "sum")])
        columns = (grouped[name].to_pylist() for name in ("label", "units_sum", "amount_sum"))
        return {label: (units, amount) for label, units, amount in zip(*columns, strict=True)}


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same rows, in whatever order."""
    by = [(name, "ascending") for name in ("key", "at", "amount", "units", "label")]
    return one.num_rows == other.num_rows and one.sort_by(by).equals(other.sort_by(by))
