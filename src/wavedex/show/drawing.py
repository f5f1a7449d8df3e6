"""How a kind of index is shown: what is said of it, and its picture for a page and for a terminal.

Everything is made of the plain JSON that `describe` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wavedex.show import grid_svg, grid_text, wave_svg, wave_text

Label = Callable[[int], str]
"""Names a slot."""


@dataclass(frozen=True)
class Drawing:
    """How one kind of index is shown."""

    line: Callable[[Mapping[str, Any]], tuple[str, ...]]
    """What is said of it in one line, before its size."""
    facts: Callable[[Mapping[str, Any]], dict[str, str]]
    """What is said of it, by name. What is empty is left out."""
    svg: Callable[[Mapping[str, Any], Label], str]
    """Its picture for a page."""
    text: Callable[[Mapping[str, Any], Label, int], Iterable[Any]]
    """Its picture for a terminal of that width, in pieces."""
    is_table: bool
    """Whether that is a table, which is not cut where there is no terminal."""


WAVE = Drawing(wave_svg.line, wave_text.facts, wave_svg.draw, wave_text.draw, is_table=False)
GRID = Drawing(grid_svg.line, grid_text.facts, grid_svg.draw, grid_text.draw, is_table=True)
