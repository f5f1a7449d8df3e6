"""All of it once more in plain Python: each kernel is its own plain twin."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__)


@pytest.mark.slow
def test_sets_are_the_same_without_compiled_loops():
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            "-m", "not crash and not slow and not spark and not nightly", "-k", "not hostile",
            str(HERE.parent),
        ],
        cwd=HERE.parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8_000:]
    assert " passed" in done.stdout
