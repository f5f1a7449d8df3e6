"""Every run of the tests is the same run: Hypothesis draws from fixed seeds and keeps no database."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fixed")

LONG = ("test_stream_kills.py", "test_cluster.py", "test_bench.py", "test_run.py")
"""What takes minutes comes first, so that no worker is left alone with it at the end."""


def pytest_collection_modifyitems(items: list) -> None:
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))
