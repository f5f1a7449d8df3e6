"""Are these answers a wave index? Checks what a user says when one is created or migrated.

Makes the definition of it. Nothing is guessed and nothing is touched. What does not go together is
refused by name, with what to say instead.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from wavedex import slots
from wavedex.errors import BadDefinition, BadTime, UnknownScheme
from wavedex.index.core.answers import (
    check_choice,
    check_column,
    check_names,
    check_parts,
    key_names,
    shared_answers,
)
from wavedex.index.core.definition import whole_number, window_of
from wavedex.index.wave.definition import WaveDefinition
from wavedex.plan import SCHEMES, options_of
from wavedex.store.formats import FORMATS, find_format, name_of

SIZES_MAX = 100_000
"""How far `sizes` may reach. A gap in them is a slot without rows, and each slot is looked at."""


def define(
    schema: pa.Schema,
    *,
    key: str | Sequence[str],
    position: str | None,
    pointer: Sequence[str] | None,
    time: str | None,
    slot: str | int | dt.timedelta | None,
    zone: str,
    origin: Any,
    window: int | str | dt.timedelta,
    indexes: int | None,
    scheme: str,
    update: str,
    include: Sequence[str] | None,
    shards: int,
    format: str,  # noqa: A002 - the contract's name
    nulls: str,
    late: str,
    max_gap: int | None,
    growth: float,
    first_room: int,
    spread: bool,
    keep_commits: int,
    keep_for: Any,
    keep_followed: Any,
    history: str | None,
    max_size: int | None,
    sizes: Mapping[Any, int] | None,
    roots: Sequence[str | os.PathLike[str]] | None,
) -> WaveDefinition:
    """Check the answers and return the definition. Raises BadDefinition and its kin."""
    keys = key_names(key)
    for role, name in (*(("key", name) for name in keys), ("time", time)):
        check_column(role, name, schema)
    check_names(schema)
    time_type = None if time is None else schema.field(time).type
    slotting = slots.slotting(time_type, slot, zone, origin)
    window = window_of(window, slotting)
    indexes = min(4, window) if indexes is None else whole_number("indexes", indexes, 1)
    check_choice("late", late, ("error", "drop"))
    definition = WaveDefinition(
        **shared_answers(
            schema,
            needed={*keys, time},
            key=keys,
            position=position,
            pointer=pointer,
            include=include,
            shards=shards,
            format=format,
            nulls=nulls,
            growth=growth,
            first_room=first_room,
            keep_commits=keep_commits,
            keep_for=keep_for,
            keep_followed=keep_followed,
            history=history,
            roots=roots,
        ),
        time=time,
        slotting=slotting,
        window=window,
        indexes=indexes,
        scheme_name=scheme,
        update=update,
        late=late,
        max_gap=None if max_gap is None else whole_number("max_gap", max_gap, 0),
        spread=bool(spread),
        max_size=None if max_size is None else whole_number("max_size", max_size, 1),
        sizes=_sizes(sizes, slotting),
    )
    _check(definition)
    return definition


def redefine(
    definition: WaveDefinition,
    *,
    scheme: str | None,
    indexes: int | None,
    window: int | str | dt.timedelta | None,
    update: str | None,
    format: str | None,  # noqa: A002 - the contract's name
    shards: int | None,
    max_size: int | None,
    sizes: Mapping[Any, int] | None,
) -> WaveDefinition:
    """The definition with some answers changed; None leaves an answer as it is.

    What only the old scheme needs goes with it. A shorter window has no more sub-indexes than
    slots. Raises BadDefinition and its kin.
    """
    held = definition
    window = held.window if window is None else window_of(window, held.slotting)
    indexes = min(held.indexes, window) if indexes is None else whole_number("indexes", indexes, 1)
    scheme = held.scheme_name if scheme is None else scheme
    _check_scheme(scheme)
    known = options_of(scheme)
    stored = held.format if format is None else find_format(format).settled(format)
    later = replace(
        held,
        scheme_name=scheme,
        indexes=indexes,
        window=window,
        update=held.update if update is None else update,
        format=stored,
        former_formats=tuple(sorted({*held.former_formats, held.format} - {stored})),
        shards=held.shards if shards is None else whole_number("shards", shards, 1),
        max_size=(held.max_size if "max_size" in known else None)
        if max_size is None
        else whole_number("max_size", max_size, 1),
        sizes=(held.sizes if "sizes" in known else {})
        if sizes is None
        else _sizes(sizes, held.slotting),
    )
    _check(later)
    return later


def _check(definition: WaveDefinition) -> None:
    """Whether the answers go together. Raises BadDefinition and its kin."""
    check_parts(definition.shards, definition.indexes)
    _check_scheme(definition.scheme_name)
    known = options_of(definition.scheme_name)
    for option, value in (("max_size", definition.max_size), ("sizes", definition.sizes)):
        if value and option not in known:
            raise BadDefinition(
                f"{option}= goes with schemes that weigh slots, not with "
                f"{definition.scheme_name!r}."
            )
    _ = definition.spec.key_type, definition.scheme, definition.rooms
    check_package(definition)


def _check_scheme(scheme: Any) -> None:
    if not isinstance(scheme, str):
        raise UnknownScheme(f"scheme={scheme!r} is no name. Choose one of {', '.join(SCHEMES)}.")
    if scheme not in SCHEMES:
        raise UnknownScheme(f"There is no scheme {scheme!r}. Choose one of {', '.join(SCHEMES)}.")


def check_package(definition: WaveDefinition) -> None:
    """Raise BadDefinition where scheme and technique ask more of a package than it can do."""
    update, package, name = definition.update, definition.package, name_of(definition.format)
    if name not in definition.technique.formats:
        able = (each for each, found in FORMATS.items() if found.updates is not None)
        raise BadDefinition(
            f"update={update!r} changes its files, and files of format={name!r} cannot be "
            "changed. Use update='runs' or 'packed-shadow', or one of the formats "
            f"{', '.join(map(repr, able))}."
        )
    writes_anew = not definition.technique.writes_into_files
    if definition.scheme.needs_delete and not (writes_anew or package.deletes):
        raise BadDefinition(
            f"format={name!r} cannot delete, and scheme={definition.scheme_name!r} with "
            f"update={update!r} deletes from a sub-index. Choose another scheme, or update='runs' "
            "or 'packed-shadow', which write the sub-index anew."
        )
    definition.technique.check(definition.spec, package)
    package.check(definition.spec)


def _sizes(sizes: Mapping[Any, int] | None, slotting: slots.Slotting) -> dict[int, int]:
    """The rows of slots that are to come, by number. Raises BadDefinition."""
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping) or not sizes:
        raise BadDefinition(
            f"sizes={sizes!r}: give the rows of each slot that is to come, such as {{17: 300, 18: "
            "250}."
        )
    try:
        numbers = [slotting.number(slot) for slot in sizes]
    except BadTime as error:
        raise BadDefinition(f"sizes names a slot that is none. {error}") from error
    if len(set(numbers)) < len(numbers):
        raise BadDefinition("sizes names a slot twice. Give the rows of each slot once.")
    if max(numbers) - min(numbers) >= SIZES_MAX:
        raise BadDefinition(
            f"sizes reaches from slot {min(numbers)} to slot {max(numbers)}, and {SIZES_MAX:,} "
            "slots are the most. Give those that come first."
        )
    return {
        number: whole_number("sizes", rows, 0)
        for number, rows in zip(numbers, sizes.values(), strict=True)
    }
