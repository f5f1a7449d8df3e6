"""Chooses the disk that a sub-index lives on, where there are several (Section 8).

A sub-index stays on the disk it is on. A new one goes to the disk with the least to hold.
Each lies on one disk as a whole. So no disk waits for what another builds, and a query asks all of
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
    """The names for each folder: where the parts lie that a name starts from, or else its own."""
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
