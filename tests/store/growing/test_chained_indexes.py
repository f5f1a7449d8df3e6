"""Indexes whose sub-indexes are chained.

Every scheme, every type, streams, migrations, erasure, damage.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.package_walk import (
    GROWING,
    KEY_TYPES,
    check,
    check_changes,
    check_keys,
    check_stream,
    check_values,
    create,
    oracle,
    rows_of,
    table,
    walk,
)
from wavedex import errors
from wavedex.plan import SCHEMES

pytestmark = pytest.mark.usefixtures("small_row_groups")

CASES = [(scheme, update) for scheme in SCHEMES for update in GROWING]


def stores(index: wx.WaveIndex) -> set[str]:
    with index.snapshot() as snapshot:
        subs = snapshot.manifest.shown.values()
        return {part.store for sub in subs for parts in sub.shards for part in parts}


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "update"), CASES)
def test_every_scheme_runs_on_chains(tmp_path, scheme, update):
    index = create(tmp_path / "x", "chained", scheme, update, first_room=1)
    walk(index, every=3)
    assert stores(wx.open(tmp_path / "x")) == {"chained"}


def test_an_index_that_never_changes_its_files_is_packed_whatever_they_could_be(tmp_path):
    index = create(tmp_path / "x", "chained", "wata", "runs")
    walk(index, every=5)
    assert stores(wx.open(tmp_path / "x")) == {"packed"}


@pytest.mark.parametrize("kind", KEY_TYPES)
def test_keys_of_every_type_are_found(tmp_path, kind):
    check_keys(tmp_path / "x", *KEY_TYPES[kind], format="chained", update="in-place")


@pytest.mark.parametrize("update", GROWING)
def test_values_of_every_type_come_back_as_they_were(tmp_path, update):
    check_values(tmp_path / "x", format="chained", update=update)


@pytest.mark.slow
@pytest.mark.parametrize("update", GROWING)
def test_a_stream_fills_and_leaves_the_delta(tmp_path, update):
    check_stream(tmp_path / "x", format="chained", update=update)


@pytest.mark.parametrize("update", GROWING)
def test_an_amendment_is_among_the_changes(tmp_path, update):
    check_changes(tmp_path / "x", format="chained", update=update)


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


def test_rows_of_erased_keys_are_in_no_file(tmp_path):
    index, truth = create(tmp_path / "x", "chained", "del", "in-place"), oracle()
    for slot in range(1, 9):
        rows = [*rows_of(slot), {"k": 77, "t": slot * 10, "v": "secret"}]
        index.append(table(rows))
        truth.append(rows_of(slot), slot)
    index.erase([77])
    check(index, truth)
    index.verify()
    for path in (tmp_path / "x" / "data").iterdir():
        assert b"secret" not in path.read_bytes()


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
