"""Exact sums: of whole numbers by Python's, of floats by floats that make up the sum exactly.

A sum of floats is a list of *terms* whose exact sum is that of the rows. Each is what rounding left
of the ones before. So sums may be added in any order and are rounded once, at the end: the same
rows give the same sum, whether partial results are kept or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_TERMS_MOST = 8
"""A sum has hardly more than three terms. With so many, the rows may as well be its terms."""


class Part(NamedTuple):
    """How many numbers there are, and their sum."""

    amount: int
    whole: int
    """The sum of whole numbers."""
    terms: list[float]
    """What makes up the sum of floats that are finite."""
    special: float
    """The sum of those that are not: 0 where there are none."""


NOTHING = Part(0, 0, [], 0.0)


def summed(numbers: npt.NDArray[Any]) -> Part:
    """The sum of some numbers, exactly."""
    if numbers.dtype.kind != "f":
        return Part(len(numbers), _whole(numbers), [], 0.0)
    floats = numbers.astype(np.float64, copy=False)
    finite = np.isfinite(floats)
    special = 0.0
    if not finite.all():
        special = _special(floats[~finite].tolist())
        floats = floats[finite]
    return Part(len(numbers), 0, _terms(floats.tolist()), special)


def merged(parts: Iterable[Part]) -> Part:
    """Several sums as one."""
    amounts, wholes, terms, specials = zip(NOTHING, *parts, strict=True)
    flat = [term for each in terms for term in each]
    return Part(sum(amounts), sum(wholes), flat, _special(specials))


def rounded(part: Part) -> float:
    """The sum of floats, rounded once."""
    if part.special:
        return part.special
    try:
        return math.fsum(part.terms)
    except OverflowError:
        total = _fraction(part.terms)
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def average(part: Part) -> float:
    """The sum divided by the count, rounded once or twice. REQUIRES: there are numbers."""
    if not part.terms and not part.special:
        return part.whole / part.amount
    total = rounded(part)
    if math.isinf(total) and not part.special:
        return float(_fraction(part.terms) / part.amount)
    return total / part.amount


def _whole(numbers: npt.NDArray[Any]) -> int:
    if numbers.dtype == np.bool_:
        return int(numbers.sum())
    if numbers.dtype.itemsize < 8:
        return int(numbers.sum(dtype=np.int64))
    # Halves of numbers cannot overflow in any window that fits into memory.
    low = int((numbers & numbers.dtype.type(0xFFFFFFFF)).sum())
    return (int((numbers >> numbers.dtype.type(32)).sum()) << 32) + low


def _terms(floats: list[float]) -> list[float]:
    terms: list[float] = []
    try:
        while len(terms) < _TERMS_MOST:
            left = math.fsum([*floats, *(-term for term in terms)])
            if not left:
                return terms
            terms.append(left)
    except OverflowError:
        pass  # Their sum is too large for a float; that of all may not be.
    return floats


def _special(floats: Iterable[float]) -> float:
    """The sum of infinities and NaN."""
    kinds = {str(each) for each in floats if each}
    if "nan" in kinds or len(kinds) > 1:
        return math.nan
    return float(kinds.pop()) if kinds else 0.0


def _fraction(terms: list[float]) -> Fraction:
    return sum(map(Fraction, terms), Fraction(0))
