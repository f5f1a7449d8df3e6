"""Rows as Arrow holds them: keys, order, hashes, and which rows count as the same."""
