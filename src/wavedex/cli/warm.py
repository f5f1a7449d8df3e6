"""The command `warm`: machine code, compiled before anybody waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wavedex.cli.output import Answer, working


def warm() -> Answer:
    """Compile ahead what windows in memory and sets over time run on, for later processes."""
    from wavedex.online import warmup as windows
    from wavedex.temporal import warmup as sets

    with working("Compiling for windows in memory and sets over time"):
        done = windows.warm() + sets.warm()
    text = f"{done.compiled} of {done.kernels} kernels compiled"
    if not done.compiled:
        text = f"All {done.kernels} kernels are compiled already"
    if not done.kernels:
        text = "Nothing is compiled while Numba is switched off: NUMBA_DISABLE_JIT is set"
    data = {"compiled": done.compiled, "kernels": done.kernels, "seconds": round(done.seconds, 3)}
    return Answer(data, f"{text}, in {done.seconds:.1f} s.")


COMMANDS: dict[Callable[..., Any], str] = {warm: "wavedex warm"}
