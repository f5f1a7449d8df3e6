"""What every method promises, for all small grids and for any sequence of refreshes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import grid_oracle as oracle
from kit import plan_oracle
from kit.matrix import examples
from wavedex.plan import METHODS, Delete, Examine, GridState, Plan, apply, grid, touched

TWO_SIDED = ["rebuild", "no-rebuild"]
LAZY = ["lazy-rebuild", "lazy-no-rebuild"]
COUNT = ["count-rebuild", "count-no-rebuild"]
PURE = ["round-robin", "chronological", "random"]
ONE_SIDED = ["r-ins", "d-ins", "r-exp", "d-exp", "wata"]
WINDOWS = [2, 3, 4, 5, 7, 8, 9]


def shapes(method, window):
    """The rows and columns that a method can have; a window need not be a multiple of them."""
    if method in ("r-ins", "d-ins"):
        return [(n, 1) for n in range(1, window + 1)]
    if method in ("r-exp", "d-exp"):
        return [(1, n) for n in range(1, window + 1)]
    if method == "wata":
        return [(n, 1) for n in range(2, window + 1)]
    return [(g, e) for g in range(2, window + 1) for e in range(2, window + 1)]


def grids(method, partitions=(None,)):
    for window in WINDOWS:
        for rows, columns in shapes(method, window):
            for partition in partitions:
                yield grid(method, window, rows, columns, partition)


def walk(planner, newest, count):
    plan, state = planner.start(newest)
    yield None, plan, state
    for slot in range(newest + 1, newest + count + 1):
        before = state
        plan, state = planner.transition(before, slot)
        yield before, plan, state


def test_every_method_is_tried_here():
    assert [*TWO_SIDED, *LAZY, *COUNT, *ONE_SIDED] == list(METHODS)


@pytest.mark.slow
@pytest.mark.parametrize("method", TWO_SIDED)
def test_a_refresh_touches_one_row_and_one_column(method):
    clockwork = [("round-robin", "round-robin"), ("chronological", "round-robin")]
    for planner in grids(method, [*clockwork, ("chronological", "chronological")]):
        for before, plan, _ in list(walk(planner, planner.window, 2 * planner.window))[1:]:
            inserts, expires, both = touched(plan, before.indexes)
            assert len(inserts) == planner.columns
            assert len(expires) == planner.rows
            assert len(both) == planner.rows + planner.columns - 1


@pytest.mark.parametrize("shape", [(5, 5), (2, 8), (8, 2)], ids=str)
@pytest.mark.parametrize("method", TWO_SIDED)
def test_the_papers_own_grids_of_36_refreshes_touch_one_row_and_one_column(method, shape):
    planner = grid(method, 36, *shape)
    steps = list(walk(planner, 36, 72))[1:]
    assert {len(touched(plan, before.indexes).touched) for before, plan, _ in steps} == {9}


@pytest.mark.slow
@pytest.mark.parametrize("method", LAZY)
def test_a_lazy_refresh_touches_one_fewer_unless_it_throws_away(method):
    for planner in grids(method):
        thrown = 0
        for before, plan, after in list(walk(planner, planner.window, 3 * planner.window))[1:]:
            gone = [row for row in after.births if not before.births[row] <= after.births[row]]
            assert len(gone) <= 1
            fewer = planner.rows + planner.columns - 2
            assert len(touched(plan, before.indexes).touched) == fewer + len(gone)
            thrown += len(gone)
        assert thrown


@pytest.mark.parametrize("method", ONE_SIDED)
def test_a_one_sided_refresh_touches_every_sub_index_and_wata_one(method):
    for planner in grids(method):
        for before, plan, _ in list(walk(planner, planner.window, 2 * planner.window))[1:]:
            inserts, expires, both = touched(plan, before.indexes)
            if method == "wata":
                assert len(both) == 1
                assert expires in ([], inserts)
            else:
                assert both == list(planner.names)


@pytest.mark.parametrize("method", COUNT)
def test_with_guesses_a_chronological_side_touches_fewer(method):
    def mean(partition):
        planner = grid(method, 24, 3, 3, partition)
        walked = list(walk(planner, 24, 49))[2:]
        counts = [len(touched(plan, before.indexes).touched) for before, plan, _ in walked]
        return sum(counts) / len(counts)

    assert mean(("round-robin", "round-robin")) == 9
    assert mean(None) == 5.5  # 5, and 7 on both sides of a border between two columns


@pytest.mark.parametrize("method", METHODS)
def test_at_start_everything_is_inserted_into_and_nothing_expires(method):
    for planner in grids(method):
        plan, state = planner.start(planner.window)
        assert touched(plan, {}) == (list(planner.names), [], list(planner.names))
        again, restarted = planner.refresh(state, 3 * planner.window)
        assert touched(again, state.indexes).touched == list(planner.names)
        assert restarted.newest == 3 * planner.window
        if not planner.counts:
            assert (again, restarted) == planner.start(3 * planner.window)


@pytest.mark.parametrize("method", METHODS)
def test_after_a_gap_of_a_window_every_cell_that_held_deaths_is_expired_from(method):
    for planner in grids(method):
        _, state = planner.start(planner.window)
        held = [name for name in planner.names if state.indexes[name]]
        for slot in (2 * planner.window, 3 * planner.window):
            plan, _ = planner.refresh(state, slot)
            assert touched(plan, state.indexes).expires == held


def test_nothing_is_touched_by_an_empty_plan():
    assert touched(Plan(), {}) == ([], [], [])


def test_names_are_listed_in_the_order_of_their_numbers():
    planner = grid("rebuild", 12, 4, 3)
    assert planner.names[9:] == ("I10", "I11", "I12")
    _, state = planner.start(12)
    for slot in (13, 14, 15, 16):
        before = state.indexes
        plan, state = planner.transition(state, slot)
    assert touched(plan, before) == (
        ["I10", "I11", "I12"],
        ["I1", "I4", "I7", "I10"],
        ["I1", "I4", "I7", "I10", "I11", "I12"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["wata", *LAZY])
def test_the_births_of_lazy_kinds_are_a_wave(method):
    for planner in grids(method):
        shape = planner.window, planner.rows
        for _, _, state in walk(planner, planner.window, 2 * planner.window):
            wave = plan_oracle.constituents("wata", *shape, state.newest)
            assert {f"I{row}": set(slots) for row, slots in state.births.items()} == wave


@pytest.mark.parametrize("method", METHODS)
def test_a_transition_is_the_refresh_of_the_next_slot_and_of_no_other(method):
    planner = next(grids(method))
    _, state = planner.start(5)
    assert planner.transition(state, 6) == planner.refresh(state, 6)
    for slot in (4, 5, 7):
        with pytest.raises(AssertionError):
            planner.transition(state, slot)
    for slot in (4, 5):
        with pytest.raises(AssertionError):
            planner.refresh(state, slot)


@st.composite
def planners(draw):
    method = draw(st.sampled_from(list(METHODS)))
    window = draw(st.sampled_from(WINDOWS))
    rows, columns = draw(st.sampled_from(shapes(method, window)))
    partition = None
    if method not in ONE_SIDED:
        births = "wave" if method in LAZY else draw(st.sampled_from(PURE))
        partition = births, draw(st.sampled_from(PURE))
    seed = draw(st.integers(-3, 3))
    reach = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    return grid(method, window, rows, columns, partition, seed, reach)


@pytest.mark.slow
@examples(300)
@given(planners(), st.integers(-30, 30), st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_whatever_the_jumps_every_live_pair_is_in_exactly_one_cell(planner, newest, jumps):
    window = planner.window
    plan, state = planner.start(newest)
    box, before = oracle.Box(), {}
    arriving = oracle.pairs_of(range(newest - window + 1, newest + 1), window)
    for jump in (0, *jumps):
        slot = newest + jump
        if jump:
            arriving = oracle.pairs_of(range(newest + 1, slot + 1), window)
            plan, state = planner.refresh(state, slot)
        assert apply(before, plan.transition) == state.layout
        had = {name: set(pairs) for name, pairs in box.cells.items()}
        box.run(plan.transition, arriving, slot)
        lost = {name for name, pairs in had.items() if not pairs <= box.cells[name]}
        assert lost <= set(touched(plan, before).expires)
        live = oracle.live_of(oracle.pairs_of(range(slot - window + 1, slot + 1), window), slot)
        assert live <= box.pairs
        assert planner.lazy or box.pairs == live
        homes = oracle.placed(state, planner.columns, live)
        assert all(len(cells) == 1 for cells in homes.values())
        assert all(pair in box.cells[cells[0]] for pair, cells in homes.items())
        stored = json.loads(json.dumps(state.to_json(), sort_keys=True))
        read = GridState.from_json(stored)
        assert (list(read.layout), list(read.births)) == (list(state.layout), list(state.births))
        assert read == state
        assert (state.newest, state.temps) == (slot, {})
        assert tuple(state.indexes) == planner.names
        newest, before, state = slot, state.layout, read


@examples(200)
@given(planners(), st.data())
def test_a_jump_leads_where_the_single_steps_lead(planner, data):
    window = planner.window
    first, last = window, 4 * window
    start = data.draw(st.integers(first, last - 1))
    jump = data.draw(st.integers(1, window - 1 if planner.lazy else last)) if window > 1 else 1
    stepped, folded = oracle.Box(), oracle.Box()
    slot = first
    for _, plan, state in walk(planner, first, start - first):
        slot = state.newest
        known = range(slot - window + 1 if slot == first else slot, slot + 1)
        for box in (stepped, folded):
            box.run(plan.transition, oracle.pairs_of(known, window), slot)
    single = state
    for slot in range(start + 1, start + jump + 1):
        plan, single = planner.transition(single, slot)
        stepped.run(plan.transition, oracle.pairs_of([slot], window), slot)
    plan, state = planner.refresh(state, slot)
    folded.run(plan.transition, oracle.pairs_of(range(start + 1, slot + 1), window), slot)
    assert folded.live(slot) == stepped.live(slot)
    assert state.births == single.births
    live = oracle.live_of(oracle.pairs_of(range(slot - window + 1, slot + 1), window), slot)
    assert oracle.placed(state, planner.columns, live) == oracle.placed(
        single, planner.columns, live
    )


@examples(100)
@given(st.sampled_from(COUNT), st.sampled_from(PURE), st.data())
def test_a_living_row_is_never_deleted_by_a_wrong_guess(method, deaths, data):
    planner = grid(method, 8, 2, 4, ("round-robin", deaths))
    _, state = planner.start(8)
    living = {(guess, guess + data.draw(st.integers(-1, 6))) for guess in range(9, 17)}
    slot = 8
    while living:
        guesses = {guess for guess, _ in living}
        late = frozenset(guess for guess in guesses if guess < slot)  # the reach is one slot back
        slot += data.draw(st.integers(1, 10))
        assert guesses <= frozenset().union(*state.indexes.values())
        plan, state = planner.refresh(state, slot, late)
        deleted = [each.slots for each in plan.transition if isinstance(each, Delete)]
        examined = [each.slots for each in plan.transition if isinstance(each, Examine)]
        assert guesses.isdisjoint(frozenset().union(*deleted))
        over = {(guess, end) for guess, end in living if end <= slot}
        assert {guess for guess, _ in over} <= frozenset().union(*examined)
        living -= over
