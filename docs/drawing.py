"""What the pictures of these pages have in common: colours, letters and signs, in plain SVG."""

from __future__ import annotations

from wavedex.show.colours import EDGES, FAINT, FILLS, INK, PAPER, RULE

__all__ = ["EDGES", "FAINT", "FILLS", "FONT", "INK", "PAPER", "RULE", "cross", "text"]

FONT = "font-family='ui-sans-serif, Helvetica, Arial, sans-serif'"


def text(
    x: float,
    y: float,
    said: str,
    *,
    size: int = 10,
    weight: int = 400,
    fill: str = INK,
    anchor: str = "start",
) -> str:
    """A line of text."""
    return (
        f"<text x='{x}' y='{y}' font-size='{size}' font-weight='{weight}' fill='{fill}' "
        f"text-anchor='{anchor}'>{said}</text>"
    )


def cross(x: float, y: float) -> str:
    """A cross around a point."""
    return f"<path d='M{x - 3} {y - 3}l6 6m0 -6l-6 6' stroke='{INK}' stroke-width='1.4'/>"
