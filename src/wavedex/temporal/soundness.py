"""Whether arrays that came from a folder can be used: whoever made it may have put in anything.

Loops that answer check no bounds. So before they see an array, all that leads somewhere is held to
lead to what is there, and lists to come to an end. Loops that change pages check bounds as they go.
What is not checked is whether answers are right: `findings` does that.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wavedex.errors import Damaged
from wavedex.temporal.changes import I32, I64, NOW, Bools


class Known(NamedTuple):
    """What else is known of a set, by which its pages are judged."""

    versions: int
    """How many there are."""
    rows: int
    """How many rows ids carry."""
    is_alive: Bools
    """Which entries are those of ids that are alive."""


def demand(holds: Any, what: str) -> None:
    """Raise Damaged where something does not hold: `what` says what is wrong."""
    if not holds:
        raise Damaged(f"The set is damaged: {what}")


def are_in(values: npt.NDArray[Any], least: int, stop: int) -> bool:
    """Whether all values are from `least` to below `stop`."""
    return not values.size or bool(least <= values.min() and values.max() < stop)


def demand_shape(shape: npt.NDArray[Any], like: I64, same: list[int], what: str) -> None:
    """Raise Damaged where numbers that an array has, in some places, are not those they must be."""
    fits = shape.dtype == like.dtype and shape.shape == like.shape
    demand(fits and (shape[same] == like[same]).all(), f"{what} is not as the set was created")


def demand_times(starts: I32, ends: I32, known: Known) -> None:
    """Raise Damaged where pages begin or end at versions that are not there."""
    fits = (ends == NOW) | ((ends >= 0) & (ends < known.versions))
    is_begun = are_in(starts, 0, known.versions)
    demand(is_begun and fits.all(), "a page begins or ends at a time that is not there")


def demand_own(pages: Any, buckets: Any, owner: Any, what: str) -> None:
    """Raise Damaged where what a bucket has leads to a page that is not there, or of another.

    `owner` says whose each page is.
    """
    fits = are_in(pages, 0, len(owner)) and (owner[pages] == buckets).all()
    demand(fits, f"{what} leads to a page that is not there")


def demand_runs(runs: I32, size: int, what: str) -> I64:
    """Raise Damaged where runs of entries lie outside of an array. The places of all entries.

    `runs` has lines: where a run begins, how many entries it has, and how many it has room for.
    """
    starts, counts, rooms = runs.astype(np.int64).T
    fits = (starts >= 0) & (counts >= 0) & (counts <= rooms) & (starts + rooms <= size)
    demand(fits.all() and counts.sum() <= size, what)
    offsets = np.cumsum(counts) - counts
    return np.repeat(starts - offsets, counts) + np.arange(counts.sum())


@contextmanager
def bounded() -> Any:
    """What leads out of an array, where loops check bounds, is damage."""
    try:
        yield
    except IndexError as error:
        raise Damaged(f"The set is damaged: its pages do not fit each other ({error})") from error
