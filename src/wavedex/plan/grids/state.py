"""What does a grid remember between two refreshes? The slots of its cells and rows, nothing else.

A cell holds the slots in which rows of data expire, its *deaths*. All cells of a grid row hold data
that was inserted in the same slots, its *births*. A row of data may be in a cell that has both of
its slots. As with waves, a state that was stored and read back is as good as the original.

Holds no rows and no file names. Slots are any integers, negative ones too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wavedex.plan.operations import Layout
from wavedex.plan.slot_set import Slots, slots_from_json, slots_to_json


@dataclass(frozen=True, slots=True)
class GridState:
    """The slots of every cell and row once slot `newest` was refreshed."""

    newest: int
    """The slot that was refreshed last."""
    indexes: Layout
    """The deaths of the cells I1 to In, in order."""
    births: Mapping[str, Slots]
    """The births of the rows "1" to "G", in order."""

    @property
    def layout(self) -> dict[str, Slots]:
        """The deaths of all cells."""
        return dict(self.indexes)

    @property
    def temps(self) -> dict[str, Slots]:
        """No temporaries: a grid prepares nothing."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain JSON, each set of slots as `slots_to_json` has it."""
        return {
            "newest": self.newest,
            "indexes": {name: slots_to_json(slots) for name, slots in self.indexes.items()},
            "births": {row: slots_to_json(slots) for row, slots in self.births.items()},
        }

    @classmethod
    def from_json(cls, data: object) -> GridState:
        """Return the state that `to_json` made `data` of; raise ValueError for anything else."""
        if not isinstance(data, dict) or set(data) != {"newest", "indexes", "births"}:
            raise ValueError(f"a state is an object of newest, indexes and births, not {data!r}")
        if type(data["newest"]) is not int:
            raise ValueError(f"the newest slot is a whole number, not {data['newest']!r}")
        indexes, births = _read(data["indexes"], "I"), _read(data["births"], "")
        if len(indexes) % len(births):
            raise ValueError(f"{len(births)} rows cannot share {len(indexes)} sub-indexes evenly")
        return cls(data["newest"], indexes, births)


def _read(data: object, letter: str) -> dict[str, Slots]:
    """Read slots by name and put them in order. Names are `letter` and all numbers from 1 on."""
    if not isinstance(data, dict) or not data:
        raise ValueError(f"a layout maps the names of sub-indexes or rows to slots, not {data!r}")
    names = [f"{letter}{number}" for number in range(1, len(data) + 1)]
    if set(data) != set(names):
        raise ValueError(f"there are {names[0]} to {names[-1]}, not {sorted(map(str, data))}")
    return {name: slots_from_json(data[name]) for name in names}
