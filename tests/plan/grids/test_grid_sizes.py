"""How even are the sub-indexes of a grid, and how much do lazy ones hold?

Appendix A and Section 3.2 of the report.
"""

from fractions import Fraction

import pytest

from kit import grid_oracle as oracle
from wavedex.plan import grid

CHRONOLOGICAL = ("chronological", "chronological")
EVEN = [(p, k) for k in range(2, 7) for p in range(2 * k, 31, k)]
"""p, and G = E; each sub-index spans two slots at least, as the appendix requires."""


def steps(planner, count, rows=oracle.pairs_of):
    """The slot and the pairs in each cell, for refreshes with one unit for each lifetime."""
    window, box = planner.window, oracle.Box()
    plan, state = planner.start(window)
    box.run(plan.transition, rows(range(1, window + 1), window), window)
    yield window, box
    for slot in range(window + 1, window + count):
        plan, state = planner.transition(state, slot)
        box.run(plan.transition, rows([slot], window), slot)
        yield slot, box


def sizes(box):
    return [len(pairs) for pairs in box.cells.values()]


def deviation(sizes):
    """The sum of squared deviations from the mean, which the appendix calls variance."""
    mean = Fraction(sum(sizes), len(sizes))
    return sum((size - mean) ** 2 for size in sizes)


def mean_deviation(p, k, partition):
    found = [deviation(sizes(box)) for _, box in steps(grid("rebuild", p, k, k, partition), p)]
    return sum(found) / len(found)


@pytest.mark.parametrize("k", range(2, 7))
def test_round_robin_has_the_variance_of_appendix_a_at_every_refresh(k):
    for p in [p for p, parts in EVEN if parts == k and p <= 18]:
        n = k * k
        for _, box in steps(grid("no-rebuild", p, k, k), p):
            assert sum(sizes(box)) == p * (p + 1) // 2
            assert deviation(sizes(box)) == Fraction(p * p, 4) * (1 - Fraction(1, n))


def chronological_deviation(p, k):
    """What Appendix A should say: only 2 (k - 1) sub-indexes change, others stay full or empty."""
    c, n = p // k, k * k
    squares = (
        Fraction(k * c * c * (c + 1) ** 2, 4)
        + Fraction((k - 1) * (k - 2) * c**4, 2)
        + Fraction((k - 1) * c * c * (2 * c * c + 1), 3)
    )
    return squares - Fraction((p * (p + 1)) ** 2, 4 * n)


def printed_deviation(p, k):
    """What Appendix A does say."""
    n = k * k
    squares = Fraction(p**2, 12 * k) - Fraction(p**2, 4 * n) + Fraction(p**2, 6)
    return squares + Fraction(p**4, 12 * n) - Fraction(p**4, 12 * n * k)


@pytest.mark.parametrize("k", range(2, 6))
def test_theorem_1_chronological_sizes_vary_more(k):
    for p in [p for p, parts in EVEN if parts == k and p <= 15]:
        chronological = mean_deviation(p, k, CHRONOLOGICAL)
        assert chronological == chronological_deviation(p, k)
        assert chronological > Fraction(p * p, 4) * (1 - Fraction(1, k * k))


def test_theorem_1_holds_wherever_its_terms_are_met():
    for k in range(2, 40):
        for p in range(2 * k, 400, k):
            assert chronological_deviation(p, k) > Fraction(p * p, 4) * (1 - Fraction(1, k * k))


def test_the_printed_formula_for_chronological_sizes_holds_for_four_sub_indexes_only():
    for p, k in EVEN:
        assert (chronological_deviation(p, k) == printed_deviation(p, k)) == (k == 2)
    assert mean_deviation(12, 3, CHRONOLOGICAL) == 232
    assert printed_deviation(12, 3) == 152


def test_the_sizes_of_appendix_a_come_round_after_half_a_window():
    found = [sizes(box) for _, box in steps(grid("rebuild", 8, 2, 2, CHRONOLOGICAL), 9)]
    assert found[:5] == [[10, 4 * gained, 16 - 4 * gained, 10] for gained in range(5)]
    assert found[8] == found[0]
    dealt_out = [sizes(box) for _, box in steps(grid("rebuild", 8, 2, 2), 3)]
    assert dealt_out == [[10, 6, 10, 10], [10, 10, 6, 10], [10, 6, 10, 10]]


RANDOM = ("random", "random")


def loads(planner, count):
    """The rows in each cell where slow slots and bursts take turns.

    They have 1 and 9 rows for each lifetime.
    """
    for _, box in steps(planner, count):
        yield [sum(9 if b % 2 == 0 else 1 for b, _ in pairs) for pairs in box.cells.values()]


@pytest.mark.parametrize("seed", range(5))
def test_a_random_order_evens_out_bursts_that_keep_step_with_round_robin(seed):
    p, k = 24, 2
    dealt_out = [deviation(found) for found in loads(grid("rebuild", p, k, k), 2 * p)]
    drawn = [deviation(found) for found in loads(grid("rebuild", p, k, k, RANDOM, seed), 2 * p)]
    assert sum(drawn) * 3 < sum(dealt_out)
    first, *_, last = loads(grid("rebuild", p, k, k), 2 * p)
    for found in (first, last):
        assert sum(found[2:]) > 8 * sum(found[:2])  # the second row has all the bursts


def held_over(planner, rows):
    """The most units that are over and still held, and the units that are live then."""
    counts = []
    for slot, box in steps(planner, 4 * planner.window, rows):
        live = len(oracle.live_of(box.pairs, slot))
        counts.append((len(box.pairs) - live, live))
    return max(counts)


def full_lifetimes(births, window):
    return {(b, b + window) for b in births}


def test_lazy_kinds_hold_more_than_a_share_of_one_in_g():
    assert held_over(grid("lazy-rebuild", 8, 2, 2), oracle.pairs_of) == (27, 36)
    assert held_over(grid("lazy-no-rebuild", 36, 2, 2), oracle.pairs_of) == (629, 666)
    assert held_over(grid("lazy-rebuild", 36, 4, 4), full_lifetimes) == (11, 36)
    assert held_over(grid("lazy-rebuild", 36, 4, 4), oracle.pairs_of) == (77, 666)
    assert held_over(grid("wata", 36, 4, 1), oracle.pairs_of) == (1026, 666)


@pytest.mark.parametrize(("p", "rows"), [(p, g) for p in (4, 8, 12) for g in range(2, p + 1)])
def test_lazy_kinds_hold_no_more_than_the_wave_of_their_births(p, rows):
    extra = -(-(p - 1) // (rows - 1)) - 1  # Theorem 2 of the wave-index paper
    assert held_over(grid("lazy-rebuild", p, rows, 2), full_lifetimes) == (extra, p)
    over, live = held_over(grid("lazy-rebuild", p, rows, 2), oracle.pairs_of)
    assert over * p <= extra * live


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild", "count-rebuild", "r-ins", "d-exp"])
def test_the_other_kinds_hold_nothing_that_is_over(method):
    shape = {"r-ins": (3, 1), "d-exp": (1, 3)}.get(method, (2, 3))
    assert held_over(grid(method, 12, *shape), oracle.pairs_of)[0] == 0
