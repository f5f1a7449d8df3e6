"""Rows that somebody delivers: in memory, in a data frame of Spark, or staged by tasks elsewhere.

A kind of index asks the same few things of every delivery, so that it need not know where the rows
are:

- to check them
- to say how far they reach
- to bring them while the writer's lock is held

Data frames of other libraries are taken by whoever registers for them. Nothing here knows Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from wavedex import slots
from wavedex.index.core.arrival import Arriving, Bring, fit, nothing, settle
from wavedex.index.core.definition import Definition
from wavedex.index.core.instructions import sort_out
from wavedex.log.manifest import Manifest
from wavedex.rows.tables import plain_schema, to_table


class Holder(Protocol):
    """An index, as far as a delivery must know one."""

    @property
    def created(self) -> Definition:
        """What it was created as."""

    def definition_at(self, manifest: Manifest) -> Definition:
        """What it was when a commit was made."""


H = TypeVar("H", bound=Holder)


class Instructed(NamedTuple):
    """Rows by what is to be done with them. Only those that come may be many."""

    insert: Delivery
    retract: pa.Table
    prolong: pa.Table


class Delivery(ABC):
    """Rows for an index."""

    marks: Mapping[str, str] = {}
    """How far the sources have come that they are from, by name. Noted in the same commit."""

    def working(self, index: H) -> H:
        """The same index, with its plans carried out by whoever should do so for such rows."""
        return index

    @abstractmethod
    def ready(self, index: Holder, at: Any) -> Bring:
        """Bring rows when it is known what was said of their time.

        What can be done before the lock is taken is done now. Raises SchemaMismatch, MissingColumn,
        NullKeys, NullTimes, BadTime and its kin.
        """

    @abstractmethod
    def waiting(self, index: Holder, at: Callable[[Manifest], Any]) -> Bring:
        """Bring rows when only the newest manifest tells what to say of their time.

        Raises as `ready` does.
        """

    @abstractmethod
    def largest(self, index: Holder, names: Sequence[str]) -> list[int] | None:
        """The largest ordinal in each of some columns, None where no row has a key.

        Only rows with a key count. REQUIRES: called within `held`.
        """

    @contextmanager
    def held(self, index: Holder) -> Iterator[None]:
        """Make sure that what is looked at is what is then brought."""
        yield

    @abstractmethod
    def sorted_out(self, index: Holder, by: str) -> AbstractContextManager[Instructed]:
        """The same rows by what a column says is to be done with each.

        Raises MissingColumn and SchemaMismatch as `sort_out` does.
        """


class Offer(Delivery):
    """Rows that somebody has in hand, before there is an index for them."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Their columns. Raises SchemaMismatch where they are no rows."""

    @abstractmethod
    def check(self, created: Definition) -> None:
        """See whether they fit an index that is to be. Raises as `ready` does, but for times."""


class InMemory(Offer):
    """Rows in memory: any table, frame or reader that Arrow can read."""

    def __init__(self, data: Any, marks: Mapping[str, str] | None = None) -> None:
        self.marks = marks or {}
        self._data = data
        self._table: tuple[pa.Table, int] | None = None

    @property
    def schema(self) -> pa.Schema:
        if not isinstance(self._data, pa.RecordBatchReader):
            self._data = to_table(self._data)
        return plain_schema(self._data.schema)

    def check(self, created: Definition) -> None:
        self._fitted(created)

    def ready(self, index: Holder, at: Any) -> Bring:
        arriving = settle(*self._fitted(index.created), index.created, at)
        return lambda manifest: nullcontext(arriving)

    def waiting(self, index: Holder, at: Callable[[Manifest], Any]) -> Bring:
        def bring(manifest: Manifest) -> AbstractContextManager[Arriving]:
            definition = index.definition_at(manifest)
            if self._data is None:
                return nullcontext(nothing(definition))
            return nullcontext(settle(*self._fitted(definition), definition, at(manifest)))

        return bring

    def largest(self, index: Holder, names: Sequence[str]) -> list[int] | None:
        if self._data is None:
            return None
        return largest_in(self._fitted(index.created)[0], index.created, names)

    @contextmanager
    def sorted_out(self, index: Holder, by: str) -> Iterator[Instructed]:
        insert, retract, prolong = sort_out(to_table(self._data), by)
        yield Instructed(InMemory(insert), retract, prolong)

    def _fitted(self, definition: Definition) -> tuple[pa.Table, int]:
        """The rows with the columns of the schema; a reader can be read only once."""
        if self._table is None:
            self._table = fit(self._data, definition)
        return self._table


def largest_in(table: pa.Table, definition: Definition, names: Sequence[str]) -> list[int] | None:
    """The largest ordinal in each of some columns of rows that fit, None without rows.

    Raises NullTimes where one is null.
    """
    if not table.num_rows:
        return None
    definition.complete(table, definition.unguessed)
    return [int(slots.ordinals(table.column(name)).max()) for name in names]


_TAKERS: dict[tuple[str, str], Callable[[Any], Offer]] = {}


def register(module: str, name: str, take: Callable[[Any], Offer]) -> None:
    """Let `take` make offers of objects of a class of that name.

    The class is from a module, or from one below it.
    """
    _TAKERS[module, name] = take


def delivery_of(data: Any) -> Delivery:
    """What a user handed in, as a delivery."""
    return data if isinstance(data, Delivery) else offer_of(data)


def offer_of(data: Any) -> Offer:
    """What a user has in hand."""
    kind = type(data)
    for (module, name), take in _TAKERS.items():
        if kind.__name__ == name and f"{kind.__module__}.".startswith(f"{module}."):
            return take(data)
    return InMemory(data)
