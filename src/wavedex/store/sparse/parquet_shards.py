"""Parquet parts that are larger than memory, or lie afar: only the row groups of a key are read.

The footer of the file, which is read once, says which bytes a row group takes. A read of row groups
asks for their bytes beforehand, so that a disk reads them in one go. It asks only for the columns
that are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from wavedex.files.contract import AnyFiles
from wavedex.files.opened import Seek, Span, finish
from wavedex.rows.arrays import read_arrays
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import Plain
from wavedex.rows.order import I64
from wavedex.store.part import Part
from wavedex.store.shard import Range
from wavedex.store.sorted.parquet import ParquetShard
from wavedex.store.sorted.row_groups import Groups
from wavedex.store.sparse.frame import seek_batch
from wavedex.store.sparse.shards import AHEAD, KEYS_MANY

_TAIL_BYTES = 8
"""What ends a Parquet file: the length of its footer, and a mark."""


class SparseParquet(ParquetShard):
    """A Parquet shard of which no more is read than is asked for."""

    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        self._opened = {role: files.open(ref) for role, ref in part.files.items()}
        self._known_groups: Groups | None = None
        self._known_metadata: Any = None
        super().__init__(files, spec, part)

    @property
    def seems_in_memory(self) -> bool:
        return all(opened.seems_in_memory for opened in self._opened.values())

    def _map(self, role: str) -> pa.Buffer:
        return self._opened[role].sparse

    def hold(self) -> None:
        for opened in self._opened.values():
            if not opened.is_near:
                _ = opened.whole

    # No cached properties: one that fetches would make all other threads wait that use any.

    @property
    def groups(self) -> Groups:
        if self._known_groups is None:
            finish(self._seek_directory())
            self._known_groups = super().groups
        return self._known_groups

    @property
    def _metadata(self) -> Any:
        if self._known_metadata is None:
            finish(self._seek_footer())
            self._known_metadata = super()._metadata
        return self._known_metadata

    def seek(
        self, plains: Sequence[Plain], hashes: Sequence[int], within: Range | None
    ) -> Seek[None]:
        if self._known_groups is None:
            yield from self._seek_directory()
        yield from self._seek_marks(hashes)
        likely = [
            plain
            for plain, hashed in zip(plains, hashes, strict=True)
            if self.groups.may_hold(hashed)
        ]
        if likely and self._known_metadata is None:
            yield from self._seek_footer()
        found = {group for plain in likely for group in self.groups.between(plain, plain, within)}
        yield [(self._opened["rows"], span) for span in self._spans(sorted(found), None)]

    def _seek_directory(self) -> Seek[None]:
        """All of the directory but its marks, which are most of it."""
        opened = self._opened["directory"]
        yield from seek_batch(opened)
        arrays, _ = read_arrays(opened.sparse, self.part.files["directory"].name)
        yield [
            (opened, opened.place_of(buffer))
            for name, array in arrays.items()
            for buffer in array.buffers()
            if name != "marks" and buffer is not None
        ]

    def _seek_marks(self, hashes: Sequence[int]) -> Seek[None]:
        opened, marks = self._opened["directory"], self.groups.marks
        first = int(marks.places.ctypes.data) - opened.sparse.address
        going = [hashed >> marks.shift for hashed in hashes]
        while going:
            yield [(opened, (first + place, first + place + AHEAD)) for place in going]
            going = [
                place + AHEAD
                for place in going
                if 0 not in marks.view[place : place + AHEAD] and place + AHEAD < len(marks.view)
            ]

    def _seek_footer(self) -> Seek[None]:
        opened = self._opened["rows"]
        size = opened.sparse.size
        yield [(opened, (max(0, size - _TAIL_BYTES), size))]
        tail = memoryview(opened.sparse)[-_TAIL_BYTES:]
        footer_bytes = int.from_bytes(tail[:4], "little")
        yield [(opened, (max(0, size - _TAIL_BYTES - footer_bytes), size))]

    def _read(self, groups: Sequence[int], names: list[str] | None = None) -> pa.RecordBatch:
        self._opened["rows"].need(self._spans(groups, names))
        return super()._read(groups, names)

    def _spans(self, groups: Sequence[int], names: list[str] | None) -> list[Span]:
        """Where some or all columns of row groups lie. What lies side by side is one span."""
        spans: list[Span] = []
        for group in groups:
            for start, stop in self._chunks(group, names):
                if spans and spans[-1][1] == start:
                    start = spans.pop()[0]
                spans.append((start, stop))
        return spans

    def _chunks(self, group: int, names: list[str] | None) -> Iterator[Span]:
        about = self._metadata.row_group(group)
        for place in range(about.num_columns):
            column = about.column(place)
            if names is None or column.path_in_schema.partition(".")[0] in names:
                offsets = (column.dictionary_page_offset, column.data_page_offset)
                start = min(offset for offset in offsets if offset)
                yield start, start + column.total_compressed_size


class DistantParquet(SparseParquet):
    """A Parquet shard that lies afar: nothing is looked at before it was fetched."""

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        finish(self.seek([plain], [hashed], within))
        return super().probe(plain, hashed, within)

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        self._fetch_marks(hashes)
        return super().probe_many(keys, hashes, within)

    def locate(self, keys: pa.Array, hashes: U64) -> tuple[I64, pa.RecordBatch]:
        self._fetch_marks(hashes)
        return super().locate(keys, hashes)

    def _fetch_marks(self, hashes: U64) -> None:
        """Fetch what tells whether a key can be here; for many keys, all that there is."""
        if len(hashes) < KEYS_MANY:
            finish(self._seek_marks(hashes.tolist()))
        else:
            self.hold()

    def scan(self, within: Range | None) -> pa.RecordBatch:
        self.hold()
        return super().scan(within)

    def stream(
        self, within: Range | None, names: list[str], words: Mapping[str, pa.Array] | None = None
    ) -> Iterator[pa.RecordBatch]:
        self.hold()
        yield from super().stream(within, names, words)


def open_parquet(files: AnyFiles, spec: EntrySpec, part: Part) -> ParquetShard:
    """Open a Parquet part."""
    return (SparseParquet if files.is_local else DistantParquet)(files, spec, part)
