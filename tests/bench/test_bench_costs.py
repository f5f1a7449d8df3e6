"""What a slot costs is predicted from plans, measured, and compared. No test looks at a time."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest

from kit.paths import ROOT
from wavedex.plan import SCHEMES, cycle_of, options_of, scheme

SHAPES = ((7, 3), (8, 2))
BLIND = [name for name, kind in SCHEMES.items() if not kind.weighs]
"""What the others cost depends on the rows of each slot, and not on the plans alone."""


@pytest.fixture(autouse=True)
def bench_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def spread_out(name, window, indexes):
    """The planner as an index is created with it."""
    options = {option: True for option in options_of(name) if option == "spread"}
    return scheme(name, window, indexes, **options)


def predicted_work(name, update, window, indexes):
    """What `bench.scale.work_of` measures.

    Slots written a transition and a preparation, over two windows.
    """
    from wavedex.cost.prediction import Prediction

    forecast = Prediction(spread_out(name, window, indexes), update)
    forecast.begin(window - 1, range(window))
    steps = [forecast.arrive() for _ in range(2 * window)]
    return tuple(
        sum(getattr(step, half).slots for step in steps) / len(steps)
        for half in ("transition", "preparation")
    )


def measured_work(name, update, window, indexes):
    from bench.scale import work_of

    work = work_of(name, update, window, indexes)
    return work.transition, work.preparation


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("update", ["packed-shadow", "runs"])
@pytest.mark.parametrize("name", BLIND)
def test_an_index_writes_exactly_the_slots_that_the_plans_predict(name, update, shape):
    assert measured_work(name, update, *shape) == predicted_work(name, update, *shape)


def test_a_prediction_that_forgets_the_merges_is_noticed(monkeypatch):
    from wavedex.cost.prediction import Prediction

    monkeypatch.setattr(Prediction, "_merges", lambda self: [])
    assert measured_work("wata", "runs", 7, 3) != predicted_work("wata", "runs", 7, 3)


@pytest.mark.parametrize("name", BLIND)
def test_after_a_cycle_the_costs_come_again(name):
    from wavedex.cost.prediction import Prediction

    for window, indexes in (*SHAPES, (14, 4), (9, 9)):
        planner = spread_out(name, window, indexes)
        cycle = cycle_of(planner)
        assert 1 <= cycle <= window
        for update in ("in-place", "simple-shadow", "packed-shadow", "runs"):
            forecast = Prediction(planner, update)
            forecast.begin(window - 1, range(window))
            steps = [forecast.arrive() for _ in range(3 * cycle)]
            costs = [(step.transition, step.preparation) for step in steps]
            first, second, third = (costs[pos * cycle : (pos + 1) * cycle] for pos in range(3))
            assert second == third
            # With two sub-indexes a ladder that was built at the start is in other files than one
            # that grew.
            assert first == second or indexes == 2


def test_cycles_are_those_of_the_clusters():
    assert cycle_of(scheme("wata", 14, 4)) == 13
    assert cycle_of(scheme("wata", 7, 4)) == 2
    assert cycle_of(scheme("del", 12, 4)) == 3
    assert cycle_of(scheme("reindex", 14, 4)) == 14


def test_a_window_that_is_filled_slot_by_slot_costs_what_a_filled_one_does():
    from wavedex.cost.prediction import Prediction

    for name in BLIND:
        planner = spread_out(name, 7, 3)
        span = 7 * cycle_of(planner)
        costs = []
        for begin in (range(7), ()):
            forecast = Prediction(planner, "runs")
            forecast.begin(6 if begin else -1, begin)
            if not begin:
                _ = [forecast.arrive() for _ in range(7)]
            steps = [forecast.arrive() for _ in range(2 * span)][span:]
            costs.append(sum(step.preparation.slots for step in steps))
        assert costs[0] == costs[1]


@pytest.mark.nightly
def test_whole_cycles_are_measured_next_to_their_prediction(tmp_path, capsys):
    from bench.cycles import PICTURES, draw, main, markdown

    path = tmp_path / "cycles.json"
    small = "--rows 700 --slots 6 --indexes 3 --folder"
    report = main([*small.split(), str(tmp_path), "--json", str(path)])
    assert report["checked"]
    assert json.loads(path.read_text()) == report
    assert list(tmp_path.iterdir()) == [path]
    assert len(report["cycles"]) == 4 * len(BLIND)
    for cycle in report["cycles"]:
        if cycle["update"] in ("packed-shadow", "runs"):
            assert cycle["measured_to_predicted"] == pytest.approx(1, abs=0.02)
            if cycle["update"] == "runs":
                assert cycle["transition_slots_predicted"] == {"mean": 1, "max": 1}
        else:
            # Buckets that move, and room that is copied along, are in no plan.
            assert 0.95 < cycle["measured_to_predicted"] < 3
    page = markdown(report)
    assert page in capsys.readouterr().out
    assert page.count("\n| `") == len(report["cycles"])
    assert_pictures_are_those_of_the_page(draw, report, page, tmp_path, len(PICTURES))


@pytest.mark.nightly
def test_growth_is_measured_next_to_its_prediction(tmp_path, capsys):
    from bench.sweeps import draw, main, markdown

    path = tmp_path / "sweeps.json"
    report = main(["--quick", "--json", str(path), "--folder", str(tmp_path)])
    assert report["checked"]
    assert json.loads(path.read_text()) == report
    for sweep in report["sweeps"]:
        for curve in sweep["curves"]:
            assert set(curve["growth"][0].values()) <= {1.0, None}
            for growth in curve["growth"]:
                assert 0.8 < growth["written_mb"] < 1.25
    page = markdown(report)
    assert page in capsys.readouterr().out
    assert_pictures_are_those_of_the_page(draw, report, page, tmp_path, 3)


def assert_pictures_are_those_of_the_page(draw, report, page, folder, count):
    paths = draw(report, folder / "pictures")
    assert [f"../pictures/{path.name}" for path in paths] == re.findall(r"\]\((.*?)\)", page)
    assert len(paths) == count
    again = draw(report, folder / "again")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert all(
        path.name.startswith("performance-") and b"<svg" in path.read_bytes() for path in paths
    )


def test_a_curve_that_grows_faster_than_its_prediction_bends():
    from bench.growth import bends_of, growth_of

    def point(rows, measured, predicted):
        return {
            "scheme": "wata",
            "update": "runs",
            "rows": rows,
            "measured": {"scan_ms": measured, "probe_us": 5.0, "preparation_ms": 1.0},
            "predicted": {"scan_ms": predicted, "probe_us": 3, "preparation_ms": 0},
        }

    points = [point(1, 10.0, 2), point(2, 20.0, 4), point(4, 80.0, 8)]
    assert [each["scan_ms"] for each in growth_of(points)] == [1, 1, 2]
    assert growth_of(points)[2] == {"scan_ms": 2, "probe_us": 1, "preparation_ms": None}
    (bend,) = bends_of(points, "rows")
    assert (bend["what"], bend["from"], bend["factor_at_the_last"]) == ("scan_ms", 4, 2)
    falling = [point(1, 10.0, 8), point(2, 9.0, 2)]
    assert bends_of(falling, "rows") == []


@pytest.mark.nightly
def test_every_promise_is_measured_and_an_unmet_one_is_only_reported(tmp_path, capsys):
    from bench.promises import MEASURES, main, markdown

    path = tmp_path / "promises.json"
    report = main(["--quick", "--json", str(path), "--folder", str(tmp_path)])
    assert report["checked"]
    assert json.loads(path.read_text()) == json.loads(json.dumps(report))
    assert report["settings"]["only"] == list(MEASURES)
    named = {each["name"]: each for each in report["promises"]}
    for name, each in named.items():
        assert {"measured", "bound", "unit", "met"} <= set(each)
        assert each["met"] == (name not in report["unmet"])
    data = [each for name, each in named.items() if name.startswith("data written by that expiry")]
    assert len(data) == 2
    assert all(each["met"] and each["measured"]["max"] == 0 for each in data)
    assert named["of pyspark, numba and pandas, imported along"]["met"]
    page = markdown(report)
    assert page in capsys.readouterr().out
    assert page.count("| **no** |") == len(report["unmet"])


def test_a_promise_is_met_on_the_right_side_of_its_bound():
    from bench.promised import promise

    assert promise("a time", [9, 10, 30], 10, "ms")["met"]
    assert not promise("a size", [9, 10, 30], 10, "bytes", judged_by="max")["met"]
    assert promise("a speed", [2e6], 1e6, "keys/s", at_least=True)["met"]
    assert not promise("a speed", [5e5], 1e6, "keys/s", at_least=True)["met"]
    assert promise("for comparison", [1], None, "ms")["met"] is None


def test_sampled_answers_are_those_of_all_rows():
    from bench.sliding import Feed
    from bench.workload import Answers, same_rows

    feed = Feed(2_000, 500, 100, seed=3)
    tables = [feed.slot(slot) for slot in range(4)]
    right, sampled = Answers(pa.concat_tables(tables[1:])), feed.answers(3, 3)
    assert sampled.counts(feed.probes) == right.counts(feed.probes)
    assert sampled.counts(feed.probes).count(0) == 10
    keys = sorted(set(feed.probes))
    assert same_rows(sampled.of_keys(keys), right.of_keys(keys))
    assert sampled.sums == right.sums
    assert feed.slot(2).equals(tables[2])


def test_answers_of_another_window_are_noticed(tmp_path, monkeypatch):
    from bench.cycles import check
    from bench.measure import WrongAnswer
    from bench.promised import QUICK
    from bench.promises_of_writing import measure_expiry
    from bench.sliding import Feed, Watched
    from bench.sweeps import measure_point
    from bench.workload import make_workload

    work = make_workload("uniform", 4, 200, 20, seed=1)
    watched = Watched(tmp_path / "x.wx", window=3, indexes=2)
    watched.append(pa.concat_tables(work.slots[1:]))
    check(watched, work, 3, 3)
    with pytest.raises(WrongAnswer):
        check(watched, work, 2, 3)

    right = Feed.answers
    monkeypatch.setattr(Feed, "answers", lambda feed, newest, width: right(feed, newest, width - 1))
    settings = {"probes": 50, "openings": 1, "seed": 1}
    shape = {"rows": 200, "window": 4, "indexes": 2}
    with pytest.raises(WrongAnswer, match="probe"):
        measure_point(tmp_path, "wata", "runs", shape, settings)
    monkeypatch.setattr(Feed, "answers", lambda feed, newest, width: right(feed, newest, 1))
    with pytest.raises(WrongAnswer, match="after an expiry"):
        measure_expiry(tmp_path, QUICK)


def test_changes_of_mind_and_erasures_are_measured_and_checked(tmp_path):
    from bench.changing import CHANGES, main

    report = main(["--rows", "200", "--json", str(tmp_path / "changing.json")])
    assert set(report["changes"]) == {*CHANGES, "100 keys erased"}
    assert report["changes"]["scheme, drained"]["bytes"] == 0
    assert report["changes"]["twice the shards"]["bytes"] > 0
    assert json.loads((tmp_path / "changing.json").read_text())["changes"] == report["changes"]


def test_texts_are_hashed_as_the_package_does_before_a_time_counts(tmp_path):
    from bench.hashes import main, markdown

    report = main(["--quick", "--json", str(tmp_path / "hashes.json")])
    assert json.loads((tmp_path / "hashes.json").read_text()) == report
    assert "20,000 texts" in markdown(report)


@pytest.mark.nightly
def test_checks_are_measured_with_and_without(tmp_path):
    from bench.checks import WAYS, main

    report = main(["--rows", "200", "--slots", "4", "--json", str(tmp_path / "checks.json")])
    assert set(report["checks"]) == {*WAYS}
    for found in report["checks"].values():
        assert found["append"]["s_ratio"] > 0 < found["open and probe once"]["cpu_s_ratio"]


@pytest.mark.nightly
def test_the_upkeep_of_the_log_is_measured_and_checked(tmp_path):
    from bench.upkeep import main

    report = main(["--quick", "--json", str(tmp_path / "upkeep.json")])
    assert [each["kept"] for each in report["kept"]] == [2, 30]
    assert [each["window"] for each in report["windows"]] == [10, 2_000]
    small, large = report["windows"]
    assert large["manifest_bytes"] < 100 * 2_000 + small["manifest_bytes"]
    assert json.loads((tmp_path / "upkeep.json").read_text())["ratios"] == report["ratios"]
