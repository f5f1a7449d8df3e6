"""The lifetime index: rows that have ends of their own, in a grid of sub-indexes."""
