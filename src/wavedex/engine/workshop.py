"""What is the same for all shards and changes of an index: where and how parts are written."""

from __future__ import annotations

from dataclasses import dataclass

from wavedex.engine.technique import Technique
from wavedex.files.contract import AnyFiles
from wavedex.rows.entries import EntrySpec
from wavedex.slots import Slotting
from wavedex.store.package import Format
from wavedex.store.room import Sizes


@dataclass(frozen=True)
class Workshop:
    """What all shards share."""

    files: AnyFiles
    spec: EntrySpec
    slotting: Slotting
    technique: Technique
    sizes: Sizes
    format: Format
    longest: int = 0
    """How many slots after its birth a row may end."""
    forgets: bool = False
    """Whether no file may keep rows that are over."""
