"""The measurements run, check their answers, and notice wrong ones. No test looks at a time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def bench_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def test_a_small_run_checks_every_answer_and_writes_json(tmp_path, capsys):
    from bench.__main__ import UPDATES, main

    path = tmp_path / "results.json"
    small = "--quick --rows 500 --slots 5 --transitions 3 --probes 300 --schemes wata --json"
    report = main([*small.split(), str(path), "--folder", str(tmp_path)])
    assert report["checked"]
    assert json.loads(path.read_text()) == report
    assert len(report["waves"]) == 2 * len(UPDATES)
    assert [peer["peer"] for peer in report["peers"]] == ["sqlite", "duckdb"] * 2
    assert "every answer checked" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [path]


def test_runs_write_only_what_arrives_before_the_slot_can_be_queried(tmp_path):
    from bench.waves import measure_index
    from bench.workload import make_workload

    work = make_workload("uniform", 12, 2_000, 50, seed=1)
    settings = {"slots": 9, "indexes": 3, "openings": 1}
    results = {
        update: measure_index(tmp_path / update, work, "wata", update, settings)
        for update in ("runs", "packed-shadow")
    }
    runs, packed = (results[name]["transition_mb"]["median"] for name in ("runs", "packed-shadow"))
    assert runs < packed
    assert results["packed-shadow"]["prepare_mb"]["max"] == 0


def test_a_wrong_answer_is_noticed():
    from bench.measure import WrongAnswer, check_sums, measure_probes
    from bench.workload import make_workload

    answers = make_workload("zipf", 1, 100, 20, seed=1).window(0, 1)
    keys = answers.rows["key"].to_pylist()[:1]
    with pytest.raises(WrongAnswer, match="probe"):
        measure_probes(lambda key: answers.of_key(key).slice(1), keys, answers)
    with pytest.raises(WrongAnswer, match="scan"):
        check_sums([], answers)


def test_the_workload_is_the_same_for_the_same_seed_and_has_the_promised_shape():
    from bench.workload import make_workload

    one, same, other = (make_workload("zipf", 2, 5_000, 100, seed) for seed in (1, 1, 2))
    assert one.probes == same.probes
    assert all(a.equals(b) for a, b in zip(one.slots, same.slots, strict=True))
    assert not one.slots[0].equals(other.slots[0])
    counts = np.unique(one.slots[0]["key"].to_numpy(), return_counts=True)[1]
    assert counts.max() > 100
    found = one.window(1, 2).counts(one.probes)
    assert found.count(0) == 10


def test_the_page_on_scale_has_the_work_that_an_index_of_that_shape_does():
    from bench.scale import PAGE, work_of

    page = PAGE.read_text(encoding="utf-8")
    for name, update in (("wata", "runs"), ("wata", "packed-shadow"), ("rata", "runs")):
        work = work_of(name, update)
        row = next(
            line for line in page.splitlines() if line.startswith(f"| `{name}`, `{update}` |")
        )
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[2] == f"{work.transition:.1f}"
        assert cells[5] == f"{work.preparation:.1f}"


def test_what_spark_adds_is_measured_and_checked(tmp_path, capsys):
    from bench.spark import main

    report = main(["--quick", "--json", str(tmp_path / "spark.json"), "--folder", str(tmp_path)])
    assert report["checked"]
    assert report["results"]["scan"]["files_of_a_key"] < report["results"]["scan"]["files"]
    for update in ("packed-shadow", "runs"):
        assert 0.95 < report["results"][f"slide, {update}"]["ratio"] < 1.05
    assert "grouped sum" in capsys.readouterr().out
