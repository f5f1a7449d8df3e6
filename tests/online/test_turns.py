"""Threads take turns at a window, and at windows that read each other's rows."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.online import Window
from wavedex.online.queries import Count, Intersection, Join, JoinNew
from wavedex.online.queries.kept_joins import KeptJoin

SCHEMA = pa.schema([("k", pa.int64()), ("n", pa.int64())])
A_WHILE_S = 0.1
"""So long another thread would have had, were it not to wait."""
AT_MOST_S = 60


def window(**settings: Any) -> Window:
    return Window(SCHEMA, rows=40, basic=10, ring=["k"], **settings)


def rows(first: int, count: int) -> dict[str, Any]:
    numbers = np.arange(first, first + count)
    return {"k": numbers % 7, "n": numbers}


def is_kept_waiting(pushed: Window, ask: Callable[[], object]) -> bool:
    """Whether somebody who asks while a window is pushed to waits until that is done."""
    done, waited = threading.Event(), []
    asking = threading.Thread(target=lambda: (ask(), done.set()), daemon=True)

    def told(answer: object) -> None:
        if not asking.ident:
            asking.start()
            waited.append(not done.wait(A_WHILE_S))

    pushed.subscribe(Count(), to=told)
    pushed.push(rows(0, 10))
    assert done.wait(AT_MOST_S)
    return waited == [True]


ASKS: dict[str, Callable[[Window], object]] = {
    "push": lambda w: w.push(rows(0, 1)),
    "histogram": lambda w: w.histogram("k"),
    "rows": lambda w: w.rows(),
    "explain": lambda w: w.explain(Count()),
    "subscribe": lambda w: w.subscribe(Count()),
    "close": lambda w: w.close(),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_whoever_asks_waits_until_rows_are_taken(ask):
    w = window()
    assert is_kept_waiting(w, lambda: ask(w))


TIES: dict[str, Callable[[Window, Window], object]] = {
    "joined": lambda first, second: first.join(second, "k"),
    "compared": lambda first, second: second.difference(first, "k"),
    "subscribed": lambda first, second: first.subscribe(JoinNew(second, "k")),
    "kept": lambda first, second: KeptJoin(first, second, "k"),
}


@pytest.mark.parametrize("tie", TIES.values(), ids=TIES)
def test_windows_that_read_each_other_have_one_turn(tie):
    first, second = window(), window()
    tie(first, second)
    assert is_kept_waiting(first, lambda: second.push(rows(0, 1)))


def test_windows_that_share_an_index_have_one_turn():
    first = window()
    second = window(index={"k": first.index("k")})
    assert is_kept_waiting(second, lambda: first.push(rows(0, 1)))


def test_other_windows_are_not_waited_for():
    assert not is_kept_waiting(window(), lambda: window().push(rows(0, 1)))


def test_memory_and_disk_are_read_in_turn(tmp_path):
    index = wx.WaveIndex.create(tmp_path / "a.wx", SCHEMA, key="k", window=3, indexes=2)
    w = window()
    w.archive(index, "s", every=9)
    live = wx.live(w, index)
    assert is_kept_waiting(w, lambda: live.probe(3))


def test_threads_that_push_and_ask_in_all_directions_end_and_see_whole_answers():
    first = window()
    windows = [first, window(index={"k": first.index("k")}), window()]
    pairs = list(zip(windows, windows[1:] + windows[:1], strict=True))
    kept = [
        one.subscribe(query("k", other)) for query, (one, other) in zip(QUERIES, pairs, strict=True)
    ]
    stop, wrong = threading.Event(), []

    def push(w: Window) -> None:
        for turn in range(60):
            w.push(rows(turn, 13))

    def ask(one: Window, other: Window) -> None:
        while not stop.is_set():
            both = sum(one.union(other, "k")["count"].to_pylist())
            if both % 10 or len(one.rows()) % 10:
                wrong.append(both)
            one.join(other, "k")

    pushing = [threading.Thread(target=push, args=(w,), daemon=True) for w in windows]
    asking = [threading.Thread(target=ask, args=pair, daemon=True) for pair in pairs]
    for each in (*asking, *pushing):
        each.start()
    for each in pushing:
        each.join(AT_MOST_S)
    stop.set()
    for each in asking:
        each.join(AT_MOST_S)
    assert not any(each.is_alive() for each in (*pushing, *asking))
    assert (wrong, [each.failed for each in kept]) == ([], [0, 0, 0])
    for w in windows:
        counts = {each["k"]: each["count"] for each in w.histogram("k").to_pylist()}
        assert counts == Counter(w.rows()["k"].to_pylist())


QUERIES = [
    lambda name, other: Join(other, name),
    lambda name, other: JoinNew(other, name),
    lambda name, other: Intersection(name, other),
]
