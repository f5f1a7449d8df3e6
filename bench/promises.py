"""Does it keep its promises? Each is one figure with a bound: measured, and told whether it is met.

An unmet promise is reported and never raises; a wrong answer does.
`python -m bench.promises [--quick] [--only NAME ...]`.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.command import options, publish, table
from bench.promised import QUICK, Scale
from bench.promises_of_reading import measure_many_sub_indexes, measure_openings, measure_usual
from bench.promises_of_room import measure_disk, measure_imports, measure_parquet
from bench.promises_of_writing import measure_cores, measure_expiry, measure_memory
from bench.race.standings import figure
from bench.race.start import room_in
from bench.report import circumstances

Result = dict[str, Any]
MEASURES: dict[str, Callable[[Path, Scale], list[Result]]] = {
    "expiry": measure_expiry,
    "usual": measure_usual,
    "sub-indexes": measure_many_sub_indexes,
    "opening": measure_openings,
    "disk": measure_disk,
    "parquet": measure_parquet,
    "memory": measure_memory,
    "cores": measure_cores,
    "imports": measure_imports,
}


def run(scale: Scale, names: Sequence[str], folder: Path) -> Result:
    """Measure the promises of these groups, each in a process of its own, and return the report.

    What one group leaves behind in a process, memory above all, would be in the times of the next.
    """
    found: list[Result] = []
    for name in names:
        with (
            room_in(folder) as room,
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process,
        ):
            found += process.submit(MEASURES[name], room, scale).result()
    promises = [each for each in found if each["bound"] is not None]
    return {
        **circumstances(asdict(scale) | {"only": list(names)}),
        "promises": promises,
        "beside": [each for each in found if each["bound"] is None],
        "unmet": [each["name"] for each in promises if not each["met"]],
        "checked": True,
    }


def markdown(report: Result) -> str:
    """Tables of the promises and of what is given for comparison."""
    heads = ["promise", "measured", "range", "bound", "met"]
    rows = [
        [
            each["name"],
            _shown(each["measured"][each["judged_by"]], each["unit"]),
            _range(each),
            (
                f"{each['sense']} {each['bound']:,.10g}"
                f"{'' if each['unit'] == 'ratio' else ' ' + each['unit']}"
            ),
            "yes" if each["met"] else "**no**",
        ]
        for each in report["promises"]
    ]
    beside = [
        [each["name"], _shown(each["measured"]["median"], each["unit"]), _range(each)]
        for each in report["beside"]
    ]
    tables = [table(heads, rows)]
    if beside:
        tables += ["For comparison:", table(["what", "measured", "range"], beside)]
    return "\n\n".join(tables)


def _range(each: Result) -> str:
    low, high = each["measured"]["min"], each["measured"]["max"]
    return f"{figure(low)} to {figure(high)}"


def _shown(value: float, unit: str) -> str:
    return figure(value) if unit == "ratio" else f"{figure(value)} {unit}"


def main(arguments: Sequence[str] | None = None) -> Result:
    parser = options("promises", __doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(dir=chosen.folder) as folder:
        report = run(QUICK if chosen.quick else Scale(), chosen.only, Path(folder))
    publish(report, "promises", chosen.json, markdown(report))
    return report


if __name__ == "__main__":
    main()
