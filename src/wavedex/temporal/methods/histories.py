"""What keeps the history of each bucket can do, and how lifespans are told from its pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, NO_POINTER, NOW, Bools, BucketPages, Lifespans
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.layout import HEADER, Layout
from wavedex.temporal.merging import merged
from wavedex.temporal.methods.contract import Arrays
from wavedex.temporal.soundness import Known, are_in, demand

COUNT, START, END = 0, 2, 3
"""Places in the headers of pages: how many records there are, when the first of them came, and when
the page ceased to be useful."""


class Histories(Protocol):
    """The histories of buckets, whatever they are buckets of."""

    @property
    def arrays(self) -> Arrays:
        """All that it keeps."""

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""

    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""

    @property
    def pages(self) -> int:
        """Pages of records, and of what leads to them."""

    def apply(self, events: Events, buckets: int, entries: int) -> None:
        """Take events in. There are so many buckets, and so many entries were given out."""

    def find(self, bucket: int, oid: int, version: int) -> int:
        """The pointer of an id of a bucket at a version; -2 where it was not there."""

    def find_many(self, buckets: I32, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many."""

    def alive_at(self, buckets: I32, version: int) -> tuple[I64, I32]:
        """The ids of some buckets at a version, and their pointers."""

    def was_alive(self, bucket: int, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive in a bucket at some version of a span, both ends included."""

    def lifespans(self, oid: int, buckets: I32) -> Lifespans:
        """All lifespans of an id that was in some of these buckets."""

    def everything(self) -> Lifespans:
        """All lifespans of all ids."""

    def pages_of(self, bucket: int) -> BucketPages:
        """The pages of a bucket."""

    def findings(self, alive: int) -> Iterator[str]:
        """What is wrong with the pages, in sentences. So many ids are alive."""


def records_in(
    pages: I64, words: I64, halves: I32, layout: Layout, oid: int | None = None
) -> tuple[I64, I32, I32, I32]:
    """Ids, beginnings, ends and pointers of the records of some pages, or of those of one id.

    They are as they lie there. Only a record that has not ended has the end of its page.
    """
    found, records = halves[pages], layout.records
    there = np.arange(records) < found[:, [COUNT]]
    if oid is not None:
        there &= words[pages, HEADER : HEADER + records] == oid
    rows, at = there.nonzero()
    first = 2 * (HEADER + records)
    starts, ends = found[rows, first + at], found[rows, first + records + at]
    ends = np.where(ends < 0, found[rows, END], ends)
    pointers = np.full(len(rows), NO_POINTER, np.int32)
    if layout.has_pointers:
        pointers = found[rows, first + 2 * records + at]
    return words[pages[rows], HEADER + at], starts, ends, pointers


def check_records(
    pages: I64, layout: Layout, known: Known, is_one: Bools | None = None, copies: bool = False
) -> None:
    """Raise Damaged where records of pages name times or rows that are not there.

    `is_one` says which of the pages have such records: all of them without it. If there are
    `copies`, a bit of a beginning says so, and a negative end that a record has not ended.
    COST: looks at times, and at which places hold a record only where some are strange.
    """
    halves, records, versions = pages.view(np.int32), layout.records, known.versions
    counts = halves[:, COUNT] if is_one is None else np.where(is_one, halves[:, COUNT], 0)
    demand(are_in(counts, 0, records + 1), "a page counts records that it has no room for")
    first = 2 * (HEADER + records)
    starts, ends, pointers = (
        halves[:, first + place * records : first + (place + 1) * records] for place in range(3)
    )
    wrong = [(starts & NOW) >= versions, (ends >= versions) & (ends != NOW)]
    if not copies:
        wrong += [starts < 0, ends < 0]
    if layout.has_pointers:
        wrong += [(pointers < NO_POINTER) | (pointers >= known.rows)]
    if any(each.any() for each in wrong):
        there = np.arange(records) < counts[:, None]
        fits = not any((each & there).any() for each in wrong)
        demand(fits, "a record names a time or a row that is not there")


def spans_in(
    pages: I64, words: I64, halves: I32, layout: Layout, oid: int | None = None
) -> Lifespans:
    """The lifespans that some pages tell of, or those of one id."""
    ids, starts, ends, pointers = records_in(pages, words, halves, layout, oid)
    return merged(ids, starts & NOW, ends, starts < 0, pointers)


def bucket_pages(pages: I64, halves: I32, layout: Layout) -> BucketPages:
    """What some pages of a bucket say of themselves."""
    found, first = halves[pages], 2 * (HEADER + layout.records)
    is_used = np.arange(layout.records) < found[:, [COUNT]]
    is_copy = is_used & (found[:, first : first + layout.records] < 0)
    return BucketPages(
        pages,
        found[:, START],
        found[:, END],
        found[:, COUNT],
        is_copy.sum(axis=1, dtype=np.int32),
    )


def tree_pages(entries: npt.NDArray[Any], fanout: int) -> int:
    """Pages of trees over as many entries each: a root and what is below it."""
    pages = 0
    while (entries > 0).any():
        entries = -(-entries // fanout)
        pages += int(entries.sum())
        entries = np.where(entries > 1, entries, 0)
    return pages
