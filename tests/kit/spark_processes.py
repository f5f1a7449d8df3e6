"""Processes of Spark that a test may kill, with all that they start, and with nothing else.

A driver has a Java machine below it, and that has Python workers, which Spark puts into process
groups of their own. Numbers of processes and sessions are soon given to others. So each process
gets a mark into its environment, which those that it starts inherit, and by which they are known
even when their parents are gone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MARK = "WAVEDEX_TEST_PROCESS"
DEADLINE_S = 180.0
"""Long enough for a busy machine; a test that waits for it fails."""


class Process:
    """A process in a session and process group of its own.

    Its lines are gathered as they come, its complaints go to a file.
    """

    def __init__(self, command: list[str], complaints: Path, **environment: str) -> None:
        self.lines: list[str] = []
        self.complaints = complaints
        self._news = threading.Condition()
        self._ended = False
        self._mark = secrets.token_hex(8)
        with open(complaints, "wb") as stderr:
            self.child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
                env={**os.environ, **environment, MARK: self._mark},
            )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.child.stdout or ():
            with self._news:
                self.lines.append(line.strip())
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def tell(self, line: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(f"{line}\n")
        self.child.stdin.flush()

    def wait_for(self, is_there: Callable[[list[str]], bool]) -> None:
        """Wait until its lines are such, and fail where it ends before."""
        with self._news:
            self._news.wait_for(lambda: is_there(self.lines) or self._ended, DEADLINE_S)
            assert is_there(self.lines), self.story()

    def kill(self, *, whole_group: bool = True) -> None:
        """Kill it at once, with all that is in its process group or alone."""
        kill = os.killpg if whole_group else os.kill
        kill(self.child.pid, signal.SIGKILL)
        self._close()
        assert self.child.returncode == -signal.SIGKILL, self.story()

    def end(self) -> None:
        """Wait for its own end, which must be a good one."""
        self.child.wait(DEADLINE_S)
        self._close()
        assert self.child.returncode == 0, self.story()

    def _close(self) -> None:
        self.child.wait()
        self._reader.join()
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def members(self) -> dict[int, str]:
        """The command lines of itself and of all that it has started, by their numbers.

        Those that are over are left out.
        """
        mark = f"{MARK}={self._mark}".encode()
        members = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
                    members[int(entry)] = b" ".join(words).decode(errors="replace")
        return members

    def clear(self) -> None:
        """Kill whatever is left of it and of what it has started."""
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self._close()

    def story(self) -> str:
        """What it said, and the end of what it complained of."""
        complaints = self.complaints.read_text(errors="replace")
        return "\n".join([*self.lines, complaints[-6000:]])


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Callable[..., Process]]:
    """Starts processes, and ends all that is left of them whatever happens."""
    started: list[Process] = []

    def start(command: list[str], **environment: str) -> Process:
        process = Process(command, folder / f"complaints-{len(started)}", **environment)
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in started:
            process.clear()


def python(script: str, *arguments: object) -> list[str]:
    """The command that runs a script."""
    return [sys.executable, "-c", script, *map(str, arguments)]


def wait_until(is_so: Callable[[], bool], what: str, *alive: Process) -> None:
    """Look again and again until it is so.

    Fails after the deadline, or where one of the processes ends before.
    """
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        for process in alive:
            assert process.child.poll() is None, process.story()
        time.sleep(0.005)
