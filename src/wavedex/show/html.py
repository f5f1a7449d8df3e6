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


def to_html(drawing: Drawing, about: Mapping[str, Any], label: Callable[[int], str]) -> str:
    """The picture of an index that was described; `label` names a slot."""
    facts = (
        *drawing.line(about),
        human_bytes(about["bytes"]),
        f"commit {about['commit']:,}",
    )
    title = f"<b>{escaped(about['path'])}</b><br>{escaped(' · '.join(facts))}"
    drawn = drawing.svg(about, label)
    return f'<div style="font-family: sans-serif; font-size: 13px">{title}{drawn}</div>'
