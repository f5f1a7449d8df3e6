"""An oracle for sets over time: a dictionary of ids to their lifespans. It knows nothing of ours.

>>> members = Members()
>>> members.add("ann", 3), members.remove("ann", 5), members.add("ann", 5)
(None, None, None)
>>> [members.contains("ann", t) for t in (2, 3, 5)], members.lifespans("ann")
([False, True, True], [(3, 5), (5, None)])
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


class Members:
    """Who was in a set when, by the plainest means."""

    def __init__(self) -> None:
        self._spans: dict[Hashable, list[list[Any]]] = {}

    def is_alive(self, oid: Hashable) -> bool:
        """Whether an id was added and not removed since."""
        spans = self._spans.get(oid)
        return bool(spans) and spans[-1][1] is None  # type: ignore[index]

    def add(self, oid: Hashable, time: Any, carried: Any = None) -> None:
        """Add an id that is not alive."""
        assert not self.is_alive(oid)
        self._spans.setdefault(oid, []).append([time, None, carried])

    def remove(self, oid: Hashable, time: Any) -> None:
        """Remove an id that is alive."""
        assert self.is_alive(oid)
        self._spans[oid][-1][1] = time

    def contains(self, oid: Hashable, time: Any) -> bool:
        """Whether an id was in the set at a time."""
        return self._at(oid, time) is not None

    def carried(self, oid: Hashable, time: Any) -> Any:
        """What an id carried at a time; None where it was not there."""
        span = self._at(oid, time)
        return None if span is None else span[2]

    def _at(self, oid: Hashable, time: Any) -> list[Any] | None:
        for span in self._spans.get(oid, ()):
            if span[0] <= time and (span[1] is None or time < span[1]):
                return span
        return None

    def snapshot(self, time: Any) -> set[Hashable]:
        """All ids that were in the set at a time."""
        return {oid for oid in self._spans if self.contains(oid, time)}

    def lifespans(self, oid: Hashable) -> list[tuple[Any, Any]]:
        """When an id was there, as (from, to); to None where it still is. None is empty."""
        spans = self._spans.get(oid, ())
        return [(start, end) for start, end, _ in spans if start != end]

    def was_there(self, oid: Hashable, since: Any, until: Any) -> bool:
        """Whether an id was there at some time of a span, both ends included."""
        spans = self.lifespans(oid)
        return any(start <= until and (end is None or since < end) for start, end in spans)

    @property
    def ids(self) -> list[Hashable]:
        """All ids that ever came."""
        return [*self._spans]
