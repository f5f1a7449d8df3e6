"""A set over time in a terminal: its facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wavedex.show.words import human_bytes


def facts(about: Mapping[str, Any]) -> dict[str, str]:
    """What is said of a set, by name. What is empty is left out."""
    settings = ", ".join(f"{name} {value}" for name, value in about["settings"].items())
    each = about["bytes_a_lifespan"]
    size = human_bytes(about["bytes"]) + ("" if each is None else f", {each:,} a lifespan")
    pages = f"{about['pages']:,} of {about['page_records']:,} records, "
    commit = f"{about['commit']}, written at {about['written_at']}"
    if about["segments"]:
        commit += f"; {about['segments']} files of changes since all was written"
    streams = (f"{name}, up to batch {batch}" for name, batch in about["streams"].items())
    return {
        "ids": about["ids"] or "of any type: nothing was loaded yet",
        "times": about["times"] or "",
        "rows": ", ".join(f"{name} {kind}" for name, kind in about["rows"].items()),
        "method": f"{about['method']} ({settings})",
        "now": f"{about['alive']:,} ids",
        "history": f"{about['lifespans']:,} lifespans, {about['changes']:,} changes"
        + (f", {about['first']} to {about['last']}" if about["changes"] else ""),
        "forgotten": "" if about["horizon"] is None else f"before {about['horizon']}",
        "pages": pages
        + human_bytes(about["page_bytes"])
        + " each"
        + (f", in {about['buckets']:,} buckets" if about["buckets"] else ""),
        "size": size,
        "commit": "" if about["commit"] is None else commit,
        "fed by": "; ".join(streams),
    }
