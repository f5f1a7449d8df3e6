"""Lifespans of records: a method may keep a lifespan in several records, one after the other."""

from __future__ import annotations

import numpy as np

from wavedex.temporal.changes import I32, I64, Bools, Lifespans


def merged(ids: I64, starts: I32, ends: I32, go_on: Bools, pointers: I32) -> Lifespans:
    """Lifespans by id and beginning, of records in any order.

    A record that goes on is the same lifespan as the one of its id that ends where it begins.
    Records that end where they begin are nothing.

    >>> import numpy as np
    >>> ids, no = np.array([7, 7, 7]), np.full(3, -1)
    >>> found = merged(ids, np.array([5, 1, 3]), np.array([9, 3, 5]), np.array([0, 0, 1], bool), no)
    >>> [*zip(found.starts.tolist(), found.ends.tolist())]
    [(1, 5), (5, 9)]
    """
    kept = np.flatnonzero(starts != ends)
    order = kept[np.lexsort((starts[kept], ids[kept]))]
    begins = np.flatnonzero(~go_on[order])
    lasts = np.append(begins[1:], len(order))[: len(begins)] - 1
    firsts = order[begins]
    return Lifespans(ids[firsts], starts[firsts], ends[order[lasts]], pointers[firsts])
