"""The promises about room.

On disk in Arrow and in Parquet, and in a process that imports the library.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import wavedex as wx
from bench.measure import expect
from bench.promised import Scale, promise
from bench.sliding import Watched, measure_probes, run_fresh
from bench.workload import first_slot, make_workload, same_rows
from wavedex.log.manifest import Log
from wavedex.plan import cycle_of

Promises = list[dict[str, Any]]
KINDS = tuple(
    (scheme, update) for scheme in ("wata", "rata") for update in ("runs", "packed-shadow")
)
IMPORT = """
import json, sys, time
begun = time.perf_counter()
__import__(sys.argv[1])
heavy = sorted({"pyspark", "numba", "pandas"} & set(sys.modules))
print(json.dumps([(time.perf_counter() - begun) * 1e3, heavy]))
"""


def measure_disk(room: Path, scale: Scale) -> Promises:
    """The files of the sub-indexes after each slot of a cycle, to the raw rows that they hold.

    Expired slots are included. Beside them the files of the newest commit, which with some schemes
    has temporaries as well, and the whole folder: an index keeps the files of the commit before the
    newest for readers that are just opening it.
    """
    window, promises = scale.window, []
    work = make_workload("uniform", 2 * window, scale.rows, 10, scale.seed)
    for scheme, update in KINDS:
        watched = Watched(
            room / f"{scheme}-{update}.wx", window=window, indexes=4, scheme=scheme, update=update
        )
        watched.append(pa.concat_tables(work.slots[:window]))
        ratios: dict[str, list[float]] = defaultdict(list)
        cycle = cycle_of(watched.idx.definition.scheme)
        for table in work.slots[window : window + cycle]:
            watched.append(table)
            held = {slot for slots in watched.idx.sub_indexes.values() for slot in slots}
            raw = sum(work.slots[slot - first_slot()].nbytes for slot in held)
            for what, size in {
                "files of the sub-indexes": _bytes_of_sub_indexes(watched.idx),
                "files of the newest commit": watched.idx.describe()["bytes"],
                "the whole folder": watched.disk_bytes,
            }.items():
                ratios[what].append(size / raw)
        right = work.window(window + cycle - 1, window)
        keys = sorted(set(work.probes))
        expect(same_rows(watched.idx.probe_many(keys), right.of_keys(keys)), "probe_many")
        for what, values in ratios.items():
            bound = 1.3 if what == "files of the sub-indexes" else None
            name = f"{what} to raw bytes held, `{scheme}` `{update}`"
            promises.append(promise(name, values, bound, "ratio", judged_by="max"))
    return promises


def _bytes_of_sub_indexes(idx: wx.WaveIndex) -> int:
    subs = Log(idx.storage).latest().indexes.values()
    files = {
        ref.name: ref.bytes for sub in subs for part in sub.parts for ref in part.files.values()
    }
    return sum(files.values())


def measure_parquet(room: Path, scale: Scale) -> Promises:
    """An index in Parquet next to the same rows as one plain file of Parquet.

    That file is in the order of time, and in that of key.
    """
    slots = 7
    work = make_workload("uniform", slots, scale.rows, min(scale.probes, 2_000), scale.seed)
    rows = pa.concat_tables(work.slots)
    watched = Watched(room / "parquet.wx", window=slots, indexes=4, format="parquet")
    watched.append(rows)
    watched.settle()
    probe = measure_probes(watched.idx.probe, work.probes, work.window(slots - 1, slots))
    promises = []
    for order, table in (("time", rows), ("key", rows.sort_by("key"))):
        plain = room / f"by-{order}.parquet"
        pq.write_table(table, plain, compression="zstd")
        ratio = watched.disk_bytes / plain.stat().st_size
        name = f"an index in Parquet to a plain file of zstd Parquet in order of {order}"
        promises.append(promise(name, [ratio], 1.2, "ratio", judged_by="max"))
    return [*promises, promise("one probe of Parquet", [probe["median"]], 1_000, "µs")]


def measure_imports(room: Path, scale: Scale) -> Promises:
    """Importing the library next to importing pyarrow, and what comes along.

    By turns, in fresh processes.
    """
    ratios, heavy = [], set()
    for _ in range(scale.repeats):
        arrow, _ = run_fresh(IMPORT, "pyarrow")
        ours, along = run_fresh(IMPORT, "wavedex")
        ratios.append(ours / arrow)
        heavy |= set(along)
    count = (
        "of pyspark, numba and pandas, imported along"
        f"{': ' + ', '.join(sorted(heavy)) if heavy else ''}"
    )
    return [
        promise("importing wavedex to importing pyarrow", ratios, 3, "ratio"),
        promise(count, [float(len(heavy))], 0, "modules", judged_by="max"),
    ]
