"""The files of an index in Parquet are plain Parquet.

Others read from them the rows that the index holds.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from kit.ways import PARQUET
from wavedex.store.sorted import parquet
from wavedex.testing.oracle import Oracle, same_rows

pytestmark = pytest.mark.usefixtures("small_row_groups")

SCHEMA = pa.schema(
    [
        ("who", pa.string()),
        ("at", pa.timestamp("us")),
        ("n", pa.int64()),
        ("amount", pa.decimal128(9, 2)),
        ("tags", pa.list_(pa.string())),
        ("kind", pa.dictionary(pa.int32(), pa.string())),
        ("small", pa.uint16()),
    ]
)
PLAIN = pa.schema([*list(SCHEMA)[:5], ("kind", pa.string()), ("small", pa.uint16())])
START = dt.datetime(2026, 1, 1)
WINDOW = 5


def rows_of(day: int, count: int = 20) -> list[dict]:
    rnd = random.Random(day)
    return [
        {
            "who": rnd.choice(["ann", "bob", "é", ""]),
            "at": START + dt.timedelta(days=day, seconds=rnd.randrange(86_400)),
            "n": day * 1000 + number,
            "amount": decimal.Decimal(number).scaleb(-2),
            "tags": rnd.choice([None, [], ["x", None], ["y"]]),
            "kind": rnd.choice([None, "new", "old"]),
            "small": rnd.choice([None, 0, 65_535]),
        }
        for number in range(count)
    ]


def table(rows: list[dict]) -> pa.Table:
    plain = pa.Table.from_pylist(rows, PLAIN)
    return plain.set_column(5, "kind", plain["kind"].dictionary_encode())


@pytest.fixture(params=["wata", "reindex++"])
def scheme(request):
    return request.param


@pytest.mark.slow
@pytest.mark.parametrize("way", PARQUET)
def test_other_tools_read_from_the_files_what_the_index_holds(tmp_path, way, scheme):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="who", time="at", slot="1 day", window=WINDOW, indexes=2,
        scheme=scheme, shards=2, **PARQUET[way],
    )  # fmt: skip
    oracle = Oracle(WINDOW, "who", lambda row: (row["at"] - START).days)
    for day in range(8):
        index.append(table(rows_of(day)))
        oracle.append(rows_of(day), day)
    index.verify()
    assert index.scan().read_all().schema == index.schema == SCHEMA
    assert same_rows(index.scan().read_all().to_pylist(), oracle.rows())
    for first, last in ((3, 7), (5, 5), (4, 6)):
        since, until = START + dt.timedelta(days=first), START + dt.timedelta(days=last + 1)
        paths = index.files(since.date(), (until - dt.timedelta(days=1)).date())
        assert paths
        assert {Path(path).suffix for path in paths} == {".parquet"}
        expected = oracle.rows(lambda row, since=since, until=until: since <= row["at"] < until)
        kept = [("at", ">=", since), ("at", "<", until)]
        assert same_rows(pq.read_table(paths, filters=kept).to_pylist(), expected)
        asked = 'from read_parquet(?) where "at" >= ? and "at" < ?'
        found = duckdb.sql(asked, params=[paths, since, until]).arrow().read_all()
        assert same_rows(found.cast(PLAIN).to_pylist(), expected)
        frame = pl.scan_parquet(paths).filter((pl.col("at") >= since) & (pl.col("at") < until))
        assert same_rows(frame.collect().to_dicts(), expected)


def test_a_file_lies_in_row_groups_with_the_bounds_of_key_and_time(tmp_path):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="who", time="at", slot="1 day", window=2, indexes=2, shards=1,
        format="parquet",
    )  # fmt: skip
    index.append(table(rows_of(0)))
    metadata = pq.read_metadata(index.files()[0])
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [parquet.GROUP_ROWS] * 6 + [2]
    lying = index.scan().read_all().to_pylist()
    for place, group in enumerate(groups):
        mine = lying[place * 3 : place * 3 + 3]
        for column, name in enumerate(("who", "at")):
            bounds = group.column(column).statistics
            values = [row[name] for row in mine]
            assert (bounds.min, bounds.max) == (min(values), max(values))


def test_an_index_in_parquet_says_so(tmp_path):
    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="who", window=3, format="parquet")
    assert index.describe()["format"] == "parquet"
    assert wx.open(tmp_path / "x").definition.format == "parquet"


def test_a_format_that_is_not_known_is_called_damaged(tmp_path):
    wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="who", window=3)
    definition = tmp_path / "x" / "index.json"
    definition.write_text(definition.read_text().replace('"arrow"', '"orc"'))
    with pytest.raises(wx.errors.Damaged, match=r"index\.json"):
        wx.open(tmp_path / "x")


def test_times_that_parquet_cannot_hold_are_refused_and_nothing_changes(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.timestamp("s"))])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=1, window=3, format="parquet"
    )
    far = pa.table([[1], [1], pa.array([2**62], pa.int64()).cast(pa.timestamp("s"))], schema=schema)
    with pytest.raises(wx.errors.WriteFailed, match="nothing was changed"):
        index.append(far)
    assert index.snapshot().commit == 0
    near = pa.table(
        [[1], [1], pa.array([2**40], pa.int64()).cast(pa.timestamp("s"))], schema=schema
    )
    index.append(near)
    assert index.probe(1).equals(near)
