"""A package as a stranger would bring it.

Lines of JSON in a file, with neither addition nor deletion nor an index. Nothing here is known to
the library before `register` is called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from wavedex.errors import BadDefinition
from wavedex.files.contract import AnyFiles
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.formats import register
from wavedex.store.package import Format
from wavedex.store.part import Part, Slots
from wavedex.store.shard import Range, Shard


def build(files: AnyFiles, spec: EntrySpec, stem: str, rows: Pieces, held: Slots) -> Part:
    lines = "".join(json.dumps(row) + "\n" for row in rows.batch().to_pylist())
    ref = files.create(f"{stem}.jsonl", lambda sink: sink.write(lines.encode()))
    files.sync(ref.name)
    return Part("jsonl", {"rows": ref, "directory": ref}, held, held, rows.num_rows)


def check(spec: EntrySpec) -> None:
    for field in spec.schema:
        if field.type not in (pa.int64(), pa.string()):
            raise BadDefinition(f"Lines of JSON have no place for {field.name!r}. Leave it out.")


class Lines(Shard):
    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        super().__init__(files, spec, part)
        self._text = bytes(files.map(part.files["rows"]))

    def _where(self, wanted: Callable[[Any], bool], within: Range | None) -> pa.RecordBatch:
        lines = [json.loads(line) for line in self._text.splitlines()]
        rows = pa.RecordBatch.from_pylist(lines, self.spec.schema)
        key_at = self.spec.key_type.reader(self.spec.keys(rows))
        kept = pa.array([wanted(key_at(place)) for place in range(rows.num_rows)], pa.bool_())
        return self._within(rows.filter(kept), within)

    def probe(self, plain: Any, hashed: int, within: Range | None) -> pa.RecordBatch | None:
        found = self._where(lambda key: key == plain, within)
        return found if found.num_rows else None

    def probe_many(self, keys: pa.Array, hashes: Any, within: Range | None) -> pa.RecordBatch:
        wanted = {*map(self.spec.key_type.reader(keys), range(len(keys)))}
        return self._where(wanted.__contains__, within)

    def probe_range(self, low: Any, high: Any, within: Range | None) -> pa.RecordBatch:
        return self._where(lambda key: low <= key <= high, within)

    def scan(self, within: Range | None) -> pa.RecordBatch:
        return self._where(lambda key: True, within)

    def _rule_findings(self) -> Iterable[str]:
        return ()


JSONL = Format(build, check, {"jsonl": Lines})
register("jsonl", JSONL)
