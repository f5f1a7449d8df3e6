"""What counts as rows: everything that is a table of Arrow's, or can be read as one.

A table is taken as it is. Readers, lists of batches, data frames and whatever else offers Arrow's C
interface are read once, from their first row to their last. Pandas, Polars, DuckDB and many more
offer it. Nothing of theirs is imported: they are told by what they offer. Whether columns and types
fit an index is not asked here (`wavedex.index.core.arrival`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from wavedex.errors import SchemaMismatch

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""A column that Arrow makes of an index of pandas without a name."""
WANTED = "Pass a pyarrow Table, RecordBatch or RecordBatchReader, or a pandas or Polars data frame."


def to_table(data: Any) -> pa.Table:
    """The rows as a table. Raises SchemaMismatch if they cannot be read as one."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if _is_of(data, "polars", "LazyFrame"):
        raise SchemaMismatch("A lazy frame has no rows yet. Pass what its collect() returns.")
    if isinstance(data, list | tuple):
        return _from_list(data)
    if not _is_arrow(data):
        raise SchemaMismatch(f"Cannot read {_named(data)} as a table. {_hint(data)}{WANTED}")
    if _is_of(data, "polars", "DataFrame") and (opaque := _opaque_columns(data)):
        raise SchemaMismatch(
            f"The column {opaque[0]!r} of the frame holds Python objects, which cannot be stored. "
            "Cast or drop it."
        )
    try:
        if _is_of(data, "pandas", "DataFrame"):
            # Arrow leaves out an index that only counts, even where it has the name of a column.
            named = any(name is not None for name in data.index.names)
            return pa.Table.from_pandas(data, preserve_index=True if named else None)
        if _is_of(data, "pyspark", "DataFrame"):
            return data.toArrow()  # What it offers to Arrow fails where it has times.
        return data.read_all() if isinstance(data, pa.RecordBatchReader) else pa.table(data)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise SchemaMismatch(f"Cannot read {_named(data)} as a table: {error}. {WANTED}") from error


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns without those that pandas counts rows with, and without what it notes of them."""
    kept = [field for field in schema if not PANDAS_INDEX.fullmatch(field.name)]
    notes = {name: note for name, note in (schema.metadata or {}).items() if name != b"pandas"}
    return pa.schema(kept, notes or None)


def _from_list(several: Sequence[Any]) -> pa.Table:
    """The rows of a list of batches or tables, one after the other."""
    if not all(isinstance(one, pa.RecordBatch | pa.Table) for one in several):
        hint = _hint(next(iter(several)))
        raise SchemaMismatch(f"Cannot read {_named(several)} as a table. {hint}{WANTED}")
    if not several:
        raise SchemaMismatch(
            "An empty list has neither rows nor columns. Pass schema.empty_table() for a batch "
            "without rows."
        )
    try:
        return pa.concat_tables([to_table(one) for one in several])
    except pa.ArrowException as error:
        raise SchemaMismatch(
            f"The batches of the list do not have the same columns: {error}. Append them one by "
            "one."
        ) from error


def _is_arrow(data: Any) -> bool:
    """Whether it offers rows through Arrow's C interface. Classes do too, but have no rows."""
    offered = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return offered and not isinstance(data, type)


def _is_of(data: Any, package: str, kind: str) -> bool:
    """Whether it is an object of a class of a package that need not be imported."""
    return any(
        cls.__name__ == kind and cls.__module__.partition(".")[0] == package
        for cls in type(data).__mro__
    )


def _opaque_columns(frame: Any) -> list[str]:
    """The columns of a Polars frame that Polars hands over as addresses of Python objects."""
    return [name for name, kind in frame.schema.items() if str(kind) == "Object"]


def _named(data: Any) -> str:
    inner = f" of {type(data[0]).__name__}" if isinstance(data, list | tuple) and data else ""
    return f"a {type(data).__name__}{inner}"


def _hint(data: Any) -> str:
    """What to do with things that people try."""
    if isinstance(data, dict):
        return "Make a table of dictionaries with pyarrow.Table.from_pylist or from_pydict. "
    if isinstance(data, str | bytes) or hasattr(data, "__fspath__"):
        return "To append a file, read it first, or use the command wavedex append. "
    if hasattr(data, "to_table"):
        return "Pass what its to_table() returns. "
    return ""
