"""Throw-away waves for windows of a known largest size (Section 3.3, after Kleinberg and others).

A sub-index is closed as soon as it holds M/(n - 1) rows. M is the most rows that a window ever has.
What is over is then less than that, since the slot that closed a sub-index is its last to expire.
So at most n/(n - 1) times M is ever held, where WATA* may hold 2 M. And n names are enough: of n
closed sub-indexes all but the oldest are live as a whole, and they alone make a full window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from wavedex.errors import BadDefinition
from wavedex.plan.state import WaveState
from wavedex.plan.waves.rata import Reindexing
from wavedex.plan.waves.sized import Sized


@dataclass(frozen=True)
class WataBounded(Sized):
    """WATA with sub-indexes of even size; `max_size` is M."""

    max_size: int

    name: ClassVar[str] = "wata-bounded"
    needs: ClassVar[Mapping[str, str]] = {
        "max_size": "give the most rows that a window will ever have"
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.max_size) is not int or self.max_size < 1:
            raise BadDefinition(f"max_size is {self.max_size!r}: {self.needs['max_size']}.")

    def clusters(self) -> list[int]:
        """Return the cluster that comes round if slots are of one size and a window has M rows."""
        share = -(-self.window // (self.indexes - 1))
        return [max(1, min(share, self.window - 1))]

    def closes(self, state: WaveState, slot: int) -> bool:
        """Whether the newest sub-index has its share of the largest window."""
        slots = state.indexes[state.holder(slot - 1)]
        return state.rows(slots) * (self.indexes - 1) >= self.max_size


@dataclass(frozen=True)
class RataBounded(Reindexing, WataBounded):
    """The same with a hard window."""

    name: ClassVar[str] = "rata-bounded"
