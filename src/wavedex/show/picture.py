"""A picture that somebody holds: for a page, for a terminal, for a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wavedex.errors import BadPlot

SUFFIX = ".svg"
WIDTH = 80
"""How many letters wide a picture is where nobody says it."""


def check_svg(path: str | os.PathLike[str]) -> None:
    """Raise BadPlot where a picture cannot be written to a path."""
    at = Path(path)
    if at.suffix.lower() != SUFFIX:
        raise BadPlot(f"Cannot draw {at}. Give a name that ends in {SUFFIX}.")
    if not at.parent.is_dir():
        raise BadPlot(f"There is no folder {at.parent}. Create it, or give another path.")


@dataclass(frozen=True)
class Picture:
    """A picture. A notebook shows it, and `print` prints it."""

    svg: str
    """For a page or a file."""
    lines: Callable[[int], Sequence[str]]
    """For a terminal so many letters wide."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to an SVG file. Raises BadPlot."""
        check_svg(path)
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return "\n".join(self.lines(WIDTH))
