"""What a package must be able to do to hold sub-indexes, and how to describe your own to Wavedex.

A wave index needs no index structure of its own. A sub-index can live in anything that builds an
index from rows, answers for them, and throws it away (the papers' legacy systems). Here such a
thing is a `Format`. Ours are described the same way as a stranger's: `arrow` and `parquet` are
files of our own, `sqlite` and `postgresql` are packages that others wrote.

To bring a package of your own, write

- a `build`, which writes rows as a new part and makes it last, and
- a `wavedex.store.shard.Shard`, which opens the part and answers: `probe`, `probe_many`,
  `probe_range`, `scan`, and `_rule_findings`, for `verify`.

Put both into a `Format`, and hand that to `wavedex.store.formats.register` in every process that
opens the index. That is enough for `update="runs"` and `update="packed-shadow"`, under every
scheme. If parts can be added to, write an `Updatable` too. Then `update="in-place"` and
`update="simple-shadow"` go with it, under every scheme that deletes nothing; with deletion, under
all. A package that can take out single rows says so too (`removes`).

A manifest names a part by the files it has below the folder of the index, by their roles. Two roles
must be there: `rows` and `directory`. A version of a part is known by the name of its `directory`.
A part that is added to needs a new one each time. A part that never changes may give the same file
for both roles. What lives elsewhere leaves a small file below the folder to stand for it. `sweep`
clears away what no such file stands for any more. Names of files begin with the `stem` that is
handed in.

What a manifest names must last before the manifest is written. So `build`, `add` and `copy` return
only when it does. A write that fails half-way, or is never committed, must leave every part that
was there as it was for its readers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from wavedex.files.contract import AnyFiles
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.part import Part, Slots
from wavedex.store.room import Sizes
from wavedex.store.shard import Range, Shard

Build = Callable[[AnyFiles, EntrySpec, str, Pieces, Slots], Part]
"""Writes entries as a part, and lets go of them.

It is handed the stem of the names of the part, and the slots that the part then holds.

REQUIRES: at least one row. ENSURES: the part lasts.
"""

Open = Callable[[AnyFiles, EntrySpec, Part], Shard]
"""Opens a part for reading. Raises FileNotFoundError where it is gone."""

Sweep = Callable[[AnyFiles, Callable[[], Iterable[str]], float], list[str]]
"""Clears away what this index has made and no file stands for any more.

It is handed the files of the index, a function that lists the names of those there are, and how
many seconds to wait for readers that are leaving. It returns what it had to leave for later,
because a reader holds it.
"""


@dataclass(frozen=True)
class Site:
    """What is known where parts are changed."""

    files: AnyFiles
    """The files of the index."""
    spec: EntrySpec
    """The columns of its entries."""
    sizes: Sizes
    """The sizes of room in buckets that grow."""
    commit: int
    """The number of the commit that will publish the change."""
    oldest_kept: int
    """The number of the oldest manifest that is still kept or held by a reader."""


class Updatable(ABC):
    """Parts that can be added to, and perhaps deleted from.

    Readers of an earlier version must notice nothing.
    """

    @abstractmethod
    def build(self, stem: str, batch: pa.RecordBatch, held: Slots) -> Part:
        """A new part that can be added to. REQUIRES: at least one row."""

    @abstractmethod
    def add(self, part: Part, stem: str, batch: pa.RecordBatch, slots: Slots) -> Part:
        """The part with the rows of `batch` added, which are those of `slots`.

        REQUIRES: at least one row.
        """

    @abstractmethod
    def copy(self, part: Part, stem: str) -> Part:
        """The same rows in a part of their own."""

    def delete(self, part: Part, stem: str, dead: Range, slots: Slots) -> Part | None:
        """The part without the rows whose ordinals lie in `dead`; None if none is left.

        These are the rows of `slots`. Only asked where the format says that it deletes. Elsewhere
        what is left is written anew.
        """
        raise NotImplementedError

    def remove(self, part: Part, stem: str, doomed: pa.RecordBatch) -> Part | None:
        """The part without the rows of `doomed`, each taken out once; None if none is left.

        The part holds the slots it held. Rows are equal when all their columns are. Only asked
        where the format says that it removes.

        REQUIRES: at least one row, and all of them are there.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Format:
    """A package, or a kind of files of our own, as the rest of the library sees it."""

    build: Build
    """Writes rows as a new part."""
    check: Callable[[EntrySpec], None]
    """Raises BadDefinition where entries cannot be kept in this format."""
    stores: Mapping[str, Open] = field(default_factory=dict)
    """Opens parts by the kind that they name.

    The first kind is the one that `build` writes, the last the one that `updates` writes.
    """
    updates: Callable[[Site], Updatable] | None = None
    """Makes the changes at a site. Without it, parts are only ever written whole."""
    check_updates: Callable[[EntrySpec], None] = lambda spec: None
    """Raises BadDefinition where entries cannot be updated in place."""
    deletes: bool = False
    """Whether `updates` deletes slots."""
    removes: bool = False
    """Whether `updates` removes single rows."""
    needs_local_disk: bool = False
    """Whether the index must lie on a local disk."""
    sweep: Sweep | None = None
    """Clears away what lives elsewhere and no file stands for any more."""
    located: Callable[[str, str], Format] | None = None
    """Returns the format at an address, for a package that lives at an address of its own.

    It is handed what was given as `format=`, and the identity of the index.
    """
    settled: Callable[[str], str] = str
    """Returns what was given as `format=` as the index keeps it.

    It is only ever handed what the program has said itself.
    """
    check_free: Callable[[], None] = lambda: None
    """Raises SchemaTaken where something is there already, so that no new index can be kept."""
    check_trusted: Callable[[], None] = lambda: None
    """Raises ServerNotTrusted where only files of the index name the address.

    Whoever connects asks it first.
    """

    def is_packed(self, parts: Sequence[Part]) -> bool:
        """Whether parts of one shard of a sub-index are as `build` writes them.

        That is one part or none, of which every row counts.
        """
        store = next(iter(self.stores))
        return len(parts) <= 1 and all(part.store == store and part.is_whole for part in parts)

    def is_updatable(self, parts: Sequence[Part]) -> bool:
        """Whether parts of one shard of a sub-index can be added to, and are shared with nobody."""
        store = [*self.stores][-1]
        return len(parts) <= 1 and all(part.store == store and part.is_whole for part in parts)
