"""Run a Hypothesis state machine for one scheme and way, with a seed of its own."""

from __future__ import annotations

import zlib

from hypothesis import seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from kit.matrix import RUNS_ALL


def run_machine(
    kind: type[RuleBasedStateMachine], scheme: str, way: str, *, examples: int, steps: int
) -> None:
    """Each machine is named, and seeded, by what it is run for.

    The class belongs to no module. Hypothesis would parse the module's file to look for its source,
    which is not there, and Python before 3.11.8 may fail a parse during which it collects garbage.
    """
    examples = examples if RUNS_ALL else -(-examples // 2)
    name = f"{kind.__name__} of {scheme} {way}"
    machine = type(name, (kind,), {"scheme": scheme, "way": way, "__module__": "<no file>"})
    machine = seed(zlib.crc32(name.encode()))(machine)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=steps)
    )
