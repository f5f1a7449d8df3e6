"""Partially persistent hashing with evolving sets (Section 4.1): each bucket has a Snapshot Index.

A question takes about two pages while the load of the hashing stays below the usefulness of pages
(Section 4.1.2), so that a bucket is in one page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from wavedex.errors import BadDefinition
from wavedex.temporal.hashing.catalogue import HashingSettings
from wavedex.temporal.methods.persistent import Persistent
from wavedex.temporal.methods.snapshot_store import SnapshotStore


@dataclass(frozen=True)
class PphSetSettings(HashingSettings):
    """What can be set of `pph-s`."""

    usefulness: float = 0.3
    """u: a full page is useful while this part of its records is alive. From 0 to 1."""
    trees: str = "memory"
    """Where the upper levels of time-trees count as being: in `memory`, or on `disk`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_usefulness(self.usefulness)
        check_trees(self.trees)


def check_usefulness(usefulness: float) -> None:
    """Raise BadDefinition where this cannot be a usefulness."""
    if not 0 < usefulness <= 1:
        raise BadDefinition(
            f"usefulness={usefulness!r} is no part of a page. Give a number above 0, up to 1, such "
            "as 0.3."
        )


def check_trees(trees: str) -> None:
    """Raise BadDefinition where trees cannot be."""
    if trees not in ("memory", "disk"):
        raise BadDefinition(f"trees={trees!r} is neither 'memory' nor 'disk'.")


class PphSet(Persistent):
    """Partially persistent hashing with evolving sets."""

    name = "pph-s"
    settings: ClassVar[type] = PphSetSettings
    store: SnapshotStore

    def _histories(self, settings: Any) -> SnapshotStore:
        on_disk = settings.trees == "disk"
        return SnapshotStore(self.layout, settings.usefulness, on_disk, self.io)
