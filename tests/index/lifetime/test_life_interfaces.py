"""A lifetime index as a view in DuckDB and as a frame of Polars.

They have the rows that live, whatever is asked of them.
"""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadTime

SCHEMA = pa.schema(
    [("k", pa.int64()), ("at", pa.int64()), ("over", pa.int64()), ("note", pa.string())]
)
KINDS = {
    "packed": {},
    "parquet": {"format": "parquet"},
    "chained": {"method": "no-rebuild"},
    "thrown away": {"method": "wata", "grid": (3, 1)},
}


@pytest.fixture(params=KINDS, scope="module")
def life(request, tmp_path_factory):
    """Only to be read."""
    settings = {"max_lifetime": 12, "refresh": 2, "grid": (2, 2), **KINDS[request.param]}
    index = wx.LifetimeIndex.create(
        tmp_path_factory.mktemp("life") / "x",
        SCHEMA,
        key="k",
        inserted="at",
        expires="over",
        **settings,
    )
    for now in range(1, 20):
        rows = [
            {"k": n, "at": now, "over": now + 1 + (7 * n + now) % 12, "note": f"n{n % 3}"}
            for n in range(8)
        ]
        index.update(now, pa.Table.from_pylist(rows, SCHEMA))
    doomed = index.probe(3)
    index.retract(19, doomed.slice(0, 2))
    assert index.describe()["rows_hidden"]
    return index


def plain(table):
    return sorted(map(repr, table.to_pylist()))


ASKED = [
    {},
    {"since": 15},
    {"until": 17},
    {"since": 14, "until": 16},
    {"shorten": 3},
    {"since": 12, "shorten": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_both_show_what_a_scan_does(life, asked):
    expected = plain(life.scan(**asked).read_all())
    assert expected
    with duckdb.connect() as connection:
        shown = life.to_duckdb(connection, "entries", **asked)
        assert plain(shown.to_arrow_table()) == expected
    assert plain(life.to_polars(**asked).collect().to_arrow()) == expected
    with life.snapshot() as snapshot, duckdb.connect() as connection:
        assert plain(snapshot.to_duckdb(connection, "e", **asked).to_arrow_table()) == expected


@pytest.mark.parametrize("column", ["at", "over"])
@pytest.mark.parametrize("op", ["__gt__", "__le__", "__eq__"])
def test_what_is_asked_of_a_frame_narrows_the_right_times(life, column, op):
    everything = life.to_polars().collect()
    middle = 16 if column == "at" else 24
    wanted = getattr(pl.col(column), op)(middle)
    expected = everything.filter(wanted)
    assert 0 < expected.height < everything.height
    found = life.to_polars().filter(wanted).collect()
    assert plain(found.to_arrow()) == plain(expected.to_arrow())


def test_a_view_refuses_what_a_scan_refuses(life):
    with pytest.raises(BadTime), duckdb.connect() as connection:
        life.to_duckdb(connection, "entries", shorten="soon")
    with pytest.raises(BadTime):
        life.to_polars(shorten={"k": 1})
