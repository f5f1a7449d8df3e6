"""Answers of continuous queries as JSON, for whoever reads lines: a line for each evaluation.

A line says which basic window was the newest, when that ended where a window goes by time, and the
rows of the answer. A folder has a file for each query, NAME.jsonl, which only grows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wavedex.online.pace import TimePace
from wavedex.online.subscriptions import SAMPLED, Answer
from wavedex.show.values import json_column, json_text

if TYPE_CHECKING:
    from wavedex.online.window import Window


@dataclass(frozen=True)
class Answered:
    """An answer, as it is told of."""

    name: str
    """The name of the query."""
    basic: int
    """The number of the newest basic window."""
    until: str | None
    """When that ended; None where rows are counted."""
    sampled: float
    """The part of the rows that was taken in: 1, where the window keeps up."""
    rows: list[dict[str, Any]]
    """The answer, as JSON has it."""

    @classmethod
    def of(cls, name: str, window: Window, answer: Answer) -> Answered:
        """What a window answers now."""
        assert window.complete is not None
        names = answer.schema.names
        columns = [
            json_column(each if not hasattr(each, "combine_chunks") else each.combine_chunks())
            for each in answer.columns
        ]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        metadata = answer.schema.metadata or {}
        sampled = float(metadata.get(SAMPLED, b"1"))
        return cls(name, window.complete, _until(window, window.complete), sampled, rows)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON, without what says nothing."""
        said: dict[str, Any] = {"query": self.name, "basic": self.basic}
        if self.until is not None:
            said["until"] = self.until
        if self.sampled < 1:
            said["sampled"] = self.sampled
        return {**said, "rows": self.rows}


class AnswerFiles:
    """A folder of answers."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Make the folder, if it is not there. Raises OSError."""
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, answered: Answered) -> None:
        """Append a line. Raises OSError."""
        line = json_text(answered.to_dict()).encode() + b"\n"
        with open(self._folder / f"{answered.name}.jsonl", "a+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":  # Somebody was cut off in the midst of a line.
                    line = b"\n" + line
            file.write(line)


def _until(window: Window, basic: int) -> str | None:
    pace = window.pace
    return pace.slotting.moment(pace.slotting.stop(basic)) if isinstance(pace, TimePace) else None
