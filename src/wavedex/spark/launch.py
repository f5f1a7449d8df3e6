"""Starting Java without the lines that it says each time.

Some of them come from Java itself, and from Spark before it has read how much it is to say.
Whatever else Java and the workers that it starts write to standard error comes out on ours.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

_STDERR = 2
_EACH_TIME = (
    b"WARNING: Using incubator modules: ",
    b"Setting default log level to ",
    b"To adjust logging level use ",
    b"Setting Spark log level to ",
)


def launch_quietly(settings: SparkConf) -> Any:
    """Start Java and return the way to it, for `SparkContext`."""
    read_end, write_end = os.pipe()
    threading.Thread(target=_pass_on, args=(read_end,), name="java-stderr", daemon=True).start()
    try:
        return launch_gateway(settings, {"stderr": write_end})  # type: ignore[no-untyped-call]
    finally:
        os.close(write_end)


def _pass_on(read_end: int) -> None:
    """Copy lines until nobody is left who could write one."""
    with os.fdopen(read_end, "rb") as lines, contextlib.suppress(OSError):
        for line in lines:
            if not line.startswith(_EACH_TIME):
                os.write(_STDERR, line)
