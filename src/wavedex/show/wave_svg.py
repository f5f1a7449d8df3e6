"""A wave as a small picture in SVG: a line for each sub-index, a column for each slot.

The height of a bar shows the rows of its slot. Its colour shows whether the slot is live, open or
expired. Temporaries, which no query sees, are thin lines below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from wavedex.show.colours import AMBER, BLUE, GREEN
from wavedex.show.svg import FAINT, box, escaped, frame, number, text
from wavedex.show.wave import EXPIRED, LIVE, OPEN, WaveCell, WavePicture, lines_of
from wavedex.show.words import human_bytes, row_count

COLUMNS_MAX = 120
LINES_MAX = 40
"""The most columns and lines, so that a picture stays small however large an index is."""
COLOURS = {LIVE: BLUE, OPEN: GREEN, EXPIRED: AMBER}
LEFT, RIGHT, WIDTH = 62, 560, 760
"""Where columns begin and end, and how wide the picture is, in pixels."""
LINE, BAR, THIN = 24, 18, 4
"""The height of a line, of its highest bar, and of the line of a temporary."""
COLUMN_MAX = 28
LETTER = 6.5
"""About how wide a letter is."""


def draw(about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    """The picture of a wave index that was described; `label` names a slot."""
    return _svg(about, label) if about["slots"] else "<br>Nothing was appended yet."


def line(about: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of a wave index in one line, before its size."""
    return (
        f"{about['scheme']}, {about['update']}",
        f"window of {about['window']:,} slots in {about['indexes']:,} sub-indexes",
        row_count(about["rows"]) + _held_besides(about),
    )


def _held_besides(about: Mapping[str, Any]) -> str:
    """The rows that sub-indexes hold and nobody sees any more, so that their figures add up."""
    subs = [*about["sub_indexes"].values(), *about["draining"].values()]
    opened = [] if about["open"] is None else [about["open"]]
    over = sum(sub["rows"] for sub in (*subs, *opened)) - about["rows"]
    return f" and {over:,} expired that are still held" if over > 0 else ""


def _svg(about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    wave = WavePicture.of(about, COLUMNS_MAX)
    step = min(COLUMN_MAX, (RIGHT - LEFT) / len(wave.columns))
    lines = lines_of(about)
    shown = dict(list(lines.items())[:LINES_MAX])
    parts: list[str] = []
    top = 22
    ends = LEFT + step * len(wave.columns)
    first, last = label(wave.covered[0]), label(wave.covered[-1])
    parts.append(text(LEFT, 11, first, faint=True))
    if first != last:
        # At the end of the axis, or behind the first where there is no room for both.
        right = max(ends, LEFT + (len(first) + len(last) + 2) * LETTER)
        parts.append(text(right, 11, last, end=True, faint=True))
    states: set[str] = set()
    for name, sub in shown.items():
        is_temporary = name in about["temporaries"]
        cells = wave.cells(sub["slots"])
        draw = _thin(cells, top, step) if is_temporary else _bars(wave, cells, top, step)
        if not is_temporary:
            states.update(cell.state for cell in cells if cell is not None)
        said = f"{row_count(sub['rows'])}, {human_bytes(sub['bytes'])}"
        body = "".join(draw)
        faint = ' opacity=".55"' if is_temporary else ""
        base = (
            f'<path d="M{LEFT} {top + BAR}.5H{number(ends)}" '
            f'stroke="{FAINT}" stroke-opacity=".35"/>'
        )
        parts.append(
            f"<g{faint}><title>{escaped(f'{name}: {said}')}</title>{base}"
            f"{body}{text(LEFT - 8, top + 13, name, end=True)}{text(ends + 10, top + 13, said)}</g>"
        )
        top += LINE
    if len(lines) > len(shown):
        parts.append(text(LEFT, top + 10, f"and {len(lines) - len(shown):,} more", faint=True))
        top += LINE
    parts.extend(_legend(wave, states, top))
    top += 22
    return frame(parts, WIDTH, top, f"Which slots the sub-indexes of {about['path']} hold")


def _bars(wave: WavePicture, cells: list[WaveCell | None], top: int, step: float) -> Iterator[str]:
    """The bars of a sub-index, those of one state in one path.

    A slot without rows is a dot on the line.
    """
    peak = max(wave.peak_rows, 1)
    for state, colour in COLOURS.items():
        outline = ""
        for at, cell in enumerate(cells):
            if cell is not None and cell.state == state:
                height = max(1.5, BAR * cell.rows / peak) if cell.rows else 1.0
                width = max(step - 1, step * 0.7) if cell.rows else step / 3
                left = LEFT + at * step + (0 if cell.rows else step / 3)
                outline += box(left, top + BAR - height, width, height)
        if outline:
            yield f'<path d="{outline}" fill="{colour}"/>'


def _thin(cells: list[WaveCell | None], top: int, step: float) -> Iterator[str]:
    """The line of a temporary: a stroke for each run of slots that it holds."""
    outline, at = "", 0
    for is_held, some in groupby(cell is not None for cell in cells):
        count = len(list(some))
        if is_held:
            outline += box(LEFT + at * step, top + BAR - THIN - 4, count * step - 1, THIN)
        at += count
    yield f'<path d="{outline}" fill="{FAINT}"/>'


def _legend(wave: WavePicture, states: set[str], top: int) -> Iterator[str]:
    left = LEFT
    for state in (state for state in COLOURS if state in states):
        yield f'<path d="{box(left, top + 6, 10, 10)}" fill="{COLOURS[state]}"/>'
        yield text(left + 14, top + 15, state, faint=True)
        left += 72
    if wave.slots_per_column > 1:
        yield text(left, top + 15, f"{wave.slots_per_column} slots a column", faint=True)
