"""The state of a set over time after one commit, as its file in the journal says it.

A set is a *base*, which has all that the method keeps, and *segments*: changes that came after it,
as they were told. Whoever opens a set maps the base and takes the segments in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from wavedex.errors import BadDefinition, Damaged
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import check_part_file
from wavedex.log.codec import (
    BAD_JSON,
    PLAIN,
    SCHEMA,
    Codec,
    fields_from_json,
    fields_to_json,
    kept,
    listed,
    maybe,
    named,
    seal,
    unseal,
)
from wavedex.log.journal import TOKENS_KEPT, Journal, came_after
from wavedex.temporal.events import Columns
from wavedex.temporal.instants import TICK_MAX

_NAME = "set"


class Changed(NamedTuple):
    """A file, and how many changes it tells of."""

    file: FileRef
    changes: int


_CHANGED = Codec(
    lambda each: [each.file.name, each.file.bytes, each.file.checksum, each.changes],
    lambda data: Changed(
        FileRef(check_part_file(data[0]), int(data[1]), str(data[2])), int(data[3])
    ),
)


def _tick(data: Any) -> int:
    if not -TICK_MAX < int(data) < TICK_MAX:
        raise ValueError(f"{data} is no time")
    return int(data)


_WHOLE = Codec(int, int)
_TICK = Codec(int, _tick)


@dataclass(frozen=True)
class SetCommit:
    """A set after one commit."""

    commit: int = kept(_WHOLE)
    """Its number."""
    written_at: str = kept()
    """When, in ISO format and UTC."""
    tokens: tuple[str, ...] = kept(listed(PLAIN))
    """The tokens of the last commits, its own last: no two attempts have the same."""
    definition: str = kept()
    """The checksum of what the set was created as."""
    schema: pa.Schema | None = kept(maybe(SCHEMA), default=None)
    """The types of ids, times and rows; None before they are known."""
    base: Changed | None = kept(maybe(_CHANGED), default=None)
    """The file of all that was kept, and of how many changes it is."""
    segments: tuple[Changed, ...] = kept(listed(_CHANGED), default=())
    """The files of changes that came later, in their order."""
    horizon: int | None = kept(maybe(_TICK), default=None)
    """The tick before which the history was forgotten."""
    marks: Mapping[str, int] = kept(named(_WHOLE), make=dict)
    """How far what feeds the set had come, by name."""
    floor: int = kept(_WHOLE, default=0)
    """The oldest commit that may be kept."""

    @property
    def files(self) -> Mapping[str, FileRef]:
        """Every file that it names."""
        return {each.file.name: each.file for each in self._changed}

    @property
    def _changed(self) -> Iterator[Changed]:
        if self.base is not None:
            yield self.base
        yield from self.segments

    @property
    def changes(self) -> int:
        """How many changes the set is of."""
        return sum(each.changes for each in self._changed)

    @property
    def is_preparation(self) -> bool:
        """Whether it only works ahead: no commit of a set does."""
        return False

    @property
    def columns(self) -> Columns | None:
        """The types of ids, times and rows; None before they are known."""
        return None if self.schema is None else Columns(self.schema)

    def follows(self, other: SetCommit) -> bool | None:
        """Whether it is another commit, or came to be on top of it; None if too long ago."""
        return came_after(self, other)

    def next(self, written_at: str, token: str, **changed: object) -> SetCommit:
        """The commit after it, which differs in some fields."""
        tokens = (*self.tokens, token)[-TOKENS_KEPT:]
        return replace(
            self,
            commit=self.commit + 1,
            written_at=written_at,
            tokens=tokens,
            **changed,  # type: ignore[arg-type]
        )

    def to_bytes(self) -> bytes:
        """The content of its file."""
        return seal(_NAME, fields_to_json(self))


def _parse(data: bytes, name: str, files: AnyFiles) -> SetCommit:
    try:
        found = SetCommit(**fields_from_json(SetCommit, unseal(_NAME, data)))
        if (columns := found.columns) is not None:
            Columns.of(columns.ids, columns.times, [*columns.rows])
        return found
    except (*BAD_JSON, pa.ArrowException, OSError, BadDefinition) as error:
        raise Damaged(f"{name} is no commit of a set ({error})") from error


def set_journal(files: AnyFiles) -> Journal[SetCommit]:
    """The commits of a set."""
    return Journal(files, _parse)
