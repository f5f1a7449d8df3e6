"""What can be wrong with the pages of a multiversion B-tree, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavedex.temporal.changes import I32, I64, NOW, Bools
from wavedex.temporal.layout import HEADER
from wavedex.temporal.methods.mvbt_kernels import (
    ALIVE,
    COUNT,
    END,
    LEAST,
    LEVEL,
    POINTERS,
    RECORDS,
    START,
)


class Records:
    """The records of all pages of one kind: those of leaves, or those of directories."""

    def __init__(self, pages: I64, numbers: I64, sizes: I64) -> None:
        self.numbers = numbers
        """Which pages they are."""
        self.headers: I32 = pages.view(np.int32)[numbers, : 2 * HEADER]
        records = int(sizes[RECORDS])
        self.there: Bools = np.arange(records) < self.headers[:, [COUNT]]
        """Which places hold a record."""
        self.ids: I64 = pages[numbers, HEADER : HEADER + records]
        halves, first = pages.view(np.int32)[numbers], 2 * (HEADER + records)
        columns = [first + i * records for i in range(3 if sizes[POINTERS] else 2)]
        cut: list[I32] = [halves[:, start : start + records] for start in columns]
        self.starts, self.ends = cut[0], cut[1]
        self.pointers = cut[-1]
        self.alive: Bools = self.there & (self.ends == NOW)


def tree_findings(pages: I64, roots: I32, free: I32, sizes: I64) -> Iterator[str]:
    """What is wrong with a tree. Where one thing is, others may not be looked for."""
    if len(roots) == 0:
        return
    headers = pages.view(np.int32)[:, : 2 * HEADER]
    room = np.where(headers[:, LEVEL] > 0, sizes[1, RECORDS], sizes[0, RECORDS])
    if (headers[:, LEVEL] < 0).any() or (
        (headers[:, COUNT] < 0) | (headers[:, COUNT] > room)
    ).any():
        yield "the header of a page holds what no header can"
        return
    is_free = headers[:, START] == headers[:, END]
    if not np.array_equal(np.sort(free), np.flatnonzero(is_free)):
        yield "the pages that began and ended at one version are not those that are free"
    if (np.diff(roots[:, 0]) <= 0).any():
        yield "root* is not in order"
    if (roots[:, 1] < 0).any() or (roots[:, 1] >= len(pages)).any():
        yield "root* names a page that is not there"
        return
    leaves, directories = (
        Records(pages, np.flatnonzero(is_kind & ~is_free), sizes[kind])
        for kind, is_kind in enumerate((headers[:, LEVEL] == 0, headers[:, LEVEL] > 0))
    )
    last = int(roots[-1, 1])
    for records, line in ((leaves, sizes[0]), (directories, sizes[1])):
        yield from _page_findings(records, line, last)
    ids = leaves.ids[leaves.alive & _is_newest(leaves)[:, None]]
    if len(np.unique(ids)) != len(ids):
        yield "an id is alive in two leaves"
    yield from _root_findings(headers, roots)
    yield from _way_findings(directories, headers, pages, last)


def _is_newest(records: Records) -> Bools:
    newest: Bools = records.headers[:, END] == NOW
    return newest


def _page_findings(records: Records, line: I64, root: int) -> Iterator[str]:
    counted = records.alive.sum(axis=1)
    newest = _is_newest(records)
    if (counted != records.headers[:, ALIVE])[newest].any():
        yield "a page counts its records that are alive wrongly"
    if (counted < line[LEAST])[newest & (records.numbers != root)].any():
        yield "a page has fewer records that are alive than the weak version condition asks for"
    both = records.there[:, 1:]
    ids, starts = records.ids, records.starts
    later = (ids[:, 1:] == ids[:, :-1]) & (starts[:, 1:] > starts[:, :-1])
    if (both & ~(later | (ids[:, 1:] > ids[:, :-1]))).any():
        yield "the records of a page are not in order"
    if (records.there & (records.starts >= records.ends)).any():
        yield "a record ends before it begins"


def _root_findings(headers: I32, roots: I32) -> Iterator[str]:
    """Each root is there until the next one is."""
    ends = np.append(roots[1:, 0], NOW)
    starts = headers[roots[:, 1], START]
    if (starts > roots[:, 0]).any() or (headers[roots[:, 1], END] != ends).any():
        yield "a root is not there at the versions for which root* names it"


def _way_findings(directories: Records, headers: I32, pages: I64, root: int) -> Iterator[str]:
    """What is below a directory is there as it says, and holds ids of its range."""
    records = directories.there & (directories.starts < directories.headers[:, [END]])
    rows, slots = records.nonzero()
    children = directories.pointers[rows, slots]
    if (children < 0).any() or (children >= len(pages)).any():
        yield "a directory names a page that is not there"
        return
    below = headers[children]
    if (below[:, LEVEL] != directories.headers[rows, LEVEL] - 1).any():
        yield "a directory names a page that is not of the level below it"
    ends = directories.ends[rows, slots]
    left = directories.headers[rows, END]
    is_wrong = (below[:, END] != ends) & ((ends != NOW) | (below[:, END] < left))
    if (below[:, START] != directories.starts[rows, slots]).any() or is_wrong.any():
        yield "a directory is wrong about when a page below it was there"
    named = np.unique(children[(ends == NOW) & (left == NOW)])
    newest = np.flatnonzero(headers[:, END] == NOW)
    if not np.array_equal(np.union1d(named, [root]), newest):
        yield "a page of the newest version is not below its directories"
    yield from _range_findings(directories, pages, headers)


def _range_findings(directories: Records, pages: I64, headers: I32) -> Iterator[str]:
    """In the newest version, pages hold ids from their least id up to that of the next page."""
    rows, slots = (directories.alive & _is_newest(directories)[:, None]).nonzero()
    lows, children = directories.ids[rows, slots], directories.pointers[rows, slots]
    counts = headers[children, COUNT]
    if (pages[children, HEADER] < lows)[counts > 0].any():
        yield "a page holds an id below its range"
    lasts = pages[children, HEADER + np.maximum(counts - 1, 0)]
    is_above = (rows[1:] == rows[:-1]) & (lasts[:-1] >= lows[1:]) & (counts[:-1] > 0)
    if is_above.any():
        yield "a page holds an id above its range"
