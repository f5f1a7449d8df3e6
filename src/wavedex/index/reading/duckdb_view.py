"""The window as a view in DuckDB: one commit, queried as often as one likes.

Nothing is copied that need not be. A view is made over what DuckDB reads best:

- Packed files are a table of Arrow's that is mapped from them, with texts of few values as
  dictionaries. DuckDB takes the columns it needs of it.
- Parquet files on a local disk DuckDB reads itself, only the columns and row groups it needs.
- All else is a stream that is made anew for each query. That is records that are updated in place,
  Parquet that lies elsewhere, and Parquet of an old snapshot, whose files have no names any more.

A file may have rows that are not of the window, or not of the times that were asked for. A
condition of the view cuts them off. DuckDB looks at it together with those of the query.

What the view needs is registered under names of its own, which begin with that of the view. DuckDB
holds it until the view is made again or the connection is closed, and with it the snapshot and a
pin on its commit.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.clock import DAY_NS
from wavedex.errors import BadName, SchemaMismatch
from wavedex.extras import require
from wavedex.files.contract import Pin
from wavedex.files.names import manifest_name
from wavedex.index.reading.asked import Asked
from wavedex.index.reading.readable import stream_targets, words_of
from wavedex.rows.arrow import empty_batch
from wavedex.store.shard import Range
from wavedex.store.sorted import packed, parquet

if TYPE_CHECKING:
    from wavedex.index.core.definition import Target
from wavedex.index.reading.snapshot import Snapshot

SLICE_ROWS = 122_880
"""ViewRows of a batch: as many as DuckDB gives to one thread at a time.

A shard as a whole would keep one thread busy and no other.
"""
_NUMBERS = itertools.count()
_DAY_MS = DAY_NS // 10**6


@dataclass(frozen=True)
class ViewRows:
    """ViewRows that DuckDB can read."""

    within: Range | None
    """Which of them count; None for all."""
    source: Any = None
    """An object to register, if there is one."""
    sql: str = ""
    """SQL that finds the rows, where there is no object."""


class RowStream:
    """Rows that are read anew whenever a stream of them is asked for, by Arrow's C interface."""

    def __init__(self, schema: pa.Schema, held: Any, read: Any) -> None:
        """`read` returns an iterator of batches; `held` is kept for as long as this is."""
        self.schema = schema
        self.held = held
        self._read = read

    def __arrow_c_schema__(self) -> Any:
        """What the streams hold."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A stream from the first row on."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self._read())
        return reader.__arrow_c_stream__(requested_schema)


def make_view(
    snapshot: Snapshot,
    connection: Any,
    name: str,
    asked: Asked,
) -> Any:
    """Make the view and return it as a relation.

    Raises BadName, SchemaMismatch, MissingColumn, BadTime, PackageMissing.
    """
    duckdb = require("duckdb")
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise BadName(f"{connection!r} is no connection. Pass what duckdb.connect() returns.")
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise BadName(f"{name!r} is no name for a view. Give one such as 'entries'.")
    names = snapshot.names(asked.columns)
    _check_columns(names)
    targets = snapshot.all_targets(asked)
    try:
        _check_free(connection, name)
        before = _parts_of(connection, name)
        _define(connection, name, snapshot, names, targets)
        for part in before:
            connection.unregister(part)
        return connection.sql(f"select * from {_quoted(name)}")
    except (duckdb.NotImplementedException, duckdb.ConversionException) as error:
        raise SchemaMismatch(
            f"DuckDB cannot read the columns {', '.join(names)}: {error} Choose others with "
            "columns=."
        ) from error
    except duckdb.Error as error:
        raise BadName(f"DuckDB cannot make a view {name!r}: {error}") from error


def _check_columns(names: list[str]) -> None:
    """Raise SchemaMismatch where DuckDB would take two columns for one.

    It does not tell upper from lower case.
    """
    seen: dict[str, str] = {}
    for name in names:
        if name.casefold() in seen:
            raise SchemaMismatch(
                f"DuckDB does not tell the columns {seen[name.casefold()]!r} and {name!r} apart. "
                "Choose one of them with columns=."
            )
        seen[name.casefold()] = name
    if not names:
        raise SchemaMismatch("A view needs a column. Name one or more in columns=, or none at all.")


def _check_free(connection: Any, name: str) -> None:
    """Raise BadName where the name is that of a table, or of a view that the database keeps."""
    taken = connection.execute(
        "select 1 from duckdb_tables() where lower(table_name) = lower($1) union all "
        "select 1 from duckdb_views() where lower(view_name) = lower($1) and not temporary",
        [name],
    ).fetchall()
    if taken:
        raise BadName(
            f"There is a table or view {name!r} in the database already. Choose another name."
        )


def _parts_of(connection: Any, name: str) -> list[str]:
    """The names under which an earlier view of this name has registered what it needs."""
    found = connection.execute(
        "select view_name from duckdb_views() where temporary and starts_with(view_name, $1)",
        [_part_name(name, "")],
    ).fetchall()
    return [part for (part,) in found]


def _part_name(name: str, number: object) -> str:
    return f"{name} (wavedex) {number}"


def _define(
    connection: Any, name: str, snapshot: Snapshot, names: list[str], targets: Sequence[Target]
) -> None:
    """Register what DuckDB reads, and make the view over it."""
    order = snapshot.definition.spec.order
    typed = {
        column: str(kind)
        for column, kind in zip(
            [*names, order], _duckdb_types(connection, snapshot, [*names, order]), strict=True
        )
    }
    selects = []
    registered: list[str] = []
    try:
        for rows in _rows(snapshot, names, targets):
            source = rows.sql
            if rows.source is not None:
                registered.append(_part_name(name, next(_NUMBERS)))
                connection.register(registered[-1], rows.source)
                source = _quoted(registered[-1])
            # What Parquet keeps in another type comes in that of the index.
            shown = ", ".join(
                f"cast({_quoted(c)} as {typed[c]}) as {_quoted(c)}" if rows.sql else _quoted(c)
                for c in names
            )
            wanted = _condition(snapshot, rows.within, typed[order])
            selects.append(f"select {shown} from {source}{wanted}")
        united = " union all ".join(selects)
        connection.execute(f"create or replace temporary view {_quoted(name)} as {united}")
    except BaseException:
        for part in registered:
            connection.unregister(part)
        raise


def _duckdb_types(connection: Any, snapshot: Snapshot, names: list[str]) -> list[Any]:
    """The types that DuckDB has for columns."""
    schema = snapshot.definition.spec.schema
    numbered = [schema.field(name).with_name(str(at)) for at, name in enumerate(names)]
    return list(connection.from_arrow(pa.schema(numbered).empty_table()).types)


def _rows(snapshot: Snapshot, names: list[str], targets: Sequence[Target]) -> Iterator[ViewRows]:
    """The rows of a view, in as few sources as can be; at least one, perhaps empty."""
    schema = snapshot.definition.spec.schema
    order = snapshot.definition.spec.order
    stores = {shard.part.store for shard, _ in targets}
    if stores <= {packed.STORE}:
        needed = list(dict.fromkeys([*names, order]))
        words = words_of(snapshot, [shard for shard, _ in targets], needed)
        together: dict[Range | None, list[pa.RecordBatch]] = defaultdict(list)
        for shard, within in targets:
            for batch in shard.stream(None, needed, words):
                together[within] += _sliced(batch)
        none = empty_batch(pa.schema([schema.field(name) for name in needed]))
        for within, batches in together.items() or [(None, [none])]:
            yield ViewRows(within, pa.Table.from_batches(batches))
    elif stores == {parquet.STORE} and (pin := _pin(snapshot)) is not None:
        # An object without rows, for DuckDB to hold the commit by, whose files must stay.
        none = empty_batch(pa.schema([schema.field(name) for name in names]))
        yield ViewRows(None, RowStream(none.schema, (snapshot, pin), lambda: iter([none])))
        paths: dict[Range | None, dict[str, None]] = defaultdict(dict)
        for shard, within in targets:
            paths[within][snapshot.path_of(shard.part.files["rows"].name)] = None
        for within, some in paths.items():
            listed = ", ".join(map(_path_text, some))
            yield ViewRows(within, sql=f"read_parquet([{listed}], hive_partitioning = false)")
    else:
        columns = pa.schema([schema.field(name) for name in names])
        yield ViewRows(
            None, RowStream(columns, snapshot, lambda: stream_targets(snapshot, targets, names))
        )


def _pin(snapshot: Snapshot) -> Pin | None:
    """What keeps the names of the snapshot's files, None where they are gone or cannot be kept."""
    if not snapshot.storage.is_local:
        return None
    try:
        return snapshot.storage.pin(manifest_name(snapshot.commit))
    except FileNotFoundError:
        return None


def _sliced(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.slice(at, SLICE_ROWS) for at in range(0, batch.num_rows, SLICE_ROWS)]


def _condition(snapshot: Snapshot, within: Range | None, kind: str) -> str:
    """What cuts off the rows that do not count."""
    if within is None:
        return ""
    spec = snapshot.definition.spec
    column = _quoted(spec.order)
    start, stop = (_time_text(spec.schema.field(spec.order).type, end, kind) for end in within)
    return f" where {column} >= {start} and {column} < {stop}"


def _time_text(time_type: pa.DataType, ordinal: int, kind: str) -> str:
    """An ordinal as SQL has it, in DuckDB's type `kind`.

    >>> _time_text(pa.timestamp("ms", "UTC"), 1, "TIMESTAMP WITH TIME ZONE")
    "cast('1970-01-01T00:00:00.001+00' as TIMESTAMP WITH TIME ZONE)"
    """
    if pt.is_integer(time_type):
        return str(ordinal)
    if pt.is_date(time_type):
        # Dates in milliseconds are whole days, so that one is at or past an instant from the next
        # midnight on.
        day = ordinal if pt.is_date32(time_type) else -(-ordinal // _DAY_MS)
        return f"cast('{np.datetime64(day, 'D')}' as {kind})"
    zone = "" if time_type.tz is None else "+00"
    return f"cast('{np.datetime64(ordinal, time_type.unit)}{zone}' as {kind})"


def _path_text(path: str) -> str:
    """A path for read_parquet, to which stars, question marks and brackets mean other names.

    >>> print(_path_text("it's/[1]*"))
    'it''s/[[]1][*]'
    """
    plain = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
    return "'" + plain.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
