"""What a set over time is, what is in it and what it takes, as plain JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from wavedex.show.values import plain
from wavedex.temporal.asking import Asking
from wavedex.temporal.definition import SetDefinition
from wavedex.temporal.folder import Loaded
from wavedex.temporal.layout import PAGE_BYTES, layout_of
from wavedex.temporal.state import State


def describe(
    found: Asking, definition: SetDefinition, state: State | None, held: Loaded | None
) -> dict[str, Any]:
    """Describe a set, and the commit that is held of it, if it is on disk. COST: reads no page."""
    commit = None if held is None else held.commit
    schema = found.schema
    layout = (
        layout_of(definition.page_bytes, definition.page_records, has_pointers=False)
        if state is None
        else state.method.layout
    )
    default = PAGE_BYTES if definition.page_records is None else layout.page_bytes
    lifespans = (found.changes + len(found)) // 2
    size = _bytes(state) if commit is None else sum(ref.bytes for ref in commit.files.values())
    return {
        "method": definition.method,
        "settings": dict(definition.settings),
        "page_records": layout.records,
        "page_bytes": definition.page_bytes or default,
        "ids": None if schema is None else str(schema.types[0]),
        "times": None if schema is None else str(schema.types[1]),
        "rows": {} if schema is None else {f.name: str(f.type) for f in [*schema][2:]},
        "changes": found.changes,
        "lifespans": lifespans,
        "alive": len(found),
        "first": plain(found.first),
        "last": plain(found.last),
        "horizon": plain(found.horizon),
        "pages": found.pages,
        "buckets": found.buckets,
        "bytes": size,
        "bytes_a_lifespan": round(size / lifespans, 1) if lifespans else None,
        "commit": None if commit is None else commit.commit,
        "written_at": None if commit is None else commit.written_at,
        "segments": 0 if commit is None else len(commit.segments),
        "uncommitted": 0 if commit is None else found.changes - commit.changes,
        "streams": {} if commit is None else dict(commit.marks),
    }


def _bytes(state: State | None) -> int:
    """What all arrays take in memory."""
    if state is None:
        return 0
    return sum(
        int(each.nbytes if isinstance(each, np.ndarray) else each.get_total_buffer_size())
        for each in state.arrays.values()
    )
