"""A window is filled again from an index that the same streams feed.

Each batch of a stream goes to the index first, whose commit notes its number, and then to the
window. So the index has all that the window ever had. It is read once: the rows of the last span,
and those after them whose basic window is not complete. They are rows and numbers of one commit.

The watermark is the latest time among the rows. Where rows are counted, it is known how many came
in all. So basic windows begin where they began before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wavedex.errors import MissingColumn
from wavedex.index import LifetimeIndex, WaveIndex
from wavedex.online.archive import check_index, check_timed
from wavedex.online.identity import Reached, Streams
from wavedex.online.pace import CountPace, TimePace
from wavedex.rows.arrow import empty_batch
from wavedex.slots import ordinals

if TYPE_CHECKING:
    from wavedex.index import LifeSnapshot, Snapshot
    from wavedex.online.window import Window


def recover(window: Window, index: WaveIndex | LifetimeIndex) -> None:
    """Fill an empty window from an index. Raises BadDefinition, MissingColumn."""
    _check(window, index)
    snapshot = index.snapshot()
    manifest = snapshot.manifest
    batches = {name: each.batch + 1 for name, each in manifest.sources.streams.items()}
    arrived = manifest.totals.get("rows", 0)
    pace, watermark = window.pace, None
    if isinstance(pace, TimePace):
        watermark, rows = _of_span(window, pace, snapshot)
    else:
        rows = _last(window, pace, snapshot, arrived)
    window.streams = Streams(Reached(-1, batches, {}))
    with window.schedule.unmeasured():
        _fill(window, rows, arrived, watermark)


def _fill(window: Window, rows: pa.RecordBatch, arrived: int, watermark: int | None) -> None:
    """Fill an empty window with the newest of all rows that came.

    `arrived` is how many came in all, and `watermark` the latest time of a row.
    """
    pace, filling = window.pace, window.filling
    if isinstance(pace, CountPace):
        more = rows.num_rows - arrived % pace.rows
        kept = rows.slice(more % pace.rows) if more > 0 else rows
        window.archived_rows = arrived - kept.num_rows
        filling.resume(window.archived_rows // pace.rows)
        filling.take_counted(kept, pace)
    elif watermark is not None:
        filling.recover(watermark, rows)


def _check(window: Window, index: WaveIndex | LifetimeIndex) -> None:
    check_index(index)
    check_timed(window)
    missing = [name for name in window.schema.names if name not in index.schema.names]
    if missing:
        raise MissingColumn(
            f"The index has no {', '.join(map(repr, missing))}, so the window cannot be filled "
            f"from it. It has {', '.join(index.schema.names)}."
        )


def _of_span(
    window: Window, pace: TimePace, snapshot: Snapshot | LifeSnapshot
) -> tuple[int | None, pa.RecordBatch]:
    """The latest time, and the rows of the last span and those after it."""
    definition, names = snapshot.definition, window.schema.names
    assert pace.time is not None
    if pace.time != definition.time:
        rows = _one(snapshot.scan(columns=names))
        return _latest(rows, pace.time), rows
    watermark = _latest(_one(snapshot.scan(columns=[pace.time], order="time", last=1)), pace.time)
    if watermark is None:
        return None, empty_batch(window.schema)
    oldest = pace.slotting.start(pace.complete_before(watermark) - pace.count)
    since = int(definition.slotting.slots_of(np.array([oldest]))[0])
    return watermark, _one(snapshot.scan(since, columns=names, order="time"))


def _last(
    window: Window, pace: CountPace, snapshot: Snapshot | LifeSnapshot, arrived: int
) -> pa.RecordBatch:
    """The last rows, by their times: those that can be seen, and those that wait."""
    wanted = pace.rows * pace.count + arrived % pace.rows
    order = None if snapshot.definition.time is None else "time"
    return _one(snapshot.scan(columns=window.schema.names, order=order, last=wanted))


def _latest(rows: pa.RecordBatch, time: str) -> int | None:
    column = rows.column(time)
    return int(ordinals(column).max()) if rows.num_rows else None


def _one(reader: pa.RecordBatchReader) -> pa.RecordBatch:
    table = reader.read_all().combine_chunks()
    return table.to_batches()[0] if table.num_rows else empty_batch(table.schema)
