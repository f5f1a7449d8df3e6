"""Figures 3 to 7 of the report on lifetimes, refresh by refresh.

r = 2, p = 8, 2 by 2; slot 9 is time 18.
"""

import pytest

from wavedex.plan import Examine, grid, grid_table

ALL = ["I1", "I2", "I3", "I4"]
FIGURE_3 = {  # slot: inserts, expires, left alone
    **dict.fromkeys([9, 10, 11, 12], ("I1 I2", "I1 I3", "I4")),
    **dict.fromkeys([13, 14, 15, 16], ("I3 I4", "I2 I4", "I1")),
    17: ("I1 I2", "I1 I3", "I4"),
}
FIGURE_4 = {
    **dict.fromkeys([9, 11, 13, 15, 17], ("I1 I2", "I1 I3", "I4")),
    **dict.fromkeys([10, 12, 14, 16], ("I3 I4", "I2 I4", "I1")),
}
FIGURE_5 = {
    **dict.fromkeys([9, 11, 13], ("I3 I4", "I3", "I1 I2")),
    **dict.fromkeys([10, 12, 14], ("I3 I4", "I4", "I1 I2")),
    15: ("I1 I2", "I1 I2 I3", "I4"),
    16: ("I1 I2", "I2", "I3 I4"),
    17: ("I1 I2", "I1", "I3 I4"),
}
FIGURE_6 = {
    **dict.fromkeys([9, 11, 13, 15, 17], ("I1 I2", "I1 I2 I3 I4", "")),
    **dict.fromkeys([10, 12, 14, 16], ("I3 I4", "I1 I2 I3 I4", "")),
}
FIGURE_7 = {
    9: ("I1 I2", "I1 I3", "I4"),
    10: ("I3 I4", "I1 I3", "I2"),
    11: ("I1 I2", "I1 I3", "I4"),
    12: ("I3 I4", "I1 I2 I3 I4", ""),
    13: ("I1 I2", "I1 I2 I3 I4", ""),
    14: ("I3 I4", "I2 I4", "I1"),
    15: ("I1 I2", "I2 I4", "I3"),
    16: ("I3 I4", "I1 I2 I3 I4", ""),
    17: ("I1 I2", "I1 I2 I3 I4", ""),
}
CHRONOLOGICAL = ("chronological", "chronological")
ROUND_ROBIN = ("round-robin", "round-robin")


def table(method, partition=None, until=17):
    return grid_table(grid(method, 8, 2, 2, partition), until)


@pytest.mark.parametrize(
    ("figure", "methods", "partition"),
    [
        pytest.param(FIGURE_3, ("rebuild", "no-rebuild"), CHRONOLOGICAL, id="Figure 3"),
        pytest.param(FIGURE_4, ("rebuild", "no-rebuild"), None, id="Figure 4"),
        pytest.param(FIGURE_5, ("lazy-rebuild", "lazy-no-rebuild"), None, id="Figure 5"),
        pytest.param(FIGURE_6, ("count-rebuild", "count-no-rebuild"), ROUND_ROBIN, id="Figure 6"),
        pytest.param(FIGURE_7, ("count-rebuild", "count-no-rebuild"), None, id="Figure 7"),
    ],
)
def test_a_refresh_inserts_expires_and_leaves_alone_as_in_the_figure(figure, methods, partition):
    for method in methods:
        start, *rows = table(method, partition)
        assert (start["slot"], start["inserts"], start["expires"]) == (8, ALL, [])
        shown = {
            row["slot"]: (
                " ".join(row["inserts"]),
                " ".join(row["expires"]),
                " ".join(name for name in ALL if name not in row["touched"]),
            )
            for row in rows
        }
        assert shown == figure
        for row in rows:
            both = {*row["inserts"], *row["expires"]}
            assert row["touched"] == [name for name in ALL if name in both]


def test_figure_3_splits_both_ranges_in_halves():
    start, first, *_ = table("rebuild", CHRONOLOGICAL)
    early, late = [9, 10, 11, 12], [13, 14, 15, 16]
    assert start["indexes"] == {"I1": early, "I2": late, "I3": early, "I4": late}
    assert first["indexes"] == {"I1": [10, 11, 12, 17], "I2": late, "I3": [10, 11, 12], "I4": late}
    assert grid("rebuild", 8, 2, 2, CHRONOLOGICAL).start(8)[1].births == {
        "1": {1, 2, 3, 4},
        "2": {5, 6, 7, 8},
    }


def test_figure_4_deals_both_ranges_out():
    start, first, second, *_ = table("rebuild")
    odd, even = [9, 11, 13, 15], [10, 12, 14, 16]
    assert start["indexes"] == {"I1": odd, "I2": even, "I3": odd, "I4": even}
    assert first["ops"] == [
        *("delete({9}, I1)", "delete({9}, I3)"),
        *("insert({9}, I1)", "insert({9}, I2)"),
    ]
    assert first["indexes"] == {"I1": [11, 13, 15, 17], "I2": even, "I3": odd[1:], "I4": even}
    assert second["indexes"]["I3"] == [11, 13, 15, 17]
    assert second["indexes"]["I4"] == [12, 14, 16, 18]
    assert (first["prepare"], first["temps"]) == ([], {})


def test_figure_5_throws_the_oldest_births_away_at_time_30():
    rows = {row["slot"]: row for row in table("lazy-rebuild")}
    for slot in range(9, 15):
        assert rows[slot]["indexes"]["I1"] == rows[8]["indexes"]["I1"] == [9, 11, 13, 15]
        assert rows[slot]["indexes"]["I2"] == rows[8]["indexes"]["I2"] == [10, 12, 14, 16]
    assert rows[15]["ops"] == [
        *("build({}) -> I1", "build({}) -> I2", "delete({15}, I3)"),
        *("insert({15}, I1)", "insert({15}, I2)"),
    ]
    assert rows[15]["indexes"]["I1"] == [17, 19, 21, 23]
    planner = grid("lazy-rebuild", 8, 2, 2)
    _, state = planner.start(8)
    assert state.births == {"1": set(range(1, 8)), "2": {8}}
    assert planner.refresh(state, 15)[1].births == {"1": {15}, "2": set(range(8, 15))}


def test_figures_6_and_7_examine_the_slot_before_the_present_one_and_the_next():
    dealt_out = table("count-rebuild", ROUND_ROBIN)[2]
    assert dealt_out["ops"][:4] == [
        *("examine({9, 11}, I1)", "examine({10}, I2)"),
        *("examine({9, 11}, I3)", "examine({10}, I4)"),
    ]
    rows = {row["slot"]: row["ops"] for row in table("count-rebuild")}
    assert rows[10] == [
        *("examine({9, 10, 11}, I1)", "examine({9, 10, 11}, I3)"),
        *("insert({10}, I3)", "insert({10}, I4)"),
    ]
    assert rows[12] == [
        *("delete({10}, I1)", "examine({11, 12}, I1)", "examine({13}, I2)"),
        *("delete({10}, I3)", "examine({11, 12}, I3)", "examine({13}, I4)"),
        *("insert({12}, I3)", "insert({12}, I4)"),
    ]


def test_a_guess_that_is_late_is_examined_until_it_is_not():
    planner = grid("count-rebuild", 8, 2, 2)
    state = planner.refresh(planner.start(8)[1], 11, frozenset())[1]
    plan, state = planner.refresh(state, 14, late=frozenset({9}))
    assert Examine(frozenset({9, 11, 12}), "I1") in plan.transition
    assert Examine(frozenset({13, 14, 15}), "I2") in plan.transition
    assert {9, 11, 12} <= state.indexes["I1"]
    plan, state = planner.refresh(state, 15, late=frozenset({9}))
    assert Examine(frozenset({9}), "I1") in plan.transition
    assert state.indexes["I1"] == {9, 17, 18, 19, 20}
    plan, state = planner.refresh(state, 16)
    assert [str(each) for each in plan.transition[:2]] == ["delete({9}, I1)", "examine({17}, I1)"]


def test_the_reach_of_an_examination_can_be_set():
    planner = grid("count-rebuild", 8, 2, 2, reach=(0, 2))
    plan, _ = planner.transition(planner.start(8)[1], 9)
    assert [str(each) for each in plan.transition[:2]] == [
        *("examine({9, 10, 11}, I1)", "examine({9, 10, 11}, I3)")
    ]
