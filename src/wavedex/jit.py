"""Loops over arrays that Numba compiles where it is installed. Elsewhere they run in plain Python.

A kernel is a function over NumPy arrays and numbers, without Python objects. It is compiled when it
is first called with arguments of some types. The machine code is kept beside the module, or where
NUMBA_CACHE_DIR says, so that only the first process compiles. `watch_compiling` tells of that.

Two rules for whoever writes kernels:

- This module imports Numba. So import it from modules of kernels only, and those when they are
  first needed: `import wavedex` loads no Numba.
- A kernel calls kernels of its own module only. Numba looks at nothing else when it asks whether
  the machine code that it has kept is still good.

With NUMBA_DISABLE_JIT=1 kernels run in plain Python as if there were no Numba.

>>> import numpy as np
>>> @kernel
... def total(values):
...     found = 0
...     for value in values:
...         found += value
...     return found
>>> int(total(np.arange(4)))
6
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

from wavedex.events import LOGGER
from wavedex.extras import PACKAGES

F = TypeVar("F", bound=Callable[..., Any])

_numba: Any
try:
    _numba = import_module("numba")
except ImportError:
    _numba = None

is_compiled = _numba is not None and not _numba.config.DISABLE_JIT
"""Whether kernels are compiled in this process."""

_SAID: set[str] = set()


def kernel(function: F) -> F:
    """A kernel: the function compiled, or as it is where nothing can compile it.

    It lets go of Python's lock while it runs. Divisions by zero follow NumPy and not Python.
    """
    return _compiled(function, boundscheck=False)


def checked_kernel(function: F) -> F:
    """A kernel that raises IndexError in place of leaving an array.

    For loops over arrays that somebody else made. They take about a tenth longer.
    """
    return _compiled(function, boundscheck=True)


def _compiled(function: F, boundscheck: bool) -> F:
    if not is_compiled:
        return function
    has_file = os.path.exists(function.__code__.co_filename)  # Others have no place to be kept in.
    options = {"cache": has_file, "nogil": True, "error_model": "numpy"}
    return cast(F, _numba.njit(**options, boundscheck=boundscheck or None)(function))


def check_speed(what: str) -> None:
    """Warn once for each `what` where nothing compiles it: `what` is the subject of a sentence."""
    if is_compiled or what in _SAID:
        return
    _SAID.add(what)
    title, install = PACKAGES["numba"]
    why = "is switched off" if _numba is not None else f"is not installed (pip install {install})"
    LOGGER.warning("%s will be slow, in plain Python: %s %s.", what, title, why)


def watch_compiling(call: Callable[[str], object]) -> Callable[[], None]:
    """Have a function called with the name of each kernel as it begins to be compiled.

    It is not called for machine code that was kept. Returns a function that ends it.
    """
    if not is_compiled:
        return lambda: None
    event: Any = import_module("numba.core.event")

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            call(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            pass

    listener = Listener()
    event.register("numba:compile", listener)
    return lambda: event.unregister("numba:compile", listener)
