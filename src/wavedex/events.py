"""What happens to indexes, for whoever wants to know: a line in the log, and calls for metrics.

Every commit is an event. It is written to the logger `wavedex` as one line, at the level INFO, and
handed to all who observe. They are called in the thread and process that commits, when the commit
is in, so they had better be quick. What one of them raises is logged and disturbs nobody.

>>> seen = []
>>> stop = observe(seen.append)
>>> publish(
...     Committed("sales.wx", "append", 7, rows=3, bytes=900, seconds=0.01, newest="2026-01-05")
... )
>>> stop()
>>> print(seen[0])
sales.wx: append of 2026-01-05, commit 7: 3 rows, 900 bytes, 0.010 s
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

LOGGER = logging.getLogger("wavedex")


@dataclass(frozen=True)
class Committed:
    """A commit that was made."""

    path: str
    """The folder of the index, or its URI."""
    operation: str
    """What was done: append, amend, feed, seal, prepare, update, retract, erase, migrate ..."""
    commit: int
    """The number of the commit."""
    rows: int = 0
    """How many rows came with it."""
    bytes: int = 0
    """How many bytes it wrote."""
    seconds: float = 0.0
    """How long it took, from its plan to the commit."""
    newest: str = ""
    """The newest slot that it leaves, by its name."""
    left: tuple[str, ...] = ()
    """The slots with rows that left the window with it, by their names."""
    late: int = 0
    """How many rows came too late and were left out."""
    null_keys: int = 0
    """How many rows had no key and were left out."""

    def __str__(self) -> str:
        named = f" of {self.newest}" if self.newest else ""
        said = [f"{self.rows:,} rows"] if self.rows else []
        said += [f"{self.bytes:,} bytes", f"{self.seconds:.3f} s"]
        if self.left:
            first, last = self.left[0], self.left[-1]
            said.append(f"{first if first == last else f'{first} to {last}'} left")
        said += [f"{self.late:,} too late"] if self.late else []
        said += [f"{self.null_keys:,} without a key"] if self.null_keys else []
        return f"{self.path}: {self.operation}{named}, commit {self.commit:,}: {', '.join(said)}"


Observer = Callable[[Committed], object]
_OBSERVERS: dict[object, Observer] = {}


def observe(callback: Observer) -> Callable[[], None]:
    """Have a function called with every commit that this process makes, to any index.

    Returns a function that ends it.
    """
    token = object()
    _OBSERVERS[token] = callback

    def stop() -> None:
        _OBSERVERS.pop(token, None)

    return stop


def is_anybody_there() -> bool:
    """Whether an event would be read by anybody."""
    return bool(_OBSERVERS) or LOGGER.isEnabledFor(logging.INFO)


def publish(event: Committed) -> None:
    """Log an event, and tell all who observe."""
    LOGGER.info("%s", event)
    for callback in [*_OBSERVERS.values()]:
        try:
            callback(event)
        except Exception:
            LOGGER.exception("An observer failed at commit %s of %s", event.commit, event.path)
