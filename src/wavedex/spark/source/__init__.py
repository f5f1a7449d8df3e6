"""The data source `format("wavedex")`: read, write, follow the changes."""
