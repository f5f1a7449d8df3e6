"""A lifetime index as one commit left it, and what a query with shorter windows sees of it.

Shorter windows are those of Section 3.4 of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wavedex.errors import BadTime
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.view import LifeView
from wavedex.index.reading.snapshot import Snapshot
from wavedex.log.manifest import Manifest

_SHORTENED_MAX = 64
"""For this many shorter windows a snapshot remembers what they see."""


class LifeSnapshot(Snapshot):
    """The rows that live at one commit.

    It never changes, and none of its methods sees a later commit.
    """

    definition: LifeDefinition

    _inner = Snapshot._inner | {"shortened"}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._shortened: dict[str, LifeSnapshot] = {}

    def close(self) -> None:
        """Let go of the commit, and of what shorter windows see of it."""
        for each in self._shortened.values():
            each.close()
        self._shortened.clear()
        super().close()

    def seen(self, shorten: Any) -> LifeSnapshot:
        return self if shorten is None else self.shortened(shorten)

    def shortened(self, shorten: Any) -> LifeSnapshot:
        """What a query with shorter windows sees of it. Raises BadTime."""
        found = self._shortened.get(repr(shorten))
        if found is None:
            view = shorten_view(self.definition, self.manifest, shorten)
            found = LifeSnapshot(
                self.definition, self._files, self.manifest, self.opened(), view=view
            )
            if self.renew is not None:
                found.renew = lambda _, error: self.renewed(error).seen(shorten)
            if len(self._shortened) >= _SHORTENED_MAX:
                self._shortened.clear()
            self._shortened[repr(shorten)] = found
        return found


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
