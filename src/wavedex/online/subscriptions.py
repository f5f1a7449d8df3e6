"""Continuous queries: evaluated again each few basic windows, and handed to whoever wants them.

A window has one schedule. When a basic window is complete it evaluates what is due, the important
queries first. How long that takes is measured, and where a window cannot keep up, it does less
(`wavedex.online.load`). Whoever takes an answer may fail: that is told of, and the stream goes on.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.events import LOGGER
from wavedex.online.load import BUSY, Cost, plan_measures
from wavedex.online.pace import CountPace, Pace, TimePace
from wavedex.online.queries.query import Query
from wavedex.slots.widths import read_width

if TYPE_CHECKING:
    from wavedex.online.window import Window

Answer: TypeAlias = "pa.RecordBatch | pa.Table"
Timer = Callable[[], float]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
SAMPLED = b"wavedex.sampled"
"""In the metadata of an answer: the part of the rows that was taken in."""
SAMPLED_OTHER = b"wavedex.sampled_other"
"""The same of the other window, in an answer over two."""
_SMOOTHED = 0.2
"""How much the newest measurement of a query counts."""
_RECENT = 15
"""Of so many basic windows the median upkeep counts: one that is held up once is none of these."""


class Subscription:
    """A query that is evaluated again and again. Make one with `subscribe`."""

    def __init__(
        self, window: Window, query: Query, every: int, to: Any, importance: float
    ) -> None:
        self.query = query
        self.every = every
        """The basic windows from one evaluation to the next."""
        self.importance = importance
        self.stretch = 1
        """How many times longer it waits at present, because the window cannot keep up."""
        self.evaluated = 0
        """How often it was evaluated."""
        self.skipped = 0
        """How often it was due by `every`, and was left out."""
        self.failed = 0
        """How often the evaluation, or whoever takes the answer, failed."""
        self.error: Exception | None = None
        """The last failure."""
        self.latest: Answer | None = None
        """The last answer."""
        self.seconds = 0.0
        """What an evaluation takes, smoothed, in seconds."""
        self._window = window
        self._give = _giver(to)
        self._release = query.keep(window)
        self._since = 0
        self._span = 0
        """The basic windows that the next answer tells of."""

    @property
    def cost(self) -> Cost:
        """What it takes."""
        return Cost(self.seconds, self.every, self.importance)

    def close(self) -> None:
        """Evaluate it no more."""
        held = self._window.turn.take()
        try:
            self._window.schedule.remove(self)
            self._release()
        finally:
            held.release()

    def turn(self) -> bool:
        """A basic window is complete: whether the query is due."""
        self._since += 1
        if self._since % self.every:
            return False
        if self._since < self.every * self.stretch:
            self.skipped += 1
            return False
        self._span, self._since = self._since, 0
        return True

    def evaluate(self, timer: Timer) -> float:
        """Answer, and hand the answer over. Returns how many seconds it took."""
        begun = timer()
        try:
            self.latest = self._window.news(self.query, self._span)
            self._give(self.latest)
            self.evaluated += 1
        except Exception as error:
            # The stream goes on whatever a query or its reader does: it is told of instead.
            self.failed += 1
            self.error = error
            LOGGER.warning("%s failed: %s: %s", self, type(error).__name__, error, exc_info=error)
        took = timer() - begun
        self.seconds += (took - self.seconds) * (_SMOOTHED if self.seconds else 1.0)
        return took

    def __repr__(self) -> str:
        every = f"every {self.every * self.stretch} basic windows"
        return f"<Subscription to {self.query}, {every}: evaluated {self.evaluated} times>"


@dataclass
class Pressure:
    """How far a window keeps up. `Window.load` has it."""

    interval_s: float
    """The real time that a basic window takes to come, if all of its rows are taken in."""
    by_rows: bool = False
    """Whether the window counts rows: with a part of them, its basic windows come less often."""
    sheds: bool = False
    """Whether rows may be left out."""
    busy: float = BUSY
    """The part of that in which the window may be at work."""
    sample: float = 1.0
    """The part of the rows that is taken in at present."""
    shed: int = 0
    """How many rows were left out."""
    upkeep_s: float = 0.0
    """What one of the last basic windows took without queries, if all rows had been taken in."""
    work_s: float = 0.0
    """What the last basic window took, its queries included."""


class Schedule:
    """The subscriptions of a window, and what is done less where it cannot keep up."""

    def __init__(self, pressure: Pressure | None, timer: Timer, seed: int, lag: int) -> None:
        """Rows may wait for `lag` basic windows before they can be seen."""
        self.pressure = pressure
        self._lag = lag
        self._rate = 1.0
        """The smallest part of the rows that was taken in since a basic window became complete."""
        self._drawn = 1.0
        """The part of the rows of the last batch, which may fill many basic windows."""
        self._recent: deque[float] = deque(maxlen=_RECENT)
        """The upkeep of the last basic windows, in seconds."""
        self.timer = timer
        self._random = np.random.default_rng(seed)
        self._subscriptions: list[Subscription] = []
        self._rates: deque[float] = deque()
        """The part of the rows that was taken in, of each basic window that can be seen."""
        self._since = self._worked_s = 0.0
        """Since when it is at work, and for how long it was before, on this basic window."""

    def __bool__(self) -> bool:
        return bool(self._subscriptions)

    def __iter__(self) -> Any:
        return iter(tuple(self._subscriptions))

    def add(self, subscription: Subscription) -> None:
        """Evaluate a query from now on, after those that are more important."""
        self._subscriptions.append(subscription)
        self._subscriptions.sort(key=lambda each: -each.importance)

    def remove(self, subscription: Subscription) -> None:
        """Evaluate a query no more. One that is not there does no harm."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    @property
    def sampled(self) -> float:
        """The smallest part of the rows that was taken in of what can be seen, or even smaller."""
        return min(self._rates, default=1.0)

    def sampled_rows(self, rows: int) -> Bools | None:
        """Which of some rows are taken in; None for all."""
        pressure = self.pressure
        self._drawn = 1.0 if pressure is None else pressure.sample
        if pressure is None or self._drawn >= 1.0:
            return None
        self._rate = min(self._rate, self._drawn)
        kept = self._random.random(rows) < self._drawn
        pressure.shed += int((~kept).sum())
        return kept

    @contextmanager
    def working(self) -> Iterator[None]:
        """Measure how long a window is at work on rows or on time that goes on."""
        self._since = self.timer()
        try:
            yield
        finally:
            self._worked_s += self.timer() - self._since

    @contextmanager
    def unmeasured(self) -> Iterator[None]:
        """Measure nothing while a window is filled again: that says nothing of the stream."""
        pressure, self.pressure = self.pressure, None
        try:
            yield
        finally:
            self.pressure = pressure

    def slid(self, count: int) -> None:
        """A basic window became complete, of so many: evaluate what is due.

        REQUIRES: it is within `working`, if there is pressure.
        """
        evaluating_s = working_s = 0.0
        pressure = self.pressure
        if pressure is not None:
            now = self.timer()
            working_s, self._worked_s, self._since = self._worked_s + now - self._since, 0.0, now
            self._rates.append(self._rate)
            self._rate = self._drawn
            while len(self._rates) > count + self._lag:
                self._rates.popleft()
        for subscription in self:
            if subscription.turn():
                evaluating_s += subscription.evaluate(self.timer)
        if pressure is None:
            return
        self._since = self.timer()
        upkeep_s = working_s if pressure.by_rows else working_s / pressure.sample
        self._recent.append(upkeep_s)
        pressure.upkeep_s = median(self._recent)
        pressure.work_s = working_s + evaluating_s
        costs = [each.cost for each in self._subscriptions]
        less = plan_measures(costs, pressure.upkeep_s, pressure.interval_s, pressure.busy)
        pressure.sample = less.sample if pressure.sheds else 1.0
        for subscription, stretch in zip(self._subscriptions, less.stretches, strict=True):
            subscription.stretch = stretch


def said_of_sample(answer: Answer, sample: float, other: float) -> Answer:
    """An answer that says which part of the rows was taken in, if not all were."""
    parts = {SAMPLED: sample, SAMPLED_OTHER: other}
    said = {name: f"{part:.4g}".encode() for name, part in parts.items() if part < 1.0}
    if not said:
        return answer
    return answer.replace_schema_metadata({**(answer.schema.metadata or {}), **said})


def check_interval(every: object, importance: object) -> None:
    """Raise BadDefinition where a subscription cannot be as asked for."""
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise BadDefinition(f"every={every!r}: give a number of basic windows, from 1 on.")
    if not isinstance(importance, int | float) or isinstance(importance, bool):
        raise BadDefinition(f"importance={importance!r}: give a number; 1 is usual.")


def _giver(to: Any) -> Callable[[Answer], object]:
    """How an answer is handed over. Raises BadDefinition."""
    if to is None:
        return lambda answer: None
    if isinstance(to, asyncio.Queue):
        return _to_async(to)
    if isinstance(to, queue.Queue | queue.SimpleQueue):
        return to.put_nowait
    push = getattr(to, "push", None)
    if callable(push):
        return lambda answer: push(answer)
    if callable(to):
        return lambda answer: to(answer)
    raise BadDefinition(
        f"to={to!r}: give a function that takes an answer, a queue, a window, or None to read "
        "`latest`."
    )


def _to_async(to: asyncio.Queue[Answer]) -> Callable[[Answer], object]:
    """Puts answers into a queue of the loop that runs now, from whichever thread."""
    try:
        loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        loop = None

    def give(answer: Answer) -> None:
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if loop is None or here is loop:
            to.put_nowait(answer)
        else:
            loop.call_soon_threadsafe(to.put_nowait, answer)

    return give


def system_timer() -> float:
    """Seconds, for measuring how long something took."""
    return time.perf_counter()


def pressure_of(keep_up: object, pace: Pace, basic: object, *, sheds: bool) -> Pressure | None:
    """What a window must keep up with. Raises BadDefinition."""
    if not isinstance(sheds, bool) or (sheds and keep_up is False):
        raise BadDefinition(f"shed={sheds!r}: give True or False, and True only with keep_up.")
    if keep_up is False:
        return None
    if isinstance(keep_up, int | float) and not isinstance(keep_up, bool) and keep_up > 0:
        return Pressure(float(keep_up), isinstance(pace, CountPace), sheds)
    if keep_up is not True:
        raise BadDefinition(f"keep_up={keep_up!r}: give True, False, or seconds above 0.")
    width = read_width(basic) if isinstance(pace, TimePace) else None
    if width is not None and width.seconds is not None:
        return Pressure(float(width.seconds), sheds=sheds)
    if sheds:
        raise BadDefinition(
            "shed=True needs to know how long a basic window takes to come: say it in seconds, "
            "keep_up=0.5."
        )
    return None
