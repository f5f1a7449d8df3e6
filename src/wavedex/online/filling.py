"""How rows fill basic windows, one after the other, in the order of the pace of a window.

Rows of the basic window that fills up enter the contents, where they cannot be seen. Rows of later
ones wait in a pen: their own basic window has not begun. What is complete slides in, and whoever
must know is told of each slide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from wavedex.errors import BadTime, LateRows, NullTimes
from wavedex.online.contents import BasicWindow, Contents, Slide
from wavedex.online.pace import CountPace, Pace, TimePace
from wavedex.rows.arrow import to_arrow
from wavedex.slots import ordinals

Late = Literal["error", "drop"]
I64 = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Refused = (NullTimes, LateRows, BadTime)
"""What is raised before anything is taken."""
_LEAST = -(2**63)


class Filling:
    """The basic window that fills up, and the rows that wait for those after it."""

    def __init__(
        self, contents: Contents, pace: Pace, late: Late, tell: Callable[[Slide], None]
    ) -> None:
        """Begin with an empty window. `tell` is called after each slide."""
        self.contents = contents
        self.pace = pace
        self.next: int | None = 0 if isinstance(pace, CountPace) else None
        """The number of the basic window that fills up."""
        self.watermark: int | None = None
        """The latest instant that was seen."""
        self.late_rows = 0
        """How many rows came too late and were dropped."""
        self.repeated_rows = 0
        """How many rows came again that were in basic windows before this one was made."""
        self.goes_singly = False
        """Whether each slide must be told of, so that basic windows slide in one by one."""
        self.last = 0
        """The last basic window that has a row of the batch that was taken last."""
        self._resumed = _LEAST
        """Rows of basic windows before this one are passed over: an archive has them."""
        self._late = late
        self._tell = tell
        self._pen: dict[int, list[pa.RecordBatch]] = {}

    @property
    def waiting(self) -> int:
        """How many rows wait until their basic window is complete."""
        pen = sum(batch.num_rows for several in self._pen.values() for batch in several)
        return self.contents.entered - self.contents.shown + pen

    def resume(self, number: int) -> None:
        """Go on with a basic window: those before it are archived."""
        self.next = number
        self._resumed = number

    def refill(self, newest: int, rows: pa.RecordBatch) -> None:
        """Fill an empty window that goes by time with rows up to a basic window, and go on."""
        pace = self.pace
        assert isinstance(pace, TimePace)
        assert pace.time is not None
        numbers = pace.slotting.slots_of(_times(rows, pace.time))
        oldest = newest - pace.count + 1
        rows, numbers = rows.filter(to_arrow(numbers >= oldest)), numbers[numbers >= oldest]
        self._pen = {number: [piece] for number, piece in _by_number(rows, numbers)}
        self.next = oldest
        while self.next <= newest:
            self._enter()
            contents = self.contents
            self._slide([BasicWindow(self.next, contents.shown, contents.entered)])
        self.resume(newest + 1)

    def recover(self, watermark: int, rows: pa.RecordBatch) -> None:
        """Fill an empty window that goes by time as if rows had been pushed up to a watermark.

        Those of a basic window that is not complete wait.
        """
        assert isinstance(self.pace, TimePace)
        self.refill(self.pace.complete_before(watermark) - 1, rows)
        self._resumed = _LEAST
        self.advance(watermark)

    def take(self, batch: pa.RecordBatch, now: Callable[[], int], kept: Bools | None = None) -> int:
        """Take rows. Returns how many basic windows were completed.

        `now` is the instant of rows that do not say theirs. Of all rows those are taken in that are
        `kept`, but time goes on by all. Raises NullTimes, LateRows, and then no row was taken.
        """
        if isinstance(self.pace, CountPace):
            rows = batch if kept is None else batch.filter(to_arrow(kept))
            return self.take_counted(rows, self.pace)
        return self._take_timed(batch, self.pace, now, kept) if batch.num_rows else 0

    def take_counted(self, batch: pa.RecordBatch, pace: CountPace) -> int:
        """Take rows of a window that counts them."""
        contents, total = self.contents, batch.num_rows
        start = done = 0
        assert self.next is not None
        self.last = self.next + (contents.entered - contents.shown + total - 1) // pace.rows
        while start < total:
            if contents.takes_several and not self.goes_singly:
                most = contents.room
            else:
                most = pace.rows - (contents.entered - contents.shown)
            piece = batch if total <= most and not start else batch.slice(start, most)
            contents.enter(piece)
            start += piece.num_rows
            complete = (contents.entered - contents.shown) // pace.rows
            if complete:
                starts = range(contents.shown, contents.entered - pace.rows + 1, pace.rows)
                numbered = enumerate(starts, self.next)
                self._slide([BasicWindow(each, row, row + pace.rows) for each, row in numbered])
                done += complete
        return done

    def _take_timed(
        self, batch: pa.RecordBatch, pace: TimePace, now: Callable[[], int], kept: Bools | None
    ) -> int:
        if pace.time is None:
            times = np.full(batch.num_rows, now(), np.int64)
        else:
            times = _times(batch, pace.time)
        latest = int(times.max())
        watermark = latest if self.watermark is None else max(latest, self.watermark)
        numbers = pace.slotting.slots_of(times)
        if self.next is None:
            self.next = min(int(numbers.min()), pace.complete_before(watermark))
        if (numbers < self.next).any():
            batch, numbers, kept = self._in_time(batch, numbers, times, pace, kept)
        if kept is not None:
            batch, numbers = batch.filter(to_arrow(kept)), numbers[kept]
        self.last = int(numbers.max()) if len(numbers) else self.next
        for number, piece in _by_number(batch, numbers):
            self._pen.setdefault(number, []).append(piece)
        return self.advance(watermark)

    def _in_time(
        self, batch: pa.RecordBatch, numbers: I64, times: I64, pace: TimePace, kept: Bools | None
    ) -> tuple[pa.RecordBatch, I64, Bools | None]:
        """The rows that are not too late. Raises LateRows where these are refused."""
        assert self.next is not None
        archived = numbers < self._resumed
        late = (numbers < self.next) & ~archived
        if late.any() and self._late == "error":
            first = pace.slotting.moment(int(times[late].min()))
            begins = pace.slotting.moment(pace.slotting.start(self.next))
            raise LateRows(
                f"{int(late.sum())} rows are too late: the earliest is of {first}, and what was "
                f"before {begins} is complete. Make the window with a longer delay, or with "
                "late='drop'."
            )
        self.late_rows += int(late.sum())
        self.repeated_rows += int(archived.sum())
        there = ~late & ~archived
        rest = None if kept is None else kept[there]
        return batch.filter(to_arrow(there)), numbers[there], rest

    def advance(self, watermark: int) -> int:
        """Complete the basic windows that an instant completes, and take in what comes next."""
        pace, contents = self.pace, self.contents
        assert isinstance(pace, TimePace)
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark
        first = pace.complete_before(self.watermark)
        if self.next is None:
            self.next = first
        begun = self.next
        while self.next < first:
            self._enter()
            self._slide([BasicWindow(self.next, contents.shown, contents.entered)])
            if not contents.rows:
                # Nothing is there, and nothing happens until rows wait: empty ones are passed over.
                self.next = max(self.next, min([*self._pen, first]) - pace.count)
        self._enter()
        return self.next - begun

    def _enter(self) -> None:
        """Take in the rows of the basic window that fills up."""
        assert self.next is not None
        for batch in self._pen.pop(self.next, ()):
            self.contents.enter(batch)

    def _slide(self, basics: list[BasicWindow]) -> None:
        slide = self.contents.slide(basics)
        self.next = slide.came.number + 1
        self._tell(slide)
        self.contents.let_go()


def _times(batch: pa.RecordBatch, name: str) -> I64:
    """When each row was. Raises NullTimes."""
    column = batch.column(batch.schema.get_field_index(name))
    if column.null_count:
        raise NullTimes(
            f"{column.null_count} rows have no {name!r}. Leave them out: a window that goes by "
            "time must know when each row was."
        )
    return ordinals(column)


def _by_number(batch: pa.RecordBatch, numbers: I64) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each basic window, in the order in which they came."""
    if not len(numbers):
        return
    if numbers[0] == numbers[-1] and (numbers == numbers[0]).all():
        yield int(numbers[0]), batch
        return
    if (numbers[1:] < numbers[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        batch, numbers = batch.take(to_arrow(order)), numbers[order]
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for start, stop in pairwise(starts):
        yield int(numbers[start]), batch.slice(start, stop - start)
