"""Rows as Arrow holds them: their keys, their order, their hashes, and what of them counts as the same."""
