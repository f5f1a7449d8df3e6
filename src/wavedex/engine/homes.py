"""Which disk a sub-index lives on, where there are several (Section 8): the one it is on, or the one with the least to hold.

Sub-indexes as a whole lie on one disk, so that what one disk builds the others need not wait for, and a query asks all of
them at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from wavedex.files.names import folder_of
from wavedex.log.manifest import SubIndex
from wavedex.store.part import Part


def place(
    homes: Sequence[str], present: Mapping[str, SubIndex], names: Iterable[str]
) -> dict[str, str]:
    """The folder for new files of each name. One that has files already goes on where they are."""
    if len(homes) == 1:
        return dict.fromkeys(names, homes[0])
    held = Counter[str]()
    for sub in present.values():
        held.update(_bytes_by_folder(sub.parts))
    placed = Counter[str]()
    found = {}
    for name in names:
        own = _bytes_by_folder(present[name].parts) if name in present else Counter()
        known = [home for home, _ in own.most_common() if home in homes]
        found[name] = known[0] if known else min(homes, key=lambda home: (placed[home], held[home]))
        placed[found[name]] += 1
    return found


def settled_homes(
    homes: Mapping[str, str], drafts: Mapping[str, Sequence[Part]]
) -> dict[str, list[str]]:
    """The names for each folder: that in which the parts lie from which they start, or else their own."""
    known = set(homes.values())
    found: dict[str, list[str]] = {}
    for name, parts in drafts.items():
        folder = folder_of(parts[0].files["rows"].name) if parts else ""
        found.setdefault(folder if folder in known else homes[name], []).append(name)
    return found


def _bytes_by_folder(parts: Iterable[Part]) -> Counter[str]:
    found = Counter[str]()
    for part in parts:
        for file in part.files.values():
            found[folder_of(file.name)] += file.bytes
    return found
