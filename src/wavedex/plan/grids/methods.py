"""Which methods are there to keep rows of variable lifetimes? Every one by its name.

A method (Tables 1 and 2 of the lifetime papers) says how insertions and expirations are
partitioned, whether a changed sub-index is reclustered, and whether expirations are known or
guessed. The two-sided methods are the papers' own. The one-sided ones are what they are compared
with: REINDEX (`r-`) and DEL (`d-`), split by insertion or by expiration, and WATA.

Checks which numbers and partitionings go with a method. A `BadGrid` tells what to give instead.
Never plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from wavedex.errors import BadGrid, UnknownScheme
from wavedex.plan.grids.partition import CHRONOLOGICAL, PARTITIONS, ROUND_ROBIN, WAVE


@dataclass(frozen=True)
class Method:
    """How one method partitions and updates."""

    births: str
    """How insertions are partitioned unless told otherwise."""
    deaths: str
    """How expirations are partitioned unless told otherwise."""
    reclusters: bool
    """Whether a sub-index that changes is packed anew."""
    sides: frozenset[str] = frozenset({"births", "deaths"})
    """The sides that may have more than one partition."""
    counts: bool = False
    """Whether expirations are guesses."""
    throws_only: bool = False
    """Whether rows leave only with a whole sub-index."""


_BIRTHS, _DEATHS = frozenset({"births"}), frozenset({"deaths"})

METHODS: dict[str, Method] = {
    "rebuild": Method(ROUND_ROBIN, ROUND_ROBIN, reclusters=True),
    "no-rebuild": Method(ROUND_ROBIN, ROUND_ROBIN, reclusters=False),
    "lazy-rebuild": Method(WAVE, ROUND_ROBIN, reclusters=True),
    "lazy-no-rebuild": Method(WAVE, ROUND_ROBIN, reclusters=False),
    "count-rebuild": Method(ROUND_ROBIN, CHRONOLOGICAL, reclusters=True, counts=True),
    "count-no-rebuild": Method(ROUND_ROBIN, CHRONOLOGICAL, reclusters=False, counts=True),
    "r-ins": Method(CHRONOLOGICAL, CHRONOLOGICAL, reclusters=True, sides=_BIRTHS),
    "d-ins": Method(CHRONOLOGICAL, CHRONOLOGICAL, reclusters=False, sides=_BIRTHS),
    "r-exp": Method(CHRONOLOGICAL, CHRONOLOGICAL, reclusters=True, sides=_DEATHS),
    "d-exp": Method(CHRONOLOGICAL, CHRONOLOGICAL, reclusters=False, sides=_DEATHS),
    "wata": Method(WAVE, CHRONOLOGICAL, reclusters=True, sides=_BIRTHS, throws_only=True),
}


def find_method(name: object) -> Method:
    """Return the method called `name`; raise UnknownScheme with all names if there is none."""
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        raise UnknownScheme(f"there is no method {name!r}: choose one of {', '.join(METHODS)}.")
    return method


def allowed(name: str, side: str) -> list[str]:
    """Return the ways in which a method can partition a side, its own way first.

    There is more than one where the method leaves a choice.

    >>> (
    ...     allowed("count-rebuild", "deaths"),
    ...     allowed("lazy-rebuild", "births"),
    ...     allowed("r-ins", "deaths"),
    ... )
    (['chronological', 'round-robin', 'random'], ['wave'], ['chronological'])
    """
    method = METHODS[name]
    own = method.births if side == "births" else method.deaths
    if own == WAVE or len(method.sides) == 1:
        return [own]
    return [own, *(other for other in PARTITIONS if other != own)]


def check_partitions(name: str, births: object, deaths: object) -> None:
    """Raise UnknownScheme for an unknown partitioning, BadGrid where the method has another."""
    for side, given in (("births", births), ("deaths", deaths)):
        known = [*PARTITIONS, *([WAVE] if side == "births" else [])]
        if given not in known:
            raise UnknownScheme(
                f"there is no partition {given!r} of {side}: choose one of {', '.join(known)}."
            )
        fitting = allowed(name, side)
        if given not in fitting:
            raise BadGrid(
                f"the {side} of {name} cannot be {given}: give {_any_of(fitting)}, or leave it out."
            )


def check_numbers(name: str, window: object, rows: object, columns: object) -> None:
    """Raise BadGrid where the method can have no such grid, and say what would fit."""
    for what, number in (("window", window), ("rows", rows), ("columns", columns)):
        if type(number) is not int:
            raise BadGrid(f"{what} is {number!r}: give a whole number.")
    assert isinstance(window, int)  # as mypy cannot tell from the loop
    method = METHODS[name]
    fewest = _fewest(method)
    if window < fewest:
        raise BadGrid(
            f"window is {window}: give {name} a window of at least "
            f"{fewest} slot{'s' * (fewest > 1)}."
        )
    for what, side, number in (("rows", "births", rows), ("columns", "deaths", columns)):
        fitting, why = _fitting(method, side, window)
        if number not in fitting:
            raise BadGrid(f"{what} is {number}: give {name} {_said(fitting)}, {why}.")


def _fitting(method: Method, side: str, window: int) -> tuple[range | list[int], str]:
    """Which numbers of partitions a side can have, and why."""
    if side not in method.sides:
        return [1], f"since it does not partition {side}"
    return range(_fewest(method), window + 1), "no more than the window has slots"


def _fewest(method: Method) -> int:
    """How many partitions a partitioned side must have: two for a wave or a double partition."""
    return 2 if len(method.sides) == 2 or method.births == WAVE else 1


def _said(fitting: range | list[int]) -> str:
    if isinstance(fitting, range) and len(fitting) > 1:
        return f"between {fitting.start} and {fitting.stop - 1}"
    return _any_of([str(number) for number in fitting])


def _any_of(choices: list[str]) -> str:
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last
