"""What the picture of a grid shows, however it is drawn.

It has a line for each partition of births and a column for each partition of deaths. Where they
cross is a sub-index. Its cell says how many rows it holds, how many of those are hidden, and
whether the last commit that wrote to the grid wrote this one. After the grid comes what lies beside
it: the delta, and sub-indexes that drain.
Made of the plain JSON that `describe` returns. Reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wavedex.show.words import human_bytes, row_count

DELTA = "open"


@dataclass(frozen=True)
class GridCell:
    """What one sub-index holds, and whether it was written last."""

    name: str
    rows: int
    hidden: int
    bytes: int
    is_written: bool

    @property
    def said(self) -> str:
        """All of it for people.

        >>> GridCell("I1", 1_200, 1, 4_096, False).said
        'I1: 1,200 rows, 1 of them hidden, 4.1 kB'
        """
        hidden = f", {self.hidden:,} of them hidden" if self.hidden else ""
        return f"{self.name}: {row_count(self.rows)}{hidden}, {human_bytes(self.bytes)}"


class Span(NamedTuple):
    """The names of the first and the last of some slots."""

    first: str
    last: str
    has_gaps: bool = False
    """Whether slots lie between them that are not among these."""


@dataclass(frozen=True)
class GridPicture:
    """What a picture is drawn of."""

    births: Sequence[Span]
    """The first and the last slot of each line."""
    deaths: Sequence[Span]
    """The first and the last slot of each column."""
    cells: Sequence[Sequence[GridCell]]
    """The sub-indexes, line by line."""
    beside: Sequence[GridCell]
    """The delta and what drains."""
    commit: int | None
    """The last commit that wrote to a cell that is there."""

    @classmethod
    def of(cls, about: Mapping[str, Any], label: Callable[[int], str]) -> GridPicture:
        """The picture of an index that was described; `label` names a slot.

        REQUIRES: there was an update.
        """
        rows, columns = about["grid"]
        subs = about["sub_indexes"]
        names = [[f"I{row * columns + at + 1}" for at in range(columns)] for row in range(rows)]
        deaths = (
            sorted({slot for line in names for slot in subs[line[at]]["slots"]})
            for at in range(columns)
        )
        last = max(
            (sub["commit"] for sub in subs.values() if sub["commit"] is not None), default=None
        )
        delta = {} if about["open"] is None else {DELTA: about["open"]}
        return cls(
            births=[_ends(slots, label) for slots in about["births"].values()],
            deaths=[_ends(slots, label) for slots in deaths],
            cells=[[_cell(name, subs[name], last) for name in line] for line in names],
            beside=[_cell(name, sub, None) for name, sub in {**delta, **about["draining"]}.items()],
            commit=last,
        )

    @property
    def peak_rows(self) -> int:
        """The most rows of a cell."""
        return max(cell.rows for line in self.cells for cell in line)

    def left_out(self, lines: int, columns: int) -> str:
        """What is said where only some lines and columns are shown; nothing where all are."""
        left = {"line": len(self.births) - lines, "column": len(self.deaths) - columns}
        said = [f"{n:,} {what}{'s' * (n != 1)}" for what, n in left.items() if n > 0]
        return f"not shown: {' and '.join(said)}" if said else ""


def _cell(name: str, sub: Mapping[str, Any], last: int | None) -> GridCell:
    written = last is not None and sub["commit"] == last
    return GridCell(name, sub["rows"], sub["rows_hidden"], sub["bytes"], written)


def _ends(slots: Sequence[int], label: Callable[[int], str]) -> Span:
    """The first and the last slot, or nothing."""
    if not slots:
        return Span("", "")
    has_gaps = slots[-1] - slots[0] >= len(slots)
    return Span(label(slots[0]), label(slots[-1]), has_gaps)


def span_text(span: Span) -> str:
    """Two ends in a line, a date that they share only once.

    Dots say that slots of others lie between them.

    >>> span_text(Span("2026-01-05 12:02", "2026-01-05 12:08"))
    '2026-01-05 12:02 to 12:08'
    >>> span_text(Span("7", "9")), span_text(Span("7", "13", True)), span_text(Span("", ""))
    ('7 to 9', '7 ... 13', 'none')
    """
    first, last, has_gaps = span
    if first == last:
        return first or "none"
    day, _, clock = last.partition(" ")
    end = clock if clock and first.startswith(f"{day} ") else last
    return f"{first} {'...' if has_gaps else 'to'} {end}"
