import dataclasses

import pytest

from wavedex.errors import BadDefinition, UnknownScheme
from wavedex.plan import SCHEMES, WaveState, options_of, scheme


def test_the_six_schemes_of_the_paper_are_there():
    assert {"del", "reindex", "reindex+", "reindex++", "wata", "rata"} <= set(SCHEMES)
    for name, kind in SCHEMES.items():
        assert kind.weighs or scheme(name, 10, 4).name == name
    assert scheme("wata-bounded", 10, 4, max_size=5).name == "wata-bounded"
    assert scheme("rata-offline", 10, 4, sizes=(5,)).name == "rata-offline"


def test_a_scheme_is_an_immutable_value():
    assert scheme("rata", 10, 4, spread=True) == scheme("rata", 10, 4, spread=True)
    assert scheme("rata", 10, 4, spread=True) != scheme("rata", 10, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scheme("rata", 10, 4).window = 11


def test_only_wata_is_soft_and_only_del_deletes():
    schemes = [scheme(name, 10, 4) for name in ("del", "reindex", "reindex+", "wata", "rata")]
    assert [s.name for s in schemes if not s.hard] == ["wata"]
    assert [s.name for s in schemes if s.needs_delete] == ["del"]
    assert {s.name: s.extra_slots for s in schemes if s.extra_slots} == {"wata": 2}


@pytest.mark.parametrize("name", ["", "WATA", "lru", None, ["wata"]], ids=str)
def test_an_unknown_name_is_answered_with_the_known_ones(name):
    with pytest.raises(UnknownScheme) as error:
        scheme(name, 10, 4)
    assert all(known in str(error.value) for known in SCHEMES)


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize(
    ("window", "indexes"),
    [
        *[(0, 0), (0, 1), (-1, 1), (10, 0), (10, -2), (10, 11)],
        *[(10.0, 2), (10, 2.0), ("10", 2), (10, None), (True, True), (10, True)],
    ],
    ids=str,
)
def test_numbers_that_make_no_window_are_refused(name, window, indexes):
    with pytest.raises(BadDefinition, match="give "):
        scheme(name, window, indexes)


@pytest.mark.parametrize("name", ["wata", "rata"])
def test_a_throw_away_wave_needs_two_sub_indexes(name):
    with pytest.raises(BadDefinition, match=f"give {name} between 2 and 10 sub-indexes"):
        scheme(name, 10, 1)
    with pytest.raises(BadDefinition, match=f"give {name} a window of at least 2 slots"):
        scheme(name, 1, 1)


def test_options_are_checked():
    assert {name: options_of(name) for name in SCHEMES if options_of(name)} == {
        "del": ["ahead"],
        "reindex++": ["spread"],
        "rata": ["spread"],
        "wata-bounded": ["max_size"],
        "rata-bounded": ["max_size"],
        "wata-offline": ["sizes", "first"],
        "rata-offline": ["sizes", "first"],
    }
    with pytest.raises(BadDefinition, match="wata has no option 'spread': leave it out"):
        scheme("wata", 10, 4, spread=True)
    with pytest.raises(BadDefinition, match="rata has no option 'ahead': it takes spread"):
        scheme("rata", 10, 4, ahead=True)
    with pytest.raises(BadDefinition, match="give True or False"):
        scheme("rata", 10, 4, spread="yes")


def test_a_state_finds_the_holder_of_a_slot():
    state = WaveState(4, {"I1": frozenset({1, 2}), "I2": frozenset({3, 4})}, {"T0": frozenset({2})})
    assert [state.holder(slot) for slot in (1, 2, 3, 4)] == ["I1", "I1", "I2", "I2"]
    assert state.length == 4
    assert set(state.layout) == {"I1", "I2", "T0"}
    with pytest.raises(LookupError, match="slot 5"):
        state.holder(5)


def test_the_json_of_a_state_is_plain():
    state = WaveState(-1, {"I1": frozenset({-1, -3, -2})}, {"T0": frozenset()})
    assert state.to_json() == {"newest": -1, "indexes": {"I1": [-3, -2, -1]}, "temps": {"T0": []}}
    assert WaveState.from_json(state.to_json()) == state


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"newest": 1, "indexes": {}},
        {"newest": 1, "indexes": {}, "temps": {}, "more": 1},
        {"newest": "1", "indexes": {}, "temps": {}},
        {"newest": True, "indexes": {}, "temps": {}},
        {"newest": 1, "indexes": [], "temps": {}},
        {"newest": 1, "indexes": {"I1": 1}, "temps": {}},
        {"newest": 1, "indexes": {"I1": [1, 1]}, "temps": {}},
        {"newest": 1, "indexes": {"": [1]}, "temps": {}},
        {"newest": 1, "indexes": {"I1": [1]}, "temps": {"T0": ["1"]}},
    ],
    ids=str,
)
def test_what_is_no_state_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        WaveState.from_json(data)
