"""Text columns with few values, kept once more as numbers, which makes a grouped scan fast.

Whoever groups or filters by a label wants Arrow's dictionaries: two bytes a row, and each value
once. Whoever probes a key wants the column in its own type, without a copy. So a part that never
changes keeps both. The text stands among the rows. The directory file has, for each column that
repeats itself, the code of every row (`codes:NAME`) and the sorted values that the codes stand for
(`words:NAME`). The codes are made when the part is written. A probe never looks at them.

A scan hands over all parts in the same words, so a code means the same in all of them. Codes of
parts with other words are translated. Usually every part has all words, and nothing is translated.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import SchemaMismatch
from wavedex.rows import compute as pc
from wavedex.rows.arrow import empty_batch, has_bytes, to_arrow, to_numpy
from wavedex.rows.soundness import check_codes

CODE = pa.int16()
_CODES, _WORDS = "codes:", "words:"
WORDS_MAX = 2**15 - 1
"""The most values that codes can tell apart.

A part with no more rows than that can be encoded while it is read.
"""
ROWS_A_WORD = 4
"""How often a value must come on average to be worth a code."""
SAMPLE_ROWS = 4_096
"""If a sample of this many rows does not repeat itself, the column is not looked at further."""
SAMPLE_STEP = 8
"""A smaller column is sampled at one row in this many.

If its values are worth a code, a sixth of those in the sample come twice.
"""
SAMPLED_MIN = 512
"""A column of fewer rows is not sampled."""


def dictionary_of(kind: pa.DataType) -> pa.DataType:
    """The type in which a column of text is handed over with codes."""
    return pa.dictionary(CODE, kind)


def encode_columns(batch: pa.RecordBatch, names: Iterable[str]) -> dict[str, pa.Array]:
    """The arrays for a directory: codes and words of those columns of text that have few values."""
    arrays: dict[str, pa.Array] = {}
    for name in names:
        column = batch.column(name)
        if has_bytes(column.type) and not seems_varied(column):
            coded = column.dictionary_encode()
            if len(coded.dictionary) <= min(WORDS_MAX, len(column) // ROWS_A_WORD):
                words = coded.dictionary.take(pc.sort_indices(coded.dictionary))
                arrays[_CODES + name] = to_arrow(_translated(coded, words))
                arrays[_WORDS + name] = words
    return arrays


def _translated(coded: pa.DictionaryArray, words: pa.Array) -> npt.NDArray[np.int16]:
    """The codes of a column in other words, anything where the column is null.

    REQUIRES: `words` has all words of the column.
    """
    places = to_numpy(pc.index_in(coded.dictionary, words)).astype(np.int16)
    indices = to_numpy(coded.indices)
    return places[indices] if len(places) else np.zeros(len(coded), np.int16)


def seems_varied(column: pa.Array) -> bool:
    """Whether a sample already says that there are too many values."""
    if len(column) < SAMPLED_MIN:
        return False
    step = max(len(column) // SAMPLE_ROWS, SAMPLE_STEP)
    sample = column.take(to_arrow(np.arange(0, len(column), step)))
    return pc.count_distinct(sample).as_py() > len(sample) * 15 // 16


def stored_names(arrays: Mapping[str, pa.Array]) -> frozenset[str]:
    """The columns of which a directory has codes."""
    return frozenset(name.removeprefix(_CODES) for name in arrays if name.startswith(_CODES))


def stored_words(arrays: Mapping[str, pa.Array], name: str) -> pa.Array:
    """The words of a column, as a directory has them. Raises ArrowInvalid if they are damaged."""
    words = arrays[_WORDS + name]
    words.validate(full=True)
    return words


def shared_words(kind: pa.DataType, several: Iterable[pa.Array]) -> pa.Array | None:
    """The words of all, sorted; None if they are more than codes can tell apart."""
    distinct = list({id(words): words for words in several}.values())
    if distinct and all(words.equals(distinct[0]) for words in distinct):
        return distinct[0]
    words = pc.unique(pa.chunked_array(distinct, kind))
    return words.take(pc.sort_indices(words)) if len(words) <= WORDS_MAX else None


def with_stored_codes(
    batch: pa.RecordBatch, arrays: Mapping[str, pa.Array], words: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    """All rows of a file, with some columns as dictionaries of these words.

    The codes of these columns are in the directory of the file.

    COST: no copy where its own words are these.
    """
    return _replaced(
        batch,
        {
            name: _coded(
                batch.column(name), arrays[_CODES + name], stored_words(arrays, name), these
            )
            for name, these in words.items()
        },
    )


def _coded(column: pa.Array, codes: pa.Array, own: pa.Array, words: pa.Array) -> pa.Array:
    if not len(own):
        # All rows are null, whatever their codes are.
        codes = to_arrow(np.zeros(len(column), CODE.to_pandas_dtype()))
    else:
        check_codes(codes, len(own), len(column))
    if len(own) and not own.equals(words):
        codes = to_arrow(_translated(pa.DictionaryArray.from_arrays(codes, own), words))
    buffers = [column.buffers()[0], codes.buffers()[1]]
    return pa.DictionaryArray.from_buffers(dictionary_of(column.type), len(column), buffers, words)


def with_codes(batch: pa.RecordBatch, words: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Rows with some columns of text as dictionaries of these words.

    REQUIRES: no row has another word.
    """
    codes = {name: pc.index_in(batch.column(name), these) for name, these in words.items()}
    return _replaced(
        batch,
        {
            name: pa.DictionaryArray.from_arrays(codes[name].cast(CODE), these)
            for name, these in words.items()
        },
    )


def split_codes(
    entries: pa.RecordBatchReader,
) -> tuple[pa.RecordBatchReader, dict[str, pa.Table]]:
    """The rows of a scan with codes instead of dictionaries, and a table of words for each column.

    Engines that hash a dictionary's text for every row, as DuckDB does, group by a code in half the
    time. A table has the column `code` and, under the name of its column, the word. Join it with
    what was grouped:

    >>> import duckdb
    >>> labels = pa.array(["ham", "egg", "ham", None]).dictionary_encode()
    >>> scan = pa.table({"label": labels, "price": [3, 1, 4, 9]}).to_reader()
    >>> entries, words = split_codes(scan)
    >>> labels = words["label"]
    >>> duckdb.sql('''
    ...     select labels.label, price from
    ...     (select label as code, sum(price)::int as price from entries group by code)
    ...     left join labels using (code) order by price''').fetchall()
    [('egg', 1), ('ham', 7), (None, 9)]

    Raises SchemaMismatch, while the rows are read, where a dictionary changes in the middle. The
    dictionaries of a scan do not change.
    """
    schema = entries.schema
    places = [place for place, kind in enumerate(schema.types) if pt.is_dictionary(kind)]
    first = next(iter(entries), None)
    empty = empty_batch(schema) if first is None else first
    words = {place: empty.column(place).dictionary for place in places}

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in [] if first is None else itertools.chain([first], entries):
            for place in places:
                column = batch.column(place)
                if not column.dictionary.equals(words[place]):
                    raise SchemaMismatch(
                        f"The dictionary of {schema.field(place).name!r} changes from batch to "
                        "batch. Read all rows and use unify_dictionaries() first."
                    )
                batch = batch.set_column(place, coded.field(place), column.indices)
            yield batch

    coded = schema
    for place in places:
        field = schema.field(place)
        coded = coded.set(place, field.with_type(field.type.index_type))
    tables = {
        schema.field(place).name: pa.table(
            {
                "code": to_arrow(np.arange(len(found), dtype=np.int32)),
                schema.field(place).name: found,
            }
        )
        for place, found in words.items()
    }
    return pa.RecordBatchReader.from_batches(coded, batches()), tables


def _replaced(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    for name, column in columns.items():
        place = batch.schema.get_field_index(name)
        field = batch.schema.field(place).with_type(column.type)
        batch = batch.set_column(place, field, column)
    return batch


def compact(column: pa.Array) -> pa.Array:
    """A column without words of its dictionary that no row has; any other column as it is."""
    if not pt.is_dictionary(column.type) or not len(column.dictionary):
        return column
    codes = to_numpy(column.indices.fill_null(0)).astype(np.int64, copy=False)
    valid = codes if not column.null_count else codes[to_numpy(column.is_valid())]
    used = np.flatnonzero(np.bincount(valid, minlength=len(column.dictionary)))
    if len(used) == len(column.dictionary):
        return column
    places = np.zeros(len(column.dictionary), np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    mask = to_arrow(to_numpy(column.is_null())) if column.null_count else None
    indices = to_arrow(places[codes]).cast(column.type.index_type)
    if mask is not None:
        indices = pc.if_else(mask, pa.nulls(len(indices), indices.type), indices)
    words = column.dictionary.take(to_arrow(used))
    return pa.DictionaryArray.from_arrays(indices, words, ordered=column.type.ordered)
