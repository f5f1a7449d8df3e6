"""The results for people, as tables, and for programs, as JSON with the machine and the versions they hold for."""

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
from rich.console import Console
from rich.table import Table

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


def make_report(settings: Result, waves: list[Result], peers: list[Result]) -> Result:
    """Everything, as plain JSON."""
    return {
        **circumstances(settings),
        "waves": waves,
        "peers": peers,
        "checked": all(result["checked"] for result in (*waves, *peers)),
    }


def write_report(report: Result, path: Path) -> None:
    """Write it as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def print_report(report: Result, console: Console) -> None:
    """Print it as tables, of medians where nothing else is said."""
    settings, machine = report["settings"], report["machine"]
    console.print(
        f"{settings['rows']:,} rows a slot, {settings['slots']} slots, {settings['indexes']} "
        f"sub-indexes; {machine['cores']} cores of {machine['processor']}; medians, every answer checked"
    )
    for workload in settings["workloads"]:
        waves = [result for result in report["waves"] if result["workload"] == workload]
        peers = {
            result["peer"]: result for result in report["peers"] if result["workload"] == workload
        }
        console.print(_table_of(workload, waves, peers))


def _table_of(workload: str, waves: list[Result], peers: dict[str, Result]) -> Table:
    heads = ["transition ms", "prepare ms", "MB written", "probe µs (p99)", "last 3 slots µs"]
    heads += ["1,000 keys ms", "scan ms", "open+probe ms", "disk/raw"]
    table = Table(title=f"{workload} keys", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for head in heads:
        table.add_column(head, justify="right")
    for wave in waves:
        table.add_row(f"{wave['scheme']} {wave['update']}", *_wave_cells(wave, peers))
    for name, peer in peers.items():
        probe = peer.get("probe_us")
        table.add_row(
            name,
            f"{peer['transition_ms']['median']:,.0f}",
            "",
            "",
            f"{probe['median']:.1f} ({probe['p99']:.0f})" if probe else "",
            "",
            "",
            f"{peer['scan_ms']['median']:.0f}",
            "",
            f"{peer['disk_per_raw']:.2f}",
        )
    return table


def _wave_cells(wave: Result, peers: dict[str, Result]) -> list[str]:
    """The cells of an index, with its ratio to a peer: how many times as fast it is."""
    sqlite, duck = peers["sqlite"], peers["duckdb"]
    probe, recent = wave["probe_us"], wave["probe_last_three_us"]
    transition, scan = wave["transition_ms"]["median"], wave["scan_ms"]["median"]
    return [
        f"{transition:,.0f} ({sqlite['transition_ms']['median'] / transition:.1f}x)",
        f"{wave['preparation_ms']['median']:,.0f}",
        f"{wave['transition_mb']['median']:.0f}+{wave['prepare_mb']['median']:.0f}",
        f"{probe['median']:.1f} ({probe['p99']:.0f}, {sqlite['probe_us']['median'] / probe['median']:.2f}x)",
        f"{recent['median']:.1f} ({recent['p99']:.0f})",
        f"{wave['probe_many_ms']['median']:.1f}",
        f"{scan:.0f} ({duck['scan_ms']['median'] / scan:.2f}x)",
        f"{wave['open_and_probe_ms']['median']:.1f}",
        f"{wave['disk_per_raw']:.2f}",
    ]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
