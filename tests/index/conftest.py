"""Row groups of Parquet files are so small that a few rows cross from one to the next.

One server serves all.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from postgresql_server import Server

from wavedex.store.sorted import parquet

collect_ignore = ["toy_package.py"]
"""A module of somebody else's. It registers itself wherever it is imported, and once is enough."""


@pytest.fixture(autouse=True)
def small_row_groups(monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 3)
    monkeypatch.setattr(parquet, "PIECE_GROUPS", 2)


@pytest.fixture
def shared():
    """A folder that other users may enter, as they may enter those above it.

    Pytest's own are closed to others.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def server():
    started = Server()
    yield started
    started.remove()
