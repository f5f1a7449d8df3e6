"""Appends data frames while workers are killed at chosen places.

Run by test_frame_attempts.py in a process of its own. Prints one line of JSON: what each append
gave, and where workers were killed. Only a master that tries again, such as local[2,4], gets over
it, and the session that tests share does not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from wavedex import spark as wxs
from wavedex.errors import SparkFailed

ROWS = 400
KILLS_MAX = 10
"""How often a kill is tried that may come too late."""


def killing(marks: str, once: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Passes rows on, and kills its worker in the middle of them: the first time, or each time."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import signal
        from pathlib import Path

        for batch in batches:
            yield batch
            try:
                if once:
                    Path(marks, "upstream").touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)

    return run


def watching(marks: str, data: str, function: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Passes rows on, and leaves a thread that kills the worker.

    That happens once the worker is in `function` and has files written.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import signal
        import sys
        import threading
        import time
        from pathlib import Path

        before = set(os.listdir(data))
        main = threading.main_thread().ident

        def is_inside() -> bool:
            frame = sys._current_frames().get(main)
            while frame is not None and frame.f_code.co_name != function:
                frame = frame.f_back
            return frame is not None

        def watch() -> None:
            while not Path(marks, function).exists():
                time.sleep(0.0002)
                if is_inside() and set(os.listdir(data)) - before:
                    try:
                        Path(marks, function).touch(exist_ok=False)
                    except FileExistsError:
                        return
                    os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=watch, daemon=True).start()
        yield from batches

    return run


def frame(spark: SparkSession, slot: int) -> DataFrame:
    """The rows of a slot, in two partitions."""
    return spark.range(0, ROWS, 1, 2).selectExpr(
        "id as k", f"{slot * 10} + id % 10 as t", f"concat({slot}, '-', id) as v"
    )


def append_all(spark: SparkSession, path: str, marks: str) -> dict[str, Any]:
    """Append slot after slot until workers were killed at all places."""
    Path(marks).mkdir()
    index = wx.open(path)
    first = frame(spark, 1)
    given = [index.append(first.mapInPandas(killing(marks, True), first.schema))]
    for function in ("stage", "run_shard"):
        for _ in range(KILLS_MAX):
            task = watching(marks, f"{path}/data", function)
            rows = frame(spark, given[-1].slots[-1] + 1)
            # The workers of frames carry out plans as well.
            given.append(index.append(rows.mapInPandas(task, rows.schema)))
            if Path(marks, function).exists():
                break
    return {
        "given": [asdict(each) for each in given],
        "killed": sorted(file.name for file in Path(marks).iterdir()),
    }


def refusal(spark: SparkSession, path: str, marks: str) -> str:
    """What is said when workers are killed each time."""
    doomed = frame(spark, wx.open(path).slots[-1] + 1)
    try:
        wxs.append(path, doomed.mapInPandas(killing(marks, False), doomed.schema))
    except SparkFailed as error:
        return str(error)
    return ""


def main(*paths: str) -> dict[str, Any]:
    """Append to each index."""
    spark = wxs.session("local[2,4]", conf={"spark.sql.shuffle.partitions": "2"})
    told: dict[str, Any] = {path: append_all(spark, path, f"{path}-marks") for path in paths}
    told["refusal"] = refusal(spark, paths[0], f"{paths[0]}-marks")
    spark.stop()
    return told


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])))
