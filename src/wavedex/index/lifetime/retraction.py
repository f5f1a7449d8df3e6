"""Rows that end before their time, and rows that get another end (Section 3.5 of the report).

The row is looked for in the parts that can have it. It is hidden there at once, from every probe
and scan: the part gets a small part of its own beside it, with the rows that do not count any more.
The row is taken out when the sub-index is next written in any case.

That is told row by row and not by key. So a later row of the same key, or one that is like it, is
not hidden with it.

A row that gets another end is hidden where it is, and comes in again with its new end. Nobody
else's rows are written for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.engine.change import Places
from wavedex.errors import MissingColumn, RowNotThere, SchemaMismatch
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.index.core.arrival import Arriving, Sent, cast_column, nothing
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.reading.snapshot import Snapshot, open_newest
from wavedex.log.manifest import Manifest
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.content import content_of, hash_rows
from wavedex.rows.entries import one_batch
from wavedex.rows.matching import agreeing_rows, match_rows
from wavedex.rows.order import stable_order
from wavedex.rows.pieces import concat
from wavedex.rows.tables import PANDAS_INDEX, to_table
from wavedex.store.part import Slots
from wavedex.store.shard import split_by_shard

EXAMPLES = 3
"""So many of the rows that are not there are named in the message. The error has all of them."""


@dataclass(frozen=True)
class Matching:
    """All living rows that agree with one of these rows, in the columns that these have.

    The columns of the key must be among them. Make one with `wavedex.matching`.
    """

    rows: Any


def matching(rows: Any) -> Matching:
    """All living rows that agree with one of `rows`, to be retracted.

    `rows` is a table of any kind, or a mapping of columns, with the columns of the key and as many
    of the others as are to agree: those of a key alone mean all that the key has.

    >>> matching({"caller": ["ann"], "line": [3]})
    Matching(rows={'caller': ['ann'], 'line': [3]})
    """
    return Matching(rows)


@dataclass(frozen=True)
class Meant:
    """Rows of the index that somebody means, and how they are told."""

    rows: pa.RecordBatch
    """Rows as the index keeps them. Columns by which nothing is told may have anything in them."""
    names: Sequence[str]
    """The columns by which they are told."""
    deaths: Slots | None = None
    """The slots in which they end, where that is known."""
    every: bool = False
    """Whether all that agree with a row are meant, and not one for each."""

    @property
    def identity(self) -> str:
        """The same rows in any order have the same identity, and others another."""
        names = sorted(self.names)
        rows = self.rows.select(names)
        return f"{','.join(names)} {Sent(rows.num_rows, content_of(hash_rows(rows))).identity}"


@dataclass(frozen=True)
class Retracted:
    """What was retracted or prolonged."""

    commit: int
    """The commit from which on that holds."""
    rows: int
    """How many rows."""


@dataclass(frozen=True)
class Replaced:
    """Rows that go, where they lie, and those that come in their place."""

    name: str = "update"
    """What the commit is called that does it."""
    hides: Mapping[int, Places] = field(default_factory=dict)
    """The rows that go: by shard, and by the directory of their part."""
    holders: frozenset[str] = frozenset()
    """The sub-indexes that have them."""
    retracted: int = 0
    prolonged: int = 0
    came: Arriving | None = None
    """The rows with other ends."""
    null_keys: int = 0
    """How many rows that were meant had no key."""
    waits: bool = False
    """Whether rows wait in the delta even where a refresh is due."""

    def __bool__(self) -> bool:
        return bool(self.hides)

    @property
    def went(self) -> Iterator[pa.RecordBatch]:
        """The rows that go."""
        return (rows for places in self.hides.values() for rows in places.values())

    @property
    def totals(self) -> dict[str, int]:
        """What is added to the counts since the beginning."""
        found = {"retracted": self.retracted, "prolonged": self.prolonged}
        return {name: count for name, count in found.items() if count}


def meant_exactly(definition: LifeDefinition, rows: Arriving) -> Meant:
    """Rows that are told by all their columns."""
    names = definition.schema.names
    ends = {definition.expires, definition.lifetime} - {None}
    return Meant(rows.batch, names, frozenset(rows.summary) if ends else None)


def meant_but_for_ends(definition: LifeDefinition, rows: Arriving) -> Meant:
    """Rows that are told by all their columns but their ends: of some alike, who ends first."""
    end = definition.expires or definition.lifetime
    return Meant(rows.batch, [name for name in definition.schema.names if name != end])


def meant_by(definition: LifeDefinition, given: Matching) -> Meant:
    """All rows that agree with some. Raises SchemaMismatch, MissingColumn."""
    table = _table_of(given.rows)
    schema, names = definition.spec.schema, table.column_names
    unknown = [name for name in names if name not in definition.schema.names]
    if unknown or len({*names}) < len(names):
        raise SchemaMismatch(
            f"The rows to match have the columns {', '.join(map(repr, names))}, and the index has "
            f"{', '.join(map(repr, definition.schema.names))}. Give some of these, each once."
        )
    missing = [name for name in definition.key_names if name not in names]
    if missing:
        raise MissingColumn(
            f"The rows to match lack {', '.join(map(repr, missing))}: rows are looked up by their "
            "key. Give its columns too."
        )
    columns = [
        cast_column(table.column(each.name), each, definition.zone)
        if each.name in names
        else pa.chunked_array([pa.nulls(table.num_rows, each.type)])
        for each in schema
    ]
    known = [each.with_nullable(True) for each in schema]
    batch = one_batch(pa.table(columns, schema=pa.schema(known)))
    return Meant(batch, names, every=True)


def _table_of(rows: Any) -> pa.Table:
    """The rows of a table of any kind, or of a mapping of columns. Raises SchemaMismatch."""
    if isinstance(rows, Mapping):
        for name, values in rows.items():
            is_list = hasattr(values, "__len__") and not isinstance(values, str | bytes | Mapping)
            if not isinstance(name, str) or not is_list:
                raise SchemaMismatch(
                    f"{name!r}: {values!r} is no column. Give a list, even of one value, under the "
                    f"name of a column: {{{str(name)!r}: [{values!r}]}}."
                )
        try:
            rows = pa.table(dict(rows))
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise SchemaMismatch(f"Cannot read {rows!r} as columns: {error}.") from error
    table = to_table(rows)
    names = table.column_names  # one may be there twice, which is for others to refuse
    return table.select([at for at, name in enumerate(names) if not PANDAS_INDEX.fullmatch(name)])


def replace_rows(
    definition: LifeDefinition,
    files: AnyFiles,
    manifest: Manifest,
    clock: LifeClock,
    retract: Meant | None,
    prolong: Arriving | None,
) -> Replaced:
    """What becomes of rows that are retracted, and of those that get another end.

    They must live once the clock shows this. What is retracted is not there to get another end.
    Raises RowNotThere, which has all rows that are not there.
    """
    search = _Search(definition, files, manifest, clock)
    spec = definition.spec
    retracted = 0 if retract is None else search.find(retract)
    came, prolonged = nothing(definition), 0
    if prolong is not None and prolong.batch.num_rows:
        prolonged = search.find(meant_but_for_ends(definition, prolong))
        assert clock.now is not None
        lives = spec.ordinals(prolong.batch) > clock.now
        came = prolong.where(lives, spec.births(prolong.batch))
    search.check()
    return Replaced(
        hides=search.hides,
        holders=frozenset(search.holders),
        retracted=retracted,
        prolonged=prolonged,
        came=came,
    )


class _Search:
    """Looks for living rows, none of which is found twice."""

    def __init__(
        self, definition: LifeDefinition, files: AnyFiles, manifest: Manifest, clock: LifeClock
    ) -> None:
        self._definition = definition
        self._files = files
        self._manifest = manifest
        horizon = None if definition.counts else clock.now
        self._view = definition.view(manifest).narrowed(horizon, definition.floors_at(clock))
        self._missing: list[pa.RecordBatch] = []
        self.hides: dict[int, dict[FileRef, pa.RecordBatch]] = defaultdict(dict)
        self.holders: set[str] = set()

    def find(self, meant: Meant) -> int:
        """Find some rows, and return how many. Those that are not there are noted."""
        definition, count = self._definition, 0
        with open_newest(definition, self._files, self._manifest) as snapshot:
            shares = split_by_shard(meant.rows, definition.spec, definition.shards)
            for shard, share in enumerate(shares):
                if share.num_rows:
                    count += self._find_in(snapshot, shard, share.batch(), meant)
        return count

    def check(self) -> None:
        """Raise RowNotThere where rows were not there."""
        if self._missing:
            raise _not_there(self._missing)

    def _find_in(self, snapshot: Snapshot, shard: int, wanted: pa.RecordBatch, meant: Meant) -> int:
        spec, names = self._definition.spec, list(meant.names)
        found = [*self._candidates(snapshot, shard, wanted, meant.deaths)]
        owners = np.repeat(np.arange(len(found)), [each.num_rows for _, _, each in found])
        rows = concat([empty_batch(spec.schema), *(each for _, _, each in found)])
        # Of several that are alike, those are meant that end first.
        order = stable_order(spec.ordinals(rows))
        rows, owners = rows.take(to_arrow(order)), owners[order]
        mine, theirs = rows.select(names), wanted.select(names)
        there, sought = agreeing_rows(mine, theirs) if meant.every else match_rows(mine, theirs)
        if not sought.all():
            self._missing.append(theirs.take(to_arrow(np.flatnonzero(~sought))))
        for owner in np.unique(owners[there]).tolist():
            name, ref, _ = found[owner]
            taken = rows.take(to_arrow(np.flatnonzero(there & (owners == owner))))
            before = self.hides[shard].get(ref)
            self.hides[shard][ref] = taken if before is None else concat([before, taken])
            self.holders.add(name)
        return int(there.sum())

    def _candidates(
        self, snapshot: Snapshot, shard: int, wanted: pa.RecordBatch, deaths: Slots | None
    ) -> Iterator[tuple[str, FileRef, pa.RecordBatch]]:
        """The living rows of the wanted keys, part by part.

        Each comes with the name of the sub-index and the directory of the part.
        """
        spec = self._definition.spec
        keys = spec.key_type.distinct(spec.keys(wanted))
        hashes = spec.key_type.hash_array(keys)
        for name, opened, part in snapshot.parts_of(shard):
            if deaths is not None and deaths.isdisjoint(part.held):
                continue
            ref = part.files["directory"]
            taken = self.hides[shard].get(ref)
            for asked, within in self._view.targets(name, opened, part, None, None, expired=False):
                rows = asked.probe_many(keys, hashes, within)
                if taken is not None:
                    rows = rows.filter(to_arrow(~match_rows(rows, taken)[0]))
                yield name, ref, rows


def _not_there(missing: Iterable[pa.RecordBatch]) -> RowNotThere:
    tables = [pa.Table.from_batches([each]) for each in missing]
    rows = pa.concat_tables(tables, promote_options="default")
    some = ", ".join(map(_said, rows.slice(0, EXAMPLES).to_pylist()))
    more = f" and {rows.num_rows - EXAMPLES} more" if rows.num_rows > EXAMPLES else ""
    return RowNotThere(
        f"{rows.num_rows} of the rows are not there, or are over, or stand there fewer times: "
        f"{some}{more}. Nothing was changed; leave them out.",
        rows,
    )


def _said(row: Mapping[str, Any]) -> str:
    """A row as people read it: times as they write them."""
    return repr(
        {n: str(value) if hasattr(value, "isoformat") else value for n, value in row.items()}
    )
