"""What an index holds and what its scheme promises, as plain JSON for people and programs."""

from __future__ import annotations

from typing import Any

from wavedex.index.definition import Definition
from wavedex.index.snapshot import window_of
from wavedex.log import Manifest, SubIndex


def describe(definition: Definition, manifest: Manifest) -> dict[str, Any]:
    """Describe the index at one commit. COST: that of its manifest, however many rows there are."""
    window = window_of(definition, manifest)
    label = definition.slotting.label
    held = frozenset().union(window, *(sub.slots for sub in manifest.shown.values()))
    rows = {slot: manifest.rows.get(slot, 0) for slot in sorted(held)}
    return {
        "commit": manifest.commit,
        "written_at": manifest.written_at,
        "columns": {field.name: str(field.type) for field in definition.schema},
        "key": definition.key,
        "time": definition.time,
        "scheme": definition.scheme_name,
        "update": definition.update,
        "format": definition.format,
        "window": definition.window,
        "indexes": definition.indexes,
        "shards": definition.shards,
        "hard": definition.scheme.hard,
        "extra_slots_max": definition.scheme.extra_slots,
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
        "temporaries": {name: _describe(sub) for name, sub in manifest.temps.items()},
        "open": None if manifest.open is None else _describe(manifest.open),
        "streams": {
            name: {"batch": progress.batch, "watermark": progress.watermark}
            for name, progress in manifest.streams.items()
        },
        "preparation_owed": bool(manifest.owed),
        "totals": dict(manifest.totals),
    }


def _describe(sub: SubIndex) -> dict[str, Any]:
    return {
        "slots": sorted(sub.slots),
        "rows": sub.rows,
        "bytes": sub.bytes,
        "parts": max((len(parts) for parts in sub.shards), default=0),
    }
