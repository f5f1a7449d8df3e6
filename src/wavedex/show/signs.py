"""The picture of a wave in signs: a line for each sub-index, a column for each slot.

A slot of the window is a block whose height shows its rows. A slot that has expired, and is held
until its sub-index goes, is a shade. A slot without rows is a dot or a dash. Where there are more
slots than columns, a column stands for several. Draws from plain numbers, and reads nothing.

>>> wave = WavePicture(range(3, 6), rows={2: 1, 3: 4, 4: 0, 5: 8}, covered=range(2, 6), width=40)
>>> bar(wave, {2, 3, 4}), bar(wave, {5})
('░▄· ', '   █')
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from itertools import groupby

from wavedex.show.wave import EXPIRED, WaveCell, WavePicture

BLOCKS = "▁▂▃▄▅▆▇█"
SHADES = "░▒▓"
EMPTY, EMPTY_EXPIRED, NOT_HELD = "·", "-", " "


def bar(wave: WavePicture, slots: Collection[int]) -> str:
    """The line of a sub-index that holds these slots."""
    peak = wave.peak_rows
    return "".join(map(partial(_sign, peak=peak), wave.cells(slots)))


def axis(wave: WavePicture, first: str, last: str) -> str:
    """The names of the first and the last slot, at both ends of the columns where they fit."""
    if first == last:
        return first
    gap = len(wave.columns) - len(first) - len(last)
    return f"{first}{' ' * gap}{last}" if gap > 0 else f"{first} to {last}"


def _sign(cell: WaveCell | None, peak: int) -> str:
    if cell is None:
        return NOT_HELD
    is_over = cell.state == EXPIRED
    if not cell.rows:
        return EMPTY_EXPIRED if is_over else EMPTY
    steps = SHADES if is_over else BLOCKS
    return steps[min(-(-cell.rows * len(steps) // peak), len(steps)) - 1]


def runs_of_style(bar: str) -> Iterator[tuple[str, str]]:
    """The pieces of a bar with the colour of each. What is over is told apart by colour too.

    >>> list(runs_of_style("░-▄█"))
    [('░-', 'yellow'), ('▄█', 'cyan')]
    """
    for is_over, signs in groupby(bar, lambda sign: sign in SHADES or sign == EMPTY_EXPIRED):
        yield "".join(signs), "yellow" if is_over else "cyan"
