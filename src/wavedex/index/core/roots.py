"""Several disks: where the files of an index with `roots` lie, and what if a disk is missing."""

from __future__ import annotations

from wavedex.errors import RootMissing
from wavedex.files.contract import AnyFiles
from wavedex.files.names import DATA, folder_of
from wavedex.files.spread import SpreadFiles
from wavedex.index.core.definition import Definition
from wavedex.index.core.surroundings import Surroundings
from wavedex.log.manifest import Manifest
from wavedex.plan.slot_set import union
from wavedex.slots import Slotting
from wavedex.store.part import to_ranges


def all_files(own: AnyFiles, definition: Definition, around: Surroundings) -> AnyFiles:
    """The files of an index: those in its own folder, and those in its roots."""
    if not definition.roots:
        return own
    return SpreadFiles(
        own, [around.files(root) for root in definition.roots], DATA, definition.identity
    )


def check_roots(
    files: AnyFiles, slotting: Slotting, manifest: Manifest, reading: bool = False
) -> None:
    """Raise RootMissing where a disk is not there, with the slots whose rows lie on it.

    When only `reading`, a disk may be missing if no file on it is read. Raises NotOurs where the
    roots are those of another index, of which this is a copy.
    """
    missing = files.missing()
    if not missing:
        return
    lost = []
    for folder, path in missing.items():
        parts = [
            part
            for sub in manifest.shown.values()
            for part in sub.parts
            if any(folder_of(file.name) == folder for file in part.all_files)
        ]
        if reading and not parts:
            continue
        held = union(part.shown for part in parts)
        spans = [
            slotting.label(first)
            if first == last
            else f"{slotting.label(first)} to {slotting.label(last)}"
            for first, last in to_ranges(held)
        ]
        many = len(held) > 1
        slots = f"the slot{'s' * many} {', '.join(spans)}" if spans else "no slot"
        lost.append(f"{path}, which holds {slots}")
    if not lost:
        return
    raise RootMissing(
        f"The index lacks {' and '.join(lost)}. Mount that disk again, or build the index anew "
        "from its source."
    )
