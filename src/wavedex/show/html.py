"""An index in a notebook: a line of facts, and its picture in SVG.

Colours are of middling brightness and text has the page's own, so it can be read on light and on
dark. Whatever is text is escaped.
Made of the plain JSON that `describe` returns, so no file of the index is opened for it but its
manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wavedex.show.drawing import Drawing
from wavedex.show.svg import escaped
from wavedex.show.words import human_bytes

STYLE = "font-family: sans-serif; font-size: 13px"
COLUMNS_SHOWN = 12
"""So many columns are named at once, the others on demand."""


def to_html(drawing: Drawing, about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    """The picture of an index that was described; `label` names a slot."""
    facts = (
        *drawing.line(about),
        human_bytes(about["bytes"]),
        f"commit {about['commit']:,}",
    )
    title = f"<b>{escaped(about['path'])}</b><br>{escaped(' · '.join(facts))}"
    drawn = drawing.svg(about, label)
    return f'<div style="{STYLE}">{title}{_columns(about)}{drawn}</div>'


def _columns(about: Mapping[str, Any]) -> str:
    """The columns with their types, the key and the time first."""
    keys = [about["key"]] if isinstance(about["key"], str) else about["key"]
    roles = {about["time"]: "time"} | dict.fromkeys(keys, "key")
    types = about["columns"]
    names = [*dict.fromkeys([name for name in (*keys, about["time"], *types) if name in types])]
    said = [
        f"{escaped(name)} <i>{escaped(types[name])}</i>"
        + (f" ({roles[name]})" if name in roles else "")
        for name in names
    ]
    shown = ", ".join(said[:COLUMNS_SHOWN])
    if len(said) <= COLUMNS_SHOWN:
        return f"<br>{shown}"
    more = ", ".join(said[COLUMNS_SHOWN:])
    left = len(said) - COLUMNS_SHOWN
    return f"<br>{shown}<details><summary>and {left:,} more columns</summary>{more}</details>"
