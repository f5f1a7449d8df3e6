"""One part of a sub-index: how it lies in our files or in another package, and how it is read."""
