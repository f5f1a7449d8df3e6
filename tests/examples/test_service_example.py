"""The example of a service: a writer each moment, and processes that answer beside it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wavedex as wx
from kit.paths import ROOT

EXAMPLE = ROOT / "examples" / "service.py"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A writer that appends ten times a second, and two processes that answer."""
    path = tmp_path_factory.mktemp("service") / "events.wx"
    port = free_port()
    write = (str(EXAMPLE), "write", str(path), "--devices", "20", "--every", "0.1")
    serve = (str(EXAMPLE), "serve", str(path), "--workers", "2", "--port", str(port))
    with running(*write) as writer:
        assert writer.stdout is not None
        assert json.loads(writer.stdout.readline())["number"] == 0
        with running(*serve):
            wait_for(port)
            yield port, path


def wait_for(port: int) -> None:
    """Until the service answers."""
    for _ in range(600):
        with contextlib.suppress(ConnectionError):
            assert get(port, "/health")[0] == 200
            return
        time.sleep(0.1)  # between two attempts to connect
    raise AssertionError("the service has not begun")


def get(port: int, path: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def test_every_answer_is_whole_and_fresh(
    example: dict[str, Any], service: tuple[int, Path]
) -> None:
    port, _ = service
    found = example["ask"](port, 2_000, 20)
    assert found["wrong"] == 0
    assert found["requests"] == 2_000


def test_devices_number_their_reports(example: dict[str, Any]) -> None:
    import datetime as dt

    now = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    seen: dict[str, list[int]] = {}
    for batch in range(200):
        for row in example["reports"](130, batch, now).to_pylist():
            seen.setdefault(row["device"], []).append(row["number"])
    assert len(seen) == 130
    assert all(numbers == [*range(len(numbers))] for numbers in seen.values())
    assert {len(numbers) for numbers in seen.values()} == {4, 5}


def test_readers_see_what_is_written_without_being_told(service: tuple[int, Path]) -> None:
    port, path = service
    before = get(port, "/keys/device-3?last=1")[1][0]["number"]
    idx = wx.open(path)
    while idx.probe("device-3", last=1)["number"][0].as_py() == before:
        time.sleep(0.01)  # until the writer has gone on
    assert get(port, "/keys/device-3?last=1")[1][0]["number"] > before


def test_questions_that_make_no_sense_are_refused(service: tuple[int, Path]) -> None:
    port, _ = service
    assert get(port, "/keys/nobody") == (200, [])
    status, said = get(port, "/keys/device-1?last=soon")
    assert (status, said) == (400, {"error": "last='soon' is no number."})


def test_a_wrong_answer_would_be_noticed(example: dict[str, Any]) -> None:
    import datetime as dt

    now = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
    rows = [{"number": n, "at": (now - dt.timedelta(seconds=9 - n)).isoformat()} for n in range(10)]
    is_whole = example["is_whole"]
    assert is_whole(rows, 9, now)
    assert not is_whole(rows, 10, now)  # not fresh
    assert not is_whole(rows[:4] + rows[5:], 9, now)  # one is missing
    assert not is_whole(rows[3:], 9, now)  # the first are missing
    assert not is_whole(rows[::-1], 9, now)  # out of order
    assert not is_whole(rows + rows[-1:], 9, now)  # one twice
    assert not is_whole(rows, 9, now + dt.timedelta(hours=2))  # too old
