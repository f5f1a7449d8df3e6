"""The rows over which the lifetime index meets ClickHouse.

They are days of rows that live from one to fourteen days, evenly.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from bench.measure import expect
from bench.workload import DAY_US, LABEL_LENGTH, LABELS, UNIFORM_KEYS, first_slot

INSTANT = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("key", pa.int64()),
        ("at", INSTANT),
        ("until", INSTANT),
        ("amount", pa.float64()),
        ("units", pa.int32()),
        ("label", pa.string()),
    ]
)


@dataclass(frozen=True)
class Course:
    """Slots of a day each; `slots` of them are the longest lifetime."""

    slots: int
    rows: int
    keys: int
    made: list[pa.Table]
    probes: list[int]

    def now(self, slot: int) -> dt.datetime:
        """The instant of the refresh at the end of a slot, counted from 0."""
        return dt.datetime.fromtimestamp(self.now_us(slot) / 1e6, dt.UTC)

    def now_us(self, slot: int) -> int:
        return (first_slot() + slot + 1) * DAY_US

    def live(self, slot: int) -> pa.Table:
        """The rows that live at the end of a slot."""
        born = pa.concat_tables(self.made[max(0, slot - self.slots + 1) : slot + 1])
        lives = born["until"].cast(pa.int64()).to_numpy() > self.now_us(slot)
        return born.filter(pa.array(lives))

    def check(self, slot: int, key: int, found: pa.Table) -> None:
        """Compare the rows of a key one by one. Raises WrongAnswer."""
        rows = self._by_key(slot)
        start, stop = np.searchsorted(rows["key"].to_numpy(), [key, key + 1]).tolist()
        expect(same_rows(found, rows.slice(start, stop - start)), f"probe for {key}")

    def _by_key(self, slot: int) -> pa.Table:
        if slot not in self._sorted:
            self._sorted[slot] = self.live(slot).sort_by("key")
        return self._sorted[slot]

    @cached_property
    def _sorted(self) -> dict[int, pa.Table]:
        return {}


def make_course(slots: int, rows: int, refreshes: int, probes: int, seed: int) -> Course:
    """Make the rows of a window and of the refreshes after it, and keys to probe for.

    One key in ten is nowhere.
    """
    random = np.random.default_rng(seed)
    letters = random.integers(ord("a"), ord("z") + 1, (LABELS, LABEL_LENGTH), np.uint8)
    labels = pa.array([row.tobytes().decode() for row in letters])
    made = []
    for slot in range(slots + refreshes):
        begin = (first_slot() + slot) * DAY_US
        # A slot is what lies after one refresh, up to and with the next.
        at = np.sort(random.integers(begin, begin + DAY_US, rows)) + 1
        columns = [
            random.integers(0, UNIFORM_KEYS, rows),
            pa.array(at, INSTANT),
            pa.array(at + random.integers(1, slots + 1, rows) * DAY_US, INSTANT),
            random.integers(0, 1_000_000, rows) / 4,
            random.integers(0, 10_000, rows, np.int32),
            labels.take(pa.array(random.integers(0, LABELS, rows))),
        ]
        made.append(pa.table(columns, schema=SCHEMA))
    asked = random.choice(np.concatenate([table["key"].to_numpy() for table in made]), probes)
    asked[::10] += UNIFORM_KEYS
    return Course(slots, rows, UNIFORM_KEYS, made, random.permutation(asked).tolist())


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables have the same rows, in whatever order."""
    by = [(name, "ascending") for name in SCHEMA.names]
    one, other = one.select(SCHEMA.names).cast(SCHEMA), other.cast(SCHEMA)
    return one.num_rows == other.num_rows and one.sort_by(by).equals(other.sort_by(by))
