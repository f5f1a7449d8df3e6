"""Small pictures in SVG: boxes, texts and the frame around them, for pages that are light or dark.

Text has the page's own colour, and whatever is text is escaped. Knows nothing of an index.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from wavedex.show.colours import GREY

FAINT = GREY
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def frame(parts: Iterable[str], width: int, height: int, said: str) -> str:
    """A picture made of parts; `said` is for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        f'style="display: block; max-width: 100%; height: auto" '
        f'role="img" aria-label="{escaped(said)}" '
        f'font-family="sans-serif" font-size="11" fill="currentColor">{"".join(parts)}</svg>'
    )


def box(left: float, top: float, width: float, height: float) -> str:
    """The outline of a box, for a path."""
    return f"M{number(left)} {number(top)}h{number(width)}v{number(height)}h-{number(width)}z"


def text(left: float, base: float, said: str, end: bool = False, faint: bool = False) -> str:
    """A line of text that begins, or with `end` ends, at a place."""
    anchor = ' text-anchor="end"' if end else ""
    opacity = ' fill-opacity=".7"' if faint else ""
    return f'<text x="{number(left)}" y="{number(base)}"{anchor}{opacity}>{escaped(said)}</text>'


def number(value: float) -> str:
    """A length with no more digits than a screen can show.

    >>> number(3.0), number(2.345)
    ('3', '2.3')
    """
    return f"{value:.1f}".removesuffix(".0")


def escaped(said: str) -> str:
    """Text that HTML and XML take for text: what no page can show is written out."""
    plain = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", said)
    return html.escape(plain)
