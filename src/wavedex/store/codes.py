"""Columns of text that have few values, once more as numbers: what makes a grouped scan fast.

Who groups or filters by a label wants Arrow's dictionaries, two bytes a row and each value once; who probes a key wants the
column in its own type, without a copy. So a part that never changes keeps both: the text among the rows and, in its
directory file, for each column that repeats itself the code of every row (`codes:NAME`) and the values that the codes
stand for (`words:NAME`). The codes are made when the part is written and never looked at by a probe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from wavedex.store import compute as pc
from wavedex.store.arrow import has_bytes, to_arrow, to_numpy

CODE = pa.int16()
_CODES, _WORDS = "codes:", "words:"
WORDS_MAX = 2**15 - 1
"""The most values that codes can tell apart; a part with no more rows than that can be encoded while it is read."""
ROWS_A_WORD = 4
"""How often a value must come on average to be worth a code."""
SAMPLE_ROWS = 4_096
"""A column of which a sample this large does not repeat itself is not looked at further."""


def dictionary_of(kind: pa.DataType) -> pa.DataType:
    """The type in which a column of text is handed over with codes."""
    return pa.dictionary(CODE, kind)


def encode_columns(batch: pa.RecordBatch, names: Iterable[str]) -> dict[str, pa.Array]:
    """The arrays for a directory: codes and words of those columns of text that have few values."""
    arrays: dict[str, pa.Array] = {}
    for name in names:
        column = batch.column(name)
        if has_bytes(column.type) and not _seems_varied(column):
            coded = column.dictionary_encode()
            if len(coded.dictionary) <= min(WORDS_MAX, len(column) // ROWS_A_WORD):
                arrays[_CODES + name] = to_arrow(to_numpy(coded.indices).astype(np.int16))
                arrays[_WORDS + name] = coded.dictionary
    return arrays


def _seems_varied(column: pa.Array) -> bool:
    """Whether a sample already says that there are too many values."""
    step = len(column) // SAMPLE_ROWS
    if step < ROWS_A_WORD:
        return False
    sample = column.take(to_arrow(np.arange(0, len(column), step)))
    return pc.count_distinct(sample).as_py() > len(sample) * 15 // 16


def stored_names(arrays: Mapping[str, pa.Array]) -> frozenset[str]:
    """The columns of which a directory has codes."""
    return frozenset(name.removeprefix(_CODES) for name in arrays if name.startswith(_CODES))


def with_stored_codes(
    batch: pa.RecordBatch, arrays: Mapping[str, pa.Array], names: Iterable[str]
) -> pa.RecordBatch:
    """All rows of a file with some columns as dictionaries, whose codes are in its directory. COST: no copy."""
    return _replaced(
        batch,
        {
            name: pa.DictionaryArray.from_buffers(
                dictionary_of(batch.column(name).type),
                batch.num_rows,
                [batch.column(name).buffers()[0], arrays[_CODES + name].buffers()[1]],
                arrays[_WORDS + name],
            )
            for name in names
        },
    )


def with_codes(batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
    """Rows with some columns of text as dictionaries. REQUIRES: at most WORDS_MAX rows."""
    coded = {name: batch.column(name).dictionary_encode() for name in names}
    return _replaced(
        batch,
        {
            name: pa.DictionaryArray.from_arrays(column.indices.cast(CODE), column.dictionary)
            for name, column in coded.items()
        },
    )


def _replaced(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    for name, column in columns.items():
        place = batch.schema.get_field_index(name)
        field = batch.schema.field(place).with_type(column.type)
        batch = batch.set_column(place, field, column)
    return batch
