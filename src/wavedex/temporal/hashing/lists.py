"""The lists of what is alive, one for each bucket, as a folder has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavedex.temporal.changes import I32, I64
from wavedex.temporal.soundness import are_in, demand

_WHAT = "the lists of the ids that are alive do not fit each other"


class Lists(NamedTuple):
    """Lists by their entries."""

    heads: I32
    """The first entry of each bucket; -1 without one."""
    counts: I32
    """How many each bucket has."""
    after: I32
    before: I32


def check_lists(lists: Lists, places: I64, buckets: I64) -> None:
    """Raise Damaged where not every entry that is alive is in the list of its bucket, once.

    `places` are these entries, and `buckets` the bucket of each.
    ENSURES: every list comes to an end, and each entry can be taken out of it.
    """
    heads, counts, after, before = lists
    room = len(after)
    demand(len(before) == room and are_in(places, 0, room), _WHAT)
    demand(are_in(heads, -1, room) and are_in(buckets, 0, len(heads)), _WHAT)
    demand(len(counts) == len(heads), _WHAT)
    demand((np.bincount(buckets, minlength=len(heads)) == counts).all(), _WHAT)
    bucket_of = np.full(room, -1, np.int64)
    bucket_of[places] = buckets
    used = np.flatnonzero(heads >= 0)
    demand((bucket_of[heads[used]] == used).all() and (before[heads[used]] < 0).all(), _WHAT)
    for links, back in ((after, before), (before, after)):
        demand(are_in(links[places], -1, room), _WHAT)
        inner = places[links[places] >= 0]
        others = links[inner]
        demand((bucket_of[others] == bucket_of[inner]).all(), _WHAT)
        demand((back[others] == inner).all(), _WHAT)
    firsts = before[places] < 0
    demand((heads[buckets[firsts]] == places[firsts]).all(), _WHAT)
