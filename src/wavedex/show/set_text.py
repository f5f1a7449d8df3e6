"""A set over time in a terminal: its facts, how large it was, the pages of one of its buckets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wavedex.show.charts import LOWER, UPPER, towers
from wavedex.show.set_history import Bucket, Page, Sizes
from wavedex.show.words import human_bytes, printable

COLUMNS_MIN = 10
"""A picture is never drawn narrower, whatever the terminal."""
HEIGHT = 8
"""The lines of an area at its peak."""
NOTHING = "·"


def columns_of(sizes_peak: int, width: int) -> int:
    """How many columns there are for an area beside its scale."""
    return max(COLUMNS_MIN, width - len(f"{sizes_peak:,}") - 2)


def draw_sizes(sizes: Sizes) -> list[str]:
    """How large a set was, over time."""
    scale = len(f"{sizes.peak:,}")
    lines, _ = towers(sizes.lows, sizes.highs, len(sizes.highs), HEIGHT)
    heads = [f"{sizes.peak:,}", *[""] * (len(lines) - 2), "0"]
    drawn = [f"{head:>{scale}} {line}" for head, line in zip(heads, lines, strict=True)]
    said = [_axis(sizes.ends, len(sizes.highs)), f"{sizes.now:,} now"]
    if list(sizes.lows) != list(sizes.highs):
        said.append(f"{LOWER} the least and {UPPER} the most ids in a column")
    return [*drawn, *(" " * (scale + 1) + each for each in said)]


def draw_bucket(bucket: Bucket, width: int) -> list[str]:
    """The pages of a bucket, over time."""
    names = [f"page {page.number}" for page in bucket.pages]
    left = max(map(len, names)) + 2
    right = max(len(page.said) for page in bucket.pages) + 2
    columns = max(COLUMNS_MIN, width - left - right)
    lines = [" " * left + _axis(bucket.ends, columns)]
    for name, page in zip(names, bucket.pages, strict=True):
        lines.append(f"{name:<{left}}{_bar(bucket, page, columns)}  {page.said}")
    if bucket.left_out:
        lines.append(" " * left + f"and {bucket.left_out:,} pages before")
    lines.append(" " * left + f"{LOWER} useful still, {UPPER} from acceptor until of no use")
    return lines


def _bar(bucket: Bucket, page: Page, columns: int) -> str:
    """The bar of a page, in at least one column."""
    start, end = (round(place * columns) for place in bucket.place(page))
    start = min(start, columns - 1)
    length = max(end - start, 1)
    sign = LOWER if page.end is None else UPPER
    return f"{NOTHING * start}{sign * length}".ljust(columns, NOTHING)


def _axis(ends: tuple[str, str], columns: int) -> str:
    """The first time and the last, at both ends of the columns where they fit."""
    first, last = map(printable, ends)
    if first == last:
        return first
    gap = columns - len(first) - len(last)
    return f"{first}{' ' * gap}{last}" if gap > 0 else f"{first} to {last}"


def facts(about: Mapping[str, Any]) -> dict[str, str]:
    """What is said of a set, by name. What is empty is left out."""
    settings = ", ".join(f"{name} {value}" for name, value in about["settings"].items())
    each = about["bytes_a_lifespan"]
    size = human_bytes(about["bytes"]) + ("" if each is None else f", {each:,} a lifespan")
    pages = f"{about['pages']:,} of {about['page_records']:,} records, "
    commit = f"{about['commit']}, written at {about['written_at']}"
    if about["segments"]:
        commit += f"; {about['segments']} files of changes since all was written"
    streams = (f"{name}, up to batch {batch}" for name, batch in about["streams"].items())
    return {
        "ids": about["ids"] or "of any type: nothing was loaded yet",
        "times": about["times"] or "",
        "rows": ", ".join(f"{name} {kind}" for name, kind in about["rows"].items()),
        "method": f"{about['method']} ({settings})",
        "now": f"{about['alive']:,} ids",
        "history": f"{about['lifespans']:,} lifespans, {about['changes']:,} changes"
        + (f", {about['first']} to {about['last']}" if about["changes"] else ""),
        "forgotten": "" if about["horizon"] is None else f"before {about['horizon']}",
        "pages": pages
        + human_bytes(about["page_bytes"])
        + " each"
        + (f", in {about['buckets']:,} buckets" if about["buckets"] else ""),
        "size": size,
        "commit": "" if about["commit"] is None else commit,
        "fed by": "; ".join(streams),
    }
