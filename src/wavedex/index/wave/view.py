"""What readers of a wave index see of a commit: the slots of its window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from wavedex.index.core.definition import Target
from wavedex.plan.slot_set import first_of, last_of
from wavedex.slots import Slotting
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Shard


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
