"""Who is alive where each id may be there many times: rows of a window are counted by their keys.

An id is added as its count leaves zero, and removed as it comes back to it. What comes and goes at
one instant has not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavedex.temporal.alive import Alive
from wavedex.temporal.changes import I8, I32, I64
from wavedex.temporal.growing import Growing
from wavedex.temporal.soundness import are_in, demand

ROOM = 4_096
"""There is room for so many more ids, at least, when there was none."""


class Net(NamedTuple):
    """What counts came to."""

    rows: I64
    """The places of ids whose counts are others at the end of an instant, one for each."""
    deltas: I32
    """By how much each is."""
    event_rows: I64
    """The places of ids that were added or removed, in the order in which that happened."""
    signs: I8
    """Which of it."""
    entries: I32
    """Their entries."""


class Counted(Alive):
    """The ids that are alive, their entries, and how often each is there."""

    def __init__(self) -> None:
        super().__init__()
        self._counts = Growing(np.int32)
        self._scratch = Growing(np.int32, 3)
        self._serial = 0

    def count(self, ids: I64, deltas: I32, ticks: I64) -> Net | int:
        """Count ids at ticks that are in order. The first place that cannot be, if there is one.

        Nothing has changed then.
        """
        from wavedex.temporal.alive_kernels import EVENTS, NETS, ROW, SERIAL, SHORT, count

        before = {name: values.copy() for name, values in self.arrays.items()}

        progress = np.zeros(SHORT + 1, np.int64)
        progress[SERIAL] = self._serial + 1
        touched = np.empty(len(ids), np.int32)
        events, nets = np.empty((len(ids), 3), np.int64), np.empty((len(ids), 2), np.int64)
        status, more = 1, ROOM
        while status > 0:
            self._reserve(more)
            more = len(self) + ROOM
            status = count(
                ids, deltas, ticks, self._table, self._ids.room, self._free.room, self._tally,
                self._counts.room, self._scratch.room, touched, progress, events, nets,
            )  # fmt: skip
        self._serial = int(progress[SERIAL])
        if status < 0:
            self.restore(before)
            return int(progress[ROW])
        found, net = events[: progress[EVENTS]], nets[: progress[NETS]]
        return Net(
            net[:, 0],
            net[:, 1].astype(np.int32),
            found[:, 0],
            found[:, 1].astype(np.int8),
            found[:, 2].astype(np.int32),
        )

    def counts_of(self, ids: I64) -> I32:
        """How often ids are there that are alive. Raises Damaged where one is not."""
        entries = self.entries_of(ids)
        demand(are_in(entries, 0, self.entries), "an id is counted that is not alive")
        found: I32 = self._counts.room[entries]
        return found

    def set_counts(self, ids: I64, counts: I32) -> None:
        """Say how often ids are there that are alive."""
        self._reserve(0)
        self._counts.room[self.entries_of(ids)] = counts

    def _reserve(self, count: int) -> None:
        super()._reserve(count)
        for each in (self._counts, self._scratch):
            each.reserve(len(self._ids.room))

    @property
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that is kept."""
        return {**super().arrays, "alive_counts": self._counts.room[: self.entries]}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""
        super().restore(arrays)
        self._counts.restore(arrays["alive_counts"])
        counts, is_alive = self._counts.used, self.is_alive
        demand(len(counts) == len(is_alive), "not every id is counted")
        demand((counts[is_alive] > 0).all(), "an id is alive and there less than once")
        self._scratch = Growing(np.int32, 3)
        self._scratch.reserve(self.entries)

    def findings(self) -> Iterator[str]:
        """What is wrong with the counts, in sentences."""
        yield from super().findings()
        counts = self._counts.room[: self.entries]
        if (counts < 0).any() or (counts > 0).sum() != len(self):
            yield "the counts are not those of the ids that are alive"
