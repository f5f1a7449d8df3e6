"""One contestant over one course, in this process.

`python -m bench.race.run_one --contestant NAME --work FOLDER ...`. The parent starts this for each
contestant in turn, so that nobody's threads, caches and memory are in the way of another.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.race.catalogue import find
from bench.race.course import open_course
from bench.race.laps import run


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.race.run_one", description=__doc__)
    parser.add_argument("--contestant", required=True, help="a name, or module:Class")
    parser.add_argument("--work", type=Path, required=True, help="the folder of the course")
    parser.add_argument("--room", type=Path, required=True, help="an empty folder to work in")
    parser.add_argument("--json", type=Path, required=True, help="where to write the result")
    parser.add_argument("--round-seconds", type=float, required=True)
    chosen = parser.parse_args()
    course = open_course(chosen.work)
    result = run(find(chosen.contestant)(), course, chosen.room, chosen.round_seconds)
    chosen.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
