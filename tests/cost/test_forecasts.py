"""What commits were expected to write, beside what they wrote.

Over a cycle, for all schemes, techniques, formats and methods.
"""

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.files.local import Files
from wavedex.plan import METHODS, SCHEMES

pytestmark = pytest.mark.usefixtures("small_row_groups")

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.int64())])
LIVES = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.int64())])
WINDOW, INDEXES, ROWS = 6, 3, 600
FEW, MANY = 20, 1_000
PLAIN = [name for name, kind in SCHEMES.items() if not kind.weighs]
TECHNIQUES = ["runs", "packed-shadow", "in-place", "simple-shadow"]
FORMATS = [
    ("wata", "runs", "parquet"), ("rata", "packed-shadow", "parquet"),
    ("del", "in-place", "chained"), ("wata", "in-place", "chained"),
    ("wata", "runs", "sqlite"), ("rata", "in-place", "sqlite"),
]  # fmt: skip
WAVES = [
    *(
        (name, update, "arrow", keys)
        for name in PLAIN
        for update in TECHNIQUES
        for keys in (FEW, MANY)
    ),
    *((*each, MANY) for each in FORMATS),
]
GRIDS = {frozenset({"births"}): (3, 1), frozenset({"deaths"}): (1, 3)}


def is_foretold(index, last):
    """Whether the commits of the last window wrote what they were expected to, within a tenth."""
    work = [done for done in index.describe()["work"] if last - WINDOW < done["newest"] <= last]
    predicted = sum(done["predicted_bytes"] for done in work)
    written = sum(done["written_bytes"] for done in work)
    assert 0.9 <= predicted / written <= 1.1, f"{predicted} foretold, {written} written"


class CountingDisk(Files):
    """A disk that counts the bytes that are written to data files."""

    written = 0

    def create(self, name, fill):
        ref = super().create(name, fill)
        self._count(name, ref.bytes)
        return ref

    def copy(self, source, target, size):
        super().copy(source, target, size)
        self._count(target, size)

    def scatter(self, name, positions, rows):
        super().scatter(name, positions, rows)
        self._count(name, rows.nbytes)

    def patch(self, name, offset, data):
        super().patch(name, offset, data)
        self._count(name, memoryview(data).nbytes)

    def _count(self, name, count):
        if name.startswith("data"):
            type(self).written += count


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_what_is_told_to_be_written_was_handed_to_the_disk(tmp_path, update, monkeypatch):
    monkeypatch.setattr(CountingDisk, "written", 0)
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=4, indexes=2, shards=2,
        scheme="del", update=update, surroundings=wx.Surroundings(files=CountingDisk),
    )  # fmt: skip
    random = np.random.default_rng(3)
    for slot in range(12):
        columns = [random.integers(0, FEW, ROWS), [slot] * ROWS, random.integers(0, 1 << 40, ROWS)]
        index.append(pa.table(columns, SCHEMA))
    assert sum(done["written_bytes"] for done in index.describe()["work"]) == CountingDisk.written


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "update", "format_", "keys"), WAVES)
def test_appends_and_preparations_write_what_was_foretold(tmp_path, scheme, update, format_, keys):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=WINDOW, indexes=INDEXES, shards=1,
        scheme=scheme, update=update, format=format_,
    )  # fmt: skip
    random = np.random.default_rng(3)
    for slot in range(3 * WINDOW):
        columns = [random.integers(0, keys, ROWS), [slot] * ROWS, random.integers(0, 1 << 40, ROWS)]
        index.append(pa.table(columns, SCHEMA))
    is_foretold(index, slot)


@pytest.mark.slow
@pytest.mark.parametrize("keys", [FEW, MANY])
@pytest.mark.parametrize("method", METHODS)
def test_refreshes_write_what_was_foretold(tmp_path, method, keys):
    traits = METHODS[method]
    ends = {"counts": {"e": 2 * ROWS}} if traits.counts else {"expires": "e"}
    index = wx.LifetimeIndex.create(
        tmp_path / "x", LIVES, key="k", inserted="b", max_lifetime=WINDOW * 10, refresh=10,
        shards=1, method=method, grid=GRIDS.get(traits.sides, (2, 3)), **ends,
    )  # fmt: skip
    random = np.random.default_rng(3)
    for slot in range(1, 3 * WINDOW + 1):
        born = np.sort(slot * 10 - random.integers(0, 10, ROWS))
        if traits.counts:
            ends = (slot - 1) * ROWS + np.arange(ROWS) - random.integers(0, ROWS, ROWS)
            arrived = {"arrived": {"e": slot * ROWS}}
        else:
            ends, arrived = born + random.integers(1, WINDOW * 10, ROWS), {}
        columns = [random.integers(0, keys, ROWS), born, ends, random.integers(0, 1 << 40, ROWS)]
        index.update(slot * 10, pa.table(columns, LIVES), **arrived)
    is_foretold(index, slot)
