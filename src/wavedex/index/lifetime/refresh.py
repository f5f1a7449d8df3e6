"""One refresh of a lifetime index: what is new goes in, what is over goes out, in one commit.

1. The rows are checked, and those that are over already are left out.
2. Where the instant has passed one refresh or more, the grid is planned on to the last of them.
   Rows of slots that are complete go into its cells. Rows of the slot that has only begun wait in
   the delta, where they can be queried at once. Rows that got another end meanwhile wait there too.
3. Where the instant has passed none, all rows wait in the delta.

At one instant expiry comes before insertion. Everything is refused before a file is touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wavedex.engine.change import Change
from wavedex.errors import FromTheFuture, RefreshBackwards
from wavedex.index.core.arrival import Arriving
from wavedex.index.lifetime.changes import tell
from wavedex.index.lifetime.clock import Arrivals, LifeClock
from wavedex.index.lifetime.counted import Counted, count_on, follow
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.retraction import Replaced
from wavedex.index.lifetime.writer import LifeWriter
from wavedex.log.manifest import OPEN, Manifest, Notes
from wavedex.log.progress import Sources
from wavedex.plan import Build, Drop, GridState, Hide, Insert, Operation, Plan, Sift, apply, touched
from wavedex.plan.slot_set import slots_of
from wavedex.store.part import Part, Slots

_NONE: Slots = frozenset()
NOTHING_REPLACED = Replaced()


@dataclass(frozen=True)
class Refreshed:
    """What a refresh did."""

    commit: int
    """The newest commit once it was done."""
    slot: int | None
    """The last refresh that was due, None where there was none yet."""
    rows: int = 0
    """How many rows entered."""
    over: int = 0
    """How many rows were over when they came."""
    null_keys: int = 0
    """How many rows had no key."""
    inserts: list[str] = field(default_factory=list)
    """The sub-indexes that rows were put into."""
    expires: list[str] = field(default_factory=list)
    """The sub-indexes that rows were taken out of."""
    touched: list[str] = field(default_factory=list)
    """Both."""
    repeated: bool = False
    """Whether the same batch had been taken before."""
    retracted: int = 0
    """How many rows were retracted."""
    prolonged: int = 0
    """How many rows got another end."""


def refresh(
    writer: LifeWriter,
    manifest: Manifest,
    now: int,
    arriving: Arriving,
    counted: Counted | None,
    sources: Sources | None = None,
    replaced: Replaced = NOTHING_REPLACED,
) -> Refreshed:
    """Refresh the index at an instant, with rows that are at hand, in one commit.

    A batch that `sources` tell of is known by them, and they are noted. Any other batch is passed
    over where it is the last one again, unless rows are replaced too.

    REQUIRES: the lock is held, and the instant is not before the last.
    """
    definition = writer.definition
    slot = definition.slotting.due(now)
    is_known = not arriving.rows or sources is not None or bool(replaced)
    came = [] if counted is None else sorted(counted.positions.items())
    identity = None if is_known else f"{now}:{arriving.identity}" + f":{came}" * bool(came)
    if identity is not None and identity == manifest.batch:
        return Refreshed(manifest.commit, slot, null_keys=arriving.null_keys, repeated=True)
    _check_times(arriving, now, definition)
    arrivals = follow(definition, manifest, now, counted)
    clock = LifeClock.of(manifest).at(now, arrivals)
    # Rows that say themselves what the time is were taken in before it was known.
    fresh = arriving.only(death for death in arriving.summary if death > slot or definition.counts)
    coming = fresh if replaced.came is None else fresh + replaced.came
    plan, state, rows = plan_refresh(
        definition, manifest, arrivals, slot, coming, waits=replaced.waits
    )
    before = {name: sub.slots for name, sub in manifest.indexes.items()}
    null_keys = arriving.null_keys + replaced.null_keys
    manifest = writer.commit(
        manifest,
        Change(
            name=replaced.name,
            state=state,
            rows=rows,
            operations=(
                *map(Hide, sorted(replaced.holders)),
                *sifting(manifest, plan.transition, definition.floors_at(clock)),
            ),
            hidden=replaced.hides,
            notes=Notes(
                batch="" if replaced else identity,  # What came before may come again.
                totals={"rows": fresh.rows, "null_keys": null_keys, **replaced.totals},
                sources=sources or Sources(),
                own=clock.to_json(),
                told=tell(
                    definition, manifest, clock, writer.workshop.files, coming, replaced.went
                ),
            ),
        ),
    )
    writer.finish(manifest)
    return Refreshed(
        manifest.commit,
        slot,
        fresh.rows,
        arriving.over + arriving.rows - fresh.rows,
        null_keys,
        *touched(_without_delta(plan), before),
        retracted=replaced.retracted,
        prolonged=replaced.prolonged,
    )


def sifting(
    manifest: Manifest, operations: Sequence[Operation], floors: Mapping[str, int]
) -> tuple[Operation, ...]:
    """The operations, which also leave out rows that are over by floors from what they touch."""
    if not floors:
        return tuple(operations)
    there = apply({name: sub.slots for name, sub in manifest.everything.items()}, operations)
    targets = dict.fromkeys(each.target for each in operations if each.target in there)
    bounds = tuple(sorted(floors.items()))
    return (*operations, *(Sift(bounds, name) for name in targets))


def plan_refresh(
    definition: LifeDefinition,
    manifest: Manifest,
    arrivals: tuple[Arrivals, ...],
    slot: int,
    rows: Arriving,
    waits: bool = False,
) -> tuple[Plan, GridState | None, Arriving]:
    """What a refresh does, what the grid is then, and all rows that it deals with.

    Rows of the delta are among them. With `waits` nothing is done that is due: the rows wait in the
    delta.
    """
    state = definition.state_of(manifest)
    if state is not None and (waits or slot <= state.newest):
        waiting = into_delta(manifest, frozenset(rows.summary), state.newest)
        return Plan(tuple(waiting)), state, rows
    if state is None:
        plan, following = definition.grid.start(slot)
    else:
        examined = count_on(definition, manifest, arrivals, slot)
        plan, following = definition.grid.refresh(state, slot, examined)
    deaths = manifest.open_slots | slots_of(rows.summary)
    is_ahead = _is_ahead(definition, rows, deaths, slot)
    operations: list[Operation] = [*plan.transition]
    if manifest.open is not None:
        operations.append(Build(_NONE, OPEN) if is_ahead else Drop(OPEN))
        rows = with_parts(rows, manifest.open.shards)
    if is_ahead:
        operations += into_delta(manifest, deaths, slot)
    return Plan(tuple(operations)), following, rows


def into_delta(manifest: Manifest, deaths: Slots, newest: int) -> list[Operation]:
    """What puts rows of some deaths into the delta, to wait for the refresh after the newest."""
    if not deaths:
        return []
    begun: list[Operation] = [] if manifest.open is not None else [Build(_NONE, OPEN)]
    return [*begun, Insert(frozenset({newest + 1}), deaths, OPEN)]


def with_parts(rows: Arriving, shards: Sequence[tuple[Part, ...]]) -> Arriving:
    """Rows together with those of parts that lie on disk, shard by shard."""
    own = rows.staged or ((),) * len(shards)
    staged = tuple((*mine, *more) for mine, more in zip(own, shards, strict=True))
    return replace(rows, staged=staged)


def check_forwards(manifest: Manifest, now: int, definition: LifeDefinition) -> None:
    """Raise RefreshBackwards where an instant is before the last one."""
    last = LifeClock.of(manifest).now
    if last is not None and now < last:
        said = definition.slotting.moment
        raise RefreshBackwards(
            f"The index was refreshed at {said(last)}, and {said(now)} is before that. Give an "
            "instant that is not earlier; rows that come late may come with it."
        )


def _check_times(arriving: Arriving, now: int, definition: LifeDefinition) -> None:
    """Raise FromTheFuture where rows were inserted after now."""
    latest = max((found.latest for found in arriving.summary.values()), default=now)
    if latest > now:
        said = definition.slotting.moment
        raise FromTheFuture(
            f"Rows were inserted at {said(latest)}, after the instant of the refresh, "
            f"{said(now)}. Refresh later, or leave them out."
        )


def _is_ahead(definition: LifeDefinition, rows: Arriving, deaths: Slots, slot: int) -> bool:
    """Whether some rows belong to the refresh after the last that was due.

    Rows do that were inserted after it. So do rows that end later than the cells have room for.
    Between two refreshes rows get ends, given or guessed, that lie as far ahead of the instant as
    any may.
    """
    if max(deaths, default=slot) > slot + definition.window:
        return True
    end = definition.slotting.stop(slot)
    return any(found.latest >= end for found in rows.summary.values())


def _without_delta(plan: Plan) -> Plan:
    """The operations on the cells of the grid."""
    return Plan(tuple(each for each in plan.transition if each.target != OPEN))
