"""Whatever is done to an index in whatever order, it answers as a plain dictionary would.

One machine for every scheme and update technique.
"""

from __future__ import annotations

import pytest

from kit.machines import run_machine
from kit.wave_machine import Waves
from kit.ways import CASES

EXAMPLES = {"in-place": 4, "in-place in chained": 4, "simple-shadow": 3}
"""Where room inside files is used again there is more to go wrong; the others have 4."""
STEPS = 13
PARQUET = [("wata", "runs in parquet"), ("reindex++", "packed-shadow in parquet")]
IN_CHAINS = [("wata", "in-place in chained"), ("del", "in-place in chained")]
IN_SQLITE = [
    ("wata", "in-place in sqlite"),
    ("reindex++", "in-place in sqlite"),
    ("rata", "simple-shadow in sqlite"),
    ("del", "runs in sqlite"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "way"), [*CASES, *PARQUET, *IN_CHAINS, *IN_SQLITE])
def test_any_sequence_of_steps_leaves_the_answers_of_a_plain_dictionary(scheme, way):
    run_machine(Waves, scheme, way, examples=EXAMPLES.get(way, 2), steps=STEPS)
