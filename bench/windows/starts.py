"""What a window takes: bytes beside those of its rows, and the time of a first use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.lives.targets import target
from bench.measure import expect
from bench.windows.paper import KEPT, Result, Setting

ROW_BYTES = 16
"""Two columns of 8 bytes."""
RING_BYTES = 32
FIRST_MOST_S, COLD_MOST_S = 0.5, 5.0
NUMBA = "import numba"
FIRST = """
import pyarrow as pa
from wavedex.online import Window
w = Window({"src": pa.int64(), "bytes": pa.int64()}, rows=4, basic=2, ring=["src"])
w.push({"src": [1, 2, 1], "bytes": [10, 20, 30]})
assert w.histogram("src").num_rows == 2
assert w.lookup("src", 1).num_rows == 1
"""


def measure_bytes(setting: Setting, seed: int) -> Result:
    """Bytes a row of a window with its index and ring that was rolled over several times."""
    window = setting.window(**KEPT)
    for turn in range(5):
        window.push(setting.stream(setting.rows, seed + turn))
    return {**setting.named, "bytes": window.nbytes / len(window)}


def measure_first_use(repeats: int) -> Result:
    """Seconds of a process that uses a window, beside one that imports Numba only.

    The modules have their byte code, as those of an installation do.
    """
    with TemporaryDirectory() as folder:
        # A folder of their own: the machine code beside the modules may be old.
        _run(FIRST, folder, NUMBA_DISABLE_JIT="1")
        cold = _run(FIRST, folder)
        warm = [_run(FIRST, folder) for _ in range(repeats)]
        numba = [_run(NUMBA, folder) for _ in range(repeats)]
    return {"cold": cold, "warm": min(warm), "numba": min(numba)}


def _run(code: str, folder: str, **more: str) -> float:
    root = Path(__file__).parents[2]
    kept = {"NUMBA_CACHE_DIR": folder, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
    surroundings = {**os.environ, **kept, **more}
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=surroundings, check=False)
    took = time.perf_counter() - begun
    expect(done.returncode == 0, "a first use")
    return took


def judge(found: Result) -> list[Result]:
    targets = []
    for each in found["bytes"]:
        most = 2 * ROW_BYTES + RING_BYTES
        name = f"bytes a row, {Setting(each['values'], each['basics'], each['law'])}"
        targets.append(target(name, each["bytes"], f"at most {most}", each["bytes"] <= most))
    first = found["first"]
    more = first["warm"] - first["numba"]
    name = "seconds of a first use beside import numba"
    targets.append(target(name, more, f"at most {FIRST_MOST_S} more", more <= FIRST_MOST_S))
    is_met = first["cold"] <= COLD_MOST_S
    targets.append(target("seconds of a cold one", first["cold"], f"at most {COLD_MOST_S}", is_met))
    return targets
