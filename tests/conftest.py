"""What holds for every test: how Hypothesis draws, and which marks a test has.

A run is the same run each time: Hypothesis draws from fixed seeds, few examples, and keeps no
database. With WAVEDEX_TESTS=all it draws anew each time, many more, and prints what failed.

Marks say what a test needs, so that it can be left out: `spark`, `server`, `crash` and `slow`.
Of these, a test with many cases is run with each value of each parameter, and with a quarter of
their combinations; with WAVEDEX_TESTS=all, with all. What is marked `nightly` runs only then.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from kit.fixtures import (
    anywhere,
    moto,
    place,
    remote,
    s3,
    s3_server,
    server,
    shared,
    small_row_groups,
    spark,
    subtree,
)
from kit.matrix import RUNS_ALL, by_turns
from kit.paths import ROOT

__all__ = [
    "anywhere", "moto", "place", "remote", "s3", "s3_server", "server", "shared",
    "small_row_groups", "spark", "subtree",
]  # fmt: skip

# Every Java that a test starts is to be warm soon, not fast in the end.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Most tests look at what a write leaves behind. Those of the background say that they want it.
os.environ["WAVEDEX_PREPARE"] = "now"

_SHARED = {
    "database": None,
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("fixed", derandomize=True, **_SHARED)
settings.register_profile("nightly", max_examples=1_000, **_SHARED)
settings.load_profile("nightly" if RUNS_ALL else "fixed")

_LONG = ("spark", "server", "crash", "slow")
_SERVERS = {"server", "another", "s3_server", "moto", "s3"}
_SLOW = ("tests/bench", "tests/examples")
"""Folders of tests that run whole programs."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs Spark, a server or a crash, and leave out what is for the night.

    What is only slow is marked where it stands.
    """
    mark_needs(items)
    # Of two processes the first begins with Spark and hardly gets further; then only one starts it.
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
    if not RUNS_ALL:
        chosen = [item for item in items if item.get_closest_marker("nightly") is None]
        chosen = by_turns(chosen, lambda item: any(map(item.get_closest_marker, _LONG)))
        config.hook.pytest_deselected(items=[*{*items} - {*chosen}])
        items[:] = chosen


def mark_needs(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(ROOT).as_posix()
        asked = set(getattr(item, "fixturenames", ()))
        if "spark" in asked or folder.startswith("tests/spark"):
            item.add_marker(pytest.mark.spark)
        if asked & _SERVERS or "[s3" in item.name or "[moto" in item.name:
            item.add_marker(pytest.mark.server)
        if "crash" in item.name or "kill" in item.name:
            item.add_marker(pytest.mark.crash)
        if folder.startswith(_SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="module")
def _only_what_is_new_is_looked_through_for_garbage():
    """Thousands of collected tests make a look at everything take half a second.

    And many tests ask for one.
    """
    gc.collect()
    gc.freeze()
