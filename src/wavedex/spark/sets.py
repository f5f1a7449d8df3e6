"""Data frames and streams of events into a set over time."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from wavedex import errors
from wavedex.errors import WavedexError
from wavedex.files.address import files_at
from wavedex.files.names import staged_prefix
from wavedex.spark.batches import uncounted_bytes
from wavedex.spark.engine import spark_errors
from wavedex.spark.frames import column, heard
from wavedex.spark.opening import Path, check_classic
from wavedex.spark.set_staging import (
    Portion,
    check_events,
    clearing_events,
    read_events,
    stage_events,
    whole_instants,
)
from wavedex.spark.stream import stream_of
from wavedex.temporal import TemporalSet
from wavedex.temporal.events import Names


def load_set(
    target: Path | TemporalSet,
    frame: DataFrame,
    *,
    oid: str = "oid",
    time: str = "time",
    op: str = "op",
    stream: str | None = None,
    number: int | None = None,
) -> int:
    """Load a frame of events, in any order, into the set at a path: one commit has all, or none.

    Events are as in `TemporalSet.load`: an id, a time, and +1 where it was added or -1 where it was
    removed, or by how much more often it is there where ids are counted. The other columns are the
    row that the id carries. At one time, removals come before additions. None may be before the
    last change of the set. Returns how many were loaded: 0 for the batch of a stream that is in the
    set already.

    In parallel, Spark works the frame out, brings its rows into the order of their times by ranges,
    sorts each range, and writes it as files beside the set, which must lie where all tasks can
    write. This process then takes the files in one by one, in their order, and has one of them in
    hand at a time. That part is not parallel: whether an id may be added depends on all that came
    before. The frame is computed twice, the first time to find the ranges.

    A set that is held instead of a path gets all events at once, collected by this process, and is
    committed, with what else was changed through it.

    Raises what `TemporalSet.load` raises, ConcurrentWrite where another writer commits meanwhile,
    and SparkFailed. The set is then as it was, but for a set that is held and met another writer.
    """
    check_classic(frame.sparkSession)
    names = Names(oid, time, op)
    found = target if isinstance(target, TemporalSet) else TemporalSet.open(target)
    schema = check_events(frame.schema, names, found.schema)
    load = partial(found.load, oid=oid, time=time, op=op)
    if _is_known(found, stream, number):
        return 0
    ordered = frame.sort(column(time), column(op))
    if isinstance(target, TemporalSet):
        with spark_errors(f"collecting events for {found}"):
            events = ordered.toArrow().cast(schema)
        count = load(events, stream=stream, number=number)
        found.commit()
        return count
    files, prefix = files_at(target), staged_prefix(secrets.token_hex(8))
    with clearing_events(files, prefix):
        portions = _stage(str(files.root), ordered, schema, prefix)
        found.refresh()  # Others may have committed while the tasks were at work.
        if _is_known(found, stream, number):
            return 0
        load(schema.empty_table(), stream=stream, number=number)
        count = sum(map(load, whole_instants(read_events(files, portions), time)))
        found.commit()
    return count


def _is_known(found: TemporalSet, stream: str | None, number: int | None) -> bool:
    """Whether a set has a batch of a stream already."""
    if stream is None or number is None:
        return False
    return number <= found.marks.get(stream, -1)


def _stage(path: str, ordered: DataFrame, schema: pa.Schema, prefix: str) -> list[Portion]:
    """Let the tasks write the rows of a frame. Its columns are named by their places meanwhile."""
    plain = ordered.toDF(*(f"c{place}" for place in range(len(schema))))
    with spark_errors(f"staging events for {path}"), uncounted_bytes(ordered.sparkSession):
        messages = plain.mapInArrow(partial(_task, path, schema, prefix), "said string").collect()
    return [Portion.from_json(said) for said in map(heard, messages)]


def _task(
    path: str, schema: pa.Schema, prefix: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What a task answers: a line for each portion, or what is wrong."""
    said: list[dict[str, Any]]
    try:
        said = [each.to_json() for each in stage_events(path, batches, schema, prefix)]
    except WavedexError as error:
        said = [errors.tell(error)]
    if said:
        yield pa.record_batch({"said": [*map(json.dumps, said)]})


@dataclass(frozen=True)
class SetSink:
    """Takes micro-batches of events; make one with `set_sink`."""

    target: Path | TemporalSet
    names: Names = field(default_factory=Names)
    say: Callable[[int, int], object] | None = None

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Take one micro-batch of the query that is running."""
        names = self.names
        count = load_set(
            self.target,
            frame,
            oid=names.oid,
            time=names.time,
            op=names.op,
            stream=stream_of(frame),
            number=number,
        )
        if self.say is not None:
            self.say(number, count)


def set_sink(
    target: Path | TemporalSet,
    *,
    oid: str = "oid",
    time: str = "time",
    op: str = "op",
    say: Callable[[int, int], object] | None = None,
) -> SetSink:
    """What to hand to `foreachBatch`, to load a stream of events into a set, each of them once.

    Each micro-batch is loaded as `load_set` does it. The query's id and the batch's number stand in
    the commit that has its events, so a batch that comes again is passed over. Several streams may
    feed a set, but none may bring an event from before the last change: the query stops with
    TimeBackwards then, and the set is as it was. `say` is told the number of each batch, and how
    many events it brought.
    """
    return SetSink(target, Names(oid, time, op), say)
