"""Pointers: entries that hold a few columns of a record, and the file and row where it all lies.

Files of records are Parquet or Arrow's, on a disk or behind a URI. Rows are counted from 0.
`read_records` reads a file with pointers to its rows, to be appended. `follow` goes the other way.
A record that is no longer where its pointer says, or is another one now, is told by name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, MissingColumn, RecordGone, SchemaMismatch
from wavedex.rows import compute as pc
from wavedex.rows.arrow import to_arrow, to_numpy

if TYPE_CHECKING:
    from wavedex.index.core.definition import Definition


def read_records(definition: Definition, path: str | os.PathLike[str]) -> pa.Table:
    """The columns of a file that the index keeps, each row with a pointer to itself.

    Raises BadDefinition where the index keeps no pointers, RecordGone where there is no such file,
    SchemaMismatch where it is no file of records.
    """
    file_column, row_column = _pointer(definition)
    place = _place(path)
    with _Records(place) as records:
        records.check(definition.offered.names)
        made = {file_column, row_column, definition.position}
        table = records.read([name for name in definition.schema.names if name not in made])
    rows = to_arrow(np.arange(table.num_rows))
    files = pa.DictionaryArray.from_arrays(
        to_arrow(np.zeros(table.num_rows, np.int32)), pa.array([place], pa.string())
    )
    return table.append_column(file_column, files.cast(pa.string())).append_column(row_column, rows)


def follow(definition: Definition, entries: pa.Table, columns: Sequence[str] | None) -> pa.Table:
    """The whole record of each entry, in the order of the entries.

    Raises RecordGone, MissingColumn or BadDefinition.
    COST: one file opened for each that is pointed to, and of a Parquet file the row groups that
    have such a row.
    """
    file_column, row_column = _pointer(definition)
    names = _names(definition, columns)
    checked = [name for name in _telling(definition) if name not in names]
    places = entries.column(file_column).combine_chunks().dictionary_encode()
    rows = to_numpy(entries.column(row_column).combine_chunks()).astype(np.int64)
    found, order = [], []
    for number, place in enumerate(places.dictionary.to_pylist()):
        mine = np.flatnonzero(to_numpy(places.indices) == number)
        with _Records(place) as records:
            some = records.take(rows[mine], [*names, *checked])
        some = _as_offered(definition, some, place)
        _check_same(definition, entries.take(to_arrow(mine)), some, place)
        found.append(some.select(names))
        order.append(mine)
    if not found:
        return pa.schema([definition.offered.field(name) for name in names]).empty_table()
    back = np.argsort(np.concatenate(order), kind="stable")
    return pa.concat_tables(found).take(to_arrow(back))


def _as_offered(definition: Definition, records: pa.Table, place: str) -> pa.Table:
    """Records in the types that the index was created with. Raises RecordGone where that fails."""
    try:
        return records.cast(pa.schema([definition.offered.field(n) for n in records.column_names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise RecordGone(
            f"{place} has columns of other types than were indexed ({_first_line(error)}). "
            "Restore it, or ask without follow=True."
        ) from error


def _pointer(definition: Definition) -> tuple[str, str]:
    if definition.pointer is None:
        raise BadDefinition(
            "The index keeps no pointers to records. A wave index does that is created with "
            "pointer=('file', 'row')."
        )
    return definition.pointer


def _names(definition: Definition, columns: Sequence[str] | None) -> list[str]:
    known = definition.offered.names
    if columns is None:
        return list(known)
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in known:
            raise MissingColumn(
                f"The records have no column {name!r}. They have {', '.join(known)}."
            )
    return names


def _telling(definition: Definition) -> list[str]:
    """The columns by which a record is known to be the one that was indexed."""
    kept = definition.offered.names
    return [
        name
        for name in (*definition.key_names, *filter(None, [definition.time]))
        if name in kept
        and definition.offered.field(name).type == definition.schema.field(name).type
    ]


def _check_same(definition: Definition, entries: pa.Table, records: pa.Table, place: str) -> None:
    """Raise RecordGone where a record has another key or time than its entry."""
    pairs = [pc.equal(entries.column(name), records.column(name)) for name in _telling(definition)]
    if pairs and not pc.all(pc.fill_null(reduce(pc.and_, pairs), fill_value=False)).as_py():
        raise RecordGone(
            f"{place} has other rows than those that were indexed: it was written anew. Restore "
            "it, or ask without follow=True."
        )


def _place(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return text if "://" in text else str(Path(text).absolute())


class _Records:
    """A file of records, open for reading."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> _Records:
        from pyarrow import fs

        try:
            if "://" in self._place or self._place.startswith("file:"):
                system, path = fs.FileSystem.from_uri(self._place)
            else:
                system, path = fs.LocalFileSystem(), self._place
            self._source = system.open_input_file(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise RecordGone(
                f"{self._place}, to which pointers lead, cannot be read ({_first_line(error)}). "
                "Restore it, or ask without follow=True."
            ) from error
        try:
            self._file = self._opened()
        except (pa.ArrowInvalid, OSError) as error:
            self._source.close()
            raise SchemaMismatch(
                f"{self._place} is no Parquet file and no file of Arrow's ({_first_line(error)}), "
                "and pointers lead to no others."
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def _opened(self) -> Any:
        self._is_parquet = self._source.read_at(4, 0) == b"PAR1"
        if not self._is_parquet:
            return pa.ipc.open_file(self._source)
        from pyarrow import parquet

        return parquet.ParquetFile(self._source)

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self._file.schema_arrow.names if self._is_parquet else self._file.schema.names)

    def read(self, names: list[str]) -> pa.Table:
        """Some columns of all rows."""
        return self._file.read(names) if self._is_parquet else self._file.read_all().select(names)

    def take(self, rows: np.ndarray, names: list[str]) -> pa.Table:
        """Some columns of the rows at some places.

        Raises RecordGone where there are fewer rows, or no such column.
        """
        try:
            self.check(names)
        except MissingColumn as error:
            raise RecordGone(f"{error} It is not the file that was indexed.") from None
        pieces = self._pieces()
        firsts = np.concatenate([[0], np.cumsum(pieces)])
        outside = rows[(rows < 0) | (rows >= firsts[-1])]
        if len(outside):
            raise RecordGone(
                f"{self._place} has {firsts[-1]:,} rows, and a pointer leads to row "
                f"{outside[0]:,}. Restore the file that was indexed, or ask without follow=True."
            )
        owners = np.searchsorted(firsts, rows, side="right") - 1
        wanted = np.unique(owners).tolist()
        tables = [self._piece(number, names) for number in wanted]
        starts = np.cumsum([0, *(pieces[number] for number in wanted)])
        shift = np.zeros(len(pieces), np.int64)
        shift[wanted] = starts[:-1] - firsts[wanted]
        return pa.concat_tables(tables).take(to_arrow(rows + shift[owners]))

    def _pieces(self) -> list[int]:
        """The rows of each piece that can be read by itself."""
        if self._is_parquet:
            about = self._file.metadata
            return [about.row_group(n).num_rows for n in range(about.num_row_groups)]
        return [self._file.get_batch(n).num_rows for n in range(self._file.num_record_batches)]

    def _piece(self, number: int, names: list[str]) -> pa.Table:
        if self._is_parquet:
            return self._file.read_row_group(number, names).select(names)
        return pa.Table.from_batches([self._file.get_batch(number)]).select(names)

    def check(self, names: Sequence[str]) -> None:
        """Raise MissingColumn where it lacks one of these columns."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise MissingColumn(
                f"{self._place} has no column {', '.join(map(repr, missing))}. It has "
                f"{', '.join(self.names)}."
            )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
