import json

import pytest

from wavedex.plan import (
    Add,
    Amend,
    Build,
    Copy,
    Delete,
    Drop,
    Examine,
    Insert,
    Merge,
    Rename,
    apply,
    operation_from_json,
    operation_to_json,
    without,
)


def slots(*numbers):
    return frozenset(numbers)


EVERY = [
    (Build(slots(11, 3, 2), "I1"), "build({2, 3, 11}) -> I1"),
    (Build(slots(), "T0"), "build({}) -> T0"),
    (Build(slots(-3, 0, -10), "I2"), "build({-10, -3, 0}) -> I2"),
    (Add(slots(11), "I4"), "add({11}, I4)"),
    (Delete(slots(1), "I1"), "delete({1}, I1)"),
    (Copy("T1", "T2"), "copy(T1, T2)"),
    (Rename("T4", "I1"), "rename(T4, I1)"),
    (Drop("I1"), "drop(I1)"),
    (Merge("I1"), "merge(I1)"),
    (Amend(slots(3), "I1"), "amend({3}, I1)"),
    (Insert(slots(9), slots(13, 11), "I1"), "insert({9}, I1)"),
    (Insert(slots(-1, -3), slots(), "I4"), "insert({-3, -1}, I4)"),
    (Examine(slots(10, 9, 8), "I1"), "examine({8, 9, 10}, I1)"),
]


@pytest.mark.parametrize(("operation", "text"), EVERY, ids=[text for _, text in EVERY])
def test_an_operation_prints_as_the_paper_writes_it(operation, text):
    assert str(operation) == text


@pytest.mark.parametrize(("operation", "text"), EVERY, ids=[text for _, text in EVERY])
def test_an_operation_survives_json(operation, text):
    stored = json.loads(json.dumps(operation_to_json(operation)))
    assert operation_from_json(stored) == operation


def test_the_json_of_an_operation_is_plain():
    assert operation_to_json(Add(slots(12, 11), "I4")) == {
        "op": "add",
        "slots": [11, 12],
        "target": "I4",
    }
    assert operation_to_json(Insert(slots(9), slots(13, 11), "I1")) == {
        "op": "insert",
        "births": [9],
        "slots": [11, 13],
        "target": "I1",
    }
    assert operation_to_json(Copy("T1", "T2")) == {"op": "copy", "source": "T1", "target": "T2"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        "drop(I1)",
        [],
        {},
        {"op": "explode", "target": "I1"},
        {"op": ["drop"], "target": "I1"},
        {"op": "Drop", "target": "I1"},
        {"op": "drop"},
        {"op": "drop", "target": 1},
        {"op": "drop", "target": ""},
        {"op": "drop", "target": "I1", "slots": [1]},
        {"op": "add", "slots": 11, "target": "I1"},
        {"op": "add", "slots": "11", "target": "I1"},
        {"op": "add", "slots": [1.0], "target": "I1"},
        {"op": "add", "slots": [True], "target": "I1"},
        {"op": "add", "slots": [1, 1], "target": "I1"},
        {"op": "copy", "target": "I1"},
        {"op": "insert", "slots": [11], "target": "I1"},
        {"op": "insert", "births": 9, "slots": [11], "target": "I1"},
        {"op": "insert", "births": [9, 9], "slots": [11], "target": "I1"},
        {"op": "examine", "births": [9], "slots": [11], "target": "I1"},
    ],
    ids=str,
)
def test_what_is_no_operation_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        operation_from_json(data)


def test_operations_step_a_layout_and_leave_the_old_one_alone():
    before = {"I1": slots(1, 2), "I2": slots(3), "T0": slots(2)}
    after = apply(
        before,
        [
            Add(slots(4), "T0"),
            Copy("T0", "T1"),
            Rename("T0", "I1"),
            Delete(slots(2), "T1"),
            Drop("I2"),
            Build(slots(3), "I3"),
            Merge("I3"),
            Amend(slots(2, 4), "I1"),
        ],
    )
    assert after == {"I1": slots(2, 4), "T1": slots(4), "I3": slots(3)}
    assert before == {"I1": slots(1, 2), "I2": slots(3), "T0": slots(2)}


@pytest.mark.parametrize(
    "operation",
    [
        Add(slots(1), "I1"),
        Add(slots(9), "I9"),
        Delete(slots(9), "I1"),
        Delete(slots(1), "I9"),
        Copy("I9", "I1"),
        Rename("I9", "I1"),
        Drop("I9"),
        Merge("I9"),
        Amend(slots(9), "I1"),
        Amend(slots(1), "I9"),
        Insert(slots(1), slots(9), "I9"),
        Examine(slots(9), "I1"),
        Examine(slots(1), "I9"),
    ],
    ids=str,
)
def test_an_operation_that_makes_no_sense_is_a_mistake_of_ours(operation):
    with pytest.raises(AssertionError):
        apply({"I1": slots(1, 2)}, [operation])


def test_an_insertion_grows_a_time_set_and_an_examination_leaves_it():
    before = {"I1": slots(10, 11)}
    assert apply(before, [Insert(slots(9), slots(11, 13), "I1")]) == {"I1": slots(10, 11, 13)}
    assert apply(before, [Examine(slots(11), "I1")]) == before


def test_operations_of_grids_are_for_those_who_hold_all():
    operations = (Insert(slots(9), slots(11), "I1"), Examine(slots(9, 10), "I1"))
    assert without(operations, slots(9, 10, 11)) == operations


def test_table_4_is_a_plan_of_length_13():
    layout = apply(
        {},
        [
            Build(slots(1, 2, 3, 4), "I1"),
            Build(slots(5, 6, 7), "I2"),
            Build(slots(8, 9, 10), "I3"),
            Build(slots(), "I4"),
        ],
    )
    lengths = [sum(map(len, layout.values()))]
    for plan in (
        [Add(slots(11), "I4")],
        [Add(slots(12), "I4")],
        [Add(slots(13), "I4")],
        [Drop("I1"), Build(slots(14), "I1")],
    ):
        layout = apply(layout, plan)
        lengths.append(sum(map(len, layout.values())))
    assert lengths == [10, 11, 12, 13, 10]
    assert layout == {
        "I1": slots(14),
        "I2": slots(5, 6, 7),
        "I3": slots(8, 9, 10),
        "I4": slots(11, 12, 13),
    }
