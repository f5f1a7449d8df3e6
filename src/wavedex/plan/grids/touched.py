"""Which sub-indexes does the plan of a grid touch? The operations tell; all others are left alone.

The lifetime papers judge a method by how many they are: G + E - 1 of G times E for a double
partition, all of them for a single one. They are read off the operations of a plan, and off what
the cells held before it. Knows no method.
"""

from __future__ import annotations

from typing import NamedTuple

from wavedex.plan.operations import Build, Delete, Examine, Insert, Layout, Plan


class Touched(NamedTuple):
    """The sub-indexes that a refresh touches."""

    inserts: list[str]
    """Those into which it inserts rows."""
    expires: list[str]
    """Those out of which it takes rows."""
    touched: list[str]
    """Both together."""


def touched(plan: Plan, before: Layout) -> Touched:
    """Return what the plan of a grid touches, in the order of numbers.

    An empty build throws away what was there. `before` says what that is: the deaths that cells
    held before the plan. For the first plan it is empty.

    >>> from wavedex.plan.grids.grid import grid
    >>> _, state = grid("lazy-rebuild", 8, 2, 2).start(8)
    >>> plan, _ = grid("lazy-rebuild", 8, 2, 2).transition(state, 9)
    >>> touched(plan, state.indexes)
    Touched(inserts=['I3', 'I4'], expires=['I3'], touched=['I3', 'I4'])
    """
    into = {each.target for each in plan.transition if isinstance(each, Insert)}
    out = {each.target for each in plan.transition if isinstance(each, Delete | Examine)}
    built = {each.target for each in plan.transition if isinstance(each, Build)}
    out |= {name for name in built if before.get(name)}
    return Touched(_in_order(into), _in_order(out), _in_order(into | out))


def _in_order(names: set[str]) -> list[str]:
    return sorted(names, key=lambda name: int(name[1:]))
