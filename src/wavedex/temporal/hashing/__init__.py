"""Hashing of the ids that are alive, whose evolution the partially persistent methods keep."""
