"""A lifetime index as one commit left it, and what a query with shorter windows sees of it.

Shorter windows are those of Section 3.4 of the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.view import LifeView
from wavedex.index.reading.readable import Readable
from wavedex.index.reading.snapshot import Snapshot
from wavedex.log.manifest import Manifest

_SHORTENED_MAX = 64
"""For this many shorter windows a snapshot remembers what they see."""


class LifeReadable(Readable):
    """The reading methods of a lifetime index.

    `since` and `until` are compared with the insertion time of a row. `expired` also shows rows
    that are over and still there.

    With `shorten`, the answer is that of a query whose windows are shorter. A duration, such as "4
    minutes", makes all of them shorter by as much. A mapping by name says how much shorter each is.
    For that the index must keep the times of the rows that an entry was made of (`spans`), or their
    positions (`counts`).
    """

    def probe(
        self,
        key: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        follow: bool = False,
        shorten: Any = None,
    ) -> pa.Table:
        """The entries of one key.

        COST: one look-up and one slice for each part that can have an answer, and one more where
        rows are hidden.
        """
        return Readable.probe(self._seen(shorten), key, since, until, columns, expired, follow)

    def probe_many(
        self,
        keys: Iterable[Any],
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        follow: bool = False,
        shorten: Any = None,
    ) -> pa.Table:
        """The entries of several keys in one table; a key that is given twice is answered once."""
        seen = self._seen(shorten)
        return Readable.probe_many(seen, keys, since, until, columns, expired, follow)

    def probe_range(
        self,
        low: Any,
        high: Any,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        follow: bool = False,
        shorten: Any = None,
    ) -> pa.Table:
        """The entries whose keys lie between two, both included."""
        seen = self._seen(shorten)
        return Readable.probe_range(seen, low, high, since, until, columns, expired, follow)

    def scan(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        dictionaries: bool = False,
        shorten: Any = None,
    ) -> pa.RecordBatchReader:
        """All entries, batch by batch."""
        return Readable.scan(self._seen(shorten), since, until, columns, expired, dictionaries)

    def to_duckdb(
        self,
        connection: Any,
        name: str,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        shorten: Any = None,
    ) -> Any:
        """Make the entries of one commit a view of that name in a DuckDB connection.

        Returns it as a relation.
        """
        seen = self._seen(shorten)
        return Readable.to_duckdb(seen, connection, name, since, until, columns, expired)

    def to_polars(
        self,
        since: Any = None,
        until: Any = None,
        columns: Sequence[str] | None = None,
        expired: bool = False,
        shorten: Any = None,
    ) -> Any:
        """The entries of one commit as a lazy frame of Polars."""
        return Readable.to_polars(self._seen(shorten), since, until, columns, expired)

    def _seen(self, shorten: Any) -> Snapshot:
        """The snapshot that answers, or what a query with shorter windows sees of it.

        Raises BadTime.
        """
        snapshot = self._current()
        if shorten is None:
            return snapshot
        assert isinstance(snapshot, LifeSnapshot)
        return snapshot.shortened(shorten)


class LifeSnapshot(LifeReadable, Snapshot):
    """The rows that live at one commit.

    It never changes, and none of its methods sees a later commit.
    """

    definition: LifeDefinition

    def close(self) -> None:
        """Let go of the commit, and of what shorter windows see of it."""
        for each in self.__dict__.pop("_shortened", {}).values():
            each.close()
        super().close()

    def shortened(self, shorten: Any) -> LifeSnapshot:
        """What a query with shorter windows sees of it. Raises BadTime."""
        known: dict[str, LifeSnapshot] = self.__dict__.setdefault("_shortened", {})
        found = known.get(repr(shorten))
        if found is None:
            view = shorten_view(self.definition, self.manifest, shorten)
            found = LifeSnapshot(
                self.definition, self._files, self.manifest, self.opened(), view=view
            )
            if self.renew is not None:
                found.renew = lambda _, error: shortened(self.renewed(error), shorten)
            if len(known) >= _SHORTENED_MAX:
                known.clear()
            known[repr(shorten)] = found
        return found


def shortened(snapshot: Snapshot, shorten: Any) -> Snapshot:
    """What a query with shorter windows sees of a snapshot of any kind.

    Raises BadTime, and BadDefinition where it is not of a lifetime index.
    """
    if shorten is None:
        return snapshot
    if not isinstance(snapshot, LifeSnapshot):
        raise BadDefinition(
            "shorten is for lifetime indexes. Leave it out, and use since for a shorter window."
        )
    return snapshot.shortened(shorten)


def shorten_view(definition: LifeDefinition, manifest: Manifest, shorten: Any) -> LifeView:
    """What is seen of a commit by a query whose windows are shorter. Raises BadTime."""
    view = definition.view(manifest)
    horizon, floors = definition.horizon(manifest), definition.floors(manifest)
    if isinstance(shorten, Mapping):
        return view.narrowed(horizon, _floors(definition, manifest, floors, shorten))
    if definition.counts:
        names = ", ".join(map(repr, definition.counts))
        raise BadTime(f"shorten={shorten!r}: say by how many rows each of {names} is shorter.")
    less = definition.slotting.length(shorten)
    return view if horizon is None else view.narrowed(horizon + less, floors)


def _floors(
    definition: LifeDefinition,
    manifest: Manifest,
    floors: Mapping[str, int],
    shorten: Mapping[Any, Any],
) -> dict[str, int]:
    """The floors of positions, or of times, with windows that are shorter."""
    found = dict(floors)
    windows = definition.counts or definition.spans
    for name, less in shorten.items():
        if name not in windows:
            known = ", ".join(map(repr, windows)) or "none: create it with spans="
            raise BadTime(
                f"shorten names {name!r}, and the windows that the index knows are {known}."
            )
        if definition.counts:
            if isinstance(less, bool) or not hasattr(less, "__index__") or less < 0:
                raise BadTime(f"shorten[{name!r}]={less!r} is no number of rows.")
            by = int(less)
        else:
            by = definition.slotting.length(less)
        if by > windows[name]:
            raise BadTime(f"shorten[{name!r}]={less!r} is longer than the window.")
        if name in found:
            found[name] += by
        elif (now := LifeClock.of(manifest).now) is not None and not definition.counts:
            found[name] = now - windows[name] + by
    return found
