"""An index in a notebook: a line of facts, and its wave as a small picture in SVG.

A line for each sub-index, a column for each slot; the height of a bar shows the rows of its slot, its colour whether the
slot is live, open or expired. Temporaries, which no query sees, are thin lines below. Colours are of middling brightness
and text has the page's own, so that it can be read on light and on dark. Whatever is text is escaped. Made of the plain
JSON that `describe` returns, so that no file of the index is opened for it but its manifest.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from wavedex.index.picture import EXPIRED, LIVE, OPEN, Cell, Wave, human_bytes, lines_of, row_count

COLUMNS_MAX = 120
LINES_MAX = 40
"""The most columns and lines, so that a picture stays small however large an index is."""
COLOURS = {LIVE: "#3a8fc7", OPEN: "#2f9e7d", EXPIRED: "#c98a2b"}
FAINT = "#8a8a8a"
LEFT, RIGHT, WIDTH = 62, 560, 760
"""Where columns begin and end, and how wide the picture is, in pixels."""
LINE, BAR, THIN = 24, 18, 4
"""The height of a line, of its highest bar, and of the line of a temporary."""
COLUMN_MAX = 28
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def to_html(about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    """The picture of an index that was described; `label` names a slot."""
    facts = (
        f"{about['scheme']}, {about['update']}",
        f"window of {about['window']:,} slots in {about['indexes']:,} sub-indexes",
        row_count(about["rows"]),
        human_bytes(about["bytes"]),
        f"commit {about['commit']:,}",
    )
    title = f"<b>{_escaped(about['path'])}</b><br>{_escaped(' · '.join(facts))}"
    drawn = _svg(about, label) if about["slots"] else "<br>Nothing was appended yet."
    return f'<div style="font-family: sans-serif; font-size: 13px">{title}{drawn}</div>'


def _svg(about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    wave = Wave.of(about, COLUMNS_MAX)
    step = min(COLUMN_MAX, (RIGHT - LEFT) / len(wave.columns))
    lines = lines_of(about)
    shown = dict(list(lines.items())[:LINES_MAX])
    parts: list[str] = []
    top = 22
    ends = LEFT + step * len(wave.columns)
    first, last = label(wave.covered[0]), label(wave.covered[-1])
    parts.append(_text(LEFT, 11, first if first == last else f"{first} to {last}", faint=True))
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
        base = f'<path d="M{LEFT} {top + BAR}.5H{_number(ends)}" stroke="{FAINT}" stroke-opacity=".35"/>'
        parts.append(
            f"<g{faint}><title>{_escaped(f'{name}: {said}')}</title>{base}"
            f"{body}{_text(LEFT - 8, top + 13, name, end=True)}{_text(ends + 10, top + 13, said)}</g>"
        )
        top += LINE
    if len(lines) > len(shown):
        parts.append(_text(LEFT, top + 10, f"and {len(lines) - len(shown):,} more", faint=True))
        top += LINE
    parts.extend(_legend(wave, states, top))
    top += 22
    said = f"Which slots the sub-indexes of {about['path']} hold"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" '
        f'style="display: block; max-width: 100%; height: auto" role="img" aria-label="{_escaped(said)}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor">{"".join(parts)}</svg>'
    )


def _bars(wave: Wave, cells: list[Cell | None], top: int, step: float) -> Iterator[str]:
    """The bars of a sub-index, those of one state in one path; a slot without rows is a dot on the line."""
    peak = max(wave.peak_rows, 1)
    for state, colour in COLOURS.items():
        outline = ""
        for at, cell in enumerate(cells):
            if cell is not None and cell.state == state:
                height = max(1.5, BAR * cell.rows / peak) if cell.rows else 1.0
                width = max(step - 1, step * 0.7) if cell.rows else step / 3
                left = LEFT + at * step + (0 if cell.rows else step / 3)
                outline += _box(left, top + BAR - height, width, height)
        if outline:
            yield f'<path d="{outline}" fill="{colour}"/>'


def _thin(cells: list[Cell | None], top: int, step: float) -> Iterator[str]:
    """The line of a temporary: a stroke for each run of slots that it holds."""
    outline, at = "", 0
    for is_held, some in groupby(cell is not None for cell in cells):
        count = len(list(some))
        if is_held:
            outline += _box(LEFT + at * step, top + BAR - THIN - 4, count * step - 1, THIN)
        at += count
    yield f'<path d="{outline}" fill="{FAINT}"/>'


def _legend(wave: Wave, states: set[str], top: int) -> Iterator[str]:
    left = LEFT
    for state in (state for state in COLOURS if state in states):
        yield f'<path d="{_box(left, top + 6, 10, 10)}" fill="{COLOURS[state]}"/>'
        yield _text(left + 14, top + 15, state, faint=True)
        left += 72
    if wave.slots_per_column > 1:
        yield _text(left, top + 15, f"{wave.slots_per_column} slots a column", faint=True)


def _box(left: float, top: float, width: float, height: float) -> str:
    return f"M{_number(left)} {_number(top)}h{_number(width)}v{_number(height)}h-{_number(width)}z"


def _number(value: float) -> str:
    """A length with no more digits than a screen can show.

    >>> _number(3.0), _number(2.345)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")


def _text(left: float, base: float, said: str, end: bool = False, faint: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    opacity = ' fill-opacity=".7"' if faint else ""
    return f'<text x="{_number(left)}" y="{_number(base)}"{anchor}{opacity}>{_escaped(said)}</text>'


def _escaped(said: str) -> str:
    """Text that HTML and XML take for text: what no page can show is written out."""
    plain = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", said)
    return html.escape(plain)
