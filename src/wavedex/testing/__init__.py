"""A kit for testing indexes, shipped with the library: an oracle, and disks that crash, forget, fill up and count."""
