"""What does an index on S3 cost through obstore, and what through Arrow's file system?

Requests and seconds, in one run.

    python bench/objects.py [--rows 50000] [--slots 7]

Moto's S3 serves on loopback, in a process of its own; it prints a line for each request, and those
are counted. Both ways do the same: append a slot, open the index anew and probe one key. The
answers are compared.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

import wavedex as wx
from wavedex.files.address import files_at
from wavedex.files.contract import AnyFiles
from wavedex.files.remote import RemoteFiles

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.float64())])
REQUEST = re.compile(rb'"(?:\x1b\[[0-9;]*m)*(GET|HEAD|PUT|POST|DELETE) ')


class Moto:
    """Moto's server, and how many requests it was sent."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=log.open("wb"),
        )
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/bucket", method="PUT")
        while True:
            try:
                urllib.request.urlopen(request).close()
                return
            except urllib.error.URLError:
                assert self.process.poll() is None, log.read_text()

    def uri(self, name: str) -> str:
        endpoint = f"endpoint_override=http://127.0.0.1:{self.port}&scheme=http"
        return f"s3://bucket/{name}?{endpoint}&region=us-east-1"

    def requests(self) -> int:
        return len(REQUEST.findall(self.log.read_bytes()))


def through_arrow(path: object) -> AnyFiles:
    return RemoteFiles(*pafs.FileSystem.from_uri(str(path)), str(path))


def rows_of(slot: int, count: int) -> pa.Table:
    values = np.random.default_rng(slot)
    columns = {
        "k": values.integers(0, count // 5, count),
        "t": np.full(count, slot),
        "v": values.random(count),
    }
    return pa.table(columns, SCHEMA)


def measured(moto: Moto, work: Callable[[], object]) -> tuple[float, int, object]:
    requests, started = moto.requests(), time.perf_counter()
    answer = work()
    return time.perf_counter() - started, moto.requests() - requests, answer


def run(moto: Moto, ways: dict, rows: int, slots: int) -> dict[str, dict]:
    """Let all ways do the same, by turns: whatever else the machine does is the same for all."""
    addresses = {name: moto.uri(f"{name}.wx") for name in ways}
    indexes = {
        name: wx.WaveIndex.create(
            address,
            SCHEMA,
            key="k",
            time="t",
            slot=1,
            window=6,
            indexes=3,
            shards=2,
            surroundings=ways[name],
        )
        for name, address in addresses.items()
    }
    found: dict[str, dict] = {name: {"append": [], "open and first probe": []} for name in ways}
    for slot in range(slots):
        for name, index in indexes.items():
            done = measured(moto, lambda: index.append(rows_of(slot, rows)))  # noqa: B023
            found[name]["append"].append(done[:2])
    for _ in range(5):
        for name, around in ways.items():
            address = addresses[name]
            done = measured(
                moto,
                lambda: wx.open(address, surroundings=around).probe(7),  # noqa: B023
            )
            found[name]["open and first probe"].append(done[:2])
            found[name]["answer"] = done[2].num_rows
    return found


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--rows", type=int, default=50_000)
    asked.add_argument("--slots", type=int, default=12)
    options = asked.parse_args()
    os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    with tempfile.TemporaryDirectory() as folder:
        moto = Moto(Path(folder) / "requests.log")
        try:
            ways = {"arrow": through_arrow, "obstore": files_at}
            around = {name: wx.Surroundings(files=files) for name, files in ways.items()}
            found = run(moto, around, options.rows, options.slots)
        finally:
            moto.process.terminate()
            moto.process.wait()
    assert found["arrow"]["answer"] == found["obstore"]["answer"]
    for what in ("append", "open and first probe"):
        said = {name: np.median(np.array(each[what][-5:]), axis=0) for name, each in found.items()}
        (before_s, before), (after_s, after) = said["arrow"], said["obstore"]
        print(
            f"{what}: arrow {before_s * 1e3:.0f} ms, {before:.0f} requests; "
            f"obstore {after_s * 1e3:.0f} ms, {after:.0f} requests; "
            f"{after_s / before_s:.2f} of the time, {after / before:.2f} of the requests"
        )


if __name__ == "__main__":
    main()
