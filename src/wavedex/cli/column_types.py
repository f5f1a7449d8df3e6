"""The types of the columns of a first file, after which nobody is asked again.

What a file of text does not say is found, and shown before it is kept.
"""

from __future__ import annotations

import re

import pyarrow as pa
import typer

from wavedex.cli.files import Source, as_of_zone, read_source
from wavedex.cli.output import note
from wavedex.errors import BadTime, Unreadable
from wavedex.show.words import printable


def read_typed(source: Source, types: dict[str, str], null: str, zone: str | None) -> pa.Table:
    """The rows of a file, in the types that were said. Raises Unreadable, BadTime."""
    table = read_source(source, None, null)
    zone = zone or "UTC"
    for name in types:
        if name not in table.column_names:
            raise typer.BadParameter(
                f"{source.name} has no column {name!r}. It has {', '.join(table.column_names)}.",
                param_hint="'--type'",
            )
    if not types:
        return table
    try:
        said_types = {name: _type_of(said) for name, said in types.items()}
    except ValueError as error:
        raise typer.BadParameter(
            f"{error}. Give a type of Arrow's, such as string, int64, date32 or timestamp[us].",
            param_hint="'--type'",
        ) from None
    schema = pa.schema([(f.name, said_types.get(f.name, f.type)) for f in table.schema])
    if source.is_text:
        return read_source(source, schema, null, zone)
    try:
        return as_of_zone(table, schema, zone, zone).cast(schema)
    except (pa.ArrowException, BadTime) as error:
        raise Unreadable(f"Cannot read {source.name} in these types. {error}") from None


def _type_of(said: str) -> pa.DataType:
    """The type that Arrow calls so. Raises ValueError.

    >>> _type_of("date32"), _type_of("timestamp[us, UTC]")
    (DataType(date32[day]), TimestampType(timestamp[us, tz=UTC]))
    """
    zoned = re.fullmatch(r"timestamp\[(s|ms|us|ns), *(?:tz=)?(.+)\]", said)
    return pa.timestamp(zoned[1], zoned[2]) if zoned else pa.type_for_alias(said)


def show_types(source: Source, table: pa.Table, yes: bool) -> None:
    """Show types that were found in a text before they are kept, and ask where somebody looks."""
    if not source.is_text:
        return
    width = max(map(len, table.column_names), default=0)
    lines = [f"  {printable(f.name):{width}}  {f.type}" for f in table.schema]
    note(f"{printable(source.name)} has these columns:\n" + "\n".join(lines))
    if not yes:
        note.ask("Keep these types? (--type COLUMN=TYPE says another)")
