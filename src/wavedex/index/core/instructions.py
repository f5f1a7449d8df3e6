"""Rows of which a column says what is to be done with each: it comes, goes, or gets another end.

The column has the words insert, retract and prolong, or the numbers 1 and -1 as changes have them.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from wavedex.errors import MissingColumn, SchemaMismatch
from wavedex.rows import compute as pc

INSERT, RETRACT, PROLONG = ("insert", "1"), ("retract", "-1"), ("prolong",)
"""What may be said, as text."""


class SortedOut(NamedTuple):
    """Rows by what is to be done with them."""

    insert: pa.Table
    retract: pa.Table
    prolong: pa.Table


def sort_out(rows: pa.Table, by: str) -> SortedOut:
    """Sort rows by what the column `by` says of each, and take that column away.

    Raises MissingColumn where there is no such column, SchemaMismatch where there are two or where
    it says something else.

    >>> rows = pa.table({"key": ["ann", "bob", "cid"], "op": ["insert", "retract", "insert"]})
    >>> [each["key"].to_pylist() for each in sort_out(rows, "op")]
    [['ann', 'cid'], ['bob'], []]
    """
    check_instructions(by, rows.column_names)
    said = _as_text(rows.column(by), by)
    rest = rows.drop_columns([by])
    masks = [pc.is_in(said, pa.array(words)) for words in (INSERT, RETRACT, PROLONG)]
    known = pc.or_(pc.or_(masks[0], masks[1]), masks[2])
    if not pc.all(known).as_py() and rows.num_rows:
        other = said.filter(pc.invert(known))[0].as_py()
        raise SchemaMismatch(f"Column {by!r} says {other!r} of a row. {_WANTED}")
    return SortedOut(*(rest.filter(mask) for mask in masks))


def check_instructions(by: str, names: list[str]) -> None:
    """Raise MissingColumn where no column is called so, SchemaMismatch where two are."""
    if by not in names:
        raise MissingColumn(
            f"The rows have no column {by!r}, which is to say what to do with each. They have "
            f"{', '.join(names)}."
        )
    if names.count(by) > 1:
        raise SchemaMismatch(
            f"The rows have the column {by!r} twice, which is to say what to do with each. Rename "
            "one of them."
        )


def _as_text(column: pa.ChunkedArray, by: str) -> pa.ChunkedArray:
    """What a column says, as text. Raises SchemaMismatch where that cannot be."""
    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        said = str(error).splitlines()[0]
        raise SchemaMismatch(
            f"Column {by!r} is of type {column.type} and cannot be read as text ({said}). {_WANTED}"
        ) from error


_WANTED = "It is to say 'insert', 'retract' or 'prolong', or 1 and -1 for the first two."
