"""What does a probe fetch of an index that lies on an object store?

Ranges and bytes, counted where files are read. The store is a folder behind Arrow's interface, so
that no time is measured: how long a request takes is the network's affair. Files are asked at the
same time; `steps` is how many ranges the file has to answer that is asked most often. Answers are
checked. `python -m bench.afar [--quick]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

import wavedex as wx
from bench.command import options, publish, table
from bench.measure import expect
from bench.report import circumstances
from bench.workload import SCHEMA, Workload, make_workload, same_rows
from wavedex.files.contract import FileRef
from wavedex.files.remote import RemoteFiles

Result = dict[str, Any]
FORMATS = ("arrow", "parquet")


class Counted(RemoteFiles):
    """Counts the ranges that are fetched of each file, and the bytes."""

    def __init__(self, system: pafs.FileSystem, base: str) -> None:
        super().__init__(system, base)
        self.begin()

    def begin(self) -> None:
        """Count from here on."""
        self.fetched: Counter[str] = Counter()
        self.bytes = 0

    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> Sequence[pa.Buffer]:
        self.fetched[name] += len(spans)
        self.bytes += sum(stop - start for start, stop in spans)
        return super().ranges(name, spans)

    def map(self, ref: FileRef) -> pa.Buffer:
        self.fetched[ref.name] += 1
        self.bytes += ref.bytes
        return super().map(ref)

    def counts(self) -> Result:
        """What was counted since it began, which then begins anew."""
        most = max(self.fetched.values(), default=0)
        found = {"files": len(self.fetched), "ranges": self.fetched.total(), "steps": most}
        found["kb"] = self.bytes / 1e3
        self.begin()
        return found


def measure(folder: Path, work: Workload, kind: str) -> Result:
    """A first and a second probe of one key each, and a snapshot, which is fetched whole."""
    files = Counted(pafs.SubTreeFileSystem(str(folder), pafs.LocalFileSystem()), f"{kind}.wx")
    around = wx.Surroundings(files=lambda _: files)
    idx = wx.WaveIndex.create(
        f"{kind}.wx", SCHEMA, key="key", time="at", window=len(work.slots), indexes=4,
        update="packed-shadow", format=kind, surroundings=around,
    )  # fmt: skip
    idx.append(pa.concat_tables(work.slots))
    reader = wx.open(f"{kind}.wx", surroundings=around)
    answers = work.window(len(work.slots) - 1, len(work.slots))
    keys = [key for key in dict.fromkeys(work.probes) if answers.of_key(key).num_rows]
    shard = [key for key in keys if _shard(idx, key) == _shard(idx, keys[0])]
    found = {}
    for name, key in (("first", shard[0]), ("second", shard[1]), ("again", shard[1])):
        files.begin()
        expect(same_rows(reader.probe(key), answers.of_key(key)), f"{name} probe")
        found[name] = files.counts()
    reader.snapshot()
    return {**found, "whole": files.counts()}


def _shard(idx: wx.WaveIndex, key: int) -> int:
    definition = idx.definition
    return definition.spec.key_type.hash(key) % definition.shards


def run(settings: Result, folder: Path) -> Result:
    work = make_workload("uniform", settings["slots"], settings["rows"], 100, settings["seed"])
    return {
        **circumstances(settings),
        "results": {kind: measure(folder, work, kind) for kind in FORMATS},
    }


def markdown(report: Result) -> str:
    rows = [
        [kind, name, *(f"{found[name][what]:,.0f}" for what in ("files", "ranges", "steps", "kb"))]
        for kind, found in report["results"].items()
        for name in ("first", "second", "again", "whole")
    ]
    return table(["format", "probe", "files", "ranges", "steps", "kB"], rows)


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("afar", __doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=13)
    chosen = parser.parse_args(arguments)
    slots, rows = (6, 5_000) if chosen.quick else (20, 100_000)
    settings = {"slots": slots, "rows": rows, "seed": chosen.seed}
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(settings, Path(folder))
    publish(report, "afar", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
