"""What was retracted may be inserted again, the very same rows at the very same instant too."""

from __future__ import annotations

import pyarrow as pa
import pytest

import wavedex as wx

SCHEMA = pa.schema([("k", pa.string()), ("at", pa.int64()), ("over", pa.int64())])


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_rows_come_back_after_they_were_retracted(tmp_path, method):
    life = wx.LifetimeIndex.create(
        tmp_path / "x", SCHEMA, key="k", inserted="at", expires="over", max_lifetime=8, refresh=2,
        grid=(2, 2), method=method,
    )  # fmt: skip
    rows = pa.table({"k": ["a", "a"], "at": [1, 2], "over": [6, 9]}, SCHEMA)
    assert life.update(2, rows).rows == 2
    assert life.update(2, rows).repeated
    life.retract(2, rows)
    assert life.probe("a").num_rows == 0
    assert not life.update(2, rows).repeated
    assert life.probe("a").num_rows == 2
    assert life.update(2, rows).repeated
    longer = rows.set_column(2, "over", pa.array([8, 10]))
    life.prolong(2, longer)
    assert not life.update(2, rows).repeated
    for now, left in ((4, 4), (6, 3), (8, 2), (9, 1), (10, 0)):
        life.update(now)
        assert life.probe("a").num_rows == left
        life.verify()
