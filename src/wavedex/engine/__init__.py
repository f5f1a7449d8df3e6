"""Mechanism: carries out a plan over the shards of an index."""
