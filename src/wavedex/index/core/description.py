"""What an index holds and what its planner promises, as plain JSON for people and programs."""

from __future__ import annotations

from typing import Any

from wavedex.index.core.definition import Definition
from wavedex.log.manifest import Manifest, SubIndex


def describe(definition: Definition, manifest: Manifest) -> dict[str, Any]:
    """Describe the index at one commit. COST: that of its manifest, however many rows there are."""
    draining = {name: sub for name, sub in manifest.draining.items() if not sub.is_over}
    return {
        "kind": definition.kind,
        "commit": manifest.commit,
        "written_at": manifest.written_at,
        "columns": {field.name: str(field.type) for field in definition.schema},
        "key": definition.key if isinstance(definition.key, str) else list(definition.key),
        "time": definition.time,
        "zone": definition.zone,
        "update": definition.update,
        "format": definition.format,
        "roots": list(definition.roots),
        "shards": definition.shards,
        **definition.describe(manifest),
        "work": [done._asdict() for done in manifest.work],
        "bytes": sum(file.bytes for file in manifest.files.values()),
        "sub_indexes": {name: _describe(sub) for name, sub in manifest.indexes.items()},
        "draining": {name: _describe(sub) for name, sub in draining.items()},
        "temporaries": {name: _describe(sub) for name, sub in manifest.temps.items()},
        "open": None if manifest.open is None else _describe(manifest.open),
        "streams": {
            name: {"batch": progress.batch, "watermark": progress.watermark}
            for name, progress in manifest.sources.streams.items()
        },
        "watermarks": {
            name: definition.slotting.moment(progress.watermark)
            for name, progress in manifest.sources.streams.items()
            if progress.watermark is not None
        },
        "keep_followed": str(definition.keep_followed),
        "preparation_owed": bool(manifest.owed),
        "totals": dict(manifest.totals),
    }


def _describe(sub: SubIndex) -> dict[str, Any]:
    return {
        "slots": sorted(sub.slots),
        "rows": sub.rows,
        "rows_hidden": sub.rows_hidden,
        "bytes": sub.bytes,
        "parts": max((len(parts) for parts in sub.shards), default=0),
        "commit": sub.commit,
    }
