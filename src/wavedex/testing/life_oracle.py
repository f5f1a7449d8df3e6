"""What a lifetime index should say.

It is a plain list of rows, which imports none of the code that it judges.
"""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

KEY, BIRTH, END = "k", "b", "e"


class LifeOracle:
    """Rows that live: from birth on, and not at the instant of their end."""

    def __init__(self) -> None:
        self.now: int | None = None
        self.rows: list[Row] = []

    def advance(self, now: int) -> None:
        self.now = now
        self.rows = [row for row in self.rows if row[END] > now]

    def update(self, now: int, rows: list[Row]) -> None:
        self.rows += rows
        self.advance(now)

    def retract(self, now: int, rows: list[Row]) -> None:
        self.advance(now)
        for row in rows:
            self.rows.remove(row)

    def prolong(self, now: int, rows: list[Row]) -> None:
        self.advance(now)
        for row in rows:
            self.rows.remove(self.meant(row))
        self.rows += rows
        self.advance(now)

    def meant(self, row: Row, now: int | None = None) -> Row:
        """The row that another end is for.

        Of those that are alike but for their ends, it is the one that ends first.
        """
        lives = [each for each in self.rows if now is None or each[END] > now]
        alike = [each for each in lives if {**each, END: 0} == {**row, END: 0}]
        return min(alike, key=lambda each: each[END])

    def live(self, shorten: int = 0) -> list[Row]:
        return [row for row in self.rows if self.now is None or row[END] > self.now + shorten]


class CountOracle:
    """Rows made of rows of two windows that are counted.

    They are over when one of those has left its window.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.arrived = dict.fromkeys(sizes, 0)
        self.rows: list[Row] = []

    def update(self, rows: list[Row], arrived: dict[str, int]) -> None:
        self.rows += rows
        self.arrived = dict(arrived)
        self.rows = self.live()

    def live(self, shorten: dict[str, int] | None = None) -> list[Row]:
        less = shorten or {}
        return [
            row
            for row in self.rows
            if all(
                row[name] > self.arrived[name] - size + less.get(name, 0)
                for name, size in self.sizes.items()
            )
        ]
