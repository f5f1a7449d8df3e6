"""Random steps of a stream, and of appends and amendments beside it.

They are taken with an index and with the dictionary that judges it. Imports none of the code that
it judges: the index is handed in.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from kit.stream_oracle import EVERY, KEYS, Refused, Row, StreamOracle, bag, table


class Walk:
    """Takes the same random steps with an index and a dictionary, and says when they part."""

    def __init__(self, index: Any, oracle: StreamOracle, seed: int) -> None:
        self.index = index
        self.oracle = oracle
        self.random = random.Random(seed)
        self.delay = self.random.choice([0, 4, 15, 40])
        self.now = 100
        self.stream, self.number = 0, -1
        self.last: list[Row] = []
        self.totals: Counter[str] = Counter(rows=0, late=0)
        self.seen: Counter[str] = Counter()

    def step(self) -> str:
        """Take one step, and say which."""
        names = ["feed"] * 8 + ["repeat"] * 2 + ["append", "append", "amend", "prepare", "vacuum"]
        name = self.random.choice([*names, "take_over"])
        getattr(self, name)()
        return name

    def feed(self, another: bool = False) -> None:
        rows = self.draw(self.random.choice([0, 1, 1, 3, 3, 8]))
        stream = self.stream + another
        number = self.random.randrange(5) if another else self.number + 1
        aside: list[pa.Table] = []

        def send() -> Any:
            return self.index.feed(
                table(rows), stream=f"s{stream}", number=number, delay=self.delay,
                takeover=another, set_aside=aside.append,
            )  # fmt: skip

        both = self.same(lambda: self.oracle.feed(rows, self.delay, another), send)
        if both is None:
            assert not aside
            return
        said, done = both
        late = said.pop("late")
        assert {name: getattr(done, name) for name in said} == said
        assert (done.late, done.repeated, len(aside)) == (len(late), False, bool(late))
        assert bag(row for each in aside for row in each.to_pylist()) == bag(late)
        self.stream, self.number, self.last = stream, number, rows
        self.totals += Counter(rows=said["rows"], late=len(late))
        self.seen += Counter(late=len(late), amended=said["amended"], sealed=len(said["sealed"]))

    def take_over(self) -> None:
        if self.number >= 0:
            self.feed(another=True)

    def repeat(self) -> None:
        if self.number < 0:
            return
        before = self.index.describe()
        rows = self.last if self.random.random() < 0.7 else self.draw(4)
        done = self.index.feed(
            table(rows), stream=f"s{self.stream}", number=self.number, delay=self.delay
        )
        assert (done.repeated, done.rows, done.late, done.sealed) == (True, 0, 0, [])
        assert self.index.describe() == before

    def append(self) -> None:
        known = self.oracle.known
        first = max(known, default=self.now // EVERY) + self.random.choice([-2, -1, 0, 1, 1, 1, 2])
        slots = range(first, first + self.random.choice([1, 1, 2, 3]))
        rows = [self.row(slot) for slot in slots for _ in range(self.random.choice([1, 3]))]
        if self.same(lambda: self.oracle.append(rows), lambda: self.index.append(table(rows))):
            self.totals += Counter(rows=len(rows))
            self.now = max(self.now, slots[-1] * EVERY)

    def amend(self) -> None:
        slots = [*self.oracle.known, max(self.oracle.known, default=0) + 1]
        rows = [self.row(slot) for slot in self.random.choices(slots[-4:], k=3)]
        if self.same(lambda: self.oracle.amend(rows), lambda: self.index.amend(table(rows))):
            self.totals += Counter(rows=len(rows))

    def prepare(self) -> None:
        owed = self.index.describe()["preparation_owed"]
        assert self.index.prepare() == owed

    def vacuum(self) -> None:
        self.index.vacuum(self.random.choice([1, 2, 3]))

    def draw(self, count: int) -> list[Row]:
        """Rows around now, some of them late, some ahead, some twice; now and then a jump."""
        self.now += self.random.choice([0, 0, 3, 9, 25])
        if self.random.random() < 0.1:
            self.now += self.random.choice([1, 2, 3]) * self.oracle.max_gap * EVERY // 2
        away = [0, 0, 0, 0, 1, 1, 2, -1, -1, -2, -3, -self.oracle.window - 1]
        rows = [self.row(self.now // EVERY + self.random.choice(away)) for _ in range(count)]
        return rows + self.random.choices(rows, k=2) if len(rows) > 2 else rows

    def row(self, slot: int) -> Row:
        text = self.random.choice([None, "", "ß", "more text"])
        at = slot * EVERY + self.random.randrange(EVERY)
        return {"k": self.random.choice(KEYS), "t": at, "v": text}

    def same(self, ask: Any, do: Any) -> tuple[Any, Any] | None:
        """Do the same with both. None where both refuse, and nothing has changed then."""
        before = self.index.describe()
        try:
            said = ask()
        except Refused as refusal:
            errors = refusal.args
        else:
            return said, do()
        with pytest.raises(Exception, match=r" ") as raised:
            do()
        assert raised.type.__name__ in errors
        assert self.index.describe() == before
        return None
