"""Parts that are sorted once and never change: Arrow and Parquet."""
