"""When kernels are compiled: who waits for it is told so, once, and it can be done ahead.

What was compiled is kept (`wavedex.jit`), and later processes load it. Loads Numba only when it is
called.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wavedex.events import LOGGER

_BEGUN: set[str] = set()


@dataclass(frozen=True)
class Warmed:
    """What was done to have all machine code."""

    compiled: int
    """How many kernels were compiled; the others were there."""
    kernels: int
    """How many kernels there are."""
    seconds: float

    def __add__(self, other: Warmed) -> Warmed:
        return Warmed(
            self.compiled + other.compiled,
            self.kernels + other.kernels,
            self.seconds + other.seconds,
        )


def begin(one: str, many: str) -> None:
    """See that it is told of, once in a process, if the first use waits for a compiler.

    `one` and `many` are what is used, as the subjects of sentences. COST: nothing but the first
    time.
    """
    if one in _BEGUN:
        return
    _BEGUN.add(one)
    from wavedex.jit import check_speed, watch_compiling

    check_speed(one)
    told: list[str] = []

    def tell(name: str) -> None:
        if not told:
            told.append(name)
            LOGGER.warning(
                "%s are compiled, which takes some seconds and is kept: 'wavedex warm' does it "
                "ahead.",
                many,
            )

    watch_compiling(tell)


def warmed(one: str, package: str, use: Callable[[], None]) -> Warmed:
    """Compile what is not compiled yet of a package, by using all of it. Raises PackageMissing."""
    from wavedex.extras import check_installed

    check_installed("numba")
    _BEGUN.add(one)  # Whoever asks for it need not be told.
    begun_s = time.perf_counter()
    before = sum(map(_is_compiled_here, kernels_of(package)))
    use()
    found = kernels_of(package)
    compiled = sum(map(_is_compiled_here, found)) - before
    return Warmed(compiled, len(found), time.perf_counter() - begun_s)


def kernels_of(package: str) -> list[Any]:
    """The kernels of a package that are loaded: once all of it was used, all of them."""
    names = [name for name in sys.modules if name.startswith(f"{package}.")]
    modules = [sys.modules[name] for name in names if name.endswith("kernels")]
    found = {id(each): each for m in modules for each in vars(m).values()}
    return [each for each in found.values() if hasattr(each, "py_func")]


def _is_compiled_here(kernel: Any) -> bool:
    """Whether machine code of a kernel was made in this process, and not read."""
    return bool(kernel.stats.cache_misses)
