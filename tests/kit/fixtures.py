"""Servers, places and folders that tests of several folders ask for. A server starts once."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.fs as pafs
import pytest

from kit.paths import KIT
from kit.postgresql_server import Server
from kit.remote_places import S3, Place, place_of
from wavedex.files.remote import RemoteFiles
from wavedex.store.sorted import parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def small_row_groups(monkeypatch):
    """Row groups of Parquet files so small that a few rows cross from one to the next."""
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


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark session for all tests of a process."""
    from wavedex import spark as wxs

    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
    }
    session = wxs.session("local[2]", conf=conf)
    yield session
    session.stop()


@contextlib.contextmanager
def serving(script: str) -> Iterator[S3]:
    """A server in a process of its own, and credentials for it."""
    with (
        pytest.MonkeyPatch.context() as patch,
        subprocess.Popen(
            [sys.executable, str(KIT / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            patch.setenv(name, value)
        assert process.stdout is not None
        try:
            yield S3(int(process.stdout.readline()))
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    with serving("s3_server.py") as server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator[S3]:
    """Another's S3, that what we have of our own is not made to fit ourselves."""
    with serving("moto_server.py") as server:
        yield server


@pytest.fixture
def s3(s3_server) -> Iterator[S3]:
    s3_server.requests()
    yield s3_server
    s3_server.refuse()
    s3_server.heed()


@pytest.fixture
def subtree(tmp_path) -> Place:
    system = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    return Place("subtree", str, lambda path: RemoteFiles(system, path))


@pytest.fixture(params=["local", "subtree", "s3", "moto", "memory", "folder"])
def anywhere(request, tmp_path) -> Place:
    """Every kind of place that files keep their promises in."""
    return place_of(request, tmp_path, request.param)


@pytest.fixture(params=["local", "subtree", "s3"])
def place(request, tmp_path) -> Place:
    """Each kind of place in turn."""
    return place_of(request, tmp_path, request.param)


@pytest.fixture(params=["subtree", "s3"])
def remote(request, tmp_path) -> Place:
    """Each kind of place that is no local disk."""
    return place_of(request, tmp_path, request.param)
