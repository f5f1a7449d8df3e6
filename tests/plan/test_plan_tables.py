"""The tables of the wave-index paper, but for the slips that working them through shows."""

import json

import pytest

from wavedex.errors import BadDefinition
from wavedex.plan import plan_table, scheme

OLD, LATE = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10]
TWO = ["build({1, 2, 3, 4, 5}) -> I1", "build({6, 7, 8, 9, 10}) -> I2"]
FOUR = [
    "build({1, 2, 3}) -> I1",
    "build({4, 5, 6}) -> I2",
    "build({7, 8, 9}) -> I3",
    "build({10}) -> I4",
]


def rows(name, indexes, until, **options):
    table = plan_table(scheme(name, 10, indexes, **options), until)
    assert [row["slot"] for row in table] == list(range(10, until + 1))
    return {row["slot"]: row for row in table}


def column(table, key):
    return {slot: row[key] for slot, row in table.items()}


def test_table_1_deletes_and_adds():
    table = rows("del", 2, 13)
    assert column(table, "ops") == {
        10: TWO,
        11: ["delete({1}, I1)", "add({11}, I1)"],
        12: ["delete({2}, I1)", "add({12}, I1)"],
        13: ["delete({3}, I1)", "add({13}, I1)"],
    }
    assert column(table, "indexes") == {
        10: {"I1": OLD, "I2": LATE},
        11: {"I1": [2, 3, 4, 5, 11], "I2": LATE},
        12: {"I1": [3, 4, 5, 11, 12], "I2": LATE},
        13: {"I1": [4, 5, 11, 12, 13], "I2": LATE},
    }
    assert all(row["prepare"] == [] and row["temps"] == {} for row in table.values())


def test_table_1_ahead_copies_and_deletes_before_the_slot_arrives():
    table = rows("del", 2, 15, ahead=True)
    assert table[10]["ops"] == TWO
    assert table[10]["prepare"] == ["copy(I1, T0)", "delete({1}, T0)"]
    assert table[11]["ops"] == ["add({11}, T0)", "rename(T0, I1)"]
    assert table[11]["prepare"] == ["copy(I1, T0)", "delete({2}, T0)"]
    assert table[11]["temps"] == {"T0": [3, 4, 5, 11]}
    assert table[15]["prepare"] == ["copy(I2, T0)", "delete({6}, T0)"]
    assert column(table, "indexes") == column(rows("del", 2, 15), "indexes")


def test_table_2_builds_again():
    table = rows("reindex", 2, 16)
    assert column(table, "ops") == {
        10: TWO,
        11: ["build({2, 3, 4, 5, 11}) -> I1"],
        12: ["build({3, 4, 5, 11, 12}) -> I1"],
        13: ["build({4, 5, 11, 12, 13}) -> I1"],
        14: ["build({5, 11, 12, 13, 14}) -> I1"],
        15: ["build({11, 12, 13, 14, 15}) -> I1"],
        16: ["build({7, 8, 9, 10, 16}) -> I2"],  # the paper prints 6 for 16
    }
    assert table[16]["indexes"] == {"I1": [11, 12, 13, 14, 15], "I2": [7, 8, 9, 10, 16]}
    assert all(row["prepare"] == [] and row["temps"] == {} for row in table.values())


def test_table_3_waits_and_throws_away():
    table = rows("wata", 4, 14)
    assert column(table, "ops") == {
        10: FOUR,
        11: ["add({11}, I4)"],
        12: ["add({12}, I4)"],
        13: ["drop(I1)", "build({13}) -> I1"],
        14: ["add({14}, I1)"],
    }
    kept = {"I2": [4, 5, 6], "I3": [7, 8, 9]}
    assert column(table, "indexes") == {
        10: {"I1": [1, 2, 3], **kept, "I4": [10]},
        11: {"I1": [1, 2, 3], **kept, "I4": [10, 11]},
        12: {"I1": [1, 2, 3], **kept, "I4": [10, 11, 12]},
        13: {"I1": [13], **kept, "I4": [10, 11, 12]},
        14: {"I1": [13, 14], **kept, "I4": [10, 11, 12]},
    }
    assert [sum(map(len, row["indexes"].values())) for row in table.values()] == [
        10, 11, 12, 10, 11,
    ]  # fmt: skip


def test_table_5_remembers_the_new_slots_in_temp():
    table = rows("reindex+", 2, 16)
    assert column(table, "ops") == {
        10: TWO,
        11: ["build({11}) -> Temp", "copy(Temp, I1)", "add({2, 3, 4, 5}, I1)"],
        12: ["add({12}, Temp)", "copy(Temp, I1)", "add({3, 4, 5}, I1)"],
        13: ["add({13}, Temp)", "copy(Temp, I1)", "add({4, 5}, I1)"],
        14: ["add({14}, Temp)", "copy(Temp, I1)", "add({5}, I1)"],
        15: ["copy(Temp, I1)", "add({15}, I1)", "drop(Temp)"],
        16: ["build({16}) -> Temp", "copy(Temp, I2)", "add({7, 8, 9, 10}, I2)"],
    }
    assert column(table, "temps") == {
        10: {},
        11: {"Temp": [11]},
        12: {"Temp": [11, 12]},
        13: {"Temp": [11, 12, 13]},
        14: {"Temp": [11, 12, 13, 14]},
        15: {},
        16: {"Temp": [16]},
    }
    assert column(table, "indexes") == column(rows("reindex", 2, 16), "indexes")


def ladder(*newest_first):
    one, two, three, four = newest_first
    return [
        "build({}) -> T0",
        f"build({{{one}}}) -> T1",
        "copy(T1, T2)",
        f"add({{{two}}}, T2)",
        "copy(T2, T3)",
        f"add({{{three}}}, T3)",
        "copy(T3, T4)",
        f"add({{{four}}}, T4)",
    ]


def test_table_6_reindexes_before_the_slot_arrives():
    table = rows("reindex++", 2, 16)
    assert column(table, "ops") == {
        10: TWO,
        11: ["add({11}, T4)", "rename(T4, I1)"],
        12: ["add({12}, T3)", "rename(T3, I1)"],
        13: ["add({13}, T2)", "rename(T2, I1)"],
        14: ["add({14}, T1)", "rename(T1, I1)"],
        15: ["add({15}, T0)", "rename(T0, I1)"],
        16: ["add({16}, T4)", "rename(T4, I2)"],
    }
    assert column(table, "prepare") == {
        10: ladder(5, 4, 3, 2),
        11: ["add({11}, T3)"],
        12: ["add({11, 12}, T2)"],
        13: ["add({11, 12, 13}, T1)"],
        14: ["add({11, 12, 13, 14}, T0)"],
        15: ladder(10, 9, 8, 7),
        16: ["add({16}, T3)"],
    }
    assert table[10]["temps"] == {
        "T0": [],
        "T1": [5],
        "T2": [4, 5],
        "T3": [3, 4, 5],
        "T4": [2, 3, 4, 5],
    }
    assert table[14]["temps"] == {"T0": [11, 12, 13, 14]}
    assert table[16]["temps"] == {"T0": [], "T1": [10], "T2": [9, 10], "T3": [8, 9, 10, 16]}
    assert column(table, "indexes") == column(rows("reindex", 2, 16), "indexes")


def test_table_7_replaces_the_oldest_sub_index_while_it_waits():
    table = rows("rata", 4, 14)
    assert column(table, "ops") == {
        10: FOUR,
        11: ["add({11}, I4)", "rename(T1, I1)"],
        12: ["add({12}, I4)", "rename(T0, I1)"],
        13: ["drop(I1)", "build({13}) -> I1"],
        14: ["add({14}, I1)", "rename(T1, I2)"],
    }
    assert column(table, "prepare") == {
        10: ["build({3}) -> T0", "copy(T0, T1)", "add({2}, T1)"],
        11: [],
        12: [],
        13: ["build({6}) -> T0", "copy(T0, T1)", "add({5}, T1)"],
        14: [],
    }
    assert column(table, "temps") == {
        10: {"T0": [3], "T1": [2, 3]},
        11: {"T0": [3]},
        12: {},
        13: {"T0": [6], "T1": [5, 6]},
        14: {"T0": [6]},
    }
    assert column(table, "indexes") == {
        10: {"I1": [1, 2, 3], "I2": [4, 5, 6], "I3": [7, 8, 9], "I4": [10]},
        11: {"I1": [2, 3], "I2": [4, 5, 6], "I3": [7, 8, 9], "I4": [10, 11]},
        12: {"I1": [3], "I2": [4, 5, 6], "I3": [7, 8, 9], "I4": [10, 11, 12]},
        13: {"I1": [13], "I2": [4, 5, 6], "I3": [7, 8, 9], "I4": [10, 11, 12]},
        14: {"I1": [13, 14], "I2": [5, 6], "I3": [7, 8, 9], "I4": [10, 11, 12]},
    }


def test_table_7_spread_prepares_on_days_11_and_12_as_section_4_3_says():
    table = rows("rata", 4, 13, spread=True)
    assert table[11]["prepare"] == ["build({6}) -> U0"]
    assert table[12]["prepare"] == ["copy(U0, U1)", "add({5}, U1)"]
    assert table[13]["prepare"] == ["rename(U0, T0)", "rename(U1, T1)"]
    assert column(table, "ops") == column(rows("rata", 4, 13), "ops")


def test_table_6_spread_feeds_every_rung_and_grows_the_next_ladder():
    table = rows("reindex++", 2, 15, spread=True)
    assert table[12]["prepare"] == [
        "add({12}, T0)",
        "add({12}, T1)",
        "add({12}, T2)",
        "copy(U0, U1)",
        "add({9}, U1)",
    ]
    assert table[15]["prepare"] == [
        "build({}) -> T0",
        "rename(U0, T1)",
        "rename(U1, T2)",
        "rename(U2, T3)",
        "rename(U3, T4)",
    ]


def test_the_clusters_of_a_window_that_does_not_divide_are_larger_first():
    assert plan_table(scheme("del", 10, 4), 10)[0]["indexes"] == {
        "I1": [1, 2, 3],
        "I2": [4, 5, 6],
        "I3": [7, 8],
        "I4": [9, 10],
    }
    assert plan_table(scheme("wata", 7, 3), 7)[0]["indexes"] == {
        "I1": [1, 2, 3],
        "I2": [4, 5, 6],
        "I3": [7],
    }


def test_names_come_in_order_of_their_numbers_past_nine():
    row = plan_table(scheme("reindex++", 24, 2), 24)[0]
    assert list(row["temps"]) == [f"T{number}" for number in range(12)]
    row = plan_table(scheme("wata", 24, 12), 60)[-1]
    assert list(row["indexes"]) == [f"I{number}" for number in range(1, 13)]


def test_a_table_is_plain_json():
    table = plan_table(scheme("rata", 10, 4), 30)
    assert json.loads(json.dumps(table)) == table
    assert set(table[0]) == {"slot", "ops", "prepare", "indexes", "temps"}


def test_a_table_that_would_end_before_the_first_window_is_refused():
    with pytest.raises(BadDefinition, match="give slot 10"):
        plan_table(scheme("wata", 10, 4), 9)
