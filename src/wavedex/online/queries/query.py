"""What every query over a window can do: answer, and explain what an answer takes.

A query knows its *mode* (003, Section 4.1): whether it needs a window of its input, and whether it
keeps one of its output. And it knows whether it is *incremental* (4.2): answered from what came and
what left alone, or only with a histogram of the window at hand, or by looking at the whole window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyarrow as pa

from wavedex.errors import BadQuery

if TYPE_CHECKING:
    from wavedex.online.window import Window

Mode = Literal[1, 2, 3, 4]
"""1: neither input nor output is a window; 2: the input is; 3: the output is; 4: both are."""
Incremental = Literal["yes", "with a histogram", "no"]

MODES = {
    1: "each row is answered as it comes; no window is kept",
    2: "the input is a window; new results are handed on",
    3: "the output is kept as a window; the input is not",
    4: "the input is a window, and the output is kept as it is at each basic window",
}


@dataclass(frozen=True)
class Explanation:
    """What an answer takes."""

    query: str
    """The query, as it was asked."""
    mode: Mode
    """Its mode."""
    incremental: Incremental
    """Whether it can be answered from what came and what left."""
    uses: str
    """What it is answered from, in this window."""
    nodes: int
    """How many nodes, rows or partial results an answer looks at, about."""
    would: str | None = None
    """What another structure would save; None where nothing would."""

    def __str__(self) -> str:
        said = [
            self.query,
            f"  mode {self.mode}: {MODES[self.mode]}",
            f"  incremental: {self.incremental}",
            f"  answered from {self.uses}, {self.nodes:,} looked at",
        ]
        return "\n".join([*said, f"  {self.would}"] if self.would else said)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


class Query(ABC):
    """A query over a window."""

    mode: ClassVar[Mode]
    incremental: ClassVar[Incremental]

    @abstractmethod
    def answer(self, window: Window) -> pa.RecordBatch | pa.Table:
        """The answer over what can be seen now."""

    def news(self, window: Window, basics: int = 1) -> pa.RecordBatch | pa.Table:
        """What a subscriber is handed who was told `basics` basic windows ago.

        It is the whole answer, but for queries whose results are rows that come one after the
        other: of these it is what the newest basic windows brought.
        """
        return self.answer(window)

    @abstractmethod
    def explain(self, window: Window) -> Explanation:
        """What an answer takes, without answering."""

    def keep(self, window: Window) -> Callable[[], None]:
        """Have the window keep what makes the next answers cheap. Returns what ends it."""
        return lambda: None

    def others(self) -> tuple[Window, ...]:
        """The windows that it looks at besides the one that is asked."""
        return ()

    def for_subscriber(self) -> Query:
        """The query as a subscriber of its own asks it."""
        return self


def check_query(query: object) -> None:
    """Raise BadQuery where something is no query."""
    if not isinstance(query, Query):
        raise BadQuery(
            f"{query!r} is no query. Give one of wavedex.online.queries, such as Histogram('src')."
        )
