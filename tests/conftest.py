"""Every run of the tests is the same: Hypothesis draws from fixed seeds and has no database."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

from kit import fixtures

settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fixed")


@pytest.fixture(autouse=True, scope="module")
def _only_what_is_new_is_looked_through_for_garbage():
    """Thousands of collected tests make a look at everything take half a second.

    And many tests ask for one.
    """
    gc.collect()
    gc.freeze()


for _name, _each in vars(fixtures).items():
    if type(_each).__name__ == "FixtureFunctionDefinition":
        globals()[_name] = _each
