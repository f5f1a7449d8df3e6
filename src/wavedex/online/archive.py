"""The archive of a window: an index on disk that gets its basic windows, each of them once.

Basic windows that are complete are fed to the index as batches of a stream, some at a time. Each
commit notes which basic window was the last, and how far the streams had come that feed the window.
So after a crash the window is filled again from the index, and its streams are sent again from what
the index lacks.

Where the index cannot take a batch the window goes on, says so, and tries again with the next basic
window. It keeps what is owed. Once that is as many basic windows as it has itself, it takes no more
rows and raises what is wrong, until the index takes what it is owed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, MissingColumn, NullKeys, NullTimes
from wavedex.events import LOGGER
from wavedex.index import LifetimeIndex, WaveIndex
from wavedex.index.core.delivery import InMemory
from wavedex.online.contents import BasicWindow, Slide
from wavedex.online.identity import Reached, Streams
from wavedex.online.pace import CountPace, TimePace
from wavedex.rows.arrow import empty_batch
from wavedex.slots import check_divides

if TYPE_CHECKING:
    from wavedex.online.window import Window

AnyIndex = WaveIndex | LifetimeIndex


def mark_of(stream: str) -> str:
    """The name under which an archive notes how far it has come."""
    return f"window:{stream}"


def reached_by(index: Any, stream: str) -> Reached | None:
    """How far an archive has come, by what an index or a snapshot noted; None before the first."""
    mark = index.manifest.sources.marks.get(mark_of(stream))
    return None if mark is None else Reached.from_mark(mark)


class Archive:
    """Hands the basic windows of a window on to an index. Make one with `Window.archive`."""

    def __init__(
        self, window: Window, index: AnyIndex, stream: str, every: int, delay: object
    ) -> None:
        """Begin with the next basic window. Raises BadDefinition, Straddling, MissingColumn."""
        check(window, index, every)
        if delay is not None and isinstance(window.pace, TimePace):
            raise BadDefinition(
                "delay= of an archive goes with windows that count rows: here rows that come late "
                "have come when their basic window is complete. Give the window a delay."
            )
        self.index = index
        self.stream = stream
        self.every = every
        """So many basic windows are one batch of the stream."""
        self.error: Exception | None = None
        """Why the last batch was not taken; None where it was."""
        self.late_rows = 0
        """How many rows the index left out, since slots as late as theirs were over."""
        self._delay = self._no_delay if delay is None else delay
        self._window = window
        progress = index.manifest.sources.streams.get(stream)
        self._number = 0 if progress is None else progress.batch + 1
        self._owed: deque[tuple[pa.RecordBatch, Reached]] = deque()
        self._gathered: list[pa.RecordBatch] = []
        self._reached = reached_by(index, stream)
        self._begin()

    @property
    def behind(self) -> int:
        """How many basic windows are not in the index yet."""
        return len(self._owed) * self.every + len(self._gathered)

    def _begin(self) -> None:
        """Begin with what can be seen and is not there yet."""
        window, reached = self._window, self._reached
        by_rows = isinstance(window.pace, CountPace)
        if reached is not None and by_rows and window.complete != reached.basic:
            raise BadDefinition(
                f"{self.index.path} has the stream {self.stream!r} up to basic window "
                f"{reached.basic}, and this window has come to {window.complete}. Use "
                "Window.restore, which goes on from there."
            )
        for basic in window.basics():
            self._take(basic)

    def slid(self, slide: Slide) -> None:
        """Take a basic window, and hand on what there is."""
        self._take(slide.came)
        if len(self._gathered) >= self.every:
            self._bundle()
            self._try()

    def _take(self, came: BasicWindow) -> None:
        """Gather a basic window that is not there yet."""
        window, reached = self._window, self._reached
        if reached is not None and came.number <= reached.basic:
            return
        self._gathered.append(window.contents.span(came.first, came.stop))
        rows = came.stop + window.archived_rows if isinstance(window.pace, CountPace) else None
        reached = window.streams.reached(came.number, rows)
        self._reached = replace(reached, pace=window.pace.said)

    def flush(self) -> None:
        """Hand on all that is complete. Raises what the index raises."""
        if self._gathered:
            self._bundle()
        self._hand_on()

    def check(self, batch: pa.RecordBatch) -> None:
        """Raise NullKeys or NullTimes where the index would not take rows.

        Raise what is wrong where so much is owed that no more can be kept.
        """
        definition = self.index.definition
        times = () if definition.time is None else (definition.time,)
        refused = () if definition.nulls == "skip" else definition.key_names
        for names, error in ((refused, NullKeys), (times, NullTimes)):
            for name in names:
                count = batch.column(batch.schema.get_field_index(name)).null_count
                if count:
                    raise error(
                        f"{count} rows have no {name!r}, and {self.index.path} does not take such "
                        "rows. Leave them out, or archive to an index with nulls='skip'."
                    )
        if self.behind >= max(self._window.pace.count, self.every):
            self._hand_on()

    def waiting(self) -> list[pa.RecordBatch]:
        """The rows of complete basic windows that are not in the index yet."""
        return [*(batch for batch, _ in self._owed), *self._gathered]

    def close(self) -> None:
        """Hand on all that is complete, and no more after it."""
        self.flush()
        self._window.unwatch(self)

    def _bundle(self) -> None:
        assert self._reached is not None
        table = pa.Table.from_batches(self._gathered).combine_chunks()
        batch = table.to_batches()[0] if table.num_rows else self._gathered[0]
        self._owed.append((batch, self._reached))
        self._gathered = []

    def _try(self) -> None:
        try:
            self._hand_on()
        except Exception as error:
            # Nothing is lost: it is owed, and `check` raises before too much is.
            LOGGER.warning(
                "%s did not take %s of the stream %r; it is tried again. %s: %s",
                self.index.path,
                f"{len(self._owed)} batches",
                self.stream,
                type(error).__name__,
                error,
            )

    def _hand_on(self) -> None:
        while self._owed:
            batch, reached = self._owed[0]
            rows = InMemory(batch, {mark_of(self.stream): reached.to_mark()})
            turn: dict[str, Any] = {"stream": self.stream, "number": self._number}
            try:
                if isinstance(self.index, WaveIndex):
                    self._note_late(self.index.feed(rows, **turn, delay=self._delay).late)
                else:
                    self.index.feed(rows, **turn)
            except Exception as error:
                self.error = error
                raise
            self.error = None
            self._number += 1
            self._owed.popleft()

    def _note_late(self, rows: int) -> None:
        if rows:
            self.late_rows += rows
            LOGGER.warning(
                "%s left out %d rows of the stream %r that came too late for it. Begin the archive "
                "with a delay.",
                self.index.path,
                rows,
                self.stream,
            )

    @property
    def _no_delay(self) -> Any:
        """No delay, as the index takes it: whatever comes late has come when a window slides."""
        return 0 if _is_numbered(self.index) else "0 seconds"

    def __repr__(self) -> str:
        return f"<Archive of {self.stream!r} in {self.index.path}: {self.behind} behind>"


def check_index(index: object) -> None:
    """Raise BadDefinition where something is no index."""
    if not isinstance(index, WaveIndex | LifetimeIndex):
        raise BadDefinition(f"{index!r} is no index: give what wavedex.open returns.")


def check(window: Window, index: AnyIndex, every: object) -> None:
    """Raise where an index cannot be the archive of a window."""
    check_index(index)
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise BadDefinition(f"every={every!r}: give a number of basic windows, from 1 on.")
    missing = [name for name in index.schema.names if name not in window.contents.kept]
    if missing:
        raise MissingColumn(
            f"The index has {', '.join(map(repr, missing))}, and the rows of the window do not. "
            "Give the window these columns, stored as 'list'."
        )
    pace, time = window.pace, index.definition.time
    if isinstance(pace, TimePace) and pace.time is not None and time == pace.time:
        check_divides(pace.slotting, index.definition.slotting, ("basic windows", "slots"))


def _is_numbered(index: AnyIndex) -> bool:
    time = index.definition.time
    return time is None or pa.types.is_integer(index.schema.field(time).type)


def check_timed(window: Window) -> None:
    """Raise BadDefinition where an index does not know when the rows of a window were."""
    if isinstance(window.pace, TimePace) and window.pace.time is None:
        raise BadDefinition(
            "time= is missing: the window goes by when rows arrive, and an index does not have "
            "that. Give the column that says when rows were."
        )


def refill(window: Window, index: AnyIndex, stream: str) -> None:
    """Fill an empty window with the newest rows of its archive, to go on from there.

    REQUIRES: nobody watches it yet.
    """
    check_timed(window)
    reached = reached_by(index, stream)
    if reached is None:
        return
    if reached.pace != window.pace.said:
        raise BadDefinition(
            f"{index.path} has the stream {stream!r} in other basic windows: {reached.pace}, and "
            f"these are {window.pace.said}. Restore the window as it was, or begin with another "
            "stream."
        )
    rows, pace, filling = _newest(window, index, reached), window.pace, window.filling
    window.streams = Streams(reached)
    with window.schedule.unmeasured():
        if isinstance(pace, CountPace):
            kept = rows.slice(rows.num_rows % pace.rows)
            window.archived_rows = (reached.basic + 1) * pace.rows - kept.num_rows
            filling.resume(reached.basic + 1 - kept.num_rows // pace.rows)
            filling.take_counted(kept, pace)
        else:
            filling.refill(reached.basic, rows)


def _newest(window: Window, index: AnyIndex, reached: Reached) -> pa.RecordBatch:
    """The rows that the window had, in the order of their times."""
    names, pace, definition = window.schema.names, window.pace, index.definition
    since = None
    if isinstance(pace, TimePace) and definition.time is not None:
        oldest = reached.basic - pace.count + 1
        slots = definition.slotting.slots_of(np.array([pace.slotting.start(oldest)]))
        since = int(slots[0])
    order = None if definition.time is None else "time"
    last = pace.rows * pace.count if isinstance(pace, CountPace) else None
    found = index.scan(since, columns=names, order=order, last=last).read_all()
    table = found.combine_chunks()
    return table.to_batches()[0] if table.num_rows else empty_batch(table.schema)
