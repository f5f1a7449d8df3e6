"""What a window in memory must hold: a list of basic windows, each a list of rows.

It imports none of the code that it judges, and is as slow as it looks.

>>> plain = PlainWindow(count=2, basic=2)
>>> [plain.push([row]) for row in "abcde"], plain.rows
([0, 1, 0, 1, 0], ['a', 'b', 'c', 'd'])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class PlainWindow:
    """A window that counts rows, or goes by time if it is told how to read one off a row."""

    def __init__(
        self,
        count: int,
        basic: int,
        time: Callable[[Any], int] | None = None,
        delay: int = 0,
    ) -> None:
        self.count, self.basic, self.time, self.delay = count, basic, time, delay
        self.complete: list[tuple[int, list[Any]]] = []
        """The basic windows that can be seen: the number and the rows of each."""
        self.filling: dict[int, list[Any]] = {}
        """The rows of basic windows that are not complete, by number."""
        self.next: int | None = 0 if time is None else None
        self.watermark: int | None = None
        self.left: list[Any] = []
        """All rows that have left."""

    @property
    def rows(self) -> list[Any]:
        """The rows that can be seen, the oldest first."""
        return [row for _, rows in self.complete for row in rows]

    @property
    def waiting(self) -> int:
        """How many rows cannot be seen yet."""
        return sum(map(len, self.filling.values()))

    def is_late(self, rows: Sequence[Any]) -> bool:
        """Whether one of some rows is of a basic window that is complete."""
        return self.time is not None and any(
            self.next is not None and self.time(row) // self.basic < self.next for row in rows
        )

    def push(self, rows: Sequence[Any]) -> int:
        """Take rows. Returns how many basic windows they complete."""
        done = 0
        if self.time is None:
            for row in rows:
                assert self.next is not None
                self.filling.setdefault(self.next, []).append(row)
                if len(self.filling[self.next]) == self.basic:
                    done += self._complete()
            return done
        if not rows:
            return 0
        times = [self.time(row) for row in rows]
        latest = max([*times, *([] if self.watermark is None else [self.watermark])])
        if self.next is None:
            self.next = min(min(times) // self.basic, (latest - self.delay) // self.basic)
        for row in rows:
            self.filling.setdefault(self.time(row) // self.basic, []).append(row)
        return self.advance(latest)

    def advance(self, now: int) -> int:
        """Let time go on."""
        self.watermark = now if self.watermark is None else max(now, self.watermark)
        first = (self.watermark - self.delay) // self.basic
        if self.next is None:
            self.next = first
        done = 0
        while self.next < first:
            done += self._complete()
        return done

    def _complete(self) -> int:
        assert self.next is not None
        self.complete.append((self.next, self.filling.pop(self.next, [])))
        if len(self.complete) > self.count:
            self.left += self.complete.pop(0)[1]
        self.next += 1
        return 1
