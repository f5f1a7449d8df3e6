"""How rows go between Spark and Python: in Arrow's batches, bounded by rows and not by bytes.

Spark bounds a batch by its bytes too. For that it adds up all buffers of the batch after every row,
which takes more than twice the time of the rows themselves. So the bound is lifted where nobody has
set one, and a batch has few enough rows for a row to be large.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

BATCH_ROWS = 1 << 16
"""Rows in a batch that Python hands to Spark."""
ROWS_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
ROWS_MAX = 1 << 14
"""Rows in a batch that Spark hands to Python."""
BYTES_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_BOUND = 2**31 - 1
"""As many bytes as this, and Spark does not count them."""


@contextmanager
def uncounted_bytes(spark: SparkSession) -> Iterator[None]:
    """Let a session hand over batches without counting their bytes, unless somebody bounds them."""
    if BYTES_SETTING in spark.conf.getAll:
        yield
        return
    spark.conf.set(BYTES_SETTING, NO_BOUND)
    try:
        yield
    finally:
        spark.conf.unset(BYTES_SETTING)
