"""One sub-index: in files of our own or in a package of somebody else's, and all access to files."""

from __future__ import annotations

from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.address import files_at
from wavedex.store.entries import SLOT_COLUMN, EntrySpec
from wavedex.store.files import Files
from wavedex.store.formats import open_shard
from wavedex.store.part import Part
from wavedex.store.reading import Range, Shard

__all__ = [
    "SLOT_COLUMN",
    "AnyFiles",
    "EntrySpec",
    "FileRef",
    "Files",
    "Part",
    "Range",
    "Shard",
    "files_at",
    "open_shard",
]
