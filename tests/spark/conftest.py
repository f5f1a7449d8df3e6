"""One Spark session for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from wavedex import spark as wxs


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = wxs.session("local[2]", conf={"spark.driver.memory": "2g"})
    yield session
    session.stop()
