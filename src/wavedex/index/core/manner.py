"""How a write goes about it: how long it waits for another writer, and when it works ahead.

A write is done when its rows last and can be queried. What the plan leaves for later makes the next
write quick and changes no answer. It can be done at once, by a thread of this process while the
caller goes on, or by the next write.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from wavedex.clock import SECOND_NS
from wavedex.errors import BadDefinition, BadTime, ConcurrentWrite, StillPreparing
from wavedex.slots import duration_ns

T = TypeVar("T")

BACKGROUND, NOW, LATER = "background", "now", "later"
PREPARE_VARIABLE = "WAVEDEX_PREPARE"
"""The environment variable that says when, where a call does not."""
PREPARING_S = 600.0
"""How long a write waits for a preparation, if it was not told how long to wait.

A preparation ends by itself and leaves a good state, so there is nothing to tell anybody.
"""
_PAUSES_S = (0.001, 0.05)
"""The shortest and the longest pause between two attempts."""


@dataclass(frozen=True)
class Manner:
    """How a write goes about it."""

    prepare: str = NOW
    """When what is owed after it is done."""
    wait_s: float | None = None
    """How long it waits for another writer; None for not at all, but for a preparation."""

    def patiently(self, call: Callable[[], T]) -> T:
        """Make a call, and make it again for as long as another writer is in its way.

        REQUIRES: where it raises ConcurrentWrite, it has changed nothing.
        """
        begun_s, pause_s = time.monotonic(), _PAUSES_S[0]
        while True:
            try:
                return call()
            except ConcurrentWrite as error:
                least_s = PREPARING_S if isinstance(error, StillPreparing) else 0.0
                allowed_s = least_s if self.wait_s is None else self.wait_s
                if time.monotonic() - begun_s >= allowed_s:
                    raise
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _PAUSES_S[1])


def manner_of(wait: Any, prepare: Any = NOW) -> Manner:
    """What a user says. `prepare` may be None for what is usual. Raises BadDefinition."""
    if prepare is None:
        prepare = usual_prepare()
    if prepare not in (BACKGROUND, NOW, LATER):
        raise BadDefinition(f"prepare={prepare!r} is none of 'background', 'now' and 'later'.")
    return Manner(prepare, None if wait is None else _seconds(wait))


def usual_prepare() -> str:
    """When what is owed is done where nobody says: in the background. Raises BadDefinition."""
    said = os.environ.get(PREPARE_VARIABLE) or BACKGROUND
    if said not in (BACKGROUND, NOW, LATER):
        raise BadDefinition(
            f"{PREPARE_VARIABLE}={said!r} is none of 'background', 'now' and 'later'. Set it to "
            "one of them, or do not set it."
        )
    return said


def _seconds(wait: Any) -> float:
    if isinstance(wait, int | float) and not isinstance(wait, bool) and wait >= 0:
        return float(wait)
    try:
        return duration_ns(wait) / SECOND_NS
    except BadTime as error:
        raise BadDefinition(
            f"wait={wait!r} is no time to wait. Give one such as '30 s', or a number of seconds."
        ) from error
