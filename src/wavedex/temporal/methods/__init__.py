"""Ways to keep the history of a set, a method a module."""
