"""Indexes whose sub-indexes are chained.

Every scheme, every type, streams, migrations, erasure, damage.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.matrix import RUNS_ALL
from wavedex import errors
from wavedex.testing.package_rows import rows_of, table
from wavedex.testing.package_trials import (
    check,
    create,
    fill,
    oracle,
    walk,
)
from wavedex.testing.packages import GROWING, contract

pytestmark = pytest.mark.usefixtures("small_row_groups")

CLAUSES = [
    pytest.param(clause, id=str(clause), marks=pytest.mark.slow)
    for clause in contract("chained", thorough=RUNS_ALL, first_room=1)[:: 1 if RUNS_ALL else 2]
]


def stores(index: wx.WaveIndex) -> set[str]:
    with index.snapshot() as snapshot:
        subs = snapshot.manifest.shown.values()
        return {part.store for sub in subs for parts in sub.shards for part in parts}


@pytest.mark.parametrize("clause", CLAUSES)
def test_the_contract_of_a_package_holds(tmp_path, clause):
    clause(tmp_path)


@pytest.mark.parametrize("update", GROWING)
def test_parts_that_grow_are_chained(tmp_path, update):
    index = create(tmp_path / "x", "chained", "del", update)
    fill(index, range(1, 9))
    assert stores(index) == {"chained"}


def test_an_index_that_never_changes_its_files_is_packed_whatever_they_could_be(tmp_path):
    index = create(tmp_path / "x", "chained", "wata", "runs")
    walk(index, every=5)
    assert stores(wx.open(tmp_path / "x")) == {"packed"}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["rebuild", "drain"])
@pytest.mark.parametrize(("before", "after"), [("arrow", "chained"), ("chained", "arrow")])
def test_an_index_moves_into_chains_and_out_of_them(tmp_path, before, after, strategy):
    index, truth = create(tmp_path / "x", before, "del", "in-place"), oracle()
    for slot in range(1, 17):
        if slot == 8:
            index.migrate(format=after, strategy=strategy)
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
        index.verify()
        if slot > 1:
            check(index, truth)
    assert stores(index) == {"contiguous" if after == "arrow" else "chained"}


def test_damage_is_found(tmp_path):
    index = create(tmp_path / "x", "chained", "wata", "in-place", shards=1)
    for slot in (1, 2, 3):
        index.append(table(rows_of(slot)))
    victim = next(path for path in map(Path, index.files()) if path.suffix == ".rows")
    content = victim.read_bytes()
    victim.write_bytes(bytes(byte ^ 1 for byte in content))
    with pytest.raises(errors.Damaged, match=victim.name):
        wx.open(tmp_path / "x").verify()


def test_nested_columns_are_refused_where_files_change(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("l", pa.list_(pa.int64()))])
    with pytest.raises(errors.BadDefinition, match="cannot be updated in place"):
        wx.WaveIndex.create(
            tmp_path / "x", schema, key="k", window=3, format="chained", update="in-place"
        )
    wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=3, format="chained", update="runs")
