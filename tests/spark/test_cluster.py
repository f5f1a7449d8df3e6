"""A cluster of real processes whose executors are killed in the middle of appends.

Its processes are a master and two workers on loopback. A driver appends slots to two indexes, one
after the other. It stops at points where a task has begun something and cannot go on; then an
executor is killed with SIGKILL, with the tasks, the files and the shuffled rows that it has, and
the tasks are let go. What must be in the indexes in the end is worked out here from the slots
alone.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

import wavedex as wx
from kit.matrix import RUNS_ALL
from kit.spark_processes import Process, processes, python, wait_until
from wavedex.files.local import Files
from wavedex.log.manifest import Log

HOSTS = ("127.0.0.1", "127.0.0.2")
"""Of the workers.

Both are this machine; Spark starts a second attempt of a slow task on another host only.
"""
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Starts faster."""
WINDOW, SLOTS = 4, 10
WINDOW_AT_END = range(SLOTS - WINDOW + 1, SLOTS + 1)
SCHEMES = {"packed-shadow": "reindex", "runs": "del"} if RUNS_ALL else {"runs": "del"}
"""With these, every append writes in every shard while the plan or its preparation is done."""

SHARED = """
def rows_of(slot):
    return [
        {"k": f"key {(slot * 7 + n * n) % 23}", "t": slot * 10 + n % 10, "v": f"{slot}/{n}"}
        for n in range(80 + slot)
    ]
"""

shared: dict = {}
exec(SHARED, shared)  # the driver runs the same lines

DRIVER = (
    SHARED
    + '''
import os
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark import TaskContext

from wavedex import spark as wxs
from wavedex.spark.engine import SparkEngine
from wavedex.index.wave import append as appending
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.wave.index import WaveIndex
from wavedex.spark.frames import FrameDelivery
from wavedex.files.local import Files

base, master, java = sys.argv[1:4]
os.chdir(base)  # The executors are elsewhere: a relative path must be the driver's.
COLUMNS = "k string, t long, v string"


def wait_here(signals):
    """In a task: tell in which session it is, and wait until it may go on."""
    Path(signals, f"waiting-{os.getsid(0)}-{os.getpid()}").touch()
    while not Path(signals, "go").exists():
        time.sleep(0.01)


class WaitingFiles(Files):
    """Files on which some tasks, when their first files are written and do not last yet, wait."""

    def __init__(self, root, waits, lets_go):
        super().__init__(root)
        self.waits, self.lets_go = waits, lets_go

    def sync(self, name):
        if self.waits:
            wait_here(self.waits)
            self.waits = None
        super().sync(name)
        if self.lets_go:
            Path(self.lets_go, "go").touch()


def open_waiting(path, signals, kind):
    waits, lets_go = signals, None
    if kind == "twice":  # Only one task waits, and the second attempt at it lets the first go on.
        context = TaskContext.get()
        mine = context.partitionId() == 0
        waits = signals if mine and context.attemptNumber() == 0 else None
        lets_go = signals if mine and context.attemptNumber() > 0 else None
    workshop = WaveIndex.open(path).writer.workshop
    return replace(workshop, files=WaitingFiles(path, waits, lets_go))


def append_waiting(path, frame, signals, kind):
    """Append with tasks that wait while they carry out the plan or its preparation."""
    def engine(workshop, shards):
        again = partial(open_waiting, path, signals, kind)
        return SparkEngine(workshop, shards, spark, again)

    index = WaveIndex.open(path, surroundings=Surroundings(engine=engine))
    appending.append(index.writer, FrameDelivery(frame).ready(index, None), None)


def waiting_frame(frame, signals):
    def wait(batches):
        wait_here(signals)
        yield from batches

    return frame.repartition(4).mapInArrow(wait, COLUMNS)


def say(*words):
    print(*words, flush=True)


spark = wxs.session(master, conf={
    "spark.cores.max": "2",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": java,
    "spark.driver.extraJavaOptions": java,
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.25",
})
say("ready", spark.sparkContext.master)
for update in sys.argv[4:]:
    path = f"{base}/{update}.wx"
    for slot in range(1, int(sys.stdin.readline()) + 1):
        frame = spark.createDataFrame(rows_of(slot), COLUMNS)
        if slot == 5:
            wxs.append(path, waiting_frame(frame, f"{base}/{update}-source"))
        elif slot == 6:
            append_waiting(path, frame, f"{base}/{update}-shards", "all")
        elif slot == 7:
            append_waiting(path, frame, f"{base}/{update}-twice", "twice")
        elif slot == 8:
            say(update, "stages")
            sys.stdin.readline()
            wxs.append(path, frame)
        elif slot == 9:
            frame.write.format("wavedex").mode("append").save(f"{update}.wx")
        else:
            wxs.append(path, frame)
        say(update, "appended", slot)
    say(update, "has", spark.read.format("wavedex").load(f"{update}.wx").count())
spark.stop()
say("stopped")
'''
)


SUBMITTED = """
from wavedex import spark as wxs

print(wxs.session().sparkContext.master, flush=True)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOSTS[0], 0))
        return probe.getsockname()[1]


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOSTS[0], port)) == 0


def spark_program(name: str) -> str:
    return str(Path(pyspark.__file__).parent / "bin" / name)


def spark_class(name: str, *arguments: object) -> list[str]:
    return [spark_program("spark-class"), f"org.apache.spark.deploy.{name}", *map(str, arguments)]


class Cluster:
    """A master and two workers of one core each."""

    def __init__(self, start, folder: Path) -> None:
        def environment(host: str) -> dict[str, str]:
            return {
                "SPARK_LOCAL_IP": host,
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": JAVA,
                "PYSPARK_PYTHON": sys.executable,
            }

        port = free_port()
        self.address = f"spark://{HOSTS[0]}:{port}"
        master = ["--host", HOSTS[0], "--port", port, "--webui-port", 0]
        self.master = start(spark_class("master.Master", *master), **environment(HOSTS[0]))
        wait_until(lambda: is_listening(port), "the master listens")
        self.workers: list[Process] = []
        for host in HOSTS:
            worker = ["--host", host, "--cores", 1, "--memory", "1g", "--webui-port", 0]
            worker += ["--work-dir", folder / f"work-{host}", self.address]
            self.workers.append(start(spark_class("worker.Worker", *worker), **environment(host)))

    def executors(self, worker: int) -> list[int]:
        members = self.workers[worker].members()
        return [pid for pid, line in members.items() if "CoarseGrainedExecutorBackend" in line]

    def kill_executor(self, worker: int) -> None:
        """Kill the executor of a worker, and wait until it is dead."""
        wait_until(lambda: len(self.executors(worker)) == 1, "the worker has an executor")
        [victim] = self.executors(worker)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in self.executors(worker), "the executor is dead")

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left of what the workers have started."""
        return all(len(worker.members()) == 1 for worker in self.workers)


def let_go_after(signals: Path, driver: Process, cluster: Cluster, victim: int) -> None:
    """Kill an executor when tasks of both workers wait, and let the tasks go on."""
    sessions = {str(worker.child.pid) for worker in cluster.workers}
    wait_until(
        lambda: {name.split("-")[1] for name in os.listdir(signals)} == sessions,
        f"a task of each worker waits at {signals.name}",
        driver,
    )
    cluster.kill_executor(victim)
    (signals / "go").touch()


def slide(path: Path, driver: Process, cluster: Cluster, update: str) -> None:
    """Append all slots, with three executors killed on the way."""
    driver.tell(str(SLOTS))
    let_go_after(path.with_name(f"{update}-source"), driver, cluster, 0)
    let_go_after(path.with_name(f"{update}-shards"), driver, cluster, 1)
    driver.wait_for(lambda lines: f"{update} stages" in lines)
    before = set(os.listdir(path / "data"))
    driver.tell("go")
    wait_until(
        lambda: not set(os.listdir(path / "data")) <= before, "a task has staged rows", driver
    )
    cluster.kill_executor(0)
    rows = sum(len(shared["rows_of"](slot)) for slot in WINDOW_AT_END)
    driver.wait_for(lambda lines: f"{update} has {rows}" in lines)


def check_end(path: Path) -> None:
    """Every row of the window is found once, and no file lies there that nobody names."""
    rows = Counter(repr(row) for slot in WINDOW_AT_END for row in shared["rows_of"](slot))
    assert max(rows.values()) == 1
    index = wx.open(path)
    index.verify()
    assert index.slots == [*WINDOW_AT_END]
    assert Counter(map(repr, index.scan().read_all().to_pylist())) == rows
    found = [index.probe(f"key {number}").to_pylist() for number in range(23)]
    assert Counter(repr(row) for answer in found for row in answer) == rows
    index.vacuum()
    index.verify()
    files = Files(path)
    assert {f"data/{name}" for name in files.list("data")} == set(Log(files).latest().files)


@pytest.fixture
def schema() -> pa.Schema:
    return pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])


def test_executors_that_are_killed_lose_no_row_and_double_none(tmp_path, schema):
    for update, scheme in SCHEMES.items():
        wx.WaveIndex.create(
            tmp_path / f"{update}.wx",
            schema,
            key="k",
            time="t",
            slot=10,
            window=WINDOW,
            indexes=2,
            scheme=scheme,
            update=update,
            shards=4,
        )
        for kind in ("source", "shards", "twice"):
            (tmp_path / f"{update}-{kind}").mkdir()
    with processes(tmp_path) as start:
        cluster = Cluster(start, tmp_path)
        script = python(DRIVER, tmp_path, cluster.address, JAVA, *SCHEMES)
        driver = start(script, SPARK_LOCAL_IP=HOSTS[0])
        driver.wait_for(lambda lines: f"ready {cluster.address}" in lines)
        for update in SCHEMES:
            slide(tmp_path / f"{update}.wx", driver, cluster, update)
        driver.end()
        wait_until(lambda: cluster.is_idle, "the executors and their Python workers have ended")
        for update in SCHEMES:
            check_end(tmp_path / f"{update}.wx")
            assert (tmp_path / f"{update}-twice" / "go").exists()


def test_a_program_that_is_submitted_runs_where_spark_submit_was_told(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SUBMITTED)
    options = ["--master", "local[1]", "--driver-java-options", JAVA]
    with processes(tmp_path) as start:
        command = [spark_program("spark-submit"), *options, str(program)]
        submitted = start(command, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP=HOSTS[0])
        submitted.end()
        assert submitted.lines == ["local[1]"]
