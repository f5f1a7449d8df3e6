"""The pictures of notebooks, taken apart: what tests of either kind of index look at."""

from __future__ import annotations

import re
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
BOX = re.compile(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-([\d.]+)z")


def parsed(index) -> ElementTree.Element:
    return ElementTree.fromstring(index._repr_html_().replace("<br>", "<br/>"))


def svg_of(index) -> ElementTree.Element:
    found = parsed(index).find(f"{SVG}svg")
    assert found is not None
    return found


def groups_of(index) -> dict[str, ElementTree.Element]:
    """The groups of the picture by the names of what they show."""
    groups = svg_of(index).findall(f"{SVG}g")
    return {group.find(f"{SVG}title").text.split(":")[0]: group for group in groups}


def boxes(group, colour) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of what is drawn in a colour."""
    outlines = [path.get("d") for path in group.findall(f"{SVG}path") if path.get("fill") == colour]
    return [
        (float(left), float(top), float(width), float(height))
        for outline in outlines
        for left, top, width, height, _ in BOX.findall(outline)
    ]
