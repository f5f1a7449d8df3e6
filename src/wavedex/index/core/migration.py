"""A change in how an index is kept: what every kind does to migrate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd

from wavedex.errors import BadDefinition
from wavedex.index.core.arrival import Arriving, nothing
from wavedex.index.core.definition import Definition
from wavedex.index.core.writer import D, Writer
from wavedex.log.manifest import Manifest
from wavedex.store.part import Part

STRATEGIES = ("rebuild", "drain")


@dataclass(frozen=True)
class Migrated:
    """What a migration did."""

    commit: int
    """The commit from which on the index is kept as `changed` says."""
    changed: dict[str, object]
    """What was changed, by name. Empty where the index was kept so before."""


def bring(
    writer: Writer[D],
    change: Callable[[D], D],
    strategy: str,
    carry_out: Callable[[Manifest, D], Manifest],
) -> Migrated:
    """Bring an index of any kind to what `change` makes of its definition.

    `carry_out` commits it.
    """
    if strategy not in STRATEGIES:
        raise BadDefinition(f"strategy={strategy!r} is none of {', '.join(map(repr, STRATEGIES))}.")
    with writer.writing() as manifest:
        later = change(writer.definition)
        changed = _changed_settings(writer.definition, later, strategy)
        if not changed:
            return Migrated(manifest.commit, {})
        later.check_place(writer.workshop.files)
        manifest = carry_out(manifest, later)
        writer.finish(manifest)
    return Migrated(manifest.commit, changed)


def _changed_settings(before: Definition, later: Definition, strategy: str) -> dict[str, object]:
    """What a migration changes, by the names that users know.

    Raises BadDefinition where it cannot be drained.
    """
    changed = before.settings_for(later)
    if "file_format" in changed:
        changed["format"] = changed.pop("file_format")
        del changed["former_formats"]
    if strategy == "drain" and later.shards != before.shards:
        raise BadDefinition(
            f"shards={later.shards} changes where every key lies, and sub-indexes that drain have "
            f"theirs in {before.shards}. Rebuild it instead: strategy='rebuild', which is what "
            "happens without --drain."
        )
    return changed


def place_parts(before: Definition, later: Definition, parts: list[tuple[Part, ...]]) -> Arriving:
    """The same rows for the shards of the later definition.

    If neither the shards nor the format change, parts stay as they are. Otherwise each shard takes
    its rows from the old shards that can have any.
    """
    if not parts:
        return nothing(later)
    if (later.shards, later.format) == (before.shards, before.format):
        return replace(nothing(later), staged=tuple(parts))
    # Two shard numbers can belong to one hash if they leave the same rest by the greatest common
    # divisor.
    step = gcd(before.shards, later.shards)
    staged = [
        tuple(part for old in range(shard % step, before.shards, step) for part in parts[old])
        for shard in range(later.shards)
    ]
    return replace(nothing(later), staged=tuple(staged), mixed=True)
