"""Draw grids: what one refresh does to rows that live differently long.

What is drawn comes from the planners themselves. `python docs/draw_grids.py` writes
`docs/pictures/grids.svg`. A test runs the same function and compares. Plain SVG, the same bytes
each time.

A panel has a line for each slot of births and a column for each slot of deaths; a square stands for
the rows that were inserted in the one and expire in the other. It has the colour of the sub-index
that holds them, pale where the refresh leaves that one alone. A dot marks what arrives, a cross
what expires; hatched is what is over and still held.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drawing import EDGES, FAINT, FILLS, FONT, INK, PAPER, cross, text
from wavedex.plan import Delete, Grid, GridState, grid, touched

PICTURES = Path(__file__).parent / "pictures"
WINDOW, SIDE = 8, 2
PANELS = {
    "round-robin": grid("rebuild", WINDOW, SIDE, SIDE),
    "chronological": grid("rebuild", WINDOW, SIDE, SIDE, ("chronological", "chronological")),
    "lazy: births are a wave": grid("lazy-rebuild", WINDOW, SIDE, SIDE),
}
SQUARE, LEFT, TOP, BETWEEN = 21, 44, 74, 56
PANEL = SQUARE * (WINDOW + 1)


@dataclass(frozen=True)
class Panel:
    """One grid at the refresh that follows its first full window, drawn from `left` on."""

    title: str
    planner: Grid
    left: int

    def parts(self) -> list[str]:
        """What is drawn."""
        _, before = self.planner.start(WINDOW)
        plan, after = self.planner.refresh(before, WINDOW + 1)
        changed = touched(plan, before.indexes).touched
        deleted = {each.target for each in plan.transition if isinstance(each, Delete)}
        alone = [name for name in self.planner.names if name not in changed]
        parts = [
            text(self.left, TOP - 30, self.title, size=13, weight=700),
            text(self.left, TOP - 14, f"touches {' '.join(changed)}, not {' '.join(alone)}"),
        ]
        for birth in range(1, WINDOW + 2):
            state = after if birth > WINDOW else before
            first = WINDOW + 2 if birth > WINDOW else WINDOW + 1
            for death in range(first, birth + WINDOW + 1):
                name = cell_of(self.planner, state, birth, death)
                is_over = death == WINDOW + 1
                parts += self._square(birth, death, name, name in changed)
                parts += self._mark(birth, death, is_over, is_kept=name not in deleted)
        return [*parts, *self._axes()]

    def _square(self, birth: int, death: int, name: str, is_changed: bool) -> list[str]:
        number = int(name[1:]) - 1
        x, y = self._x(death), self._y(birth)
        place = f"x='{x + 1}' y='{y + 1}' width='{SQUARE - 2}' height='{SQUARE - 2}' rx='2'"
        pale = "" if is_changed else " fill-opacity='.3'"
        right, base = x + SQUARE - 3, y + SQUARE - 4
        return [
            f"<rect {place} fill='{FILLS[number]}'{pale}/>",
            text(right, base, name[1:], size=8, fill=EDGES[number], anchor="end"),
        ]

    def _mark(self, birth: int, death: int, is_over: bool, is_kept: bool) -> list[str]:
        x, y = self._x(death) + 8, self._y(birth) + 8
        if birth > WINDOW:
            return [f"<circle cx='{x}' cy='{y}' r='3' fill='{INK}'/>"]
        if is_over and is_kept:
            place = f"x='{x - 7}' y='{y - 7}' width='{SQUARE - 2}' height='{SQUARE - 2}' rx='2'"
            return [f"<rect {place} fill='url(#over)'/>"]
        if is_over:
            return [cross(x, y)]
        return []

    def _axes(self) -> list[str]:
        bottom = TOP + PANEL
        parts = [
            text(self._x(death) + SQUARE / 2, bottom + 12, str(death), fill=FAINT, anchor="middle")
            for death in range(WINDOW + 1, 2 * WINDOW + 2)
        ]
        parts += [
            text(self.left - 5, self._y(birth) + 14, str(birth), fill=FAINT, anchor="end")
            for birth in range(1, WINDOW + 2)
        ]
        return [*parts, text(self.left, bottom + 26, "expires in slot", fill=FAINT)]

    def _x(self, death: int) -> int:
        return self.left + (death - WINDOW - 1) * SQUARE

    def _y(self, birth: int) -> int:
        return TOP + (birth - 1) * SQUARE


def cell_of(planner: Grid, state: GridState, birth: int, death: int) -> str:
    """The sub-index of rows with these births and deaths."""
    row = next(int(name) for name, births in state.births.items() if birth in births)
    cells = planner.names[(row - 1) * planner.columns : row * planner.columns]
    return next(name for name in cells if death in state.indexes[name])


def legend(top: int) -> list[str]:
    """What the signs mean."""
    place = f"x='{LEFT + 190}' y='{top - 9}' width='12' height='12' rx='2'"
    return [
        f"<circle cx='{LEFT + 4}' cy='{top - 4}' r='3' fill='{INK}'/>",
        text(LEFT + 12, top, "arrives"),
        cross(LEFT + 110, top - 4),
        text(LEFT + 120, top, "expires"),
        f"<rect {place} fill='{FILLS[0]}'/><rect {place} fill='url(#over)'/>",
        text(LEFT + 208, top, "is over, and held until its line of cells is thrown away"),
        text(LEFT + 500, top, "pale: left alone"),
    ]


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    width = LEFT + len(PANELS) * (PANEL + BETWEEN)
    height = TOP + PANEL + 62
    panels = (
        Panel(title, planner, LEFT + at * (PANEL + BETWEEN))
        for at, (title, planner) in enumerate(PANELS.items())
    )
    about = (
        f"What the refresh of slot {WINDOW + 1} does to three grids of {SIDE} by {SIDE} sub-indexes"
    )
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
        f"height='{height}' role='img' {FONT}>"
    )
    hatch = (
        "<defs><pattern id='over' width='5' height='5' patternUnits='userSpaceOnUse' "
        f"patternTransform='rotate(45)'><rect width='2.4' height='5' fill='{PAPER}' "
        "fill-opacity='0.85'/></pattern></defs>"
    )
    heading = f"the refresh of slot {WINDOW + 1}, where rows live for up to {WINDOW} slots"
    body = [
        head,
        f"<title>{about}</title>",
        hatch,
        f"<rect width='{width}' height='{height}' rx='8' fill='{PAPER}'/>",
        text(LEFT, 20, heading),
        *(part for panel in panels for part in panel.parts()),
        text(LEFT - 30, TOP - 4, "inserted", size=8, fill=FAINT),
        *legend(height - 12),
        "</svg>",
        "",
    ]
    return {"grids.svg": "\n".join(body)}


def main() -> None:
    """Write the pictures."""
    for name, svg in pictures().items():
        (PICTURES / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
