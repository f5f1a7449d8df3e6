"""How far the streams that feed a window have come, and from where they must be sent again.

A batch of a stream has a number. A window takes each once. Its rows are in memory, and an archive
has them only once their basic windows are complete. So after a crash a stream is sent again from
the first batch with a row that is not archived. A window that goes by time passes over rows of
basic windows that are archived; one that counts rows passes over as many rows of that first batch
as are archived.
"""

from __future__ import annotations

import json
import operator
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from wavedex.errors import BadDefinition, StreamOutOfStep

_UNKNOWN = 2**63
"""After every basic window."""


@dataclass(frozen=True)
class Taken:
    """A batch that was taken, until all of its rows are archived."""

    stream: str
    number: int
    first: int
    """Its first row, by arrival number, where the window counts rows."""
    last: int
    """The basic window of its last row."""


@dataclass(frozen=True)
class Reached:
    """How far an archive has come: what it notes in each commit."""

    basic: int
    """The last basic window that it has."""
    batches: Mapping[str, int]
    """The first batch of each stream of which it lacks a row."""
    rows: Mapping[str, int]
    """How many rows of that batch it has."""
    pace: str = ""
    """What basic windows are, so that the numbers of others are not taken for theirs."""

    def to_mark(self) -> str:
        """As a commit notes it."""
        return json.dumps([self.basic, dict(self.batches), dict(self.rows), self.pace])

    @classmethod
    def from_mark(cls, mark: str) -> Reached:
        """What a commit noted."""
        return cls(*json.loads(mark))


def check_batch(stream: object, number: object) -> tuple[str, int]:
    """A stream and the number of a batch, as somebody gives them. Raises BadDefinition."""
    is_count = hasattr(number, "__index__") and not isinstance(number, bool)
    if not isinstance(stream, str) or not is_count or operator.index(number) < 0:  # type: ignore[arg-type]
        raise BadDefinition(
            f"stream={stream!r}, number={number!r}: give a name, and the number of the batch from "
            "0 on."
        )
    return stream, operator.index(number)  # type: ignore[arg-type]


class Streams:
    """The streams that feed a window."""

    def __init__(self, reached: Reached | None = None) -> None:
        """Go on from where an archive has come."""
        self._next: dict[str, int] = {} if reached is None else dict(reached.batches)
        self._skip: dict[str, int] = {} if reached is None else dict(reached.rows)
        self._first = dict(self._next)
        self._open: deque[Taken] = deque()
        self._taking: Taken | None = None

    def is_new(self, stream: str, number: int) -> bool:
        """Whether a batch is to be taken, and not passed over. Raises StreamOutOfStep."""
        expected = self._next.get(stream, number)
        if number == expected:
            return True
        if number == expected - 1 or number < self._first.get(stream, -1):
            return False
        last = expected - 1
        raise StreamOutOfStep(
            f"Batch {number} of the stream {stream!r} came, and the last that the window took is "
            f"{last}. Send batch {expected}, or use another name for another stream."
        )

    def skip(self, stream: str, rows: int) -> int:
        """How many rows of the batch that comes next, of so many, are archived already."""
        return min(self._skip.get(stream, 0), rows)

    def begin(self, stream: str, number: int, first: int) -> None:
        """A batch is being taken, from a row on: an archive may ask meanwhile."""
        self._taking = Taken(stream, number, first, _UNKNOWN)

    def end(self, last: int) -> None:
        """All of it was taken, up to a basic window."""
        assert self._taking is not None
        taken, self._taking = replace(self._taking, last=last), None
        self._next[taken.stream] = taken.number + 1
        self._skip.pop(taken.stream, None)
        newest = self._open[-1] if self._open else None
        if newest is None or (newest.stream, newest.last) != (taken.stream, taken.last):
            self._open.append(taken)  # Else that one is sent again as long as this must be.

    def forget(self, basic: int | None) -> None:
        """Forget batches whose rows are all in basic windows up to one: nobody asks for them."""
        while basic is not None and self._open and self._open[0].last <= basic:
            self._open.popleft()

    def refuse(self) -> None:
        """It was not taken."""
        self._taking = None

    def reached(self, basic: int, rows: int | None) -> Reached:
        """What an archive notes that has all up to a basic window.

        `rows` is one past its last row where the window counts rows.
        """
        self.forget(basic)
        first, had = dict(self._next), dict.fromkeys(self._next, 0)
        taking = [] if self._taking is None else [self._taking]
        for taken in (*taking, *reversed(self._open)):
            first[taken.stream] = taken.number
            had[taken.stream] = 0 if rows is None else max(rows - taken.first, 0)
        return Reached(basic, first, had)

    @property
    def position(self) -> dict[str, int]:
        """The number of the batch that comes next, of each stream."""
        return dict(self._next)
