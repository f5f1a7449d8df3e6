"""What the lifetime index is measured by, piece by piece: `bench.lifetimes` runs them and writes the report."""
