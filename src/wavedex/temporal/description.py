"""What a set over time says of itself: what it is, what is in it and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wavedex.show.set_svg import to_html
from wavedex.show.values import plain
from wavedex.temporal.asking import Asking
from wavedex.temporal.definition import SetDefinition
from wavedex.temporal.events import Events
from wavedex.temporal.folder import Loaded, SetFolder
from wavedex.temporal.layout import PAGE_BYTES, layout_of
from wavedex.temporal.state import State


class Described(Asking):
    """A set over time that describes itself."""

    _definition: SetDefinition
    _folder: SetFolder | None
    _held: Loaded | None
    _pending: Sequence[Events]

    @property
    def path(self) -> str | None:
        """Where it lies; None in memory."""
        return None if self._folder is None else str(self._folder.files.root)

    @property
    def method(self) -> str:
        """The method that keeps it."""
        return self._definition.method

    def describe(self) -> dict[str, Any]:
        """What it is, what is in it and what it takes, as plain JSON. COST: reads no page."""
        state, definition, schema = self._ready(), self._definition, self.schema
        commit = None if self._held is None else self._held.commit
        size = _bytes(state) if commit is None else sum(ref.bytes for ref in commit.files.values())
        lifespans = (self.changes + len(self)) // 2
        return {
            "path": self.path,
            "method": definition.method,
            "settings": dict(definition.settings),
            "counted": definition.counted,
            **_page_sizes(definition, state),
            "ids": None if schema is None else str(schema.types[0]),
            "times": None if schema is None else str(schema.types[1]),
            "rows": {} if schema is None else {f.name: str(f.type) for f in [*schema][2:]},
            "changes": self.changes,
            "lifespans": lifespans,
            "alive": len(self),
            "first": plain(self.first),
            "last": plain(self.last),
            "horizon": plain(self.horizon),
            "pages": self.pages,
            "buckets": self.buckets,
            "bytes": size,
            "bytes_a_lifespan": round(size / lifespans, 1) if lifespans else None,
            "commit": None if commit is None else commit.commit,
            "written_at": None if commit is None else commit.written_at,
            "segments": 0 if commit is None else len(commit.segments),
            "uncommitted": sum(map(len, self._pending)),
            "streams": {} if commit is None else dict(commit.marks),
        }

    def _repr_html_(self) -> str:
        return to_html(self.describe(), self.draw().svg)

    def __repr__(self) -> str:
        where = "in memory" if self._folder is None else f"at {self.path}"
        return f"<TemporalSet {self.method} {where}: {len(self):,} ids, {self.changes:,} changes>"


def _page_sizes(definition: SetDefinition, state: State | None) -> dict[str, int]:
    """The size of a page in records and in bytes."""
    sizes = definition.page_bytes, definition.page_records
    layout = layout_of(*sizes, has_pointers=False) if state is None else state.method.layout
    default = PAGE_BYTES if definition.page_records is None else layout.page_bytes
    return {"page_records": layout.records, "page_bytes": definition.page_bytes or default}


def _bytes(state: State | None) -> int:
    """What all arrays take in memory."""
    if state is None:
        return 0
    return sum(
        int(each.nbytes if isinstance(each, np.ndarray) else each.get_total_buffer_size())
        for each in state.arrays.values()
    )
