"""Start the race.

There is a course for each workload and shape, and a process for each contestant over each course.
Contestants run one after the other, each in a folder that is gone afterwards, and what one has left
to the system to write is written before the next begins.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.race.catalogue import CATALOGUE
from bench.race.course import lay_out
from bench.report import circumstances
from bench.workload import make_workload

ROOT = Path(__file__).parents[2]
PASSABLE = 0o711
"""Of folders: a server that runs as another user must get through to its own."""

Result = dict[str, Any]


def race(settings: Result, folder: Path, console: Console) -> Result:
    """Run every contestant over every course and return the report."""
    results: list[Result] = []
    failed: list[Result] = []
    for window, rows in settings["shapes"]:
        for name in settings["workloads"]:
            where = f"{name}, {window} slots of {rows:,} rows"
            with room_in(folder) as course:
                slots = window + settings["slides"]
                work = make_workload(name, slots, rows, settings["probes"], settings["seed"])
                lay_out(course, work, window)
                del work
                for contestant in settings["contestants"]:
                    console.print(f"{where}: {contestant}")
                    result = run_apart(contestant, course, folder, settings["round_s"])
                    if "failed" in result:
                        console.print(result["failed"], markup=False)
                        failed.append({"course": where, **result})
                    else:
                        results.append(result)
    return {
        **circumstances(settings),
        "results": results,
        "failed": failed,
        "left_out": [name for name in CATALOGUE if name not in settings["contestants"]],
        "checked": not failed,
    }


def run_apart(contestant: str, course: Path, folder: Path, round_s: float) -> Result:
    """One contestant's result from a process of its own, or what it said when it failed."""
    with room_in(folder) as room:
        output = room / "result.json"
        (room / "work").mkdir()
        (room / "work").chmod(PASSABLE)
        arguments = {
            "--contestant": contestant,
            "--work": course,
            "--room": room / "work",
            "--json": output,
            "--round-seconds": round_s,
        }
        done = subprocess.run(
            [sys.executable, "-m", "bench.race.run_one", *_flat(arguments)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return json.loads(output.read_text())
        said = done.stderr.strip() or f"ended with {done.returncode} and said nothing"
        return {"contestant": contestant, "failed": said}


@contextmanager
def room_in(folder: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, so that no measurement meets the files of another."""
    room = Path(tempfile.mkdtemp(dir=folder))
    room.chmod(PASSABLE)
    try:
        yield room
    finally:
        shutil.rmtree(room)
        os.sync()


def _flat(arguments: dict[str, object]) -> Sequence[str]:
    return [str(each) for pair in arguments.items() for each in pair]
