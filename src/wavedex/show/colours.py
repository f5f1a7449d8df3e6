"""The one palette, in three strengths.

It has Okabe and Ito's colours, which nearly everybody can tell apart.
"""

from __future__ import annotations

SERIES = ("#2f6f99", "#d08a1a", "#1f7a5c", "#97557b", "#77736a")
"""Dark, for the lines of charts on paper."""
EDGES = ("#2f6f99", "#a0741a", "#1f7a5c", "#97557b")
"""Darker still where they are thin: the edges of boxes."""
FILLS = ("#6db3e0", "#f0b84a", "#5cc2a0", "#dc9fc2")
"""Light, for boxes that have edges."""
PAPER, INK, FAINT, RULE = "#fbfaf7", "#26241f", "#77736a", "#dcd8ce"
"""The ground, text, text of less weight, and the lines of a grid."""
BLUE, AMBER, GREEN, GREY = "#3a8fc7", "#c98a2b", "#2f9e7d", "#8a8a8a"
"""Of middling brightness: for pictures in pages that may be light or dark."""
