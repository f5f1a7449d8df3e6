"""A wave index in a terminal: its facts, and its wave in signs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wavedex.show.signs import BLOCKS, EMPTY, SHADES, axis, bar, runs_of_style
from wavedex.show.wave import WavePicture, lines_of
from wavedex.show.words import human_bytes, row_count

COLUMNS_MIN = 10
"""A wave is never drawn narrower, whatever the terminal."""


def facts(about: Mapping[str, Any]) -> dict[str, str]:
    """What is said of a wave index, by name."""
    extra = about["extra_slots_max"]
    soft = f"soft: up to {extra} expired slots are still held" if extra else "soft"
    return {
        "key": about["key"] if isinstance(about["key"], str) else ", ".join(about["key"]),
        "time": about["time"] or "none: each append names its slot",
        "zone": about["zone"],
        "scheme": f"{about['scheme']} "
        f"({'hard: expired slots are gone' if about['hard'] else soft})",
        "update": about["update"],
        "format": about["format"],
        "window": f"{about['window']:,} slots in {about['indexes']:,} sub-indexes, "
        f"{about['shards']:,} shards each",
        "rows": f"{about['rows']:,}",
        "size": human_bytes(about["bytes"]),
        "commit": f"{about['commit']:,}, written at {about['written_at']}",
        "promise": _promise(about["promise"]),
        "written": _written(about["work"]),
    }


def _promise(promise: dict[str, float]) -> str:
    """How much work a slot makes."""
    ahead = promise["preparation_slots"]
    return f"work for each slot that comes, in slots: {promise['transition_slots']:g}" + (
        f", and {ahead:g} ahead" if ahead else ""
    )


def _written(work: list[dict[str, Any]]) -> str:
    """What the last transition and the last preparation wrote, and what they should have."""
    last = {done["operation"]: done for done in work}
    return ", ".join(
        f"{human_bytes(last[name]['written_bytes'])} {said} "
        f"({human_bytes(last[name]['predicted_bytes'])} were expected)"
        for name, said in (
            ("append", "by the last append"),
            ("seal", "to seal the last slot"),
            ("prepare", "ahead"),
        )
        if name in last
    )


def draw(about: Mapping[str, Any], label: Callable[[int], str], width: int) -> Iterable[Any]:
    """The wave, its temporaries, and what the signs mean."""
    from rich.table import Table
    from rich.text import Text

    if not about["slots"]:
        return ["Nothing was appended yet."]
    subs = lines_of(about)
    texts = {
        name: (row_count(sub["rows"]), human_bytes(sub["bytes"])) for name, sub in subs.items()
    }
    taken = sum(max(map(len, column)) + 2 for column in (subs, *zip(*texts.values(), strict=True)))
    wave = WavePicture.of(about, max(COLUMNS_MIN, width - taken))
    covered = wave.covered
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right"):
        grid.add_column(justify=justify, no_wrap=True)
    for name, sub in subs.items():
        signs = bar(wave, sub["slots"])
        temporary = name in about["temporaries"]
        drawn = Text(signs) if temporary else Text.assemble(*runs_of_style(signs))
        grid.add_row(name, drawn, *texts[name], style="dim" if temporary else None)
    indent = " " * (max(map(len, subs)) + 2)
    ends = Text(indent + axis(wave, label(covered[0]), label(covered[-1])), overflow="fold")
    legend = [f"{BLOCKS[0]}{BLOCKS[4]}{BLOCKS[-1]} rows of a slot, {EMPTY} none, {SHADES} expired"]
    if wave.slots_per_column > 1:
        legend.append(f"{wave.slots_per_column} slots a column")
    return [ends, grid, *(Text(indent + line, style="dim") for line in legend)]
