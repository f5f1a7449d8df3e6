"""How far the sources of an index have come, as each commit notes it.

A stream comes in batches, which are counted. A source that is read piece by piece leaves a mark,
the name of its last piece. Either stands in the commit that has the rows, so nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wavedex.log.codec import TABLE, Codec, fields_from_json, fields_to_json, kept, named


@dataclass(frozen=True)
class Progress:
    """How far a stream has come."""

    batch: int = kept()
    """The number of its last batch."""
    watermark: int | None = kept()
    """The ordinal before which nothing more is expected of it, if there is one."""

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Progress:
        """What a manifest holds."""
        return cls(**fields_from_json(cls, data))


@dataclass(frozen=True)
class Sources:
    """How far all sources have come."""

    streams: Mapping[str, Progress] = kept(
        named(Codec(fields_to_json, Progress.from_json)), make=dict
    )
    """By the name of each stream that feeds the index."""
    marks: Mapping[str, str] = kept(TABLE, make=dict)
    """The last piece of each source that is read piece by piece, by its name."""

    def and_then(self, later: Sources) -> Sources:
        """What is known once more was noted. New streams replace all streams; marks add up."""
        return replace(
            self,
            streams=later.streams or self.streams,
            marks={**self.marks, **later.marks},
        )

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Sources:
        """What a manifest holds."""
        return cls(**fields_from_json(cls, data))


SOURCES = Codec(fields_to_json, Sources.from_json)
