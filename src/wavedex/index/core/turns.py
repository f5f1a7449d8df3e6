"""Whose turn it is: each batch of the one stream that feeds an index is taken once.

The name of the stream and the number of its last batch stand in the manifest that has the rows. By
them a batch that comes again is known. What is done with the rows is for others to say.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from wavedex.errors import AnotherStream, BadDefinition, StreamOutOfStep
from wavedex.log.manifest import Manifest
from wavedex.log.progress import Progress


@dataclass(frozen=True)
class Turn:
    """Whose turn it is."""

    stream: str
    """The name of the stream."""
    number: int
    """The number of the batch."""
    takes_over: bool = False
    """Whether it may feed an index that another stream fed before."""


def turn_of(stream: Any, number: Any, takes_over: bool) -> Turn:
    """The turn that a user says. Raises BadDefinition."""
    is_count = hasattr(number, "__index__") and not isinstance(number, bool) and number >= 0
    if not isinstance(stream, str) or not is_count:
        raise BadDefinition(
            f"stream={stream!r}, number={number!r}: give a name, and the number of the batch from "
            "0 on."
        )
    return Turn(stream, operator.index(number), takes_over)


def check_turn(manifest: Manifest, turn: Turn) -> Progress | None:
    """The progress of the stream, if it has any. Raises AnotherStream or StreamOutOfStep."""
    progress = manifest.sources.streams.get(turn.stream)
    if progress is not None and turn.number in (progress.batch, progress.batch + 1):
        return progress
    if turn.takes_over:
        return None
    if progress is None and manifest.sources.streams:
        other, its = next(iter(manifest.sources.streams.items()))
        raise AnotherStream(
            f"The index is fed by the stream {other}, which has come to batch {its.batch}. Stop "
            "one of the two; if that one is over for good, let this one take over "
            "(takeover=True), and see that its source does not bring the same rows again."
        )
    last = "none" if progress is None else str(progress.batch)
    if progress is None and turn.number == 0:
        return None
    raise StreamOutOfStep(
        f"Batch {turn.number} of the stream {turn.stream} came, and the index has taken {last} of "
        "it. The checkpoint belongs to another index, or the index was put back to an earlier "
        "state. Use the checkpoint of this index, or a new one and takeover=True if no row is "
        "lost or doubled by it."
    )
