"""The command `warm`: everything that a window runs on is compiled, and kept."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import pytest

from wavedex.compiling import kernels_of
from wavedex.online import Window, warmup

NEW = """
import json
import logging

import pyarrow as pa

seen = []
handler = logging.Handler()
handler.emit = lambda record: seen.append(record.getMessage())
logging.getLogger("wavedex").addHandler(handler)

from wavedex.online import Window

for _ in range(2):
    window = Window({"src": pa.string()}, rows=4, basic=2, ring=["src"])
    window.push({"src": ["a", "b", "a", None, "c"]})
    window.histogram("src")
    window.lookup("src", "a")
print(json.dumps(seen))
"""


def first_use(**environment: str) -> list[str]:
    """What is logged by a new process that uses a window."""
    done = subprocess.run(
        [sys.executable, "-c", NEW],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_all_kernels_are_compiled_and_the_next_process_compiles_none(run):
    result = run("warm")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "kernels" in result.stdout
    done = json.loads(run("warm", "--json").stdout)
    assert done["compiled"] in (0, done["kernels"])
    for kernel in [*warmup.kernels(), *kernels_of("wavedex.temporal")]:
        # Those that only others call are in the machine code of these.
        assert kernel.signatures or kernel.py_func.__name__.startswith("_"), kernel
    assert first_use() == []


def test_a_first_use_that_compiles_says_so_once(tmp_path):
    (said,) = first_use(NUMBA_CACHE_DIR=str(tmp_path))
    assert "'wavedex warm' does it ahead" in said


def test_without_a_compiler_it_is_said_once_what_is_slow():
    (said,) = first_use(NUMBA_DISABLE_JIT="1")
    assert said.startswith("A window in memory will be slow, in plain Python: Numba is switched")


def test_where_numba_is_not_installed_one_line_says_what_to_do(run, monkeypatch):
    monkeypatch.setattr("wavedex.extras.find_spec", lambda name: None)
    result = run("warm")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Numba is not installed. Install it: pip install 'wavedex[online]'\n"


@pytest.mark.parametrize("settings", [{}, {"index": ["a"]}])
def test_to_make_a_window_once_more_says_nothing(settings, caplog):
    for _ in range(2):
        Window({"a": "int64"}, rows=2, basic=1, **settings)
        with caplog.at_level(logging.WARNING):
            Window({"a": "int64"}, rows=2, basic=1, **settings)
    assert caplog.records == []
