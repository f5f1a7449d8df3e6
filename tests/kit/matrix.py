"""Which combinations of cases are run: each case in one of several ways in turn, or in all.

Every case and every way is met, and neighbours along each axis differ in their ways. With
WAVEDEX_TESTS=all in the environment every case is run in every way, and Hypothesis tries many more
examples.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
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
    """The tests without some of the cases of those that are long. A few cases are all kept."""
    kept: list[pytest.Item] = []
    for (_, longs), group in itertools.groupby(items, lambda each: (_test_of(each), is_long(each))):
        cases = {item.nodeid: item for item in group}
        if longs and len(cases) > FEW:
            chosen = some_of({name: item.callspec.params for name, item in cases.items()})
            cases = {name: cases[name] for name in chosen}
        kept += cases.values()
    return kept


def some_of(cases: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Some of the named cases: each value of each parameter is in one of them, and a quarter more.

    Which these are follows from their names.

    >>> names = [f"{a}{b}" for a in "pqrstuvw" for b in "xyz"]
    >>> found = some_of({name: {"a": name[0], "b": name[1]} for name in names})
    >>> sorted({*"".join(found)}) == sorted("pqrstuvwxyz"), 10 <= len(found) < 20
    (True, True)
    """
    chosen: list[str] = []
    seen: set[tuple[str, str]] = set()
    for name, parameters in cases.items():
        values = {(parameter, repr(value)) for parameter, value in parameters.items()}
        if values - seen or zlib.crc32(name.encode()) % 4 == 0:
            seen |= values
            chosen.append(name)
    return chosen


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
