"""A lifetime index in a terminal: its facts, and its grid with what each cell holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wavedex.show.grid import DELTA, GridCell, GridPicture, Span, span_text
from wavedex.show.words import human_bytes, printable, row_count

if TYPE_CHECKING:
    from rich.table import Table

HEAD_WIDTH, COLUMN_WIDTH = 22, 13
"""The least that the names of lines, and a column of cells, take of a terminal, in letters."""
LINES_MAX = 40
"""The most lines of cells. Columns are as many as there is room for."""
WRITTEN = "*"


def facts(about: Mapping[str, Any]) -> dict[str, str]:
    """What is said of the index, by name. What is empty is left out."""
    rows, columns = about["grid"]
    hidden = about["rows_hidden"]
    return {
        "key": about["key"] if isinstance(about["key"], str) else ", ".join(about["key"]),
        "inserted": about["time"],
        "zone": about["zone"],
        "ends": _ends(about),
        "method": f"{about['method']} ({', '.join(about['partition'])})",
        "update": about["update"],
        "format": about["format"],
        "lifetimes": f"up to {about['window']:,} refreshes of {about['refresh_every']}",
        "grid": f"{rows}x{columns}, {about['shards']:,} shards each",
        "rows": f"{about['rows_held']:,} held" + (f", {hidden:,} of them hidden" if hidden else ""),
        "size": human_bytes(about["bytes"]),
        "now": about["now_at"] or "",
        "refresh": f"{about['refreshed_at']} was the last" if about["refreshed_at"] else "",
        "commit": f"{about['commit']:,}, written at {about['written_at']}",
    }


def _ends(about: Mapping[str, Any]) -> str:
    """How the end of a row is told."""
    if about["counts"]:
        windows = (f"{size:,} rows by {name}" for name, size in about["counts"].items())
        return f"when it leaves a window of {', '.join(windows)}"
    return about["expires"] or f"{about['lifetime']} after {about['time']}"


def draw(about: Mapping[str, Any], label: Callable[[int], str], width: int) -> Iterator[Any]:
    """The grid, what lies beside it, and what the signs mean, in `width` letters of a terminal."""
    from rich.text import Text

    if not about["births"]:
        yield "Nothing was inserted yet."
        return
    picture = GridPicture.of(about, label)
    columns = max(1, (width - HEAD_WIDTH) // COLUMN_WIDTH)
    yield _grid(picture, columns)
    for said in _below(picture, columns):
        yield Text(said, style="dim")


def _grid(picture: GridPicture, columns: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", show_lines=True)
    table.add_column("inserted \\ expiring", overflow="fold")
    for ends in picture.deaths[:columns]:
        table.add_column(Text(_span(ends)), overflow="fold", justify="right")
    for ends, line in list(zip(picture.births, picture.cells, strict=True))[:LINES_MAX]:
        table.add_row(Text(_span(ends)), *(Text(_cell(cell)) for cell in line[:columns]))
    return table


def _span(ends: Span) -> str:
    """From when to when, on two lines where it is long."""
    return span_text(ends).replace(" to ", "\nto ").replace(" ... ", "\n... ")


def _cell(cell: GridCell) -> str:
    hidden = f"{cell.hidden:,} hidden\n" if cell.hidden else ""
    mark = WRITTEN if cell.is_written else ""
    return f"{cell.name}{mark}\n{row_count(cell.rows)}\n{hidden}{human_bytes(cell.bytes)}"


def _below(picture: GridPicture, columns: int) -> Iterator[str]:
    for cell in picture.beside:
        why = "waiting for the next refresh" if cell.name == DELTA else "draining"
        yield printable(f"{cell.said}, {why}")
    if left_out := picture.left_out(LINES_MAX, columns):
        yield left_out
    if picture.commit is not None:
        yield f"{WRITTEN} written by commit {picture.commit:,}, the last that changed the grid"
