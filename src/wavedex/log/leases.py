"""Leases: a reader that opens its files bit by bit says which commit it is reading, and until when.

A snapshot maps its files when it is taken, so nothing can take them from it. The tasks of a Spark
query open theirs one after the other. By then the commit may not be among those that are kept.
So whoever plans such a query leaves an empty file beside the manifests. Its name says the commit
and the end. A writer that clears up keeps that commit until then.
A lease is never changed: to hold a commit for longer is to take another one.

It is no lock: nobody waits for it, and it ends by itself where its taker has died.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from wavedex.files.contract import AnyFiles

LEASE_S = 1200
"""How long a lease runs.

Whoever goes on reading takes another one when less than half of it is left. So at least half of it
may lie between the starts of two tasks of a query, or between two queries of a frame.
"""
_NAME = re.compile(r"(\d{20})\.(\d+)-[0-9a-f]+\.lease")


def take_lease(files: AnyFiles, folder: str, commit: int, now_s: float, token: str) -> int:
    """Hold a commit for `LEASE_S`. Returns when the lease ends.

    If another lease holds it for at least half of that, no new one is taken.
    COST: one look at the folder, and one empty file where there is none yet.
    """
    leases = filter(None, map(_NAME.fullmatch, files.list(folder)))
    ends = [int(found[2]) for found in leases if int(found[1]) == commit]
    until_s = max((end for end in ends if _runs(end, now_s)), default=0)
    if until_s >= now_s + LEASE_S / 2:
        return until_s
    until_s = int(now_s + LEASE_S)
    files.create(f"{folder}/{commit:020d}.{until_s}-{token}.lease", lambda sink: sink.write(b""))
    return until_s


def leased_commits(names: Iterable[str], now_s: float) -> set[int]:
    """The commits that are on lease now, told by the names beside the manifests."""
    leases = filter(None, map(_NAME.fullmatch, names))
    return {int(found[1]) for found in leases if _runs(int(found[2]), now_s)}


def useless_leases(names: Iterable[str], kept: Collection[int], now_s: float | None) -> list[str]:
    """The names of the leases whose commits are gone, or that have ended, if the time is known."""
    leases = filter(None, map(_NAME.fullmatch, names))
    return [
        found[0]
        for found in leases
        if int(found[1]) not in kept or (now_s is not None and not _runs(int(found[2]), now_s))
    ]


def _runs(until_s: int, now_s: float) -> bool:
    """Whether a lease still runs.

    One that ends far ahead does not: it comes from a clock that is wrong, and would never end.
    """
    return now_s <= until_s <= now_s + 2 * LEASE_S
