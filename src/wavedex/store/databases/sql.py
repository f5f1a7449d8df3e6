"""A part in a package that speaks SQL: a table of the entries, with an index on key and time.

The entries are in simple types. Each row has a number, from 0 in the order in which rows were
added, and a part shows the rows below its count. So what a writer adds comes into sight only with
the part that counts it. A reader of an earlier part never asks for it. What was left behind by a
write that was never committed is seen by nobody, until the next write removes it.

Rows are read a piece at a time by their numbers, so that no query is open for longer than one piece
takes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.codes import with_codes
from wavedex.rows.content import content_of, hash_rows
from wavedex.rows.entries import EntrySpec
from wavedex.rows.hashes import U64
from wavedex.rows.keys import Plain
from wavedex.rows.pieces import concat
from wavedex.store.databases.simple_types import (
    check_simple,
    key_columns,
    restored_batch,
    simple_batch,
)
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Range, Shard

ROW = "__row"
"""The column with the numbers of the rows."""
PIECE_ROWS = 1 << 16
"""How many rows are read by one query."""


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def aliases(names: Sequence[str], count: int) -> list[str]:
    """Names for values in a query, which no column has, however its letters are read."""
    stem = "wanted_"
    while any(name.lower().startswith(stem) for name in names):
        stem += "_"
    return [f"{stem}{place}" for place in range(count)]


def check_columns(spec: EntrySpec, package: str, fold: bool) -> None:
    """Raise BadDefinition where a column has a type or a name that a table cannot have.

    `fold` says that names which differ only in case are the same.
    """
    check_simple(spec, package)
    seen = {ROW}
    for name in spec.schema.names:
        known = name.lower() if fold else name
        if known in seen or "\0" in name:
            raise BadDefinition(
                f"{package} cannot have a column {name!r} beside the others: its name is taken, "
                "if only in other letters. Rename it, or leave it out with include=."
            )
        seen.add(known)


def numbered(spec: EntrySpec, batch: pa.RecordBatch, first: int) -> tuple[pa.RecordBatch, int]:
    """Rows as they are stored, numbers in front, and the hash of what will come back of them."""
    stored = simple_batch(spec, batch)
    content = content_of(hash_rows(restored_batch(spec.schema, stored.columns)))
    numbers = to_arrow(np.arange(first, first + batch.num_rows, dtype=np.int64))
    columns = [numbers, *stored.columns]
    return pa.RecordBatch.from_arrays(columns, names=[ROW, *stored.schema.names]), content


def write_version(files: AnyFiles, stem: str, rows: int, content: int) -> FileRef:
    """Write the small file whose name tells a version of a part that grows. ENSURES: it lasts."""
    text = f'{{"rows":{rows},"content":"{content:016x}"}}\n'
    ref = files.create(f"{stem}.part", lambda sink: sink.write(text.encode()))
    files.sync(ref.name)
    return ref


class SqlShard(Shard):
    """A part in a table that is read."""

    @abstractmethod
    def _ask(
        self, names: Sequence[str], tests: Sequence[str], values: Sequence[pa.Array] = ()
    ) -> list[pa.Array]:
        """Some columns, as they are stored, of the rows that pass all tests.

        The tests have marks (`_mark`) in the places of `values`, each a column of one row. Without
        values the rows come in the order of their numbers.
        """

    @abstractmethod
    def _ask_keys(self, keys: Sequence[pa.Array], tests: Sequence[str]) -> list[pa.Array]:
        """All columns of the rows that have one of some keys and pass all tests.

        `keys` are the columns of these keys.
        """

    @property
    @abstractmethod
    def _table(self) -> str:
        """The table, as SQL names it."""

    def _select(self, names: Sequence[str], tests: Sequence[str], by_number: bool) -> str:
        """The query for some columns of the rows that pass all tests."""
        text = (
            f"select {', '.join(map(quoted, names))} from {self._table} where {' and '.join(tests)}"
        )
        return f"{text} order by {quoted(ROW)}" if by_number else text

    @abstractmethod
    def _mark(self, place: int) -> str:
        """What stands for a value in a query, counted from 0."""

    def probe(self, plain: Plain, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        values = key_columns(self.spec, self.spec.key_type.of_plain(plain))
        tests = [f"{name} = {self._mark(place)}" for place, name in enumerate(self._keys)]
        found = self._rows([*tests, *self._shown(within)], values)
        return found if found.num_rows else None

    def probe_many(self, keys: pa.Array, hashes: U64, within: Range | None) -> pa.RecordBatch:
        if not len(keys):
            return empty_batch(self.spec.schema)
        found = self._ask_keys(key_columns(self.spec, keys), self._shown(within))
        return restored_batch(self.spec.schema, found)

    def probe_range(self, low: Plain, high: Plain, within: Range | None) -> pa.RecordBatch:
        values = [
            column
            for plain in (low, high)
            for column in key_columns(self.spec, self.spec.key_type.of_plain(plain))
        ]
        count = len(self._keys)
        least = ", ".join(map(self._mark, range(count)))
        most = ", ".join(map(self._mark, range(count, 2 * count)))
        key = ", ".join(self._keys)
        tests = [f"({key}) >= ({least})", f"({key}) <= ({most})"]
        return self._rows([*tests, *self._shown(within)], values)

    def scan(self, within: Range | None) -> pa.RecordBatch:
        pieces = [*self.stream(within, self.spec.schema.names)]
        return concat(pieces) if pieces else empty_batch(self.spec.schema)

    def stream(
        self, within: Range | None, names: list[str], words: Mapping[str, pa.Array] | None = None
    ) -> Iterator[pa.RecordBatch]:
        # Without a column there would be no rows to count.
        needed = names or [self.spec.order]
        fields = [self.spec.schema.field(name) for name in needed]
        whole = needed == self.spec.schema.names
        schema = self.spec.schema if whole else pa.schema(fields)
        for first in range(0, self.part.rows, PIECE_ROWS):
            last = min(first + PIECE_ROWS, self.part.rows)
            tests = [f"{quoted(ROW)} >= {first}", f"{quoted(ROW)} < {last}", *self._inside(within)]
            batch = restored_batch(schema, self._ask(needed, tests)).select(names)
            yield with_codes(batch, words or {})

    def _rows(self, tests: Sequence[str], values: Sequence[pa.Array]) -> pa.RecordBatch:
        return restored_batch(self.spec.schema, self._ask(self.spec.schema.names, tests, values))

    @property
    def _keys(self) -> list[str]:
        return [*map(quoted, self.spec.key_names)]

    def _shown(self, within: Range | None) -> list[str]:
        """The rows that count.

        The sign keeps a planner from going by the numbers rather than by the key.
        """
        return [f"+{quoted(ROW)} < {self.part.rows}", *self._inside(within)]

    def _inside(self, within: Range | None) -> list[str]:
        if within is None:
            return []
        name = quoted(self.spec.order)
        shift = 2**63 if pt.is_uint64(self.spec.schema.field(self.spec.order).type) else 0
        return [f"{name} >= {within[0] - shift}", f"{name} < {within[1] - shift}"]


def grown(part: Part, held: Slots, rows: int, content: int, version: FileRef) -> Part:
    """The part once rows were added to it."""
    files = {**part.files, "directory": version}
    return Part(part.store, files, held, held, rows, content)
