"""The last hour of a key over HTTP, beside a writer that appends each second.

One process writes, any number answer. They share a folder and nothing else: no lock, no message, no
server of a database. A reader opens the index once, and each request is answered from the newest
commit.

    pip install '.[service]'
    python examples/service.py write events.wx
    python examples/service.py serve events.wx --workers 4
    curl localhost:8000/keys/device-7?last=3
    python examples/service.py ask --requests 100000      latency, and every answer checked

Each second some devices report, so that each does once a minute, and numbers its reports. So who
asks can tell by the numbers alone whether an answer is whole: they follow one another, they reach
as far as an answer before had them, and no report is older than an hour.
"""

from __future__ import annotations

import argparse
import datetime as dt
import http.client
import json
import multiprocessing
import multiprocessing.connection
import signal
import socket
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import wavedex as wx
from wavedex.errors import BadKey, WavedexError

HOUR = dt.timedelta(hours=1)
SCHEMA = pa.schema(
    [("device", pa.string()), ("at", pa.timestamp("ms", "UTC")), ("number", pa.int64())]
)
STREAM = "devices"
TURNS = 60
"""A device reports in one batch of so many; in the first one all do."""


# -- the writer ----------------------------------------------------------------------------------


def open_or_create(path: str) -> wx.WaveIndex:
    """The index of the last hour: slots of a minute, and one more than there are in an hour."""
    try:
        return wx.WaveIndex.open(path)
    except wx.errors.NotAnIndex:
        return wx.WaveIndex.create(
            path, SCHEMA, key="device", time="at", slot="1 minute", window=61, indexes=4, shards=1
        )


def reports(devices: int, batch: int, now: dt.datetime) -> pa.Table:
    """What devices report in one second, with numbers that each counts for itself."""
    due = [each for each in range(devices) if not batch or each % TURNS == batch % TURNS]
    numbers = [(batch + TURNS - (each % TURNS or TURNS)) // TURNS for each in due]
    names = [f"device-{each}" for each in due]
    return pa.table({"device": names, "at": [now] * len(due), "number": numbers}, SCHEMA)


def write(path: str, devices: int, every_s: float, count: int | None) -> None:
    """Append each second, for ever or so many times. Goes on after a crash where it was."""
    idx = open_or_create(path)
    progress = idx.describe()["streams"].get(STREAM)
    first = 0 if progress is None else progress["batch"] + 1
    due_s = time.monotonic()
    for number in range(first, first + (count or sys.maxsize)):
        now = dt.datetime.now(dt.UTC)
        # A batch of a stream is taken once, however often it is sent; its rows can be asked for at
        # once, though their minute is not over.
        idx.feed(reports(devices, number, now), stream=STREAM, number=number, delay="2 seconds")
        say({"number": number, "at": now.isoformat()})
        due_s += every_s
        time.sleep(max(0.0, due_s - time.monotonic()))
    idx.close()


# -- the service ---------------------------------------------------------------------------------


def make_app(path: str) -> Any:
    """The service over one index, for any server that speaks ASGI."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    idx = wx.open(path)

    def answer(data: Any, status: int = 200) -> Response:
        return Response(json.dumps(data), status, media_type="application/json")

    async def ask(request: Request) -> Response:
        """The reports of a device in the last hour; `?last=N` for the latest of them."""
        # A probe takes tens of microseconds: it is not worth a thread.
        last = request.query_params.get("last")
        if last is not None and not last.isdecimal():
            return answer({"error": f"last={last!r} is no number."}, 400)
        since = dt.datetime.now(dt.UTC) - HOUR
        try:
            found = idx.probe(
                request.path_params["key"], since, last=None if last is None else int(last)
            )
        except BadKey as error:
            return answer({"error": str(error)}, 400)
        except WavedexError as error:
            return answer({"error": str(error)}, 503)
        # Arrow writes times much faster than Python makes objects of them.
        texts = pc.strftime(found["at"], "%Y-%m-%dT%H:%M:%SZ")
        return answer(found.set_column(1, "at", texts).to_pylist())

    async def health(request: Request) -> Response:
        """Up to which commit it answers: a probe of a load balancer."""
        return answer({"commit": idx.commit})

    return Starlette(routes=[Route("/keys/{key}", ask), Route("/health", health)])


def serve_alone(path: str, port: int) -> None:
    """Answer in this process. Any number of processes may do so on one port."""
    import uvicorn

    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    # An answer goes out as two packets, and the second must not wait until the first was received.
    # Where a server takes over a socket of its parent, it forgets to say so.
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    taken.bind(("127.0.0.1", port))
    config = uvicorn.Config(make_app(path), log_level="warning")
    uvicorn.Server(config).run(sockets=[taken])


def serve(path: str, port: int, workers: int) -> None:
    """Answer in several processes, until one of them ends or all are told to."""
    processes = [
        multiprocessing.get_context("spawn").Process(target=serve_alone, args=(path, port))
        for _ in range(workers)
    ]
    for process in processes:
        process.start()
    try:
        multiprocessing.connection.wait([process.sentinel for process in processes])
    finally:
        for process in processes:
            process.terminate()
            process.join()


# -- who asks ------------------------------------------------------------------------------------


def is_whole(rows: list[dict[str, Any]], newest: int, asked_at: dt.datetime) -> bool:
    """Whether an answer has all that it must have, and nothing else."""
    numbers = [row["number"] for row in rows]
    if numbers != [*range(numbers[0], numbers[0] + len(numbers))] or numbers[-1] < newest:
        return False
    times = [dt.datetime.fromisoformat(row["at"]) for row in rows]
    # A second for the way; the first report of a series may be younger than an hour.
    is_old = any(each < asked_at - HOUR - dt.timedelta(seconds=1) for each in times)
    is_full = numbers[0] == 0 or times[0] <= asked_at - HOUR + dt.timedelta(seconds=TURNS + 3)
    return not is_old and is_full and times == sorted(times)


def ask(port: int, requests: int, devices: int) -> dict[str, Any]:
    """Ask one question after the other, and check every answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seconds, wrong = [], 0
    newest = dict.fromkeys(range(devices), 0)
    for turn in range(requests):
        device = turn % devices
        asked_at = dt.datetime.now(dt.UTC)
        begun_s = time.perf_counter()
        connection.request("GET", f"/keys/device-{device}")
        content = connection.getresponse().read()
        seconds.append(time.perf_counter() - begun_s)
        rows = json.loads(content)
        wrong += not is_whole(rows, newest[device], asked_at)
        # All questions of a connection go to one process, which never goes back.
        newest[device] = rows[-1]["number"]
    connection.close()
    ordered = sorted(seconds)
    return {
        "requests": requests,
        "wrong": wrong,
        "median_ms": round(statistics.median(ordered) * 1e3, 3),
        "p99_ms": round(ordered[int(requests * 0.99)] * 1e3, 3),
        "worst_ms": round(ordered[-1] * 1e3, 3),
        "rows_an_answer": len(rows),
    }


def say(data: dict[str, Any]) -> None:
    """A line of JSON on standard output, at once."""
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> None:
    """Write, or ask."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("write", help="append each second")
    writer.add_argument("index", type=Path)
    writer.add_argument("--devices", type=int, default=1000)
    writer.add_argument("--every", type=float, default=1.0, help="seconds")
    writer.add_argument("--count", type=int, default=None, help="how many times; else for ever")
    server = commands.add_parser("serve", help="answer requests")
    server.add_argument("index", type=Path)
    server.add_argument("--port", type=int, default=8000)
    server.add_argument("--workers", type=int, default=4)
    asker = commands.add_parser("ask", help="ask a service that runs, and check its answers")
    asker.add_argument("--port", type=int, default=8000)
    asker.add_argument("--requests", type=int, default=10_000)
    asker.add_argument("--devices", type=int, default=1000)
    given = parser.parse_args(arguments)
    if given.command == "ask":
        say(ask(given.port, given.requests, given.devices))
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if given.command == "serve":
            serve(str(given.index), given.port, given.workers)
        else:
            write(str(given.index), given.devices, given.every, given.count)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
