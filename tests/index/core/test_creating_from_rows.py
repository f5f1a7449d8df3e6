"""An index takes its columns from a table, a frame or a reader, and its first rows if asked to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import (
    AlreadyExists,
    BadDefinition,
    DiskFull,
    LifetimeTooLong,
    MissingColumn,
    NotAnIndex,
    NullKeys,
    PreparationOwed,
    WavedexError,
)
from wavedex.testing.disks import WatchedDisk

ROWS = pa.table(
    {
        "user": ["ann", "bob", "ann"],
        "at": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
        "until": pa.array([5, 6, 7], pa.timestamp("us", "UTC")),
        "amount": [1.5, None, 3.0],
    }
)
KINDS: dict[str, Callable[..., Any]] = {
    "schema": lambda: ROWS.schema,
    "table": lambda: ROWS,
    "batch": lambda: ROWS.to_batches()[0],
    "list of batches": ROWS.to_batches,
    "reader": ROWS.to_reader,
    "pandas": ROWS.to_pandas,
    "polars": lambda: pl.from_arrow(ROWS),
}
WAVE = {"key": "user", "time": "at", "window": "7 days"}
LIFE = {
    "key": "user",
    "inserted": "at",
    "expires": "until",
    "refresh": "1s",
    "max_lifetime": "10s",
}


def made(kind: type, path: Path, data: Any, **options: Any) -> Any:
    return kind.create(path, data, **(WAVE if kind is wx.WaveIndex else LIFE) | options)


@pytest.mark.parametrize("kind", [wx.WaveIndex, wx.LifetimeIndex])
@pytest.mark.parametrize("what", KINDS)
def test_columns_are_those_of_whatever_has_some(tmp_path: Path, kind: type, what: str) -> None:
    idx = made(kind, tmp_path / "i", KINDS[what]())
    assert idx.schema.names == ROWS.schema.names
    assert idx.schema.metadata is None
    assert idx.scan().read_all().num_rows == 0
    idx.append(ROWS.cast(idx.schema))
    assert idx.probe("ann").num_rows == 2


@pytest.mark.parametrize("kind", [wx.WaveIndex, wx.LifetimeIndex])
@pytest.mark.parametrize("what", [what for what in KINDS if what != "schema"])
def test_rows_come_with_their_columns(tmp_path: Path, kind: type, what: str) -> None:
    idx = made(kind, tmp_path / "i", KINDS[what](), rows=True)
    found = wx.open(idx.path).scan().read_all().cast(ROWS.schema)
    assert found.sort_by("at").to_pylist() == ROWS.to_pylist()
    idx.verify()


def test_the_index_of_a_frame_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": ["ann"], "at": pd.to_datetime(["2026-01-01"])}, index=[17])
    idx = wx.WaveIndex.create(tmp_path / "i", frame, **WAVE, rows=True)
    assert idx.schema.names == ["user", "at"]
    assert idx.probe("ann").num_rows == 1


def test_a_schema_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match="rows=True appends the rows"):
        wx.WaveIndex.create(tmp_path / "i", ROWS.schema, **WAVE, rows=True)
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize("data", [{"user": ["ann"]}, "sales.parquet", 3, None, [], [1]])
def test_what_has_no_columns_is_refused(tmp_path: Path, data: Any) -> None:
    with pytest.raises(BadDefinition, match="The columns of the index are those of"):
        wx.WaveIndex.create(tmp_path / "i", data, **WAVE)
    assert not (tmp_path / "i").exists()


LONG = ROWS.set_column(2, "until", pa.array([5, 6, 10**12], pa.timestamp("us", "UTC")))
NULL = ROWS.set_column(0, "user", pa.array(["ann", None, "bob"]))


@pytest.mark.parametrize(
    ("kind", "rows", "options", "refusal"),
    [
        (wx.WaveIndex, NULL, {}, NullKeys),
        (wx.LifetimeIndex, NULL, {}, NullKeys),
        (wx.LifetimeIndex, LONG, {}, LifetimeTooLong),
        (wx.WaveIndex, ROWS, {"time": None, "window": 7}, WavedexError),
        (wx.WaveIndex, ROWS, {"key": "usr"}, MissingColumn),
    ],
)
def test_where_rows_are_refused_there_is_no_index(
    tmp_path: Path, kind: type, rows: pa.Table, options: dict[str, Any], refusal: type
) -> None:
    with pytest.raises(refusal):
        made(kind, tmp_path / "i", rows, **options, rows=True)
    with pytest.raises(NotAnIndex):
        wx.open(tmp_path / "i")
    assert not [*tmp_path.iterdir()]
    idx = made(kind, tmp_path / "i", ROWS, rows=True)  # Nothing is left that is in the way.
    assert idx.probe("ann").num_rows == 2
    idx.verify()


def test_where_rows_are_in_and_what_follows_failed_the_index_stays(tmp_path: Path) -> None:
    class NoRoomAhead(WatchedDisk):
        """A disk that is full once the first rows are in."""

        def before(self, change: str, name: str) -> None:
            super().before(change, name)
            if name.endswith("0002.json"):
                raise DiskFull("no room")

    around = wx.Surroundings(files=NoRoomAhead)
    options = WAVE | {"scheme": "rata", "indexes": 3}
    with pytest.raises(PreparationOwed, match="is in the index"):
        wx.WaveIndex.create(tmp_path / "i", ROWS, **options, rows=True, surroundings=around)
    assert wx.open(tmp_path / "i").probe("ann").num_rows == 2


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    idx = wx.WaveIndex.create(tmp_path / "i", ROWS, **WAVE, rows=True)
    with pytest.raises(AlreadyExists):
        wx.WaveIndex.create(tmp_path / "i", ROWS, **WAVE, rows=True)
    assert idx.probe("ann").num_rows == 2
