"""Keys of several columns: a struct in Arrow, a tuple in Python.

The struct shares its columns with the rows. Each value has a key type of its own
(`wavedex.rows.keys`), which does the work. Here the values are put together. The hash of a value is
the seed for the hash of the next one, as with Spark's `xxhash64` of several columns.
"""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadKey
from wavedex.rows.arrow import to_arrow
from wavedex.rows.hashes import SEED, U64
from wavedex.rows.keys import I64, Bools, KeyType, Plain, key_type


class CompositeKey(KeyType):
    """Several columns together: a tuple, which sorts by its first value and then by the others."""

    def __init__(self, fields: Sequence[pa.Field]) -> None:
        super().__init__(pa.struct([field.with_nullable(False) for field in fields]))
        self._names = [field.name for field in fields]
        self._kinds = [key_type(field.type) for field in fields]

    def array(self, values: Iterable[Any]) -> pa.Array:
        """Tuples as a column. Raises BadKey.

        Of a column of structs, the fields with the names of the key's columns are taken.
        """
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not isinstance(values, pa.StructArray):
            return super().array(values)
        given = [field.name for field in values.type]
        if values.null_count or any(given.count(name) != 1 for name in self._names):
            raise self._wrong_shape(values.type)
        columns = [
            kind.array(values.field(name))
            for kind, name in zip(self._kinds, self._names, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.arrow_type))

    def plain(self, value: Any) -> Plain:
        if not isinstance(value, tuple | list) or len(value) != len(self._kinds):
            raise self._wrong_shape(value)
        return tuple(kind.plain(each) for kind, each in zip(self._kinds, value, strict=True))

    def _wrong_shape(self, value: Any) -> BadKey:
        return BadKey(
            f"{value!r} is no key of this index, whose keys have {len(self._kinds)} values. Pass "
            f"a tuple of ({', '.join(self._names)})."
        )

    def hash(self, plain: Any, seed: int = SEED) -> int:
        for kind, each in zip(self._kinds, plain, strict=True):
            seed = kind.hash(each, seed)
        return seed

    def hash_array(self, keys: pa.Array, seeds: U64 | int = SEED) -> U64:
        hashes: Any = seeds
        for kind, column in self._columns(keys):
            hashes = kind.hash_array(column, hashes)
        return np.asarray(hashes, np.uint64)

    def _columns(self, keys: pa.Array) -> Iterator[tuple[KeyType, pa.Array]]:
        return ((kind, keys.field(place)) for place, kind in enumerate(self._kinds))

    def reader(self, keys: pa.Array) -> Callable[[int], Plain]:
        readers = [kind.reader(column) for kind, column in self._columns(keys)]
        return lambda row: tuple([read(row) for read in readers])

    def ranks(self, keys: pa.Array) -> I64:
        ranks = np.zeros(len(keys), np.int64)
        for kind, column in self._columns(keys):
            values, finer = np.unique(kind.ranks(column), return_inverse=True)
            # Made dense before each step, so that the product stays within 64 bits.
            ranks = np.unique(ranks, return_inverse=True)[1] * len(values) + finer
        return ranks

    def equal(self, one: pa.Array, places: I64, other: pa.Array, others: I64) -> Bools:
        same = np.ones(len(places), bool)
        for at, (kind, column) in enumerate(self._columns(one)):
            same &= kind.equal(column, places, other.field(at), others)
        return same

    def distinct(self, keys: pa.Array) -> pa.Array:
        _, firsts = np.unique(self.ranks(keys), return_index=True)
        return keys.take(to_arrow(firsts))

    def _from_plain(self, plain: list[Any]) -> pa.Array:
        columns = [
            kind._from_plain([key[place] for key in plain])
            for place, kind in enumerate(self._kinds)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.arrow_type))

    def parse(self, text: str) -> Any:
        """Values with commas between them, as in CSV, or a list in JSON.

        A value with a comma in it goes in quotes. Spaces after a comma do not count.
        """
        parts: Any = next(csv.reader([text], skipinitialspace=True), [])
        if text.startswith("["):
            with contextlib.suppress(ValueError):
                values = [each for each in json.loads(text) if each is not None]
                parts = [each if isinstance(each, str) else json.dumps(each) for each in values]
        if len(parts) != len(self._kinds):
            raise BadKey(
                f"{text!r} is no key of this index, whose keys have {len(self._kinds)} values. "
                f"Give {','.join(self._names)} with commas between them; a value that has a comma "
                "itself goes in quotes, as in '\"Albany, NY\",1'."
            )
        return tuple(kind.parse(each) for kind, each in zip(self._kinds, parts, strict=True))
