"""Is everything as it should be? Reads every byte of one commit, checks every checksum and rule.

Reports all that it finds, a line each, and repairs nothing.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator

import numpy as np

from wavedex.errors import Damaged, NotOurs, WavedexError
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.index.core.definition import Definition
from wavedex.log.manifest import Manifest, SubIndex
from wavedex.log.told import Told
from wavedex.plan.slot_set import slots_of, union
from wavedex.progress import step, underway
from wavedex.store.formats import open_shard
from wavedex.store.part import Part

_OUT_OF_REACH = {errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""What the system says of files that may be whole: they cannot be read now, or not by this user."""


def find_damage(definition: Definition, files: AnyFiles, manifest: Manifest) -> list[str]:
    """What is wrong with a commit; empty where all is well."""
    with underway(str(files.root), "verify", *_size(manifest)):
        return _find_damage(definition, files, manifest)


def _size(manifest: Manifest) -> tuple[int, int]:
    """How many rows and bytes there are to read."""
    subs = manifest.everything.values()
    return sum(sub.rows for sub in subs), sum(sub.bytes for sub in subs)


def _find_damage(definition: Definition, files: AnyFiles, manifest: Manifest) -> list[str]:
    findings = list(definition.layout_findings(manifest))
    seen: set[tuple[str, Part | None]] = set()
    for name, sub in manifest.everything.items():
        findings += _check_sub_index(name, sub)
        for shard, parts in enumerate(sub.shards):
            for part in parts:
                about = part.files["directory"].name, part.hidden
                if about not in seen:
                    seen.add(about)
                    findings += _check_part(definition, files, part, shard)
                    step(str(files.root), part.bytes)
    if manifest.told is not None:
        findings += _check_told(files, manifest.told)
    if not findings and definition.counts_slots:
        findings += _check_counts(definition, files, manifest)
    return findings


def _check_told(files: AnyFiles, told: FileRef) -> list[str]:
    try:
        Told.read(files, told)
    except FileNotFoundError:
        return [f"{told.name} is missing"]
    except Damaged as error:
        return list(error.findings)
    return []


def _check_counts(definition: Definition, files: AnyFiles, manifest: Manifest) -> Iterator[str]:
    """Each slot has as many rows in its sub-index as were committed."""
    try:
        noted = manifest.rows
    except Damaged as error:
        yield from error.findings
        return
    found: Counter[int] = Counter()
    for sub in manifest.shown.values():
        for part in sub.parts:
            shard = open_shard(files, definition.spec, part)
            for within in part.ranges(part.shown, definition.slotting):
                ordinals = definition.spec.ordinals(shard.scan(within))
                slots, counts = np.unique(
                    definition.slotting.slots_of(ordinals), return_counts=True
                )
                found.update(dict(zip(slots.tolist(), counts.tolist(), strict=True)))
    # Lines of slots that are held no more may still be there.
    for slot in sorted({*found, *(slots_of(noted) & manifest.held_slots)}):
        if found[slot] != noted.get(slot, 0):
            yield f"slot {slot} has {found[slot]} rows, not {noted.get(slot, 0)}"


def _check_sub_index(name: str, sub: SubIndex) -> Iterator[str]:
    for shard, parts in enumerate(sub.shards):
        shown = union(part.shown for part in parts)
        if not shown <= sub.slots:
            yield f"sub-index {name} shows slots in shard {shard} that it does not hold"


def _check_part(definition: Definition, files: AnyFiles, part: Part, shard: int) -> list[str]:
    try:
        opened = open_shard(files, definition.spec, part)
        findings = opened.findings() or [*opened.placement_findings(shard, definition.shards)]
        if findings:
            return findings
        ordinals = definition.spec.ordinals(opened.scan(None))
        strangers = set(np.unique(definition.slotting.slots_of(ordinals)).tolist()) - part.held
        if strangers:
            findings.append(f"{part.files['rows'].name} has rows of slot {min(strangers)}")
        if definition.spec.birth is not None:
            births = definition.spec.births(opened.scan(None))
            unborn = set(np.unique(definition.slotting.slots_of(births)).tolist()) - part.born
            if unborn:
                findings.append(f"{part.files['rows'].name} has rows born in slot {min(unborn)}")
    except FileNotFoundError as error:
        return [f"{error.filename} is missing"]
    except NotOurs:
        raise
    except Damaged as error:
        return list(error.findings)
    except (WavedexError, MemoryError):
        raise  # A server that is away, a disk that may not be read: nothing is known to be damaged.
    except Exception as error:  # Damaged bytes can make Arrow or NumPy fail in any way.
        if isinstance(error, OSError) and error.errno in _OUT_OF_REACH:
            raise
        return [f"{part.files['rows'].name} or its directory cannot be read ({error})"]
    return findings
