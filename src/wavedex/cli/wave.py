"""The picture of a wave: a line for each sub-index, a column for each slot.

A slot of the window is a block whose height shows its rows; one that has expired, and is held until its sub-index goes, is
a shade; one without rows a dot or a dash. Where there are more slots than columns, a column stands for several. Draws from
plain numbers, and reads nothing.

>>> wave = Wave(window=range(3, 6), rows={2: 1, 3: 4, 4: 0, 5: 8}, covered=range(2, 6), width=40)
>>> wave.bar({2, 3, 4}), wave.bar({5})
('░▄· ', '   █')
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

BLOCKS = "▁▂▃▄▅▆▇█"
SHADES = "░▒▓"
EMPTY, EMPTY_EXPIRED, NOT_HELD = "·", "-", " "


@dataclass(frozen=True)
class Wave:
    """What a picture is drawn of: the slots of the window, the rows of each slot, and all slots from first to last.

    REQUIRES: `covered` is not empty, and `width`, in columns, is at least 1.
    """

    window: range
    rows: Mapping[int, int]
    covered: range
    width: int

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
        """The most rows that a column can show, which get the highest block."""
        return max(sum(self.rows.get(slot, 0) for slot in column) for column in self.columns)

    def bar(self, slots: Collection[int]) -> str:
        """The line of a sub-index that holds these slots."""
        held = frozenset(slots)
        peak = self.peak_rows
        return "".join(
            self._sign([s for s in column if s in held], peak) for column in self.columns
        )

    def _sign(self, slots: list[int], peak: int) -> str:
        if not slots:
            return NOT_HELD
        is_live = any(slot in self.window for slot in slots)
        count = sum(self.rows.get(slot, 0) for slot in slots)
        if not count:
            return EMPTY if is_live else EMPTY_EXPIRED
        steps = BLOCKS if is_live else SHADES
        return steps[min(-(-count * len(steps) // peak), len(steps)) - 1]

    def axis(self, first: str, last: str) -> str:
        """The names of the first and the last slot, at both ends of the columns where they fit."""
        if first == last:
            return first
        gap = len(self.columns) - len(first) - len(last)
        return f"{first}{' ' * gap}{last}" if gap > 0 else f"{first} to {last}"


def runs_of_style(bar: str) -> Iterator[tuple[str, str]]:
    """The pieces of a bar with the colour of each: what is over is told apart by colour too.

    >>> list(runs_of_style("░-▄█"))
    [('░-', 'yellow'), ('▄█', 'cyan')]
    """
    for is_over, signs in groupby(bar, lambda sign: sign in SHADES or sign == EMPTY_EXPIRED):
        yield "".join(signs), "yellow" if is_over else "cyan"
