"""Reading one commit: by key, by range, as a scan, from DuckDB and from Polars."""
