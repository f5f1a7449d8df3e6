"""Numbers of slots that show the dates they stand for."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from wavedex.slots.contract import Slotting

RUNS_SHOWN = 6
"""So many runs of slots are shown of a list with more."""


class NamedSlots(list[int]):
    """A list of slot numbers. It is shown by the names of its first and last slots.

    >>> import pyarrow as pa
    >>> from wavedex.slots import slotting
    >>> days = slotting(pa.date32(), "1 day")
    >>> NamedSlots([15705, 15706, 15707, 15710], days)
    [2012-12-31 to 2013-01-02, 2013-01-05]
    >>> NamedSlots([15705, 15706], days).names
    ['2012-12-31', '2013-01-01']
    """

    def __init__(self, numbers: Iterable[int] = (), slotting: Slotting | None = None) -> None:
        super().__init__(numbers)
        self._slotting = slotting

    @property
    def names(self) -> list[str]:
        """What each slot is called: its date, or its number where slots are numbers."""
        return [self._name(slot) for slot in self]

    def __repr__(self) -> str:
        runs = [[slot] for slot in self[:1]]
        for one, other in pairwise(self):
            if other == one + 1:
                runs[-1].append(other)
            else:
                runs.append([other])
        shown = [self._shown(run) for run in runs]
        if len(shown) > RUNS_SHOWN:
            shown[RUNS_SHOWN // 2 : -(RUNS_SHOWN // 2)] = ["..."]
        return f"[{', '.join(shown)}]"

    def _shown(self, run: list[int]) -> str:
        if len(run) == 1:
            return self._name(run[0])
        if len(run) == 2 or (len(run) <= RUNS_SHOWN and self._name(run[0]) == str(run[0])):
            return ", ".join(map(self._name, run))
        return f"{self._name(run[0])} to {self._name(run[-1])}"

    def _name(self, slot: int) -> str:
        return str(slot) if self._slotting is None else self._slotting.label(slot)
