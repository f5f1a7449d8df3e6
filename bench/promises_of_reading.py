"""The promises about reading, and about adding a slot to the index that is read.

The index has 14 slots of 300,000 rows, `wata`, `runs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.measure import expect, repeat
from bench.promised import Scale, promise
from bench.sliding import Watched, measure_opening, measure_probes
from bench.workload import SCHEMA, Answers, Workload, first_slot, make_workload, same_rows
from wavedex.plan import cycle_of

Promises = list[dict[str, Any]]
KEYS_AT_ONCE = 1_000


def measure_usual(room: Path, scale: Scale) -> Promises:
    """Adding slots for a whole cycle, and then every kind of probe."""
    window = scale.window
    work = make_workload("uniform", 2 * window, scale.rows, scale.probes, scale.seed)
    watched = Watched(room / "usual.wx", window=window, indexes=4, scheme="wata", update="runs")
    watched.append(pa.concat_tables(work.slots[:window]))
    cycle = cycle_of(watched.idx.definition.scheme)
    slots = work.slots[window : window + cycle]
    laps = [watched.append(table) for table in slots]
    newest = window + cycle - 1
    whole, recent = work.window(newest, window), work.window(newest, 3)
    since = first_slot() + newest - 2
    sizes = [lap.transition_bytes / each.nbytes for lap, each in zip(laps, slots, strict=True)]
    watched.settle()
    idx, keys = watched.idx, list(dict.fromkeys(work.probes))[:KEYS_AT_ONCE]
    about = f"a slot of {scale.rows:,} rows with `runs`"
    return [
        promise(f"until {about} can be queried", [lap.transition_ms for lap in laps], 150, "ms"),
        promise(
            f"bytes written until then to raw bytes, {about}", sizes, 1.3, "ratio", judged_by="max"
        ),
        promise("one probe, 4 sub-indexes", _probe_us(idx.probe, work, whole), 12, "µs"),
        promise(
            "one probe of the last three slots",
            _probe_us(lambda key: idx.probe(key, since), work, recent),
            8,
            "µs",
        ),
        promise(f"{len(keys):,} keys at once", _many_ms(watched, pa.array(keys), whole), 10, "ms"),
        *_measure_many_keys(watched, whole, scale),
    ]


def _probe_us(probe: Any, work: Workload, answers: Answers) -> list[float]:
    """The median of single probes, and the range of it over several rounds."""
    laps = measure_probes(probe, work.probes, answers)
    return [laps[name] for name in ("median", "min", "max")]


def _many_ms(watched: Watched, keys: pa.Array, answers: Answers) -> list[float]:
    """The times of a probe for many keys, whose answer is compared row by row."""
    laps, found = repeat(lambda: watched.idx.probe_many(keys))
    expect(same_rows(found, answers.of_keys(keys.to_pylist())), "probe_many")
    return list(laps.values())


def _measure_many_keys(watched: Watched, answers: Answers, scale: Scale) -> Promises:
    """Keys a second, for so many keys that their rows are compared by their sums alone."""
    known = np.unique(answers.rows["key"].to_numpy())
    promises = []
    for count in scale.keys_at_once:
        some = np.random.default_rng(scale.seed).permutation(known)[:count]
        keys = pa.array(some)
        laps, found = repeat(lambda keys=keys: watched.idx.probe_many(keys))
        right = answers.rows.filter(pc.is_in(answers.rows["key"], keys))
        expect(_sums(found) == _sums(right), f"{count:,} keys at once")
        speeds = [len(keys) / lap * 1e3 for lap in laps.values()]
        name = f"{len(keys):,} distinct keys at once, of {right.num_rows / len(keys):.1f} rows each"
        promises.append(promise(name, speeds, 1e6, "keys/s", at_least=True))
    return promises


def _sums(rows: pa.Table) -> tuple[int, ...]:
    """What hardly agrees unless the rows do. Amounts are quarters, so that their sums are exact."""
    products = pc.sum(pc.multiply(rows["key"], pc.cast(rows["units"], pa.int64()))).as_py()
    return (
        rows.num_rows,
        products,
        pc.sum(rows["amount"]).as_py(),
        pc.count_distinct(rows["key"]).as_py(),
    )


def measure_many_sub_indexes(room: Path, scale: Scale) -> Promises:
    """A probe that asks as many sub-indexes as there are slots."""
    window = scale.window
    work = make_workload("uniform", window, scale.rows, scale.probes, scale.seed)
    watched = Watched(room / "many.wx", window=window, indexes=window, scheme="wata", update="runs")
    watched.append(pa.concat_tables(work.slots))
    watched.settle()
    laps = _probe_us(watched.idx.probe, work, work.window(window - 1, window))
    return [promise(f"one probe, {window} sub-indexes", laps, 40, "µs")]


def measure_openings(room: Path, scale: Scale) -> Promises:
    """Opening an index and its first probe, however many keys it has."""
    promises = []
    for count in scale.keys_opened:
        slots = 4
        work = make_workload("uniform", slots, -(-count // slots), 10, scale.seed)
        numbers = np.random.default_rng(scale.seed).permutation(count)
        rows = pa.concat_tables(work.slots).slice(0, count)
        rows = rows.set_column(0, SCHEMA.field("key"), pa.array(numbers))
        watched = Watched(room / f"opened-{count}.wx", window=slots, indexes=slots)
        watched.append(rows)
        keys = numbers[: scale.openings].tolist()
        laps = measure_opening(watched.path, keys, Answers(rows))
        name = f"opening and the first probe in a fresh process, {count:,} keys"
        promises.append(promise(name, list(laps.values()), 50, "ms"))
    return promises
