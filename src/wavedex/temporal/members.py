"""A set over time, as its users hold it: who was in it at any past time, in microseconds.

>>> from wavedex.temporal import TemporalSet
>>> members = TemporalSet.create()
>>> members.add("ann", 3), members.add("bob", 5), members.remove("ann", 9)
(None, None, None)
>>> [members.contains("ann", t) for t in (2, 3, 8, 9)]
[False, True, True, False]
>>> sorted(members.snapshot(8)["oid"].to_pylist())
['ann', 'bob']
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, Damaged, ReadOnly, SetBroken, StreamOutOfStep
from wavedex.log.outside import Outside
from wavedex.rows.arrow import from_values
from wavedex.temporal import warmup
from wavedex.temporal.changes import I32, I64
from wavedex.temporal.definition import SetDefinition
from wavedex.temporal.description import Described
from wavedex.temporal.events import Columns, Events, Names, columns_of, events_of, table_of
from wavedex.temporal.folder import Loaded, SetFolder
from wavedex.temporal.ids.catalogue import type_of_id
from wavedex.temporal.instants import type_of_time
from wavedex.temporal.methods.catalogue import DEFAULT
from wavedex.temporal.rebuilding import rebuilt
from wavedex.temporal.state import State

_FAILED = "Something failed while changes were taken in."
QUEUED_MAX = 4_096
"""Changes made one by one are handed to the method together, up to so many."""


class TemporalSet(Described):
    """A set that changes, and all of its past. On disk, or in memory where it has no path.

    What it answers is as of the commit that it was opened at or refreshed to, and of the changes
    that were made through it. One writer at a time may commit, and many may read.
    """

    def __init__(
        self, definition: SetDefinition, folder: SetFolder | None, commit: int | None = None
    ) -> None:
        """Use `create` or `open`."""
        warmup.begin()
        self._definition, self._folder = definition, folder
        self._held: Loaded | None = None
        self._state: State | None = None
        self._queue: list[tuple[Events, I64, I32]] = []
        self._queued = 0
        self._pending: list[Events] = []
        self._marks: dict[str, int] = {}
        self._forgot: int | None = None
        self._broken = ""
        self.feeds = not definition.fed_by
        """Whether it takes changes from here: what is fed by something else does not."""
        self._lock = threading.RLock()
        columns = definition.columns
        if folder is not None and commit is not None:
            self._see(folder.load_commit(commit))
        elif folder is not None:
            self.refresh()
        elif columns is not None:
            self._state = definition.state(columns)

    # -- coming to be -------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        method: str = DEFAULT,
        page_bytes: int | None = None,
        page_records: int | None = None,
        ids: pa.DataType | None = None,
        times: pa.DataType | None = None,
        rows: pa.Schema | None = None,
        counted: bool = False,
        fed_by: str = "",
        surroundings: Outside | None = None,
        **settings: Any,
    ) -> Self:
        """An empty set at a path, or in memory.

        If `counted`, an id may be there many times: it is added as the first comes, and removed as
        the last goes. What is `fed_by` something that is named so takes no changes from others.

        The first events say of which types ids, times and rows are, unless `ids` and `times` do.
        What else can be set is the method's: see `wavedex.temporal.methods`.
        Raises BadDefinition and AlreadyExists.
        """
        columns = None
        if (ids is None) != (times is None) or (rows is not None and ids is None):
            raise BadDefinition(
                "Give the types of ids and of times, as in ids=pa.string(), times=pa.int64(), or "
                "none of them: the first events say then."
            )
        if ids is not None and times is not None:
            columns = Columns.of(ids, times, () if rows is None else [*rows])
        definition = SetDefinition.of(
            method, page_bytes, page_records, columns, settings, bool(counted), fed_by
        )
        if path is None:
            return cls(definition, None)
        return cls(definition, SetFolder.create(path, definition, surroundings or Outside()))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        commit: int | None = None,
        surroundings: Outside | None = None,
    ) -> Self:
        """The set at a path, as of its newest commit, or of an earlier one that is still kept.

        Raises NotAnIndex, NewerFormat, Damaged and CommitGone.
        """
        folder = SetFolder.open(path, surroundings or Outside())
        return cls(folder.definition, folder, commit)

    def refresh(self) -> int:
        """See what others have committed since. Returns the number of the newest commit.

        Lets go of changes that were made here and not committed.
        """
        if self._folder is None:
            raise ReadOnly("A set in memory has no commits. Give it a path when it is created.")
        with self._lock:
            untouched = not (self._pending or self._queue or self._broken)
            held, self._broken = self._held if untouched else None, "The last refresh failed."
            self._queue, self._queued, self._pending, self._marks = [], 0, [], {}
            number = self._see(self._folder.load(held))
            self._broken = ""
            return number

    def _see(self, loaded: Loaded) -> int:
        self._held, self._state = loaded, loaded.state
        self._forgot = loaded.commit.horizon
        return loaded.commit.commit

    # -- changing -----------------------------------------------------------------------------

    def add(self, oid: Any, time: Any, row: Mapping[str, Any] | None = None) -> None:
        """Add an id that is not in the set, from a time on. It may carry a row.

        Raises AlreadyInSet, TimeBackwards, BadKey, BadTime and SchemaMismatch.
        """
        self._change(oid, time, 1, row)

    def remove(self, oid: Any, time: Any) -> None:
        """Remove an id that is in the set. It is not in it at that time any more.

        Raises NotInSet, TimeBackwards, BadKey and BadTime.
        """
        self._change(oid, time, -1, None)

    def _change(self, oid: Any, time: Any, sign: int, row: Mapping[str, Any] | None) -> None:
        self._check_own()
        with self._lock:
            state = self._state_for(oid, time, row)
            carried = state.columns.rows
            if row is not None and {*row} != {*carried.names}:
                names = ", ".join(map(repr, carried.names)) or "no columns"
                raise BadDefinition(f"The rows of this set have {names}, and no others.")
            columns = [from_values([(row or {}).get(each.name)], each.type) for each in carried]
            events = Events(
                state.ids.column([oid]),
                np.array([state.instants.tick_of(time)], np.int64),
                np.array([sign], np.int8),
                pa.RecordBatch.from_arrays(columns, schema=carried),
            )
            self._take(state, events)
            if self._queued >= QUEUED_MAX:
                self._flush()

    def load(
        self,
        events: Any,
        *,
        oid: str = "oid",
        time: str = "time",
        op: str = "op",
        stream: str | None = None,
        number: int | None = None,
    ) -> int:
        """Take events in: all of them, or none. Returns how many.

        Events are a table, a frame, or a dictionary of columns: ids, times that do not decrease,
        and what happened: +1 for added and -1 for removed, or by how much more often an id is there
        where they are counted. Their other columns are the rows that ids carry. The batch of a
        stream that was committed before is passed over.
        Raises SchemaMismatch, TimeBackwards, AlreadyInSet, NotInSet and their kin.
        """
        self._check_own()
        names = Names(oid, time, op)
        with self._lock:
            if self._was_seen(stream, number):
                return 0
            table, state = table_of(events), self._ready()
            if table.num_rows:
                if state is None:
                    state = self._definition.state(columns_of(table, names))
                told = events_of(table, names, state, self._definition.counted)
                self._take(state, told)
                self._flush()
            if stream is not None and number is not None:
                self._marks[stream] = number
            return int(table.num_rows)

    def _take(self, state: State, events: Events) -> None:
        """Check events and take them in, now or as they are flushed."""
        if self._definition.counted:
            try:
                told = state.count(events)
            except Damaged:
                self._broken = _FAILED
                raise
            if self._folder is not None:
                self._pending.append(told)
        else:
            self._queue.append((events, *state.check(events)))
            self._queued += len(events)
        self._state = state

    def _was_seen(self, stream: str | None, number: int | None) -> bool:
        """Whether a batch of a stream is known. Raises StreamOutOfStep where it is not the next."""
        if (stream is None) != (number is None):
            raise BadDefinition("A batch of a stream has both: stream='...' and number=...")
        if stream is None or number is None:
            return False
        last = self.marks.get(stream)
        if last is not None and number > last + 1:
            raise StreamOutOfStep(
                f"Batch {number} of stream {stream!r} came, and the last one was {last}. Load "
                f"batch {last + 1} first."
            )
        return last is not None and number <= last

    @property
    def marks(self) -> Mapping[str, int]:
        """The last batch of each stream that was loaded."""
        return {**({} if self._held is None else self._held.commit.marks), **self._marks}

    def _state_for(self, oid: Any, time: Any, row: Mapping[str, Any] | None) -> State:
        self._check_whole()
        if self._state is None:
            fields = [pa.field(name, pa.scalar(value).type) for name, value in (row or {}).items()]
            columns = Columns.of(type_of_id(oid), type_of_time(time), fields)
            return self._definition.state(columns)
        return self._state

    def _flush(self) -> None:
        """Hand what is queued to the method."""
        with self._lock:
            if not self._queue or self._state is None:
                return
            several, self._queue, self._queued = self._queue, [], 0
            events, numbers, entries = several[0]
            if len(several) > 1:
                events = Events.concat([each[0] for each in several])
                numbers = np.concatenate([each[1] for each in several])
                entries = np.concatenate([each[2] for each in several])
            with self._breaking():
                self._state.apply(events, numbers, entries)
            if self._folder is not None:
                self._pending.append(events)

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        """What fails here leaves a set that is not whole."""
        self._broken = _FAILED
        yield
        self._broken = ""

    def note(self, marks: Mapping[str, int]) -> None:
        """Note how far what feeds the set has come, with the next commit."""
        with self._lock:
            self._marks = {**self._marks, **marks}

    def commit(self) -> int:
        """Make all changes so far last. Returns the number of the commit; a new one if any came.

        Raises ConcurrentWrite where another writer has committed since, and then nothing is
        written: `refresh` lets go of the changes that were made here.
        """
        return self._commit()

    def _commit(self, forgets: bool = False, whole: bool = False) -> int:
        with self._lock:
            state = self._ready()
            if self._folder is None or self._held is None:
                return 0
            if state is not None and (self._pending or self._marks or whole):
                self._held = self._folder.write(
                    self._held, state, self._pending, self._marks, whole, self._forgot, forgets
                )
                self._pending, self._marks = [], {}
            return self._held.commit.commit

    # -- what is over -------------------------------------------------------------------------

    def forget(self, before: Any) -> int:
        """Forget lifespans that ended before a time. Returns how many. Commits.

        Whoever asks for an earlier time is told that it is Forgotten.
        """
        with self._lock:
            state = self._ready()
            if state is None:
                return 0
            tick = state.instants.tick_of(before)
            spans = state.method.everything()
            kept = spans.ends > state.instants.version_at(tick)
            if self._forgot is not None:
                tick = max(tick, self._forgot)
            return self._rebuild(state, kept, tick)

    def erase(self, oids: Any) -> int:
        """Erase ids: as if they had never been there, with their rows. Commits.

        Returns how many lifespans went. No file has a byte of them afterwards. Raises BadKey.
        """
        with self._lock:
            state = self._ready()
            if state is None:
                return 0
            spans = state.method.everything()
            kept = ~np.isin(spans.ids, state.ids.numbers_of(oids))
            return self._rebuild(state, kept, self._forgot)

    def compact(self) -> int:
        """Write all pages anew, as full as they can be. Commits. Returns how many pages went."""
        with self._lock:
            before, state = self.pages, self._ready()
            if state is not None:
                everything = np.ones(len(state.method.everything()), np.bool_)
                self._rebuild(state, everything, self._forgot)
            return before - self.pages

    def _rebuild(self, state: State, kept: np.ndarray[Any, Any], horizon: int | None) -> int:
        other = rebuilt(state, kept, self._definition.state(state.columns))
        self._state, self._forgot = other, horizon
        try:
            self._commit(forgets=True, whole=True)
        except BaseException:
            if self._folder is not None:
                self._broken = "What was to be forgotten could not be written."
            raise
        return int((~kept).sum())

    def verify(self) -> list[str]:
        """What is wrong with the set, in sentences: empty if nothing is. Reads all of its files."""
        stored = None if self._folder is None else self._folder.load().state
        both = (stored, self._ready())
        return [each for state in both if state is not None for each in state.findings()]

    def save(self, path: str | os.PathLike[str], *, surroundings: Outside | None = None) -> int:
        """Keep a set in memory at a path from now on. Commits. Raises AlreadyExists."""
        with self._lock:
            if self._folder is not None:
                raise ReadOnly(f"The set is kept at {self.path} already.")
            self._ready()
            folder = SetFolder.create(path, self._definition, surroundings or Outside())
            try:
                self._folder, self._held = folder, folder.load()
                return self._commit(whole=True)
            except BaseException:
                self._folder = self._held = None
                raise

    # -- about itself -------------------------------------------------------------------------

    @property
    def horizon(self) -> Any:
        """The time before which the history was forgotten; None where it is whole."""
        state = self._state
        if self._forgot is None or state is None:
            return None
        return state.instants.time(self._forgot)

    @property
    def _horizon(self) -> int | None:
        return self._forgot

    def _ready(self) -> State | None:
        if self._queue:
            self._flush()
        if self._broken:
            self._check_whole()
        return self._state

    def _check_own(self) -> None:
        if not self.feeds:
            raise ReadOnly(
                f"This set is fed by {self._definition.fed_by}: change that. It can be asked, "
                "forgotten and compacted."
            )

    def _check_whole(self) -> None:
        if self._broken:
            again = "Call refresh()" if self._folder is not None else "Build it anew"
            raise SetBroken(f"{self._broken} What it holds is not whole. {again}.")
