"""A change of an index as one value: what is to be done, with which rows, and what is noted of it.

Who asks for a change makes one. It goes as it is through the writer and the engine,
and each shard gets its share of it.
A new kind of write adds an operation, and no parameter anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wavedex.files.contract import FileRef
from wavedex.log.manifest import Notes
from wavedex.plan import Operation, State
from wavedex.store.part import Part

Places = Mapping[FileRef, pa.RecordBatch]
"""Rows by where they lie: the directory of a part."""


class Rows(Protocol):
    """Rows that arrive: in memory, or staged as parts, shard by shard."""

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows in memory, perhaps none."""

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """The slot of each of them."""

    @property
    def counts(self) -> Mapping[int, int]:
        """How many rows there are for each slot, in memory and staged."""

    @property
    def staged(self) -> tuple[tuple[Part, ...], ...]:
        """The parts of each shard, or nothing at all."""

    @property
    def mixed(self) -> bool:
        """Whether those parts have rows of other shards too."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change of an index."""

    name: str
    """What its commit is called: append, update, erase ..."""
    state: State | None
    """The planner's state once the change is done."""
    rows: Rows
    """The rows that arrive."""
    operations: tuple[Operation, ...] = ()
    """What is done now."""
    owed: tuple[Operation, ...] = ()
    """What is left to be prepared afterwards."""
    keys: pa.Array | None = None
    """The keys that `Erase` means."""
    hidden: Mapping[int, Places] = field(default_factory=dict)
    """The rows that `Hide` means, shard by shard."""
    notes: Notes = field(default_factory=Notes)
    """What only the manifest keeps."""


@dataclass(frozen=True)
class Attempt:
    """One attempt to carry out a change. Whatever it writes bears its name."""

    commit: int
    """The number that the commit will have."""
    token: str
    """An identity that no other attempt has."""
    oldest_kept: int
    """The oldest commit whose files readers may still hold, where files are changed in place."""
