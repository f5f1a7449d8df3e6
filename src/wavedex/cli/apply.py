"""The command `apply`: rows come, go and get another end in a lifetime index, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

import wavedex
from wavedex.cli.append import Texts, read_all, read_rows, said_of_refresh, settle
from wavedex.cli.options import Arrived, From, Index, NoValue, Wait, pairs_of, whole
from wavedex.cli.output import Answer, working
from wavedex.errors import WavedexError
from wavedex.index.core.arrival import fit
from wavedex.index.core.instructions import sort_out
from wavedex.index.kinds import kind_of
from wavedex.index.opening import AnyIndex, open_index
from wavedex.slots import check_zone

Files = list[Path] | None


def apply(
    index: Index,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="The instant of the refresh; else that of the last insertion in the files.",
        ),
    ] = None,
    insert: Annotated[
        Files, typer.Option(metavar="FILE", help="Rows that come; several times.")
    ] = None,
    retract: Annotated[
        Files,
        typer.Option(metavar="FILE", help="Rows that go, told by all columns; several times."),
    ] = None,
    retract_matching: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Let all living rows go that agree with a row of this file, which has the key and "
            "some other columns.",
        ),
    ] = None,
    retract_key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Let all living rows of a key go; several times."),
    ] = None,
    prolong: Annotated[
        Files,
        typer.Option(
            metavar="FILE", help="Rows with other ends, told by all other columns; several times."
        ),
    ] = None,
    rows: Annotated[
        Files,
        typer.Option(
            metavar="FILE",
            help="Instead: rows that say in the column --by what to do with each; several times.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="It says insert, retract or prolong, or 1 and -1."),
    ] = None,
    arrived: Arrived = None,
    stream: Annotated[
        str | None, typer.Option(metavar="NAME", help="The stream of which this is a batch.")
    ] = None,
    number: Annotated[
        int | None, typer.Option(metavar="N", help="The number of the batch, from 0 on.")
    ] = None,
    null: NoValue = "",
    zone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The zone of times in the files that name none."),
    ] = None,
    from_kind: From = None,
    wait: Wait = None,
) -> Answer:
    """Refresh a lifetime index: insert rows, retract rows, give rows other ends, all or nothing.

    What is retracted or gets another end lived before: rows that come with the same command are not
    meant. With --stream and --number the same command again is passed over.
    """
    idx = open_index(index)
    if zone is not None:
        check_zone(zone)
    ways = (retract, retract_matching, retract_key)
    if sum(map(bool, ways)) > 1:
        raise typer.BadParameter(
            "give one of --retract, --retract-matching and --retract-key; apply the others after "
            "it."
        )
    if (rows is None) != (by is None) or (rows and any((insert, prolong, *ways))):
        raise typer.BadParameter("give --rows with --by, or the other files without them.")
    if now is None and not any((insert, prolong, rows, arrived, *ways)):
        raise typer.BadParameter("give rows, or --now to refresh without any.")
    texts = Texts(null, zone, from_kind)
    if rows is not None and by is not None:
        read = _sorted_out(idx, rows, by, texts)
    else:
        read = [_read(idx, files, texts) for files in (insert, retract, prolong)]
    come, gone, held = (table for table, _ in read)
    if retract_matching is not None:
        gone = wavedex.matching(read_rows(idx, retract_matching, texts))
    if retract_key:
        gone = wavedex.matching(_keys(idx, retract_key))
    with working(f"Applying to {index}"):
        done = kind_of(idx).apply(
            idx,
            now,
            insert=come,
            retract=gone,
            prolong=held,
            arrived=_positions(arrived),
            stream=stream,
            number=number,
            wait=wait,
        )
    done = replace(done, null_keys=sum(skipped for _, skipped in read))
    settle(idx)
    now = now or idx.describe()["now_at"]
    as_of = "" if now is None else f"as of {now}: "
    return Answer({"now": now, **asdict(done)}, f"{as_of}{said_of_refresh(done)}")


def _read(idx: AnyIndex, files: Sequence[Path] | None, texts: Texts) -> tuple[Any, int]:
    """The rows of files, None if there are no files, and how many had no key."""
    return read_all(idx, files, texts) if files else (None, 0)


def _sorted_out(
    idx: AnyIndex, files: Sequence[Path], by: str, texts: Texts
) -> list[tuple[Any, int]]:
    """The rows of files by what they say is to be done with them, None where there are none."""
    found = []
    tables = [_sorted_out_of(idx, path, by, texts) for path in files]
    for fitted in zip(*tables, strict=True):
        table = pa.concat_tables([each for each, _ in fitted])
        found.append((table if table.num_rows else None, sum(skipped for _, skipped in fitted)))
    return found


def _sorted_out_of(idx: AnyIndex, path: Path, by: str, texts: Texts) -> list[tuple[pa.Table, int]]:
    """The same of one file. Raises what sorting out and fitting raise, with its name."""
    rows = read_rows(idx, path, texts)
    try:
        return [fit(piece, idx.definition) for piece in sort_out(rows, by)]
    except WavedexError as error:
        raise type(error)(f"{path}: {error}") from None


def _positions(arrived: list[str] | None) -> dict[str, int] | None:
    """How far each stream has come, if it is said."""
    if not arrived:
        return None
    pairs = pairs_of("--arrived", arrived)
    return {name: whole(value, "--arrived") for name, value in pairs.items()}


def _keys(idx: AnyIndex, texts: Sequence[str]) -> dict[str, list[Any]]:
    """Keys as columns."""
    spec, names = idx.definition.spec, idx.definition.key_names
    keys = [spec.key_type.parse(text) for text in texts]
    columns = zip(*keys, strict=True) if len(names) > 1 else [keys]
    return dict(zip(names, map(list, columns), strict=True))


COMMANDS: dict[Callable[..., Any], str] = {
    apply: "wavedex apply calls.wx --now 2026-01-05T12:22 --insert new.csv --retract ended.csv, "
    "or wavedex apply calls.wx --rows monday.csv --by op"
}
