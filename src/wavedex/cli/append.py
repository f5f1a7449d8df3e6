"""The command `append`: files into an index.

Into a wave index they go one after the other, each as the next slots. Into a lifetime index they go
together, with one refresh. Its instant is given, or it is that of their last insertion. So it is
all of them or none. The same command again is known by its rows and passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import pyarrow as pa
import typer

import wavedex
from wavedex.cli.files import STDIN, FileKind, as_of_zone, find_source, read_source
from wavedex.cli.options import Arrived, From, Index, NoValue, Wait, pairs_of, refuse, whole
from wavedex.cli.output import Answer, working
from wavedex.errors import BadTime, WavedexError
from wavedex.index.core.arrival import fit
from wavedex.index.kinds import kind_of
from wavedex.index.opening import AnyIndex, open_index
from wavedex.index.reading.pointers import read_records
from wavedex.show.words import printable
from wavedex.slots import check_zone, ordinals


def append(
    index: Index,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Parquet, Arrow, CSV or JSON lines, in the order of time; - is standard input.",
        ),
    ],
    slot: Annotated[
        str | None,
        typer.Option(metavar="N", help="The slot that the rows are of, where they have no time."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help="For a lifetime index: the instant of the refresh; else that of the last "
            "insertion in the files.",
        ),
    ] = None,
    arrived: Arrived = None,
    null: NoValue = "",
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="The zone in which times in the files are local that have none; else that of the "
            "index.",
        ),
    ] = None,
    from_kind: From = None,
    wait: Wait = None,
) -> Iterator[Answer]:
    """Append files: as the next slots of a wave index, or with one refresh of a lifetime index.

    What is over is let go. Into a wave index each file goes as a whole or not at all; one that was
    appended before is passed over. Into a lifetime index all files go together or not at all; the
    last command again is passed over.
    """
    idx = open_index(index)
    if zone is not None:
        check_zone(zone)
    said = Timing(slot, now, arrived or [], wait)
    yield from _TAKEN[kind_of(idx).name](idx, files, Texts(null, zone, from_kind), said)
    settle(idx)


def append_more(
    idx: AnyIndex, files: Sequence[Path], texts: Texts, from_kind: FileKind | None
) -> Iterator[Answer]:
    """Append files that say themselves when their rows are from."""
    if files:
        texts = texts._replace(kind=from_kind)
        yield from _TAKEN[kind_of(idx).name](idx, files, texts, Timing(None, None, [], None))
    settle(idx)


def settle(idx: AnyIndex) -> None:
    """Wait for what is prepared in the background, for which the process would wait anyway."""
    with working(f"Preparing {idx.path} for what comes next"):
        idx.close()


class Timing(NamedTuple):
    """What was said of the time of rows."""

    slot: str | None
    """The slot, if one was named."""
    now: str | None
    """The instant of the refresh, if one was given."""
    arrived: list[str]
    """The newest position of each stream, as COLUMN=N."""
    wait: str | None
    """How long to wait for another writer."""


def _append_each(
    idx: AnyIndex, files: Sequence[Path], texts: Texts, said: Timing
) -> Iterator[Answer]:
    """Append files one after the other to a wave index."""
    idx = cast(wavedex.WaveIndex, idx)
    refuse("lifetime indexes, and this is a wave index", now=said.now, arrived=said.arrived or None)
    for number, path in enumerate(files, start=1):
        with working(f"Appending {path} ({number} of {len(files)})"):
            told, text = _append(idx, read_rows(idx, path, texts), said)
        yield Answer({"file": str(path), **told}, f"{printable(listed([path]))}: {text}")


def _append_together(
    idx: AnyIndex, files: Sequence[Path], texts: Texts, said: Timing
) -> Iterator[Answer]:
    """Refresh a lifetime index with all files."""
    idx = cast(wavedex.LifetimeIndex, idx)
    refuse("wave indexes, and this is a lifetime index", slot=said.slot)
    positions = _positions(idx, said.arrived)
    with working(f"Appending {listed(files)}"):
        told, text = _update(idx, files, texts, said, positions)
    yield Answer({"files": [*map(str, files)], **told}, f"{printable(listed(files))}: {text}")


_TAKEN: dict[str, Callable[..., Iterator[Answer]]] = {
    "wave": _append_each,
    "lifetime": _append_together,
}
"""How files get into each kind of index."""


class Texts(NamedTuple):
    """How the text of files is meant."""

    null: str
    """What stands for no value."""
    zone: str | None
    """The zone of times that name none; None for that of the index."""
    kind: FileKind | None = None
    """What the files hold, where their names do not say."""


def read_rows(idx: AnyIndex, path: Path, texts: Texts) -> pa.Table:
    """The rows of a file, with pointers to them where the index keeps those.

    Raises Unreadable, BadTime.
    """
    definition = idx.definition
    zone = texts.zone or definition.zone
    try:
        if definition.pointer is not None and str(path) != STDIN:
            table = read_records(definition, path)
        else:
            source = find_source(path, texts.kind)
            table = read_source(source, definition.offered, texts.null, zone)
        return as_of_zone(table, definition.offered, zone, definition.zone)
    except BadTime as error:
        raise BadTime(f"{path}: {error} Or say with --zone where they are local.") from error


# -- a wave index ------------------------------------------------------------------------------


def _append(idx: wavedex.WaveIndex, table: pa.Table, said: Timing) -> tuple[dict[str, Any], str]:
    """Append rows, and return what was done as JSON and in words."""
    done = idx.append(table, said.slot, wait=said.wait)
    labels = [idx.definition.slotting.label(slot) for slot in done.slots]
    told = {**asdict(done), "already_there": done.repeated}
    return told, _said_of(done, labels, done.repeated)


def _said_of(done: wavedex.Appended, labels: list[str], already: bool) -> str:
    """What an append did, in words."""
    if already:
        parts = ["already there"]
    elif not labels:
        parts = ["no rows to append"]
    else:
        named = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
        slots = f"{len(labels):,} slot{'s' * (len(labels) != 1)} ({named})"
        parts = [slots, f"{done.rows:,} row{'s' * (done.rows != 1)}"]
    return with_others(
        parts,
        (done.null_keys, "skipped without a key"),
        (done.late, "late and dropped"),
        (done.expired, "already expired"),
    )


# -- a lifetime index --------------------------------------------------------------------------


def _update(
    idx: wavedex.LifetimeIndex,
    files: Sequence[Path],
    texts: Texts,
    said: Timing,
    positions: dict[str, int] | None,
) -> tuple[dict[str, Any], str]:
    """Refresh once with the rows of all files, and return what was done as JSON and in words."""
    slotting, now = idx.definition.slotting, said.now
    table, null_keys = read_all(idx, files, texts)
    why = "" if now is not None else ", the last insertion"
    if now is None:
        if not table.num_rows:
            told = {"now": None, "rows": 0, "null_keys": null_keys}
            nothing = "no rows to insert, and no --now to refresh at"
            return told, with_others([nothing], (null_keys, "skipped without a key"))
        now = slotting.moment(int(ordinals(table.column(idx.definition.time)).max()))
    done = idx.update(now, table, arrived=positions, wait=said.wait)
    done = replace(done, null_keys=null_keys)
    at = slotting.moment(idx.instant(now))
    return {"now": at, **asdict(done)}, f"as of {at}{why}: {said_of_refresh(done)}"


def read_all(idx: AnyIndex, files: Sequence[Path], texts: Texts) -> tuple[pa.Table, int]:
    """The rows of all files in the columns of the index, and how many had no key and are left out.

    Raises what reading and fitting raise, with the name of the file.
    """
    tables, null_keys = [], 0
    for path in files:
        rows = read_rows(idx, path, texts)
        try:
            table, skipped = fit(rows, idx.definition)
        except WavedexError as error:
            raise type(error)(f"{path}: {error}") from None
        tables.append(table)
        null_keys += skipped
    return pa.concat_tables(tables), null_keys


def _positions(idx: wavedex.LifetimeIndex, arrived: list[str]) -> dict[str, int] | None:
    """How far each stream has come.

    Raises BadParameter where windows are counted and it is not said.
    """
    counts = idx.definition.counts
    if not counts:
        refuse("counted windows, and this index has none", arrived=arrived or None)
        return None
    pairs = pairs_of("--arrived", arrived)
    if set(pairs) != set(counts):
        needed = " ".join(f"--arrived {name}=N" for name in counts)
        raise typer.BadParameter(f"the windows of this index are counted: give {needed}.")
    return {name: whole(value, "--arrived") for name, value in pairs.items()}


def said_of_refresh(done: wavedex.Refreshed) -> str:
    """What a refresh did, in words."""
    if done.repeated:
        return "already there"
    where = f" into {' '.join(done.inserts)}" if done.inserts else ", to wait for the next refresh"
    rows = f"{done.rows:,} row{'s' * (done.rows != 1)}{where}"
    parts = [rows if done.rows else "no rows"]
    parts += [
        f"{count:,} {what}"
        for count, what in ((done.retracted, "retracted"), (done.prolonged, "with another end"))
        if count
    ]
    if done.expires:
        parts.append(f"expired from {' '.join(done.expires)}")
    return with_others(
        parts,
        (done.null_keys, "skipped without a key"),
        (done.over, "over already"),
    )


# -- both --------------------------------------------------------------------------------------


def listed(files: Sequence[Path]) -> str:
    """Files as people name them."""
    return ", ".join(map(str, files))


def with_others(parts: list[str], *others: tuple[int, str]) -> str:
    """What was done, and how many rows were left out and why."""
    return ", ".join([*parts, *(f"{count:,} {why}" for count, why in others if count)])


COMMANDS: dict[Callable[..., Any], str] = {
    append: "wavedex append sales.wx monday.parquet tuesday.csv, "
    "or wavedex append calls.wx east.csv west.csv --now 2026-01-05T12:22"
}
