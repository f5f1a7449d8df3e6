"""The measurements as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.command import table
from bench.lives.targets import shown
from bench.race.standings import figure
from bench.sets.histories import MEASURES
from bench.sets.paper import SIZES, stated

Result = dict[str, Any]
KINDS = {"consecutive": "ids that follow each other", "spread": "ids spread far"}
HISTORIES = {"1": "Uniform-30", "10": "ten times that history"}


def markdown(report: Result) -> str:
    """All tables."""
    parts: list[str] = []
    if "pages" in report:
        found = report["pages"]
        parts += [sizes(found["counts"]), *counts(found["counts"]), sweep(found["sweep"]),
                  claims(found["claims"])]  # fmt: skip
    if "speed" in report:
        found = report["speed"]
        parts += [*speed(found["speed"]), f"Left out: {'; '.join(found['left_out'])}.",
                  shown(found["targets"])]  # fmt: skip
    if "histories" in report:
        parts += [histories(report["histories"]), shown(report["histories"]["targets"])]
    return "\n\n".join(parts)


# -- pages -----------------------------------------------------------------------------------------


def sizes(found: Sequence[Result]) -> str:
    """How large the workloads are, beside the paper's."""
    heads = ["workload", "changes", "the paper's", "lifespans", "the paper's", "questions"]
    rows = {}
    for each in found:
        if each["kind"] == "consecutive":
            changes, lifespans = SIZES[each["workload"]]
            cells = each["changes"], changes, each["lifespans"], lifespans, each["questions"]
            rows[each["workload"]] = [each["workload"], *(f"{cell:,}" for cell in cells)]
    return f"**The workloads**\n\n{table(heads, [*rows.values()])}"


def counts(found: Sequence[Result]) -> list[str]:
    """A table for each count and each kind of ids: a row a workload, a column a method."""
    tables = []
    for kind, said in KINDS.items():
        here = [each for each in found if each["kind"] == kind]
        for what, caption, text in (
            ("query", "Reads a query", lambda each: f"{each['query']:.2f}"),
            ("update", "Reads and writes an update", _update),
            ("pages", "Pages", lambda each: f"{each['pages']:,}"),
        ):
            head = f"{caption}, {said} (in brackets the paper's)"
            tables.append(f"**{head}**\n\n{_grid(here, what, text)}")
    return tables


def _update(each: Result) -> str:
    return f"{each['update']:.2f} ({each['reads']:.2f} + {each['writes']:.2f})"


def _grid(found: Sequence[Result], what: str, text: Callable[[Result], str]) -> str:
    heads = list(dict.fromkeys(each["contender"] for each in found))
    rows = []
    for workload in dict.fromkeys(each["workload"] for each in found):
        cells = {}
        for each in found:
            if each["workload"] == workload:
                paper = stated(what, workload, each["contender"])
                also = "" if paper is None else f" ({paper:,g})"
                cells[each["contender"]] = text(each) + also
        rows.append([workload, *(cells.get(head, "") for head in heads)])
    return table(["workload", *heads], rows)


def sweep(found: Sequence[Result]) -> str:
    """Figure 8."""
    rows = []
    for usefulness in dict.fromkeys(each["usefulness"] for each in found):
        here = [each for each in found if each["usefulness"] == usefulness]
        cells = [[f"{each['query']:.3f}", f"{each['update']:.2f}", f"{each['pages']:,}"]
                 for each in here]  # fmt: skip
        rows.append([f"{usefulness:g}", *(cell for three in cells for cell in three)])
    kinds = list(dict.fromkeys(each["kind"] for each in found))
    heads = [f"{what}, {kind}" for kind in kinds for what in ("reads a query", "update", "pages")]
    return f"**Usefulness u of pph-s (Figure 8)**\n\n{table(['u', *heads], rows)}"


def claims(found: Sequence[Result]) -> str:
    """What should hold everywhere, how far it does, and where it does not."""
    rows = []
    for claim in dict.fromkeys((each["claim"], each["bound"]) for each in found):
        here = [each for each in found if (each["claim"], each["bound"]) == claim]
        measured = [each["measured"] for each in here]
        met = sum(each["met"] for each in here)
        missed = [f"{each['workload']}, {each['kind']}" for each in here if not each["met"]]
        if len(missed) > 4:
            missed = [*missed[:3], f"and {len(missed) - 3} more"]
        rows.append([*claim, _span(measured), f"{met} of {len(here)}",
                     f"**{'; '.join(missed)}**" if missed else ""])  # fmt: skip
    heads = ["claim", "should be", "measured", "holds", "misses"]
    return table(heads, rows)


def _span(values: Sequence[float]) -> str:
    least, most = f"{min(values):.2f}", f"{max(values):.2f}"
    return least if least == most else f"{least} to {most}"


# -- times -----------------------------------------------------------------------------------------


def speed(found: Sequence[Result]) -> list[str]:
    """A table for each history."""
    heads = ["", "one question, µs", "many, M/s", "CPU ns for one of many", "load, s",
             "its CPU, s", "bytes a lifespan", "snapshot, ms"]  # fmt: skip
    tables = []
    for history, said in HISTORIES.items():
        here = [each for each in found if each["history"] == history]
        rows = []
        for each in here:
            # Of a server there is only what its client takes.
            is_here = each["contender"] != "PostgreSQL"
            rows.append(
                [
                    each["contender"],
                    figure(each["one_us"]["median"]),
                    f"{each['many_m_s']:,.2f}",
                    f"{each['many_cpu_ns']['median']:,.0f}" if is_here else "",
                    figure(each["load_s"]["median"]),
                    figure(each["load_cpu_s"]["median"]) if is_here else "",
                    f"{each['bytes_a_lifespan']:,.1f}",
                    figure(each["snapshot_ms"]["median"]),
                ]
            )
        caption = f"{said[0].upper()}{said[1:]}: {here[0]['lifespans']:,} lifespans"
        tables.append(f"**{caption}**\n\n{table(heads, rows)}")
    return tables


def histories(found: Result) -> str:
    rows = [
        [
            name,
            *(f"{found[name][what]['median']:,.0f} ({found[name][what]['min']:,.0f} to "
              f"{found[name][what]['max']:,.0f})" for what in MEASURES),
        ]
        for name in ("without", "with")
    ]  # fmt: skip
    ratios = ["ratio", *(f"{found['ratios'][what]:.2f}" for what in MEASURES)]
    caption = (
        f"An append of {found['rows']:,} rows with {found['keys']:,} keys, without its history "
        f"and with it: {found['bytes']['history'] / 1e6:,.1f} MB of history beside "
        f"{found['bytes']['plain'] / 1e6:,.1f} MB, {found['lifespans']:,} lifespans"
    )
    return f"**{caption}**\n\n{table(['history', 'ms', 'CPU ms', 'MB written'], [*rows, ratios])}"
