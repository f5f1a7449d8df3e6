"""The streaming sink: what `foreachBatch` calls with each micro-batch.

`foreachBatch` promises each batch at least once. The query's id and the batch's number stand in the manifest that has its
rows, so that one which comes again is passed over: each row is in the index once, wherever the query was cut off.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from wavedex.errors import BadDefinition, NoWatermark, StreamOutOfStep
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.staged import read_rows
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.core.turns import Turn
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.index.wave import feed as feeding
from wavedex.index.wave.feed import Batch, Fed
from wavedex.index.wave.index import WaveIndex
from wavedex.spark import refresh as refreshing
from wavedex.spark.frames import bring_frame
from wavedex.spark.opening import Path, on_spark

DELAY_METADATA = "spark.watermarkDelayMs"
"""Where Spark notes the delay of `withWatermark` in the time column."""
Aside = Callable[[Arriving], None]
"""Takes rows that came too late."""


@dataclass(frozen=True)
class Sink:
    """Takes micro-batches; make one with `sink`."""

    path: Path
    delay: Any
    dead_letters: Path | None
    takeover: bool
    say: Callable[[int, Any], object] | None

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Take one micro-batch of the query that is running."""
        stream = frame.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        if stream is None:
            raise StreamOutOfStep("A sink is called by foreachBatch of a streaming query only.")
        index = on_spark(self.path, frame.sparkSession)
        done: Fed | Refreshed
        if isinstance(index, LifetimeIndex):
            check_life_stream(self.delay, self.dead_letters)
            done = refreshing.feed(index, frame, Turn(stream, number, self.takeover))
        else:
            done = self._feed(index, frame, stream, number)
        if self.say is not None:
            self.say(number, done)

    def _feed(self, index: WaveIndex, frame: DataFrame, stream: str, number: int) -> Fed:
        bring = bring_frame(index, frame, None)
        delay = index.definition.slotting.length(self._delay(frame, index))
        batch = Batch(stream, number, delay, self.takeover)
        aside = dead_letters(self.dead_letters, index, batch)
        return feeding.feed(index.writer, bring, batch, aside)

    def _delay(self, frame: DataFrame, index: WaveIndex) -> Any:
        if self.delay is not None:
            return self.delay
        time = index.definition.time
        delay_ms = None if time is None else frame.schema[time].metadata.get(DELAY_METADATA)
        if delay_ms is None:
            raise NoWatermark(
                "The stream does not say how late its rows may be. Use df.withWatermark(time, delay), or "
                "sink(path, delay='10 minutes')."
            )
        return dt.timedelta(milliseconds=delay_ms)


def check_life_stream(delay: Any, dead_letters: Any) -> None:
    """Raise BadDefinition where a stream into a lifetime index is told what only wave indexes know."""
    for name, given in (("delay", delay), ("dead_letters", dead_letters)):
        if given is not None:
            raise BadDefinition(
                f"{name} is for wave indexes: no row comes too late for a lifetime index. Leave it out."
            )


def dead_letters(folder: Path | None, index: WaveIndex, batch: Batch) -> Aside | None:
    """Writes rows that came too late below a folder, under a name that is the same when the batch comes again."""
    if folder is None:
        return None
    files = Surroundings().files(folder)
    name = f"{batch.stream}-{batch.number:010d}.parquet"

    def write(late: Arriving) -> None:
        rows = read_rows(index.storage, index.definition, late)
        buffer = pa.BufferOutputStream()
        pq.write_table(rows, buffer, compression="zstd")
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
    say: Callable[[int, Any], object] | None = None,
) -> Sink:
    """What to hand to `foreachBatch`, to feed the index at `path` with a stream, each row once.

    `delay` is how far the watermark lags behind the latest time; without it the frame's own `withWatermark` says so. Rows
    that come later than that are counted, and written below `dead_letters` as Parquet where that is given. `takeover` lets
    a new query go on where another one fed the index before. `say` is told what each batch did, a `Fed`.

    A lifetime index is refreshed with each micro-batch, at the latest insertion time that was seen; with counted windows
    each stream has come to the largest position that was seen. A micro-batch without rows is only noted. There is neither
    delay nor dead letter then, and `say` is told of a `Refreshed`. Raises GapTooLarge where a row is further ahead than
    anything lives.
    """
    return Sink(path, delay, dead_letters, takeover, say)
