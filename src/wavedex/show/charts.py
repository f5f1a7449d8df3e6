r"""Charts in signs, for a terminal. Draw from plain numbers, and return lines.

>>> print("\n".join(bars({"n = 2": 1.5, "n = 3": 1.25}, width=6, base=1.0)))
n = 2  ██████ 1.500
n = 3  ███    1.250
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BLOCKS = " ▏▎▍▌▋▊▉█"
LOWER, UPPER = "█", "░"


def bars(values: Mapping[str, float], width: int, base: float = 0.0) -> list[str]:
    """A bar for each value. It begins at `base`, and the longest has `width` columns."""
    longest = max((value - base for value in values.values()), default=0.0)
    label_width = max(map(len, values), default=0)
    lines = []
    for label, value in values.items():
        eighths = round((value - base) / longest * width * 8) if longest > 0 else 0
        bar = BLOCKS[-1] * (eighths // 8) + (BLOCKS[eighths % 8] if eighths % 8 else "")
        lines.append(f"{label:<{label_width}}  {bar:<{width}} {value:.3f}")
    return lines


def towers(
    lower: Sequence[float], upper: Sequence[float], width: int, height: int
) -> tuple[list[str], int]:
    """A tower for each place, and how many places one tower is for.

    It is full up to the lower value and shaded up to the upper one. Where there are more places
    than columns, a tower has the largest values of several. REQUIRES: there is a place.

    >>> towers([1, 2], [2, 2], width=9, height=2)
    (['░█', '██'], 1)
    """
    step = -(-len(upper) // width)
    lows = [max(lower[at : at + step]) for at in range(0, len(lower), step)]
    highs = [max(upper[at : at + step]) for at in range(0, len(upper), step)]
    peak = max(*highs, 0) or 1
    lines = []
    for level in range(height, 0, -1):
        floor = (level - 0.5) / height * peak
        lines.append(
            "".join(
                LOWER if low >= floor else UPPER if high >= floor else " "
                for low, high in zip(lows, highs, strict=True)
            )
        )
    return lines, step
