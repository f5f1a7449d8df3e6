"""Between the types of Arrow and those of Spark, both ways."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructField, StructType

from wavedex.errors import SchemaMismatch
from wavedex.spark.batches import BATCH_ROWS

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.timestamp("us"),
}

_DIGITS_MAX = 38
"""The most digits of a decimal in Spark. It has no negative scale either."""


def spark_type(field: pa.Field) -> DataType:
    """The type of a column in Spark, or the next wider one where Spark has none of its own.

    Raises SchemaMismatch.
    """
    kind = field.type
    if pt.is_dictionary(kind):
        kind = kind.value_type
    kind = _WIDER.get(kind, kind)
    refusal = SchemaMismatch(
        f"Spark has no type for column {field.name!r} of type {field.type}. "
        "Leave it out with the option columns."
    )
    if pt.is_decimal(kind) and (kind.precision > _DIGITS_MAX or kind.scale < 0):
        raise refusal
    try:
        return from_arrow_type(kind)
    except PySparkException as error:
        raise refusal from error


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns of a frame as Arrow has them, times in UTC. Raises SchemaMismatch."""
    fields = []
    for field in schema:
        try:
            fields += to_arrow_schema(StructType([field]), timezone="UTC")
        except PySparkException as error:
            raise SchemaMismatch(
                f"Arrow has no type for column {field.name!r} of type "
                f"{field.dataType.simpleString()}. Cast it, or leave it out."
            ) from error
    return pa.schema(fields)


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as Spark has them."""
    return StructType([StructField(field.name, spark_type(field)) for field in schema])


def for_spark(table: pa.Table | pa.RecordBatch, schema: StructType) -> list[pa.RecordBatch]:
    """Rows with the very types that Spark expects; what is finer than a microsecond is cut off."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    columns = [_cast(table.column(field.name), field.type) for field in wanted]
    return pa.table(columns, schema=wanted).to_batches(max_chunksize=BATCH_ROWS)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if (pt.is_timestamp(column.type) or pt.is_duration(column.type)) and column.type.unit == "ns":
        column = _whole_microseconds(column).cast(kind)
    return column.cast(kind)


def _whole_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The number of the microsecond in which each nanosecond lies.

    That holds before 1970 too, where division rounds up.
    """
    fine = column.cast(pa.int64())
    whole = pc.divide(fine, 1000)
    return pc.subtract(whole, pc.less(fine, pc.multiply(whole, 1000)).cast(pa.int64()))
