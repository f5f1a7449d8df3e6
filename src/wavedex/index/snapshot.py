"""A snapshot: the window as one commit left it, for as long as somebody looks at it.

It maps its files when it is taken, so that nothing a writer or a vacuum does can change or break it, and takes no lock
(where files are updated in place it tells the vacuum which commit it holds). A query is turned into one range of ordinals
for each part that can have an answer; a window that is soft on disk is cut exactly to its slots here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from wavedex.errors import MissingColumn
from wavedex.index.definition import Definition
from wavedex.index.readable import Readable
from wavedex.log import Manifest, manifest_name
from wavedex.store import Files, Part, Range, Shard, open_shard
from wavedex.store.part import Slots

Target = tuple[Shard, Range | None]
"""A shard to ask, and the ordinals in which its rows count; None for all of them."""

SELECTIONS_MAX = 64
"""How many different since/until pairs a snapshot remembers."""


class Snapshot(Readable):
    """The window at one commit. It never changes, and none of its methods sees a later commit."""

    def __init__(self, definition: Definition, files: Files, manifest: Manifest) -> None:
        """Map the files of a manifest. Raises FileNotFoundError where it was vacuumed meanwhile."""
        self.definition = definition
        self.manifest = manifest
        self._files = files
        self.window = _window_of(definition, manifest)
        changes = definition.technique.changes_files
        self._pin = files.pin(manifest_name(manifest.commit)) if changes else None
        opened: dict[str, Shard] = {}
        self._shards: list[list[tuple[Shard, Part]]] = [[] for _ in range(definition.shards)]
        for sub in manifest.indexes.values():
            for shard, parts in enumerate(sub.shards):
                for part in parts:
                    name = part.files["directory"].name
                    if name not in opened:
                        opened[name] = open_shard(files, definition.spec, part)
                    self._shards[shard].append((opened[name], part))
        self._selections: dict[tuple[int | None, int | None, bool], list[list[Target]]] = {}
        self._everything = self._find_targets(None, None, False)
        self._hides_a_column = definition.spec.schema is not definition.schema

    @property
    def commit(self) -> int:
        """The number of the commit."""
        return self.manifest.commit

    def targets(self, since: Any, until: Any, expired: bool) -> list[list[Target]]:
        """For each shard number, whom to ask and where in it an answer can lie."""
        if since is None and until is None and not expired:
            return self._everything
        wanted = (*self.definition.slotting.bounds(since, until), bool(expired))
        if wanted not in self._selections:
            if len(self._selections) >= SELECTIONS_MAX:
                self._selections.clear()
            self._selections[wanted] = self._find_targets(*wanted)
        return self._selections[wanted]

    def table(self, batches: Sequence[pa.RecordBatch], columns: Sequence[str] | None) -> pa.Table:
        """Answers as one table with the columns that were asked for."""
        table = pa.Table.from_batches(batches, self.definition.spec.schema)
        if columns is None and not self._hides_a_column:
            return table
        return table.select(self.names(columns))

    def names(self, columns: Sequence[str] | None) -> list[str]:
        """The columns that were asked for. Raises MissingColumn."""
        known = self.definition.schema.names
        if columns is None:
            return list(known)
        if isinstance(columns, str):
            columns = [columns]
        for name in columns:
            if name not in known:
                raise MissingColumn(f"The index has no column {name!r}. It has {', '.join(known)}.")
        return list(columns)

    def path_of(self, name: str) -> str:
        """Where one of its files lies."""
        return str(self._files.path(name))

    def _current(self) -> Snapshot:
        return self

    def _find_targets(
        self, start: int | None, stop: int | None, expired: bool
    ) -> list[list[Target]]:
        slot_start = self.definition.slotting.start
        selected: list[list[Target]] = []
        for parts in self._shards:
            targets: list[Target] = []
            for shard, part in parts:
                visible = part.shown if expired else part.shown & self.window
                for within in part.ranges(visible, slot_start) if visible else ():
                    held = slot_start(min(part.held)), slot_start(max(part.held) + 1)
                    low, high = held if within is None else within
                    narrow = (
                        low if start is None else max(low, start),
                        high if stop is None else min(high, stop),
                    )
                    if narrow[0] < narrow[1]:
                        targets.append((shard, None if narrow == held else narrow))
            selected.append(targets)
        return selected

    def __repr__(self) -> str:
        return f"<Snapshot of {self._files.root} at commit {self.commit}>"


def _window_of(definition: Definition, manifest: Manifest) -> Slots:
    if manifest.state is None:
        return frozenset()
    newest = manifest.state["newest"]
    return frozenset(range(newest - definition.window + 1, newest + 1))
