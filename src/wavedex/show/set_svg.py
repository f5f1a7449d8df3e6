"""A set over time as a small picture in SVG: how large it was, or the pages of one of its buckets.

The size is an area: filled up to the smallest size in a column, and lighter up to the largest. A
page is a bar as high as it is full, copies of records on top in another colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wavedex.show.colours import AMBER, BLUE, GREEN
from wavedex.show.html import STYLE
from wavedex.show.set_history import Bucket, Page, Sizes
from wavedex.show.svg import FAINT, box, escaped, frame, text
from wavedex.show.words import human_bytes

COLUMNS = 480
"""The most columns of an area."""
LEFT, RIGHT, WIDTH = 80, 560, 760
"""Where columns begin and end, and how wide the picture is, in pixels."""
TOP, HEIGHT = 22, 120
"""Where the area begins, and how high it is at its peak."""
LINE, BAR, THIN = 20, 16, 1.5
"""The height of a page's line, that of a full page's bar, and the least width of a bar."""
USEFUL, OVER, COPIED = GREEN, BLUE, AMBER


def line(about: Mapping[str, Any]) -> tuple[str, ...]:
    """What is said of a set in one line."""
    span = f", {about['first']} to {about['last']}" if about["changes"] else ""
    return (
        about["method"],
        f"{about['alive']:,} ids now",
        f"{about['changes']:,} changes{span}",
        f"{about['pages']:,} pages",
        human_bytes(about["bytes"]),
    )


def to_html(about: Mapping[str, Any], drawn: str) -> str:
    """A set that was described in a notebook: its title, its facts and its picture."""
    title = escaped(about["path"] or "in memory")
    facts = escaped(" · ".join(line(about)))
    return f'<div style="{STYLE}"><b>{title}</b><br>{facts}{drawn}</div>'


def draw_sizes(sizes: Sizes, said: str) -> str:
    """The picture of the sizes of a set, of which `said` tells."""
    step = (RIGHT - LEFT) / len(sizes.highs)
    unit = HEIGHT / max(sizes.peak, 1)
    floor = TOP + HEIGHT
    parts = [*_ends(sizes.ends)]
    for values, opacity in ((sizes.highs, ".45"), (sizes.lows, "1")):
        outline = "".join(
            box(LEFT + at * step, floor - value * unit, step, value * unit)
            for at, value in enumerate(values)
            if value
        )
        parts.append(f'<path d="{outline}" fill="{BLUE}" fill-opacity="{opacity}"/>')
    parts.append(f'<path d="M{LEFT} {floor}.5H{RIGHT}" stroke="{FAINT}" stroke-opacity=".5"/>')
    parts.append(text(LEFT - 8, TOP + 10, f"{sizes.peak:,}", end=True, faint=True))
    parts.append(text(LEFT - 8, floor, "0", end=True, faint=True))
    parts.append(text(RIGHT + 10, floor - sizes.now * unit + 4, f"{sizes.now:,} now"))
    return frame(parts, WIDTH, floor + 10, said)


def draw_bucket(bucket: Bucket, said: str) -> str:
    """The picture of a bucket of a set, of which `said` tells."""
    parts, top = [*_ends(bucket.ends)], TOP
    for page in bucket.pages:
        parts.append(_page(bucket, page, top))
        top += LINE
    if bucket.left_out:
        parts.append(text(LEFT, top + 12, f"and {bucket.left_out:,} pages before", faint=True))
        top += LINE
    parts += _legend(top)
    return frame(parts, WIDTH, top + LINE + 4, said)


def _page(bucket: Bucket, page: Page, top: int) -> str:
    """The line of a page: its bar, its number before it, and what is in it behind."""
    start, end = bucket.place(page)
    left = LEFT + start * (RIGHT - LEFT)
    width = max((end - start) * (RIGHT - LEFT), THIN)
    high, copied = (BAR * count / bucket.room for count in (page.records, page.copies))
    floor = top + BAR
    colour = USEFUL if page.end is None else OVER
    drawn = f'<path d="{box(left, floor - high + copied, width, high - copied)}" fill="{colour}"/>'
    if page.copies:
        drawn += f'<path d="{box(left, floor - high, width, copied)}" fill="{COPIED}"/>'
    return (
        f"<g><title>{escaped(page.said_at_length)}</title>"
        f'<path d="M{LEFT} {floor}.5H{RIGHT}" stroke="{FAINT}" stroke-opacity=".35"/>{drawn}'
        f"{text(LEFT - 8, floor - 3, f'page {page.number}', end=True)}"
        f"{text(RIGHT + 10, floor - 3, page.said)}</g>"
    )


def _ends(ends: tuple[str, str]) -> Iterator[str]:
    """The first time and the last one, above the columns."""
    yield text(LEFT, 11, ends[0], faint=True)
    if ends[0] != ends[1]:
        yield text(RIGHT, 11, ends[1], end=True, faint=True)


def _legend(top: int) -> Iterator[str]:
    left = LEFT
    for said, colour in (("useful", USEFUL), ("of no use now", OVER), ("copied records", COPIED)):
        yield f'<path d="{box(left, top + 6, 10, 10)}" fill="{colour}"/>'
        yield text(left + 14, top + 15, said, faint=True)
        left += 120
