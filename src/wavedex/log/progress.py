"""How far the sources of an index have come, as each commit notes it.

A stream comes in batches, which are counted. A source that is read piece by piece leaves a mark,
the name of its last piece. Either stands in the commit that has the rows, so nothing counts twice.

Of the last batches it is remembered what they were. So a stream may be read again from some batches
back, because something else that it feeds has not come as far: they are known and passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wavedex.log.codec import (
    PLAIN,
    TABLE,
    Codec,
    fields_from_json,
    fields_to_json,
    kept,
    listed,
    named,
)

RECALLED = 64
"""Of this many batches it is remembered what they were. Each takes some 25 bytes in a manifest."""


@dataclass(frozen=True)
class Progress:
    """How far a stream has come."""

    batch: int = kept()
    """The number of its last batch."""
    watermark: int | None = kept()
    """The ordinal before which nothing more is expected of it, if there is one."""
    recent: tuple[str, ...] = kept(listed(PLAIN), default=())
    """What the last batches were: the identities of their rows, that of the last batch last."""

    def recall(self, batch: int) -> str | None:
        """What one of the last batches was; None where that is not remembered."""
        back = self.batch - batch
        return self.recent[-1 - back] if 0 <= back < len(self.recent) else None

    @property
    def first_recalled(self) -> int:
        """The first of the batches that would be known if they came again."""
        return self.batch + 1 - max(1, len(self.recent))

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Progress:
        """What a manifest holds."""
        return cls(**fields_from_json(cls, {"recent": (), **data}))  # new with format 8


@dataclass(frozen=True)
class Sources:
    """How far all sources have come."""

    streams: Mapping[str, Progress] = kept(
        named(Codec(fields_to_json, Progress.from_json)), make=dict
    )
    """By the name of each stream that feeds the index."""
    marks: Mapping[str, str] = kept(TABLE, make=dict)
    """The last piece of each source that is read piece by piece, by its name."""
    takes_over: bool = False
    """Whether its streams take the place of all that were there before. It is not kept."""

    def and_then(self, later: Sources) -> Sources:
        """What is known once more was noted."""
        before = {} if later.takes_over else self.streams
        return replace(
            self,
            streams={**before, **later.streams},
            marks={**self.marks, **later.marks},
        )

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Sources:
        """What a manifest holds."""
        return cls(**fields_from_json(cls, data))


SOURCES = Codec(fields_to_json, Sources.from_json)
