"""All of it once more in plain Python: each kernel is its own plain twin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__)
ROOT = HERE.parents[2]


@pytest.mark.slow
def test_windows_are_the_same_without_compiled_loops():
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-m", "not crash and not slow and not spark", str(HERE.parent),
        ],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8_000:]
    assert " passed" in done.stdout


def test_what_is_not_compiled_says_so_once():
    code = (
        "import logging, sys\n"
        "logging.basicConfig(stream=sys.stdout, format='%(message)s')\n"
        "from wavedex.online import Window\n"
        "for _ in range(2):\n"
        "    w = Window({'a': 'int64'}, rows=2, basic=1, index=['a'])\n"
        "    w.push({'a': [1, 2]})\n"
        "print(w.histogram('a').num_rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, lines
    assert "slow, in plain Python" in lines[0]
    assert lines[1] == "2"
