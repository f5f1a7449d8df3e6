"""Writing events into a set over time through the data source: tasks stage, one process loads.

The tasks have the rows in the order of the frame. So the process that commits, which is one without
Spark, reads all of them, sorts them and loads them at once. For large batches
`wavedex.spark.load_set` is the better way, and `set_sink` for streams.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import xxhash
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from wavedex.files.address import files_at
from wavedex.files.names import staged_prefix
from wavedex.rows import compute as pc
from wavedex.spark.set_staging import (
    Portion,
    check_events,
    clear_events,
    clearing_events,
    read_events,
    stage_events,
)
from wavedex.spark.source.writer import query_id
from wavedex.temporal import TemporalSet
from wavedex.temporal.events import Names

Messages = list[WriterCommitMessage | None]


@dataclass
class SaidEvents(WriterCommitMessage):
    """What a task has staged."""

    portions: list[Portion]


class _Loader:
    """What both writers share: how a task stages, and how its events come into the set."""

    def __init__(self, path: str, schema: StructType, options: Mapping[str, str], token: str):
        named = {name.lower(): value for name, value in options.items()}
        asked = {name: named[name] for name in ("oid", "time", "op") if name in named}
        self.path, self.names, self.prefix = path, Names(**asked), staged_prefix(token)
        self.schema = check_events(schema, self.names, TemporalSet.open(path).schema)

    def write(self, batches: Iterator[pa.RecordBatch]) -> SaidEvents:
        return SaidEvents([*stage_events(self.path, batches, self.schema, self.prefix)])

    def load(self, messages: Messages, **turn: Any) -> None:
        """Load what the tasks have staged, and commit. `turn` says of which stream it is."""
        names, files = self.names, files_at(self.path)
        said = (cast(SaidEvents, each) for each in messages if each is not None)
        with clearing_events(files, self.prefix):
            portions = [portion for each in said for portion in each.portions]
            nothing = self.schema.empty_table()
            events = pa.concat_tables([nothing, *read_events(files, portions)])
            found = TemporalSet.open(self.path)
            ordered = _in_order(events, names)
            found.load(ordered, oid=names.oid, time=names.time, op=names.op, **turn)
            found.commit()

    def clear(self) -> None:
        clear_events(files_at(self.path), self.prefix)


def _in_order(events: pa.Table, names: Names) -> pa.Table:
    """The events by their times, and at one time removals before additions."""
    keys = pa.table({"time": events[names.time], "op": events[names.op]})
    order = [("time", "ascending"), ("op", "ascending")]
    return events.take(pc.sort_indices(keys, sort_keys=order))


class SetWriter(DataSourceArrowWriter):
    """Loads a batch of events."""

    def __init__(self, path: str, schema: StructType, options: Mapping[str, str]) -> None:
        self.loader = _Loader(path, schema, options, secrets.token_hex(8))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SaidEvents:
        return self.loader.write(iterator)

    def commit(self, messages: Messages) -> None:
        self.loader.load(messages)

    def abort(self, messages: Messages) -> None:
        self.loader.clear()


class SetStreamWriter(DataSourceStreamArrowWriter):
    """Loads the batches of a stream of events, each once."""

    def __init__(self, path: str, schema: StructType, options: Mapping[str, str]) -> None:
        named = {name.lower(): value for name, value in options.items()}
        self.stream = named.get("stream") or query_id(named.get("checkpointlocation", ""))
        token = xxhash.xxh64_hexdigest(self.stream.encode())
        self.loader = _Loader(path, schema, options, token)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> SaidEvents:
        return self.loader.write(iterator)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's
        self.loader.load(messages, stream=self.stream, number=batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803 - Spark's
        self.loader.clear()
