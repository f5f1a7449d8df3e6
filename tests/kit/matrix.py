"""Which combinations of cases are run: each case in one of several ways in turn, or in all.

Every case and every way is met, and neighbours along each axis differ in their ways. With
WAVEDEX_TESTS=all in the environment every case is run in every way, and Hypothesis tries many more
examples.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

from hypothesis import settings

RUNS_ALL = os.environ.get("WAVEDEX_TESTS") == "all"
TIMES_MORE = 20
"""How many times as many examples Hypothesis tries where everything is run."""


def examples(count: int) -> settings:
    """So many examples for a test, as a decorator; many more where everything is run."""
    return settings(max_examples=count * TIMES_MORE if RUNS_ALL else count)


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
