"""Large batches in shares, one for each core. Kernels let go of Python's lock while they run."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from wavedex.crew import run_together

THREADS = os.cpu_count() or 1
SHARE_MIN = 8_192
"""A thread is worth its start for as many queries: some milliseconds."""


def in_shares(count: int, work: Callable[[slice], None]) -> None:
    """Have all shares of a batch worked on. Small ones are not shared."""
    threads = min(THREADS, max(1, count // SHARE_MIN))
    edges = [count * i // threads for i in range(threads + 1)]
    run_together([partial(work, slice(*each)) for each in pairwise(edges)], threads)
