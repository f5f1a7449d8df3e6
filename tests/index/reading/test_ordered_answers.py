"""Answers in order, the last and the first few of them, and those that meet a condition."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import wavedex as wx
from kit.ways import CHAINED, SQLITE, WAYS, told
from wavedex.engine.techniques import TECHNIQUES
from wavedex.errors import BadCondition, MissingColumn
from wavedex.plan import SCHEMES

WORDS = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.int64()), ("w", WORDS)])
WINDOW = 6
ALL_WAYS = WAYS | CHAINED | SQLITE
UNDELETING = [
    way for way, options in SQLITE.items() if TECHNIQUES[options["update"]].writes_into_files
]
"""SQLite cannot delete, as the scheme `del` must where files are changed."""
Row = dict[str, Any]


def rows_of(slot: int, seed: int = 0) -> list[Row]:
    """Rows of a slot in no order of time."""
    dice = random.Random(f"{slot} {seed}")
    times = dice.sample(range(slot * 100, slot * 100 + 100), 12)
    return [
        {"k": dice.choice("abc"), "t": t, "v": dice.randrange(100), "w": dice.choice("xy")}
        for t in times
    ]


def filled(path: Path, scheme: str, way: str, late: bool) -> tuple[wx.WaveIndex, list[Row]]:
    """An index after some slots, and the rows of its window."""
    idx = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=100, window=WINDOW, indexes=3, scheme=scheme,
        first_room=1, **ALL_WAYS[way], **told(scheme),
    )  # fmt: skip
    kept: list[Row] = []
    for slot in range(1, 16):
        kept += rows_of(slot)
        idx.append(pa.Table.from_pylist(rows_of(slot), SCHEMA))
        if late and slot % 4 == 3:
            more = rows_of(slot - 1, 1)
            kept += more
            idx.amend(pa.Table.from_pylist(more, SCHEMA))
    return idx, [row for row in kept if row["t"] >= (15 - WINDOW + 1) * 100]


def by_time(rows: list[Row]) -> list[int]:
    return sorted(row["t"] for row in rows)


def times(found: pa.Table | pa.RecordBatchReader) -> list[int]:
    table = found.read_all() if isinstance(found, pa.RecordBatchReader) else found
    return list(table.column("t").to_pylist())


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("way", ALL_WAYS)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.slow
def test_answers_are_in_order(tmp_path: Path, scheme: str, way: str, late: bool) -> None:
    if scheme == "del" and way in UNDELETING:
        way = "runs in sqlite"
    idx, rows = filled(tmp_path / "i", scheme, way, late)
    mine = [row for row in rows if row["k"] == "a"]
    assert times(idx.probe("a")) == by_time(mine)
    assert times(idx.probe("a", since=12)) == by_time([r for r in mine if r["t"] >= 1200])
    assert times(idx.probe("a", order="-time", limit=4)) == by_time(mine)[:-5:-1]
    assert times(idx.probe("a", last=3)) == by_time(mine)[-3:]
    assert times(idx.probe("a", limit=2, columns=["t"])) == by_time(mine)[:2]
    assert times(idx.probe("a", last=3, order="-time", limit=2)) == by_time(mine)[:-3:-1]
    assert times(idx.scan(order="time")) == by_time(rows)
    assert times(idx.scan(order="-time", columns="t")) == by_time(rows)[::-1]
    assert times(idx.scan(last=5)) == by_time(rows)[-5:]
    assert times(idx.scan(last=5, order="-time", limit=2)) == by_time(rows)[:-3:-1]
    assert times(idx.probe_many(["a", "b"], order="time")) == by_time(
        [row for row in rows if row["k"] in "ab"]
    )
    met = [row for row in rows if row["v"] > 50 and row["t"] >= 1250]
    assert times(idx.scan(where="v > 50 and t >= 1250", order="time")) == by_time(met)
    assert sorted(times(idx.scan(where="v > 50 and t >= 1250"))) == by_time(met)
    met = [row for row in met if row["k"] == "b"]
    assert times(idx.scan(where="k = 'b' and v > 50 and t >= 1250", order="time")) == by_time(met)
    assert times(idx.probe("b", where="v > 50 and t >= 1250")) == by_time(met)


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> tuple[wx.WaveIndex, list[Row]]:
    return filled(tmp_path_factory.mktemp("some") / "i", "del", "runs", late=True)


def test_the_last_rows_are_those_of_each_key(some: tuple[wx.WaveIndex, list[Row]]) -> None:
    idx, rows = some
    wanted = {
        key: by_time([row for row in rows if row["k"] == key])[-2:] for key in ("a", "b", "c")
    }
    for found in (
        idx.probe_many(["a", "b", "c", "d"], last=2),
        idx.probe_range("a", "z", last=2),
        idx.probe_many(["a", "b", "c"], last=2, order="-time"),
    ):
        held = found.to_pylist()
        assert {k: by_time([r for r in held if r["k"] == k]) for k in wanted} == wanted
        assert len(held) == 6
    assert idx.probe_many(["a", "b"], last=0).num_rows == 0
    assert times(idx.probe_many(["a", "b", "c"], last=1, limit=1)) == [
        min(last[-1] for last in wanted.values())
    ]


def test_a_limit_reads_no_further(some: tuple[wx.WaveIndex, list[Row]]) -> None:
    idx, rows = some
    assert idx.scan(limit=7).read_all().num_rows == 7
    assert idx.scan(limit=0).read_all().num_rows == 0
    assert idx.scan(limit=10_000).read_all().num_rows == len(rows)
    assert idx.scan(limit=3, where="v >= 0", dictionaries=True).read_all().num_rows == 3
    assert idx.probe("nobody", last=3, where="v > 1").num_rows == 0


CONDITIONS = [
    "v > 50",
    "50 < v",
    "t between 1100 and 1250",
    "t = 1100 or v < 10",
    "1250 <= t and t < 1400",
    "k in ('a', 'b') and t >= 1300",
    "K = 'a' AND T > 1300",
    "'a' = k",
    "w = 'x' and not (v % 2 = 0)",
    "k like 'a%'",
    "case when v > 50 then t > 1200 else t > 1300 end",
    "t in (1000, 1200, 1400)",
    "v is null",
    "true",
    "k = 'a' -- and nothing else",
    "t > 1200.5",
    "t between 1300 and 1200",
    "k = 'a' and k = 'b'",
    "index_rows.v > 90",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_means_what_it_means_to_duckdb(
    some: tuple[wx.WaveIndex, list[Row]], condition: str
) -> None:
    idx, rows = some
    index_rows = pa.Table.from_pylist(rows, SCHEMA)
    query = f"select t from index_rows where ({condition}\n)"
    with duckdb.connect() as connection:
        connection.register("index_rows", index_rows)
        wanted = sorted(row[0] for row in connection.execute(query).fetchall())
    if "index_rows" in condition:
        condition = condition.replace("index_rows.", "")
    assert sorted(times(idx.scan(where=condition))) == wanted
    assert times(idx.scan(where=condition, order="time", columns=["t"])) == wanted
    many = [
        *times(idx.probe_many(["a", "c"], where=condition)),
        *times(idx.probe("b", where=condition)),
    ]
    assert sorted(many) == wanted
    assert sorted(times(idx.probe_range("a", "c", where=condition))) == wanted


def test_rows_keep_their_types(some: tuple[wx.WaveIndex, list[Row]]) -> None:
    idx, _ = some
    assert idx.scan(where="v > 50", order="time").schema == SCHEMA
    assert idx.probe("a", where="w = 'x'").schema == SCHEMA
    assert pa.types.is_dictionary(
        idx.scan(where="v > 50", dictionaries=True).schema.field("k").type
    )


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("", "is no condition"),
        (3, "is no condition"),
        ("v >", "cannot be understood: syntax error"),
        (
            "nope > 3",
            'Referenced column "nope" not found in FROM clause. The columns are k, t, v, w',
        ),
        ("v", "is BIGINT and not true or false"),
        ("v > 1; drop table x", "cannot be understood"),
        ("v > 1) or (v < 1", None),
        ("v = (select max(v) from index_rows)", "asks another table"),
        ("exists (select 1 from read_csv('/etc/passwd'))", "asks another table"),
        ("sum(v) > 3", "cannot contain aggregates"),
        ("row_number() over () > 3", "cannot contain window functions"),
        ("v + k > 3", "cannot be understood"),
        ("k::int > 3", "cannot be understood: Could not convert string"),
        ("getenv('HOME') = 'x'", "cannot be understood"),
    ],
)
def test_what_is_no_condition_is_refused(
    some: tuple[wx.WaveIndex, list[Row]], condition: Any, said: str | None
) -> None:
    idx, _ = some
    asks: list[Callable[[], Any]] = [
        lambda: idx.scan(where=condition).read_all(),
        lambda: idx.probe("a", where=condition),
        lambda: idx.probe_many(["a"], where=condition),
    ]
    for ask in asks:
        if said is None:
            ask()
            continue
        with pytest.raises(BadCondition) as caught:
            ask()
        assert said in str(caught.value)


def test_a_column_named_by_a_word_of_sql_goes_in_quotes(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("at", pa.timestamp("us", "UTC"))])
    idx = wx.WaveIndex.create(tmp_path / "i", schema, key="k", time="at", window=3)
    with pytest.raises(BadCondition, match='goes in quotes, as "at"'):
        idx.probe("a", where="at > '2026-01-01'")
    assert idx.probe("a", where="\"at\" > '2026-01-01'").num_rows == 0


def test_instants_in_a_list_are_looked_up_whatever_zone_they_are_written_in(
    tmp_path: Path,
) -> None:
    at = [dt.datetime(2026, 1, 6, hour, tzinfo=dt.UTC) for hour in (0, 9)]
    rows = pa.table({"k": ["a", "a"], "t": pa.array(at, pa.timestamp("us", "UTC"))})
    idx = wx.WaveIndex.create(
        tmp_path / "i", rows, key="k", time="t", slot="1h", window=24, rows=True
    )
    listed = "t in ('2026-01-05T23:00:00-10:00', '2026-01-06T00:00:00+00:00')"
    assert idx.probe("a", where=listed).num_rows == 2


def test_columns_that_sql_cannot_tell_apart_are_not_guessed(tmp_path: Path) -> None:
    rows = pa.table({"k": ["a", "x"], "K": ["x", "a"], "t": [1, 2]})
    idx = wx.WaveIndex.create(tmp_path / "i", rows, key="k", time="t", slot=1, window=3, rows=True)
    with pytest.raises(BadCondition, match="which SQL cannot tell apart"):
        idx.scan(where="K = 'a'").read_all()
    assert idx.scan(where="t = 2").read_all().num_rows == 1


@pytest.mark.parametrize(
    "asked",
    [{"order": "up"}, {"last": -1}, {"last": "7"}, {"limit": 1.5}, {"limit": True}, {"order": 1}],
)
def test_how_many_in_which_order_is_checked(
    some: tuple[wx.WaveIndex, list[Row]], asked: dict[str, Any]
) -> None:
    idx, _ = some
    for ask in (idx.probe, idx.probe_many):
        with pytest.raises(BadCondition, match=next(iter(asked))):
            ask("a", **asked)
    with pytest.raises(BadCondition):
        idx.scan(**asked)
    with pytest.raises(MissingColumn):
        idx.scan(columns=["nope"], order="time")


ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "kind", [pa.timestamp("ns", "UTC"), pa.timestamp("ns"), pa.timestamp("s"), pa.date32()]
)
def test_times_in_a_condition_are_those_of_the_zone(
    tmp_path: Path, zone: str, kind: pa.DataType
) -> None:
    """What is looked up by its time is what would be found by looking at every row."""
    schema = pa.schema([("k", pa.string()), ("t", kind)])
    idx = wx.WaveIndex.create(
        tmp_path / "i", schema, key="k", time="t", window=20, zone=zone, late="drop"
    )
    start = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    found = [start + dt.timedelta(hours=5 * n, minutes=7 * n) for n in range(60)]
    whole = [
        each.replace(tzinfo=None) if kind != pa.timestamp("ns", "UTC") else each for each in found
    ]
    table = pa.table({"k": ["a"] * 60, "t": pa.array(whole)}).cast(schema, safe=False)
    idx.append(table)
    for condition in (
        "t >= '2026-03-08'",
        "t > timestamp '2026-03-08 02:00:00'",
        "t <= date '2026-03-08'",
        "t = '2026-03-05'",
        "t < timestamptz '2026-03-08 02:00:00+02'",
        "t between '2026-03-03' and '2026-03-08'",
        "t > today() - interval 1 day or t < '2026-03-04'",
        "t in ('2026-03-05T23:36:00-10:00', '2026-03-06T00:00:00+00:00', '2026-03-04')",
    ):
        pushed = idx.probe("a", where=condition).to_pylist()
        looked = idx.probe("a", where=f"({condition}) or false and k = ''").to_pylist()
        assert pushed == looked, condition


def test_a_lifetime_index_answers_in_the_order_of_insertion(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("begun", pa.int64()), ("until", pa.int64())])
    life = wx.LifetimeIndex.create(
        tmp_path / "l",
        schema,
        key="k",
        inserted="begun",
        expires="until",
        max_lifetime=16,
        refresh=2,
    )
    dice = random.Random(1)
    rows: list[Row] = []
    for now in range(2, 40, 2):
        new = [
            {"k": dice.choice("ab"), "begun": now - dice.randint(0, 2), "until": now + end}
            for end in dice.choices(range(1, 13), k=6)
        ]
        rows += new
        life.update(now, pa.Table.from_pylist(new, schema))
    living = [row for row in rows if row["until"] > 38]
    for key in "ab":
        mine = sorted(row["begun"] for row in living if row["k"] == key)
        assert life.probe(key)["begun"].to_pylist() == mine
        assert life.probe(key, last=2, order="-time")["begun"].to_pylist() == mine[:-3:-1]
        wanted = [begun for begun in mine if begun > 34]
        assert life.probe(key, where="begun > 34")["begun"].to_pylist() == wanted
    assert life.scan(order="time").read_all()["begun"].to_pylist() == sorted(
        row["begun"] for row in living
    )
    assert life.scan(last=3, shorten=1).read_all().num_rows == 3


def test_rows_without_times_are_in_the_order_of_their_slots(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.string()), ("v", pa.int64())])
    idx = wx.WaveIndex.create(tmp_path / "i", schema, key="k", window=5, scheme="del", indexes=2)
    for slot in range(1, 9):
        idx.append(pa.table({"k": ["a"], "v": [slot]}, schema), slot=slot)
    assert idx.probe("a")["v"].to_pylist() == [4, 5, 6, 7, 8]
    assert idx.scan(order="-time").read_all()["v"].to_pylist() == [8, 7, 6, 5, 4]
    assert idx.scan(last=2).read_all().schema == schema
