"""What the pictures of these pages have in common: colours, letters and signs, in plain SVG."""

from __future__ import annotations

# Okabe and Ito's colours, which can be told apart by nearly everybody; a darker edge for each.
FILLS = ("#6db3e0", "#f0b84a", "#5cc2a0", "#dc9fc2")
EDGES = ("#2f6f99", "#a0741a", "#1f7a5c", "#97557b")
PAPER, INK, FAINT, RULE = "#fbfaf7", "#26241f", "#77736a", "#dcd8ce"
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
