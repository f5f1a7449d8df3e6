"""The pictures of a set over time: its sizes, and the pages of a bucket, as plain numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from wavedex.rows.arrow import number_view, to_numpy
from wavedex.show import set_svg, set_text
from wavedex.show.picture import Picture
from wavedex.show.set_history import Bucket, Page, Sizes
from wavedex.show.values import json_column
from wavedex.temporal.state import State

_EMPTY = "Nothing was loaded yet."


def draw_sizes(state: State | None, table: pa.Table) -> Picture:
    """How large a set was, by the table of its sizes."""
    if state is None or not table.num_rows:
        return Picture(f"<br>{_EMPTY}", lambda width: [_EMPTY])
    ticks = number_view(table.column("time").combine_chunks()).astype(np.int64)
    sizes = to_numpy(table.column("size").combine_chunks())
    last = max(int(ticks[-1]), int(state.instants.ticks[-1]) if state.last is None else state.last)
    ends = said_of(state, int(ticks[0])), said_of(state, last)
    peak = int(sizes.max())
    drawn = Sizes.of(ticks, sizes, last, ends, set_svg.COLUMNS)
    return Picture(
        set_svg.draw_sizes(drawn, f"How many ids were in the set, at most {peak:,}"),
        lambda width: set_text.draw_sizes(
            Sizes.of(ticks, sizes, last, ends, set_text.columns_of(peak, width))
        ),
    )


def draw_bucket(state: State, bucket: int) -> Picture:
    """The pages of a bucket. REQUIRES: there is that bucket."""
    found, ticks = state.method.pages_of(bucket), state.instants.ticks
    pages = []
    for page, start, end, records, copies in zip(
        found.pages.tolist(),
        found.starts.tolist(),
        found.ends.tolist(),
        found.records.tolist(),
        found.copies.tolist(),
        strict=True,
    ):
        begin, stop = int(ticks[start]), int(ticks[end]) if end < len(ticks) else None
        times = said_of(state, begin), None if stop is None else said_of(state, stop)
        pages.append(Page(page, begin, stop, times, records, copies))
    if not pages:
        said = f"Nothing was in bucket {bucket} yet."
        return Picture(f"<br>{said}", lambda width: [said])
    last = int(ticks[-1]) if state.last is None else max(state.last, int(ticks[-1]))
    room = state.method.layout.records
    drawn = Bucket.of(bucket, pages, room, last, said_of(state, last))
    return Picture(
        set_svg.draw_bucket(drawn, f"The pages of bucket {bucket}, and their records"),
        lambda width: set_text.draw_bucket(drawn, width),
    )


def said_of(state: State, tick: int) -> str:
    """A time as people write it."""
    return str(json_column(state.instants.times_of(np.array([tick])))[0])
