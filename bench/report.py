"""What results are written with, as JSON.

The machine, the versions and the settings that they hold for.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import wavedex as wx

Result = dict[str, Any]


def describe_machine() -> dict[str, Any]:
    """What the figures hold for."""
    names = [
        line.partition(":")[2].strip()
        for line in _lines("/proc/cpuinfo")
        if line.startswith("model name")
    ]
    memory = next((line.split()[1] for line in _lines("/proc/meminfo")), "0")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(int(memory) / 1e6, 1),
        "system": platform.platform(),
    }


def describe_versions() -> dict[str, str]:
    """The versions of everything that was measured."""
    return {
        "python": platform.python_version(),
        "wavedex": wx.__version__,
        "pyarrow": pa.__version__,
        "numpy": np.__version__,
        "duckdb": duckdb.__version__,
        "sqlite": sqlite3.sqlite_version,
        "pyspark": version("pyspark"),
    }


def circumstances(settings: Result) -> Result:
    """When and on what it was measured, and with which settings."""
    return {
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": describe_machine(),
        "versions": describe_versions(),
        "settings": settings,
    }


def write_report(report: Result, path: Path) -> None:
    """Write it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
