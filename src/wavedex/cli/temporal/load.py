"""The command `temporal load`: events of files into a set over time, all of them or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer

from wavedex.cli.append import Texts
from wavedex.cli.column_types import read_typed, show_types
from wavedex.cli.files import find_source
from wavedex.cli.options import From, NoValue, Types, Yes, pairs_of
from wavedex.cli.output import Answer, working
from wavedex.cli.temporal.asked import SetPath, find_set
from wavedex.cli.temporal.files import read_for
from wavedex.errors import NotAnIndex, WavedexError
from wavedex.show.words import printable

if TYPE_CHECKING:
    from wavedex.temporal import TemporalSet


def load(
    path: SetPath,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Parquet, Arrow, CSV or JSON lines, in the order of time; - is standard input.",
        ),
    ],
    oid: Annotated[str, typer.Option(metavar="COLUMN", help="The column of ids.")] = "oid",
    time: Annotated[str, typer.Option(metavar="COLUMN", help="The column of times.")] = "time",
    op: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="The column of what happened: 1 added, -1 removed."),
    ] = "op",
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How a new set is kept, such as mvbt; else pph-s."),
    ] = None,
    page_bytes: Annotated[
        int | None,
        typer.Option(metavar="N", help="The size of a page of a new set; else 4096 bytes."),
    ] = None,
    page_records: Annotated[
        int | None, typer.Option(metavar="N", help="The same in records.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="What can be set of the method of a new set, such as usefulness=0.5; several "
            "times.",
        ),
    ] = None,
    types: Types = None,
    null: NoValue = "",
    zone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The zone of times in the files that name none."),
    ] = None,
    from_kind: From = None,
    yes: Yes = False,
    stream: Annotated[
        str | None, typer.Option(metavar="NAME", help="The stream of which the file is a batch.")
    ] = None,
    number: Annotated[
        int | None, typer.Option(metavar="N", help="The number of the batch, from 0 on.")
    ] = None,
) -> Answer:
    """Load events into a set over time, which is created where it is not there.

    All files or none. Columns beside ids, times and what happened are the rows that ids carry. With
    --stream and --number, what was loaded before is passed over.
    """
    if (stream is None) != (number is None) or (stream is not None and len(files) > 1):
        raise typer.BadParameter("--stream NAME and --number N go together, with one file.")
    sizes = {"method": method, "page_bytes": page_bytes, "page_records": page_records}
    found = _found_or_new(path, sizes, pairs_of("--set", settings or []))
    is_new = found.path is None
    names, texts = {"oid": oid, "time": time, "op": op}, Texts(null, zone, from_kind)
    said_types = pairs_of("--type", types or [])
    before, events = found.changes, 0
    for file in files:
        with working(f"Reading {file}"):
            table = _read(found.schema, file, names, texts, said_types)
        if found.schema is None:
            show_types(find_source(file, from_kind), table, yes)
        with working(f"Loading {file}"):
            events += _load(found, file, table, names, stream, number)
    with working(f"Writing {path}"):
        commit = found.save(path) if is_new else found.commit()
    data = {
        "set": found.path,
        "created": is_new,
        "events": events,
        "alive": len(found),
        "changes": found.changes,
        "commit": commit,
        "already_there": not events and found.changes == before and stream is not None,
    }
    return Answer(data, printable(_said(found, data)))


def _found_or_new(path: str, options: dict[str, Any], settings: dict[str, str]) -> TemporalSet:
    """The set that is there, or an empty one, which is in memory until all is loaded."""
    from wavedex.temporal import TemporalSet
    from wavedex.temporal.methods.catalogue import DEFAULT, parse_settings

    chosen = {name: value for name, value in options.items() if value is not None}
    try:
        found = find_set(path)
    except NotAnIndex:
        chosen |= parse_settings(chosen.get("method", DEFAULT), settings)
        return TemporalSet.create(**chosen)
    _check_same(found, chosen | parse_settings(found.method, settings))
    return found


def _check_same(found: TemporalSet, chosen: dict[str, Any]) -> None:
    """Raise BadParameter where a set that is there differs from what was said."""
    about = found.describe()
    about = {**about["settings"], **about}
    for name, value in chosen.items():
        if about.get(name) != value:
            raise typer.BadParameter(
                f"{found.path} is there, and its {name} is {about.get(name)}. Leave it out, or "
                "load into another set."
            )


def _read(
    schema: pa.Schema | None,
    file: Path,
    names: dict[str, str],
    texts: Texts,
    types: dict[str, str],
) -> pa.Table:
    """The events of a file, in the types of the set, or of which it is to be."""
    if schema is None:
        return read_typed(find_source(file, texts.kind), types, texts.null, texts.zone)
    return read_for(schema.append(pa.field("op", pa.int8())), file, names, texts)


def _load(
    found: TemporalSet,
    file: Path,
    table: pa.Table,
    names: dict[str, str],
    stream: str | None,
    number: int | None,
) -> int:
    """Take the events of a file in. Raises what is wrong with them, with its name."""
    try:
        return found.load(table, **names, stream=stream, number=number)
    except WavedexError as error:
        raise type(error)(f"{file}: {error}") from None


def _said(found: TemporalSet, data: dict[str, Any]) -> str:
    """What was done, in words."""
    if data["already_there"]:
        return f"{data['set']}: already there"
    what = f"created, {found.method}, " if data["created"] else ""
    events = f"{data['events']:,} event{'s' * (data['events'] != 1)} loaded"
    ids = f"{data['alive']:,} id{'s' * (data['alive'] != 1)} now"
    span = f", {found.first} to {found.last}" if found.changes else ""
    return f"{data['set']}: {what}{events}, {ids}{span}, commit {data['commit']:,}"


COMMANDS: dict[Callable[..., Any], str] = {
    load: "wavedex temporal load members.wxt events.parquet --oid member --time at --op change"
}
