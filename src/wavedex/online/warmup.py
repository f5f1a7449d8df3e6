"""Machine code for windows, compiled ahead: small windows of every kind are filled and asked.

A kernel is compiled for the types that it is called with, so it is called as windows call it:
with values of several types, with nulls and without, with rows one at a time and many at once. What
was compiled is kept (`wavedex.jit`), and later processes load it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex import compiling
from wavedex.rows.arrow import to_arrow

if TYPE_CHECKING:
    from wavedex.online.window import Window

_SCHEMA = pa.schema(
    [("a", pa.int64()), ("b", pa.float64()), ("c", pa.string()), ("t", pa.timestamp("us", "UTC"))]
)
_ROWS = 64
"""Rows of a window: enough for a table to grow and for lists to be walked."""
_TEXTS = 40
"""Texts that lie between two others: each halves the numbers that are left, less than 2**40."""
_TYPED = ("a", "b", "c")


def begin() -> None:
    """See that it is told of, once in a process, if the first window waits for a compiler."""
    compiling.begin("A window in memory", "Windows in memory")


def warm() -> compiling.Warmed:
    """Compile what is not compiled yet, for windows of every kind. Raises PackageMissing."""
    return compiling.warmed("A window in memory", "wavedex.online", _use_all)


def kernels() -> list[Any]:
    """The kernels that are loaded: once every kind of window was made, all of them."""
    return compiling.kernels_of("wavedex.online")


def _use_all() -> None:
    for window in _windows():
        _fill(window)
        _ask(window)
        _renumber(window)
    _share()


def _windows() -> Iterator[Window]:
    """An empty window of every kind of structure."""
    from wavedex.online.indexes.catalogue import KINDS as INDEXES
    from wavedex.online.rings.catalogue import KINDS as RINGS
    from wavedex.online.storages.catalogue import KINDS as STORAGES
    from wavedex.online.window import Window

    size: dict[str, Any] = {"rows": _ROWS, "basic": _ROWS // 4}
    grouped: dict[str, Any] = {"groups": {"a": [2, 5], "b": [2.0, 5.0]}}
    kept: list[dict[str, Any]] = [{"index": dict.fromkeys(("a", "b"), "group"), **grouped}]
    kept.append({"storage": dict.fromkeys(("a", "b"), "group"), **grouped})
    kept.append({**kept[0], **kept[1]})
    plain = [dict.fromkeys(_TYPED, index) for index in INDEXES if index != "group"]
    for index in plain:
        kept.append({"index": index})
        kept.append({"index": index, "purge": "zeros"})
        kept += [{"index": index, "ring": dict.fromkeys(_TYPED, ring)} for ring in RINGS]
    for storage in STORAGES:
        if storage != "group":
            stored = dict.fromkeys(_TYPED, storage)
            kept += [{"storage": stored, "index": index} for index in ({}, *plain)]
    for each in kept:
        for pointers in ("eager", "lazy"):
            yield Window(_SCHEMA, **size, **{"purge": 20, **each}, pointers=pointers)
    yield Window(_SCHEMA, **size)
    by_time = {"span": "1 hour", "basic": "10 minutes", "time": "t", "late": "drop"}
    yield Window(_SCHEMA, **by_time, ring=_TYPED)  # type: ignore[arg-type]


def _rows(first: int, count: int, *, nulls: bool) -> pa.RecordBatch:
    """Rows whose values come again, and go."""
    numbers = np.arange(first, first + count)
    a = numbers * 7919 % 23 + first // _ROWS * 5
    gone = to_arrow(numbers % 11 == 0)
    columns = [to_arrow(a), to_arrow(a / 2), pa.array([str(each) for each in a.tolist()])]
    if nulls:
        columns = [pa.compute.if_else(gone, pa.nulls(count, c.type), c) for c in columns]
    times = to_arrow(numbers * 60_000_000).view(pa.timestamp("us", "UTC"))
    return pa.RecordBatch.from_arrays([*columns, times], schema=_SCHEMA)


def _fill(window: Window) -> None:
    for turn in range(6):
        window.push(_rows(turn * _ROWS, _ROWS, nulls=bool(turn % 2)))
    for row in _rows(6 * _ROWS, 3, nulls=True).to_pylist():
        window.push(row)


def _ask(window: Window) -> None:
    """Ask all that a window of its kind can answer."""
    from wavedex.errors import WavedexError
    from wavedex.online import queries as q

    several: list[Callable[[str], q.Query]] = [
        q.Histogram, q.Distinct, lambda name: q.TopK(name, 3), q.Median, q.Quantiles, q.Sum,
        q.Average, q.Variance, q.Minimum, q.Maximum, q.Ordered,
        lambda name: q.Lookup(name, "3" if name == "c" else 3),
        lambda name: q.Between(name, *(("2", "6") if name == "c" else (2, 6))),
    ]  # fmt: skip
    subscriptions = []
    for name in _TYPED:
        for make in several:
            query = make(name)
            try:
                subscriptions.append(window.subscribe(query))
                window.ask(query)
            except WavedexError:
                continue  # Such a window does not answer that.
    _fill_on(window)
    for each in subscriptions:
        each.close()


def _fill_on(window: Window) -> None:
    for turn in range(7, 9):
        window.push(_rows(turn * _ROWS, _ROWS, nulls=False))


def _renumber(window: Window) -> None:
    """Bring texts that lie between others, until there is no number left between theirs."""
    if "c" in window.contents.attributes:
        rows = _rows(0, 1, nulls=False).to_pylist()[0]
        window.push({**rows, "c": "2"})
        for length in range(_TEXTS):
            window.push({**rows, "c": "1" + "z" * length})


def _share() -> None:
    """Two windows with one index, joined."""
    from wavedex.online.window import Window

    size: dict[str, Any] = {"rows": _ROWS, "basic": _ROWS // 4}
    first = Window(_SCHEMA, **size, ring=_TYPED)
    shared = {name: first.index(name) for name in _TYPED}
    second = Window(_SCHEMA, **size, index=shared, ring=_TYPED)
    for window in (first, second):
        _fill(window)
    for name in _TYPED:
        first.intersect(second, name)
        first.union(second, name)
        first.difference(second, name)
        first.join(second, name)
