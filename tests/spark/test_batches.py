"""Batches between Spark and Python: whose bytes are counted, and whose are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from wavedex.spark.batches import BYTES_SETTING, NO_BOUND, uncounted_bytes


@pytest.fixture
def unbound(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which nobody has said anything about bytes, as Spark makes it."""
    spark.conf.unset(BYTES_SETTING)
    yield spark
    spark.conf.set(BYTES_SETTING, NO_BOUND)


def test_the_session_counts_no_bytes(spark: SparkSession) -> None:
    assert spark.conf.get(BYTES_SETTING) == str(NO_BOUND)


def test_a_session_of_somebody_else_is_as_it_was_afterwards(unbound: SparkSession) -> None:
    own = unbound.conf.get(BYTES_SETTING)
    with uncounted_bytes(unbound):
        assert unbound.conf.get(BYTES_SETTING) == str(NO_BOUND)
    assert unbound.conf.get(BYTES_SETTING) == own
    assert BYTES_SETTING not in unbound.conf.getAll


def test_a_bound_that_somebody_set_stays(unbound: SparkSession) -> None:
    unbound.conf.set(BYTES_SETTING, "1m")
    with uncounted_bytes(unbound):
        assert unbound.conf.get(BYTES_SETTING) == "1m"
    assert unbound.conf.get(BYTES_SETTING) == "1m"
