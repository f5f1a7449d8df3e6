"""What readers of a lifetime index see of a commit: the rows that are not over at its instant.

A query with shorter windows sees fewer. Rows lie ordered by their ends, so what is over is cut off
as one range. Births, positions in counted windows and the rows that an entry was made of are looked
at row by row in what is left. An interval index of the births of parts passes over those that
cannot have an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from wavedex.index.core.definition import Target, Targets
from wavedex.log.manifest import Manifest
from wavedex.plan.grids.intervals import Intervals
from wavedex.plan.slot_set import first_of, last_of, union
from wavedex.rows.entries import EntrySpec
from wavedex.slots.ends import Ends
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Range, Shard
from wavedex.store.sieve import Sieve, above, between
from wavedex.store.sifted import SiftedShard

_FAR = 2**63
_SPANS_MAX = 256
"""For this many spans of births it is remembered which parts to ask."""


@dataclass(frozen=True)
class LifeView:
    """The rows that are seen."""

    slots: Slots
    """The slots that are live."""
    slotting: Ends
    """What cuts ends into slots."""
    spec: EntrySpec
    """The entries as they are stored."""
    born: Mapping[str, Slots]
    """The slots in which the rows of each part were born, by the name of its directory."""
    horizon: int | None
    """Only rows that end after this are seen; None for all."""
    floors: Mapping[str, int]
    """Only rows that lie above all of these are seen."""
    _asked: dict[Range, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)
    """Which parts to ask for spans of births."""

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        slotting: Ends,
        spec: EntrySpec,
        *,
        horizon: int | None,
        floors: Mapping[str, int],
    ) -> LifeView:
        """The view of a commit."""
        due = None if horizon is None else slotting.due(horizon)
        held = union(sub.slots for sub in manifest.shown.values())
        live = held if due is None else frozenset(slot for slot in held if slot > due)
        born = {
            part.files["directory"].name: part.born
            for sub in manifest.shown.values()
            for part in sub.parts
        }
        return cls(live, slotting, spec, born, horizon, floors)

    def narrowed(self, horizon: int | None, floors: Mapping[str, int]) -> LifeView:
        """What is left of it where more is over."""
        return replace(self, horizon=horizon, floors=floors)

    def targets(
        self,
        name: str,
        opened: Shard,
        part: Part,
        start: int | None,
        stop: int | None,
        expired: bool,
    ) -> Iterable[Target]:
        """At most one target: the rows that end late enough, sifted where more is asked."""
        timed = start is not None or stop is not None
        if timed and part.files["directory"].name not in self._meeting(start, stop):
            return
        within = None if expired or self.horizon is None else self._after(part, self.horizon)
        if within is not None and within[0] >= within[1]:
            return
        sieves: list[Sieve] = []
        if timed:
            assert self.spec.birth is not None
            sieves.append(between(self.spec.birth, start, stop))
        if self.floors and not expired:
            sieves.append(above(self.floors))
        for sieve in sieves:
            opened = SiftedShard(opened, sieve)
        yield opened, within

    def arranged(self, targets: list[Target]) -> Targets:
        """Rows lie by their ends, and so in no order of their beginnings."""
        return Targets(targets, in_order=False)

    def stretches(self, targets: Sequence[Target]) -> list[list[Target]]:
        return [[*targets]]

    def _after(self, part: Part, horizon: int) -> Range | None:
        """The ordinals of a part that lie after the horizon; None where all do."""
        if self.slotting.start(first_of(part.held)) > horizon:
            return None
        return horizon + 1, min(self.slotting.stop(last_of(part.held)), _FAR)

    def _meeting(self, start: int | None, stop: int | None) -> frozenset[str]:
        """The parts with rows that were born in a span of time."""
        first = None if start is None else int(self.slotting.slots_of(np.array([start]))[0])
        last = None if stop is None else int(self.slotting.slots_of(np.array([stop - 1]))[0])
        span = (-_FAR if first is None else first, _FAR if last is None else last)
        found = self._asked.get(span)
        if found is None:
            found = frozenset(self._intervals.overlapping(first, last))
            if len(self._asked) >= _SPANS_MAX:
                self._asked.clear()
            self._asked[span] = found
        return found

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(self.born)
