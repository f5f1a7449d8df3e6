"""Ring indexes, a method a file."""
