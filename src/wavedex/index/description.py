"""What an index holds and what its scheme promises, as plain JSON for people and programs."""

from __future__ import annotations

from typing import Any

from wavedex.index.definition import Definition
from wavedex.index.snapshot import window_of
from wavedex.log import Manifest, SubIndex
from wavedex.plan import promise


def describe(definition: Definition, manifest: Manifest) -> dict[str, Any]:
    """Describe the index at one commit. COST: that of its manifest, however many rows there are."""
    window = window_of(definition, manifest)
    label = definition.slotting.label
    held = frozenset().union(window, *(sub.slots for sub in manifest.shown.values()))
    draining = {name: sub for name, sub in manifest.draining.items() if not sub.is_over}
    rows = {slot: manifest.rows.get(slot, 0) for slot in sorted(held)}
    return {
        "commit": manifest.commit,
        "written_at": manifest.written_at,
        "columns": {field.name: str(field.type) for field in definition.schema},
        "key": definition.key if isinstance(definition.key, str) else list(definition.key),
        "time": definition.time,
        "scheme": definition.scheme_name,
        "update": definition.update,
        "format": definition.format,
        "roots": list(definition.roots),
        "window": definition.window,
        "indexes": definition.indexes,
        "shards": definition.shards,
        "hard": definition.scheme.hard and not draining,
        "extra_slots_max": definition.scheme.extra_slots
        + sum(len(sub.slots) - 1 for sub in draining.values()),
        "promise": _promise(definition),
        "work": [done._asdict() for done in manifest.work],
        "rows": sum(rows[slot] for slot in window),
        "bytes": sum(file.bytes for file in manifest.files.values()),
        "slots": [
            {
                "slot": slot,
                "label": label(slot),
                "rows": rows[slot],
                "live": slot in window,
                "open": slot in manifest.open_slots,
            }
            for slot in rows
        ],
        "sub_indexes": {name: _describe(sub) for name, sub in manifest.indexes.items()},
        "draining": {name: _describe(sub) for name, sub in draining.items()},
        "temporaries": {name: _describe(sub) for name, sub in manifest.temps.items()},
        "open": None if manifest.open is None else _describe(manifest.open),
        "streams": {
            name: {"batch": progress.batch, "watermark": progress.watermark}
            for name, progress in manifest.streams.items()
        },
        "preparation_owed": bool(manifest.owed),
        "totals": dict(manifest.totals),
    }


def _promise(definition: Definition) -> dict[str, Any]:
    """How much work the scheme makes of a slot, in slots, and how it is divided."""
    made = promise(definition.scheme)
    return {
        "transition_slots": round(made.transition_slots, 3),
        "preparation_slots": round(made.preparation_slots, 3),
        "transition_share": round(made.transition_share, 3),
        "preparation_share": round(1 - made.transition_share, 3),
    }


def _describe(sub: SubIndex) -> dict[str, Any]:
    return {
        "slots": sorted(sub.slots),
        "rows": sub.rows,
        "bytes": sub.bytes,
        "parts": max((len(parts) for parts in sub.shards), default=0),
    }
