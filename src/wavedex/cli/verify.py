"""The commands that keep an index in order: `verify` and `vacuum`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from wavedex.cli.options import AsJson, Index
from wavedex.errors import Damaged
from wavedex.index.opening import open_index
from wavedex.show.wave import human_bytes


def verify(index: Index, as_json: AsJson = False) -> None:
    """Read every byte of the index and check every checksum and rule; the exit code is 1 where it is damaged."""
    try:
        idx = open_index(index)
        idx.verify()
    except Damaged as error:
        if as_json:
            typer.echo(json.dumps({"ok": False, "findings": list(error.findings)}))
        else:
            for finding in error.findings:
                typer.echo(finding)
        raise
    about = idx.describe()
    counts = {
        **(_held(about) if about["kind"] == "lifetime" else _in_window(about)),
        "bytes": about["bytes"],
        "sub_indexes": len(about["sub_indexes"]),
        "commit": about["commit"],
    }
    if as_json:
        typer.echo(json.dumps({"ok": True, "findings": [], **counts}))
        return
    what = (
        "of which {rows_hidden:,} are hidden" if "rows_hidden" in counts else "of {slots:,} slots"
    )
    typer.echo(
        f"ok: {counts['rows']:,} rows {what.format(**counts)} in {counts['sub_indexes']:,} "
        f"sub-indexes, {human_bytes(counts['bytes'])}, commit {counts['commit']:,}"
    )


def _in_window(about: dict[str, Any]) -> dict[str, int]:
    """The rows of a wave index that count."""
    return {"rows": about["rows"], "slots": sum(entry["live"] for entry in about["slots"])}


def _held(about: dict[str, Any]) -> dict[str, int]:
    """The rows in the files of a lifetime index."""
    return {"rows": about["rows_held"], "rows_hidden": about["rows_hidden"]}


def vacuum(
    index: Index,
    keep: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many commits to keep, the newest first.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Remove old commits, and the files that no kept one needs."""
    removed = open_index(index).vacuum(keep)
    if as_json:
        typer.echo(json.dumps({"removed": removed}))
    else:
        typer.echo(f"{len(removed):,} file{'s' * (len(removed) != 1)} removed")


COMMANDS: dict[Callable[..., Any], str] = {
    verify: "wavedex verify sales.wx",
    vacuum: "wavedex vacuum sales.wx --keep 3",
}
