"""What can be done to sub-indexes: the operations of Section 2.2, as plain values.

A scheme answers with operations and performs none. An engine performs them, a cost model adds them
up, `wavedex plan` prints them. This module says what they are, how they are printed, how they are
stored as JSON, and what they do to a layout (`apply`). A layout maps the name of each sub-index to
the slots it holds, its time-set.

- `Merge` and `Amend` leave the layout as it is. Engines use them, no planner plans them.
- `Insert` and `Examine` are for the grids of variable lifetimes (`wavedex.plan.grids.grid`). There
  a sub-index holds slots in which rows expire.
- `Erase`, `Hide` and `Sift` take out single rows. Whoever has those rows carries them beside the
  operations; here they are only referred to.

Knows slot numbers and names only: never rows, files or the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from wavedex.plan.slot_set import Slots as Slots
from wavedex.plan.slot_set import slots_from_json, slots_to_json

Layout: TypeAlias = Mapping[str, Slots]


def _braces(slots: Slots) -> str:
    return "{" + ", ".join(map(str, sorted(slots))) + "}"


@dataclass(frozen=True, slots=True)
class Build:
    """Build `target` afresh, packed, over `slots`; what had its name is replaced (BuildIndex).

    >>> print(Build(frozenset({11, 2, 3}), "I1"))
    build({2, 3, 11}) -> I1
    """

    slots: Slots
    target: str

    def __str__(self) -> str:
        return f"build({_braces(self.slots)}) -> {self.target}"


@dataclass(frozen=True, slots=True)
class Add:
    """Add `slots` to `target`, which holds none of them yet (AddToIndex)."""

    slots: Slots
    target: str

    def __str__(self) -> str:
        return f"add({_braces(self.slots)}, {self.target})"


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete `slots` from `target`, which holds all of them (DeleteFromIndex)."""

    slots: Slots
    target: str

    def __str__(self) -> str:
        return f"delete({_braces(self.slots)}, {self.target})"


@dataclass(frozen=True, slots=True)
class Copy:
    """Make `target` a copy of `source`; what had its name is replaced."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"copy({self.source}, {self.target})"


@dataclass(frozen=True, slots=True)
class Rename:
    """Give `source` the name `target`; what had that name before is dropped."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"rename({self.source}, {self.target})"


@dataclass(frozen=True, slots=True)
class Drop:
    """Throw `target` away as a whole (DropIndex)."""

    target: str

    def __str__(self) -> str:
        return f"drop({self.target})"


@dataclass(frozen=True, slots=True)
class Merge:
    """Rewrite `target` as one packed file; it holds what it held."""

    target: str

    def __str__(self) -> str:
        return f"merge({self.target})"


@dataclass(frozen=True, slots=True)
class Amend:
    """Bring late rows for `slots`, all of which `target` holds already."""

    slots: Slots
    target: str

    def __str__(self) -> str:
        return f"amend({_braces(self.slots)}, {self.target})"


@dataclass(frozen=True, slots=True)
class Insert:
    """Put arriving rows into `target`, which then holds `slots` too.

    >>> print(Insert(births=frozenset({9}), slots=frozenset({11, 13}), target="I1"))
    insert({9}, I1)
    """

    births: Slots
    """The slots in which the rows were inserted."""
    slots: Slots
    """The slots in which they expire."""
    target: str

    def __str__(self) -> str:
        return f"insert({_braces(self.births)}, {self.target})"


@dataclass(frozen=True, slots=True)
class Examine:
    """Take the rows of `slots` out of `target` that are over by their own account."""

    slots: Slots
    """The slots to look at. `target` holds all of them."""
    target: str

    def __str__(self) -> str:
        return f"examine({_braces(self.slots)}, {self.target})"


@dataclass(frozen=True, slots=True)
class Erase:
    """Write `target` anew without the rows of the keys that come with the plan."""

    target: str

    def __str__(self) -> str:
        return f"erase(keys, {self.target})"


@dataclass(frozen=True, slots=True)
class Hide:
    """Hide those rows of `target` that come with the plan, until it is written anew."""

    target: str

    def __str__(self) -> str:
        return f"hide(rows, {self.target})"


@dataclass(frozen=True, slots=True)
class Sift:
    """Keep rows out of `target` that are not above all `floors`.

    This goes for rows that come in, and for rows that are written anew.

    >>> print(Sift((("position", 17),), "I1"))
    sift(position > 17, I1)
    """

    floors: tuple[tuple[str, int], ...]
    target: str

    def __str__(self) -> str:
        above = " and ".join(f"{column} > {floor}" for column, floor in self.floors)
        return f"sift({above}, {self.target})"


Operation: TypeAlias = (
    Build
    | Add
    | Delete
    | Copy
    | Rename
    | Drop
    | Merge
    | Amend
    | Insert
    | Examine
    | Erase
    | Hide
    | Sift
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The operations of one slot.

    An operation that names old slots reads them from the constituents: in the transition as they
    were before it, in the preparation as they are after the transition.
    """

    transition: tuple[Operation, ...] = ()
    """After these the slot can be queried."""
    preparation: tuple[Operation, ...] = ()
    """Work done ahead for later slots. No answer depends on it."""


_KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (Build, Add, Delete, Copy, Rename, Drop, Merge, Amend, Insert, Examine)
}
"""Operations that can be put off, and so are kept as JSON. Nothing is carried beside them."""
_SLOTS_FIELDS = frozenset({"slots", "births"})


def to_json(operation: Operation) -> dict[str, Any]:
    """Return the operation as plain JSON.

    >>> to_json(Add(frozenset({11}), "I4"))
    {'op': 'add', 'slots': [11], 'target': 'I4'}
    """
    data: dict[str, Any] = {"op": type(operation).__name__.lower()}
    for field in fields(operation):
        value = getattr(operation, field.name)
        data[field.name] = slots_to_json(value) if field.name in _SLOTS_FIELDS else value
    return data


def from_json(data: object) -> Operation:
    """Return the operation that `to_json` made `data` of; raise ValueError for anything else."""
    if not isinstance(data, dict):
        raise ValueError(f"an operation is a JSON object, not {data!r}")
    name = data.get("op")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"no operation is called {name!r}; there are {', '.join(_KINDS)}")
    expected = [field.name for field in fields(kind)]
    if set(data) != {"op", *expected}:
        raise ValueError(f"{name} has the fields {', '.join(expected)}, not those of {data!r}")
    arguments: dict[str, object] = {}
    for field_name in expected:
        value = data[field_name]
        if field_name in _SLOTS_FIELDS:
            arguments[field_name] = slots_from_json(value)
        elif isinstance(value, str) and value:
            arguments[field_name] = value
        else:
            raise ValueError(f"{field_name} is the name of a sub-index, not {value!r}")
    operation: Operation = kind(**arguments)
    return operation


def apply(layout: Layout, operations: Iterable[Operation]) -> dict[str, Slots]:
    """Return the layout that `operations`, carried out in order, make of `layout`.

    Raises AssertionError where an operation makes no sense: a name that is not there, a slot added
    that is held, a slot deleted, amended or examined that is not. Only a mistake in a planner or in
    a hand-made plan can cause that.

    >>> apply({"I1": frozenset({1, 2})}, [Delete(frozenset({1}), "I1"), Add(frozenset({3}), "I1")])
    {'I1': frozenset({2, 3})}
    """
    result = dict(layout)
    for operation in operations:
        _apply_one(result, operation)
    return result


def without(operations: Iterable[Operation], slots: Slots) -> tuple[Operation, ...]:
    """Return the operations as they are for somebody who does not hold some slots.

    An operation that names no other slots is left out, but a build of nothing stays. Operations of
    grids are for those who hold all slots, and stay as they are.

    >>> without([Build(frozenset({1, 3}), "I1"), Delete(frozenset({1}), "I2")], frozenset({1}))
    (Build(slots=frozenset({3}), target='I1'),)
    """
    left: list[Operation] = []
    for operation in operations:
        if isinstance(operation, Build | Add | Delete | Amend) and slots & operation.slots:
            operation = replace(operation, slots=operation.slots - slots)
            if not operation.slots and not isinstance(operation, Build):
                continue
        left.append(operation)
    return tuple(left)


def _apply_one(layout: dict[str, Slots], operation: Operation) -> None:
    used = getattr(operation, "source", operation.target)
    if used not in layout and not isinstance(operation, Build):
        raise AssertionError(f"{operation}: there is no {used} in {sorted(layout)}")
    match operation:
        case Build(slots, target):
            layout[target] = slots
        case Add(slots, target):
            if not slots.isdisjoint(layout[target]):
                raise AssertionError(f"{operation}: {target} holds some of them already")
            layout[target] |= slots
        case Delete(slots, target):
            if not slots <= layout[target]:
                raise AssertionError(f"{operation}: {target} does not hold all of them")
            layout[target] -= slots
        case Copy(source, target):
            layout[target] = layout[source]
        case Rename(source, target):
            layout[target] = layout.pop(source)
        case Drop(target):
            del layout[target]
        case Insert(_, slots, target):
            layout[target] |= slots
        case Amend(slots, target) | Examine(slots, target):
            if not slots <= layout[target]:
                raise AssertionError(f"{operation}: {target} does not hold all of them")
        case Merge() | Erase() | Hide() | Sift():
            pass
