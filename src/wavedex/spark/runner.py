"""Runs a pipeline: from a source to an index on Spark, in batch, folder by folder, or as a stream.

The file was checked before. Here the index is created from the columns that Spark found, or
compared with what the file says. What was done is told step by step. The first Ctrl-C ends the run
after the batch in work, the second at once.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from wavedex.errors import (
    BadDefinition,
    BadPipeline,
    BadSource,
    Mistake,
    NotAnIndex,
    SchemaMismatch,
    SparkFailed,
)
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.kinds import DEFAULT, find_kind, kind_of
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.index.opening import AnyIndex, open_index
from wavedex.index.wave.append import Appended
from wavedex.index.wave.feed import Fed
from wavedex.log.manifest import Log
from wavedex.pipelines.pipeline import AVAILABLE_NOW, Pipeline, check_against
from wavedex.pipelines.toml_tables import line_of
from wavedex.spark.appends import append
from wavedex.spark.engine import reason, spark_errors
from wavedex.spark.frames import FrameDelivery
from wavedex.spark.sessions import session
from wavedex.spark.stream import sink
from wavedex.spark.types import arrow_schema
from wavedex.spark.windows import TellAnswer, window_of

NO_DELAY = "0 seconds"
T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """What was done so far."""

    done: int
    """How many batches."""
    total: int | None
    """Of how many, where that is known."""
    rows: int
    """The rows of all batches."""
    last_rows: int
    """The rows of the last batch."""
    last_left: Mapping[str, int]
    """How many rows of the last batch were left out, and why."""
    last_done: Mapping[str, int]
    """What else was done with how many rows of the last batch: they were retracted, for example."""
    slots: Sequence[str]
    """Labels of the slots that the last batch brought or sealed, or of the refresh due with it."""
    seconds: float

    @property
    def last_read(self) -> int:
        """How many rows of the last batch were read."""
        others = (*self.last_done.values(), *self.last_left.values())
        return self.last_rows + sum(others)

    @property
    def rate(self) -> float:
        """Rows a second, over all."""
        return self.rows / self.seconds if self.seconds else 0.0


Tell = Callable[[Step], object]


class _Run:
    """One run: what has been done, whom to tell, and whether it is to end."""

    def __init__(self, pipeline: Pipeline, tell: Tell, total: int | None = None) -> None:
        self.pipeline = pipeline
        self.tell = tell
        self.total = total
        self.ending = threading.Event()
        self._done = 0
        self._rows = 0
        self._begun = time.monotonic()

    def step(self, did: Appended | Fed | Refreshed, index: AnyIndex) -> None:
        """Tell that a batch is done."""
        self._done += 1
        self._rows += did.rows
        labels = [index.definition.slotting.label(slot) for slot in _slots(did)]
        seconds = time.monotonic() - self._begun
        left, done = _some(_left(did)), _some(_done(did))
        self.tell(Step(self._done, self.total, self._rows, did.rows, left, done, labels, seconds))


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    return {what: count for what, count in counts.items() if count}


def _done(did: Appended | Fed | Refreshed) -> dict[str, int]:
    """How many rows did not come but say what is to be done with others."""
    if not isinstance(did, Refreshed):
        return {}
    return {"retracted": did.retracted, "with another end": did.prolonged}


def _left(did: Appended | Fed | Refreshed) -> dict[str, int]:
    """How many rows were left out, and why."""
    left = {"without a key": did.null_keys}
    match did:
        case Appended():
            return left | {"too late": did.late, "older than the window": did.expired}
        case Fed():
            return left | {"too late": did.late}
        case Refreshed():
            return left | {"over already": did.over}


def _slots(did: Appended | Fed | Refreshed) -> list[int]:
    match did:
        case Appended():
            return did.slots
        case Fed():
            return did.sealed
        case Refreshed():
            return [] if did.slot is None else [did.slot]


def _tell_nobody(answered: object) -> None:
    pass


def run(pipeline: Pipeline, *, once: bool, tell: Tell, answered: TellAnswer = _tell_nobody) -> None:
    """Run a pipeline to its end; a stream without an end until Ctrl-C. Raises WavedexError.

    `answered` is told what a window in memory answers, if it has no folder for that.
    """
    spark = session(pipeline.spark.master, conf=dict(pipeline.spark.conf))
    if pipeline.source.mode == "stream":
        _run_stream(spark, pipeline, once, tell, answered)
    else:
        mode = {"batch": _run_batch, "folders": _run_folders}
        mode[pipeline.source.mode](spark, pipeline, once, tell)


def _run_batch(spark: SparkSession, pipeline: Pipeline, once: bool, tell: Tell) -> None:
    state = _Run(pipeline, tell, 1)
    frame = _shaped(spark, pipeline, _read(spark, pipeline, None))
    index = _open_or_create(pipeline, frame)
    with _ending(state):
        done = _take(pipeline, index, frame)
    state.step(done, index)


def _run_folders(spark: SparkSession, pipeline: Pipeline, once: bool, tell: Tell) -> None:
    """Run batch by batch of folders.

    Each batch notes the last of its folders in its commit, so that a later run goes on after it.
    """
    root = pipeline.source.path
    assert root is not None
    names = _folders(root)
    mark = f"folders of {root}"
    last = _mark(pipeline, mark)
    ahead = [name for name in names if last is None or name > last]
    size = pipeline.source.at_once
    batches = [ahead[start : start + size] for start in range(0, len(ahead), size)]
    state = _Run(pipeline, tell, len(batches))
    with _ending(state):
        for batch in batches:
            if state.ending.is_set():
                return
            frame = _shaped(spark, pipeline, _read(spark, pipeline, batch))
            index = _open_or_create(pipeline, frame)
            done = _take(pipeline, index, frame, {mark: batch[-1]})
            state.step(done, index)


def _take(
    pipeline: Pipeline,
    index: AnyIndex,
    frame: DataFrame,
    marks: Mapping[str, str] | None = None,
) -> Appended | Refreshed:
    """Take the rows of a frame, as the pipeline says."""
    by = pipeline.index.apply_by
    if by is None:
        return append(index, frame, marks=marks)
    rows = FrameDelivery(frame, marks)
    done: Refreshed = kind_of(index).apply(index, None, rows=rows, by=by)
    return done


def _run_stream(
    spark: SparkSession, pipeline: Pipeline, once: bool, tell: Tell, answered: TellAnswer
) -> None:
    stream = pipeline.stream
    assert stream is not None
    state = _Run(pipeline, tell)
    frame = _shaped(spark, pipeline, _read(spark, pipeline, None))
    index = _open_or_create(pipeline, frame)
    feed = sink(
        pipeline.index.path,
        delay=stream.delay or (NO_DELAY if kind_of(index).has_watermark else None),
        dead_letters=stream.dead_letters,
        takeover=stream.takeover,
        apply_by=pipeline.index.apply_by,
        say=lambda number, did: state.step(did, index),
        window=window_of(pipeline, index, frame, answered),
    )

    def take(batch: DataFrame, number: int) -> None:
        if state.ending.is_set():
            raise _Ended
        feed(batch, number)

    writer = frame.writeStream.foreachBatch(take)
    writer = writer.option("checkpointLocation", stream.checkpoint)
    if once or stream.trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    elif stream.trigger is not None:
        writer = writer.trigger(processingTime=stream.trigger)
    with _ending(state), spark_errors(f"the stream into {index.path}"):
        _await(writer.start(), state)


class _Ended(Exception):
    """The run is to end, and a batch was about to begin.

    The batch was not taken, and comes again next time.
    """


def _await(query: StreamingQuery, state: _Run) -> None:
    """Wait for the end, or for Ctrl-C and then for the batch in work."""
    try:
        while not query.awaitTermination(1):
            if state.ending.is_set() and not query.status["isTriggerActive"]:
                query.stop()
                return
    except StreamingQueryException as error:
        if _Ended.__name__ not in str(error) or not state.ending.is_set():
            raise


@contextmanager
def _ending(state: _Run) -> Iterator[None]:
    """Let the first Ctrl-C end the run after the batch in work. The second acts as always."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        state.ending.set()
        signal.signal(signal.SIGINT, former)

    former = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _read(spark: SparkSession, pipeline: Pipeline, folders: Sequence[str] | None) -> DataFrame:
    """The source, or some of its folders. Raises BadSource where Spark cannot read it."""
    source = pipeline.source
    paths = source.path if folders is None else [f"{source.path}/{name}" for name in folders]

    def load() -> DataFrame:
        reader: Any = spark.readStream if source.mode == "stream" else spark.read
        reader = reader.format(source.format).options(**source.options)
        if source.schema is not None:
            reader = reader.schema(source.schema)
        if folders is not None:
            # The names of folders give columns, such as day=2013-01-01. They are there as if all
            # folders were read.
            reader = reader.option("basePath", source.path)
        frame: DataFrame = reader.load(paths) if paths is not None else reader.load()
        return frame

    return _at_line(pipeline, "source", "path" if source.path else "format", load)


def _shaped(spark: SparkSession, pipeline: Pipeline, frame: DataFrame) -> DataFrame:
    shape = pipeline.shape
    if shape is None:
        return frame
    frame.createOrReplaceTempView("source")
    return _at_line(pipeline, "shape", "sql", lambda: spark.sql(shape.sql))


def _at_line(pipeline: Pipeline, table: str, key: str, call: Callable[[], T]) -> T:
    """Call, and say at which line of the file what Spark refuses stands."""
    try:
        with spark_errors("reading the source"):
            return call()
    except SparkFailed as error:
        line = line_of(pipeline.lines, (table, key))
        why = reason(str(error.__cause__))
        raise BadSource(f"{pipeline.file}:{line}: Spark refuses it. {why}") from error


def _open_or_create(pipeline: Pipeline, frame: DataFrame) -> AnyIndex:
    """The index, created with the columns of the frame where there is none. Raises BadPipeline."""
    path = pipeline.index.path
    try:
        index = open_index(path)
    except NotAnIndex:
        kind = find_kind(pipeline.index.kind or DEFAULT)
        try:
            by = pipeline.index.apply_by
            columns = frame if by is None else frame.drop(by)
            options = {**pipeline.index.options, **_history(pipeline)}
            created: AnyIndex = kind.create(path, arrow_schema(columns.schema), **options)
            return created
        except (BadDefinition, SchemaMismatch) as error:
            line = line_of(pipeline.lines, ("index", *_option_of(error)))
            raise BadPipeline(pipeline.file, [Mistake(line, str(error))]) from error
    mistakes = check_against(index.definition, pipeline)
    if mistakes:
        raise BadPipeline(pipeline.file, mistakes)
    if pipeline.history is not None and not index.definition.history:
        index.keep_history(pipeline.history.method)
    return index


def _history(pipeline: Pipeline) -> dict[str, str]:
    """What a pipeline says of the history of a new index."""
    return {} if pipeline.history is None else {"history": pipeline.history.method}


def _option_of(error: Exception) -> list[str]:
    """The option that an error is about, if it begins with its name."""
    named = re.match(r"(\w+)=", str(error))
    return [named[1]] if named else []


def _folders(root: str) -> list[str]:
    """The folders below a path in the order of their names, but for hidden ones."""
    files = Surroundings().files(root)
    names = sorted(name for name in files.list("") if not name.startswith((".", "_")))
    return [name for name in names if files.is_folder(name)]


def _mark(pipeline: Pipeline, mark: str) -> str | None:
    try:
        index = open_index(pipeline.index.path)
    except NotAnIndex:
        return None
    return Log(index.storage).latest().sources.marks.get(mark)
