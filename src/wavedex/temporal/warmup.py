"""Machine code for sets over time, compiled ahead: small sets of every kind are used."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from wavedex import compiling
from wavedex.errors import AlreadyInSet
from wavedex.temporal.hashing.catalogue import HASHINGS
from wavedex.temporal.methods.catalogue import METHODS, settings_of

_WHAT = "A set over time"
_IDS = 40
_TIMES = 60
"""Each id comes at every third time and goes at the next but one: buckets are split and merged."""


def begin() -> None:
    """See that it is told of, once in a process, if the first set waits for a compiler."""
    compiling.begin(_WHAT, "Sets over time")


def warm() -> compiling.Warmed:
    """Compile what is not compiled yet, for sets of every kind. Raises PackageMissing."""
    return compiling.warmed(_WHAT, "wavedex.temporal", _use_all)


def _use_all() -> None:
    for method in METHODS:
        hashings = HASHINGS if hasattr(settings_of(method, {}), "hashing") else (None,)
        for hashing in hashings:
            settings: dict[str, Any] = {} if hashing is None else {"hashing": hashing}
            for carries in (False, True):
                _use(method, carries, settings)
    _count()


def _use(method: str, carries: bool, settings: dict[str, Any]) -> None:
    from wavedex.temporal.members import TemporalSet
    from wavedex.temporal.methods.persistent import ORDERED_MIN

    for texts in (False, True):
        found = TemporalSet.create(method=method, page_records=8, **settings)
        ids, times, ops = [], [], []
        for time in range(_TIMES):
            for number in range(_IDS):
                phase = (time + number) % 3
                if phase < 2 and (time or phase == 0):
                    ids.append(f"id {number}" if texts else number)
                    times.append(time)
                    ops.append(1 if phase == 0 else -1)
        order = _possible(ids, ops)
        events = {"oid": ids, "time": times, "op": ops, **({"row": times} if carries else {})}
        found.load(pa.table(events).take(order))
        some = [*dict.fromkeys(ids)]
        found.contains(some[0], 5)
        found.contains_many(some, [5] * len(some))
        found.contains_many((some * ORDERED_MIN)[:ORDERED_MIN], [5])
        found.contains_during(some[0], 5, 50)
        found.snapshot(5)
        found.range(some[0], some[-1], 5)
        found.lifespans(some[0])
        found.verify()
        more = {"row": [0, 0]} if carries else {}
        with suppress(AlreadyInSet):  # What is refused is taken back.
            found.load(
                {"oid": ["x", "x"] if texts else [-1, -1], "time": [99, 99], "op": [1, 1], **more}
            )


def _possible(ids: list[Any], ops: list[int]) -> list[int]:
    """The places of the changes that are possible."""
    there: set[Any] = set()
    kept = []
    for place, (oid, op) in enumerate(zip(ids, ops, strict=True)):
        if (oid in there) == (op < 0):
            kept.append(place)
            there ^= {oid}
    return kept


def _count() -> None:
    from wavedex.temporal.members import TemporalSet

    found = TemporalSet.create(counted=True)
    found.load({"oid": [1, 1, 2, 1], "time": [1, 1, 1, 2], "op": [1, 1, 1, -2]})
    found.compact()
