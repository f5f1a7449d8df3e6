"""Ids of several values: a tuple is the bytes of the numbers of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.rows.composite import CompositeKey
from wavedex.rows.hashes import hash_longs
from wavedex.temporal.changes import I64
from wavedex.temporal.ids.contract import Arrays, Ids
from wavedex.temporal.ids.texts import Bytes
from wavedex.temporal.soundness import are_in, demand


class Tuples(Bytes):
    """Ids of several values: the numbers of the values, eight bytes each."""

    def __init__(
        self, kind: pa.DataType, prefix: str, make: Callable[[pa.DataType, str], Ids]
    ) -> None:
        """`make` makes the ids that a value of a tuple is, and keeps them under a prefix."""
        super().__init__(kind, prefix)
        self._parts = [make(field.type, f"{prefix}_{place}") for place, field in enumerate(kind)]

    def _bytes_of(self, values: pa.Array, is_new: bool) -> tuple[I64, I64, npt.NDArray[np.uint8]]:
        words = np.empty((len(values), len(self._parts)), np.int64)
        for place, part in enumerate(self._parts):
            column = values.field(place)
            words[:, place] = part.number(column) if is_new else part._find(column)
        hashes: Any = hash_longs(np.ascontiguousarray(words[:, 0]))
        for place in range(1, len(self._parts)):
            hashes = hash_longs(np.ascontiguousarray(words[:, place]), hashes)
        width = 8 * len(self._parts)
        offsets = width * np.arange(len(values) + 1, dtype=np.int64)
        return hashes.view(np.int64), offsets, words.reshape(-1).view(np.uint8)

    def ranks(self, values: pa.Array) -> I64:
        return CompositeKey([*self.kind]).ranks(values)

    def values(self, numbers: I64) -> pa.Array:
        _, data = self._taken(numbers)
        words = data.view(np.int64).reshape(len(numbers), len(self._parts))
        columns = [
            part.values(np.ascontiguousarray(words[:, place]))
            for place, part in enumerate(self._parts)
        ]
        return pa.StructArray.from_arrays(columns, fields=[*self.kind])

    def cast(self, values: pa.Array | pa.ChunkedArray) -> pa.Array:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if not pt.is_struct(values.type) or values.type.num_fields != len(self._parts):
            return super().cast(values)
        if values.null_count:
            return values.cast(self.kind) if values.type != self.kind else values
        flat = values.flatten()
        columns = [part.cast(column) for part, column in zip(self._parts, flat, strict=True)]
        return pa.StructArray.from_arrays(columns, fields=[*self.kind])

    def _from_values(self, values: Sequence[Any]) -> pa.Array:
        several = [tuple(value.values()) if isinstance(value, dict) else value for value in values]
        for value in several:
            if not isinstance(value, tuple | list) or len(value) != len(self._parts):
                raise self._refuse(value)
        columns = [
            part._from_values([value[place] for value in several])
            for place, part in enumerate(self._parts)
        ]
        return pa.StructArray.from_arrays(columns, fields=[*self.kind])

    @property
    def arrays(self) -> Arrays:
        arrays = dict(super().arrays)
        for part in self._parts:
            arrays.update(part.arrays)
        return arrays

    def restore(self, arrays: Arrays) -> None:
        super().restore(arrays)
        for part in self._parts:
            part.restore(arrays)

    def check(self) -> None:
        super().check()
        width = 8 * len(self._parts)
        demand((np.diff(self._offsets.used) == width).all(), "an id has other parts than a tuple")
        words = self._data.used.view(np.int64).reshape(-1, len(self._parts))
        for place, part in enumerate(self._parts):
            part.check()
            if not part.are_numbers:
                demand(are_in(words[:, place], 0, part.count), "a part of an id is not there")

    def findings(self) -> Iterable[str]:
        yield from super().findings()
        for part in self._parts:
            yield from part.findings()

    def parse(self, text: str) -> Any:
        return CompositeKey([*self.kind]).parse(text)
