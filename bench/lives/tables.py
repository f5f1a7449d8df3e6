"""The results as tables: in Markdown, for the page and for the terminal."""

from __future__ import annotations

from typing import Any

from bench.command import table
from bench.lives.targets import shown
from bench.race.standings import figure

Result = dict[str, Any]
MB = 1e6
VERSIONS = ("python", "wavedex", "pyarrow", "numpy")


def markdown(report: Result) -> str:
    """All that a report has."""
    machine = report["machine"]
    versions = ", ".join(f"{name} {report['versions'][name]}" for name in VERSIONS)
    where = (
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gb']} GB of memory"
    )
    parts = [f"Measured on {report['at'][:10]}: {where}, {machine['system']}; {versions}."]
    if report["papers"]:
        parts += ["## The papers' experiment", papers(report["papers"])]
    if report["large"]:
        parts += ["## Ten times as much", papers(report["large"])]
    if report["sizes"]:
        parts += ["## Sizes of the sub-indexes", sizes(report["sizes"])]
    if report["peers"]:
        parts += ["## Beside ClickHouse", peers(report["peers"])]
    if report["pairs"]:
        parts += ["## Probes", pairs(report["pairs"]), retractions(report["retractions"])]
    parts += ["## Targets", shown(report["targets"])]
    return "\n\n".join(parts)


def papers(results: list[Result]) -> str:
    """A table for each number of keys, by sub-indexes and methods."""
    heads = ["grid", "method", "MB written", "to `r-ins`", "sub-indexes touched", "files"]
    heads += [
        "update s (most)",
        "probe µs",
        "scan s",
        "held rows to live",
        "commit to raw",
        "disk to raw",
    ]
    parts = []
    shapes = dict.fromkeys((each["rows"], each["keys"]) for each in results)
    for rows, keys in shapes:
        some = [each for each in results if (each["rows"], each["keys"]) == (rows, keys)]
        whole = {each["n"]: each["written_bytes"] for each in some if each["method"] == "r-ins"}
        lines = []
        for each in sorted(some, key=lambda each: each["n"]):
            share = each["written_bytes"] / whole[each["n"]] if each["n"] in whole else None
            lines.append(
                [
                    "x".join(map(str, each["grid"])),
                    f"`{each['method']}`",
                    figure(each["written_bytes"] / MB),
                    "" if share is None else figure(share),
                    f"{each['touched']:.1f}",
                    f"{each['files']:.0f}",
                    f"{figure(each['update_s']['median'])} ({figure(each['update_s']['max'])})",
                    figure(each["probe_us"]["median"]),
                    figure(each["scan_s"]["median"]),
                    figure(each["held_rows"] / each["live_rows"]),
                    figure(each["commit_per_raw"]),
                    figure(each["disk_per_raw"]),
                ]
            )
        refreshes = ", ".join(map(str, sorted({each["refreshes"] for each in some})))
        about = (
            f"{rows:,} rows of 1,000 bytes born in a window, {keys:,} keys, {refreshes} refreshes:"
        )
        parts += [about, table(heads, lines)]
    return "\n\n".join(parts)


def sizes(results: list[Result]) -> str:
    heads = [
        "slots",
        "sub-indexes",
        "partition",
        "sum of squared deviations (range)",
        "p^2/4 (1 - 1/n)",
    ]
    rows = [
        [
            str(each["slots"]),
            str(each["n"]),
            each["partition"],
            f"{each['mean']:,.1f} ({each['squares']['min']:,.1f} to {each['squares']['max']:,.1f})",
            f"{each['expected']:,.1f}",
        ]
        for each in results
    ]
    return table(heads, rows)


def peers(report: Result) -> str:
    """Everybody by name."""
    heads = ["", "refresh s (range)", "probe µs (range)", "disk to raw", "the same, half over"]
    heads += ["MB once all is over"]
    rows = [
        [
            name,
            _ranged(each["refresh_s"]),
            _ranged(each["probe_us"]),
            figure(each["disk_per_raw"]),
            figure(each["half_disk_per_raw"]),
            figure(each["left_bytes"] / MB),
        ]
        for name, each in report["peers"].items()
    ]
    settings = report["settings"]
    about = (
        f"{settings['slots']} slots of {settings['rows']:,} rows, "
        f"{settings['refreshes']} refreshes, ClickHouse {report['clickhouse']}:"
    )
    return f"{about}\n\n{table(heads, rows)}"


def pairs(results: list[Result]) -> str:
    heads = [
        "sub-indexes",
        "keys",
        "rows born",
        "method",
        "probe µs",
        "beside",
        "probe µs",
        "ratio (range)",
    ]
    rows = [
        [
            str(each["n"]),
            f"{each['keys']:,}",
            f"{each['rows']:,}",
            f"`{each['methods'][0]}`",
            figure(each["probe_us"]["median"]),
            f"`{each['methods'][1]}`",
            figure(each["other_us"]["median"]),
            _ranged(each["ratio"]),
        ]
        for each in results
    ]
    return table(heads, rows)


def retractions(results: list[Result]) -> str:
    heads = [
        "sub-indexes",
        "keys",
        "rows retracted",
        "retract s",
        "probe µs",
        "with all rows",
        "ratio (range)",
    ]
    rows = [
        [
            str(each["n"]),
            f"{each['keys']:,}",
            f"{each['retracted_rows']:,}",
            figure(each["retract_s"]),
            figure(each["probe_us"]["median"]),
            figure(each["other_us"]["median"]),
            _ranged(each["ratio"]),
        ]
        for each in results
    ]
    return f"One row in a hundred retracted from `rebuild`:\n\n{table(heads, rows)}"


def _ranged(values: Result) -> str:
    return f"{figure(values['median'])} ({figure(values['min'])} to {figure(values['max'])})"
