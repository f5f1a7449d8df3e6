"""The loops that arrange the boxes of a page that overflows: which go elsewhere, and which stay.

Boxes are lines of a lowest and a highest value on each axis, in floating point. Ties are decided by
the order in which they are given.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import kernel

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


@kernel
def by_distance(shapes: F64, order: I64) -> None:
    """Order boxes by how far their middles lie from the middle of the box around all of them."""
    distances = np.zeros(len(order))
    for axis in range(shapes.shape[1] // 2):
        low, high = shapes[: len(order), 2 * axis], shapes[: len(order), 2 * axis + 1]
        away = low + high - (low.min() + high.max())
        distances += away * away
    order[:] = np.argsort(distances, kind="mergesort")


@kernel
def _grow(shapes: F64, order: I64, grown: F64) -> None:
    """The boxes around the first of some boxes, around the first two, and so on."""
    grown[0] = shapes[order[0]]
    for i in range(1, len(order)):
        for j in range(0, shapes.shape[1], 2):
            grown[i, j] = min(grown[i - 1, j], shapes[order[i], j])
            grown[i, j + 1] = max(grown[i - 1, j + 1], shapes[order[i], j + 1])


@kernel
def _measure(head: F64, tail: F64) -> tuple[float, float, float]:
    """The overlap of two boxes, the sum of their areas, and the sum of their margins."""
    overlap, head_area, tail_area, margin = 1.0, 1.0, 1.0, 0.0
    for i in range(0, len(head), 2):
        overlap *= max(min(head[i + 1], tail[i + 1]) - max(head[i], tail[i]), 0.0)
        head_side, tail_side = head[i + 1] - head[i], tail[i + 1] - tail[i]
        head_area *= head_side
        tail_area *= tail_side
        margin += head_side + tail_side
    return overlap, head_area + tail_area, margin


@kernel
def halve(shapes: F64, least: int, order: I64) -> int:
    """Order boxes so that they can be halved. How many are in the first half: at least `least`.

    The axis is the one on which all ways to halve have the smallest margins together; there the
    halves have the least overlap, and then the least area.
    """
    count, least_margin, cut = len(order), np.inf, least
    heads, tails = np.empty((count, shapes.shape[1])), np.empty((count, shapes.shape[1]))
    for axis in range(shapes.shape[1] // 2):
        margins, best, best_cut = 0.0, (np.inf, np.inf), least
        best_order = order.copy()
        for side in range(2):
            other = np.argsort(shapes[:count, 2 * axis + 1 - side], kind="mergesort")
            keys = shapes[:count, 2 * axis + side][other]
            sorted_ = other[np.argsort(keys, kind="mergesort")]
            _grow(shapes, sorted_, heads)
            _grow(shapes, sorted_[::-1].copy(), tails)
            for first in range(least, count - least + 1):
                overlap, area, margin = _measure(heads[first - 1], tails[count - first - 1])
                margins += margin
                if (overlap, area) < best:
                    best, best_cut = (overlap, area), first
                    best_order[:] = sorted_
        if margins < least_margin:
            least_margin, cut = margins, best_cut
            order[:] = best_order
    return cut
