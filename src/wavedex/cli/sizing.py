"""What schemes would hold of slots of given sizes: the index size ratio (Section 6, Figure 11).

Section and figure are those of the wave-index paper. The ratio is the most rows that a scheme ever
holds, temporaries included, over the most that a window ever has. The latter is what a scheme that
deletes at once holds.

For one scheme and one number of sub-indexes the chart shows both over the slots. For several it
shows the ratio against that number, as the figure does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wavedex.cli.output import Answer
from wavedex.plan import SCHEMES, Scheme, SizeRatio, options_of, size_ratio
from wavedex.plan import scheme as scheme_of
from wavedex.plan.waves.sizes import SlotSize, largest_window, slot_sizes
from wavedex.show.charts import LOWER, UPPER, bars, towers
from wavedex.show.colours import SERIES as COLOURS
from wavedex.show.plots import save_plot

if TYPE_CHECKING:
    from rich.console import Console

CHART_HEIGHT = 10


@dataclass(frozen=True)
class SchemeSize:
    """What one scheme would hold."""

    scheme: Scheme
    """The scheme."""
    ratio: SizeRatio
    """What it would hold at most."""
    slots: list[SlotSize]
    """What it would hold after each slot."""

    @property
    def window_min(self) -> int:
        """The fewest rows that a full window has."""
        return min(slot.window for slot in self.slots if slot.slot >= self.scheme.window)

    @property
    def peak_slot(self) -> int:
        """The first slot with which the most is held."""
        return next(slot.slot for slot in self.slots if slot.held == self.ratio.held)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "scheme": self.scheme.name,
            "window": self.scheme.window,
            "indexes": self.scheme.indexes,
            "ratio": self.ratio.ratio,
            "index_rows_max": self.ratio.held,
            "index_rows_max_slot": self.peak_slot,
            "window_rows_max": self.ratio.window,
            "window_rows_min": self.window_min,
            "slots": [
                {"slot": slot.slot, "window_rows": slot.window, "index_rows": slot.held}
                for slot in self.slots
            ],
        }


def sized_scheme(
    name: str,
    window: int,
    indexes: int,
    sizes: Sequence[int],
    max_size: int | None,
    options: dict[str, Any],
) -> Scheme:
    """A scheme with what it needs to know of sizes: the most of a window, or all of them."""
    taken = options_of(name) if name in SCHEMES else []
    if "max_size" in taken:
        most = largest_window(sizes, window) if max_size is None and sizes else max_size
        options = options if most is None else {**options, "max_size": most}
    if "sizes" in taken and sizes:
        options = {**options, "sizes": tuple(sizes)}
    return scheme_of(name, window, indexes, **options)


def measure_sizes(schemes: Sequence[Scheme], sizes: Sequence[int]) -> list[SchemeSize]:
    """What each of the schemes would hold. Raises BadDefinition."""
    return [
        SchemeSize(one, size_ratio(one, sizes), list(slot_sizes(one, sizes))) for one in schemes
    ]


def show_sizes(found: Sequence[SchemeSize], plot: Path | None) -> Answer:
    """What was found; it is drawn to a file too, if there is one."""
    if plot is not None:
        _draw(found, plot)
    return Answer([one.to_json() for one in found], partial(_print, found))


def _print(found: Sequence[SchemeSize], console: Console) -> None:
    from rich.table import Table

    table = Table(header_style="bold")
    table.add_column("scheme")
    for head in ("n", "ratio", "largest index", "at slot", "largest window", "smallest window"):
        table.add_column(head, justify="right")
    for one in found:
        table.add_row(
            one.scheme.name,
            str(one.scheme.indexes),
            f"{one.ratio.ratio:.3f}",
            f"{one.ratio.held:,}",
            f"{one.peak_slot:,}",
            f"{one.ratio.window:,}",
            f"{one.window_min:,}",
        )
    console.print(table)
    for line in _chart(found, console.width):
        console.print(line, markup=False, no_wrap=True)


def _chart(found: Sequence[SchemeSize], width: int) -> list[str]:
    if len(found) > 1:
        names = len({one.scheme.name for one in found}) > 1
        values = {
            f"{one.scheme.name + ', ' if names else ''}n = {one.scheme.indexes}": one.ratio.ratio
            for one in found
        }
        room = max(10, min(60, width - max(map(len, values)) - 10))
        return ["ratio, from 1 on", *bars(values, room, base=1.0)]
    slots = [slot for slot in found[0].slots if slot.slot >= found[0].scheme.window]
    lines, step = towers(
        [slot.window for slot in slots],
        [slot.held for slot in slots],
        max(10, width - 1),
        CHART_HEIGHT,
    )
    several = f", the most of {step} slots a column" if step > 1 else ""
    legend = f"{LOWER} rows of the window, {UPPER} rows held beyond it{several}"
    return [*lines, f"slots {slots[0].slot:,} to {slots[-1].slot:,}: {legend}"]


def _draw(found: Sequence[SchemeSize], path: Path) -> None:
    def over_slots(axes: Any) -> None:
        (one,) = found
        slots = [slot for slot in one.slots if slot.slot >= one.scheme.window]
        across = [slot.slot for slot in slots]
        held, window = [slot.held for slot in slots], [slot.window for slot in slots]
        axes.fill_between(across, window, held, color=COLOURS[1], alpha=0.25, linewidth=0)
        axes.plot(across, held, color=COLOURS[1], label="index", linewidth=1.2)
        axes.plot(across, window, color=COLOURS[0], label="window", linewidth=1.2)
        axes.set(xlabel="slot", ylabel="rows", ylim=(0, None), title=_title(found))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.legend(frameon=False)

    def over_indexes(axes: Any) -> None:
        names = list(dict.fromkeys(one.scheme.name for one in found))
        for at, name in enumerate(names):
            mine = [one for one in found if one.scheme.name == name]
            across = [one.scheme.indexes for one in mine]
            up = [one.ratio.ratio for one in mine]
            # Lines that lie on one another can be told apart: each is thinner than the one below
            # it.
            thick = 4.0 * (len(names) - at) / len(names)
            colour = COLOURS[at % len(COLOURS)]
            axes.plot(across, up, "o-", color=colour, label=name, lw=thick, ms=thick + 3)
        axes.set(xlabel="sub-indexes n", ylabel="index size ratio", title=_title(found))
        axes.set_xticks(sorted({one.scheme.indexes for one in found}))
        axes.legend(frameon=False)

    save_plot(path, over_slots if len(found) == 1 else over_indexes, (6.4, 3.6))


def _title(found: Sequence[SchemeSize]) -> str:
    first = found[0].scheme
    if len(found) > 1:
        return f"What schemes hold at most (W = {first.window})"
    return (
        f"{first.name}, W = {first.window}, n = {first.indexes}: ratio {found[0].ratio.ratio:.3f}"
    )
