import json

import pytest

from wavedex.plan import plan_table, scheme


def planned(run, *args):
    result = run("plan", *args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_table_of_wata_slot_by_slot(run):
    rows = planned(run, "wata", "--window", 10, "--indexes", 4, "--until", 14)
    kept = {"I2": [4, 5, 6], "I3": [7, 8, 9]}
    assert rows[1:] == [
        {
            "slot": 11,
            "ops": ["add({11}, I4)"],
            "prepare": [],
            "indexes": {"I1": [1, 2, 3], **kept, "I4": [10, 11]},
            "temps": {},
        },
        {
            "slot": 12,
            "ops": ["add({12}, I4)"],
            "prepare": [],
            "indexes": {"I1": [1, 2, 3], **kept, "I4": [10, 11, 12]},
            "temps": {},
        },
        {
            "slot": 13,
            "ops": ["drop(I1)", "build({13}) -> I1"],
            "prepare": [],
            "indexes": {"I1": [13], **kept, "I4": [10, 11, 12]},
            "temps": {},
        },
        {
            "slot": 14,
            "ops": ["add({14}, I1)"],
            "prepare": [],
            "indexes": {"I1": [13, 14], **kept, "I4": [10, 11, 12]},
            "temps": {},
        },
    ]
    assert rows[0]["slot"] == 10


def test_the_table_of_rata_with_its_temporaries(run):
    rows = planned(run, "rata", "--window", 10, "--indexes", 4, "--until", 12)
    assert rows[0]["prepare"] == ["build({3}) -> T0", "copy(T0, T1)", "add({2}, T1)"]
    assert rows[0]["temps"] == {"T0": [3], "T1": [2, 3]}
    assert rows[1]["ops"] == ["add({11}, I4)", "rename(T1, I1)"]
    assert rows[1]["temps"] == {"T0": [3]}
    assert rows[2]["indexes"] == {"I1": [3], "I2": [4, 5, 6], "I3": [7, 8, 9], "I4": [10, 11, 12]}
    assert rows == plan_table(scheme("rata", 10, 4), 12)


def test_a_plan_ends_after_a_second_window_if_nothing_is_said(run):
    rows = planned(run, "del", "--window", 4, "--indexes", 2)
    assert [row["slot"] for row in rows] == [4, 5, 6, 7, 8]


def test_the_preparation_is_spread_when_asked_for(run):
    usual = ["reindex++", "--window", 10, "--indexes", 2, "--until", 20]
    assert planned(run, *usual) == plan_table(scheme("reindex++", 10, 2), 20)
    assert planned(run, *usual, "--spread") == plan_table(
        scheme("reindex++", 10, 2, spread=True), 20
    )
    assert planned(run, *usual) != planned(run, *usual, "--spread")


def test_del_deletes_ahead_where_the_sub_index_is_copied_to_be_updated(run):
    usual = ["del", "--window", 10, "--indexes", 2, "--until", 12]
    ahead = planned(run, *usual, "--update", "simple-shadow")
    assert ahead == plan_table(scheme("del", 10, 2, ahead=True), 12)
    assert planned(run, *usual, "--update", "in-place") == planned(run, *usual)
    assert planned(run, "wata", *usual[1:], "--update", "simple-shadow")[0]["temps"] == {}


def test_for_people_a_plan_is_a_table_with_sets(run):
    result = run("plan", "rata", "--window", 10, "--indexes", 4, "--until", 11)
    assert result.exit_code == 0
    for text in ("I1 {2, 3}", "T0 {3}", "rename(T1, I1)", "build({3}) -> T0", "│   11 │"):
        assert text in result.stdout
    assert "preparation" not in run("plan", "wata", "--window", 4, "--indexes", 2).stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["tata", "--window", "4", "--indexes", "2"], "there is no scheme 'tata'"),
        (["wata", "--window", "4", "--indexes", "5"], "indexes is 5"),
        (["wata", "--window", "4", "--indexes", "2", "--until", "3"], "until is slot 3"),
        (["wata", "--window", "4", "--indexes", "2", "--spread"], "no option 'spread'"),
        (["wata", "--window", "4", "--indexes", "2", "--update", "magic"], "magic"),
    ],
)
def test_a_plan_that_cannot_be_drawn_says_why(run, args, said):
    result = run("plan", *args)
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr


def test_a_plan_needs_a_window_and_a_number_of_sub_indexes(run):
    assert run("plan", "wata").exit_code == 2
    assert run("plan", "wata", "--window", "many", "--indexes", "2").exit_code == 2
