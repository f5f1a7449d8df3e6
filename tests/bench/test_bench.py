"""The measurements run, check their answers, and notice wrong ones. No test looks at a time."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kit.paths import ROOT

TINY = ["--quick", "--shapes", "5x300", "--probes", "60"]

BROKEN = """
from bench.race.wave import WataRuns


class Forgetful(WataRuns):
    name = "forgetful"

    def probe(self, key):
        return super().probe(key).slice(1)
"""


@pytest.fixture(autouse=True)
def bench_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


@pytest.fixture
def passable():
    """A folder that a server which runs as another user can reach.

    Pytest's own folders are not such.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.mark.nightly
def test_a_tiny_race_checks_every_answer_and_writes_json(tmp_path, passable, capsys):
    # All of them run in `make bench-quick`, which fails where one gives a wrong answer.
    from bench.__main__ import main
    from bench.race.catalogue import CATALOGUE
    from bench.race.standings import COLUMNS

    path = tmp_path / "race.json"
    some = ["rata-runs", "wata-runs-parquet", "lmdb", "duckdb", "postgresql"]
    where = ["--json", str(path), "--folder", str(passable)]
    report = main([*TINY, "--contestants", *some, *where])
    assert report["checked"]
    assert not report["failed"]
    assert report["left_out"] == [name for name in CATALOGUE if name not in some]
    assert json.loads(path.read_text()) == report
    assert [result["contestant"] for result in report["results"]] == some
    for result in report["results"]:
        assert result["version"]
        assert all(column.value(result) >= 0 for column in COLUMNS)
    assert "every answer checked" in capsys.readouterr().out
    assert not list(passable.iterdir())


def test_a_contestant_with_a_wrong_answer_fails_loudly_and_the_others_go_on(
    tmp_path, monkeypatch, capsys
):
    from bench.__main__ import main

    (tmp_path / "entrants.py").write_text(BROKEN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    path = tmp_path / "race.json"
    names = ["entrants:Forgetful", "wata-runs"]
    with pytest.raises(SystemExit, match=r"Failed: entrants:Forgetful$"):
        main([*TINY, "--contestants", *names, "--json", str(path), "--folder", str(tmp_path)])
    report = json.loads(path.read_text())
    assert not report["checked"]
    assert [result["contestant"] for result in report["results"]] == ["wata-runs"]
    assert "WrongAnswer: probe right after slide 0" in report["failed"][0]["failed"]
    printed = capsys.readouterr().out
    assert "FAILED: entrants:Forgetful" in printed
    assert "Left out: wata-packed-shadow" in printed


@pytest.fixture
def course(tmp_path):
    from bench.race.course import lay_out
    from bench.workload import make_workload

    (tmp_path / "course").mkdir()
    return lay_out(tmp_path / "course", make_workload("zipf", 10, 200, 40, seed=1), 5)


@pytest.mark.parametrize(
    ("question", "spoil", "said"),
    [
        ("probe_recent", lambda found: found.slice(0, 0), "probe, recent"),
        ("probe_many", lambda found: pa.concat_tables([found, found.slice(0, 1)]), "probe_many"),
        ("grouped_sum", lambda found: found[1:], "grouped sum"),
        ("count_rows", lambda found: found - 1, "count after loading"),
        ("probe", lambda found: found.drop_columns("label"), "column label"),
    ],
)
def test_every_kind_of_wrong_answer_is_noticed(course, tmp_path, question, spoil, said):
    from bench.measure import WrongAnswer
    from bench.race.laps import run
    from bench.race.wave import WataRuns

    def wrong(self, *arguments):
        return spoil(getattr(WataRuns, question)(self, *arguments))

    broken = type("Broken", (WataRuns,), {question: wrong})
    (tmp_path / "room").mkdir()
    with pytest.raises(WrongAnswer, match=said):
        run(broken(), course, tmp_path / "room", round_s=0.01)


def test_a_package_or_command_that_is_missing_is_named(monkeypatch, tmp_path):
    from bench.__main__ import main

    monkeypatch.setitem(sys.modules, "lmdb", None)
    with pytest.raises(
        SystemExit, match=r"lmdb needs the package lmdb: pip install 'wavedex\[bench\]'"
    ):
        main([*TINY, "--contestants", "wata-runs", "lmdb"])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"initdb and pg_ctl on the PATH.*Debian package postgresql"
    ):
        main([*TINY, "--contestants", "postgresql"])


def small_report():
    """A report of one course, with figures that nobody measured."""
    from bench.report import circumstances

    def result(name, probe, transition):
        spread = {"median": transition, "min": transition, "max": transition}
        probes = {"median": probe, "min": probe, "max": probe, "p99": 2 * probe}
        same = {"recent_us": probes, "probe_us": probes, "disk_per_raw": 1.5, "memory_mb": 9.0}
        times = ("transition_s", "settle_s", "written_mb", "scan_s", "many_ms")
        course = {"workload": "zipf", "window": 14, "rows": 1000, "bytes_measure": "wchar"}
        return {"contestant": name, "version": "7", **course, **same} | dict.fromkeys(times, spread)

    results = [
        result("wata-runs", 20.0, 0.5),
        result("rata-runs", 10.0, 1.0),
        result("duckdb", 900.0, 0.25),
    ]
    settings = {"seed": 1, "slides": 5, "probes": 10}
    return {
        **circumstances(settings),
        "results": results,
        "failed": [],
        "left_out": ["lmdb"],
        "checked": True,
    }


def test_the_page_is_filled_from_a_report_and_says_where_we_lose(tmp_path):
    from bench.page import PAGES, main

    pages, pictures = tmp_path / "pages", tmp_path / "pictures"
    shutil.copytree(PAGES, pages)
    page = pages / "race.md"
    (tmp_path / "race.json").write_text(json.dumps(small_report()))
    where = ["--results", tmp_path, "--pages", pages, "--pictures", pictures]
    main(list(map(str, where)))
    text = page.read_text(encoding="utf-8")
    assert "| duckdb | 900 (1,800) [90.0x] |" in text
    assert "| wata-runs | 20.0 (40.0) [2.00x] |" in text
    lost = text.split("<!-- losses -->")[1].split("<!-- end -->")[0]
    assert "| a transition | duckdb 2.00 |" in lost
    assert "a probe" not in lost
    assert "bytes by wchar" in text
    assert "Left out: lmdb" in text
    drawn = {path.name: path.read_bytes() for path in pictures.iterdir()}
    assert all(f"(../pictures/{name})" in text for name in drawn)
    assert all(b"rata-runs" in svg for svg in drawn.values())
    main(list(map(str, where)))
    assert page.read_text(encoding="utf-8") == text
    assert {path.name: path.read_bytes() for path in pictures.iterdir()} == drawn


def test_the_page_has_a_block_for_everything_that_fills_one():
    from bench.page import OTHERS, PAGES, fill, race_blocks, read_pages

    pages = read_pages(PAGES)
    for name in (*race_blocks(small_report(), []), *OTHERS):
        fill(pages, name, f"something of {name}")
        filled = f"<!-- {name} -->\n\nsomething of {name}\n\n<!-- end -->"
        assert any(filled in text for text in pages.values())
    with pytest.raises(ValueError, match="no page has a block"):
        fill(pages, "nothing", "something")


def test_records_of_key_value_stores_are_the_rows_that_were_packed():
    from bench.race.records import grouped_sum_of, pack, unpack, unpack_many
    from bench.workload import make_workload, same_rows

    answers = make_workload("zipf", 1, 500, 20, seed=1).window(0, 1)
    keys, blobs = pack(answers.rows)
    assert same_rows(unpack_many(keys.tolist(), blobs), answers.rows)
    assert same_rows(unpack(int(keys[0]), blobs[:1]), answers.of_key(int(keys[0])))
    assert unpack(7, []).equals(answers.rows.slice(0, 0))
    assert {
        label: (units, amount) for label, units, amount in grouped_sum_of(blobs)
    } == answers.sums


def test_runs_write_only_what_arrives_before_the_slot_can_be_queried(tmp_path):
    from bench.ledger import CountingFiles, Ledger
    from bench.workload import SCHEMA, make_workload

    import wavedex as wx

    work = make_workload("uniform", 12, 2_000, 50, seed=1)
    first, later = {}, {}
    for update in ("runs", "packed-shadow"):
        ledger = Ledger()
        around = wx.Surroundings(files=lambda root, ledger=ledger: CountingFiles(root, ledger))
        idx = wx.WaveIndex.create(
            tmp_path / update, SCHEMA, key="key", time="at", window=9, indexes=3, update=update,
            surroundings=around,
        )  # fmt: skip
        idx.append(pa.concat_tables(work.slots[:9]))
        first[update], later[update] = [], []
        for table in work.slots[9:]:
            ledger.commits.clear()
            before = ledger.bytes_written
            idx.append(table)
            first[update].append(ledger.commits[0][1] - before)
            later[update].append(ledger.bytes_written - ledger.commits[0][1])
    assert np.median(first["runs"]) < np.median(first["packed-shadow"])
    assert max(later["packed-shadow"]) == 0


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


@pytest.mark.nightly
def test_what_spark_adds_is_measured_and_checked(tmp_path, capsys):
    from bench.spark import main

    report = main(["--quick", "--json", str(tmp_path / "spark.json"), "--folder", str(tmp_path)])
    assert report["checked"]
    assert report["results"]["scan"]["files_of_a_key"] < report["results"]["scan"]["files"]
    for update in ("packed-shadow", "runs"):
        assert 0.95 < report["results"][f"slide, {update}"]["ratio"] < 1.05
    assert "grouped sum" in capsys.readouterr().out


LIVES = ["rebuild", "no-rebuild", "lazy-rebuild", "count-rebuild", "r-ins"]


@pytest.mark.nightly
def test_lifetimes_are_measured_checked_and_judged_and_can_be_resumed(tmp_path, capsys):
    from bench.lifetimes import main

    path = tmp_path / "lifetimes.json"
    small = ["--quick", "--large", "--methods", *LIVES]
    where = ["--json", str(path), "--folder", str(tmp_path)]
    report = main([*small, *where])
    assert report["checked"]
    assert json.loads(path.read_text()) == report
    assert [each["method"] for each in report["papers"]] == LIVES
    assert {each["n"] for each in report["large"]} == {9, 25}
    counted = ("bytes of", "squared deviations", "what `")
    met = {each["name"]: each["met"] for each in report["targets"]}
    missed = [name for name in met if name.startswith(counted) and not met[name]]
    assert missed == ["bytes of `count-rebuild` 2x2 to `r-ins`, 100 keys"]  # It examines more.
    assert sum(name.startswith(counted) for name in met) == 10
    printed = capsys.readouterr().out
    assert "| 2x2 | `rebuild` |" in printed
    again = main([*small, "r-exp", "--resume", *where])
    assert again["papers"][:-1] == report["papers"]
    assert again["papers"][-1]["method"] == "r-exp"
    assert again["peers"] == report["peers"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.nightly
def test_probes_with_hidden_rows_are_measured_beside_those_without(tmp_path, capsys):
    from bench.hidden import main

    path = tmp_path / "hidden.json"
    report = main(["--quick", "--json", str(path), "--folder", str(tmp_path)])
    assert report["checked"]
    assert json.loads(path.read_text()) == report
    assert len(report["results"]) == len(report["targets"]) == 4
    assert all(each["hidden_rows"] > 0 for each in report["results"])
    assert "| `no-rebuild` | yes |" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_changes_and_atomic_refreshes_are_measured_and_checked(tmp_path, capsys):
    from bench.joints import main

    path = tmp_path / "joints.json"
    asked = ["--rows", "300", "--json", str(path), "--folder", str(tmp_path)]
    report = main(asked)
    assert report["checked"]
    assert json.loads(path.read_text()) == report
    methods, waves = ["rebuild", "no-rebuild"], ["wave", "packed wave", "wave in place"]
    assert [each["what"] for each in report["changes"]] == [*waves, *methods]
    assert all(each["commits"]["one"] == 1 for each in report["applied"])
    assert "| apply beside three calls, `rebuild` |" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("counted", [False, True])
def test_wrong_answers_of_lives_are_noticed(counted):
    from bench.lives.rows import Lives, read_all
    from bench.measure import WrongAnswer

    lives = Lives(keys=5, slots=4, width=50, seed=1, counted=counted)
    rows = pa.concat_tables([lives.slot(number) for number in range(1, 6)])
    answers = lives.answers(250)
    keys, born, until = lives.live(250)
    assert answers.counts([int(keys[0])]) == [np.count_nonzero(keys == keys[0])]
    right = rows.filter(pa.compute.field("until") > 250)
    assert right.num_rows == len(born) == len(until)
    assert read_all(right.to_reader()) == answers.sums
    assert read_all(right.slice(1).to_reader()) != answers.sums
    of_key = right.filter(pa.compute.field("key") == 3)
    answers.check_key(3, of_key)
    texts = of_key["text"].to_pylist()
    spoiled = [texts[0][:-1] + "?", *texts[1:]]
    place = of_key.column_names.index("text")
    for wrong in (of_key.slice(1), of_key.set_column(place, "text", pa.array(spoiled))):
        with pytest.raises(WrongAnswer):
            answers.check_key(3, wrong)


def test_rows_for_clickhouse_are_compared_whatever_their_order():
    from bench.lives.course import make_course
    from bench.measure import WrongAnswer

    course = make_course(slots=3, rows=40, refreshes=1, probes=10, seed=1)
    live = course.live(3)
    key = live["key"][0].as_py()
    rows = live.filter(pa.compute.field("key") == key)
    course.check(3, key, rows.select(rows.column_names[::-1]))
    with pytest.raises(WrongAnswer):
        course.check(3, key, rows.slice(1))


def test_cold_windows_and_windows_afar_are_measured_and_checked(tmp_path, capsys):
    from bench.afar import main as measure_afar
    from bench.cold import main as measure_cold

    few = ["--contestants", "sqlite", "--folder", str(tmp_path)]
    cold = measure_cold(["--quick", *few, "--json", str(tmp_path / "cold.json")])
    assert cold["results"]["sqlite"]["cold"]["first"]["ms"] > 0
    afar = measure_afar(
        ["--quick", "--folder", str(tmp_path), "--json", str(tmp_path / "afar.json")]
    )
    for found in afar["results"].values():
        assert 0 < found["second"]["kb"] < found["first"]["kb"] < found["whole"]["kb"]
        assert found["again"]["ranges"] == 0
    assert "first probe ms" in capsys.readouterr().out


PROGRAMS = [
    path.stem
    for path in sorted((ROOT / "bench").glob("*.py"))
    if "def main(arguments" in path.read_text()
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_benchmark_says_how_it_is_run(name, capsys):
    program = importlib.import_module(f"bench.{name}")
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


@pytest.mark.slow
def test_windows_in_memory_are_measured_and_checked(tmp_path, capsys):
    from bench.windows.__main__ import main

    report = main(["--quick", "--json", str(tmp_path / "windows.json")])
    assert report["checked"]
    assert {each["ring"] for each in report["rings"]} == {
        "numbered", "dirty-bits", "backward", "auxiliary", "simple"
    }  # fmt: skip
    steps = {(each["storage"], each["index"]): each["steps"] for each in report["indexes"]}
    assert steps["list", "list"]["search"] > 20 * steps["list", "tree"]["search"]
    asked = {(each["storage"], each["index"]) for each in report["indexes"] if each["histogram"]}
    kinds = ("counts", "tree", "hash", "list", "none")
    assert asked == {(storage, kind) for storage in ("list", "aggr", "hash") for kind in kinds}
    assert [each["kind"] for each in report["intersections"]] == [
        "tree", "hash", "group 10", "group 50"
    ]  # fmt: skip
    assert [each["ring"] for each in report["ordered"]] == [
        "numbered", "dirty-bits", "backward", "auxiliary"
    ]  # fmt: skip
    rivals = {"by hand", "np.bincount", "np.unique", "pandas", "Polars", "DuckDB"}
    assert all(each[name] > 0 for each in report["histograms"] for name in rivals)
    assert {"new", "kept", "newest", "all"} <= set(report["joins"])
    printed = capsys.readouterr().out
    assert "| target |" in printed
    assert "Polars, newest rows" in printed


def test_histograms_of_windows_are_compared_with_what_came():
    from bench.measure import WrongAnswer
    from bench.windows.paper import Setting, check_histogram

    setting = Setting(10, 4, rows=400)
    stream = setting.stream(1_000, 7)
    window = setting.window(index=["src"])
    window.push(stream)
    check_histogram(window, stream)
    with pytest.raises(WrongAnswer):
        check_histogram(window, stream.slice(0, 900))
