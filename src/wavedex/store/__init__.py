"""One part of a sub-index: how it lies in files of our own or in a package of somebody else's, and how it is read."""
