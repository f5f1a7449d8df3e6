"""Spark: from any source that it reads to an index, in batches or as a stream."""
