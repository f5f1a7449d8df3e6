"""Rows that end before their time, and rows that get another end (Section 3.5 of the report).

The row is looked for in the parts that can have it. It is hidden there at once, from every probe
and scan: the part gets a small part of its own beside it, with the rows that do not count any more.
The row is taken out when the sub-index is next written in any case.

That is told row by row and not by key. So a later row of the same key, or one that is like it, is
not hidden with it.

A row that gets another end is hidden where it is and put into the delta with its new end. Nobody
else's rows are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from wavedex.engine.change import Change
from wavedex.errors import RowNotThere
from wavedex.index.core.arrival import Arriving, Bring, nothing
from wavedex.index.lifetime.changes import tell
from wavedex.index.lifetime.clock import LifeClock
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.refresh import check_forwards, into_delta
from wavedex.index.lifetime.view import LifeView
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.index.reading.snapshot import Snapshot, open_newest
from wavedex.log.manifest import Manifest, Notes
from wavedex.plan import Hide
from wavedex.rows.arrow import empty_batch, to_arrow
from wavedex.rows.matching import match_rows
from wavedex.rows.order import stable_order
from wavedex.rows.pieces import concat
from wavedex.store.part import Slots
from wavedex.store.shard import split_by_shard

Hides = dict[int, dict[tuple[str, int], pa.RecordBatch]]
"""Rows to hide: by shard, and by the name of a sub-index and the place of a part in it."""


@dataclass(frozen=True)
class Retracted:
    """What was retracted or prolonged."""

    commit: int
    """The commit from which on that holds."""
    rows: int
    """How many rows."""


def retract(writer: LifeWriter, now: int, bring: Bring) -> Retracted:
    """Hide rows, matched on all columns, from now on.

    Raises RowNotThere, and then nothing has changed.
    """
    names = writer.definition.schema.names
    return _replace(writer, now, bring, "retract", names, lambda rows: nothing(writer.definition))


def prolong(writer: LifeWriter, now: int, bring: Bring) -> Retracted:
    """Give rows, matched on all columns but their ends, other ends.

    Raises RowNotThere, and then nothing has changed.
    """
    end = writer.definition.expires or writer.definition.lifetime
    names = [name for name in writer.definition.schema.names if name != end]

    def living(rows: Arriving) -> Arriving:
        spec = writer.definition.spec
        return rows.where(spec.ordinals(rows.batch) > now, spec.births(rows.batch))

    return _replace(writer, now, bring, "prolong", names, living)


def _replace(
    writer: LifeWriter,
    now: int,
    bring: Bring,
    operation: str,
    names: list[str],
    instead: Callable[[Arriving], Arriving],
) -> Retracted:
    """Hide the rows that are brought, matched on some columns, and put `instead` into the delta."""
    with writer.writing() as manifest:
        definition = writer.definition
        check_forwards(manifest, now, definition)
        with bring(manifest) as arriving:
            hides = find(writer, manifest, now, arriving, names)
            if not arriving.rows:
                return Retracted(manifest.commit, 0)
            state = definition.state_of(manifest)
            assert state is not None  # since rows were found
            rows = instead(arriving)
            holders = dict.fromkeys(name for places in hides.values() for name, _ in places)
            waiting = into_delta(manifest, frozenset(rows.summary), state.newest)
            clock = LifeClock.of(manifest).at(now)
            went = [batch for places in hides.values() for batch in places.values()]
            change = Change(
                name=operation,
                state=state,
                rows=rows,
                operations=(*map(Hide, holders), *waiting),
                hidden=hides,
                notes=Notes(
                    batch="",  # What came before may come again.
                    totals={f"{operation}ed": arriving.rows},
                    own=clock.to_json(),
                    told=tell(definition, manifest, clock, writer.workshop.files, rows, went),
                ),
            )
            manifest = writer.commit(manifest, change)
        writer.finish(manifest)
    return Retracted(manifest.commit, arriving.rows)


def find(
    writer: LifeWriter, manifest: Manifest, now: int, arriving: Arriving, names: list[str]
) -> Hides:
    """Where the rows lie, matched on some columns. Raises RowNotThere.

    Of several that are alike, those are meant that end first. Where ends are known and matched,
    only parts with rows that end in the same slots are asked.
    """
    definition = writer.definition
    ends = {definition.expires, definition.lifetime} - {None}
    deaths = frozenset(arriving.summary) if ends and ends <= {*names} else None
    spec = definition.spec
    horizon = None if definition.counts else now
    view = definition.view(manifest).narrowed(horizon, definition.floors(manifest))
    hides: Hides = {}
    with open_newest(definition, writer.workshop.files, manifest) as snapshot:
        for shard, share in enumerate(split_by_shard(arriving.batch, spec, definition.shards)):
            if not share.num_rows:
                continue
            wanted = share.batch()
            found = [*_candidates(snapshot, view, shard, wanted, deaths)]
            owners = np.repeat(np.arange(len(found)), [each.num_rows for _, each in found])
            rows = concat([empty_batch(spec.schema), *(each for _, each in found)])
            order = stable_order(spec.ordinals(rows))
            rows, owners = rows.take(to_arrow(order)), owners[order]
            there, sought = match_rows(rows.select(names), wanted.select(names))
            if not sought.all():
                raise _not_there(definition, wanted.take(to_arrow(np.flatnonzero(~sought))))
            hides[shard] = {
                found[owner][0]: rows.take(to_arrow(np.flatnonzero(there & (owners == owner))))
                for owner in np.unique(owners[there]).tolist()
            }
    return hides


def _candidates(
    snapshot: Snapshot,
    view: LifeView,
    shard: int,
    wanted: pa.RecordBatch,
    deaths: Slots | None,
) -> Iterator[tuple[tuple[str, int], pa.RecordBatch]]:
    """The living rows of the wanted keys, part by part.

    Each comes with the name of the sub-index and the place of the part in it.
    """
    spec = snapshot.definition.spec
    keys = spec.key_type.distinct(spec.keys(wanted))
    hashes = spec.key_type.hash_array(keys)
    places: Counter[str] = Counter()
    for name, opened, part in snapshot.parts_of(shard):
        place = places[name]
        places[name] += 1
        if deaths is not None and deaths.isdisjoint(part.held):
            continue
        for asked, within in view.targets(name, opened, part, None, None, expired=False):
            yield (name, place), asked.probe_many(keys, hashes, within)


def _not_there(definition: LifeDefinition, left: pa.RecordBatch) -> RowNotThere:
    example = left.select(definition.schema.names).slice(0, 1).to_pylist()[0]
    return RowNotThere(
        f"{left.num_rows} of the rows are not there, or are over, or stand there fewer times: "
        f"{example!r} for one. Nothing was changed; leave them out."
    )
