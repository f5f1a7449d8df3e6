"""The streaming sink: what `foreachBatch` calls with each micro-batch.

`foreachBatch` promises each batch at least once. The query's id and the batch's number stand in the
manifest that has its rows, so a batch that comes again is passed over. Each row is in the index
once, wherever the query was cut off.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType

from wavedex.errors import BadDefinition, MissingColumn, NoWatermark, StreamOutOfStep
from wavedex.index.core.manner import NOW
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.turns import Turn
from wavedex.index.kind import Lateness
from wavedex.index.kinds import kind_of
from wavedex.index.opening import AnyIndex
from wavedex.spark.frames import FrameDelivery, check_frame, column
from wavedex.spark.opening import Path, open_on

if TYPE_CHECKING:
    from wavedex.online import Window

DELAY_METADATA = "spark.watermarkDelayMs"
"""Where Spark notes the delay of `withWatermark` in the time column."""


@dataclass(frozen=True)
class Sink:
    """Takes micro-batches; make one with `sink`."""

    path: Path
    delay: Any
    dead_letters: Path | None
    takeover: bool
    apply_by: str | None
    say: Callable[[int, Any], object] | None
    window: Window | None = None

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Take one micro-batch of the query that is running."""
        if self.window is None:
            self._feed(frame, number)
            return
        wanted = columns_for(self.window, frame)
        frame.persist()  # It is computed once, and the window has the rows that the index has.
        try:
            stream = self._feed(frame, number)
            self.window.push(wanted.toArrow(), stream=stream, number=number)
        finally:
            frame.unpersist()

    def _feed(self, frame: DataFrame, number: int) -> str:
        """Take one micro-batch into the index. Returns the name of the stream."""
        stream = stream_of(frame)
        index = open_on(self.path, frame.sparkSession)
        kind = kind_of(index)
        by = self.apply_by
        kind.check_applied(by)
        plain = frame if by is None else frame.drop(by)
        check_frame(index.definition, plain, index.definition.unguessed)
        delay = self._delay(frame, index)
        kind.check_stream(delay, self.dead_letters)
        turn = Turn(stream, number, self.takeover)
        rows = FrameDelivery(frame)
        if by is None:
            late = Lateness(delay, dead_letters(self.dead_letters, turn))
            done = kind.feed(index, rows, turn, late, prepare=NOW)
        else:
            done = kind.apply(index, None, rows=rows, by=by, **turn.given, prepare=NOW)
        if self.say is not None:
            self.say(number, done)
        return stream

    def _delay(self, frame: DataFrame, index: AnyIndex) -> Any:
        """How late rows may be: as was said, or else as the frame says if the index asks for it."""
        if self.delay is not None or not kind_of(index).has_watermark:
            return self.delay
        time = index.definition.time
        delay_ms = None if time is None else frame.schema[time].metadata.get(DELAY_METADATA)
        if delay_ms is None:
            raise NoWatermark(
                "The stream does not say how late its rows may be. Use df.withWatermark(time, "
                "delay), or sink(path, delay='10 minutes')."
            )
        return dt.timedelta(milliseconds=delay_ms)


def stream_of(frame: DataFrame) -> str:
    """The id of the query whose micro-batch a frame is. Raises StreamOutOfStep where it is none."""
    stream = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
    if stream is None:
        raise StreamOutOfStep("A sink is called by foreachBatch of a streaming query only.")
    return str(stream)


def columns_for(window: Window, frame: DataFrame) -> DataFrame:
    """The columns of a frame that a window has. Raises MissingColumn, BadDefinition."""
    names = window.schema.names
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise MissingColumn(
            f"The batch lacks {', '.join(map(repr, missing))}, which the window has."
        )
    for name in names:
        listed = isinstance(frame.schema[name].dataType, ArrayType)
        if listed and not pa.types.is_nested(window.schema.field(name).type):
            raise BadDefinition(
                f"The column {name!r} is of lists, and the window has single values. An index can "
                "have a row for each of a list; a window has each row once. Explode it before."
            )
    return frame.select(*map(column, names))


def dead_letters(folder: Path | None, turn: Turn) -> Callable[[pa.Table], None] | None:
    """Writes rows that came too late below a folder.

    The name of the file is the same when the batch comes again.
    """
    if folder is None:
        return None
    files = Surroundings().files(folder)
    name = f"{turn.stream}-{turn.number:010d}.parquet"

    def write(late: pa.Table) -> None:
        buffer = pa.BufferOutputStream()
        pq.write_table(late, buffer, compression="zstd")
        files.make_folder("")
        files.remove(name)
        files.create(name, lambda sink: sink.write(buffer.getvalue()))
        files.sync(name)
        for part in ("", ".."):  # The batch will not come again, so the names must last too.
            files.sync_folder(part)

    return write


def sink(
    path: Path,
    *,
    delay: Any = None,
    dead_letters: Path | None = None,
    takeover: bool = False,
    apply_by: str | None = None,
    say: Callable[[int, Any], object] | None = None,
    window: Window | None = None,
) -> Sink:
    """What to hand to `foreachBatch`, to feed the index at `path` with a stream, each row once.

    `delay` is how far the watermark lags behind the latest time. Without it the frame's own
    `withWatermark` says so. Rows that come later than that are counted, and written below
    `dead_letters` as Parquet where that is given. `takeover` lets a new query go on where another
    one fed the index before. `say` is told what each batch did, a `Fed`.

    A lifetime index is refreshed with each micro-batch, at the latest insertion time that was seen.
    With counted windows each stream has come to the largest position that was seen. A micro-batch
    without rows is only noted. There is neither delay nor dead letter then, and `say` is told of a
    `Refreshed`. Raises GapTooLarge where a row is further ahead than anything lives.

    `apply_by` is a column that says of each row what is to be done with it, for lifetime indexes:
    "insert", "retract" or "prolong", or 1 and -1. All of a micro-batch is then one commit, as
    `LifetimeIndex.apply` makes it.

    A `window` in memory is pushed each micro-batch after the index has it, once: as the index, it
    knows a batch that comes again. After a restart make it with `Window.restore(index)`. Columns
    that it does not have are left out. Raises BadDefinition with `apply_by`: a window takes rows
    that come, and nothing else.
    """
    if window is not None and apply_by is not None:
        raise BadDefinition(
            "window= does not go with apply_by=: a window takes rows that come, and nothing else."
        )
    return Sink(path, delay, dead_letters, takeover, apply_by, say, window)
