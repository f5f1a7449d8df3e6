"""Hashing of the ids that are alive: which bucket each is in now, and was in at any version.

Partial persistence does not depend on how ids are hashed (Section 6). A hashing sees changes, keeps
the buckets of what is alive, grows and shrinks, and says what that means for each bucket
(`events`). It also remembers what it was like at every version: the paper's array H.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, Changes
from wavedex.temporal.hashing.events import Events
from wavedex.temporal.soundness import Known


class Hashing(ABC):
    """One way to hash what is alive, and its past."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """All that it keeps, by name: views."""

    @abstractmethod
    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Be as another was."""

    @abstractmethod
    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there."""

    @property
    @abstractmethod
    def buckets(self) -> int:
        """How many buckets there ever were. They are numbered from 0."""

    @abstractmethod
    def plan(self, changes: Changes, start: int, events: Events) -> int:
        """Take changes in from `start` on, and put what they mean for buckets into `events`.

        Returns the first change that was not taken in: there is no more room. Room is made where
        there would be none for a single change.
        """

    @abstractmethod
    def bucket_at(self, oid: int, version: int) -> int:
        """The bucket of an id at a version."""

    @abstractmethod
    def buckets_at(self, ids: I64, versions: I32) -> I32:
        """The bucket of each id at its version."""

    @abstractmethod
    def used_at(self, version: int) -> I32:
        """The buckets that there were at a version."""

    @abstractmethod
    def buckets_of(self, oid: int, since: int, until: int) -> I32:
        """The buckets that an id may have been in at versions from `since` to `until`, each once.

        Both ends are included.
        """

    @abstractmethod
    def buckets_ever(self, oid: int) -> I32:
        """The buckets that an id may ever have been in, each once."""

    @property
    @abstractmethod
    def alive(self) -> int:
        """How many ids are alive."""

    @abstractmethod
    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences."""
