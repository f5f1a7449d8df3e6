"""Which combinations of cases are run: each case in one of several ways in turn, or in all.

Every case and every way is met, and neighbours along each axis differ in their ways. With
WAVEDEX_TESTS=all in the environment every case is run in every way, and Hypothesis tries many more
examples.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import settings

RUNS_ALL = os.environ.get("WAVEDEX_TESTS") == "all"
FEW = 4
TIMES_MORE = 20
"""How many times as many examples Hypothesis tries where everything is run."""


def examples(count: int) -> settings:
    """So many examples for a test, as a decorator; many more where everything is run."""
    return settings(max_examples=count * TIMES_MORE if RUNS_ALL else count)


def by_turns(
    items: Iterable[pytest.Item], is_long: Callable[[pytest.Item], bool]
) -> list[pytest.Item]:
    """The tests without some of the cases of those that are long.

    Each value of each parameter is in some case that stays, and so is a quarter of the other cases.
    Which these are follows from their names. A test of a few cases keeps them all.
    """
    kept: list[pytest.Item] = []
    for (_, longs), group in itertools.groupby(items, lambda each: (_test_of(each), is_long(each))):
        cases = [*group]
        kept += _chosen(cases) if longs and len(cases) > FEW else cases
    return kept


def _chosen(cases: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    seen: set[tuple[str, str]] = set()
    for case in cases:
        parameters = case.callspec.params.items()
        values = {(name, repr(value)) for name, value in parameters}
        if values - seen or zlib.crc32(case.nodeid.encode()) % 4 == 0:
            seen |= values
            yield case


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def in_turn(ways: Iterable[Any], *axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Every combination of one of each axis, with one of the ways, or with all of them.

    >>> in_turn("xy", "ab", [1, 2])
    [('a', 1, 'x'), ('a', 2, 'y'), ('b', 1, 'y'), ('b', 2, 'x')]
    """
    ways, found = [*ways], []
    for chosen in itertools.product(*(enumerate(axis) for axis in axes)):
        parts = (each if isinstance(each, tuple) else (each,) for _, each in chosen)
        case = tuple(itertools.chain(*parts))
        turn = sum(place for place, _ in chosen) % len(ways)
        found += [(*case, way) for way in (ways if RUNS_ALL else [ways[turn]])]
    return found
