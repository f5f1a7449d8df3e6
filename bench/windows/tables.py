"""The measurements as tables: a row a setting, a column for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bench.command import table
from bench.lives.targets import shown
from bench.race.standings import figure
from bench.windows.histograms import RIVALS
from bench.windows.indexes import INDEXES, STORAGES, settings_of
from bench.windows.paper import GROUPS
from bench.windows.rings import ORDERED, RINGS

Result = dict[str, Any]
HEADS = ["values", "basic windows", "law"]
NS_A_ROW = 1e4
"""Of the seconds of 100,000 rows."""
TOPICS = {
    "upkeep": "Upkeep and intersections, ratios",
    "histograms": "A histogram after each basic window, ratios",
    "rings": "Rings, ratios",
    "trends": "As many rows in 500 basic windows beside 50, ratios",
}


def grid(
    caption: str, found: Sequence[Result], heads: Iterable[str], cell: Callable[[Result, str], str]
) -> str:
    """A table with a row for each setting. `cell` is given the results of one, and a head."""
    heads = list(heads)
    rows = []
    for setting in settings_of(found):
        here = [each for each in found if setting.named.items() <= each.items()]
        front = [f"{setting.values:,}", f"{setting.basics}", setting.law]
        rows.append([*front, *(cell(here, head) for head in heads)])
    return f"**{caption}**\n\n{table([*HEADS, *heads], rows)}"


def _one(found: Sequence[Result], **wanted: Any) -> Result | None:
    return next((each for each in found if wanted.items() <= each.items()), None)


def _number(found: Result | None, name: str, factor: float, digits: int = 0) -> str:
    if found is None or found[name] is None:
        return ""
    return f"{found[name] * factor:,.{digits}f}"


def upkeep(found: Sequence[Result]) -> list[str]:
    """Figures 7 and 8."""
    tables = []
    groups = [f"group {count}" for count in GROUPS]
    for storage in STORAGES:

        def cell(here: Sequence[Result], head: str, storage: str = storage) -> str:
            one = _one(here, storage=storage, index=head) or _one(here, storage=head)
            return _number(one, "seconds", NS_A_ROW, 1)

        also = groups if storage == "list" else []
        caption = f"Upkeep over {storage.upper()}{' and GROUP' * bool(also)}, ns a row"
        tables.append(grid(caption, found, [*INDEXES, *also], cell))
    return [*tables, steps(found)]


def steps(found: Sequence[Result]) -> str:
    """The nodes visited for a row: of the storages, and of the indexes over LIST."""
    stored = {"AGGR": "aggr", "HASH": "hash", **{f"GROUP {n}": f"group {n}" for n in GROUPS}}
    heads = [*(f"store {name}" for name in stored), *(f"search {name}" for name in INDEXES[:-1])]

    def cell(here: Sequence[Result], head: str) -> str:
        what, name = head.split(" ", 1)
        if what == "store":
            one = _one(here, storage=stored[name])
        else:
            one = _one(here, storage="list", index=name)
        assert one is not None
        return f"{one['steps'].get(what, 0):,.1f}"

    return grid("Steps a row", found, heads, cell)


def histograms(found: Sequence[Result]) -> list[str]:
    """Figure 9."""
    tables = []
    for storage in STORAGES:

        def cell(here: Sequence[Result], head: str, storage: str = storage) -> str:
            return _number(_one(here, storage=storage, index=head), "histogram", 1e6)

        heads = [index for index in INDEXES if index != "unsorted-hash"]
        caption = f"A histogram after each basic window over {storage.upper()}, µs with upkeep"
        tables.append(grid(caption, found, heads, cell))
    return tables


def intersections(found: Sequence[Result]) -> str:
    """Figure 10."""
    heads = ["tree", "hash", *(f"group {count}" for count in GROUPS)]
    caption = "What two windows have in common after a basic window of both, µs with upkeep"
    return grid(
        caption, found, heads, lambda here, head: _number(_one(here, kind=head), "seconds", 1e6)
    )


def rings(report: Result) -> list[str]:
    """Figure 11."""

    def timed(name: str, digits: int) -> Callable[[Sequence[Result], str], str]:
        return lambda here, head: _number(_one(here, ring=head), name, NS_A_ROW, digits)

    def ordered(here: Sequence[Result], head: str) -> str:
        one = _one(here, ring=head)
        return f"{_number(one, 'upkeep', 1e6)} / {_number(one, 'seconds', 1e6)}"

    caption = "A basic window, then all rows in order, µs: upkeep / both"
    return [
        grid("Rows that come, over T, ns a row", report["rings"], RINGS, timed("inserting", 1)),
        grid("Rows that go, ns a row", report["rings"], RINGS, timed("deleting", 2)),
        grid(caption, report["ordered"], ORDERED, ordered),
    ]


def rivals(found: Sequence[Result]) -> str:
    """Histograms beside others."""
    caption = "A histogram beside those of others, µs; the first two with upkeep"
    return grid(caption, found, ["counts", *RIVALS], lambda here, head: _number(here[0], head, 1e6))


def joins(found: Result) -> str:
    rows = []
    for name, said in (("new", "new results for 1,000 rows"), ("kept", "result that is kept")):
        cells = [said, f"{found[name] * 1e3:,.2f}"]
        for other in ("newest", "all"):
            is_alike = name == "new" or other == "all"
            ratio = found[other] / found[name]
            cells.append(f"{found[other] * 1e3:,.2f} ({ratio:.1f})" if is_alike else "")
        rows.append(cells)
    heads = ["", "ours", "Polars, newest rows", "Polars, all rows"]
    setting = settings_of([found])[0]
    caption = f"Joins, ms, and in brackets the ratio to ours: {setting}"
    return f"**{caption}**\n\n{table(heads, rows)}"


def claims(targets: Sequence[Result]) -> list[str]:
    """What holds in each setting, or does not: that is in bold."""
    tables = []
    for topic, caption in TOPICS.items():
        found = [each for each in targets if each.get("topic") == topic]
        if not found:
            continue
        heads = dict.fromkeys(f"{each['claim']}: {each['bound']}" for each in found)
        met = sum(each["met"] for each in found)
        said = f"{caption}: {met} of {len(found)} as they should be"
        tables.append(grid(said, found, heads, _ratio))
    return tables


def _ratio(here: Sequence[Result], head: str) -> str:
    one = _one(here, claim=head.partition(": ")[0])
    if one is None:
        return ""
    said = figure(one["measured"])
    return said if one["met"] else f"**{said}**"


def markdown(report: Result) -> str:
    rolling = [
        [each["what"], f"{each['rate'] / 1e6:,.1f}", f"{each['polars'] / 1e6:,.1f}"]
        for each in report["rolling"]
    ]
    return "\n\n".join(
        [
            *upkeep(report["indexes"]),
            *histograms(report["indexes"]),
            intersections(report["intersections"]),
            *rings(report),
            rivals(report["histograms"]),
            joins(report["joins"]),
            table(["sliding", "M rows/s", "Polars, M rows/s"], rolling),
            *claims(report["targets"]),
            shown([each for each in report["targets"] if "topic" not in each]),
        ]
    )
