"""The command `create`: an index from files, in one line and without Spark.

The columns are those of the first file. Where a file does not say their types, they are found and
shown before they are kept. Then all files are appended. If the first cannot be, there is no index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from wavedex.cli.append import Texts, append_more
from wavedex.cli.column_types import read_typed, show_types
from wavedex.cli.files import Source, find_source
from wavedex.cli.grids import shape_of, sides_of
from wavedex.cli.options import From, NoValue, Types, Yes, column_names, pairs_of, refuse
from wavedex.cli.output import Answer, working
from wavedex.index.kinds import KINDS
from wavedex.index.opening import AnyIndex
from wavedex.show.words import printable


def create(
    index: Annotated[
        str, typer.Argument(metavar="INDEX", help="The new folder of the index, or its URI.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Parquet, Arrow, CSV or JSON lines, in the order of time; - is standard input.",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take the columns of this file, and append none of it."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The key; several columns as A,B.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of times, which makes slots.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="W", help="How many slots are kept, or '30 days'.")
    ] = None,
    slot: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="How long a slot is, such as '1 hour'; else a day."),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The zone of days and of times without one; else UTC."),
    ] = None,
    inserted: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column of insertion times. It makes a lifetime index."
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of ends.")
    ] = None,
    lifetime: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column of lifetimes, instead of ends."),
    ] = None,
    max_lifetime: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="No row lives longer than this.")
    ] = None,
    refresh: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="From one refresh to the next.")
    ] = None,
    grid: Annotated[
        str | None, typer.Option(metavar="GxE", help="Insertion by expiration partitions.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="How a lifetime index is refreshed.")
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(metavar="BIRTHS,DEATHS", help="How the grid partitions."),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scheme; else wata.")
    ] = None,
    indexes: Annotated[
        int | None, typer.Option(metavar="N", help="The number of sub-indexes; else 4.")
    ] = None,
    update: Annotated[
        str | None, typer.Option(metavar="NAME", help="The update technique; else runs.")
    ] = None,
    include: Annotated[
        str | None, typer.Option(metavar="A,B", help="The columns to keep, instead of all.")
    ] = None,
    types: Types = None,
    file_format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="arrow, parquet, sqlite ...")
    ] = None,
    shards: Annotated[
        int | None, typer.Option(metavar="N", help="The number of shards; else 2.")
    ] = None,
    nulls: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="skip or error: what becomes of rows without a key."),
    ] = None,
    late: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="drop or error: what becomes of rows before the window."),
    ] = None,
    keep_commits: Annotated[
        int | None, typer.Option(metavar="N", help="How many commits stay; else 2.")
    ] = None,
    keep_for: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="For how long commits stay.")
    ] = None,
    keep_followed: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH|N",
            help="How far followers of changes may fall behind, in time or commits; else 7 days.",
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Keep for ever which keys were there when, by this method: pph-s, mvbt ...",
        ),
    ] = None,
    null: NoValue = "",
    from_kind: From = None,
    yes: Yes = False,
) -> Iterator[Answer]:
    """Create an index from files, and append them."""
    kind = "lifetime" if inserted is not None else "wave"
    keys = column_names(key) or []
    options: dict[str, Any] = {
        "key": keys[0] if len(keys) == 1 else keys,
        "time": time,
        "inserted": inserted,
        "expires": expires,
        "lifetime": lifetime,
        "window": window,
        "max_lifetime": _number_or_text(max_lifetime),
        "refresh": _number_or_text(refresh),
        "slot": _number_or_text(slot),
        "zone": zone,
        "grid": None if grid is None else shape_of(grid),
        "method": method,
        "partition": None if partition is None else sides_of(partition),
        "scheme": scheme,
        "indexes": indexes,
        "update": update,
        "include": column_names(include),
        "format": file_format,
        "shards": shards,
        "nulls": nulls,
        "late": late,
        "keep_commits": keep_commits,
        "keep_for": keep_for,
        "keep_followed": keep_followed,
        "history": history,
    }
    given = {name: value for name, value in options.items() if value not in (None, [])}
    _check_options(kind, given, is_empty=like is not None)
    paths = [like] if like is not None else files or []
    if not paths or (like is not None and files):
        raise typer.BadParameter("give files to create it from, or --like FILE for its columns.")
    texts = Texts(null, zone)
    with working(f"Reading {paths[0]}"):
        source = find_source(paths[0], from_kind)
        table = read_typed(source, pairs_of("--type", types or []), null, zone)
    show_types(source, table, yes)
    with working(f"Creating {index}"):
        idx: AnyIndex = KINDS[kind].create(index, table, **given, rows=like is None)
    yield _said_of(idx, table, source, like is None)
    yield from append_more(idx, paths[1:], texts, from_kind)


def _check_options(kind: str, given: dict[str, Any], is_empty: bool) -> None:
    """Raise BadParameter for what is missing, and for what another kind of index has."""
    for name in given.keys() - {*KINDS[kind].hints}:
        (other,) = (each.name for each in KINDS.values() if name in each.hints)
        refuse(f"{other} indexes, and --inserted makes one", **{name: given[name]})
    for name, _ in KINDS[kind].missing(given):
        if not (name == "time" and is_empty):
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"an index needs {option}.", param_hint=f"'{option}'")


def _number_or_text(said: str | None) -> str | int | None:
    """Lengths are numbers where times are."""
    return int(said) if said is not None and said.strip().isdecimal() else said


def _said_of(idx: AnyIndex, table: pa.Table, source: Source, has_rows: bool) -> Answer:
    columns = {field.name: str(field.type) for field in idx.schema}
    rows = len(idx) if has_rows else 0
    data = {"index": idx.path, "columns": columns, "rows": rows, "slots": [*idx.slots]}
    said = f"{idx.path}: created with {len(columns)} columns"
    if has_rows:
        out = table.num_rows - rows
        left = f", of {table.num_rows:,} that {source.name} has" if out else ""
        said += f", {rows:,} row{'s' * (rows != 1)} in {idx.slots}{left}"
    return Answer(data, printable(said))


COMMANDS: dict[Callable[..., Any], str] = {
    create: "wavedex create sales.wx monday.parquet --key customer --time sold_at --window 30"
}
