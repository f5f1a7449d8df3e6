"""The kinds of ids that there are, by their types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, BadKey
from wavedex.rows.keys import BooleanKey, NumberKey, key_type
from wavedex.temporal.ids.contract import Ids
from wavedex.temporal.ids.numbers import Numbers
from wavedex.temporal.ids.texts import Texts
from wavedex.temporal.ids.tuples import Tuples


def ids_of(kind: pa.DataType, prefix: str = "ids") -> Ids:
    """Ids of a type, kept in arrays whose names begin with a prefix.

    Raises BadDefinition for types that they cannot have.
    """
    if pt.is_struct(kind) and kind.num_fields:
        return Tuples(kind, prefix, ids_of)
    try:
        key = key_type(kind)
    except BadDefinition:
        raise BadDefinition(
            f"An id cannot be of type {kind}. Use integers, strings, binary, dates, timestamps, "
            "decimals, booleans, or tuples of these (a struct)."
        ) from None
    return Numbers(kind) if isinstance(key, NumberKey | BooleanKey) else Texts(kind, prefix)


def type_of_id(value: Any) -> pa.DataType:
    """The type of ids of which a user gave one. Raises BadKey."""
    if isinstance(value, tuple | list) and value:
        fields = [(f"f{place}", type_of_id(each)) for place, each in enumerate(value)]
        return pa.struct(fields)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return pa.int64()
    if isinstance(value, bytearray | memoryview):
        return pa.binary()
    try:
        found = pa.scalar(value).type
        ids_of(found)
    except (BadDefinition, pa.ArrowException):
        raise BadKey(
            f"{value!r} ({type(value).__name__}) is no id. Pass a whole number, a string, bytes, a "
            "date, a datetime, or a tuple of these."
        ) from None
    return pa.timestamp(found.unit, "UTC") if pt.is_timestamp(found) and found.tz else found


def kept_type(kind: pa.DataType) -> pa.DataType:
    """The type in which ids of a type are kept, where nobody has said which."""
    if pt.is_dictionary(kind):
        return kept_type(kind.value_type)
    if pt.is_integer(kind) and not pt.is_uint64(kind):
        return pa.int64()
    if kind in (pa.string_view(), pa.binary_view()):
        return pa.string() if kind == pa.string_view() else pa.binary()
    return kind
