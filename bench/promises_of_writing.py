"""The promises about writing: expiry, memory, and cores."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.measure import expect
from bench.promised import Scale, promise
from bench.sliding import Feed, Watched, run_fresh
from bench.workload import SCHEMA, first_slot, make_workload, same_rows
from wavedex.engine.local import LocalEngine
from wavedex.plan import Drop

Promises = list[dict[str, Any]]
EXPIRY = {"window": 6, "indexes": 3, "scheme": "wata", "update": "runs"}
KEYS_CHECKED = 300
DISK_S = 0.5
"""How long the disk is left alone before an expiry."""
SHARDS = 8
MERGES = 2
MERGE = """
import json, sys
import pyarrow as pa
import wavedex
from bench.race.disk import forget_peak_memory, memory_bytes

idx = wavedex.open(sys.argv[1])
with pa.OSFile(sys.argv[2]) as source:
    table = pa.ipc.open_file(source).read_all()
assert forget_peak_memory()
pool = pa.default_memory_pool()
before, allocated = memory_bytes(list), pool.bytes_allocated()
rows = idx.append(table).rows
print(json.dumps([memory_bytes(list) - before, pool.max_memory() - allocated, rows]))
"""


def measure_expiry(room: Path, scale: Scale) -> Promises:
    """Empty slots that push sub-indexes out.

    Whatever their size, no data is written and files are only dropped.
    """
    promises = []
    for rows in scale.expiring_rows:
        calls, sizes, removals = _expire(room / f"expiry-{rows}.wx", rows, scale.seed)
        about = f"with {rows:,} rows a slot"
        promises += [
            promise(f"expiry of a sub-index, {about}", calls, 10, "ms"),
            promise(f"data written by that expiry, {about}", sizes, 0, "bytes", judged_by="max"),
            promise(f"the append after it, which removes the files, {about}", removals, None, "ms"),
        ]
    return promises


def _expire(path: Path, rows: int, seed: int) -> tuple[list[float], list[float], list[float]]:
    """The times and bytes of appends that throw a sub-index of rows away.

    And the times of those after them.
    """
    feed, watched = Feed(rows, rows, KEYS_CHECKED, seed), Watched(path, **EXPIRY)
    planner = watched.idx.definition.scheme
    window = planner.window
    filled = frozenset(range(first_slot(), first_slot() + window))
    _, state = planner.start(first_slot() - 1)
    calls, sizes, removals = [], [], []
    was_expiry = False
    for number in range(3 * window):
        slot = first_slot() + number
        plan, following = planner.transition(state, slot)
        table = feed.slot(number) if number < window else SCHEMA.empty_table()
        gone = [state.indexes[op.target] for op in plan.transition if isinstance(op, Drop)]
        is_expiry = number >= window and any(filled.intersection(slots) for slots in gone)
        if is_expiry:
            _wait_for_the_disk()
        lap = watched.append(table, slot)
        if is_expiry:
            calls.append(lap.append_ms)
            sizes.append(float(lap.transition_bytes + lap.preparation_bytes))
        elif was_expiry:
            removals.append(lap.append_ms)
        _check_live(watched, feed, rows, min(number, window - 1), max(0, number - window + 1))
        state, was_expiry = following, is_expiry
    return calls, sizes, removals


def _wait_for_the_disk() -> None:
    """Let it write, and give back, what earlier appends left to it.

    A slot later it would long have done so. A file system that tells its disk of freed room
    (`discard`) has gigabytes to tell of after the append before.
    """
    os.sync()
    time.sleep(DISK_S)


def _check_live(watched: Watched, feed: Feed, rows: int, newest: int, oldest: int) -> None:
    """Only the rows of live slots are found."""
    live = newest - oldest + 1
    keys = sorted(set(feed.probes))
    found = watched.idx.probe_many(keys)
    right = feed.answers(newest, live).of_keys(keys) if live > 0 else SCHEMA.empty_table()
    expect(same_rows(found, right), "probe_many after an expiry")
    counts = (batch.num_rows for batch in watched.idx.scan(columns=["units"]))
    expect(sum(counts) == max(0, live) * rows, "scan after an expiry")


def measure_memory(room: Path, scale: Scale) -> Promises:
    """How much memory a merging append takes.

    Next to the files of the shards that are in work at once.
    """
    promises = []
    for update in ("packed-shadow", "runs"):
        growths, pools = zip(
            *(_merge(room / f"{update}-{n}.wx", update, scale) for n in range(MERGES)), strict=True
        )
        about = f"of a merging append with `{update}`, to the shards in work"
        promises += [
            promise(f"memory {about}", growths, 3, "ratio"),
            promise(f"memory of Arrow {about}", pools, None, "ratio"),
        ]
    return promises


def _merge(path: Path, update: str, scale: Scale) -> tuple[float, float]:
    """The growth of a fresh process, and of Arrow's memory in it.

    To the bytes of the shards in work at once.
    """
    slots = scale.merged_slots
    work = make_workload("uniform", slots + 1, scale.merged_rows, 10, scale.seed)
    # The single sub-index is written anew with all its slots by each append.
    options = {"window": slots, "indexes": 1, "scheme": "del", "update": update}
    watched = Watched(path, **options, shards=SHARDS)
    watched.append(pa.concat_tables(work.slots[:slots]))
    arriving = path.with_suffix(".arrow")
    with pa.OSFile(str(arriving), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        writer.write_table(work.slots[slots])
    growth, pool, rows = run_fresh(MERGE, str(path), str(arriving))
    expect(rows == scale.merged_rows, "the append of a fresh process")
    keys = sorted(set(work.probes))
    right = work.window(slots, slots).of_keys(keys)
    expect(same_rows(watched.idx.probe_many(keys), right), "probe_many")
    threads = LocalEngine(watched.idx.writer.workshop, SHARDS).threads
    in_work = threads * _largest_shard(path)
    return growth / in_work, pool / in_work


def _largest_shard(path: Path) -> int:
    """The most bytes that one shard has written for the newest commit."""
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    for file in (path / "data").iterdir():
        commit, _, shard, _ = file.name.split("-", maxsplit=3)
        sizes[commit, shard] += file.stat().st_size
    newest = max(commit for commit, _ in sizes)
    return max(size for (commit, _), size in sizes.items() if commit == newest)


def measure_cores(room: Path, scale: Scale) -> Promises:
    """Whether a transition over several shards keeps more than one core busy."""
    work = make_workload("uniform", scale.window + 5, scale.rows, 10, scale.seed)
    options = {"window": scale.window, "indexes": 4, "scheme": "wata", "update": "packed-shadow"}
    watched = Watched(room / "cores.wx", **options, shards=SHARDS)
    watched.append(pa.concat_tables(work.slots[: scale.window]))
    ratios = []
    for table in work.slots[scale.window :]:
        begun, busy = time.perf_counter(), time.process_time()
        watched.append(table)
        ratios.append((time.process_time() - busy) / (time.perf_counter() - begun))
    name = f"processor time to time of a transition over {SHARDS} shards, `packed-shadow`"
    return [promise(name, ratios, 1.2, "ratio", at_least=True)]
