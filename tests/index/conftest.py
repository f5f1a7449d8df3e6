"""Row groups of Parquet files are small here, so that a few rows cross from one to the next."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _small_row_groups(small_row_groups):
    pass
