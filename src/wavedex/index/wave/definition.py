"""What a wave index is: the last W slots, spread by a scheme over n sub-indexes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime
from wavedex.index.core.definition import Definition, owed_by, whole
from wavedex.index.wave.view import WaveView
from wavedex.log.codec import PLAIN, Codec, kept, maybe, numbered
from wavedex.log.manifest import OPEN, Manifest, SubIndex
from wavedex.plan import (
    Scheme,
    State,
    WaveState,
    apply,
    cycle_of,
    options_of,
    promise,
    scheme,
)
from wavedex.plan.slot_set import last_of, slots_of, union
from wavedex.rows.arrow import to_arrow
from wavedex.rows.entries import SLOT_COLUMN, EntrySpec
from wavedex.show.drawing import WAVE, Drawing
from wavedex.slots import Ordinals
from wavedex.slots.contract import ORDINAL_MAX
from wavedex.store.part import Slots


@dataclass(frozen=True, kw_only=True)
class WaveDefinition(Definition):
    """A wave index as it was created. `wavedex.index.wave.answers` makes one and checks it."""

    window: int = kept(whole("window"))
    """How many slots are kept."""
    indexes: int = kept(whole("indexes"))
    """Over how many sub-indexes they are spread."""
    scheme_name: str = kept(name="scheme")
    """The name of the scheme."""
    late: str = kept()
    """What becomes of rows that are older than the window: "error" or "drop"."""
    max_gap: int | None = kept(maybe(whole("max_gap", 0)))
    """How many empty slots may lie between two batches; None for as many as the window has."""
    spread: bool = kept(Codec(bool, bool))
    """Whether preparation is spread over the slots, by schemes that can."""
    max_size: int | None = kept()
    """The most rows that a window will ever have, for schemes that must know."""
    sizes: Mapping[int, int] = kept(numbered(PLAIN))
    """The rows of slots that are to come, by number, for schemes that must know."""

    kind: ClassVar[str] = "wave"
    drawing: ClassVar[Drawing] = WAVE

    @cached_property
    def spec(self) -> EntrySpec:
        if self.time is not None:
            return EntrySpec(self.schema, self.key, self.time)
        hidden = pa.field(SLOT_COLUMN, pa.int64(), nullable=False)
        return EntrySpec(self.schema.append(hidden), self.key, SLOT_COLUMN)

    @cached_property
    def scheme(self) -> Scheme:
        """The planner. Deletion is prepared ahead where the sub-index is copied to be updated."""
        first = min(self.sizes, default=1)
        wanted = {
            "spread": self.spread,
            "ahead": self.update == "simple-shadow",
            "max_size": self.max_size,
            "first": first,
            "sizes": tuple(
                self.sizes.get(slot, 0) for slot in range(first, max(self.sizes, default=0) + 1)
            )
            or None,
        }
        known = options_of(self.scheme_name)
        options = {
            name: value for name, value in wanted.items() if name in known and value is not None
        }
        return scheme(self.scheme_name, self.window, self.indexes, **options)

    def check_planner(self) -> None:
        _ = self.scheme

    @property
    def gap_limit(self) -> int:
        """How many empty slots may lie between two batches.

        If nothing else was said, as many as the window has.
        """
        return self.window if self.max_gap is None else self.max_gap

    def complete(self, table: pa.Table, at: int | None) -> pa.Table:
        """With the slot that was given, where there is no time column."""
        if self.time is not None:
            return table
        if at is None:
            raise BadTime("This index has no time column. Say which slot the batch is: slot=N.")
        numbers = to_arrow(np.full(table.num_rows, at, np.int64))
        return table.append_column(self.spec.schema.field(SLOT_COLUMN), numbers)

    def check_slots(self, slots: Ordinals, at: int | None) -> None:
        if at is not None and (slots != at).any():
            other = int(slots[slots != at][0])
            raise BadTime(
                f"slot={at} was given, but rows of the batch are of slot {other} "
                f"({self.slotting.label(other)}). Leave slot= out, or send that slot's rows alone."
            )

    def view(self, manifest: Manifest) -> WaveView:
        return WaveView(self.slotting, window_of(self, manifest))

    @property
    def cycle(self) -> int:
        """After how many slots the scheme plans the same again; a window where it goes by sizes."""
        return self.window if self.scheme.weighs else cycle_of(self.scheme)

    @property
    def forgets(self) -> bool:
        """Whether the window is hard and nothing but the newest commit is kept."""
        return self.scheme.hard and self.keep_commits == 1 and not self.keep_s

    def recent(self, manifest: Manifest, span: Any) -> int | None:
        count, length = span, None
        if isinstance(span, str | dt.timedelta):
            try:
                count = self.slotting.slots_in(span)
            except BadDefinition:  # It begins within a slot.
                length = self.slotting.length(span)
        if length is None and (isinstance(count, bool) or not isinstance(count, int)):
            raise BadTime(
                f"last({span!r}): give a number of slots, or a length of time such as '7 days'."
            )
        slots = window_of(self, manifest)
        if not slots:
            return None
        if length is not None:
            return self.slotting.stop(last_of(slots)) - length
        return self.slotting.start(last_of(slots) - max(count, 0) + 1)

    def reached(self, manifest: Manifest) -> int | None:
        slots = window_of(self, manifest)
        return min(self.slotting.stop(last_of(slots)), ORDINAL_MAX) if slots else None

    @property
    def kept_as(self) -> str:
        return f"{self.window} slots in {self.indexes} sub-indexes by {self.scheme_name}"

    def state_of(self, manifest: Manifest) -> WaveState | None:
        return state_of(manifest)

    def drained(
        self,
        state: State | None,
        draining: Mapping[str, SubIndex],
        own: Mapping[str, Any],
    ) -> dict[str, SubIndex]:
        """What is left of sub-indexes that drain.

        Their files go with the last slot that is live. Their slots are remembered for as long as
        the scheme takes them for its own.
        """
        if state is None:
            return dict(draining)
        oldest = state.newest - self.window + 1
        mentioned = union(state.layout.values())
        left = {name: sub for name, sub in draining.items() if sub.slots & mentioned}
        return {
            name: sub
            if last_of(sub.slots) >= oldest
            else SubIndex(sub.slots, ((),) * len(sub.shards))
            for name, sub in left.items()
        }

    def layout_findings(self, manifest: Manifest) -> Iterator[str]:
        """Whether the sub-indexes hold what the scheme says.

        Also whether every slot of the window is in exactly one of them.
        """
        if manifest.state is None:
            return
        state = WaveState.from_json(dict(manifest.state))
        layout = {name: sub.slots for name, sub in manifest.everything.items()}
        planned = apply(layout, owed_by(manifest))
        if any(slot <= state.newest for slot in planned.pop(OPEN, ())):
            yield f"commit {manifest.commit} has a slot open that was sealed"
        for name in manifest.draining:
            del planned[name]
        if planned != {name: slots - manifest.away for name, slots in state.layout.items()}:
            yield f"commit {manifest.commit} holds other slots than its scheme planned"
        subs = {**manifest.indexes, **manifest.draining}
        window = slots_of(range(state.newest - self.window + 1, state.newest + 1))
        none = window - union(sub.slots for sub in subs.values())
        more = union(one.slots & other.slots for one, other in combinations(subs.values(), 2))
        for slot in sorted(none | (window & more)):
            holders = [name for name, sub in subs.items() if slot in sub.slots]
            if len(holders) != 1:
                yield f"slot {slot} is in {len(holders)} sub-indexes"

    def describe(self, manifest: Manifest) -> dict[str, Any]:
        window = frozenset(window_of(self, manifest))
        opened = frozenset(manifest.open_slots)
        held = union([window, *(sub.slots for sub in manifest.shown.values())])
        draining = [sub for sub in manifest.draining.values() if not sub.is_over]
        rows = {slot: manifest.rows.get(slot, 0) for slot in sorted(held)}
        made = promise(self.scheme)
        return {
            "scheme": self.scheme_name,
            "window": self.window,
            "indexes": self.indexes,
            "hard": self.scheme.hard and not draining,
            "extra_slots_max": self.scheme.extra_slots
            + sum(len(sub.slots) - 1 for sub in draining),
            "promise": {
                "transition_slots": round(made.transition_slots, 3),
                "preparation_slots": round(made.preparation_slots, 3),
                "transition_share": round(made.transition_share, 3),
                "preparation_share": round(1 - made.transition_share, 3),
            },
            "rows": sum(rows[slot] for slot in window),
            "slots": [
                {
                    "slot": slot,
                    "label": self.slotting.label(slot),
                    "rows": rows[slot],
                    "live": slot in window,
                    "open": slot in opened,
                }
                for slot in rows
            ],
        }


def state_of(manifest: Manifest) -> WaveState | None:
    """The scheme's state, None while nothing was appended."""
    return None if manifest.state is None else WaveState.from_json(dict(manifest.state))


def window_of(definition: WaveDefinition, manifest: Manifest) -> Slots:
    """The slots of the window at a commit: the last W that were sealed, and those that are open.

    `definition` is that of the commit, or the one that the index was created with.
    """
    if manifest.state is None:
        return manifest.open_slots
    newest, width = manifest.state["newest"], width_at(definition, manifest)
    return manifest.open_slots | slots_of(range(newest - width + 1, newest + 1))


def width_at(definition: WaveDefinition, manifest: Manifest) -> int:
    """How many slots the window had at a commit."""
    return int(manifest.settings.get("window", definition.window))
