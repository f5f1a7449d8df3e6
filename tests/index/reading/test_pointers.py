"""Entries with a few columns and a pointer.

The whole record is fetched, or its loss is told by name.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import wavedex as wx
from kit.matrix import examples
from kit.ways import WAYS

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.int64()), ("big", pa.string())])


def records(slot: int, rows: int = 20) -> pa.Table:
    numbers = list(range(rows))
    return pa.table(
        {
            "k": [f"key {n % 5}" for n in numbers],
            "t": [slot * 10 + n % 10 for n in numbers],
            "v": numbers,
            "big": [f"{slot} {n} " * 9 for n in numbers],
        },
        SCHEMA,
    )


def write(path, table, kind="parquet", piece=7):
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=piece)
    else:
        feather.write_feather(table, path, compression="uncompressed", chunksize=piece)
    return path


def make(folder, **options):
    return wx.WaveIndex.create(
        folder / "x", SCHEMA, key="k", time="t", slot=10, window=6, include=["v"],
        pointer=("file", "row"), **options,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_whole_records_come_back_in_the_order_of_the_entries(tmp_path, way):
    index = make(tmp_path, **WAYS[way])
    for slot in range(1, 9):
        path = write(tmp_path / f"day {slot}", records(slot), ["parquet", "arrow"][slot % 2])
        index.append(index.read_records(path))
    assert index.schema.names == ["k", "t", "v", "file", "row"]
    every = {(row["t"], row["v"]): row for slot in range(1, 9) for row in records(slot).to_pylist()}
    for found, ask in (
        (index.probe("key 3"), lambda **more: index.probe("key 3", **more)),
        (
            index.probe_many(["key 1", "key 2"]),
            lambda **more: index.probe_many(["key 1", "key 2"], **more),
        ),
        (
            index.probe_range("key 1", "key 4"),
            lambda **more: index.probe_range("key 1", "key 4", **more),
        ),
    ):
        followed = ask(follow=True)
        assert followed.schema == SCHEMA
        wanted = [every[row["t"], row["v"]] for row in found.to_pylist()]
        assert followed.to_pylist() == wanted
        assert ask(follow=True, columns=["big"]).to_pylist() == [{"big": r["big"]} for r in wanted]
    assert index.probe("nobody", follow=True).schema == SCHEMA
    assert index.snapshot().probe("key 3", since=5, follow=True).num_rows == 16


@examples(25)
@given(
    rows=st.integers(1, 40), piece=st.integers(1, 9), kind=st.sampled_from(["parquet", "arrow"]),
    places=st.lists(st.integers(0, 39), min_size=1, max_size=12),
)  # fmt: skip
def test_any_rows_in_any_order_are_found(tmp_path_factory, rows, piece, kind, places):
    folder = tmp_path_factory.mktemp("records")
    path = write(folder / "r", records(1, rows), kind, piece)
    index = make(folder)
    wanted = np.array([place % rows for place in places])
    index.append(index.read_records(path).take(pa.array(wanted)))
    found = index.probe_range("key 0", "key 9", follow=True)
    assert sorted(found["v"].to_pylist()) == sorted(wanted.tolist())
    assert all(row["big"] == f"1 {row['v']} " * 9 for row in found.to_pylist())


def test_a_record_that_is_gone_or_another_one_is_told(tmp_path):
    index = make(tmp_path)
    path = write(tmp_path / "day", records(1))
    index.append(index.read_records(path))
    entries = index.probe("key 3")
    for what, spoil in {
        "other rows": lambda: write(path, records(2)),
        "has 3 rows": lambda: write(path, records(1).slice(0, 3)),
        "no column 'big'": lambda: write(path, records(1).drop_columns(["big"])),
        "cannot be read": path.unlink,
    }.items():
        spoil()
        with pytest.raises(wx.errors.RecordGone, match=what) as raised:
            index.probe("key 3", follow=True)
        assert str(path) in str(raised.value)
        assert index.probe("key 3") == entries
    write(path, records(1))
    assert index.probe("key 3", follow=True).num_rows == 4


def test_bad_input_is_refused_by_name(tmp_path):
    index = make(tmp_path)
    with pytest.raises(wx.errors.RecordGone):
        index.read_records(tmp_path / "nothing")
    (tmp_path / "text").write_text("k,t\n1,2\n")
    with pytest.raises(wx.errors.SchemaMismatch, match="no Parquet file"):
        index.read_records(tmp_path / "text")
    path = write(tmp_path / "thin", records(1).select(["k", "t"]))
    with pytest.raises(wx.errors.MissingColumn):
        index.append(index.read_records(path))
    with pytest.raises(wx.errors.MissingColumn, match="file"):
        index.append(records(1))
    path = write(tmp_path / "day", records(1))
    index.append(index.read_records(path))
    with pytest.raises(wx.errors.MissingColumn, match="colour"):
        index.probe("key 3", follow=True, columns=["colour"])
    for pointer in ("file", ("file",), ("k", "row"), ("file", "file"), (1, 2)):
        with pytest.raises(wx.errors.BadDefinition, match="pointer="):
            wx.WaveIndex.create(
                tmp_path / "y", SCHEMA, key="k", time="t", slot=10, window=6, pointer=pointer
            )
    plain = wx.WaveIndex.create(tmp_path / "z", SCHEMA, key="k", time="t", slot=10, window=6)
    with pytest.raises(wx.errors.BadDefinition, match="keeps no pointers"):
        plain.probe("key 3", follow=True)
    with pytest.raises(wx.errors.BadDefinition, match="keeps no pointers"):
        plain.read_records(path)


def test_a_uri_is_as_good_as_a_path(tmp_path):
    index = make(tmp_path)
    path = write(tmp_path / "day", records(1))
    index.append(index.read_records(path.as_uri()))
    assert index.probe("key 3")["file"][0].as_py() == path.as_uri()
    assert index.probe("key 3", follow=True).num_rows == 4


def test_every_value_of_a_list_points_to_its_record(tmp_path):
    schema = pa.schema([("words", pa.list_(pa.string())), ("t", pa.int64()), ("text", pa.string())])
    texts = ["the cat sat", "a cat and a dog"]
    table = pa.table({"words": [t.split() for t in texts], "t": [1, 2], "text": texts}, schema)
    path = write(tmp_path / "texts", table)
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="words", time="t", slot=10, window=3, include=[],
        position="place", pointer=("file", "row"),
    )  # fmt: skip
    index.append(index.read_records(path))
    assert index.schema.names == ["words", "t", "place", "file", "row"]
    assert sorted(index.probe("cat", follow=True)["text"].to_pylist()) == sorted(texts)
    assert index.probe("dog", follow=True).to_pylist() == table.slice(1).to_pylist()


def test_a_record_whose_key_is_null_now_or_of_another_type_is_another_one(tmp_path):
    index = make(tmp_path)
    path = write(tmp_path / "day", records(1))
    index.append(index.read_records(path))
    names = records(1)["k"].to_pylist()
    names[3] = None
    write(path, records(1).set_column(0, "k", pa.array(names)))
    with pytest.raises(wx.errors.RecordGone, match="other rows"):
        index.probe("key 3", follow=True)
    write(path, records(1).set_column(3, "big", pa.array([[1]] * 20)))
    with pytest.raises(wx.errors.RecordGone, match="other types"):
        index.probe("key 3", follow=True)


def test_a_pointer_to_a_row_that_cannot_be_is_told(tmp_path):
    index = make(tmp_path)
    path = write(tmp_path / "day", records(1))
    rows = index.read_records(path)
    index.append(rows.set_column(4, "row", pa.array([-1] * 20, pa.int64())))
    with pytest.raises(wx.errors.RecordGone, match="row -1"):
        index.probe("key 3", follow=True)
