"""Draw the schemes: one picture each, and the table of their work, from the planners themselves.

`python docs/draw.py` writes `docs/pictures/*.svg` and the table in `docs/schemes.md`. A test runs
the same functions and compares, so neither can fall behind the code. Plain SVG, the same bytes each
time.

A picture has a column for each arriving slot and a row for each slot that is held. A cell has the
colour of the sub-index that holds the slot; it is hatched where the slot has expired; it has a dot
where the slot was indexed for this arrival. Below are the temporaries, a thin line each, with a
small square for each slot in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drawing import EDGES, FAINT, FILLS, FONT, INK, PAPER, RULE, cross, text
from wavedex.plan import (
    SCHEMES,
    Add,
    Build,
    Copy,
    Delete,
    Operation,
    Plan,
    Rename,
    Scheme,
    WaveState,
    apply,
    options_of,
    scheme,
)
from wavedex.plan.waves.sizes import walk

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
PAGE = DOCS / "schemes.md"
BEGIN, END = "<!-- made by docs/draw.py: begin -->", "<!-- end -->"

WINDOW, ARRIVALS = 10, 12
DRAWN = {
    "del": 4,
    "reindex": 2,
    "reindex+": 2,
    "reindex++": 2,
    "wata": 4,
    "rata": 4,
    "wata-bounded": 4,
    "rata-bounded": 4,
    "wata-offline": 3,
    "rata-offline": 3,
}
"""How many sub-indexes each picture has: two or three where the larger clusters say more."""
ROWS = tuple(1 if slot % 7 in (6, 0) else 5 for slot in range(1, WINDOW + ARRIVALS + 1))
"""The rows of slots, for schemes that weigh them: weeks with quiet ends."""
LARGEST = max(sum(ROWS[at : at + WINDOW]) for at in range(len(ROWS)))

LEFT, TOP, RIGHT = 58, 62, 20
CELL_W, CELL_H, LANE_H = 38, 16, 13


@dataclass(frozen=True)
class Step:
    """One arriving slot: the state after it, and the slots of each name indexed or deleted."""

    state: WaveState
    indexed: dict[str, set[int]]
    prepared: dict[str, set[int]]
    deleted: frozenset[int]


def steps_of(planner: Scheme, arrivals: int) -> list[Step]:
    """The first full window, and so many slots after it."""
    every = list(walk(planner, planner.window + arrivals, ROWS if planner.weighs else ()))
    return [_step(plan, state) for plan, state in every[-arrivals - 1 :]]


def _step(plan: Plan, state: WaveState) -> Step:
    deleted = [op.slots for op in plan.transition if isinstance(op, Delete)]
    return Step(
        state,
        _indexed(plan.transition, True),
        _indexed(plan.preparation, False),
        frozenset().union(*deleted),
    )


def _indexed(operations: Iterable[Operation], in_copies: bool) -> dict[str, set[int]]:
    """The slots that builds and adds index, under the names that have them in the end.

    A copy of what was just indexed counts as well where `in_copies`: REINDEX+ indexes the new slot
    in Temp, and queries find the copy.
    """
    marks: dict[str, set[int]] = {}
    for operation in operations:
        match operation:
            case Build(slots, target):
                marks[target] = set(slots)
            case Add(slots, target):
                marks.setdefault(target, set()).update(slots)
            case Copy(source, target):
                marks[target] = set(marks.get(source, ())) if in_copies else set()
            case Rename(source, target):
                marks[target] = marks.pop(source, set())
    return marks


# -- the picture -------------------------------------------------------------------------------


class Picture:
    """The drawing of one scheme."""

    def __init__(self, planner: Scheme, arrivals: int = ARRIVALS) -> None:
        self.planner = planner
        self.steps = steps_of(planner, arrivals)
        self.newest = self.steps[-1].state.newest
        self.lanes = _lanes(self.steps)
        self.bottom = TOP + self.newest * CELL_H
        self.width = LEFT + len(self.steps) * CELL_W + RIGHT
        self.lanes_top = self.bottom + 56
        lanes_height = len(self.lanes) * LANE_H + 14 if self.lanes else -22
        self.legend_top = self.lanes_top + lanes_height + 6
        self.height = self.legend_top + 44

    def svg(self) -> str:
        """The whole file."""
        names = ", ".join(self.lanes)
        about = (
            f"Which slots the sub-indexes of {self.planner.name} hold as slots "
            f"{self.planner.window} to {self.newest} arrive"
            + (f", and the temporaries {names}." if names else ".")
        )
        body = [
            *self._frame(),
            *self._cells(),
            *self._edge_of_window(),
            *self._temporaries(),
            *self._legend(),
        ]
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width}' height='{self.height}' role='img' {FONT}>"
        )
        hatch = (
            "<defs><pattern id='expired' width='5' height='5' patternUnits='userSpaceOnUse' "
            f"patternTransform='rotate(45)'><rect width='2.4' height='5' fill='{PAPER}' "
            "fill-opacity='0.85'/></pattern></defs>"
        )
        return "\n".join([head, f"<title>{about}</title>", hatch, *body, "</svg>", ""])

    def _x(self, column: int) -> int:
        return LEFT + column * CELL_W

    def _y(self, slot: int) -> int:
        return TOP + (self.newest - slot) * CELL_H

    def _frame(self) -> list[str]:
        planner = self.planner
        promise = "hard window" if planner.hard else "soft window"
        parts = [
            f"<rect width='{self.width}' height='{self.height}' rx='8' fill='{PAPER}'/>",
            text(LEFT, 24, planner.name, size=16, weight=700),
            text(
                LEFT,
                43,
                f"W = {planner.window} slots in n = {planner.indexes} sub-indexes, {promise}"
                + ", 5 rows a slot and 1 at the ends of weeks" * planner.weighs,
                size=12,
                fill=FAINT,
            ),
            text(LEFT - 8, TOP - 6, "slot held", fill=FAINT, anchor="end"),
        ]
        for slot in range(1, self.newest + 1):
            y = self._y(slot) + CELL_H / 2 + 3.5
            parts.append(text(LEFT - 8, y, str(slot), fill=FAINT, anchor="end"))
        for column, step in enumerate(self.steps):
            middle = self._x(column) + CELL_W / 2
            label = str(step.state.newest)
            parts.append(
                f"<path d='M{self._x(column)} {TOP}V{self.bottom}' "
                f"stroke='{RULE}' stroke-width='1'/>"
            )
            parts.append(
                text(middle, self.bottom + 15, label, size=11, weight=700, anchor="middle")
            )
        right = self._x(len(self.steps))
        parts.append(
            f"<path d='M{LEFT} {self.bottom}H{right}M{right} {TOP}V{self.bottom}' "
            f"stroke='{RULE}' stroke-width='1' fill='none'/>"
        )
        parts.append(
            text(
                LEFT,
                self.bottom + 31,
                f"newest slot: {self.planner.window} is the first full window, "
                "then a column for each arrival",
                fill=FAINT,
            )
        )
        return parts

    def _cells(self) -> list[str]:
        parts = []
        for column, step in enumerate(self.steps):
            for number, (name, slots) in enumerate(step.state.indexes.items()):
                for slot in sorted(slots):
                    parts += self._cell(column, step, number, name, slot)
            parts += [cross(self._x(column) + 9, self._y(slot) + 8) for slot in step.deleted]
        return parts

    def _cell(self, column: int, step: Step, number: int, name: str, slot: int) -> list[str]:
        x, y = self._x(column) + 1, self._y(slot) + 1
        size = f"x='{x}' y='{y}' width='{CELL_W - 2}' height='{CELL_H - 2}' rx='2'"
        parts = [f"<rect {size} fill='{FILLS[number]}'/>"]
        if slot <= step.state.newest - self.planner.window:
            parts.append(f"<rect {size} fill='url(#expired)' stroke='{EDGES[number]}'/>")
        middle = y + CELL_H / 2 - 1
        if slot in step.indexed.get(name, ()):
            parts.append(f"<circle cx='{x + 8}' cy='{middle}' r='3' fill='{INK}'/>")
        if column == 0 or slot == step.state.newest:
            parts.append(text(x + 15, middle + 3.5, name))
        return parts

    def _edge_of_window(self) -> list[str]:
        """The line under which slots have expired."""
        path = ""
        for column, step in enumerate(self.steps):
            y = self._y(step.state.newest - self.planner.window)
            path += f"{'V' if path else 'M' + str(self._x(0)) + ' '}{y}H{self._x(column + 1)}"
        style = f"fill='none' stroke='{INK}' stroke-width='1.6' stroke-dasharray='5 3'"
        return [f"<path d='{path}' {style}/>"]

    def _temporaries(self) -> list[str]:
        if not self.lanes:
            return []
        about = "temporaries once the slot was prepared for: a square for each slot that they hold"
        parts = [text(LEFT, self.lanes_top - 5, about, fill=FAINT)]
        for lane, name in enumerate(self.lanes):
            y = self.lanes_top + lane * LANE_H
            parts.append(text(LEFT - 8, y + 9.5, name, fill=FAINT, anchor="end"))
            line = f"M{LEFT} {y + LANE_H}H{self._x(len(self.steps))}"
            parts.append(f"<path d='{line}' stroke='{RULE}'/>")
            for column, step in enumerate(self.steps):
                parts += self._temporary(column, step, name, y)
        return parts

    def _temporary(self, column: int, step: Step, name: str, y: int) -> list[str]:
        slots = step.state.temps.get(name)
        if slots is None:
            return []
        if not slots:
            return [text(self._x(column) + 3, y + 9.5, "empty", size=8, fill=FAINT)]
        parts = []
        names = list(step.state.indexes)
        marked = step.prepared.get(name, set())
        for pos, slot in enumerate(sorted(slots)):
            number = names.index(step.state.holder(slot))
            x = self._x(column) + 3 + pos * 6.5
            parts.append(
                f"<rect x='{x}' y='{y + 3}' width='5.5' height='7' fill='{FILLS[number]}'/>"
            )
            if slot in marked:
                parts.append(f"<circle cx='{x + 2.75}' cy='{y + 6.5}' r='1.6' fill='{INK}'/>")
        return parts

    def _legend(self) -> list[str]:
        x, y = LEFT, self.legend_top
        parts = []
        for number, name in enumerate(self.steps[0].state.indexes):
            parts.append(
                f"<rect x='{x}' y='{y}' width='16' height='11' rx='2' fill='{FILLS[number]}'/>"
            )
            parts.append(text(x + 20, y + 9.5, name))
            x += 42
        parts.append(f"<circle cx='{x + 8}' cy='{y + 5.5}' r='3' fill='{INK}'/>")
        ahead = any(step.prepared for step in self.steps)
        about = "indexed for this arrival" + ("; in a temporary, ahead of later ones" * ahead)
        parts.append(text(x + 16, y + 9.5, about))
        x, y = LEFT, y + 18
        parts.append(
            f"<path d='M{x} {y + 5.5}h24' stroke='{INK}' stroke-width='1.6' "
            "stroke-dasharray='5 3'/>"
        )
        parts.append(text(x + 30, y + 9.5, "below the line a slot has expired"))
        x += 212
        if self.planner.needs_delete:
            parts.append(cross(x + 8, y + 5.5))
            parts.append(text(x + 18, y + 9.5, "and was deleted from its sub-index"))
        if not self.planner.hard:
            size = f"x='{x}' y='{y}' width='16' height='11' rx='2'"
            parts.append(f"<rect {size} fill='{FILLS[0]}'/>")
            parts.append(f"<rect {size} fill='url(#expired)' stroke='{EDGES[0]}'/>")
            parts.append(text(x + 22, y + 9.5, "and is still held, hidden from queries"))
        return parts


def _lanes(steps: Sequence[Step]) -> list[str]:
    """The names of all temporaries that there ever are, by letter and number."""
    names = {name for step in steps for name in step.state.temps}
    return sorted(names, key=lambda name: (name[:1], len(name), name))


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    assert set(DRAWN) == set(SCHEMES), "a scheme has no picture"
    return {
        f"{name}.svg": Picture(scheme(name, WINDOW, indexes, **_told(name))).svg()
        for name, indexes in DRAWN.items()
    }


def _told(name: str) -> dict[str, Any]:
    """What a scheme must be told of the rows to come."""
    wanted = {"max_size": LARGEST, "sizes": ROWS}
    return {option: value for option, value in wanted.items() if option in options_of(name)}


# -- the table ---------------------------------------------------------------------------------

KINDS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("del", {}),
    ("del", {"ahead": True}),
    ("reindex", {}),
    ("reindex+", {}),
    ("reindex++", {}),
    ("reindex++", {"spread": True}),
    ("wata", {}),
    ("rata", {}),
    ("rata", {"spread": True}),
)


def work_table(window: int = WINDOW, counts: Sequence[int] = (2, 4)) -> str:
    """What an arriving slot costs, in slots: the mean, and the most in brackets."""
    heads = ["scheme", "n", "window", "transition indexes", "deletes", "preparation indexes"]
    heads += ["copies", "temporaries hold"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for name, options in KINDS:
        for indexes in counts:
            planner = scheme(name, window, indexes, **options)
            label = " ".join([f"`{name}`", *options])
            promise = "hard" if planner.hard else f"soft, +{planner.extra_slots}"
            cells = [label, str(indexes), promise, *_work(planner)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _work(planner: Scheme) -> list[str]:
    """The columns of work.

    W (W - 1) slots are whole cycles of every scheme, so the means are exact.
    """
    _, state = planner.start(planner.window)
    columns: list[list[int]] = [[], [], [], [], []]
    for _ in range(planner.window * (planner.window - 1)):
        before = state
        plan, state = planner.transition(state, state.newest + 1)
        work = (
            _named(plan.transition, (Build, Add)),
            _named((*plan.transition, *plan.preparation), (Delete,)),
            _named(plan.preparation, (Build, Add)),
            _copied(before, (*plan.transition, *plan.preparation)),
            sum(map(len, state.temps.values())),
        )
        for column, count in zip(columns, work, strict=True):
            column.append(count)
    return [_mean_and_most(column) for column in columns]


def _named(operations: Iterable[Operation], kinds: tuple[type, ...]) -> int:
    return sum(len(op.slots) for op in operations if isinstance(op, kinds))


def _copied(state: WaveState, operations: Sequence[Operation]) -> int:
    """How many slots the copies among the operations copy."""
    layout, count = state.layout, 0
    for operation in operations:
        if isinstance(operation, Copy):
            count += len(layout[operation.source])
        layout = apply(layout, [operation])
    return count


def _mean_and_most(counts: Sequence[int]) -> str:
    mean, most = sum(counts) / len(counts), max(counts)
    if not most:
        return "0"
    return str(most) if min(counts) == most else f"{mean:.2f} ({most})"


def page_with_table(page: str) -> str:
    """The page with the table as it should be."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{work_table()}\n{END}{tail}"


def main() -> None:
    """Write the pictures and the table."""
    PICTURES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (PICTURES / name).write_text(svg, encoding="utf-8")
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
