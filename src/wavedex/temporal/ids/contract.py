"""What a set asks of its ids: a whole number of 64 bits for each, and the ids of numbers.

What is asked for and was never there has no number: -1, which is nobody's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadKey, SchemaMismatch
from wavedex.rows.arrow import has_bytes
from wavedex.temporal.changes import I64

UNKNOWN = -1
"""The number of an id that has none."""

Arrays = Mapping[str, npt.NDArray[Any]]


class Ids(ABC):
    """Ids of one type."""

    are_numbers = False
    """Whether each id is its own number, so that numbers are in the order of ids."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind

    @abstractmethod
    def number_of(self, value: Any) -> int:
        """The number of an id that a user gave; `UNKNOWN` where it has none. Raises BadKey."""

    def numbers_of(self, values: Any) -> I64:
        """The numbers of ids that a user gave, in a column or a list. Raises BadKey."""
        return self._find(self.column(values))

    @abstractmethod
    def _find(self, values: pa.Array) -> I64:
        """The numbers of ids of the type without nulls; `UNKNOWN` where they have none."""

    @abstractmethod
    def number(self, values: pa.Array) -> I64:
        """The numbers of ids of the type without nulls, new ones where they have none."""

    @abstractmethod
    def values(self, numbers: I64) -> pa.Array:
        """The ids of numbers. REQUIRES: they were given."""

    @property
    def count(self) -> int:
        """How many numbers were given out."""
        return 0

    def take_back(self, count: int) -> None:
        """Give out the numbers from `count` on anew."""
        return

    @property
    def arrays(self) -> Arrays:
        """All that is kept."""
        return {}

    def restore(self, arrays: Arrays) -> None:
        """Be as another was."""
        return

    def check(self) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""
        return

    def findings(self) -> Iterable[str]:
        """What is wrong with the arrays, in sentences."""
        return ()

    @abstractmethod
    def parse(self, text: str) -> Any:
        """The id that a person typed. Raises BadKey."""

    def cast(self, values: pa.Array | pa.ChunkedArray) -> pa.Array:
        """A column of ids in the type that is kept. Raises SchemaMismatch."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if pt.is_dictionary(values.type):
            values = values.dictionary_decode()
        if values.type == self.kind:
            return values
        if _sort_of(values.type) == _sort_of(self.kind):
            try:
                return values.cast(self.kind)
            except pa.ArrowException as error:
                raise SchemaMismatch(
                    f"Ids of type {values.type} do not fit into {self.kind}, the type of the ids "
                    f"of this set ({error})."
                ) from error
        raise SchemaMismatch(
            f"Ids of type {values.type} are no ids of this set, whose ids are of type {self.kind}. "
            "Cast the column first."
        )

    @abstractmethod
    def ranks(self, values: pa.Array) -> I64:
        """Numbers that sort as the ids of this column do."""

    def column(self, values: Any) -> pa.Array:
        """Ids that a user gave, in a column or a list, as a column of the type. Raises BadKey."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            values = pa.array(values)
        if isinstance(values, pa.Array | pa.ChunkedArray):
            try:
                column = self.cast(values)
            except SchemaMismatch as error:
                raise BadKey(str(error)) from error
            if column.null_count:
                raise BadKey(f"{column.null_count} of the ids are null. Leave them out.")
            return column
        return self._from_values([*values])

    @abstractmethod
    def _from_values(self, values: Sequence[Any]) -> pa.Array:
        """Python's values as a column of the type. Raises BadKey."""

    def _refuse(self, value: Any) -> BadKey:
        return BadKey(
            f"{value!r} ({type(value).__name__}) is no id of this set, whose ids are of type "
            f"{self.kind}. Pass a value of that type."
        )


def _sort_of(kind: pa.DataType) -> str:
    """Types among which values may be cast without a change of their meaning."""
    if pt.is_integer(kind):
        return "integer"
    if has_bytes(kind) or kind in (pa.string_view(), pa.binary_view()):
        texts = (pa.string(), pa.large_string(), pa.string_view())
        return "text" if kind in texts else "bytes"
    if pt.is_timestamp(kind):
        return "instant" if kind.tz else "local time"
    return "decimal" if pt.is_decimal(kind) else str(kind) if not pt.is_date(kind) else "date"
