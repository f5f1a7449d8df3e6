"""Are these answers a lifetime index? Checks what a user says when one is created or migrated.

Nothing is guessed and nothing is touched. What does not go together is refused by name, with what
to say instead.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, BadGrid, BadTime
from wavedex.index.core.answers import (
    check_column,
    check_names,
    check_parts,
    key_names,
    shared_answers,
)
from wavedex.index.core.definition import whole_number
from wavedex.index.lifetime.definition import METHOD_UPDATES, LifeDefinition
from wavedex.plan import allowed, find_method
from wavedex.plan.grids.partition import CHRONOLOGICAL, WAVE
from wavedex.slots.ends import Ends, ends
from wavedex.store.formats import find_format, name_of

REFRESHES_MAX = 100_000
"""How many refreshes a lifetime may have: a plan has a number for each of them."""
CHAINED = "chained"
"""The format of sub-indexes that are not reclustered."""
_SHAPE = re.compile(r"(\d+)\s*[xX]\s*(\d+)")


def define_life(
    schema: pa.Schema,
    *,
    key: str | Sequence[str],
    inserted: str,
    expires: str | None,
    lifetime: str | None,
    counts: Mapping[str, int] | None,
    spans: Mapping[str, Any] | None,
    max_lifetime: Any,
    refresh: Any,
    zone: str,
    origin: Any,
    grid: str | Sequence[int],
    method: str,
    partition: Sequence[str] | None,
    seed: int,
    reach: Sequence[int],
    buckets: float,
    include: Sequence[str] | None,
    position: str | None,
    shards: int,
    format: str | None,  # noqa: A002 - as everywhere
    nulls: str,
    growth: float,
    first_room: int,
    keep_commits: int,
    keep_for: Any,
    keep_followed: Any,
    history: str | None,
    roots: Sequence[str | os.PathLike[str]] | None,
) -> LifeDefinition:
    """Check the answers and return the definition. Raises BadDefinition and its kin."""
    keys = key_names(key)
    for role, given in (("counts", counts), ("spans", spans)):
        if given is not None and not isinstance(given, Mapping):
            raise BadDefinition(f"{role}={given!r}: give columns with their windows, as a dict.")
    named = [*(("key", name) for name in keys), ("inserted", inserted), ("expires", expires)]
    named += [("lifetime", lifetime), *(("counts", name) for name in counts or {})]
    named += [("spans", name) for name in spans or {}]
    for role, name in named:
        check_column(role, name, schema)
    check_names(schema)
    if inserted is None:
        raise BadDefinition("inserted= names no column. Give the column of insertion times.")
    traits = find_method(method)
    sizes = _check_ends(schema, inserted, expires, lifetime, counts, traits.counts)
    slotting = ends(schema.field(inserted).type, refresh, origin, zone)
    sides = read_grid(grid)
    definition = LifeDefinition(
        **shared_answers(
            schema,
            needed={*keys, inserted, expires, lifetime, *sizes, *(spans or {})} - {None},
            key=keys,
            position=position,
            pointer=None,
            include=include,
            shards=shards,
            format=_format(traits.reclusters, format),
            nulls=nulls,
            growth=growth,
            first_room=first_room,
            keep_commits=keep_commits,
            keep_for=keep_for,
            keep_followed=keep_followed,
            history=history,
            roots=roots,
        ),
        time=inserted,
        slotting=slotting,
        update=METHOD_UPDATES[traits.reclusters],
        expires=expires,
        lifetime=lifetime,
        counts=sizes,
        spans=_spans(schema, slotting, inserted, spans, traits.counts),
        window=_window(slotting, max_lifetime, refresh),
        sides=sides,
        method=method,
        partition=read_partition(method, partition),
        seed=whole_number("seed", seed, 0),
        reach=_reach(reach),
        buckets=_buckets(buckets),
    )
    _check(definition)
    return definition


def redefine_life(
    definition: LifeDefinition,
    *,
    method: str | None,
    grid: str | Sequence[int] | None,
    partition: Sequence[str] | None,
    shards: int | None,
    format: str | None,  # noqa: A002 - as everywhere
) -> LifeDefinition:
    """The definition with some answers changed; None leaves an answer as it is.

    Raises BadDefinition and its kin.
    """
    held = definition
    name = held.method if method is None else method
    traits = find_method(name)
    if traits.counts != bool(held.counts):
        raise BadDefinition(
            f"method={name!r} {'guesses' if traits.counts else 'knows'} when rows end, and this "
            f"index {'guesses' if held.counts else 'knows'} it. Choose a method of the same sort."
        )
    sides = held.sides if grid is None else read_grid(grid)
    stays = traits.reclusters == find_method(held.method).reclusters
    stored = held.format
    if format is not None or not stays:
        stored = _format(traits.reclusters, format)
        stored = find_format(stored).settled(stored)
    if partition is None:
        partition = _sides_kept(held, name)
    later = replace(
        held,
        method=name,
        sides=sides,
        partition=read_partition(name, partition),
        update=METHOD_UPDATES[traits.reclusters],
        format=stored,
        former_formats=tuple(sorted({*held.former_formats, held.format} - {stored})),
        shards=held.shards if shards is None else whole_number("shards", shards, 1),
    )
    _check(later)
    return later


def _check(definition: LifeDefinition) -> None:
    check_parts(definition.shards, math.prod(definition.sides))
    _ = definition.spec.key_type, definition.grid, definition.rooms
    definition.technique.check(definition.spec, definition.package)
    definition.package.check(definition.spec)


def _check_ends(
    schema: pa.Schema,
    inserted: str,
    expires: str | None,
    lifetime: str | None,
    counts: Mapping[str, int] | None,
    guesses: bool,
) -> dict[str, int]:
    """The windows that are counted, if any.

    Exactly one of the three ways to tell an end must be given.
    """
    given = [name for name in (expires, lifetime) if name]
    if guesses and (given or not counts):
        raise BadDefinition(
            "A method of counted windows guesses when rows end. Give counts={column of positions: "
            "rows of the window}, and neither expires= nor lifetime=."
        )
    if not guesses and (counts or len(given) != 1):
        raise BadDefinition(
            "Say when rows end: either expires=, a column of times, or lifetime=, a column of how "
            "long they live (counts= goes with the methods count-rebuild and count-no-rebuild)."
        )
    if inserted in given:
        raise BadDefinition(
            f"Column {inserted!r} cannot say both when rows are inserted and when they end. Name "
            "another for one of them."
        )
    birth = schema.field(inserted).type
    if expires is not None and schema.field(expires).type != birth:
        raise BadDefinition(
            f"Column {expires!r} is of type {schema.field(expires).type} and {inserted!r} of "
            f"{birth}. Cast one to the other."
        )
    if lifetime is not None:
        kind = schema.field(lifetime).type
        if pt.is_date(birth):
            raise BadDefinition(
                f"Column {inserted!r} has dates, and lifetime= goes with timestamps and whole "
                f"numbers. Cast {inserted!r} to a timestamp, or give expires=, a column of the "
                "dates on which rows end."
            )
        fits = pt.is_integer(kind) if pt.is_integer(birth) else pt.is_duration(kind)
        if not fits:
            raise BadDefinition(
                f"Column {lifetime!r} is of type {kind}: a lifetime is a duration where "
                f"{inserted!r} is a timestamp, and an integer where it is one. Cast it, or give "
                "expires= instead."
            )
    for name, size in (counts or {}).items():
        whole_number(f"counts[{name!r}]", size, 1)
        if not pt.is_integer(schema.field(name).type):
            raise BadDefinition(f"Column {name!r} holds no positions: they are whole numbers.")
    return dict(counts or {})


def _window(slotting: Ends, max_lifetime: Any, refresh: Any) -> int:
    """The bound on lifetimes in refreshes."""
    try:
        longest = slotting.length(max_lifetime)
    except BadTime as error:
        raise BadDefinition(f"max_lifetime={max_lifetime!r} is no duration. {error}") from error
    count, rest = divmod(longest, slotting.width)
    if rest or not count:
        raise BadGrid(
            f"max_lifetime={max_lifetime!r} is not a whole number of refreshes of {refresh!r}. "
            f"Give {slotting.said(count)} or {slotting.said(count + 1)}."
            if count
            else f"max_lifetime={max_lifetime!r} is shorter than a refresh of {refresh!r}. Give at "
            f"least {slotting.said(1)}."
        )
    if count > REFRESHES_MAX:
        raise BadGrid(
            f"max_lifetime={max_lifetime!r} is {count:,} refreshes of {refresh!r}, and at most "
            f"{REFRESHES_MAX:,} are planned for. Refresh less often."
        )
    return count


def _spans(
    schema: pa.Schema,
    slotting: Ends,
    inserted: str,
    spans: Mapping[str, Any] | None,
    guesses: bool,
) -> dict[str, int]:
    """The windows of the rows that an entry was made of, as ordinals."""
    if spans and guesses:
        raise BadDefinition("spans= are windows in time, and those of this method are counted.")
    found = {}
    for name, span in (spans or {}).items():
        if schema.field(name).type != schema.field(inserted).type:
            raise BadDefinition(f"Column {name!r} is not of the type of {inserted!r}. Cast it.")
        try:
            found[name] = slotting.length(span)
        except BadTime as error:
            raise BadDefinition(f"spans[{name!r}]={span!r} is no duration. {error}") from error
    return found


def read_grid(grid: Any) -> tuple[int, int]:
    """The rows and columns of a grid, of two numbers or of a text. Raises BadGrid or BadDefinition.

    >>> read_grid((2, 4)), read_grid("2x4")
    ((2, 4), (2, 4))
    """
    if isinstance(grid, str):
        grid = read_shape(grid) or grid
    if not isinstance(grid, Sequence) or isinstance(grid, str) or len(grid) != 2:
        raise BadGrid(
            f"grid={grid!r}: give the partitions of insertions and of expirations, as (2, 2) or "
            "'2x2'."
        )
    return whole_number("grid", grid[0], 1), whole_number("grid", grid[1], 1)


def read_shape(text: str) -> tuple[int, int] | None:
    """The two numbers of a grid in a text, whatever they are; None where there are no two.

    >>> read_shape("2x4"), read_shape(" 2 X 4 "), read_shape("2,4")
    ((2, 4), (2, 4), None)
    """
    shape = _SHAPE.fullmatch(text.strip())
    return None if shape is None else (int(shape[1]), int(shape[2]))


def read_partition(method: str, partition: Sequence[str] | None) -> tuple[str, str]:
    """How insertions and expirations are partitioned: as given, or else as the method does it.

    Raises BadGrid.
    """
    traits = find_method(method)
    if partition is None:
        return traits.births, traits.deaths
    if isinstance(partition, str) or not isinstance(partition, Sequence) or len(partition) != 2:
        raise BadGrid(
            f"partition={partition!r}: give that of insertions and that of expirations, as "
            "('round-robin', 'round-robin')."
        )
    births, deaths = partition
    if traits.births == WAVE and births == CHRONOLOGICAL:
        births = WAVE  # The papers call a wave chronological, and it is.
    return births, deaths


def _sides_kept(held: LifeDefinition, method: str) -> tuple[str, str]:
    """The partitions after a change of method.

    A side stays where it was a choice and still may be one. Otherwise it is the method's own.
    """

    def kept(side: str, given: str) -> str:
        fitting = allowed(method, side)
        chosen = len(allowed(held.method, side)) > 1
        return given if chosen and given in fitting else fitting[0]

    births, deaths = held.partition
    return kept("births", births), kept("deaths", deaths)


def _reach(reach: Any) -> tuple[int, int]:
    if isinstance(reach, str) or not isinstance(reach, Sequence) or len(reach) != 2:
        raise BadGrid(
            f"reach={reach!r}: give the slots before and after the present one, as (1, 1)."
        )
    return whole_number("reach", reach[0], 0), whole_number("reach", reach[1], 0)


def _buckets(buckets: Any) -> float:
    if isinstance(buckets, bool) or not isinstance(buckets, int | float):
        raise BadDefinition(f"buckets={buckets!r} is no number of buckets for a key.")
    return float(buckets)


def _format(reclusters: bool, format: str | None) -> str:  # noqa: A002 - as everywhere
    """The format that goes with a method: chained buckets where nothing is reclustered."""
    if reclusters:
        return "arrow" if format is None else format
    if format not in (None, CHAINED):
        raise BadDefinition(
            f"format={name_of(format)!r} does not go with methods that recluster nothing: their "
            "sub-indexes are chained buckets. Leave format= out."
        )
    return CHAINED
