"""The example of metrics: what Prometheus reads, and what Spark says of a stream beside it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from kit.paths import ROOT


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "metrics.py"))


def test_prometheus_reads_what_came_and_what_left(example: dict[str, Any], tmp_path: Path) -> None:
    text = example["append_days"](str(tmp_path), days=5, rows=100)
    of = f'{{index="{tmp_path}/sales.wx",operation="append"}}'
    assert f"wavedex_rows_total{of} 500.0" in text
    # Of five days, three are in the window.
    assert f"wavedex_slots_left_total{of} 2.0" in text
    assert f"wavedex_commit_seconds_count{of} 5.0" in text
    assert f"wavedex_rows_left_out_total{of} 0.0" in text


@pytest.mark.spark
def test_a_stream_tells_what_was_read_and_what_was_kept(
    example: dict[str, Any], tmp_path: Path, spark: Any
) -> None:
    told = example["stream_days"](str(tmp_path), days=2, rows=100)
    assert told == [{"batch": number, "read": 100, "kept": 100, "late": 0} for number in range(2)]
