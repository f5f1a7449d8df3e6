"""RocksDB through rocksdict: a column family a slot.

Values are blobs of packed records (`bench.race.records`), one for each key and slot. A new slot is
one batch of writes into a new column family, synced with the write-ahead log; the oldest column
family is dropped, which costs next to nothing. A family of one slot is written once, so compaction
is left off and `settle` flushes it into one sorted file.

Bloom filters of ten bits a key spare most look-ups of absent keys, a cache of 512 MB holds the
blocks of probes, index and filters included, and blocks are compressed with LZ4, as RocksDB's own
guide to tuning has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import rocksdict as rd

from bench.race.contestant import slot_of
from bench.race.records import (
    KEY,
    OfBlobs,
    key_bytes,
    pack,
    unpack,
    unpack_many,
)

CACHE_BYTES = 512 << 20
BLOOM_BITS = 10
BUFFER_BYTES = 256 << 20
"""Larger than a slot, so that a slot is flushed once."""


class RocksDb(OfBlobs):
    name = "rocksdb"

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._cache = rd.Cache(CACHE_BYTES)
        self._db = rd.Rdict(str(folder / "race.rocks"), self._options())
        self._synced = rd.WriteOptions()
        self._synced.sync = True
        self._families: dict[int, rd.Rdict] = {}

    def reopen(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._cache = rd.Cache(CACHE_BYTES)
        path, options = str(folder / "race.rocks"), self._options()
        names = rd.Rdict.list_cf(path, options)
        self._db = rd.Rdict(path, options, column_families=dict.fromkeys(names, options))
        slots = sorted(int(name) for name in names if name.isdigit())
        self._families = {slot: self._db.get_column_family(str(slot)) for slot in slots}

    def _options(self) -> rd.Options:
        options = rd.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_write_buffer_size(BUFFER_BYTES)
        options.set_disable_auto_compactions(True)
        options.set_compression_type(rd.DBCompressionType.lz4())
        blocks = rd.BlockBasedOptions()
        blocks.set_bloom_filter(BLOOM_BITS, block_based=False)
        blocks.set_block_cache(self._cache)
        options.set_block_based_table_factory(blocks)
        return options

    def load(self, tables: Sequence[pa.Table]) -> None:
        for table in tables:
            self._add(table)

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._add(table)
        del self._families[old_slot]
        self._db.drop_column_family(str(old_slot))

    def settle(self) -> None:
        for family in self._families.values():
            family.flush(wait=True)

    def probe(self, key: int) -> pa.Table:
        return self.probe_recent(key, 0)

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        sought = key.to_bytes(KEY.itemsize)
        families = (each for slot, each in self._families.items() if slot >= since_slot)
        return unpack(key, [family.get(sought) or b"" for family in families])

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        sought = key_bytes(keys)
        found = [blob or b"" for each in self._families.values() for blob in each.get(sought)]
        return unpack_many(list(keys) * len(self._families), found)

    def version(self) -> str:
        return f"rocksdict {version('rocksdict')}"

    def close(self) -> None:
        self._families.clear()
        self._db.close()

    def _add(self, table: pa.Table) -> None:
        slot, (keys, blobs) = slot_of(table), pack(table)
        family = self._db.create_column_family(str(slot), self._options())
        batch = rd.WriteBatch(raw_mode=True)
        batch.set_default_column_family(self._db.get_column_family_handle(str(slot)))
        for key, blob in zip(key_bytes(keys), blobs, strict=True):
            batch.put(key, blob)
        self._db.write(batch, self._synced)
        self._families[slot] = family

    def all_blobs(self) -> Iterator[bytes]:
        for family in self._families.values():
            yield from family.values()
