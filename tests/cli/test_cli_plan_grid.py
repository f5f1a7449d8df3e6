"""`wavedex plan METHOD --grid GxE`: what a method of variable lifetimes does, by refresh."""

import json
import re
import shlex

import pytest

from kit.paths import DOCS
from wavedex.plan import METHODS, SCHEMES, grid, grid_table, plan_table, scheme

PAGE = DOCS / "lifetimes-plans.md"


def planned(run, *args):
    result = run("plan", *args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_json_of_a_refresh(run):
    start, first = planned(run, "rebuild", "--window", 8, "--grid", "2x2", "--until", 9)
    assert (start["slot"], start["touched"]) == (8, ["I1", "I2", "I3", "I4"])
    assert first == {
        "slot": 9,
        "ops": ["delete({9}, I1)", "delete({9}, I3)", "insert({9}, I1)", "insert({9}, I2)"],
        "prepare": [],
        "indexes": {
            "I1": [11, 13, 15, 17],
            "I2": [10, 12, 14, 16],
            "I3": [11, 13, 15],
            "I4": [10, 12, 14, 16],
        },
        "temps": {},
        "inserts": ["I1", "I2"],
        "expires": ["I1", "I3"],
        "touched": ["I1", "I2", "I3"],
    }


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_planned_by_its_name(run, method):
    shape = {"births": (4, 1), "deaths": (1, 4)}
    rows, columns = shape[min(METHODS[method].sides)] if len(METHODS[method].sides) == 1 else (2, 4)
    usual = [method, "--window", 8, "--until", 20]
    expected = grid_table(grid(method, 8, rows, columns), 20)
    assert planned(run, *usual, "--grid", f"{rows}x{columns}") == expected
    assert planned(run, *usual, "--grid", f"{rows} X {columns}") == expected
    if len(METHODS[method].sides) == 1 and method not in SCHEMES:
        assert planned(run, *usual, "--indexes", 4) == expected


def test_wata_is_a_wave_with_a_number_and_a_method_with_a_grid(run):
    usual = ["wata", "--window", 8, "--until", 20]
    assert planned(run, *usual, "--indexes", 4) == plan_table(scheme("wata", 8, 4), 20)
    assert planned(run, *usual, "--grid", "4x1") == grid_table(grid("wata", 8, 4, 1), 20)


def test_partitions_and_their_seed_can_be_chosen(run):
    usual = ["no-rebuild", "--window", 8, "--grid", "2x4", "--until", 20]
    both = ("chronological", "random")
    chosen = planned(run, *usual, "--partition", "chronological, random", "--seed", 7)
    assert chosen == grid_table(grid("no-rebuild", 8, 2, 4, both, seed=7), 20)
    unseeded = planned(run, *usual, "--partition", "chronological,random")
    assert unseeded == grid_table(grid("no-rebuild", 8, 2, 4, both), 20)
    assert unseeded != chosen


def test_a_plan_of_a_grid_ends_after_a_second_window_if_nothing_is_said(run):
    rows = planned(run, "rebuild", "--window", 4, "--grid", "2x2")
    assert [row["slot"] for row in rows] == [4, 5, 6, 7, 8]


def test_for_people_it_is_a_table_of_what_is_touched_and_what_is_left_alone(run):
    result = run("plan", "lazy-rebuild", "--window", 8, "--grid", "2x2", "--until", 15)
    assert result.exit_code == 0
    for text in ("inserts", "expires", "left alone", "sub-indexes", "│   15 │"):
        assert text in result.stdout
    for text in ("build({}) -> I1", "delete({15}, I3)", "insert({15}, I2)", "I1 {17, 19, 21, 23}"):
        assert text in result.stdout
    (row,) = (line for line in result.stdout.splitlines() if line.startswith("│   15 │"))
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells[2:5] == ["I1, I2", "I1, I2, I3", "I4"]
    assert "preparation" not in result.stdout
    assert "left alone" not in run("plan", "wata", "--window", 4, "--indexes", 2).stdout


def test_the_example_of_the_page_on_grids_is_what_is_printed(run):
    shown = re.search(r"^```\n\$ wavedex (.+)\n((?:.+\n)+)```$", PAGE.read_text(), re.MULTILINE)
    assert run(*shlex.split(shown[1])).stdout == shown[2]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["rebuild", "--grid", "9x2"], "rows is 9: give rebuild between 2 and 8"),
        (["rebuild", "--grid", "2x0"], "columns is 0: give rebuild between 2 and 8"),
        (["r-exp", "--indexes", "9"], "columns is 9: give r-exp between 1 and 8"),
        (["r-ins", "--grid", "2x2"], "columns is 2: give r-ins 1"),
        (["reindex", "--grid", "2x2"], "there is no method 'reindex'"),
        (["rebuild", "--grid", "2x2", "--partition", "odd,even"], "there is no partition 'odd'"),
        (["r-ins", "--grid", "2x1", "--partition", "random,random"], "cannot be random"),
        (["rebuild", "--grid", "2x2", "--until", "7"], "until is slot 7"),
    ],
)
def test_a_grid_that_cannot_be_drawn_says_why(run, args, said):
    result = run("plan", *args, "--window", 8)
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["rebuild"], "rebuild needs --grid GxE."),
        (["rebuild", "--indexes", "4"], "rebuild needs --grid GxE."),
        (["d-ins"], "d-ins needs --grid GxE or --indexes N."),
        (["d-ins", "--indexes", "two"], "'two' is not a whole number"),
        (["d-ins", "--indexes", "2,3"], "'2,3' is not a whole number"),
        (["rebuild", "--grid", "2x2", "--indexes", "4"], "leave --indexes out"),
        (["rebuild", "--grid", "2,2"], "'2,2' is not rows x columns"),
        (["rebuild", "--grid", "2x2x2"], "'2x2x2' is not rows x columns"),
        (["rebuild", "--grid", "2x2", "--partition", "random"], "is not BIRTHS,DEATHS"),
        (["rebuild", "--grid", "2x2", "--seed", "many"], "--seed"),
        (["rebuild", "--grid", "2x2", "--spread"], "--spread goes with wave schemes"),
        (["rebuild", "--grid", "2x2", "--update", "runs"], "--update goes with wave schemes"),
        (["rebuild", "--grid", "2x2", "--sizes", "f.csv"], "--sizes goes with wave schemes"),
        (["rebuild", "--grid", "2x2", "--max-size", "9"], "--max-size goes with wave schemes"),
        (["wata", "--indexes", "2", "--seed", "1"], "--seed goes with methods of grids"),
        (["wata", "--indexes", "2", "--partition", "a,b"], "--partition goes with methods"),
        (["wata"], "wata needs --indexes N."),
    ],
)
def test_wrong_usage_is_told_from_a_grid_that_cannot_be(run, args, said):
    result = run("plan", *args, "--window", 8, COLUMNS="300")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
