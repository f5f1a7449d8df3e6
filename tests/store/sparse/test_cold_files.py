"""Windows of which nothing is in memory.

A probe reads its own pages and no others, a scan all of them.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from kit.page_cache import files_of, forget, resident_pages
from wavedex.errors import DiskFailed
from wavedex.files.local import FileRef, Files
from wavedex.store.sorted import parquet
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("e", pa.int64()), ("s", pa.string())])
SLOTS, ROWS, KEYS = 6, 15_000, 3_000
SUBS, END = 3, SLOTS * 100
FORMATS = {
    "packed": {"update": "packed-shadow"},
    "parquet": {"update": "packed-shadow", "format": "parquet"},
    "contiguous": {"update": "in-place"},
    "chained": {"update": "in-place", "format": "chained"},
}
FIRST_PAGES, FURTHER_PAGES = 60, 30
"""What a probe may read of a sub-index.

First what says where its columns lie, then a page or two of each. Parquet has row groups.
"""


@pytest.fixture(autouse=True)
def row_groups_of_usual_size(monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 3_072)


@pytest.fixture
def disk() -> Iterator[Path]:
    """A folder that is not in memory, where there is such a one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def slot_table(slot: int) -> pa.Table:
    random = np.random.default_rng(slot)
    keys = random.integers(0, KEYS, ROWS)
    times = slot * 100 + random.integers(0, 100, ROWS)
    columns = [keys, times, END + random.integers(1, END, ROWS)]
    return pa.table([*columns, pa.array([f"text {key}" for key in keys.tolist()])], schema=SCHEMA)


@cache
def window() -> pa.Table:
    return pa.concat_tables(map(slot_table, range(SLOTS)))


def make_wave(path: Path, **options) -> None:
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=100, window=SLOTS, indexes=SUBS, shards=1, **options
    )
    index.append(window())


def make_lives(path: Path, method: str) -> None:
    life = wx.LifetimeIndex.create(
        path, SCHEMA, key="k", inserted="t", expires="e", max_lifetime=2 * END, refresh=END,
        grid=(2, 2), shards=1, method=method,
    )  # fmt: skip
    life.update(END, window())


def right(key: int) -> list[dict]:
    rows = window()
    return rows.filter(pa.array(np.asarray(rows["k"]) == key)).to_pylist()


def pages_of(folder: Path, key: int, index: wx.WaveIndex) -> int:
    """How many pages a probe brings into memory, whose answer is right."""
    before = resident_pages(folder)
    assert same_rows(index.probe(key).to_pylist(), right(key))
    return resident_pages(folder) - before


def check_few_pages(folder: Path) -> None:
    """Probes of an index with nothing in memory bring in little of it, with the right rows."""
    gc.collect()
    forget(folder)
    index = wx.open(folder / "x")
    assert pages_of(folder, 17, index) <= FIRST_PAGES * SUBS
    for key in (2_711, 230):
        assert pages_of(folder, key, index) <= FURTHER_PAGES * SUBS
    several, before = [0, 20, 40], resident_pages(folder)
    found = index.probe_many(several).to_pylist()
    assert same_rows(found, [row for key in several for row in right(key)])
    assert resident_pages(folder) - before <= len(several) * FURTHER_PAGES * SUBS


@pytest.mark.parametrize("kind", FORMATS)
def test_a_probe_brings_a_few_pages_of_each_sub_index_into_memory(disk, kind):
    make_wave(disk / "x", **FORMATS[kind])
    check_few_pages(disk)


@pytest.mark.parametrize("hides", [False, True])
def test_a_probe_reads_no_more_of_a_directory_that_has_many_keys(disk, hides):
    keys = np.arange(200_000)
    rows = pa.table(
        [keys, keys % END, np.full(len(keys), 2 * END), keys.astype(str)], schema=SCHEMA
    )
    life = wx.LifetimeIndex.create(
        disk / "x", SCHEMA, key="k", inserted="t", expires="e", max_lifetime=2 * END, refresh=END,
        grid=(2, 2), shards=1,
    )  # fmt: skip
    life.update(END, rows)
    if hides:
        life.retract(END, rows.slice(100, 1))
    del life
    gc.collect()
    forget(disk)
    index, before = wx.open(disk / "x"), resident_pages(disk)
    assert index.probe(17).num_rows == 1
    assert index.probe(100).num_rows == 1 - hides
    assert resident_pages(disk) - before <= FIRST_PAGES + FURTHER_PAGES


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_a_probe_of_rows_with_lifetimes_brings_in_as_little(disk, method):
    make_lives(disk / "x", method)
    check_few_pages(disk)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_scan_and_large_answers_of_a_cold_window_have_every_row(disk, kind):
    make_wave(disk / "x", **FORMATS[kind])
    gc.collect()
    forget(disk)
    index, rows = wx.open(disk / "x"), window()
    by = [(name, "ascending") for name in SCHEMA.names]
    assert index.scan().read_all().sort_by(by).equals(rows.sort_by(by))
    every = index.probe_many(range(KEYS)).sort_by(by)
    assert every.equals(rows.sort_by(by))
    assert index.probe_range(0, KEYS).num_rows == rows.num_rows
    assert index.probe_range(17, 17).sort_by(by).to_pylist() == sorted(
        right(17), key=lambda row: [*row.values()]
    )


def test_an_answer_of_many_rows_is_as_right_as_one_of_few(disk):
    rows = pa.table({"k": [1] * 10_000 + [2], "t": [*range(10_000), 5], "s": ["a"] * 10_001})
    index = wx.WaveIndex.create(
        disk / "x", rows.schema, key="k", time="t", slot=20_000, window=2, update="packed-shadow"
    )
    index.append(rows)
    index = wx.open(disk / "x")
    assert index.probe(1)["t"].to_pylist() == [*range(10_000)]
    assert index.probe(1, since=0).num_rows == 10_000
    assert index.probe(2)["t"].to_pylist() == [5]


def test_threads_that_probe_and_scan_a_cold_window_do_not_disturb_each_other(disk):
    make_wave(disk / "x", **FORMATS["packed"])
    gc.collect()
    forget(disk)
    index = wx.open(disk / "x")
    with ThreadPoolExecutor(8) as pool:
        counts = pool.map(lambda _: index.scan().read_all().num_rows, range(2))
        found = [*pool.map(lambda key: index.probe(key).num_rows, range(64))]
    assert [*counts] == [SLOTS * ROWS] * 2
    assert found == [len(right(key)) for key in range(64)]


def test_a_file_that_cannot_be_mapped_is_named(tmp_path):
    files = Files(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(DiskFailed, match="Cannot read"):
        files.open(FileRef("folder", 1))
    with pytest.raises(FileNotFoundError):
        files.open(FileRef("gone", 0))
    ref = files.create("a", lambda sink: sink.write(b"content"))
    opened = files.open(ref)
    files.remove("a")
    assert opened.sparse.to_pybytes() == opened.whole.to_pybytes() == b"content"
    opened.need([(0, 7), (3, 3), (5, 9), (4096, 10_000)])  # Advice may be wrong.


@pytest.mark.parametrize("kind", FORMATS)
def test_only_of_a_window_that_is_not_in_memory_probes_say_what_they_will_look_at(disk, kind):
    make_wave(disk / "x", **FORMATS[kind])
    for path in files_of(disk):
        path.read_bytes()
    assert wx.open(disk / "x").snapshot().cold_probes == 0
    gc.collect()
    forget(disk)
    assert wx.open(disk / "x").snapshot().cold_probes > 0
