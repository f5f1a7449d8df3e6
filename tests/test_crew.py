"""No call that was handed to a thread is running once the waiting for it is over.

That holds whatever interrupts, and however often.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from wavedex.crew import run_together

MAIN = threading.main_thread().ident
TIMES = 4


def is_waiting() -> bool:
    """Whether the main thread waits for calls that have begun, since something was raised."""
    frame = sys._current_frames()[MAIN]
    return frame.f_code.co_name == "wait" and frame.f_back.f_code.co_name == "_wait_for_all"


class Heard(list[BaseException]):
    """What was raised in the main thread, one for each SIGUSR1, of one kind after another."""

    kinds: Iterator[type[BaseException]]

    def interrupt(self, *_: object) -> None:
        self.append(next(self.kinds)(f"interrupt {len(self) + 1}"))
        raise self[-1]


@pytest.fixture
def heard() -> Iterator[Heard]:
    found = Heard()
    before = [
        signal.signal(signal.SIGUSR1, found.interrupt),
        signal.signal(signal.SIGUSR2, lambda *_: None),
    ]
    yield found
    for number, handler in zip((signal.SIGUSR1, signal.SIGUSR2), before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "kinds",
    [
        (SystemExit,),
        (TimeoutError,),  # as of an alarm that a user has set
        (KeyboardInterrupt, SystemExit),
    ],
)
def test_no_call_is_running_when_a_crew_is_dismissed_whatever_handlers_raise(heard, kinds):
    heard.kinds = itertools.cycle(kinds)
    has_begun, is_back, is_over = threading.Event(), threading.Event(), threading.Event()

    def fail() -> None:
        has_begun.wait()
        raise ZeroDivisionError

    def interrupt_often() -> None:
        has_begun.set()
        for number in range(TIMES):
            while not is_waiting() and not is_back.is_set():
                pass
            if not is_back.is_set():
                signal.pthread_kill(MAIN, signal.SIGUSR1)
            while len(heard) == number and not is_back.is_set():
                # Python may begin to wait just after it looked for signals.
                # Wake it, and raise nothing.
                signal.pthread_kill(MAIN, signal.SIGUSR2)
        is_over.set()

    try:
        with pytest.raises(kinds) as caught:
            run_together([fail, interrupt_often], 2)
        assert is_over.is_set()
    finally:
        is_back.set()
        is_over.wait()
    assert len(heard) == TIMES
    assert caught.value is heard[-1]
