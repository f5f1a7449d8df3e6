"""Measurements with checked answers: `python -m bench`."""
