"""Run a Hypothesis state machine for one scheme and way, with a seed of its own.

The seed is the same each time, and every night another one. It stands in the failure, and
WAVEDEX_SEED repeats it.
"""

from __future__ import annotations

import os
import secrets
import zlib

from hypothesis import seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from kit.matrix import RUNS_ALL, TIMES_MORE


def run_machine(
    kind: type[RuleBasedStateMachine], scheme: str, way: str, *, examples: int, steps: int
) -> None:
    """Each machine is named, and seeded, by what it is run for.

    The class belongs to no module. Hypothesis would parse the module's file to look for its source,
    which is not there, and Python before 3.11.8 may fail a parse during which it collects garbage.
    """
    name = f"{kind.__name__} of {scheme} {way}"
    machine = type(name, (kind,), {"scheme": scheme, "way": way, "__module__": "<no file>"})
    number = zlib.crc32(name.encode())
    if RUNS_ALL:
        number = int(os.environ.get("WAVEDEX_SEED", secrets.randbits(32)))
    more = TIMES_MORE if RUNS_ALL else 1
    chosen = settings(max_examples=examples * more, stateful_step_count=steps * (1 + RUNS_ALL))
    try:
        run_state_machine_as_test(seed(number)(machine), settings=chosen)
    except BaseException as error:
        error.add_note(f"{name} was drawn from WAVEDEX_SEED={number}")
        raise
