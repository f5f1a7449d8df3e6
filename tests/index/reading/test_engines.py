"""The window in DuckDB and in Polars.

The same rows as a scan, of one commit, however often they are asked for.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from kit.ways import WAYS
from wavedex.errors import BadName, BadTime, MissingColumn, PackageMissing, SchemaMismatch
from wavedex.index.reading import duckdb_view, polars_frame
from wavedex.index.reading.asked import Asked
from wavedex.index.reading.polars_frame import ends_of
from wavedex.store.sorted import packed

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("label", pa.string()),
        ("n", pa.int64()),
    ]
)
UTC = dt.UTC


def rows_of(day: int, count: int = 12) -> pa.Table:
    noon = dt.datetime(2026, 1, day, 12, tzinfo=UTC)
    rows = [
        {
            "k": n % 5,
            "at": noon + dt.timedelta(minutes=n),
            "label": None if n == 3 else "abc"[n % 3],
            "n": 100 * day + n,
        }
        for n in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def fill(path, days=range(1, 10), **options):
    options = {"key": "k", "time": "at", "window": 5, "indexes": 3, "scheme": "wata", **options}
    index = wx.WaveIndex.create(path, SCHEMA, **options)
    for day in days:
        index.append(rows_of(day))
    return index


@pytest.fixture(params=WAYS)
def index(tmp_path, request):
    return fill(tmp_path / "x", **WAYS[request.param])


def numbers(table) -> list[int]:
    return sorted((table.to_arrow() if isinstance(table, pl.DataFrame) else table)["n"].to_pylist())


def in_view(connection, name="entries") -> list[int]:
    return [n for (n,) in connection.execute(f"select n from {name} order by n").fetchall()]


# -- DuckDB ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_view_has_the_rows_of_a_scan_as_often_as_it_is_asked(index):
    connection = duckdb.connect()
    relation = index.to_duckdb(connection, "entries")
    expected = sorted(index.scan().read_all().to_pylist(), key=lambda row: row["n"])
    assert len(expected) == 60
    for _ in range(3):
        found = connection.sql("from entries order by n").to_arrow_table().to_pylist()
        assert [{**row, "at": row["at"].astimezone(UTC)} for row in found] == expected
    assert relation.columns == SCHEMA.names
    assert relation.count("*").fetchall() == [(60,)]
    joined = connection.sql("select count(*) from entries a join entries b using (n)")
    assert joined.fetchall() == [(60,)]
    grouped = "select label, sum(n)::bigint from entries group by label order by label"
    sums = {row["label"]: 0 for row in expected}
    for row in expected:
        sums[row["label"]] += row["n"]
    assert dict(connection.sql(grouped).fetchall()) == sums


@pytest.mark.slow
@pytest.mark.parametrize(
    "span",
    [
        ("2026-01-06", "2026-01-07"),
        (dt.datetime(2026, 1, 6, 12, 5, tzinfo=UTC), None),
        (None, dt.datetime(2026, 1, 8, 12, 4, 0, 1, tzinfo=UTC)),
        ("2025-01-01", "2025-01-02"),
    ],
    ids=["days", "from an instant on", "up to an instant", "before all"],
)
def test_views_and_frames_are_cut_as_scans_are(index, span):
    connection = duckdb.connect()
    index.to_duckdb(connection, "entries", *span, columns=["n"])
    expected = numbers(index.scan(*span).read_all())
    assert in_view(connection) == expected
    assert connection.table("entries").columns == ["n"]
    assert numbers(index.to_polars(*span, columns=["n"]).collect()) == expected


@pytest.mark.slow
def test_a_view_shows_its_commit_until_it_is_made_again(index):
    connection = duckdb.connect()
    index.to_duckdb(connection, "entries")
    frame = index.to_polars()
    before = numbers(index.scan().read_all())
    for day in range(10, 16):
        index.append(rows_of(day))
    index.vacuum()
    assert in_view(connection) == before
    assert numbers(frame.collect()) == before
    index.to_duckdb(connection, "entries")
    assert in_view(connection) == numbers(index.scan().read_all())
    assert set(before).isdisjoint(in_view(connection))


@pytest.mark.slow
def test_a_snapshot_whose_files_have_no_names_any_more_can_still_be_queried(index):
    snapshot = index.snapshot()
    before = numbers(snapshot.scan().read_all())
    for day in range(10, 16):
        index.append(rows_of(day))
    index.vacuum()
    connection = duckdb.connect()
    snapshot.to_duckdb(connection, "entries")
    assert in_view(connection) == before
    assert numbers(snapshot.to_polars().collect()) == before


def test_files_that_a_view_reads_are_kept_until_it_lets_go(tmp_path):
    index = fill(tmp_path / "x", format="parquet")
    connection = duckdb.connect()
    index.to_duckdb(connection, "entries")
    held = index.files()
    for day in range(10, 18):
        index.append(rows_of(day))
    index.vacuum()
    assert all(Path(path).exists() for path in held)
    index.to_duckdb(connection, "entries")
    index.vacuum()
    assert not any(Path(path).exists() for path in held)
    registered = connection.sql("select count(*) from duckdb_views() where not internal").fetchall()
    assert registered == [(2,)], "the view, and what holds its commit"


def test_a_view_over_packed_files_copies_no_rows(tmp_path):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="at", window=5, indexes=3, scheme="wata"
    )
    for day in range(1, 8):
        index.append(rows_of(day, 600))
    assert any(within is not None for _, within in index.snapshot().all_targets(Asked()))
    connection = duckdb.connect()
    index.scan(dictionaries=True).read_all()
    before = pa.total_allocated_bytes()
    index.to_duckdb(connection, "entries")
    # A few codes may have to be translated, never the rows themselves.
    assert pa.total_allocated_bytes() - before < index.describe()["bytes"] // 20
    assert in_view(connection) == numbers(index.scan().read_all())


def test_long_batches_are_handed_over_in_slices(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_view, "SLICE_ROWS", 7)
    index = fill(tmp_path / "x")
    connection = duckdb.connect()
    index.to_duckdb(connection, "entries")
    assert in_view(connection) == numbers(index.scan().read_all())


def test_only_the_columns_of_a_query_are_taken(tmp_path):
    index = fill(tmp_path / "x", format="parquet")
    connection = duckdb.connect()
    index.to_duckdb(connection, "entries")
    plan = connection.sql("explain select n from entries where k = 2").fetchall()[0][1]
    assert "Projections: n" in plan
    assert "Filters: k = 2" in plan
    assert "label" not in plan


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "slot", "options"),
    [
        (pa.int8(), 10, {}),
        (pa.uint64(), 10, {}),
        (pa.date32(), "1 day", {}),
        (pa.date64(), "1 day", {}),
        (pa.timestamp("s"), "1 minute", {}),
        (pa.timestamp("ms", "Europe/Berlin"), "1 day", {"zone": "Europe/Berlin"}),
        (pa.timestamp("ns"), "1 second", {}),
        (pa.timestamp("ns", "UTC"), "1 second", {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_windows_are_cut_in_every_type_of_time(tmp_path, kind, slot, options, form):
    schema = pa.schema([("k", pa.int64()), ("t", kind), ("n", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=slot, window=3, indexes=2, **options,
        scheme="wata", format=form,
    )  # fmt: skip
    slots = range(7)
    for number in slots:
        start, stop = (
            index.definition.slotting.start(number),
            index.definition.slotting.stop(number),
        )
        step = 86_400_000 if kind == pa.date64() else 1
        ordinals = sorted({start, stop - step})
        storage = pa.int32() if kind == pa.date32() else pa.int64()
        times = pa.array(ordinals, storage).cast(kind)
        some = [number] * len(ordinals)
        index.append(pa.table({"k": some, "t": times, "n": some}, schema=schema))
    assert any(within is not None for _, within in index.snapshot().all_targets(Asked()))
    expected = numbers(index.scan().read_all())
    assert set(expected) == set(index.slots)
    connection = duckdb.connect()
    relation = index.to_duckdb(connection, "entries")
    assert in_view(connection) == expected
    assert [str(t) for t in relation.types] == [
        str(t) for t in connection.from_arrow(schema.empty_table()).types
    ]
    assert numbers(index.to_polars().collect()) == expected


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_slots_without_a_time_column_are_cut_too(tmp_path, form):
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=3, indexes=2, format=form)
    for slot in range(8):
        index.append(pa.table({"k": [1], "n": [slot]}), slot=slot)
    connection = duckdb.connect()
    relation = index.to_duckdb(connection, "entries", since=6)
    assert relation.columns == ["k", "n"]
    assert in_view(connection) == [6, 7]
    assert numbers(index.to_polars(since=6).collect()) == [6, 7]


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_an_empty_index_is_an_empty_view_and_an_empty_frame(tmp_path, form):
    index = fill(tmp_path / "x", days=(), format=form)
    connection = duckdb.connect()
    relation = index.to_duckdb(connection, "entries")
    assert relation.columns == SCHEMA.names
    assert relation.fetchall() == []
    assert index.to_polars().collect().schema.names() == SCHEMA.names
    assert index.to_polars().collect().height == 0


def test_a_folder_may_have_a_name_that_means_more_to_duckdb(tmp_path):
    index = fill(tmp_path / "it's [a]*? day=5", format="parquet")
    connection = duckdb.connect()
    assert index.to_duckdb(connection, "entries").columns == SCHEMA.names
    assert in_view(connection) == numbers(index.scan().read_all())


def test_any_name_can_be_quoted(tmp_path):
    index = fill(tmp_path / "x")
    connection = duckdb.connect()
    name = 'my "rows", it\'s; drop table x'
    assert index.to_duckdb(connection, name).count("*").fetchall() == [(60,)]
    assert len(in_view(connection, '"my ""rows"", it\'s; drop table x"')) == 60


@pytest.mark.parametrize("name", ["", " ", "a\0b", None, 5])
def test_what_is_no_name_is_refused(tmp_path, name):
    with pytest.raises(BadName, match="is no name for a view"):
        fill(tmp_path / "x").to_duckdb(duckdb.connect(), name)


def test_a_table_is_not_hidden_by_a_view(tmp_path):
    index = fill(tmp_path / "x")
    connection = duckdb.connect()
    connection.execute("create table taken as select 1 as one")
    connection.execute("create view seen as select 2 as two")
    for name in ("taken", "TAKEN", "seen"):
        with pytest.raises(BadName, match="already"):
            index.to_duckdb(connection, name)
    assert connection.sql("from taken").fetchall() == [(1,)]
    views = connection.sql("select view_name from duckdb_views() where not internal")
    assert views.fetchall() == [("seen",)]


def test_a_connection_that_is_none_or_closed_is_refused(tmp_path):
    index = fill(tmp_path / "x")
    with pytest.raises(BadName, match="is no connection"):
        index.to_duckdb("sales.duckdb", "entries")
    connection = duckdb.connect()
    connection.close()
    with pytest.raises(BadName, match="closed"):
        index.to_duckdb(connection, "entries")


def test_columns_that_duckdb_cannot_tell_apart_or_read_are_refused(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("K", pa.int64()), ("half", pa.float16())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", window=3)
    connection = duckdb.connect()
    with pytest.raises(SchemaMismatch, match="does not tell the columns 'k' and 'K' apart"):
        index.to_duckdb(connection, "entries")
    with pytest.raises(SchemaMismatch, match="cannot read the columns K, half"):
        index.to_duckdb(connection, "entries", columns=["K", "half"])
    with pytest.raises(SchemaMismatch, match="needs a column"):
        index.to_duckdb(connection, "entries", columns=[])
    assert index.to_duckdb(connection, "entries", columns=["K"]).fetchall() == []


@pytest.mark.parametrize(
    ("asked", "error"), [({"columns": ["nothing"]}, MissingColumn), ({"since": "then"}, BadTime)]
)
def test_wrong_columns_and_times_are_refused_before_anything_is_read(tmp_path, asked, error):
    index = fill(tmp_path / "x")
    with pytest.raises(error):
        index.to_duckdb(duckdb.connect(), "entries", **asked)
    with pytest.raises(error):
        index.to_polars(**asked)


@pytest.mark.parametrize("package", ["duckdb", "polars"])
def test_where_a_package_is_missing_it_is_said_what_to_install(tmp_path, monkeypatch, package):
    index = fill(tmp_path / "x", days=())
    calls = {"duckdb": lambda: index.to_duckdb(None, "x"), "polars": index.to_polars}
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        PackageMissing, match=f"is not installed. Install it: pip install {package}"
    ):
        calls[package]()


def test_a_polars_that_is_too_old_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars.io.plugins", None)
    with pytest.raises(PackageMissing, match="pip install --upgrade polars"):
        fill(tmp_path / "x", days=()).to_polars()


# -- Polars ----------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch):
    """What packed shards are asked for: columns, and ranges of ordinals."""
    asked = []
    stream = packed.PackedShard.stream

    def noted(shard, within, names, words=None):
        asked.append((within, list(names)))
        return stream(shard, within, names, words)

    monkeypatch.setattr(packed.PackedShard, "stream", noted)
    return asked


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_frame_answers_as_the_rows_themselves_do(index, engine):
    frame = index.to_polars()
    eager = pl.from_arrow(index.scan().read_all())
    assert frame.collect_schema() == eager.schema
    noon = dt.datetime(2026, 1, 7, 12, tzinfo=UTC)
    at, n = pl.col("at"), pl.col("n")
    for query in (
        lambda f: f,
        lambda f: f.select("label", "n"),
        lambda f: f.filter(at >= noon),
        lambda f: f.filter(at < noon, n % 2 == 0).select("n"),
        lambda f: f.filter((at == noon) | (n == 505)),
        lambda f: f.filter(at.is_between(noon, noon + dt.timedelta(minutes=3), closed="none")),
        lambda f: f.filter(at.dt.date() == dt.date(2026, 1, 8)),
        lambda f: f.filter(pl.col("label").is_null()),
        lambda f: f.filter(pl.lit(noon) > at),
        lambda f: f.filter(at != noon),
        lambda f: f.filter(n.map_batches(lambda column: column > 800, return_dtype=pl.Boolean)),
        lambda f: f.group_by("label").agg(n.sum()).select("label", "n"),
        lambda f: f.sort("n").head(4),
        lambda f: f.filter(n > 600).top_k(3, by="n"),
        lambda f: f.select(pl.len()),
    ):
        found, expected = query(frame).collect(engine=engine), query(eager)
        assert found.sort(found.columns).equals(expected.sort(expected.columns))
    assert frame.head(7).collect(engine=engine).height == 7
    assert frame.head(0).collect(engine=engine).height == 0
    few = frame.head(7).filter(n > 0).collect(engine=engine)
    assert few.height == 7
    assert frame.filter(n > 800).head(2).collect(engine=engine).filter(n > 800).height == 2


def test_nothing_is_read_before_a_frame_is_collected_and_no_more_than_it_needs_then(
    tmp_path, reads
):
    index = fill(tmp_path / "x")
    frame = index.to_polars()
    narrow = frame.filter(pl.col("at") >= dt.datetime(2026, 1, 9, tzinfo=UTC)).select("n")
    assert reads == []
    assert sorted(narrow.collect()["n"]) == [900 + n for n in range(12)]
    assert {frozenset(names) for _, names in reads} == {frozenset({"at", "n"})}
    assert len(reads) < len(index.snapshot().all_targets(Asked()))
    reads.clear()
    assert frame.select("n").head(1).collect().height == 1
    assert len(reads) == 1
    reads.clear()
    assert frame.filter(pl.col("at") < dt.datetime(2020, 1, 1, tzinfo=UTC)).collect().height == 0
    assert reads == []


def test_frames_are_made_of_slices(tmp_path, monkeypatch):
    monkeypatch.setattr(polars_frame, "BATCH_ROWS", 5)
    index = fill(tmp_path / "x")
    assert numbers(index.to_polars().collect()) == numbers(index.scan().read_all())
    assert index.to_polars().head(13).collect().height == 13


def literal(kind, value):
    return {"Literal": {"Scalar": {kind: value}}}


@pytest.mark.parametrize(
    ("tree", "kind", "ends"),
    [
        ({"op": "Gt", "right": literal("Int64", 4)}, pa.int64(), (5, None)),
        ({"op": "Eq", "right": literal("Date", 4)}, pa.date32(), (4, 5)),
        ({"op": "NotEq", "right": literal("Date", 4)}, pa.date32(), (None, None)),
        ({"op": "Gt", "right": literal("Int32", 4)}, pa.int64(), (None, None)),
        ({"op": "Gt", "right": literal("Boolean", True)}, pa.int64(), (None, None)),
        ({"op": "Gt", "right": literal("Date", 4)}, pa.date64(), (None, None)),
        (
            {"op": "Lt", "right": literal("Datetime", [9, "Milliseconds", None])},
            pa.timestamp("ms"),
            (None, 9),
        ),
        (
            {"op": "Lt", "right": literal("Datetime", [9, "Milliseconds", None])},
            pa.timestamp("us"),
            (None, None),
        ),
        (
            {"op": "Lt", "right": literal("Datetime", [9, "Milliseconds", {"inner": "UTC"}])},
            pa.timestamp("ms"),
            (None, None),
        ),
        ({"op": "Lt", "right": {"Cast": "whatever"}}, pa.int64(), (None, None)),
    ],
)
def test_only_comparisons_that_are_surely_understood_narrow_a_scan(tree, kind, ends):
    compared = {"BinaryExpr": {"left": {"Column": "t"}, **tree}}
    assert ends_of(compared, "t", kind) == ends
    assert ends_of(compared, "other", kind) == (None, None)
    assert ends_of({"Not": compared}, "t", kind) == (None, None)
    either = {"BinaryExpr": {"left": compared, "op": "Or", "right": compared}}
    assert ends_of(either, "t", kind) == (None, None)


def test_two_comparisons_narrow_a_scan_from_both_sides():
    low = {"BinaryExpr": {"left": {"Column": "t"}, "op": "GtEq", "right": literal("Int8", 2)}}
    high = {"BinaryExpr": {"left": literal("Int8", 9), "op": "GtEq", "right": {"Column": "t"}}}
    both = {"BinaryExpr": {"left": low, "op": "And", "right": high}}
    assert ends_of(both, "t", pa.int8()) == (2, 10)
    either = {"BinaryExpr": {"left": low, "op": "Or", "right": high}}
    assert ends_of(
        {"BinaryExpr": {"left": either, "op": "And", "right": high}}, "t", pa.int8()
    ) == (
        None,
        10,
    )


def test_what_a_soft_window_still_holds_is_shown_on_request(tmp_path):
    # Of nine days, two are over and still held.
    index = fill(tmp_path / "x")
    held = numbers(index.scan(expired=True).read_all())
    assert len(held) > len(numbers(index.scan().read_all()))
    with duckdb.connect() as connection:
        relation = index.to_duckdb(connection, "entries", expired=True)
        assert sorted(n for (n,) in relation.select("n").fetchall()) == held
    assert numbers(index.to_polars(expired=True).collect()) == held
