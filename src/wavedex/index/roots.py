"""Several disks: where the files of an index lie that was created with `roots`, and what to say where one is not there."""

from __future__ import annotations

from wavedex.errors import RootMissing
from wavedex.index.definition import Definition
from wavedex.index.surroundings import Surroundings
from wavedex.log import DATA, Manifest, folder_of
from wavedex.slots import Slotting
from wavedex.store.access import AnyFiles
from wavedex.store.part import to_ranges
from wavedex.store.spread import SpreadFiles


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

    One that holds no slot is no harm to whoever is only `reading`.
    """
    missing = files.missing()
    if not missing:
        return
    lost = []
    for folder, path in missing.items():
        held = frozenset().union(
            *(
                part.shown
                for sub in manifest.shown.values()
                for part in sub.parts
                if any(folder_of(file.name) == folder for file in part.files.values())
            )
        )
        spans = [
            slotting.label(first)
            if first == last
            else f"{slotting.label(first)} to {slotting.label(last)}"
            for first, last in to_ranges(held)
        ]
        if reading and not spans:
            continue
        many = len(held) > 1
        slots = f"the slot{'s' * many} {', '.join(spans)}" if spans else "no slot"
        lost.append(f"{path}, which holds {slots}")
    if not lost:
        return
    raise RootMissing(
        f"The index lacks {' and '.join(lost)}. Mount that disk again, or build the index anew from its source."
    )
