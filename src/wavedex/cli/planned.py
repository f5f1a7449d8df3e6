"""How a plan looks: a table for people with a row for each slot, or the same as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from wavedex.cli.output import Answer
from wavedex.plan.slot_set import ranges_of

if TYPE_CHECKING:
    from rich.console import Console


RUN_LEAST = 3
"""A run of slots is written by its ends if they lie at least so far apart."""


def show_planned(planned: list[dict[str, Any]]) -> Answer:
    """What `plan_table` or `grid_table` returned."""
    return Answer(planned, partial(_draw, planned), is_table=True)


def _draw(planned: list[dict[str, Any]], console: Console) -> None:
    """One row a slot; columns only where there is something in them."""
    from rich.table import Table
    from rich.text import Text

    cells: dict[str, list[str]] = {
        "operations": [short_sets("\n".join(row["ops"])) for row in planned],
        "preparation": [short_sets("\n".join(row["prepare"])) for row in planned],
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
    sets = (f"{name} {{{', '.join(map(str, slots))}}}" for name, slots in layout.items())
    return short_sets("\n".join(sets))


def short_sets(text: str) -> str:
    """A text with its sets of slots written short: a run of four or more by its ends.

    >>> short_sets("build({1, 2, 3, 4, 9}) -> I1, add({5, 6}, I2)")
    'build({1..4, 9}) -> I1, add({5, 6}, I2)'
    """
    return re.sub(r"\{(-?\d+(?:, -?\d+)*)\}", lambda found: _short(found[1]), text)


def _short(numbers: str) -> str:
    slots = [int(number) for number in numbers.split(", ")]
    shown: list[str] = []
    for first, last in ranges_of(slots):
        run = [f"{first}..{last}"] if last - first >= RUN_LEAST else range(first, last + 1)
        shown += map(str, run)
    return f"{{{', '.join(shown)}}}"
