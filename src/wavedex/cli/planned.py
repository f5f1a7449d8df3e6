"""How a plan looks: a table for people with a row for each slot, or the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from wavedex.cli.output import Answer

if TYPE_CHECKING:
    from rich.console import Console


def show_planned(planned: list[dict[str, Any]]) -> Answer:
    """What `plan_table` or `grid_table` returned."""
    return Answer(planned, partial(_draw, planned), is_table=True)


def _draw(planned: list[dict[str, Any]], console: Console) -> None:
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
    console.print(table)


def _left_alone(row: dict[str, Any]) -> list[str]:
    return [name for name in row["indexes"] if name not in row.get("touched", row["indexes"])]


def _sets(layout: Mapping[str, list[int]]) -> str:
    return "\n".join(f"{name} {{{', '.join(map(str, slots))}}}" for name, slots in layout.items())
