"""The evolving list of a single bucket, changed by hand, and the oracle that judges it."""

from __future__ import annotations

import numpy as np

from wavedex.temporal.changes import I64
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.io import Io
from wavedex.temporal.layout import HEADER, Layout
from wavedex.temporal.methods import list_kernels as kernels
from wavedex.temporal.methods.list_store import ListStore
from wavedex.testing.lifespans import Members


class OneList:
    """A list of pages with 20 records each (Br) and V = 5, as in the paper's experiments."""

    def __init__(self, links: int = 10) -> None:
        """Pages have room for so many entries of NT."""
        records = 20 + links // 2
        self.store = ListStore(Layout(records, False), 20 / records, 0.25, False, Io())
        self.members, self.version, self._next = Members(), 0, 0

    def add(self, count: int, later: int = 1) -> list[int]:
        """Add as many new ids at a later version. An id has its own number as its entry."""
        added = [*range(self._next, self._next + count)]
        self._next += count
        self._change(added, 1, later)
        return added

    def remove(self, ids: list[int], later: int = 1) -> None:
        """Remove ids at a later version."""
        self._change(ids, -1, later)

    def _change(self, ids: list[int], kind: int, later: int) -> None:
        self.version += later
        events = Events(len(ids))
        events.count = len(ids)
        events.buckets[:], events.versions[:], events.kinds[:] = 0, self.version, kind
        events.ids[:] = events.entries[:] = ids
        events.pointers[:] = -1
        self.store.apply(events, 1, self._next)
        for oid in ids:
            (self.members.add if kind > 0 else self.members.remove)(oid, self.version)

    @property
    def pages(self) -> list[int]:
        """The pages of the list, first to last."""
        return self.store._list(0)

    @property
    def alive(self) -> list[list[int]]:
        """Who is alive in each page of the list."""
        return [self.alive_in(page) for page in self.pages]

    def alive_in(self, page: int) -> list[int]:
        """Who is alive in a page, in the order in which records lie there."""
        first = HEADER, 2 * (HEADER + 20) + 20
        count = int(self.store._halves[page, kernels.COUNT])
        ids: I64 = self.store._words.room[page, first[0] : first[0] + count]
        ends = self.store._halves[page, first[1] : first[1] + count]
        return ids[ends < 0].tolist()

    def header(self, page: int) -> dict[str, int]:
        """What a page says of itself."""
        names = ("COUNT", "ALIVE", "START", "END", "LINKS")
        return {each: int(self.store._halves[page, getattr(kernels, each)]) for each in names}

    @property
    def first_pages(self) -> list[tuple[int, int]]:
        """FT: versions, and the first page as of each."""
        return [(int(version), int(page)) for version, page in self.store._table(0)]

    def next_pages(self, page: int) -> list[tuple[int, int]]:
        """NT of a page: versions, and the next page as of each."""
        versions, pages, _ = self.store._links(np.array([page]))
        return [*zip(versions.tolist(), pages.tolist(), strict=True)]

    def check(self) -> None:
        """Hold every version of the list to the oracle."""
        now = sum(self.members.is_alive(oid) for oid in self.members.ids)
        assert [*self.store.findings(now)] == []
        for version in range(self.version + 2):
            there = self.members.snapshot(version)
            found, _ = self.store.alive_at(np.array([0], np.int32), version)
            assert sorted(found.tolist()) == sorted(there)
            for oid in self.members.ids:
                assert (self.store.find(0, oid, version) > -2) == (oid in there)
        every = self.store.everything()
        spans = [*zip(every.ids.tolist(), every.starts.tolist(), strict=True)]
        assert spans == [
            (oid, start) for oid in self.members.ids for start, _ in self.members.lifespans(oid)
        ]
