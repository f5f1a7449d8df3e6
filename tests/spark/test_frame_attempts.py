"""Workers that are killed, and tasks that are tried again.

Every row is there once, and nothing lies about.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kit import attempts_child
from kit.matrix import RUNS_ALL
from kit.spark_rows import create, scanned, unnamed
from wavedex.testing.oracle import same_rows


def test_rows_are_there_once_however_often_a_task_was_tried(tmp_path):
    """Workers die while rows come, while they are staged, while shards are written.

    And at last each time.
    """
    indexes = [
        create(tmp_path / update, shards=6, update=update, scheme="del", window=4)
        for update in (["packed-shadow", "runs"] if RUNS_ALL else ["runs"])
    ]
    done = subprocess.run(
        [sys.executable, attempts_child.__file__, *(index.path for index in indexes)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "Spark gave up on staging rows" in told["refusal"]
    for index in indexes:
        assert told[index.path]["killed"] == ["run_shard", "stage", "upstream"]
        given = told[index.path]["given"]
        assert all(each["rows"] == attempts_child.ROWS for each in given)
        assert [each["slots"] for each in given] == [[n] for n in range(1, len(given) + 1)]
        index.verify()
        live = range(max(1, len(given) - 3), len(given) + 1)
        expected = [
            {"k": n, "t": slot * 10 + n % 10, "v": f"{slot}-{n}"}
            for slot in live
            for n in range(attempts_child.ROWS)
        ]
        assert same_rows(scanned(index), expected)
        index.vacuum()
        assert not unnamed(index)
        assert not list(Path(index.path, "log").glob("*.tmp"))
