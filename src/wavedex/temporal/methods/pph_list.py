"""Partially persistent hashing with evolving lists (Section 4.2): each bucket is a list of pages.

Questions read as few pages as with evolving sets. Changes read more: whoever is added or removed is
looked for page by page. And pages have room for fewer records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wavedex.errors import BadDefinition
from wavedex.temporal.hashing.catalogue import HashingSettings
from wavedex.temporal.methods.list_store import ListStore
from wavedex.temporal.methods.persistent import Persistent
from wavedex.temporal.methods.pph_set import check_trees


@dataclass(frozen=True)
class PphListSettings(HashingSettings):
    """What can be set of `pph-l`."""

    listed: float = 0.8
    """Br / B: the part of a page that is for records. The rest is for NT."""
    usefulness: float = 0.25
    """V / Br: a page is useful while this part of its records is alive. At most a quarter."""
    trees: str = "memory"
    """Where the upper levels of the arrays FT count as being: in `memory`, or on `disk`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.listed < 1:
            raise BadDefinition(
                f"listed={self.listed!r} is no part of a page. Give a number between 0 and 1, such "
                "as 0.8."
            )
        if not 0 < self.usefulness <= 0.25:
            raise BadDefinition(
                f"usefulness={self.usefulness!r} is no part of a page that lists can be kept with. "
                "Give a number above 0, up to 0.25."
            )
        check_trees(self.trees)


class PphList(Persistent):
    """Partially persistent hashing with evolving lists."""

    name = "pph-l"
    settings = PphListSettings
    store: ListStore

    def _histories(self, settings: Any) -> ListStore:
        on_disk = settings.trees == "disk"
        return ListStore(self.layout, settings.listed, settings.usefulness, on_disk, self.io)
