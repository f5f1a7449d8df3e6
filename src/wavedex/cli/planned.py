"""How a plan looks: a table for people with a row for each slot, or the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

from wavedex.cli.rows import table_console


def show_planned(planned: list[dict[str, Any]], as_json: bool) -> None:
    """Print what `plan_table` or `grid_table` returned."""
    if as_json:
        typer.echo("[\n" + ",\n".join(json.dumps(row) for row in planned) + "\n]")
    else:
        _draw(planned)


def _draw(planned: list[dict[str, Any]]) -> None:
    """One row a slot; columns only where there is something in them."""
    from rich.table import Table
    from rich.text import Text

    cells: dict[str, list[str]] = {
        "operations": ["\n".join(row["ops"]) for row in planned],
        "preparation": ["\n".join(row["prepare"]) for row in planned],
        "inserts": [", ".join(row.get("inserts", [])) for row in planned],
        "expires": [", ".join(row.get("expires", [])) for row in planned],
        "left alone": [", ".join(_left_alone(row)) for row in planned],
        "sub-indexes": [_sets(row["indexes"]) for row in planned],
        "temporaries": [_sets(row["temps"]) for row in planned],
    }
    shown = {name: column for name, column in cells.items() if any(column)}
    table = Table(show_lines=True, header_style="bold")
    table.add_column("slot", justify="right")
    for name in shown:
        table.add_column(name, overflow="fold")
    for at, row in enumerate(planned):
        table.add_row(str(row["slot"]), *(Text(column[at]) for column in shown.values()))
    table_console().print(table)


def _left_alone(row: dict[str, Any]) -> list[str]:
    return [name for name in row["indexes"] if name not in row.get("touched", row["indexes"])]


def _sets(layout: Mapping[str, list[int]]) -> str:
    return "\n".join(f"{name} {{{', '.join(map(str, slots))}}}" for name, slots in layout.items())
