"""What the picture of a wave shows, however it is drawn.

It has columns of slots, and for each sub-index a cell in some of them. A column is a slot, or
several where there are more slots than columns. A cell says how many rows of a column a sub-index
holds, and whether they are live, open or expired.
Made of the plain JSON that `describe` returns. Reads nothing.

>>> wave = WavePicture(
...     window=range(3, 6), rows={2: 1, 3: 4, 4: 0, 5: 8}, covered=range(2, 6), width=40
... )
>>> [cell and (cell.state, cell.rows) for cell in wave.cells({2, 3, 4})]
[('expired', 1), ('live', 4), ('live', 0), None]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

LIVE, OPEN, EXPIRED = "live", "open", "expired"


class WaveCell(NamedTuple):
    """What a sub-index holds of one column."""

    state: str
    rows: int


@dataclass(frozen=True)
class WavePicture:
    """What a picture is drawn of.

    REQUIRES: `covered` is not empty, and `width` is at least 1.
    """

    window: range
    """The slots of the window."""
    rows: Mapping[int, int]
    """The rows of each slot."""
    covered: range
    """All slots from first to last."""
    width: int
    """How many columns there may be."""
    open: frozenset[int] = frozenset()
    """The slots that are not sealed yet."""

    @classmethod
    def of(cls, about: Mapping[str, Any], width: int) -> Self:
        """The wave of an index that was described. REQUIRES: it has slots."""
        live = [entry["slot"] for entry in about["slots"] if entry["live"]]
        held = {*live, *(slot for sub in lines_of(about).values() for slot in sub["slots"])}
        return cls(
            window=range(min(live), max(live) + 1),
            rows={entry["slot"]: entry["rows"] for entry in about["slots"]},
            covered=range(min(held), max(held) + 1),
            width=width,
            open=frozenset(entry["slot"] for entry in about["slots"] if entry["open"]),
        )

    @property
    def slots_per_column(self) -> int:
        """How many slots one column stands for."""
        return -(-len(self.covered) // self.width)

    @property
    def columns(self) -> list[range]:
        """The slots of each column."""
        step = self.slots_per_column
        return [self.covered[at : at + step] for at in range(0, len(self.covered), step)]

    @property
    def peak_rows(self) -> int:
        """The most rows that a column can show."""
        return max(self._count(column) for column in self.columns)

    def cells(self, slots: Collection[int]) -> list[WaveCell | None]:
        """What a sub-index that holds these slots has in each column; None for nothing."""
        held = frozenset(slots)
        mine = ([slot for slot in column if slot in held] for column in self.columns)
        return [WaveCell(self._state(some), self._count(some)) if some else None for some in mine]

    def _state(self, slots: list[int]) -> str:
        if self.open.issuperset(slots):
            return OPEN
        return LIVE if any(slot in self.window for slot in slots) else EXPIRED

    def _count(self, slots: Iterable[int]) -> int:
        return sum(self.rows.get(slot, 0) for slot in slots)


def lines_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """What gets a line in a picture: the sub-indexes, the open slots, and the temporaries."""
    delta = {} if about["open"] is None else {"open": about["open"]}
    return {**about["sub_indexes"], **about["draining"], **delta, **about["temporaries"]}
