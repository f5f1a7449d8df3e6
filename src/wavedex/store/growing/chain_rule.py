"""The rule of the chained store: number and size of a key's buckets, and when they are joined.

The size of a key's buckets follows the number of its entries, so hot and cold keys have about as
many buckets. Sizes are those of one series (`wavedex.store.room`).

1. A key that is new gets buckets of the least size of which `per_key` hold its entries. All but its
   last are full.
2. Entries that are added to a key are merged with its last bucket, unless that is full. The result
   is cut into buckets of the size that the last bucket had. These stand behind the key's other
   buckets, which stay as they are. The same is done with what is left of buckets that lost entries
   from their middle.
3. A key that would then have more than twice `per_key` buckets, rounded up, is *crowded*. Its new
   buckets are of the size that its entries ask for now, as if it were new. All its buckets with at
   most half that many entries are joined to them.
4. A key is *roomy* if its buckets would then have more than four times the room that it would get
   if it were new. All its entries go into new buckets, of the size that they ask for now.

So no key ever has more than ceil(2 * per_key) buckets. Let it have c entries, and let s be the size
that they ask for, at least c / per_key. A crowded key keeps buckets with more than s / 2 entries
each. There are fewer of these than twice the entries in them over s. The key gets new buckets for
its other entries: fewer than those entries over s, plus one. In all it has fewer than 2 * c / s + 1
buckets.

By the same count, a key that was just crowded takes at least s / 2 entries more before it is
crowded again. So joining copies a few entries for each that is added. Knows neither files nor keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wavedex.store.directory import I64, Bools
from wavedex.store.room import Sizes

ROOMY = 4
"""How many times the room of a new key a key may have.

That is two sizes of a series that doubles, so that a key whose entries go up and down by half is
left alone.
"""


@dataclass(frozen=True)
class BucketsAsked:
    """What an update asks of chains."""

    starts: I64
    """For each key its first bucket, and at the end the number of buckets."""
    arriving: I64
    """For each key how many entries arrive for it."""
    touched: Bools
    """For each key whether it is touched at all."""
    sizes: I64
    """For each bucket its size."""
    living: I64
    """For each bucket how many of its entries are still there."""
    loose: Bools
    """For each bucket whether it has to be written anew in any case."""


def plan_buckets(series: Sizes, asked: BucketsAsked) -> tuple[Bools, I64]:
    """Which buckets are written anew, and of what size each key's new buckets are.

    ENSURES: loose buckets are written anew if anything of them is left. Buckets of a key that is
    not touched never are.
    """
    starts, living = asked.starts, asked.living

    def of_keys(values: I64 | Bools) -> I64:
        sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        return sums[starts[1:]] - sums[starts[:-1]]

    counts = of_keys(living) + asked.arriving
    fitting = series.of_buckets(counts)
    own = fitting.copy()
    has_buckets = starts[1:] > starts[:-1]
    own[has_buckets] = asked.sizes[starts[1:][has_buckets] - 1]
    stays = (living > 0) & ~asked.loose
    made = _buckets(of_keys(living * asked.loose) + asked.arriving, own)
    crowded = asked.touched & (of_keys(stays) + made > np.ceil(2 * series.per_key))
    room, room_of_new = (
        of_keys(stays * asked.sizes) + made * own,
        _buckets(counts, fitting) * fitting,
    )
    roomy = asked.touched & (room > ROOMY * room_of_new)
    sizes = np.where(crowded | roomy, fitting, own)
    lengths = np.diff(starts)
    is_thin = np.repeat(crowded, lengths) & (2 * living <= np.repeat(fitting, lengths))
    return (living > 0) & (asked.loose | is_thin | np.repeat(roomy, lengths)), sizes


def cut(counts: I64, sizes: I64) -> tuple[I64, I64, I64]:
    """Cut each key's count of entries into buckets of its size.

    Returns for each bucket its key, its size and how many entries it gets.
    """
    lengths = _buckets(counts, sizes)
    owners = np.repeat(np.arange(len(counts)), lengths)
    filled = sizes[owners]
    some = np.flatnonzero(lengths)
    filled[np.cumsum(lengths)[some] - 1] = (counts - (lengths - 1) * sizes)[some]
    return owners, sizes[owners], filled


def _buckets(counts: I64, sizes: I64) -> I64:
    """How many buckets of a size hold each count of entries."""
    return -(-counts // sizes)
