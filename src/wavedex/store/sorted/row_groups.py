"""The directory of a Parquet part: from a key to the row groups that can hold its rows.

The Parquet file is not opened for that. The directory has the first and the last row of each row
group, by key and time. That is enough, since rows are sorted by both. It also has a table of marks,
which rules out most keys that are not there. A mark is one byte of a key's hash, put where a table
of buckets would have the bucket's number.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.rows.arrow import number_view, to_arrow
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import KeyType, Plain
from wavedex.rows.order import spread_ranges
from wavedex.store.directory import I64, Bools, HashTable, assign_places
from wavedex.store.shard import Range
from wavedex.store.sorter import SortedRows

MARKS = 255
"""As many marks as a byte has numbers besides 0, which is an empty place.

A look-up of a key that is not there compares a few of them. So about one in a hundred such keys
costs the reading of a row group.
"""


def describe_groups(
    spec: EntrySpec, rows: SortedRows, group_rows: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays and the metadata of the directory of sorted rows in row groups of this size."""
    count = rows.batch.num_rows
    firsts = np.arange(0, count, group_rows)
    lasts = np.minimum(firsts + group_rows, count) - 1
    keys, times = spec.keys(rows.batch), spec.ordinals(rows.batch)
    marks, bits = build_marks(rows.hashes)
    arrays = {
        "first_keys": keys.take(to_arrow(firsts)),
        "last_keys": keys.take(to_arrow(lasts)),
        "first_times": times[firsts],
        "last_times": times[lasts],
        "marks": marks,
    }
    return arrays, {"bits": str(bits), "group_rows": str(group_rows)}


def build_marks(hashes: U64) -> tuple[npt.NDArray[np.uint8], int]:
    """The table of marks for keys with these hashes, and how many bits of a hash name a home."""
    order, places, bits, size = assign_places(hashes)
    marks = np.zeros(size, np.uint8)
    marks[places] = hashes[order] % np.uint64(MARKS) + np.uint64(1)
    return marks, bits


class Groups:
    """The row groups of a part."""

    def __init__(
        self, key_type: KeyType, arrays: Mapping[str, pa.Array], metadata: Mapping[str, str]
    ) -> None:
        for each in arrays.values():
            each.validate(full=True)
        self.arrays = arrays
        self.rows = int(metadata["group_rows"])
        self._key_type = key_type
        self.marks = HashTable(number_view(arrays["marks"]), int(metadata["bits"]))
        self._first_key = key_type.reader(arrays["first_keys"])
        self._last_key = key_type.reader(arrays["last_keys"])
        self._first_time = number_view(arrays["first_times"]).data
        self._last_time = number_view(arrays["last_times"]).data

    def __len__(self) -> int:
        return len(self._first_time)

    def may_hold(self, hashed: int) -> bool:
        """Whether a key with this hash can be there. COST: a few looks into memory."""
        return self.marks.find(hashed, (hashed % MARKS).__eq__) >= 0

    def may_hold_many(self, hashes: U64) -> Bools:
        """The same of several keys."""
        wanted = (hashes % np.uint64(MARKS)).astype(np.int64)
        return self.marks.find_many(hashes, lambda rows, marks: marks == wanted[rows]) >= 0

    def between(self, low: Plain, high: Plain, within: Range | None) -> range:
        """The groups that can hold rows of keys between two, both included, and of these times."""
        since, until = within or (-float("inf"), float("inf"))
        every = range(len(self))
        start = bisect_left(every, (low, since), key=self._last)
        return range(start, max(start, bisect_left(every, (high, until), key=self._first)))

    def of_keys(self, keys: pa.Array) -> list[int]:
        """The groups that can hold rows of any of these keys, in order."""
        firsts, lasts = self.arrays["first_keys"], self.arrays["last_keys"]
        ranks = self._key_type.ranks(pa.concat_arrays([firsts, lasts, keys]))
        first_ranks, last_ranks, wanted = np.split(ranks, [len(self), 2 * len(self)])
        starts = np.searchsorted(last_ranks, wanted, "left")
        stops = np.searchsorted(first_ranks, wanted, "right")
        counts: I64 = np.maximum(stops - starts, 0)
        return np.unique(spread_ranges(starts, counts)).tolist()

    def _first(self, group: int) -> tuple[Plain, int]:
        return self._first_key(group), self._first_time[group]

    def _last(self, group: int) -> tuple[Plain, int]:
        return self._last_key(group), self._last_time[group]
