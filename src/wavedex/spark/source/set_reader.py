"""Reading a set over time: who was in it at a time, or all lifespans.

One task reads it: a set answers from memory, and every task would have to open all of it. A frame
stays at the commit that was the newest when it was loaded, as one of an index does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from wavedex.errors import MissingColumn, SchemaMismatch
from wavedex.files.address import files_at
from wavedex.spark.held_commit import HeldCommit, hold_newest_in
from wavedex.spark.types import for_spark
from wavedex.temporal import TemporalSet
from wavedex.temporal.commit import set_journal


def hold_set(path: str) -> tuple[pa.Schema, HeldCommit]:
    """The columns of ids, times and rows of the newest commit of a set, which is held from now on.

    Raises SchemaMismatch where they are not known yet.
    """
    commit, held = hold_newest_in(set_journal(files_at(path)))
    if commit.schema is None:
        raise SchemaMismatch(
            f"The set at {path} has had no events yet, so its columns are not known. Load some, or "
            "create it with their types: TemporalSet.create(path, ids=..., times=..., rows=...)."
        )
    return commit.schema, held


def answer_schema(known: pa.Schema, at: str | None, columns: Sequence[str]) -> pa.Schema:
    """The columns of what is read: all, or those that are named.

    `known` are those of ids, times and rows. Raises BadTime for a time that is none, and
    MissingColumn.
    """
    ids, times, *rows = known
    empty = TemporalSet.create(ids=ids.type, times=times.type, rows=pa.schema(rows))
    schema = _answer(empty, at).schema
    _check_columns(schema.names, columns)
    return pa.schema([schema.field(name) for name in columns or schema.names])


def _answer(found: TemporalSet, at: str | None) -> pa.Table:
    return found.lifespans() if at is None else found.snapshot(at)


def _check_columns(known: Sequence[str], columns: Sequence[str]) -> None:
    for name in columns:
        if name not in known:
            raise MissingColumn(
                f"There is no column {name!r} in what is read of the set. There are "
                f"{', '.join(known)}."
            )


@dataclass
class SetPiece(InputPartition):
    """All of a set."""

    held: HeldCommit


class SetReader(DataSourceReader):
    """Reads a set as of a time, or all of its lifespans."""

    def __init__(
        self, path: str, schema: StructType, at: str | None, held: HeldCommit | None
    ) -> None:
        """`held` is the commit at which the frame stays.

        Without it, the newest is read each time it is planned.
        """
        self.path, self.schema, self.at, self.held = path, schema, at, held

    def partitions(self) -> list[SetPiece]:
        if self.held is None:
            return [SetPiece(hold_set(self.path)[1])]
        journal = set_journal(files_at(self.path))
        with self.held.reading_set(journal):
            journal.read(self.held.commit)
        return [SetPiece(self.held)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SetPiece)
        with partition.held.reading_set(set_journal(files_at(self.path))):
            found = TemporalSet.open(self.path, commit=partition.held.commit)
        table = _answer(found, self.at)
        _check_columns(table.schema.names, self.schema.names)
        yield from for_spark(table.select(self.schema.names), self.schema)
