"""What every method can do: keep changes in pages, and say from them who was there when.

A method sees versions in place of times and whole numbers in place of ids. It is told of changes
that are possible and in order, and it raises nothing for what users do. It opens no file: all that
it keeps are arrays, and whoever keeps those on disk need not know what they mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy.typing as npt

from wavedex.temporal.changes import I32, I64, Bools, BucketPages, Changes, Lifespans
from wavedex.temporal.io import Io
from wavedex.temporal.layout import Layout
from wavedex.temporal.soundness import Known

Arrays = Mapping[str, npt.NDArray[Any]]


class Method(ABC):
    """One way to keep the history of a set."""

    name: ClassVar[str]
    """What users call it."""
    settings: ClassVar[type]
    """A frozen dataclass of what users may set, with defaults.

    Its values are numbers, texts and None. Making one raises BadDefinition.
    """
    is_ordered: ClassVar[bool] = False
    """Whether ids lie in their order, so that `between` looks at those that it returns only."""

    def __init__(self, layout: Layout, settings: Any) -> None:
        """An empty set."""
        self.layout = layout
        self.io = Io()

    # -- what is kept -------------------------------------------------------------------------

    @property
    @abstractmethod
    def arrays(self) -> Arrays:
        """All that it keeps, by name: views, one- or two-dimensional, each as long as is used."""

    @abstractmethod
    def restore(self, arrays: Arrays) -> None:
        """Be as another was whose arrays these are.

        The arrays are not copied. They may be changed in place by `apply` only.
        """

    @abstractmethod
    def check(self, known: Known) -> None:
        """Raise Damaged where arrays that were restored lead to what is not there.

        ENSURES: whatever they hold, asking leaves no array and comes to an end, also after `apply`.
        `apply` comes to an end too, and raises IndexError or Damaged in place of leaving an array.
        COST: no loop over pages.
        """

    @property
    @abstractmethod
    def pages(self) -> int:
        """Pages in use, those of directories and trees included."""

    # -- changing -----------------------------------------------------------------------------

    @abstractmethod
    def apply(self, changes: Changes) -> None:
        """Take changes in, after all that were taken in before."""

    # -- asking -------------------------------------------------------------------------------

    @abstractmethod
    def find(self, oid: int, version: int) -> int:
        """The pointer of an id at a version, `NO_POINTER` if it has none; -2 where it is not alive.

        Counts the pages that it reads, as all queries do.
        """

    @abstractmethod
    def find_many(self, ids: I64, versions: I32) -> I32:
        """What `find` says of each of many."""

    @abstractmethod
    def alive_at(self, version: int) -> tuple[I64, I32]:
        """All ids at a version, each once, in any order, and their pointers."""

    @abstractmethod
    def lifespans(self, oid: int) -> Lifespans:
        """All lifespans of an id. Those that begin and end at one version are left out."""

    @abstractmethod
    def was_alive(self, oid: int, since: int, until: int) -> bool:
        """Whether an id was alive at some version from `since` to `until`, both included."""

    def between(self, low: int, high: int, version: int) -> tuple[I64, I32]:
        """The ids from `low` to `high`, both included, at a version, in order, and their pointers.

        COST: all ids of the version, unless the method `is_ordered`.
        """
        ids, pointers = self.alive_at(version)
        inside = (ids >= low) & (ids <= high)
        order = ids[inside].argsort(kind="stable")
        return ids[inside][order], pointers[inside][order]

    @abstractmethod
    def everything(self) -> Lifespans:
        """All lifespans of all ids, by id and then by beginning, without empty ones."""

    @property
    def buckets(self) -> int:
        """How many buckets with histories of their own there are; 0 where there is no such thing.

        They are numbered from 0.
        """
        return 0

    def pages_of(self, bucket: int) -> BucketPages:
        """The pages of a bucket. REQUIRES: there is that bucket."""
        raise NotImplementedError(f"{self.name} has no buckets.")

    @abstractmethod
    def findings(self) -> Iterator[str]:
        """What is wrong with the arrays, in sentences. Looks at all of them."""


def are_alive(found: I32) -> Bools:
    """Which of the answers of `find_many` say that an id is alive."""
    return found > -2
