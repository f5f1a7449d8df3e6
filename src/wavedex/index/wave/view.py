"""What readers of a wave index see of a commit: the slots of its window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from wavedex.index.core.definition import Target, Targets
from wavedex.plan.slot_set import first_of, last_of, ranges_of
from wavedex.slots import Slotting
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Range, Shard


@dataclass(frozen=True)
class WaveView:
    """The window at one commit: a window that is soft on disk is cut exactly to its slots."""

    slotting: Slotting
    slots: Slots

    def targets(
        self,
        name: str,
        opened: Shard,
        part: Part,
        start: int | None,
        stop: int | None,
        expired: bool,
    ) -> Iterable[Target]:
        """A target for each run of slots that count."""
        visible = part.shown if expired else part.shown & self.slots
        for within in part.ranges(visible, self.slotting) if visible else ():
            held = self.slotting.start(first_of(part.held)), self.slotting.stop(last_of(part.held))
            low, high = held if within is None else within
            narrow = (
                low if start is None else max(low, start),
                high if stop is None else min(high, stop),
            )
            if narrow[0] < narrow[1]:
                yield opened, None if narrow == held else narrow

    def arranged(self, targets: list[Target]) -> Targets:
        """Oldest first, as far as no two of them share a time.

        A sub-index may hold slots before and after those of another. It is then asked twice.
        """
        in_order = all(shard.in_order for shard, _ in targets)
        found = _apart([(self._span(target), target) for target in targets])
        if found is None:
            pieces = [(piece, (each[0], piece)) for each in targets for piece in self._pieces(each)]
            found = _apart(pieces) if len(pieces) <= 2 * len(targets) else None
        return Targets(targets, False) if found is None else Targets(found, in_order)

    def stretches(self, targets: Sequence[Target]) -> list[list[Target]]:
        found: list[list[Target]] = []
        end: int | None = None
        for span, target in sorted(((self._span(each), each) for each in targets), key=_span_first):
            if end is None or span[0] >= end:
                found.append([])
            found[-1].append(target)
            end = span[1] if end is None else max(end, span[1])
        return found

    def _span(self, target: Target) -> Range:
        """The ordinals of a target, from the first to past the last."""
        shard, within = target
        held = shard.part.held
        return within or (self.slotting.start(first_of(held)), self.slotting.stop(last_of(held)))

    def _pieces(self, target: Target) -> Iterator[Range]:
        """The same without the times of slots that its part has not got."""
        low, high = self._span(target)
        for first, last in ranges_of(target[0].part.held):
            start, stop = self.slotting.start(first), self.slotting.stop(last)
            if start < high and stop > low:
                yield max(start, low), min(stop, high)


_Spanned = tuple[Range, Target]


def _span_first(spanned: _Spanned) -> Range:
    return spanned[0]


def _apart(spanned: Sequence[_Spanned]) -> list[Target] | None:
    """Targets by their times, None where two of them share one."""
    by_time = sorted(spanned, key=_span_first)
    if any(one[0][1] > other[0][0] for one, other in pairwise(by_time)):
        return None
    return [target for _, target in by_time]
