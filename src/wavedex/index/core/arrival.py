"""What arrives: any table, checked against the schema and made one Arrow batch with its slots.

Nothing is guessed. A column may have another width or unit than the schema, as long as no value
changes. Anything else is refused by name before the index is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from wavedex import slots as slotting
from wavedex.errors import BadTime, MissingColumn, NullKeys, NullTimes, SchemaMismatch
from wavedex.index.core.definition import VIEWS_KEPT_AS, Definition
from wavedex.log.manifest import Manifest
from wavedex.plan.slot_set import slots_of
from wavedex.rows import compute as pc
from wavedex.rows.arrow import empty_batch, to_arrow, to_numpy
from wavedex.rows.content import add_column, add_content, content_of, hash_rows
from wavedex.rows.entries import one_batch
from wavedex.rows.hashes import U64
from wavedex.rows.pieces import concat
from wavedex.rows.tables import PANDAS_INDEX, to_table
from wavedex.store.part import Part

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """What arrived for one slot."""

    rows: int
    """How many rows."""
    content: int
    """Their order-free hash."""
    latest: int
    """The last of their times."""

    @property
    def identity(self) -> str:
        """The same rows in any order have the same identity, and others another."""
        return f"{self.rows}:{self.content:016x}"

    def __add__(self, other: Found) -> Found:
        return Found(
            self.rows + other.rows,
            add_content(self.content, other.content),
            max(self.latest, other.latest),
        )


NO_ROWS = Found(0, 0, -(2**63))


class Sent(NamedTuple):
    """Rows as somebody sent them, whatever the index makes of them."""

    rows: int
    """How many rows had a key."""
    content: int
    """Their order-free hash, of the columns of the schema alone."""

    @property
    def identity(self) -> str:
        """The same rows in any order have the same identity, and others another."""
        return f"{self.rows}:{self.content:016x}"

    @classmethod
    def of(cls, identity: str) -> Sent:
        """What has an identity."""
        rows, content = identity.split(":")
        return cls(int(rows), int(content, 16))

    def __or__(self, other: Sent) -> Sent:
        """These rows and others."""
        return Sent(self.rows + other.rows, add_content(self.content, other.content))


NOTHING_SENT = Sent(0, 0)


@dataclass(frozen=True)
class Arriving:
    """Rows that arrived."""

    summary: Mapping[int, Found]
    """What was found for each slot."""
    null_keys: int
    """How many rows had no key and were skipped."""
    batch: pa.RecordBatch
    """The rows that are in memory."""
    slots: I64
    """The slot of each row in memory."""
    staged: tuple[tuple[Part, ...], ...] = ()
    """The rows that were written as parts already, shard by shard."""
    mixed: bool = False
    """Whether the staged parts of a shard have rows of other shards too."""
    over: int = 0
    """How many rows were over when they came. They are not among the others."""
    sent: Sent = NOTHING_SENT
    """All rows that were sent, those that are over among them."""

    @property
    def identity(self) -> str:
        """What the whole batch is known by: its first and last slot, and its rows in any order."""
        if not self.summary:
            return ""
        whole = sum(self.summary.values(), NO_ROWS)
        return f"{min(self.summary)}:{max(self.summary)}:{whole.identity}"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(found.rows for found in self.summary.values())

    @property
    def counts(self) -> dict[int, int]:
        """How many rows there are for each slot."""
        return {slot: found.rows for slot, found in self.summary.items()}

    def __add__(self, other: Arriving) -> Arriving:
        """These rows and others. REQUIRES: none of the others are staged."""
        assert not other.staged
        if not other.summary:
            return self
        both = {
            slot: self.summary.get(slot, NO_ROWS) + other.summary.get(slot, NO_ROWS)
            for slot in {*self.summary, *other.summary}
        }
        return replace(
            self,
            summary=both,
            batch=concat([self.batch, other.batch]),
            slots=np.concatenate([self.slots, other.slots]),
        )

    def only(self, slots: Iterable[int]) -> Arriving:
        """The rows of some slots."""
        kept = {slot: self.summary[slot] for slot in slots_of(self.summary) & slots_of(slots)}
        if len(kept) == len(self.summary):
            return self
        wanted = np.isin(self.slots, np.fromiter(kept, np.int64))
        shown = ((part.show(kept) for part in parts) for parts in self.staged)
        return replace(
            self,
            summary=kept,
            batch=self.batch.filter(to_arrow(wanted)),
            slots=self.slots[wanted],
            staged=tuple(tuple(part for part in parts if part.shown) for parts in shown),
        )

    def where(self, kept: npt.NDArray[np.bool_], times: I64) -> Arriving:
        """Some of the rows in memory. REQUIRES: none are staged.

        Their times are given as `summarise` takes them.
        """
        assert not self.staged
        if kept.all():
            return self
        batch, slots = self.batch.filter(to_arrow(kept)), self.slots[kept]
        summary = summarise(hash_rows(batch), slots, times[kept])
        return replace(self, summary=summary, batch=batch, slots=slots)


def summarise(hashes: U64, slots: I64, times: I64) -> dict[int, Found]:
    """What there is for each slot, by the hash, the slot and the time of each row."""
    distinct, place = slotting.distinct(slots)
    counts = np.bincount(place, minlength=len(distinct))
    sums = np.zeros(len(distinct), np.uint64)
    np.add.at(sums, place, hashes)
    latest = np.full(len(distinct), NO_ROWS.latest, np.int64)
    np.maximum.at(latest, place, times)
    columns = (counts.tolist(), sums.tolist(), latest.tolist())
    return dict(zip(distinct.tolist(), map(Found, *columns), strict=True))


def arrive(data: Any, definition: Definition, at: Any) -> Arriving:
    """Check what a user handed in.

    `at` is what was said of its time, as the kind of index takes it. Raises SchemaMismatch,
    MissingColumn, NullKeys, NullTimes, BadTime and its kin.
    """
    return settle(*fit(data, definition), definition, at)


def fit(data: Any, definition: Definition) -> tuple[pa.Table, int]:
    """What a user handed in with the columns of the schema, and how many rows had no key.

    Rows without a key are left out. Raises SchemaMismatch, MissingColumn, NullKeys and NullTimes.
    """
    return _without_null_keys(_fit(to_table(data), definition), definition)


def settle(table: pa.Table, null_keys: int, definition: Definition, at: Any) -> Arriving:
    """Find the slots of rows that fit. Raises BadTime and its kin.

    `at` is what was said of their time.
    """
    spec = definition.spec
    batch = one_batch(definition.complete(table, at).cast(spec.schema))
    sent_columns = len(definition.schema)
    hashes = hash_rows(batch.select(range(sent_columns)))
    sent = Sent(batch.num_rows, content_of(hashes))
    for column in batch.columns[sent_columns:]:
        hashes = add_column(hashes, column)
    lives = definition.lives(batch, at)
    if not lives.all():
        batch, hashes = batch.filter(to_arrow(lives)), hashes[lives]
    ordinals = slotting.ordinals(batch.column(spec.order_place))
    found = definition.slotting.slots_of(ordinals)
    definition.check_slots(found, at)
    times = ordinals if spec.birth is None else spec.births(batch)
    over = sent.rows - batch.num_rows
    summary = summarise(hashes, found, times)
    return Arriving(summary, null_keys, batch, found, over=over, sent=sent)


def nothing(definition: Definition) -> Arriving:
    """No rows at all."""
    return Arriving({}, 0, empty_batch(definition.spec.schema), np.zeros(0, np.int64))


def _fit(table: pa.Table, definition: Definition) -> pa.Table:
    """The columns of the schema, in its order and types."""
    names = [name for name in table.column_names if not PANDAS_INDEX.fullmatch(name)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SchemaMismatch(f"The batch has the column {min(twice)!r} twice. Rename one of them.")
    made = {definition.position} - {None}
    missing = [field.name for field in definition.schema if field.name not in {*names, *made}]
    if missing:
        raise MissingColumn(
            f"The batch lacks {', '.join(map(repr, missing))}. It has "
            f"{', '.join(names) or 'no columns'}."
        )
    known = {*definition.offered.names, *definition.schema.names}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SchemaMismatch(
            f"The index has no column {', '.join(map(repr, unknown))}. Drop it from the batch, or "
            "create an index whose schema has it."
        )
    table = _exploded(table, definition)
    columns = [
        cast_column(table.column(field.name), field, definition.zone) for field in definition.schema
    ]
    return pa.table(columns, schema=definition.schema)


def _exploded(table: pa.Table, definition: Definition) -> pa.Table:
    """One row for each key where a record has a list of them, and no row where it has none.

    Raises SchemaMismatch where there are several lists.
    """
    lists = [
        name
        for name in definition.key_names
        if is_list(table.column(name).type) and not is_list(definition.schema.field(name).type)
    ]
    if len(lists) > 1:
        raise SchemaMismatch(
            f"The columns {' and '.join(map(repr, lists))} are lists, and only one column of a "
            "key may be. Make rows of the others before you append."
        )
    if lists and definition.position in table.column_names:
        raise SchemaMismatch(
            f"The batch has both lists of keys and the column {definition.position!r}, which is "
            "made of them. Drop it."
        )
    if lists:
        columns = [_without_views(column) for column in table.columns]
        table = pa.table(columns, names=table.column_names)
    for name in lists:
        # Below a list that is null, one of these functions counts values and the other does not.
        table = table.filter(pc.is_valid(table.column(name)))
        keys = table.column(name).combine_chunks()
        parents = pc.list_parent_indices(keys)
        place = table.column_names.index(name)
        table = table.take(parents).set_column(place, name, pc.list_flatten(keys))
        if definition.position is not None:
            lengths = to_numpy(pc.list_value_length(keys)).astype(np.int64)
            firsts = np.cumsum(lengths) - lengths
            positions = np.arange(len(parents)) - firsts[to_numpy(parents)]
            table = table.append_column(definition.position, to_arrow(positions.astype(np.int32)))
    if definition.position is not None and definition.position not in table.column_names:
        positions = to_arrow(np.zeros(table.num_rows, np.int32))
        table = table.append_column(definition.position, positions)
    return table


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of views, or of lists of them, as the plain type: Arrow cannot take from views."""
    if not is_list(column.type):
        return column.cast(VIEWS_KEPT_AS.get(column.type, column.type))
    values = column.type.value_type
    if values not in VIEWS_KEPT_AS:
        return column
    kind = pa.large_list if pt.is_large_list(column.type) else pa.list_
    return column.cast(kind(VIEWS_KEPT_AS[values]))


def cast_column(column: pa.ChunkedArray, field: pa.Field, zone: str) -> pa.ChunkedArray:
    """A column in the type of the schema, if no value changes by it.

    Times without a zone are local to `zone`. Raises SchemaMismatch, and BadTime where the zone does
    not say which instants are meant.
    """
    if pt.is_dictionary(column.type) and (
        column.type != field.type or any(chunk.dictionary.null_count for chunk in column.chunks)
    ):
        column = _decoded(column)
    if is_local(column.type) and is_instant(field.type):
        column = to_instants(column, field.name, zone)
    if column.type != field.type:
        narrows = pt.is_floating(column.type) and column.type.bit_width > field.type.bit_width
        if not pt.is_null(column.type) and (narrows or family(column.type) != family(field.type)):
            raise _other_type(column, field)
        try:
            if pt.is_dictionary(field.type):
                column = column.cast(field.type.value_type).dictionary_encode()
            column = column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _other_type(column, field, str(error)) from None
    if not field.nullable and column.null_count:
        raise SchemaMismatch(
            f"Column {field.name!r} has {column.null_count} nulls, and the schema allows none "
            "there."
        )
    return column


def to_instants(column: pa.ChunkedArray, name: str, zone: str) -> pa.ChunkedArray:
    """Times without a zone as the instants at which the clocks of a zone show them.

    Raises BadTime where clocks show a time never, or twice: nothing is guessed.
    """
    try:
        return pc.assume_timezone(column, zone, ambiguous="raise", nonexistent="raise")
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        raise BadTime(
            f"Column {name!r} has times without a zone, which are local to {zone}, and clocks "
            f"there skipped one of them or showed it twice ({said}). Give that column a zone, so "
            "that it says which instants are meant."
        ) from error


def is_local(kind: pa.DataType) -> bool:
    """Whether values are times without a zone."""
    return bool(pt.is_timestamp(kind) and kind.tz is None)


def is_instant(kind: pa.DataType) -> bool:
    """Whether values are times with a zone."""
    return bool(pt.is_timestamp(kind) and kind.tz is not None)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A dictionary column as its values.

    A dictionary may hold a null, or views. Arrow cannot take from views.
    """
    kind = VIEWS_KEPT_AS.get(column.type.value_type, column.type.value_type)
    chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _other_type(column: pa.ChunkedArray, field: pa.Field, why: str = "") -> SchemaMismatch:
    reason = f" without loss ({why})" if why else ""
    if is_instant(column.type) and is_local(field.type):
        return SchemaMismatch(
            f"Column {field.name!r} has a zone, and the index keeps times without one there, "
            "local to its zone. Clocks can show two instants alike, so make them local times "
            "before you append."
        )
    if pt.is_floating(column.type) and pt.is_integer(field.type):
        gaps = column.null_count + (pc.sum(pc.is_nan(column)).as_py() or 0)
        if gaps:
            return SchemaMismatch(
                f"Column {field.name!r} is of type {column.type}, and the index has {field.type}: "
                f"{gaps:,} of its values are missing (NaN), and pandas makes a column with gaps "
                "one of floats. Drop or fill these rows, or keep gaps apart from numbers before "
                f"you append, as astype('Int64') does."
            )
    return SchemaMismatch(
        f"Column {field.name!r} is of type {column.type}, and the index has {field.type}, to "
        f"which it cannot be converted{reason}. Cast it before you append."
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether values of the type are lists of any length."""
    return bool(pt.is_list(kind) or pt.is_large_list(kind))


def family(kind: pa.DataType) -> str:
    """Types between which values may pass where they fit. The cast checks that value by value."""
    if pt.is_dictionary(kind):
        return family(kind.value_type)
    if pt.is_timestamp(kind):
        return "instant" if kind.tz is not None else "wall clock"
    if is_list(kind):
        return f"list<{_inner(kind.value_type)}>"
    if pt.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_inner(field.type)}' for field in kind)}>"
    for name, test in _FAMILIES.items():
        if test(kind):
            return name
    return str(kind)


def _inner(kind: pa.DataType) -> str:
    """The same inside lists and structs, where floats must be of one width.

    Arrow's casts are less careful there.
    """
    return str(kind) if pt.is_floating(kind) else family(kind)


_FAMILIES = {
    "integer": pt.is_integer,
    "float": pt.is_floating,
    "text": lambda kind: pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind),
    "bytes": lambda kind: pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind),
    "date": pt.is_date,
    "decimal": pt.is_decimal,
    "duration": pt.is_duration,
}


def _without_null_keys(table: pa.Table, definition: Definition) -> tuple[pa.Table, int]:
    if definition.time is not None and (nulls := table.column(definition.time).null_count):
        raise NullTimes(
            f"{nulls} of {table.num_rows} rows have no {definition.time!r}. Every row needs a "
            "time; leave those rows out."
        )
    columns = [table.column(name) for name in definition.key_names]
    if not any(column.null_count for column in columns):
        return table, 0
    whole = reduce(pc.and_, map(pc.is_valid, columns))
    left = table.filter(whole)
    null_keys = table.num_rows - left.num_rows
    if definition.nulls == "error":
        raise no_keys(definition, null_keys, table.num_rows)
    return left, null_keys


def no_keys(definition: Definition, null_keys: int, total: int) -> NullKeys:
    """What to say of rows without a key."""
    names = " or no ".join(map(repr, definition.key_names))
    return NullKeys(
        f"{null_keys} of {total} rows have no {names}. Leave them out, or create the index with "
        "nulls='skip'."
    )


Bring = Callable[[Manifest], AbstractContextManager[Arriving]]
"""Brings rows while the lock is held; the manifest is the newest one."""
