"""What is said of a kind of index: its class, its options, and how they are checked.

There are no lists of options and of their types: the options of a kind are the keywords of its
`create`. What a kind says here is only what `create` cannot say of itself:

- what stands in for columns that nobody knows yet
- which options depend on which others
- how an option is compared with an index that is there
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar, get_type_hints

import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.files.address import files_at
from wavedex.index.core.answers import read_bound
from wavedex.index.core.definition import Definition
from wavedex.index.core.delivery import Delivery
from wavedex.index.core.turns import Turn
from wavedex.index.held import Held
from wavedex.slots import Slotting, duration_ns

Found = tuple[str, str]
"""An option and what is wrong with it."""


@dataclass(frozen=True)
class Lateness:
    """What a stream is told of rows that come late."""

    delay: Any = None
    """How far the watermark lags behind the latest time."""
    set_aside: Callable[[pa.Table], object] | None = None
    """Gets the rows that come later than that."""


class Kind(ABC):
    """One kind of index."""

    index: ClassVar[type[Held[Any]]]
    """What users hold."""
    has_watermark: ClassVar[bool]
    """Whether rows of a stream can come too late."""
    can_apply: ClassVar[bool]
    """Whether rows may go and get other ends by commits of their own."""
    can_shorten: ClassVar[bool]
    """Whether it can be read as if its windows were shorter."""
    checked_first: ClassVar[tuple[str, ...]]
    """The options that are checked before all others, each after those on which it depends."""

    @property
    def name(self) -> str:
        """What `index.json` and people call it."""
        return self.definition.kind

    @property
    def definition(self) -> type[Definition]:
        """What `index.json` is read as."""
        return self.index.definition_kind

    @property
    def create(self) -> Callable[..., Any]:
        """What creates one."""
        return self.index.create

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The options and their types."""
        hints = get_type_hints(self.create)
        others = ("path", "schema", "rows", "surroundings", "return")
        return {name: hint for name, hint in hints.items() if name not in others}

    @abstractmethod
    def missing(self, options: Mapping[str, Any]) -> Iterator[Found]:
        """What a new index needs and was not told: the option, and how to call it."""

    @abstractmethod
    def stand_ins(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options, with stand-ins for what is missing or wrong, to check the rest with."""

    @abstractmethod
    def beside(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """What stands in for options that one cannot be without, until it is their own turn."""

    @abstractmethod
    def schema(self, options: Mapping[str, Any]) -> pa.Schema:
        """The columns that the options name, of types that go with them.

        REQUIRES: stand-ins are there.
        """

    @property
    def migrations(self) -> list[str]:
        """What a migration can change."""
        named = signature(self.index.migrate).parameters
        return [name for name in named if name not in ("self", "strategy", "wait")]

    @abstractmethod
    def counted(self, about: Mapping[str, Any]) -> tuple[dict[str, int], str]:
        """How many rows a described index has, as numbers and in words."""

    # -- how rows get in, whoever delivers them ---------------------------------------------------

    @abstractmethod
    def append(self, index: Any, rows: Delivery, slot: Any = None, **manner: Any) -> Any:
        """Take rows that say themselves what the time is, or that are of one slot.

        `manner` is `wait` and `prepare`, here and below, as all writes take them. Raises BadTime
        where there are no slots.
        """

    @abstractmethod
    def amend(self, index: Any, rows: Delivery, slot: Any = None, **manner: Any) -> Any:
        """Take rows that come late. Raises BadDefinition where none can."""

    @abstractmethod
    def update(
        self,
        index: Any,
        rows: Delivery,
        now: Any,
        arrived: Mapping[str, int] | None = None,
        **manner: Any,
    ) -> Any:
        """Refresh an index at an instant. Raises NotAnIndex where there are no refreshes."""

    @abstractmethod
    def apply(self, index: Any, now: Any, **given: Any) -> Any:
        """Insert, retract and prolong in one commit. Raises NotAnIndex as `update` does."""

    @abstractmethod
    def refresh(self, index: Any, rows: Delivery, now: int | None) -> Any:
        """Take rows with an instant, if one was given. The rows say how far streams have come.

        What is owed is done before this returns: it is for processes that end right after it.
        """

    @abstractmethod
    def feed(self, index: Any, rows: Delivery, turn: Turn, late: Lateness, **manner: Any) -> Any:
        """Take one batch of a stream."""

    @abstractmethod
    def check_stream(self, delay: Any, dead_letters: Any) -> None:
        """Raise NoWatermark where a stream is told too little.

        Raise BadDefinition where it is told what this kind does not know.
        """

    def check_applied(self, by: str | None) -> None:
        """Raise BadDefinition where rows say what is to be done with them, and it cannot be."""
        if by is not None and not self.can_apply:
            raise BadDefinition(
                f"apply_by is for lifetime indexes: rows of a {self.name} index leave by "
                "themselves. Leave it out."
            )

    @abstractmethod
    def read_instant(self, index: Any, now: str | None) -> int | None:
        """The instant that a text means, if there is one.

        Raises BadTime, and BadDefinition where there are no instants.
        """

    # -- how it is told what it is ----------------------------------------------------------------

    def mismatch(self, definition: Any) -> str | None:
        """Why a pipeline cannot write to an index of this kind that is there, if so."""
        return None

    def compare(self, definition: Any, name: str, given: Any) -> tuple[bool, Any]:
        """Whether an option is that of an index, and what that is.

        Raises BadDefinition or BadTime where it cannot be.
        """
        if name == "key":
            held = definition.key
            names = (given,) if isinstance(given, str) else tuple(given)
            return names == definition.key_names, held if isinstance(held, str) else list(held)
        if name == "keep_for":
            return duration_ns(given) / 1e9 == definition.keep_s, f"{definition.keep_s:g} seconds"
        if name == "keep_followed":
            bound = definition.keep_followed
            return read_bound(given, definition.keep_commits) == bound, str(bound)
        if name == "roots":
            roots = tuple(str(files_at(root).root) for root in given)
            return roots == definition.roots, list(definition.roots)
        if name == "include":
            kept = definition.schema.names
            needed = self.needed(definition)
            return {*given, *needed} == {*kept, *needed}, kept
        held = getattr(definition, self.attribute(name))
        return given == held, held

    @abstractmethod
    def needed(self, definition: Any) -> set[str]:
        """The columns that are kept whether they are included or not."""

    @abstractmethod
    def attribute(self, name: str) -> str:
        """What a definition calls an option."""


def key_columns(options: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """The columns of the key, and those that are included, which may be of any type."""
    keys = [options["key"]] if isinstance(options["key"], str) else options["key"]
    return dict.fromkeys([*keys, *(options.get("include") or ())], pa.string())


def is_number(width: Any) -> bool:
    """Whether the width of slots is a whole number."""
    return isinstance(width, int) or (width is not None and width.strip().isdecimal())


def width_of(slots: Slotting) -> str | int:
    """The width of slots, as an option takes it."""
    unit = getattr(slots, "unit", None)
    return slots.every if unit is None else f"{slots.every} {unit}{'s' * (slots.every > 1)}"


def time_type(definition: Definition) -> pa.DataType | None:
    """The type of the column of times, if there is one."""
    return None if definition.time is None else definition.schema.field(definition.time).type
