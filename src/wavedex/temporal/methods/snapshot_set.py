"""The Snapshot Index by itself (Section 3.1): all who were there at a time, in few pages.

Whether one id was there takes a look at every page that was useful then. Where that is asked,
`pph-s` asks one small Snapshot Index of many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wavedex.temporal.hashing.none import OneBucket
from wavedex.temporal.layout import Layout
from wavedex.temporal.methods.pph_set import PphSet, check_trees, check_usefulness


@dataclass(frozen=True)
class SnapshotSettings:
    """What can be set of `snapshot`."""

    usefulness: float = 0.5
    """u: a full page is useful while this part of its records is alive. From 0 to 1."""
    trees: str = "memory"
    """Where the upper levels of the time-tree count as being: in `memory`, or on `disk`."""

    def __post_init__(self) -> None:
        check_usefulness(self.usefulness)
        check_trees(self.trees)


class SnapshotSet(PphSet):
    """A Snapshot Index of the whole set."""

    name = "snapshot"
    settings = SnapshotSettings

    def _hashing(self, settings: Any, layout: Layout) -> OneBucket:
        return OneBucket()
