"""A kit for testing indexes, shipped with the library.

It has an oracle, and disks that crash, forget, fill up and count.
"""
