"""Erasing keys: all rows of some keys leave every file. Hiding them from readers would not do.

The parts that have such rows are written anew without them, in one commit. Then every earlier
commit is let go of, with the files that only those name. What it costs is the shards that hold the
keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.engine.change import Change
from wavedex.errors import EraseUnfinished, PreparationOwed
from wavedex.files.contract import AnyFiles
from wavedex.index.core.arrival import nothing
from wavedex.index.core.definition import Definition
from wavedex.index.core.writer import PATIENCE_S, Writer
from wavedex.index.reading.asked import Asked
from wavedex.index.reading.snapshot import Snapshot, open_newest
from wavedex.log.manifest import Log, Manifest, Notes
from wavedex.plan import Erase


@dataclass(frozen=True)
class Erased:
    """What an erase did."""

    commit: int
    """The commit from which on the rows are gone."""
    rows: int
    """How many entries are gone, from the window and from what a soft window still held."""


def erase(writer: Writer[Any], files: AnyFiles, keys: Iterable[Any]) -> Erased:
    """Erase all rows of the keys. Raises BadKey, EraseUnfinished and what a write raises."""
    with writer.writing() as manifest:
        writer.check_all_trusted()
        definition = writer.definition
        erased, gone = _look_up(definition, files, manifest, keys)
        if not len(erased):
            return Erased(manifest.commit, 0)
        manifest = writer.prepare(manifest)
        change = Change(
            name="erase",
            state=writer.grown(manifest, gone),
            rows=nothing(definition),
            operations=tuple(map(Erase, manifest.everything)),
            keys=erased,
            notes=Notes(gone=gone, floor=manifest.commit + 1),
        )
        manifest = writer.commit(manifest, change)
        _clear_away(writer, files, manifest)
    return Erased(manifest.commit, -sum(gone.values()))


def _look_up(
    definition: Definition, files: AnyFiles, manifest: Manifest, keys: Iterable[Any]
) -> tuple[pa.Array, dict[int, int]]:
    """The keys, and how many rows each slot has of them.

    Nothing is held open once it returns, since it is to be cleared away.
    """
    with open_newest(definition, files, manifest) as snapshot:
        erased = snapshot.keys_of(keys)
        return erased, _count(snapshot, erased)


def _count(snapshot: Snapshot, keys: pa.Array) -> dict[int, int]:
    """How many rows fewer each slot will have, as numbers below 0."""
    definition = snapshot.definition
    gone: Counter[int] = Counter()
    for batch in snapshot.entries_of(keys, Asked(expired=True)):
        slots = definition.slotting.slots_of(definition.spec.ordinals(batch))
        found, counts = np.unique(slots, return_counts=True)
        gone.subtract(dict(zip(found.tolist(), counts.tolist(), strict=True)))
    return dict(gone)


def _clear_away(writer: Writer[Any], files: AnyFiles, manifest: Manifest) -> None:
    """Remove every commit before this one, and their files. Raises EraseUnfinished if one stays."""
    try:
        writer.finish(manifest)
    except PreparationOwed as error:
        raise EraseUnfinished(
            "Nobody finds the rows any more, but files that have them could not be removed: "
            f"{error.__cause__} Call vacuum, or erase again, once that is put right."
        ) from error
    held = [f"commit {number}" for number in Log(files).commits() if number < manifest.commit]
    held += writer.sweep(PATIENCE_S)
    if held:
        raise EraseUnfinished(
            f"Nobody finds the rows any more, but a reader holds {held[0]}, and with it what has "
            "them. Close that snapshot, or end that reader, and call vacuum."
        )
