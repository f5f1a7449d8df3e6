"""Sets over time are measured, and their answers checked. No test looks at a time."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from kit.paths import ROOT
from wavedex.testing.lifespans import Members

INSTALLED = shutil.which("initdb") is not None


@pytest.fixture(autouse=True)
def bench_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


@pytest.fixture
def passable():
    """A folder that a server which runs as another user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def small(kind, is_spread=False):
    from bench.sets import workloads

    if kind == "uniform":
        return workloads.uniform(30, ids=40, is_spread=is_spread)
    return getattr(workloads, kind)(ids=40, is_spread=is_spread)


LAWS = ("uniform", "exponential", "step", "normal", "poisson")


@pytest.mark.parametrize("is_spread", [False, True])
@pytest.mark.parametrize("kind", LAWS)
def test_a_workload_knows_the_answers_to_its_changes(kind, is_spread):
    work = small(kind, is_spread)
    members = Members()
    for oid, time, op in zip(*(column.to_pylist() for column in work.changes), strict=True):
        (members.add if op > 0 else members.remove)(oid, time)
    oids, times = work.questions(1)
    right = [members.contains(*each) for each in zip(oids.tolist(), times.tolist(), strict=True)]
    assert work.contains(oids, times).tolist() == right
    assert 0.1 < np.mean(right) < 0.9
    assert set(work.snapshot(20_000).tolist()) == members.snapshot(20_000)
    assert not work.contains(np.array([1 << 62]), np.array([20_000]))[0]


def test_workloads_are_as_large_as_those_of_the_paper():
    from bench.sets.paper import SIZES, WORKLOADS

    for name in ("uniform-10", "uniform-30", "exponential", "step", "normal", "poisson"):
        work = WORKLOADS[name]()
        changes, lifespans = SIZES[name]
        assert len(work) == pytest.approx(lifespans, rel=0.03)
        assert work.changes.num_rows == pytest.approx(changes, rel=0.03)


@pytest.mark.slow
def test_pages_and_histories_are_measured_and_checked(tmp_path, capsys):
    from bench.sets.__main__ import main
    from bench.sets.paper import USEFULNESS, contenders

    parts = ["--only", "pages", "histories"]
    where = ["--json", str(tmp_path / "sets.json"), "--folder", str(tmp_path)]
    report = main(["--quick", *parts, *where])
    assert report["checked"]
    assert json.loads((tmp_path / "sets.json").read_text()) == json.loads(json.dumps(report))
    counts = {(each["kind"], each["contender"]): each for each in report["pages"]["counts"]}
    assert {*counts} == {(k, name) for k in ("consecutive", "spread") for name in contenders()}
    for kind in ("consecutive", "spread"):
        assert 1.9 < counts[kind, "pph-s"]["query"] < 2.2
        assert counts[kind, "alh"]["pages"] < counts[kind, "pph-s"]["pages"]
    sweep = [each for each in report["pages"]["sweep"] if each["kind"] == "spread"]
    assert [each["usefulness"] for each in sweep] == [*USEFULNESS]
    assert sweep[0]["query"] > sweep[-1]["query"]
    found = report["histories"]
    assert found["bytes"]["history"] > 0
    assert found["lifespans"] == found["keys"]
    printed = capsys.readouterr().out
    assert "| reads a query, pph-s | at most 2.2 |" in printed
    assert not list(tmp_path.glob("tmp*"))


@pytest.mark.slow
@pytest.mark.server
def test_sets_and_what_one_would_use_instead_answer_the_same(tmp_path, passable, capsys):
    from bench.sets.__main__ import main

    where = ["--json", str(tmp_path / "sets.json"), "--folder", str(passable)]
    report = main(["--quick", "--only", "speed", *where])
    names = ["pph-s", "mvbt", "LMDB", "NumPy", "SQLite", "DuckDB", *["PostgreSQL"] * INSTALLED]
    found = [(each["history"], each["contender"]) for each in report["speed"]["speed"]]
    assert found == [(history, name) for history in ("1", "10") for name in names]
    assert all(each["bytes_a_lifespan"] >= 12 for each in report["speed"]["speed"])
    assert "Left out: rtree" in capsys.readouterr().out
    assert not list(passable.iterdir())


@pytest.mark.parametrize("spoiled", ["contains_many", "contains", "snapshot"])
def test_a_wrong_answer_of_a_set_is_noticed(tmp_path, monkeypatch, spoiled):
    from bench.measure import WrongAnswer
    from bench.sets.rivals import ours
    from bench.sets.speed import _check, _loaded

    from wavedex.temporal import TemporalSet

    right = getattr(TemporalSet, spoiled)
    wrong = {
        "contains_many": lambda *asked: ~right(*asked),
        "contains": lambda *asked: not right(*asked),
        "snapshot": lambda *asked: right(*asked).slice(1),
    }
    work = small("uniform")
    with _loaded(ours("pph-s"), work, tmp_path) as (members, _):
        _check(members, work, 1)
        monkeypatch.setattr(TemporalSet, spoiled, wrong[spoiled])
        with pytest.raises(WrongAnswer):
            _check(members, work, 1)
