"""Grids: rows of variable lifetimes, by when they came and by when they go."""
