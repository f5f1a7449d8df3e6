"""What does a scheme remember between two slots? Its layout, and nothing else.

The figures of Appendix A keep counters beside the time-sets (`last`, `TempUsed`, `DaysToAdd`, `Z`).
All of them can be read off the time-sets. So the state is the newest slot, the slots of each
constituent and the slots of each temporary. A state that was stored and read back is as good as the
original. Only schemes that weigh slots (`wavedex.plan.waves.sized`) need one thing more: the rows
of those slots. `after` is the one step from state to state: it carries operations out on the layout
alone.

Holds no rows and no file names. Slots are any integers, negative ones too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from wavedex.plan.operations import Layout, Operation, apply
from wavedex.plan.slot_set import Slots, slots_from_json, slots_to_json, union


class State(Protocol):
    """What a planner remembers between two slots."""

    @property
    def newest(self) -> int:
        """The slot that came last."""

    @property
    def indexes(self) -> Layout:
        """The slots of each sub-index."""

    @property
    def layout(self) -> Layout:
        """The slots of each sub-index and temporary."""

    def to_json(self) -> dict[str, Any]:
        """As a manifest holds it."""


@dataclass(frozen=True, slots=True)
class WaveState:
    """The slots of every sub-index once slot `newest` has arrived and has been prepared for."""

    newest: int
    """The slot that came last."""
    indexes: Layout
    """The constituents I1 to In, in order. They answer queries."""
    temps: Layout
    """The temporaries of Section 4, by letter and number. They answer no queries."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """The rows of each slot of the constituents that has any. Empty if the scheme weighs none."""

    @property
    def layout(self) -> dict[str, Slots]:
        """Constituents and temporaries together."""
        return {**self.indexes, **self.temps}

    @property
    def length(self) -> int:
        """How many slots the constituents hold (the length of Section 3.3)."""
        return sum(map(len, self.indexes.values()))

    def holder(self, slot: int) -> str:
        """Return the name of the constituent that holds `slot`; raise LookupError if none does.

        COST: one set look-up a constituent.
        """
        for name, slots in self.indexes.items():
            if slot in slots:
                return name
        raise LookupError(f"slot {slot} is in no sub-index; the newest slot is {self.newest}")

    def rows(self, slots: Iterable[int]) -> int:
        """Return the rows of some slots."""
        return sum(self.sizes.get(slot, 0) for slot in slots)

    def grown(self, rows: Mapping[int, int]) -> WaveState:
        """Return the state with more rows in some slots."""
        more = {slot: self.rows([slot]) + count for slot, count in rows.items() if count}
        return replace(self, sizes={**self.sizes, **more})

    def after(self, newest: int, operations: Iterable[Operation]) -> WaveState:
        """Return the state that `operations` lead to; names with I are constituents."""
        layout = apply(self.layout, operations)
        temps = sorted((name for name in layout if not name.startswith("I")), key=_by_number)
        indexes = {name: layout[name] for name in self.indexes or layout if name.startswith("I")}
        held = union(indexes.values()) if self.sizes else ()
        return WaveState(
            newest,
            indexes,
            {name: layout[name] for name in temps},
            {slot: rows for slot, rows in self.sizes.items() if slot in held},
        )

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain JSON, each set of slots as `slots_to_json` has it."""
        data: dict[str, Any] = {
            "newest": self.newest,
            "indexes": {name: slots_to_json(slots) for name, slots in self.indexes.items()},
            "temps": {name: slots_to_json(slots) for name, slots in self.temps.items()},
        }
        if self.sizes:
            data["sizes"] = {str(slot): rows for slot, rows in sorted(self.sizes.items())}
        return data

    @classmethod
    def from_json(cls, data: object) -> WaveState:
        """Return the state that `to_json` made `data` of; raise ValueError for anything else."""
        if not isinstance(data, dict) or set(data) - {"sizes"} != {"newest", "indexes", "temps"}:
            raise ValueError(f"a state is an object of newest, indexes and temps, not {data!r}")
        if type(data["newest"]) is not int:
            raise ValueError(f"the newest slot is a whole number, not {data['newest']!r}")
        layouts = _read_layout(data["indexes"]), _read_layout(data["temps"])
        return cls(data["newest"], *layouts, _read_sizes(data.get("sizes", {})))


def _by_number(name: str) -> tuple[str, int, str]:
    """Order T2 before T10, and all T before U."""
    return name[:1], len(name), name


def _read_sizes(data: object) -> dict[int, int]:
    if not isinstance(data, dict) or any(type(rows) is not int for rows in data.values()):
        raise ValueError(f"sizes map slots to rows, not {data!r}")
    return {int(slot): rows for slot, rows in data.items()}


def _read_layout(data: object) -> dict[str, Slots]:
    if not isinstance(data, dict) or not all(isinstance(name, str) and name for name in data):
        raise ValueError(f"a layout maps the names of sub-indexes to slots, not {data!r}")
    # JSON objects have no order that a writer must keep, so the constituents are put in theirs.
    return {name: slots_from_json(data[name]) for name in sorted(data, key=_by_number)}
