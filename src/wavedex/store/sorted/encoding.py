"""How columns are kept in Parquet: in which type, in which encoding, and whether compressed.

Parquet has fewer types than Arrow. Dictionaries are kept as their values and dates as days, and
come back in the type of the index. A type that does not come back is refused when the index is
created. In small row groups a writer's usual choices cost room. So each column is written in the
way that made one row group of it smallest. Columns that gain little by compression are left
uncompressed.

`pyarrow.parquet` takes fifty milliseconds to import, so it is imported only where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition
from wavedex.rows.arrow import restored
from wavedex.rows.entries import EntrySpec

SLACK = 1 / 16
"""How much room may be given away for faster probes.

Each page that is not compressed saves a probe 25 microseconds.
"""
_DELTAS = {
    "INT32": "DELTA_BINARY_PACKED",
    "INT64": "DELTA_BINARY_PACKED",
    "BYTE_ARRAY": "DELTA_BYTE_ARRAY",
}
"""How differences to the value before are encoded.

Keys are sorted, and so are the times of one key.
"""


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type in which a column is handed to Parquet."""
    if pt.is_dictionary(kind):
        return stored_type(kind.value_type)
    return pa.date32() if pt.is_date64(kind) else kind


def stored_table(batch: pa.RecordBatch) -> pa.Table:
    """Rows in the types in which they are handed to Parquet.

    Raises ArrowInvalid for dates that are not whole days.
    """
    columns, fields = [], []
    for column, field in zip(batch.columns, batch.schema, strict=True):
        if pt.is_dictionary(column.type):
            column = column.dictionary.take(column.indices)
        fields.append(field.with_type(stored_type(field.type)))
        columns.append(column.cast(fields[-1].type))
    return pa.table(columns, schema=pa.schema(fields, batch.schema.metadata))


def check_types(spec: EntrySpec) -> None:
    """Raise BadDefinition for a column whose type does not come back from Parquet as it was."""
    for field in spec.schema:
        if not _comes_back(field.type):
            raise BadDefinition(
                f"Column {field.name!r} of type {field.type} cannot be kept in Parquet. Cast it "
                "to a plainer type, leave it out with include=, or use format='arrow'."
            )


def _comes_back(kind: pa.DataType) -> bool:
    """Whether Parquet keeps a type: by its own account, and in two row groups read as one."""
    import pyarrow.parquet as pq

    # Parquet would keep a duration as a number, and give a nested dictionary back in pieces, if at
    # all.
    nested = [inner for inner in _inner_types(kind) if pt.is_dictionary(inner)]
    if nested or any(map(pt.is_duration, (kind, *_inner_types(kind)))):
        return False
    sink = pa.BufferOutputStream()
    try:
        table = stored_table(pa.record_batch([pa.nulls(2, kind)], names=["column"]))
        pq.write_table(table, sink, row_group_size=1)
        column = pq.ParquetFile(pa.BufferReader(sink.getvalue())).read().column(0)
        return restored(column.combine_chunks(), kind).type == kind
    except (pa.ArrowException, OSError, TypeError, ValueError):
        return False


def _inner_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    inner = [kind.value_type] if pt.is_dictionary(kind) else []
    inner += [kind.field(place).type for place in range(kind.num_fields)]
    for each in inner:
        yield each
        yield from _inner_types(each)


def choose_encodings(sample: pa.Table) -> dict[str, Any]:
    """The options with which a Parquet writer makes rows like these small.

    `sample` is one row group. It is written in each way, without going to disk.
    """
    plain = _try(sample, use_dictionary=False)
    coded = _try(sample, use_dictionary=True)
    deltas = {
        path: _DELTAS[chunk.physical_type]
        for path, chunk in plain.items()
        if chunk.physical_type in _DELTAS
    }
    delta = _try(sample, use_dictionary=False, column_encoding=deltas)
    chosen: dict[str, Any] = {}
    for path, chunk in plain.items():
        best = min(coded[path], delta[path], key=_size)
        chosen[path] = best if _size(best) < _size(chunk) * (1 - SLACK) else chunk
    return {
        "use_dictionary": [path for path, chunk in chosen.items() if chunk is coded[path]],
        "column_encoding": {
            path: encoding for path, encoding in deltas.items() if chosen[path] is delta[path]
        },
        "compression": _choose_codecs(chosen),
    }


def _choose_codecs(chunks: dict[str, Any]) -> dict[str, str]:
    """Compress the columns that gain most by it.

    The others stay as they are: what they would gain is within what may be given away.
    """
    gains = {
        path: max(0, chunk.total_uncompressed_size - _size(chunk)) for path, chunk in chunks.items()
    }
    slack = SLACK * sum(map(_size, chunks.values()))
    codecs = {}
    for path in sorted(chunks, key=gains.__getitem__):
        slack -= gains[path]
        codecs[path] = "none" if slack >= 0 else "zstd"
    return codecs


def _size(chunk: Any) -> int:
    return int(chunk.total_compressed_size)


def _try(sample: pa.Table, **how: Any) -> dict[str, Any]:
    """What Parquet says of each of its columns when the rows are written this way."""
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(sample, sink, compression="zstd", write_statistics=False, **how)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    chunks = (group.column(place) for place in range(group.num_columns))
    return {chunk.path_in_schema: chunk for chunk in chunks}
