"""How a window keeps its attributes: this module checks what somebody asks for, and makes it.

Each attribute has a storage, and may have an index and a ring. What goes with what is here and
nowhere else:

- A ring links rows, so it needs the storage `list` and an index on which it hangs.
- The index `group` goes with the storages `list` and `group`; the others with `list`, `aggr` and
  `hash`.
- Two windows may share an index: the second is given the domain of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.online.attributes import Attribute, ListAttribute, PiecedAttribute
from wavedex.online.contents import Contents
from wavedex.online.domain import Domain
from wavedex.online.indexes.catalogue import index_of
from wavedex.online.indexes.contract import SetIndex
from wavedex.online.indexes.split import Split, SplitIndex
from wavedex.online.rings.catalogue import ring_of
from wavedex.online.storages.catalogue import storage_of
from wavedex.online.values import Groups, Values, values_of

LIST, GROUP, COUNTS, NUMBERED = "list", "group", "counts", "numbered"
BUCKETS, STORAGE_BUCKETS = 100, 5
"""The buckets of an index and of a basic window by hashes (003, Section 7.1)."""


_BUCKETS_MOST = 1 << 24


@dataclass(frozen=True)
class Layout:
    """What is kept of each attribute."""

    storage: str | Mapping[str, str] = LIST
    """How basic windows keep attributes: list, aggr, hash or group, for all or by name."""
    index: Mapping[str, str | Split | Domain] = field(default_factory=dict)
    """The index of each attribute that has one, or the domain of another window, to share it."""
    ring: Mapping[str, str] = field(default_factory=dict)
    """The ring of each attribute that has one."""
    groups: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """The boundaries of the groups of attributes that are grouped."""
    buckets: int = BUCKETS
    """The buckets of indexes by hashes."""
    storage_buckets: int = STORAGE_BUCKETS
    """The buckets of each basic window that is stored by hashes."""
    eager: bool = True
    """Whether pointers are made as rows come, not when their basic window is complete."""

    def check(self, schema: pa.Schema) -> None:
        """Raise BadDefinition where something does not go with something else."""
        for option, given in (("storage", self.storage), ("groups", self.groups)):
            if not isinstance(given, Mapping | str):
                raise BadDefinition(f"{option}={given!r}: give what each column has, by its name.")
        by_name = {} if isinstance(self.storage, str) else self.storage
        for name, index in self.index.items():
            if not isinstance(index, str | Split | Domain):
                raise BadDefinition(
                    f"index= has {index!r} for {name!r}: give the name of an index, a Split, or "
                    "the index of another window."
                )
        for option, named in (
            ("storage", by_name),
            ("index", self.index),
            ("ring", self.ring),
            ("groups", self.groups),
        ):
            _check_names(option, named, schema)
        for option, buckets in (
            ("buckets", self.buckets),
            ("storage_buckets", self.storage_buckets),
        ):
            is_whole = isinstance(buckets, int) and not isinstance(buckets, bool)
            if not is_whole or not 1 <= buckets <= _BUCKETS_MOST:
                raise BadDefinition(
                    f"{option}={buckets!r}: give a whole number from 1 to {_BUCKETS_MOST:,}."
                )
        for name in schema.names:
            self._check(name)

    def storage_of(self, name: str) -> str:
        """The storage of an attribute."""
        return self.storage if isinstance(self.storage, str) else self.storage.get(name, LIST)

    def make(self, schema: pa.Schema, name: str, capacity: int, basics: int) -> Attribute | None:
        """The structures of an attribute; None where it is a plain column.

        The window has so many basic windows.
        """
        storage = self.storage_of(name)
        if storage == LIST and name not in self.index and name not in self.ring:
            return None
        domain = self._domain(schema, name, basics)
        if storage != LIST:
            made = storage_of(storage, domain.index, buckets=self.storage_buckets, eager=self.eager)
            return PiecedAttribute(name, domain, made)
        assert domain.index is not None
        kind = self.ring.get(name)
        ring = None if kind is None else ring_of(kind, domain.index, capacity)
        return ListAttribute(name, domain, ring, capacity, eager=self.eager)

    def _domain(self, schema: pa.Schema, name: str, basics: int) -> Domain:
        asked = self.index.get(name, COUNTS if name in self.ring else None)
        kind = schema.field(name).type
        if isinstance(asked, Domain):
            if asked.values.kind != kind:
                raise BadDefinition(
                    f"The index that {name!r} is to share has values of type {asked.values.kind}, "
                    f"and {name!r} is {kind}. Cast one of them."
                )
            return asked
        values: Values = values_of(kind)
        if name in self.groups:
            values = Groups(values, self.groups[name])
        return Domain(values, None if asked is None else self._index(asked, basics))

    def _index(self, asked: str | Split, basics: int) -> SetIndex:
        if not isinstance(asked, Split):
            return index_of(asked, buckets=self.buckets)
        made = [index_of(asked.kind, buckets=self.buckets) for _ in range(asked.parts)]
        return SplitIndex(made, basics)

    def _check(self, name: str) -> None:
        storage, index, ring = self.storage_of(name), self.index.get(name), self.ring.get(name)
        if isinstance(index, Split):
            index.check()
            if ring is not None:
                raise BadDefinition(
                    f"{name!r} has a ring and an index that is split, in which a value has several "
                    "nodes. Leave one of them out."
                )
        grouped = name in self.groups
        if grouped and isinstance(index, Domain):
            raise BadDefinition(
                f"{name!r} shares an index, which has its own values. Leave it out of groups=."
            )
        kind = _kind_of(index)
        if ring is not None and (storage != LIST or kind == GROUP):
            raise BadDefinition(
                f"A ring links rows, and there are none to link for {name!r}: it is stored as "
                f"{storage!r} with the index {kind!r}. Use the storage 'list' and another index."
            )
        if grouped and GROUP not in (storage, kind):
            raise BadDefinition(
                f"groups= has {name!r}, which is not grouped. Give it storage 'group' or index "
                "'group', or leave it out."
            )
        if not grouped and GROUP in (storage, kind) and not isinstance(index, Domain):
            raise BadDefinition(
                f"{name!r} is to be grouped: give the boundaries, such as "
                f"groups={{{name!r}: [0, 1_000, 10_000]}}."
            )
        if (storage == GROUP and kind not in (None, GROUP)) or (
            kind == GROUP and storage not in (LIST, GROUP)
        ):
            raise BadDefinition(
                f"{name!r} has the storage {storage!r} and the index {kind!r}, which do not go "
                "together: the index 'group' goes with the storages 'list' and 'group', and the "
                "storage 'group' with no other."
            )


def _kind_of(index: str | Split | Domain | None) -> str | None:
    if isinstance(index, Split):
        return index.kind
    if isinstance(index, Domain):
        return None if index.index is None else index.index.kind
    return index


def _check_names(option: str, named: Iterable[str], schema: pa.Schema) -> None:
    for name in named:
        if name not in schema.names:
            raise BadDefinition(
                f"{option}= has {name!r}, which is no column. There are {', '.join(schema.names)}."
            )


def fill(contents: Contents, layout: Layout) -> None:
    """Give a window that is empty the columns and structures of a layout."""
    basics = contents.circle.maxlen or 1
    for name in contents.schema.names:
        contents.add(name, layout.make(contents.schema, name, contents.capacity, basics))


def layout_of(
    storage: str | Mapping[str, str],
    index: Mapping[str, str | Split | Domain] | Iterable[str],
    ring: Mapping[str, str] | Iterable[str],
    groups: Mapping[str, Sequence[object]],
    buckets: int,
    storage_buckets: int,
    pointers: str,
) -> Layout:
    """The layout that somebody asks for. Names alone have our index and our ring.

    Raises BadDefinition. Whether it goes with a schema is not looked at (`Layout.check`).
    """
    if pointers not in ("eager", "lazy"):
        raise BadDefinition(f"pointers={pointers!r}: give 'eager' or 'lazy'.")
    return Layout(
        storage,
        _by_name("index", index, COUNTS),
        _by_name("ring", ring, NUMBERED),
        groups,
        buckets,
        storage_buckets,
        pointers == "eager",
    )


def _by_name(option: str, said: Any, default: str) -> dict[str, Any]:
    if isinstance(said, Mapping):
        return dict(said)
    if isinstance(said, str):
        raise BadDefinition(
            f"{option}={said!r}: give the names of columns, {option}=[{said!r}], or what each is "
            f"to have, {option}={{{said!r}: {default!r}}}."
        )
    if not isinstance(said, Iterable) or not all(isinstance(name, str) for name in said):
        raise BadDefinition(f"{option}={said!r}: give the names of columns, such as ['src'].")
    return dict.fromkeys(said, default)
