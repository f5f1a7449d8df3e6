"""What a grid is made of: methods, partitions, numbers.

And what is said of those that do not fit.
"""

import dataclasses

import pytest

from wavedex.errors import BadDefinition, BadGrid, UnknownScheme
from wavedex.plan import METHODS, GridState, allowed, grid, grid_table
from wavedex.plan.grids.partition import Partition

TABLE_2 = {  # insertion times, deletion times, recluster?
    "rebuild": ("round-robin", "round-robin", True),
    "no-rebuild": ("round-robin", "round-robin", False),
    "lazy-rebuild": ("wave", "round-robin", True),
    "lazy-no-rebuild": ("wave", "round-robin", False),
    "count-rebuild": ("round-robin", "chronological", True),
    "count-no-rebuild": ("round-robin", "chronological", False),
}
FIRST_DRAWN = [2, 0, 1, 1, 0, 2, 0, 2, 1, 0, 1, 2]  # of seed 0, births, in threes
PURE = ["round-robin", "chronological", "random"]


def partition(name, parts, window=12, seed=0, side="births"):
    return Partition(name, window, parts, side, seed)


@pytest.mark.parametrize("method", TABLE_2)
def test_the_methods_are_those_of_table_2(method):
    made = grid(method, 8, 2, 4)
    assert (made.births, made.deaths, made.reclusters) == TABLE_2[method]
    assert made.counts == method.startswith("count")
    assert made.lazy == method.startswith("lazy")
    assert (made.name, made.indexes) == (method, 8)
    assert made.names == ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8")
    assert (made.seed, made.reach) == (0, (1, 1))


def test_the_one_sided_methods_are_there_to_compare_with():
    assert set(METHODS) - set(TABLE_2) == {"r-ins", "d-ins", "r-exp", "d-exp", "wata"}
    assert [grid(name, 7, 3, 1).births for name in ("r-ins", "d-ins", "wata")] == [
        *("chronological", "chronological", "wave")
    ]
    assert grid("r-exp", 7, 1, 3).deaths == grid("d-exp", 7, 1, 3).deaths == "chronological"
    assert [name for name in METHODS if METHODS[name].reclusters] == [
        *("rebuild", "lazy-rebuild", "count-rebuild", "r-ins", "r-exp", "wata")
    ]
    assert grid("wata", 7, 3, 1).lazy


def test_a_grid_is_an_immutable_value():
    assert grid("rebuild", 8, 2, 2) == grid("rebuild", 8, 2, 2)
    assert hash(grid("rebuild", 8, 2, 2)) == hash(grid("rebuild", 8, 2, 2))
    assert grid("rebuild", 8, 2, 2) != grid("rebuild", 8, 2, 2, seed=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        grid("rebuild", 8, 2, 2).window = 9
    with pytest.raises(BadGrid):
        dataclasses.replace(grid("rebuild", 8, 2, 2), rows=9)


def test_partitions_can_be_chosen_where_the_method_allows():
    for births in PURE:
        for deaths in PURE:
            for method in ("rebuild", "no-rebuild", "count-rebuild", "count-no-rebuild"):
                made = grid(method, 8, 2, 2, (births, deaths))
                assert (made.births, made.deaths) == (births, deaths)
    for deaths in PURE:
        assert grid("lazy-rebuild", 8, 3, 2, ["wave", deaths]).deaths == deaths
    assert grid("r-ins", 8, 3, 1, ("chronological", "chronological")) == grid("r-ins", 8, 3, 1)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_side_is_allowed_can_be_had_and_nothing_else(method):
    shape = {frozenset({"births"}): (2, 1), frozenset({"deaths"}): (1, 2)}
    rows, columns = shape.get(METHODS[method].sides, (2, 2))
    own = METHODS[method].births, METHODS[method].deaths
    assert (allowed(method, "births")[0], allowed(method, "deaths")[0]) == own
    for births in [*PURE, "wave"]:
        for deaths in PURE:
            fits = births in allowed(method, "births") and deaths in allowed(method, "deaths")
            if fits:
                assert grid(method, 8, rows, columns, (births, deaths)).births == births
            else:
                with pytest.raises(BadGrid):
                    grid(method, 8, rows, columns, (births, deaths))


@pytest.mark.parametrize("name", ["", "Rebuild", "del", None, ["rebuild"]], ids=str)
def test_an_unknown_method_is_answered_with_the_known_ones(name):
    with pytest.raises(UnknownScheme) as error:
        grid(name, 8, 2, 2)
    assert all(known in str(error.value) for known in METHODS)


@pytest.mark.parametrize(
    ("method", "given", "error", "said"),
    [
        ("rebuild", ("robin", "random"), UnknownScheme, "there is no partition 'robin' of births"),
        ("rebuild", ("random", "wave"), UnknownScheme, "there is no partition 'wave' of deaths"),
        ("rebuild", ("random", None), UnknownScheme, "choose one of round-robin, chronological"),
        ("rebuild", ("wave", "random"), BadGrid, "give round-robin, chronological or random"),
        ("lazy-rebuild", ("random", "random"), BadGrid, "the births of lazy-rebuild cannot be"),
        ("r-ins", ("random", "chronological"), BadGrid, "give chronological, or leave it out"),
        ("d-exp", ("chronological", "random"), BadGrid, "the deaths of d-exp cannot be random"),
        ("wata", ("chronological", "chronological"), BadGrid, "give wave, or leave it out"),
        ("rebuild", ("random",), BadGrid, "give that of births and that of deaths"),
        ("rebuild", "random", BadGrid, "give that of births and that of deaths"),
        ("rebuild", 2, BadGrid, "give that of births and that of deaths"),
    ],
)
def test_a_partition_that_does_not_fit_is_refused(method, given, error, said):
    shape = {"r-ins": (2, 1), "wata": (2, 1), "d-exp": (1, 2)}.get(method, (2, 2))
    with pytest.raises(error, match=said):
        grid(method, 8, *shape, given)


@pytest.mark.parametrize(
    ("method", "numbers", "said"),
    [
        ("rebuild", (8, 9, 2), "rows is 9: give rebuild between 2 and 8, no more than the window"),
        ("rebuild", (8, 2, 9), "columns is 9: give rebuild between 2 and 8, no more than"),
        ("no-rebuild", (8, 1, 2), "rows is 1: give no-rebuild between 2 and 8"),
        ("rebuild", (2, 3, 2), "rows is 3: give rebuild 2, no more than the window has slots"),
        ("rebuild", (1, 2, 2), "window is 1: give rebuild a window of at least 2 slots"),
        ("rebuild", (0, 0, 0), "window is 0"),
        ("lazy-rebuild", (8, 1, 2), "rows is 1: give lazy-rebuild between 2 and 8"),
        ("lazy-rebuild", (8, 9, 2), "rows is 9: give lazy-rebuild between 2 and 8"),
        ("lazy-rebuild", (8, 3, 1), "columns is 1: give lazy-rebuild between 2 and 8"),
        ("lazy-rebuild", (2, 3, 2), "rows is 3: give lazy-rebuild 2, no more than the window has"),
        ("count-rebuild", (8, 0, 2), "rows is 0"),
        ("r-ins", (8, 2, 2), "columns is 2: give r-ins 1, since it does not partition deaths"),
        ("r-ins", (8, 9, 1), "rows is 9: give r-ins between 1 and 8"),
        ("d-exp", (8, 2, 2), "rows is 2: give d-exp 1, since it does not partition births"),
        ("wata", (8, 1, 1), "rows is 1: give wata between 2 and 8"),
        ("wata", (1, 1, 1), "window is 1: give wata a window of at least 2 slots"),
        ("r-ins", (0, 1, 1), "window is 0: give r-ins a window of at least 1 slot."),
        ("rebuild", (8.0, 2, 2), "window is 8.0: give a whole number"),
        ("rebuild", (8, "2", 2), "rows is '2': give a whole number"),
        ("rebuild", (8, 2, True), "columns is True: give a whole number"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_with_those_that_would(method, numbers, said):
    with pytest.raises(BadGrid) as error:
        grid(method, *numbers)
    assert said in str(error.value)
    assert isinstance(error.value, BadDefinition)


@pytest.mark.parametrize(
    "option",
    [{"seed": 1.5}, {"seed": None}, {"reach": (1,)}, {"reach": (-1, 1)}, {"reach": [1, 1]}],
    ids=str,
)
def test_a_seed_and_a_reach_are_whole_numbers(option):
    with pytest.raises(BadGrid, match=r"give .*whole number"):
        grid("count-rebuild", 8, 2, 2, **option)


def test_round_robin_goes_by_the_number_alone():
    assert [partition("round-robin", 3).part(slot) for slot in range(-2, 5)] == [
        *(0, 1, 2, 0, 1, 2, 0)
    ]


def test_chronological_clusters_come_round_with_the_window():
    ten_in_four = partition("chronological", 4, window=10)
    clusters = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    for first in (1, 11, -9, 101):
        assert [ten_in_four.part(slot) for slot in range(first, first + 10)] == clusters


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_every_block_of_a_random_partition_has_each_part_once(parts):
    drawn = partition("random", parts)
    for block in range(-20, 20):
        slots = range(block * parts + 1, (block + 1) * parts + 1)
        assert sorted(drawn.part(slot) for slot in slots) == list(range(parts))


def test_a_random_partition_is_the_same_wherever_it_is_drawn():
    slots = range(1, 13)
    assert [partition("random", 3).part(slot) for slot in slots] == FIRST_DRAWN
    others = [partition("random", 3, seed=1), partition("random", 3, side="deaths")]
    for other in others:
        assert [other.part(slot) for slot in slots] != FIRST_DRAWN


def test_the_json_of_a_state_is_plain():
    _, state = grid("rebuild", 2, 2, 2).start(-1)
    assert state.to_json() == {
        "newest": -1,
        "indexes": {"I1": [1], "I2": [0], "I3": [1], "I4": [0]},
        "births": {"1": [-1], "2": [-2]},
    }
    assert GridState.from_json(state.to_json()) == state


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"newest": 1, "indexes": {"I1": [1]}},
        {"newest": 1, "indexes": {"I1": [1]}, "births": {"1": [1]}, "temps": {}},
        {"newest": "1", "indexes": {"I1": [1]}, "births": {"1": [1]}},
        {"newest": True, "indexes": {"I1": [1]}, "births": {"1": [1]}},
        {"newest": 1, "indexes": [1], "births": {"1": [1]}},
        {"newest": 1, "indexes": {}, "births": {"1": [1]}},
        {"newest": 1, "indexes": {"I1": [1]}, "births": {}},
        {"newest": 1, "indexes": {"I1": 1}, "births": {"1": [1]}},
        {"newest": 1, "indexes": {"I1": [1, 1]}, "births": {"1": [1]}},
        {"newest": 1, "indexes": {"I2": [1]}, "births": {"1": [1]}},
        {"newest": 1, "indexes": {"I1": [1]}, "births": {"0": [1]}},
        {"newest": 1, "indexes": {"I1": [1]}, "births": {"1": [1.0]}},
        {"newest": 1, "indexes": {"I1": [1], "I2": [2], "I3": []}, "births": {"1": [], "2": []}},
    ],
    ids=str,
)
def test_what_is_no_state_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        GridState.from_json(data)


def test_a_table_begins_with_the_first_full_window():
    assert [row["slot"] for row in grid_table(grid("rebuild", 4, 2, 2), 6)] == [4, 5, 6]
    with pytest.raises(BadDefinition, match="until is slot 3: give slot 4 or a later one"):
        grid_table(grid("rebuild", 4, 2, 2), 3)
