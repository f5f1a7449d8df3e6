"""Whether pages of Snapshot Indexes that came from a folder lead to pages, and to an end.

A search goes to the left in a list, and down and up in the access forest. It comes to an end if
whatever is to the left of a page, its parent and its sibling are older pages, children are newer
ones, and children and siblings agree about their parent.
"""

from __future__ import annotations

import numpy as np

from wavedex.temporal.changes import I32, NOW
from wavedex.temporal.methods.snapshot_kernels import (
    ACCEPTOR,
    BUCKET,
    CHILD,
    END,
    ENTRIES,
    FIRST_CHILD,
    LEFT,
    PARENT,
    RIGHT,
    SIBLING,
    START,
    TREE,
    TREE_ROOM,
)
from wavedex.temporal.soundness import Known, are_in, demand, demand_own, demand_runs, demand_times

_FOREST = "the access forest is none"


def check_forest(halves: I32, lines: I32, known: Known) -> None:
    """Raise Damaged where lists or the access forest lead nowhere, or go round in circles."""
    owner, parent = halves[:, BUCKET], halves[:, PARENT]
    demand(are_in(owner, 0, len(lines)), "a page is that of a bucket that is not there")
    demand_times(halves[:, START], halves[:, END], known)
    is_over = halves[:, END] != NOW
    for place in (LEFT, PARENT, SIBLING, RIGHT, CHILD):
        column = halves[:, place]
        there = np.flatnonzero(column >= 0)
        others = column[there]
        demand(are_in(column, -1, len(halves)), "a page has a neighbour that is not there")
        demand((owner[others] == owner[there]).all(), "a page has a neighbour of another bucket")
        is_newer = place in (RIGHT, CHILD)
        demand(((others > there) == is_newer).all() and (others != there).all(), _FOREST)
        if place in (SIBLING, CHILD):
            above = parent[there] if place == SIBLING else there
            demand(is_over[others].all() and (parent[others] == above).all(), _FOREST)
    for place in (ACCEPTOR, FIRST_CHILD):
        used = np.flatnonzero(lines[:, place] != -1)
        demand_own(lines[used, place], used, owner, "a bucket")
    children = lines[:, FIRST_CHILD][lines[:, FIRST_CHILD] >= 0]
    demand(is_over[children].all() and (parent[children] < 0).all(), _FOREST)


def check_trees(halves: I32, lines: I32, trees: I32) -> None:
    """Raise Damaged where time-trees lie nowhere, or lead to pages that are not their bucket's."""
    runs = lines[:, [TREE, ENTRIES, TREE_ROOM]]
    entries = demand_runs(runs, len(trees), "a time-tree lies nowhere")
    buckets = np.repeat(np.arange(len(lines)), lines[:, ENTRIES])
    demand_own(trees[entries, 1], buckets, halves[:, BUCKET], "a time-tree")
