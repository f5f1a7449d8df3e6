"""Windows that are counted in rows: when an entry will be over, and where a refresh must look.

An entry is over when one of the rows that it was made of has left its window. That depends on how
many rows come. So its end is guessed, at the rates of the moment when it came. The guess decides
where it lies. Its positions alone tell whether it is over. Rates are smoothed from refresh to
refresh (Section 4 of the report).

Where to look follows from the rates. Say that an entry came at time t', when stream c had come to
A' at a rate of q rows, and that it is over now that c has come to A. Then it was guessed to end at
t' + (A - A') / q at the latest. Take every refresh from which an entry could still be alive when
the grid was last refreshed. The latest guess among them bounds the guesses of all entries that are
over.

A refresh examines the slots up to that bound, if that is farther than it reaches by itself. It also
examines all slots behind its reach that still have rows. So rates that vary more than was thought
cost more, and leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wavedex.errors import BadTime
from wavedex.index.lifetime.clock import Arrivals, LifeClock, Pace
from wavedex.index.lifetime.definition import At, LifeDefinition
from wavedex.log.manifest import Manifest
from wavedex.plan.slot_set import union
from wavedex.store.part import Slots

SMOOTHING = 0.3
"""How much the newest refresh counts in the smoothed rate, against all before it."""

_FAR = 2**62


@dataclass(frozen=True)
class Counted:
    """How far streams have come."""

    positions: Mapping[str, int]
    """The newest position of each stream."""


def check_counted(definition: LifeDefinition, given: object) -> Counted | None:
    """How far streams have come, as a user says it. Raises BadTime."""
    if not definition.counts:
        if given is not None:
            raise BadTime("arrived= is for counted windows. Leave it out.")
        return None
    if not isinstance(given, Mapping) or set(given) != set(definition.counts):
        names = ", ".join(map(repr, definition.counts))
        raise BadTime(f"arrived={given!r}: give the newest position in each of {names}, by name.")
    for name, position in given.items():
        if isinstance(position, bool) or not hasattr(position, "__index__"):
            raise BadTime(f"arrived[{name!r}]={position!r} is no position. Give a whole number.")
        if not -_FAR < position < _FAR:
            raise BadTime(f"arrived[{name!r}]={position!r} is farther than any stream comes.")
    return Counted({name: int(position) for name, position in given.items()})


def count_seen(
    definition: LifeDefinition, manifest: Manifest, seen: Mapping[str, int]
) -> Counted | None:
    """How far streams have come where only the rows say so; None where nothing was seen yet.

    They have come to the largest positions that were seen, and never go backwards.
    """
    told = [each for each in (seen, LifeClock.of(manifest).came) if each]
    if not told:
        return None
    return Counted({name: max(each[name] for each in told) for name in definition.counts})


def follow(
    definition: LifeDefinition, manifest: Manifest, now: int, counted: Counted | None
) -> tuple[Arrivals, ...]:
    """How far the streams had come at each refresh that may have entries.

    This refresh is included. Raises BadTime.
    """
    arrivals = LifeClock.of(manifest).arrivals
    if counted is None:
        return arrivals
    before = arrivals[-1] if arrivals else None
    for name, position in counted.positions.items():
        if before is not None and position < before.positions[name]:
            raise BadTime(
                f"arrived[{name!r}]={position} is less than {before.positions[name]}, to where "
                "the stream had come."
            )
    latest = _next(definition, before, now, counted.positions)
    if before is None:
        return (latest,)
    examined = _examined(definition, manifest, arrivals)
    known = [e for e in arrivals if definition.may_live(e.positions, examined)]
    due = definition.slotting.due
    if due(before.now) == due(now) or before.positions == latest.positions:
        return (*known[:-1], _together(before, latest))
    return (*known, latest)


def at_instant(definition: LifeDefinition, now: int, arrivals: tuple[Arrivals, ...]) -> At:
    """What rows that arrive now are to be guessed by."""
    if not definition.counts or not arrivals:
        return At(now)
    return At(now, arrivals[-1].positions, arrivals[-1].rates)


def count_on(
    definition: LifeDefinition, manifest: Manifest, arrivals: tuple[Arrivals, ...], slot: int
) -> Slots:
    """The guessed slots that a refresh must examine beside those within its reach.

    Slots of rows that wait for it are among them.
    """
    if not definition.counts:
        return frozenset()
    before, beyond = definition.reach
    state = definition.state_of(manifest)
    assert state is not None
    held = union(part.held for sub in manifest.indexes.values() for part in sub.parts)
    last = _last_guess(definition, manifest, arrivals)
    first = state.newest + 1 - before
    late = frozenset(each for each in held if each < first or slot + beyond < each <= last)
    waiting = () if manifest.open is None else manifest.open.parts
    passed = (each for part in waiting for each in part.held if each <= slot)
    return late | frozenset(passed)


def _next(
    definition: LifeDefinition, before: Arrivals | None, now: int, positions: Mapping[str, int]
) -> Arrivals:
    rates = {
        name: _rate(definition, name, before, now, positions[name]) for name in definition.counts
    }
    paces = {name: Pace(positions[name], now, rate) for name, rate in rates.items()}
    return Arrivals(now, dict(positions), rates, paces)


def _together(before: Arrivals, latest: Arrivals) -> Arrivals:
    """Two that follow one another as one.

    ENSURES: take an entry of either, and the end that was guessed for when its stream has come to
    A. That end is no later than its pace says: since + (A - first) / slowest.
    """
    paces = {}
    for name, (first, since, slowest) in before.paces.items():
        rate = min(slowest, latest.rates[name])
        came = latest.positions[name] - first
        lead = latest.now - came / rate if came and rate > 0 else latest.now
        paces[name] = Pace(first, max(since, lead), rate)
    return latest._replace(paces=paces)


def _rate(
    definition: LifeDefinition, name: str, before: Arrivals | None, now: int, position: int
) -> float:
    """The smoothed rate of a stream.

    In the beginning it is the rate at which a window lasts as long as the bound on lifetimes.
    """
    if before is None:
        return definition.counts[name] / definition.longest
    if now == before.now:
        return before.rates[name]
    seen = (position - before.positions[name]) / (now - before.now)
    return SMOOTHING * seen + (1 - SMOOTHING) * before.rates[name]


def _examined(
    definition: LifeDefinition, manifest: Manifest, arrivals: tuple[Arrivals, ...]
) -> dict[str, int]:
    """How far streams had come when the grid was last refreshed, if not farther.

    What was over then has been taken out.
    """
    state = definition.state_of(manifest)
    assert state is not None
    due = definition.slotting.due
    found = next(each for each in arrivals if due(each.now) >= state.newest)
    return {name: pace.first for name, pace in found.paces.items()}


def _last_guess(
    definition: LifeDefinition, manifest: Manifest, arrivals: tuple[Arrivals, ...]
) -> int:
    """The last slot in which an entry that is over now can have been guessed to end.

    Only entries count that were not over when the grid was last refreshed.
    """
    latest, examined = arrivals[-1], _examined(definition, manifest, arrivals)
    bound = float(latest.now)
    for each in arrivals:
        if not definition.may_live(each.positions, examined):
            continue
        for name, (first, since, slowest) in each.paces.items():
            came = latest.positions[name] - first
            if came and slowest > 0:
                bound = max(bound, since + came / slowest)
            elif came:
                bound = _FAR
    furthest = int(min(np.ceil(bound), latest.now + definition.longest))
    return int(definition.slotting.slots_of(np.array([furthest]))[0])
