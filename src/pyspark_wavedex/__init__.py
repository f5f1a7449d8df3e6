"""Where Spark looks for the data source `wavedex`.

Spark imports every package whose name begins with `pyspark_`.
"""

from wavedex.spark.source.data_source import WavedexSource as DefaultSource

__all__ = ["DefaultSource"]
