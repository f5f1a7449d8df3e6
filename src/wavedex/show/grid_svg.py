"""A grid as a small picture in SVG: a box for each sub-index.

Births go from top to bottom, deaths from left to right.
A box is filled from below by the rows it holds, against the fullest one. Hidden rows are on top, in
another colour. The boxes that were written last have a thick edge. The delta and what drains are
lines below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from wavedex.show.colours import AMBER, BLUE, GREEN
from wavedex.show.grid import GridCell, GridPicture, span_text
from wavedex.show.svg import FAINT, box, escaped, frame, text
from wavedex.show.words import row_count

SIDE_MAX = 16
"""The most lines and columns, so that a picture stays small however large a grid is."""
HELD, HIDDEN, WRITTEN = BLUE, AMBER, GREEN
LEFT, WIDTH, CELL_MAX, LETTER = 290, 780, 120, 6.5
"""In pixels: where columns begin, how wide the picture is, how wide a box is at the most, and about
how wide a letter is.
"""
TOP, HEIGHT, BAR, GAP, LINE = 20, 50, 18, 4, 16
"""In pixels: where lines begin, their height, the height of the fullest bar, the gap between boxes,
and the height of a line of text.
"""


def line(about: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of a lifetime index in one line, before its size."""
    rows, columns = about["grid"]
    hidden = f", {about['rows_hidden']:,} of them hidden" if about["rows_hidden"] else ""
    return (
        f"{about['method']}, {rows}x{columns}",
        f"lifetimes of up to {about['window']:,} refreshes of {about['refresh_every']}",
        f"{row_count(about['rows_held'])} held{hidden}",
        f"now {about['now_at'] or 'not yet known'}",
    )


def draw(about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    """The picture of a lifetime index that was described; `label` names a slot."""
    if not about["births"]:
        return "<br>Nothing was inserted yet."
    picture = GridPicture.of(about, label)
    columns = len(picture.deaths[:SIDE_MAX])
    step = min(CELL_MAX, (WIDTH - LEFT) / columns)
    parts = [text(LEFT - 8, TOP - 6, "expiring", end=True, faint=True)]
    heads = short_heads([ends[0] for ends in picture.deaths[:columns]])
    every = ceil(max((len(head) + 2 for head in heads), default=0) * LETTER / step)
    parts += [
        text(LEFT + at * step, TOP - 6, head, faint=True)
        for at, head in enumerate(heads)
        if at % every == 0
    ]
    top = TOP
    for ends, line in zip(picture.births[:SIDE_MAX], picture.cells, strict=False):
        parts.append(text(LEFT - 8, top + 18, f"inserted {span_text(ends)}", end=True, faint=True))
        for at, cell in enumerate(line[:columns]):
            parts.append(_box(cell, LEFT + at * step, top, step - GAP, picture.peak_rows))
        top += HEIGHT
    below = [*_below(picture)]
    parts += [text(LEFT, top + (at + 1) * LINE, said, faint=True) for at, said in enumerate(below)]
    top += (len(below) + 1) * LINE
    return frame(parts, WIDTH, top, f"What the sub-indexes of {about['path']} hold")


def short_heads(heads: Sequence[str]) -> list[str]:
    """When the first rows of columns go; a date or year that all share is said once, in the first.

    >>> (
    ...     short_heads(["2026-01-05 12:02", "2026-01-05 12:04"]),
    ...     short_heads(["2026-01-30", "2026-02-01"]),
    ... )
    (['2026-01-05 12:02', '12:04'], ['2026-01-30', '02-01'])
    >>> short_heads(["7", "9"])
    ['7', '9']
    """
    for length in (len("2026-01-05 "), len("2026-")):
        start = heads[0][:length]
        if start.endswith((" ", "-")) and all(head.startswith(start) for head in heads):
            return [heads[0], *(head[length:] for head in heads[1:])]
    return [*heads]


def _box(cell: GridCell, left: float, top: float, width: float, peak: int) -> str:
    """A box with its name, and with its rows where there is room for them."""
    height = HEIGHT - GAP
    rows, hidden = (BAR * count / max(peak, 1) for count in (cell.rows, cell.hidden))
    floor = top + height
    edge = (WRITTEN, 2) if cell.is_written else (FAINT, 0.5)
    drawn = (
        f'<path d="{box(left, top, width, height)}" fill="none" '
        f'stroke="{edge[0]}" stroke-width="{edge[1]}"/>'
    )
    if cell.rows > cell.hidden:
        drawn += (
            f'<path d="{box(left, floor - rows + hidden, width, rows - hidden)}" fill="{HELD}"/>'
        )
    if cell.hidden:
        drawn += f'<path d="{box(left, floor - rows, width, hidden)}" fill="{HIDDEN}"/>'
    said = [cell.name, f"{cell.rows:,}"] if width > 60 else [cell.name]
    words = "".join(text(left + 4, top + 11 + at * 12, word) for at, word in enumerate(said))
    return f"<g><title>{escaped(cell.said)}</title>{drawn}{words}</g>"


def _below(picture: GridPicture) -> Iterator[str]:
    if left_out := picture.left_out(SIDE_MAX, SIDE_MAX):
        yield left_out
    if picture.commit is not None:
        yield f"thick edges: written by commit {picture.commit:,}, the last that changed the grid"
    for cell in picture.beside[:SIDE_MAX]:
        if cell.rows or cell.bytes:
            yield cell.said
    if len(picture.beside) > SIDE_MAX:
        yield f"and {len(picture.beside) - SIDE_MAX:,} more"
