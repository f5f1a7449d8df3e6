"""Sets over time whose folder somebody else made, with good checksums: they may say what they like.

They may not end the process, keep it for ever, or raise what has no name of ours.
"""

import random
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from kit.forged_sets import forge_base
from kit.hostile_sets import HANGS_S, Kind, kinds, sound, use
from wavedex.errors import Damaged
from wavedex.jit import checked_kernel
from wavedex.temporal import TemporalSet
from wavedex.temporal.alive_kernels import fill
from wavedex.temporal.changes import NOW
from wavedex.temporal.hashing import extendible_kernels, linear_kernels
from wavedex.temporal.io import Io
from wavedex.temporal.layout import HEADER, layout_of
from wavedex.temporal.methods import (
    alh_kernels,
    list_kernels,
    mvbt_kernels,
    rstar_kernels,
    snapshot_kernels,
)
from wavedex.temporal.methods.list_store import ListStore

TESTS = Path(__file__).parents[1]
ROUNDS = 2
"""How often each kind of sets is forged."""


def tried(first, count):
    """What a process of its own said of some trials, and how many came to an end."""
    done = subprocess.run(
        [sys.executable, "-m", "kit.hostile_sets", str(first), str(count)],
        cwd=TESTS, capture_output=True, text=True, timeout=10 * HANGS_S, check=False,
    )  # fmt: skip
    assert "wrong" not in done.stdout, done.stdout[-20_000:]
    assert done.returncode == 0, f"{done.stdout[-1_000:]}\n{done.stderr}"
    ended = [line.split() for line in done.stdout.splitlines() if line.startswith("end")]
    assert len(ended) == count
    return sum(line[2] == "1" for line in ended)


@pytest.mark.parametrize("part", range(2))
def test_sets_that_hold_anything_are_refused_or_answer(part):
    count = ROUNDS * len(kinds())
    assert 0.2 * count < tried(part * count, count) < 0.95 * count


@pytest.mark.nightly
def test_many_sets_that_hold_anything_are_refused_or_answer():
    count = 30 * len(kinds())
    assert 0.2 * count < tried(1_000_000, count) < 0.95 * count


def halves(arrays):
    return arrays["pages"].view(np.int32)


def of_each_other(arrays):
    """Have a page and a child be parents of each other."""
    pages = halves(arrays)
    child = int(np.flatnonzero(pages[:, snapshot_kernels.PARENT] >= 0)[0])
    parent = int(pages[child, snapshot_kernels.PARENT])
    pages[parent, snapshot_kernels.END] = pages[child, snapshot_kernels.END]
    for one, other in ((parent, child), (child, parent)):
        pages[one, [snapshot_kernels.PARENT, snapshot_kernels.CHILD]] = other
        pages[one, snapshot_kernels.SIBLING] = -1


def left_of_itself(arrays):
    pages = halves(arrays)
    pages[:, snapshot_kernels.LEFT] = np.arange(len(pages))


def round_in_a_bucket(arrays):
    """Have the last of a list lead to the first."""
    after, before, heads = (arrays[f"hash_{name}"] for name in ("after", "before", "heads"))
    head = last = int(heads.max())
    while after[last] >= 0:
        last = after[last]
    after[last], before[head] = head, last


def put(name, place, value):
    """Put a value into an array."""

    def change(arrays):
        arrays[name][place] = value

    return change


def header(place, value):
    """Put a value into the headers of all pages."""
    return lambda arrays: halves(arrays).__setitem__((slice(None), place), value)


def two_heads(arrays):
    arrays["buckets"][1, alh_kernels.HEAD] = arrays["buckets"][0, alh_kernels.HEAD]


def to_root(arrays):
    """Have all pages lead to the root."""
    pages, (root, height, *_) = halves(arrays), arrays["tree"].tolist()
    assert height > 1
    pages[root, 2 * HEADER :] = root


LOOPS = [
    ("pph-s", "linear", of_each_other),
    ("pph-s", "linear", left_of_itself),
    ("pph-s", "linear", round_in_a_bucket),
    ("pph-s", "extendible", round_in_a_bucket),
    ("pph-s", "linear", put("trees", (slice(None), 1), 10_000)),
    ("pph-s", "linear", put("places", (0, 1), -40)),
    ("pph-s", "linear", put("hash_shape", linear_kernels.ROUND, 40)),
    ("pph-s", "linear", put("hash_shape", linear_kernels.FIRST, 3)),
    ("pph-s", "linear", put("hash_history", (0, 1), 9)),
    ("pph-s", "extendible", put("hash_shape", extendible_kernels.LONGEST, 2**40)),
    ("pph-s", "extendible", put("hash_directory", 0, 77)),
    ("pph-s", "extendible", put("hash_lines", (0, extendible_kernels.ROOM), 2**30)),
    ("snapshot", None, put("hash_alive", 0, 3)),
    ("snapshot", None, put("buckets", (0, snapshot_kernels.TREE_ROOM), 2**31 - 1)),
    ("pph-l", "linear", header(list_kernels.LINKS, 2**20)),
    ("pph-l", "linear", put("buckets", (0, list_kernels.LENGTH), 2**31 - 1)),
    ("pph-l", "linear", put("buckets", (0, list_kernels.FIRST), -1)),
    ("pph-l", "linear", header(list_kernels.BUCKET, 1)),
    ("alh", None, header(alh_kernels.NEXT, 0)),
    ("alh", None, two_heads),
    ("alh", None, put("shape", alh_kernels.USED, 2**40)),
    ("r-interval", None, put("tree", rstar_kernels.ROOT, 2**40)),
    ("r-interval", None, put("tree", rstar_kernels.HEIGHT, 61)),
    ("r-interval", None, put("tree", rstar_kernels.FREE, 0)),
    ("r-interval", None, to_root),
    ("r-point", None, header(rstar_kernels.COUNT, 1)),
    ("r-point", None, put("ticks", slice(None), 3)),
    ("mvbt", None, header(mvbt_kernels.LEVEL, 40)),
    ("mvbt", None, put("roots", (0, 1), -1)),
    ("mvbt", None, header(mvbt_kernels.START, NOW)),
    ("mvbt", None, header(mvbt_kernels.COUNT, 7)),
    ("mvbt", None, put("ids_table", slice(None), 0)),
    ("mvbt", None, put("ids_offsets", 1, -5)),
    ("mvbt", None, put("ids_data", 0, 0xFF)),
    ("mvbt", None, put("ticks", 3, -5)),
    ("mvbt", None, put("alive_free", slice(None), 0)),
    ("mvbt", None, put("alive_ids", slice(None), 0)),
]


@pytest.mark.parametrize(
    ("method", "hashing", "change"), LOOPS, ids=[f"{i}-{each[0]}" for i, each in enumerate(LOOPS)]
)
def test_what_leads_nowhere_or_in_circles_is_named(tmp_path, method, hashing, change):
    good = sound(Kind(method, hashing, "texts", "rows"), tmp_path)
    definition = TemporalSet.open(good.path)._definition
    columns = TemporalSet.open(good.path)._state.columns

    def opened():
        state = definition.state(columns)
        state.restore(arrays, 300)
        state.check_restored()

    arrays = {
        name: values.copy() if isinstance(values, np.ndarray) else values
        for name, values in good.arrays.items()
    }
    opened()
    change(arrays)
    with pytest.raises(Damaged, match="The set is damaged"):
        opened()


def round_in_a_list(arrays):
    """Have each page of a list lead to itself, at every version."""
    pages = halves(arrays)
    linked = np.flatnonzero(pages[:, list_kernels.LINKS])
    store = ListStore(layout_of(None, 6, True), 0.8, 0.25, False, Io())
    at, most = store._sizes[[list_kernels.LINKS_AT, list_kernels.LINKS_MOST]].tolist()
    assert len(linked) > 3
    pages[linked, at + 1 : at + 2 * most : 2] = linked[:, None]


def no_order(arrays):
    """Have all that directories lead to begin at the same id."""
    directories = halves(arrays)[:, mvbt_kernels.LEVEL] > 0
    arrays["pages"][directories, HEADER : HEADER + 4] = -5


def nobody(arrays):
    """Have every record be of an id that nobody has."""
    arrays["pages"][:, HEADER : HEADER + 4] = -5


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("pph-l", round_in_a_list),
        ("pph-l", header(list_kernels.ALIVE, 0)),
        ("pph-s", header(snapshot_kernels.ALIVE, 0)),
        ("pph-s", put("places", slice(None), 1)),
        ("mvbt", no_order),
        ("mvbt", header(mvbt_kernels.ALIVE, 0)),
        ("mvbt", header(mvbt_kernels.END, 3)),
        ("alh", header(alh_kernels.COUNT, 0)),
        ("r-point", nobody),
    ],
    ids=["circles", "l alive", "s alive", "places", "order", "b alive", "ends", "counts", "nobody"],
)
def test_what_no_check_can_know_comes_to_an_end(tmp_path, method, change):
    hashing = "linear" if method.startswith("pph") else None
    kind, seen = Kind(method, hashing, "numbers", "rows"), []
    good = sound(kind, tmp_path)
    change(good.arrays)
    forge_base(good.path, good.arrays)
    asked = Thread(
        target=lambda: seen.append(use(kind, good.path, random.Random(3), good.there)), daemon=True
    )
    asked.start()
    asked.join(HANGS_S)
    assert seen, "it does not come to an end"
    assert seen == [(False, "")]


@checked_kernel
def _at(values, place):
    return values[place]


def test_checked_loops_do_not_leave_arrays():
    assert _at(np.arange(3), 2) == 2
    for place in (3, -4, 2**40):
        with pytest.raises(IndexError):
            _at(np.arange(3), place)


def test_ids_that_are_alive_twice_do_not_fill_a_table():
    table = np.full(16, -1, np.int32)
    assert fill(table, np.array([5, 6, 5]), np.array([True, True, False]))
    table[:] = -1
    assert not fill(table, np.array([5, 6, 5]), np.array([True, True, True]))
