"""Where windows are counted in rows, a refresh leaves nothing behind that is over.

That holds however the rates of streams vary.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx

SCHEMA = pa.schema(
    [("k", pa.int64()), ("at", pa.int64()), ("left", pa.int64()), ("right", pa.int64())]
)
COUNTS = {"left": 100, "right": 60}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["count-rebuild", "count-no-rebuild"])
def test_what_is_held_after_a_refresh_is_what_lives(tmp_path, method, seed):
    life = wx.LifetimeIndex.create(
        tmp_path / "x", SCHEMA, key="k", inserted="at", counts=COUNTS, max_lifetime=48, refresh=4,
        grid=(3, 3), method=method, shards=1,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    now, arrived, living = 0, dict.fromkeys(COUNTS, 1), []
    for _ in range(40):
        now += int(rng.integers(1, 7))
        arrived = {name: at + int(rng.integers(0, 30)) for name, at in arrived.items()}
        rows = [
            {
                "k": int(rng.integers(5)),
                "at": now,
                **{
                    name: int(rng.integers(max(at - COUNTS[name] + 1, 0), at + 1))
                    for name, at in arrived.items()
                },
            }
            for _ in range(int(rng.integers(0, 15)))
        ]
        done = life.update(now, pa.Table.from_pylist(rows, SCHEMA), arrived=arrived)
        living = [
            row
            for row in [*living, *rows]
            if all(row[name] > arrived[name] - size for name, size in COUNTS.items())
        ]
        found = life.scan().read_all().to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, living))
        if done.touched:
            assert life.describe()["rows_held"] == len(living)
    life.verify()
