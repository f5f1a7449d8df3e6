"""Whose turn it is: each batch of the one stream that feeds an index is taken once.

The name of the stream and the number of its last batch stand in the manifest that has the rows. By
them a batch that comes again is known. What is done with the rows is for others to say.

The last batch may come again because nobody knows whether it got through. It is passed over by its
number alone, and its rows are not looked at. So a source whose rows are not the same twice is not
stuck when it is started again.

Batches before it come again where the stream is read from some way back, since something else that
it feeds has not come as far (`wavedex.position`). They are passed over too, if their rows are what
they were. Rows that have the number of a batch before the last and are others are refused: they are
from another stream of the same name, and would be lost.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from wavedex.errors import AnotherStream, BadDefinition, StreamOutOfStep
from wavedex.log.manifest import Manifest
from wavedex.log.progress import RECALLED, Progress, Sources


@dataclass(frozen=True)
class Turn:
    """Whose turn it is."""

    stream: str
    """The name of the stream."""
    number: int
    """The number of the batch."""
    takes_over: bool = False
    """Whether it may feed an index that another stream fed before."""

    @property
    def given(self) -> dict[str, Any]:
        """As the options of a call that takes a batch."""
        return {"stream": self.stream, "number": self.number, "takeover": self.takes_over}


@dataclass(frozen=True)
class Place:
    """Where a batch stands among those that an index has taken."""

    turn: Turn
    progress: Progress | None
    """How far the stream has come, if it has fed the index."""

    @property
    def is_last(self) -> bool:
        """Whether it is the last batch once more, which is told by its number alone."""
        return self.progress is not None and self.progress.batch == self.turn.number

    @property
    def is_earlier(self) -> bool:
        """Whether a batch of its number came before the last, so that its rows tell the rest."""
        return self.progress is not None and self.turn.number < self.progress.batch

    @property
    def watermark(self) -> int | None:
        """How far the stream had come in time before the batch, if it has fed the index."""
        return None if self.progress is None or self.is_earlier else self.progress.watermark

    def is_repeated(self, identity: str) -> bool:
        """Whether the rows are those of an earlier batch, which is then passed over.

        Raises StreamOutOfStep where the batch of its number had other rows.
        """
        if not self.is_earlier:
            return False
        assert self.progress is not None
        if self.progress.recall(self.turn.number) == identity:
            return True
        if self.turn.takes_over:
            return False
        raise StreamOutOfStep(
            f"Batch {self.turn.number} of the stream {self.turn.stream} came again with other rows "
            f"than before, and the index has taken all up to {self.progress.batch}. {_ADVICE}"
        )

    def noted(self, identity: str, watermark: int | None = None) -> Sources:
        """What the commit notes that takes the batch."""
        progress, turn = self.progress, self.turn
        follows = progress is not None and turn.number == progress.batch + 1
        recent = progress.recent if progress is not None and follows else ()
        now = Progress(turn.number, watermark, (*recent, identity)[-RECALLED:])
        return Sources({turn.stream: now}, takes_over=turn.takes_over and not follows)


_ADVICE = (
    "The checkpoint belongs to another index, or the index was put back to an earlier state. Use "
    "the checkpoint of this index, or a new one and takeover=True if no row is lost or doubled by "
    "it."
)


def turn_of(stream: Any, number: Any, takeover: bool) -> Turn:
    """The turn that a user says. Raises BadDefinition."""
    is_count = hasattr(number, "__index__") and not isinstance(number, bool) and number >= 0
    if not isinstance(stream, str) or not is_count:
        raise BadDefinition(
            f"stream={stream!r}, number={number!r}: give a name, and the number of the batch from "
            "0 on."
        )
    return Turn(stream, operator.index(number), takeover)


def place_of(manifest: Manifest, turn: Turn) -> Place:
    """Where a batch stands among those that were taken. Raises AnotherStream, StreamOutOfStep."""
    progress = manifest.sources.streams.get(turn.stream)
    if progress is not None and progress.first_recalled <= turn.number <= progress.batch + 1:
        return Place(turn, progress)
    if turn.takes_over:
        return Place(turn, None)
    if progress is None and manifest.sources.streams:
        other, its = next(iter(manifest.sources.streams.items()))
        raise AnotherStream(
            f"The index is fed by the stream {other}, which has come to batch {its.batch}. Stop "
            "one of the two; if that one is over for good, let this one take over "
            "(takeover=True), and see that its source does not bring the same rows again."
        )
    if progress is None and turn.number == 0:
        return Place(turn, None)
    taken = (
        "the index has taken none of it"
        if progress is None
        else f"the last that the index has taken is batch {progress.batch}"
    )
    raise StreamOutOfStep(
        f"Batch {turn.number} of the stream {turn.stream} came, and {taken}. {_ADVICE}"
    )
