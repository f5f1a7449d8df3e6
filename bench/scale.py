"""How large can it get?

The figures of docs/scale.md, from the planners and from a few measured constants.
`python -m bench.scale` measures the constants here and prints the page's tables. A small index of
the same shape says how many slots a transition writes; the constants say what a slot, a part and a
file cost. Nothing here runs at that scale.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pyarrow as pa

import wavedex as wx
from bench.report import describe_machine
from bench.workload import SCHEMA, make_workload
from wavedex.files.local import FileRef
from wavedex.log.manifest import Log, Manifest, SubIndex
from wavedex.store.part import Part

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- tables: python -m bench.scale --write -->", "<!-- end -->"
TB = 10**12
WINDOW_BYTES = 100 * TB
WINDOW = 30
INDEXES = 4
EXECUTORS = 1_000
CORES = 4
"""Cores of an executor."""
ROW_BYTES = 100
SHARDS = 7_500
"""As many as the limit of 30,000 parts leaves with 4 sub-indexes."""


@dataclass(frozen=True)
class Work:
    """Slots written a transition, on average over a cycle.

    Until the new slot can be queried, and afterwards.
    """

    transition: float
    preparation: float
    held: int


def work_of(name: str, update: str, window: int = WINDOW, indexes: int = INDEXES) -> Work:
    """Slide a small index for two windows, one row a slot.

    The rows of the files that were written are counted.
    """
    schema = pa.schema([("key", pa.int64()), ("at", pa.int64())])
    written = {"append": 0, "prepare": 0}
    held, steps = 0, 2 * window
    with tempfile.TemporaryDirectory() as folder:
        idx = wx.WaveIndex.create(
            Path(folder) / "x", schema, key="key", time="at", slot=1, window=window,
            indexes=indexes, shards=1, scheme=name, update=update, keep_commits=4,
        )  # fmt: skip
        log = Log(idx.storage)
        idx.append(pa.table({"key": [0] * window, "at": range(window)}, schema))
        for slot in range(window, window + steps):
            last = log.latest()
            idx.append(pa.table({"key": [0], "at": [slot]}, schema))
            for number in range(last.commit + 1, log.commits()[-1] + 1):
                manifest = log.read(number)
                written[manifest.operation] += _rows_written(last, manifest)
                last = manifest
            held = max(held, sum(len(sub.slots) for sub in last.indexes.values()))
    return Work(written["append"] / steps, written["prepare"] / steps, held)


def _rows_written(before: Manifest, after: Manifest) -> int:
    parts = {
        part.files["rows"].name: part for sub in after.everything.values() for part in sub.parts
    }
    return sum(part.rows for name, part in parts.items() if name not in before.files)


def measure_constants(rows: int = 1_000_000) -> dict[str, float]:
    """What a byte, a part and a file cost on this machine, on one core."""
    work = make_workload("uniform", 4, rows, 1, seed=7)
    with tempfile.TemporaryDirectory() as folder:
        idx = wx.WaveIndex.create(
            Path(folder) / "x", SCHEMA, key="key", time="at", window=4, indexes=1, shards=1,
            scheme="reindex", update="packed-shadow",
        )  # fmt: skip
        begun = time.perf_counter()
        idx.append(work.slots[0])
        build_s = time.perf_counter() - begun
        slot_bytes = idx.describe()["bytes"]
        idx.append(pa.concat_tables(work.slots[1:3]))
        begun = time.perf_counter()
        idx.append(work.slots[3])
        merge_s = time.perf_counter() - begun
        merged_bytes = idx.describe()["bytes"]
    manifest = _large_manifest(SHARDS, INDEXES)
    begun = time.perf_counter()
    data = manifest.to_bytes()
    write_s = time.perf_counter() - begun
    begun = time.perf_counter()
    Manifest.from_bytes(data, "manifest")
    read_s = time.perf_counter() - begun
    return {
        "build_mb_s": slot_bytes / build_s / 1e6,
        "merge_mb_s": merged_bytes / merge_s / 1e6,
        "file_to_raw": slot_bytes / work.slots[0].nbytes,
        "manifest_bytes_a_part": len(data) / (SHARDS * INDEXES),
        "manifest_write_s": write_s,
        "manifest_read_s": read_s,
    }


def _large_manifest(shards: int, indexes: int) -> Manifest:
    """A manifest as large as the one of docs/scale.md, of files that are not there."""

    def part(name: str) -> Part:
        slots = frozenset(range(20_000, 20_008))
        files = {
            role: FileRef(f"data/0000012345-0123abcd-1a2b3c-00000-0.{ending}", 10**9, "0" * 16)
            for role, ending in (("rows", "arrow"), ("directory", "dir"))
        }
        return Part("packed", files, slots, slots, 10**8)

    subs = {
        f"I{number}": SubIndex(frozenset(range(8)), tuple((part(""),) for _ in range(shards)))
        for number in range(1, indexes + 1)
    }
    return Manifest(1, "append", "2026-01-01T00:00:00+00:00", {"newest": 8}, subs)


def tables(constants: dict[str, float]) -> str:
    """The tables of docs/scale.md."""
    slot_bytes = WINDOW_BYTES / WINDOW
    file_bytes = slot_bytes * constants["file_to_raw"]
    cores = EXECUTORS * CORES
    lines = [
        (
            "| scheme, update | slots written first | TB | s "
            "| slots written later | TB | s | TB held at most |"
        ),
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, update in (
        ("wata", "runs"),
        ("wata", "packed-shadow"),
        ("rata", "runs"),
        ("reindex", "packed-shadow"),
        ("del", "runs"),
    ):
        work = work_of(name, update)
        first, later = (count * file_bytes for count in (work.transition, work.preparation))
        seconds = first / (constants["build_mb_s"] * 1e6 * cores)
        after = later / (constants["merge_mb_s"] * 1e6 * cores)
        lines.append(
            f"| `{name}`, `{update}` | {work.transition:.1f} | {first / TB:.1f} | {seconds:.0f} "
            f"| {work.preparation:.1f} | {later / TB:.1f} | {after:.0f} "
            f"| {work.held * file_bytes / TB:.0f} |"
        )
    sub_slots = ceil((WINDOW - 1) / (INDEXES - 1))
    shard_bytes = sub_slots * file_bytes / SHARDS
    lines += [
        "",
        "| what | how much |",
        "| --- | --- |",
        f"| rows of a slot, of {ROW_BYTES} bytes | {slot_bytes / ROW_BYTES / 1e9:.0f} billion |",
        f"| shards | {SHARDS:,} |",
        (
            f"| bytes of a shard in a full sub-index of {sub_slots} slots "
            f"| {shard_bytes / 1e9:.1f} GB |"
        ),
        f"| rows of it | {sub_slots * slot_bytes / ROW_BYTES / SHARDS / 1e6:.0f} million |",
        f"| memory of a merge of it, three times its bytes | {3 * shard_bytes / 1e9:.0f} GB |",
        f"| files of an append, two a shard | {2 * SHARDS:,} |",
        f"| parts and files in the manifest | {SHARDS * INDEXES:,} and {2 * SHARDS * INDEXES:,} |",
        (
            "| bytes of the manifest "
            f"| {constants['manifest_bytes_a_part'] * SHARDS * INDEXES / 1e6:.0f} MB |"
        ),
        (
            f"| driver: writing it, reading it | {constants['manifest_write_s']:.1f} s, "
            f"{constants['manifest_read_s']:.1f} s |"
        ),
        (
            f"| shuffled by an append | {slot_bytes / TB:.1f} TB, "
            f"{slot_bytes / EXECUTORS / 1e9:.1f} GB an executor |"
        ),
    ]
    return "\n".join(lines)


def page_with(tables: str, machine: str) -> str:
    """The page with these tables in it."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{tables}\n\nMeasured on {machine}.\n\n{END}{rest.split(END)[1]}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    chosen = parser.parse_args(arguments)
    constants = measure_constants()
    machine = describe_machine()
    shown = tables(constants)
    speeds = (
        f"{constants['build_mb_s']:.0f} MB/s to build and "
        f"{constants['merge_mb_s']:.0f} MB/s to merge"
    )
    where = (
        f"one core of {machine['processor']}: {speeds}, "
        f"{constants['file_to_raw']:.2f} bytes on disk a raw byte"
    )
    print(shown, where, sep="\n\n")
    if chosen.write:
        PAGE.write_text(page_with(shown, where), encoding="utf-8")


if __name__ == "__main__":
    main()
