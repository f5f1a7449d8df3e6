"""One sub-index on disk: packed, Parquet and contiguous buckets, their directories, and all access to files."""

from __future__ import annotations

from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.address import files_at
from wavedex.store.contiguous import ContiguousShard
from wavedex.store.entries import SLOT_COLUMN, EntrySpec
from wavedex.store.files import Files
from wavedex.store.packed import PackedShard
from wavedex.store.parquet import ParquetShard
from wavedex.store.part import Part
from wavedex.store.reading import Range, Shard

_SHARDS: dict[str, type[Shard]] = {
    "packed": PackedShard,
    "parquet": ParquetShard,
    "contiguous": ContiguousShard,
}


def open_shard(files: AnyFiles, spec: EntrySpec, part: Part) -> Shard:
    """Open a part for reading."""
    return _SHARDS[part.store](files, spec, part)


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
