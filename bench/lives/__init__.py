"""What the lifetime index is measured by, piece by piece.

`bench.lifetimes` runs the pieces and writes the report.
"""
