"""What one contestant is asked over a course, what it takes, and whether the answers are right.

Nothing counts before it has been checked: answers are compared row by row for some keys, by their
number of rows for all others, and sums one by one. A wrong answer raises WrongAnswer and there is
no result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from bench.measure import REPEATS, WrongAnswer, expect, expect_sums, repeat, spread
from bench.race.contestant import Contestant
from bench.race.course import Course
from bench.race.disk import (
    bytes_kept,
    bytes_written,
    choose_measure,
    forget_peak_memory,
    memory_bytes,
)
from bench.workload import SCHEMA, Answers, first_slot, same_rows

REST_S = 0.1
"""A pause after the last commit.

It is for files whose time has to be older than a step of the clock before they are trusted.
"""
ROUND_PROBES_MIN = 20

Probe = Callable[[int], pa.Table]


def run(contestant: Contestant, course: Course, folder: Path, round_s: float) -> dict[str, Any]:
    """All that is measured of a contestant, in a folder of its own.

    A round of probes ends after `round_s` seconds.
    """
    contestant.create(folder, course.window)
    try:
        results = {
            "contestant": contestant.name,
            "workload": course.workload,
            "window": course.window,
            "rows": course.rows,
            "version": contestant.version(),
            **measure_loading(contestant, course),
            **measure_slides(contestant, course, choose_measure(folder)),
        }
        time.sleep(REST_S)
        return {
            **results,
            **measure_questions(contestant, course, round_s),
            "disk_per_raw": bytes_kept(folder) / course.raw_bytes,
            "memory_mb": memory_bytes(contestant.server_processes) / 1e6,
            "checked": True,
        }
    finally:
        contestant.close()


def measure_loading(contestant: Contestant, course: Course) -> dict[str, Any]:
    """The first window at once."""
    load_s = _seconds(lambda: contestant.load(course.slots(0, course.window)))
    settle_s = _seconds(contestant.settle)
    expect(contestant.count_rows() == course.window_rows, "count after loading")
    since = "loading" if forget_peak_memory() else "start"
    return {"load_s": load_s, "load_settle_s": settle_s, "memory_since": since}


def measure_slides(contestant: Contestant, course: Course, measure: str) -> dict[str, Any]:
    """Transitions, and what is done after each: times and bytes."""
    laps: dict[str, list[float]] = {
        name: [] for name in ("transition_s", "settle_s", "transition_mb", "written_mb")
    }

    def written() -> int:
        return bytes_written(measure, contestant.server_processes)

    for slide in range(course.slides):
        table = course.slots(course.window + slide, course.window + slide + 1)[0]
        keys, answers = course.sample(str(slide))
        before = written()
        laps["transition_s"].append(
            _seconds(lambda table=table, slide=slide: contestant.slide(table, first_slot() + slide))
        )
        laps["transition_mb"].append((written() - before) / 1e6)
        # The first key is one of the new slot, which must be there without further ado.
        check_rows(contestant.probe, keys[:1], answers, f"probe right after slide {slide}")
        laps["settle_s"].append(_seconds(contestant.settle))
        laps["written_mb"].append((written() - before) / 1e6)
        expect(contestant.count_rows() == course.window_rows, f"count after slide {slide}")
        check_rows(contestant.probe, keys, answers, f"probe after slide {slide}")
    return {"bytes_measure": measure, **{name: spread(values) for name, values in laps.items()}}


def measure_questions(contestant: Contestant, course: Course, round_s: float) -> dict[str, Any]:
    """Probes, probes of the last slots, many keys at once, and a grouped sum over all."""
    since = course.since_slot
    asked = {
        "whole": contestant.probe,
        "recent": lambda key: contestant.probe_recent(key, since),
    }
    for which, probe in asked.items():
        check_rows(probe, *course.sample(which), f"probe, {which}")
    probes = {
        which: measure_probes(asked[which], *course.probes(which), round_s) for which in asked
    }
    keys, answers = course.sample("many")
    many_right, sums = answers.rows, course.sums()

    def check_many(found: pa.Table) -> None:
        expect(same_rows(conform(found), many_right), "probe_many")

    check_many(contestant.probe_many(keys))
    many_ms, found = repeat(lambda: contestant.probe_many(keys))
    check_many(found)
    expect_sums(contestant.grouped_sum(), sums)
    scan_ms, found_sums = repeat(contestant.grouped_sum)
    expect_sums(found_sums, sums)
    return {
        "probe_us": probes["whole"],
        "recent_us": probes["recent"],
        "many_ms": many_ms,
        "scan_s": {name: value / 1e3 for name, value in scan_ms.items()},
    }


def measure_probes(
    probe: Probe, keys: Sequence[int], counts: Sequence[int], round_s: float
) -> dict[str, float]:
    """Single probes, warm: the median of medians, their range, the p99.

    There are five rounds that begin at different keys.
    """
    clock = time.perf_counter_ns
    rounds: list[list[int]] = []
    for number in range(REPEATS):
        start = number * len(keys) // REPEATS
        order = [*range(start, len(keys)), *range(start)]
        laps: list[int] = []
        found: list[int] = []
        limit = clock() + round_s * 1e9
        for place in order:
            begun = clock()
            table = probe(keys[place])
            ended = clock()
            laps.append(ended - begun)
            found.append(table.num_rows)
            if ended > limit and len(laps) >= ROUND_PROBES_MIN:
                break
        expect(
            found == [counts[place] for place in order[: len(found)]], "number of rows of probes"
        )
        rounds.append(laps)
    every = np.concatenate([np.array(laps) for laps in rounds])
    return {
        **spread([median(laps) / 1e3 for laps in rounds]),
        "p99": float(np.percentile(every, 99)) / 1e3,
        "probes": len(every),
    }


def check_rows(probe: Probe, keys: Sequence[int], answers: Answers, what: str) -> None:
    """Compare the rows of some keys one by one."""
    for key in keys:
        expect(same_rows(conform(probe(key)), answers.of_key(key)), f"{what}, key {key}")


def conform(found: pa.Table) -> pa.Table:
    """A found table with the schema of the workload.

    Strings may have any of Arrow's forms, all else must be as it was.
    """
    kinds = dict(zip(found.schema.names, found.schema.types, strict=True))
    for field in SCHEMA:
        kind = kinds.get(field.name)
        if kind != field.type and not (field.type == pa.string() and _is_text(kind)):
            raise WrongAnswer(f"column {field.name} is {kind} rather than {field.type}")
    return found.select(SCHEMA.names).cast(SCHEMA)


def _is_text(kind: pa.DataType | None) -> bool:
    value = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    return value in (pa.string(), pa.large_string(), pa.string_view())


def _seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun
