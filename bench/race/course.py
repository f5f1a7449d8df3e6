"""What every contestant runs over: the slots of a workload and the right answers, in files.

The parent makes a course once; each contestant's process reads it. The answers are worked out by
the parent so that they are neither in the memory nor in the time of those who are measured.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench.measure import SAMPLE
from bench.workload import Answers, Workload, first_slot

RECENT = 3
"""How many slots a probe of the last ones asks for."""
KEYS_AT_ONCE = 1_000
COURSE = "course.json"
KEYS_A_SLIDE = 20
"""How many keys are looked up after each slide, row by row."""


@dataclass(frozen=True)
class Course:
    """A course in its folder."""

    folder: str
    workload: str
    window: int
    rows: int
    slides: int
    raw_bytes: int
    """The bytes of the last window's rows in Arrow's memory."""

    @property
    def since_slot(self) -> int:
        """The first of the last few slots at the end."""
        return first_slot() + self.window + self.slides - RECENT

    @property
    def window_rows(self) -> int:
        """How many rows a window has: slots are of equal size."""
        return self.window * self.rows

    def slots(self, start: int, stop: int) -> list[pa.Table]:
        """The tables of some slots, counted from 0."""
        return [read(self._path(f"slot-{place}")) for place in range(start, stop)]

    def probes(self, which: str) -> tuple[list[int], list[int]]:
        """The keys to probe for, and how many rows each has.

        In the `whole` window or in its `recent` slots.
        """
        table = read(self._path("probes"))
        return table["key"].to_pylist(), table[which].to_pylist()

    def sample(self, which: str) -> tuple[list[int], Answers]:
        """Keys that are looked up row by row, and their rows.

        `whole`, `recent`, `many`, or the number of a slide.
        """
        table = read(self._path(f"sample-{which}"))
        return json.loads(table.schema.metadata[b"keys"]), Answers(table)

    def sums(self) -> dict[str, tuple[int, float]]:
        """For each label the sum of units and of amount in the last window."""
        labels, units, amounts = (column.to_pylist() for column in read(self._path("sums")).columns)
        return dict(zip(labels, zip(units, amounts, strict=True), strict=True))

    def _path(self, name: str) -> Path:
        return Path(self.folder) / f"{name}.arrow"


def lay_out(folder: Path, work: Workload, window: int) -> Course:
    """Write a course: the slots of a workload.

    All after the first window slide in one by one.
    """
    newest, rows = len(work.slots) - 1, work.slots[0].num_rows
    whole, recent = work.window(newest, window), work.window(newest, RECENT)
    course = Course(str(folder), work.name, window, rows, newest + 1 - window, whole.rows.nbytes)
    for place, table in enumerate(work.slots):
        write(folder / f"slot-{place}.arrow", table)
    counts = {"whole": whole.counts(work.probes), "recent": recent.counts(work.probes)}
    write(folder / "probes.arrow", pa.table({"key": work.probes, **counts}))
    keys = list(dict.fromkeys(work.probes))
    _write_sample(folder, "whole", keys[:SAMPLE], whole)
    _write_sample(folder, "recent", keys[:SAMPLE], recent)
    _write_sample(folder, "many", keys[:KEYS_AT_ONCE], whole)
    for slide in range(course.slides):
        # Keys of the slot that has come, one of the slot that has gone, and any.
        new, old = work.slots[window + slide]["key"], work.slots[slide]["key"]
        looked_up = [*new[:KEYS_A_SLIDE].to_pylist(), old[0].as_py(), *keys[:KEYS_A_SLIDE]]
        answers = work.window(window + slide, window)
        _write_sample(folder, str(slide), list(dict.fromkeys(looked_up)), answers)
    units, amounts = zip(*whole.sums.values(), strict=True)
    write(folder / "sums.arrow", pa.table([list(whole.sums), units, amounts], ["l", "u", "a"]))
    (folder / COURSE).write_text(json.dumps(asdict(course)))
    return course


def open_course(folder: Path) -> Course:
    """The course that was laid out in a folder."""
    return Course(**json.loads((folder / COURSE).read_text()))


def _write_sample(folder: Path, which: str, keys: list[int], answers: Answers) -> None:
    rows = answers.rows.filter(pc.is_in(answers.rows["key"], pa.array(keys)))
    write(
        folder / f"sample-{which}.arrow", rows.replace_schema_metadata({"keys": json.dumps(keys)})
    )


def write(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table)


def read(path: Path) -> pa.Table:
    """A table, mapped rather than read."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
