"""LMDB: one tree of keys and slots, and an environment a slot.

Values are blobs of packed records (`bench.race.records`), one for each key and slot. Every commit
is synced.

- *One tree.* The key of a blob is the key and the slot, so that the blobs of a key lie side by side
  and a cursor collects them. Sorted duplicates would do the same, but may have no more than 511
  bytes. A second tree has the list of keys of each slot, without which the oldest slot could not be
  deleted but by walking through everything.
- *An environment a slot.* The keys of a slot are appended in order, which fills pages to the brim.
  The environment is written under another name and renamed, and the folder synced, so that a crash
  leaves it whole or not there; the oldest one is removed. A probe asks each environment, in read
  transactions that are kept open, as nothing changes under them.

Pages are written by `write` rather than through the map: writing through it makes the file as large
as the map.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import lmdb
import numpy as np
import pyarrow as pa

from bench.race.contestant import slot_of
from bench.race.disk import sync_file
from bench.race.records import (
    KEY,
    OfBlobs,
    key_bytes,
    pack,
    unpack,
    unpack_many,
)

MAP_BYTES = 1 << 36
"""The most that an environment may grow to; it costs addresses only."""
SLOT_BYTES = 4


class Lmdb(OfBlobs):
    """What both layouts have in common."""

    def version(self) -> str:
        return ".".join(map(str, lmdb.version()))


class LmdbOneTree(Lmdb):
    name = "lmdb"
    reads_ahead = True

    def reopen(self, folder: Path, window: int) -> None:
        self.create(folder, window)

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._env = lmdb.open(
            str(folder / "race.lmdb"), map_size=MAP_BYTES, max_dbs=2, readahead=self.reads_ahead
        )
        self._rows = self._env.open_db(b"rows")
        self._keys = self._env.open_db(b"keys")

    def load(self, tables: Sequence[pa.Table]) -> None:
        packed = {slot_of(table): pack(table) for table in tables}
        blobs = [
            (key, blob)
            for slot, (keys, values) in packed.items()
            for key, blob in zip(_places(keys, slot), values, strict=True)
        ]
        with self._env.begin(write=True) as writer:
            writer.cursor(self._rows).putmulti(sorted(blobs), append=True)
            for slot, (keys, _) in packed.items():
                writer.put(_slot_bytes(slot), keys.astype(KEY).tobytes(), db=self._keys)

    def slide(self, table: pa.Table, old_slot: int) -> None:
        slot, (keys, blobs) = slot_of(table), pack(table)
        with self._env.begin(self._rows, write=True) as writer:
            old = np.frombuffer(writer.pop(_slot_bytes(old_slot), db=self._keys), KEY)
            for place in _places(old, old_slot):
                writer.delete(place)
            writer.cursor().putmulti(zip(_places(keys, slot), blobs, strict=True))
            writer.put(_slot_bytes(slot), keys.astype(KEY).tobytes(), db=self._keys)

    def probe(self, key: int) -> pa.Table:
        return self._collect(key, 0)

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        return self._collect(key, since_slot)

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        owners: list[int] = []
        blobs: list[bytes] = []
        with self._env.begin(self._rows) as reader:
            cursor = reader.cursor()
            for key, prefix in zip(keys, key_bytes(keys), strict=True):
                found = list(_blobs(cursor, prefix, 0))
                owners += [key] * len(found)
                blobs += found
        return unpack_many(owners, blobs)

    def close(self) -> None:
        self._env.close()

    def _collect(self, key: int, since_slot: int) -> pa.Table:
        with self._env.begin(self._rows) as reader:
            return unpack(key, _blobs(reader.cursor(), key.to_bytes(KEY.itemsize), since_slot))

    def all_blobs(self) -> list[bytes]:
        with self._env.begin(self._rows) as reader:
            return list(reader.cursor().iternext(keys=False))


class LmdbWithoutReadAhead(LmdbOneTree):
    """With the option for data that is larger than memory. It takes part where that matters."""

    name = "lmdb-no-read-ahead"
    reads_ahead = False


class LmdbBySlot(Lmdb):
    name = "lmdb-by-slot"

    def create(self, folder: Path, window: int) -> None:
        super().create(folder, window)
        self._open: dict[int, tuple[lmdb.Environment, lmdb.Transaction]] = {}

    def reopen(self, folder: Path, window: int) -> None:
        self.create(folder, window)
        for slot in sorted(int(path.stem) for path in folder.glob("*.lmdb")):
            self._see(slot)

    def load(self, tables: Sequence[pa.Table]) -> None:
        for table in tables:
            self._add(table)

    def slide(self, table: pa.Table, old_slot: int) -> None:
        self._add(table)
        env, reader = self._open.pop(old_slot)
        reader.abort()
        env.close()
        shutil.rmtree(self._path(old_slot))

    def probe(self, key: int) -> pa.Table:
        return self.probe_recent(key, 0)

    def probe_recent(self, key: int, since_slot: int) -> pa.Table:
        sought = key.to_bytes(KEY.itemsize)
        found = [r.get(sought, b"") for slot, (_, r) in self._open.items() if slot >= since_slot]
        return unpack(key, found)

    def probe_many(self, keys: Sequence[int]) -> pa.Table:
        sought = key_bytes(keys)
        blobs = [r.get(key, b"") for _, r in self._open.values() for key in sought]
        return unpack_many(list(keys) * len(self._open), blobs)

    def close(self) -> None:
        for env, reader in self._open.values():
            reader.abort()
            env.close()

    def _path(self, slot: int) -> Path:
        return self.folder / f"{slot}.lmdb"

    def _add(self, table: pa.Table) -> None:
        slot, (keys, blobs) = slot_of(table), pack(table)
        draft = self.folder / "draft"
        with (
            lmdb.open(str(draft), map_size=MAP_BYTES) as env,
            env.begin(write=True) as writer,
        ):
            writer.cursor().putmulti(zip(key_bytes(keys), blobs, strict=True), append=True)
        sync_file(draft)
        draft.rename(self._path(slot))
        sync_file(self.folder)
        self._see(slot)

    def _see(self, slot: int) -> None:
        env = lmdb.open(str(self._path(slot)), readonly=True, lock=False)
        self._open[slot] = env, env.begin()

    def all_blobs(self) -> Iterator[bytes]:
        for _, reader in self._open.values():
            yield from reader.cursor().iternext(keys=False)


def _places(keys: np.ndarray, slot: int) -> list[bytes]:
    """The keys of blobs in the one tree."""
    end = _slot_bytes(slot)
    return [key + end for key in key_bytes(keys)]


def _slot_bytes(slot: int) -> bytes:
    return slot.to_bytes(SLOT_BYTES)


def _blobs(cursor: lmdb.Cursor, prefix: bytes, since_slot: int) -> Iterator[bytes]:
    """The blobs of a key from a slot on."""
    found = cursor.set_range(prefix + _slot_bytes(since_slot))
    while found and cursor.key().startswith(prefix):
        yield cursor.value()
        found = cursor.next()
