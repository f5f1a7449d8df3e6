"""An index that is appended to, amended and vacuumed slot after slot.

It is asked everything after each step.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
from pathlib import Path
from typing import Any

import pyarrow as pa

import wavedex as wx
from wavedex.engine.techniques import TECHNIQUES
from wavedex.plan import SCHEMES
from wavedex.testing.crashes import unnamed_files
from wavedex.testing.oracle import Oracle, same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])
WINDOW, INDEXES, LAST = 6, 3, 15
KEYS = range(9)
GROWING = [name for name, technique in TECHNIQUES.items() if technique.writes_into_files]
WHOLE = [name for name in TECHNIQUES if name not in GROWING]
CASES = [
    (scheme, update)
    for scheme, kind in SCHEMES.items()
    for update in TECHNIQUES
    if update in WHOLE or not kind.needs_delete
]


def rows_of(slot: int, late: bool = False) -> list[dict[str, Any]]:
    rnd = random.Random(slot * 2 + late)
    count = 2 if late else rnd.randrange(1, 8)
    return [
        {
            "k": rnd.choice(KEYS),
            "t": slot * 10 + rnd.randrange(10),
            "v": f"{slot}{'late' * late}/{n}",
        }
        for n in range(count)
    ]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def options_of(scheme: str) -> dict[str, Any]:
    if scheme.endswith("-bounded"):
        return {"max_size": 8 * WINDOW}
    if scheme.endswith("-offline"):
        return {"sizes": {slot: len(rows_of(slot)) for slot in range(1, LAST + 1)}}
    return {}


def create(path: Path, format_: str, scheme: str, update: str, **more: Any) -> wx.WaveIndex:
    options = {"shards": 2, "keep_commits": 3, **options_of(scheme), **more}
    return wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=WINDOW, indexes=INDEXES, scheme=scheme,
        update=update, format=format_, **options,
    )  # fmt: skip


def oracle() -> Oracle:
    return Oracle(WINDOW, "k", lambda row: row["t"] // 10)


def check(asked: wx.WaveIndex | wx.Snapshot, truth: Oracle) -> None:
    assert same_rows(asked.scan().read_all().to_pylist(), truth.rows())
    for key in (0, 3, 99):
        assert same_rows(asked.probe(key).to_pylist(), truth.probe(key))
    some = [0, 4, 99, 7]
    expected = truth.rows(lambda row: row["k"] in some)
    assert same_rows(asked.probe_many(some).to_pylist(), expected)
    assert same_rows(
        asked.probe_range(2, 6).to_pylist(), truth.rows(lambda row: 2 <= row["k"] <= 6)
    )
    assert asked.probe_range(6, 2).num_rows == 0
    since, until = asked.slots[1], asked.slots[-2]

    def inside(row: dict[str, Any]) -> bool:
        return since <= row["t"] // 10 <= until

    found = asked.scan(since, until, columns=["v"]).read_all().to_pylist()
    assert same_rows(found, [{"v": row["v"]} for row in truth.rows(inside)])
    assert same_rows(asked.probe(4, since, until).to_pylist(), truth.probe(4, inside))
    found = asked.probe_many(list(KEYS), since, until).to_pylist()
    assert same_rows(found, truth.rows(inside))


def walk(index: wx.WaveIndex, every: int = 1) -> None:
    """Append slots one by one, one of them after a gap, and ask all the time.

    Amend, hold snapshots, clear away, reopen. Everything is asked after each slot, or after every
    so many.
    """
    truth, held = oracle(), []
    reader = wx.open(index.path)
    for slot in range(1, LAST + 1):
        if slot == 9 and not index.definition.scheme.weighs:
            continue
        index.append(table(rows_of(slot)))
        truth.append(rows_of(slot), slot)
        if slot % 4 == 3:
            late = [row for each in (slot, slot - 1) for row in rows_of(each, late=True)]
            index.amend(table(late))
            truth.amend(late)
        if slot % 5 == 2:
            then = oracle()
            then.slots = {each: list(rows) for each, rows in truth.slots.items()}
            held.append((index.snapshot(), then))
        if slot % 6 == 5:
            index.vacuum()
            index = wx.open(index.path)
        if slot % every:
            continue
        index.verify()
        for asked in (index, reader):
            check(asked, truth)
        for snapshot, then in held:
            check(snapshot, then)
    held.clear()
    del reader
    index.vacuum()
    check(index, truth)
    index.verify()
    assert not unnamed_files(Path(index.path))


D = decimal.Decimal
KEY_TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [-128, -1, 0, 127]),
    "uint64": (pa.uint64(), [0, 1, 2**63 - 1, 2**63, 2**64 - 1]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 2**63 - 1]),
    "text": (
        pa.string(),
        ["", " a", "A", "Z", "a", "a ", "aa", "b", "z", "\x7f", "é", "𐍈", "\uffee"],
    ),
    "large text": (pa.large_string(), ["a", "b", "ß"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x00\x00", b"a", b"\xff"]),
    "bool": (pa.bool_(), [False, True]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2026, 2, 3)]),
    "instant": (
        pa.timestamp("ns", "UTC"),
        [dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, 0, 0, 1, tzinfo=dt.UTC)],
    ),
    "decimal": (pa.decimal128(9, 2), [D("-12.34"), D("-0.01"), D("0.00"), D("5.60")]),
    "wide decimal": (
        pa.decimal128(38, 3),
        [D("-99999999999999999999.001"), D("-0.001"), D("0.000"), D("88888888888888888888.888")],
    ),
}


def order_of(key: Any) -> Any:
    """By what keys sort: text by its bytes."""
    return key.encode() if isinstance(key, str) else key


def check_keys(path: Path, kind: pa.DataType, keys: list[Any], **how: Any) -> None:
    """Keys of a type are found one by one, together and between any two, while rows are added."""
    schema = pa.schema([("k", kind), ("t", pa.int32()), ("n", pa.int64())])
    index = wx.WaveIndex.create(
        path, schema, key="k", time="t", slot=1, window=4, indexes=2, scheme="wata", shards=1, **how
    )
    for slot in (1, 2, 3):
        columns = [pa.array(keys, kind), pa.array([slot] * len(keys), pa.int32())]
        index.append(pa.table([*columns, pa.array(range(len(keys)))], schema=schema))
    index.verify()
    for key in keys:
        assert index.probe(key)["k"].to_pylist() == [key] * 3
        assert index.probe(key, 2, 2).num_rows == 1
    assert index.probe_many(keys).num_rows == 3 * len(keys)
    for low in keys:
        for high in keys:
            between = [k for k in keys if order_of(low) <= order_of(k) <= order_of(high)]
            found = sorted(index.probe_range(low, high, 1, 1)["k"].to_pylist(), key=order_of)
            assert found == sorted(between, key=order_of), (low, high)


VALUES = pa.schema(
    [
        ("who", pa.string()), ("where", pa.int32()), ("at", pa.timestamp("us")),
        ("f", pa.float64()), ("g", pa.float32()), ("u", pa.uint64()), ("flag", pa.bool_()),
        ("day", pa.date64()),
        ("price", pa.decimal128(12, 2)), ("sum", pa.decimal256(50, 4)), ("raw", pa.large_binary()),
        ("four", pa.binary(4)), ("took", pa.duration("ns")), ("clock", pa.time64("us")),
        ("kind", pa.dictionary(pa.int32(), pa.string())), ("small", pa.int8()),
        ('"odd name"', pa.string()),
    ]
)  # fmt: skip
"""Every type that a package may have, with a key of two columns."""


def values_of(day: int) -> pa.Table:
    """Rows with all the values that a database might take for others, and a row of nulls."""
    at = dt.datetime(2026, 1, day)
    full = [
        ["é", 7, at, -0.0, float("nan"), 2**64 - 1, True, dt.date(2026, 1, 1), D("-1.25"),
         D("1e40"), b"\0", b"\0abc", dt.timedelta(seconds=-1), dt.time(23, 59), "new", -128, "x"],
        ["", -7, at, float("nan"), -0.0, 2**63, False, dt.date(1900, 1, 1), D("0.00"),
         D("-0.0001"), b"", b"zzzz", dt.timedelta(0), dt.time(0), "old", 127, ""],
        ["a", 0, at, float("inf"), 1.5, 0, True, dt.date(1970, 1, 1), D("9.99"),
         D(0), b"\xff", b"\xff" * 4, dt.timedelta(days=1), dt.time(12), "new", 0, "quote ' and \""],
        ["a", 0, at + dt.timedelta(hours=1), *[None] * 14],
    ]  # fmt: skip
    columns = [
        pa.array(values, field.type.value_type).dictionary_encode()
        if pa.types.is_dictionary(field.type)
        else pa.array(values, field.type)
        for values, field in zip(zip(*full, strict=True), VALUES, strict=True)
    ]
    return pa.table(columns, schema=VALUES)


def check_values(path: Path, **how: Any) -> None:
    """Rows of every type come back as they were, bit for bit, by keys of two columns too."""
    index = wx.WaveIndex.create(
        path,
        VALUES,
        key=["who", "where"],
        time="at",
        slot="1 day",
        window=3,
        indexes=2,
        shards=2,
        **how,
    )
    for day in (1, 2, 3, 4):
        index.append(values_of(day))
    index.verify()
    found = index.scan().read_all()
    assert found.schema == VALUES
    expected = [row for day in (2, 3, 4) for row in values_of(day).to_pylist()]
    assert same_rows(found.to_pylist(), expected)  # By their text, so that -0.0 is not 0.0.
    assert index.probe(("a", 0)).num_rows == 6
    assert index.probe_many([("é", 7), ("", -7), ("é", -7)]).num_rows == 6
    keys = [("", -7), ("a", 0), ("é", 7)]
    for low in keys:
        for high in keys:
            between = [k for k in keys if low <= k <= high]
            rows = index.probe_range(low, high).to_pylist()
            assert {(row["who"], row["where"]) for row in rows} == set(between)
    labels = index.scan(columns=["kind"], dictionaries=True).read_all()["kind"].to_pylist()
    assert sorted(label or "" for label in labels) == sorted(["new", "old", "new", ""] * 3)


def check_stream(path: Path, **how: Any) -> None:
    """A stream fills open slots.

    When they are sealed they leave the delta, which is written anew without them.
    """
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=4, indexes=2, shards=2, **how
    )
    kept: list[dict[str, Any]] = []
    for number in range(30):
        rows = [{"k": n, "t": number * 4 + n, "v": f"{number}/{n}"} for n in range(3)]
        index.feed(table(rows), stream="s", number=number, delay=15)
        assert index.feed(table(rows), stream="s", number=number, delay=15).rows == 0
        kept += rows
        window = index.slots
        expected = [row for row in kept if row["t"] // 10 in window]
        assert same_rows(index.scan().read_all().to_pylist(), expected)
        index.verify()
    assert index.describe()["open"]["rows"] > 0
    assert len(window) > 4


def check_changes(path: Path, **how: Any) -> None:
    """What was appended and amended comes out of the feed of changes, once."""
    index = create(path, how.pop("format"), "wata", how.pop("update"), keep_commits=50, **how)
    for slot in (1, 2):
        index.append(table(rows_of(slot)))
    before = index.snapshot().commit
    late = [row for _ in range(3) for row in rows_of(2, late=True)]
    index.amend(table(late))
    changes = index.changes(before).read_all().drop_columns(["_commit"]).to_pylist()
    assert same_rows(changes, [{**row, "_change": 1} for row in late])


def check_odd_names(path: Path, format: str) -> None:  # noqa: A002 - as everywhere
    """Columns that are called as a query might call its own values.

    They are looked up, all at once, and erased.
    """
    names = ["k0", "k1", "wanted", "Wanted_0", "wanted__1", "entries", "v0", "order"]
    schema = pa.schema([("t", pa.int64()), *((name, pa.int64()) for name in names)])
    index = wx.WaveIndex.create(
        path, schema, key=["k1", "wanted"], time="t", slot=10, window=3, format=format
    )
    rows = [{"t": slot * 10, **dict.fromkeys(names, slot)} for slot in (1, 2, 3)]
    for row in rows:
        index.append(pa.Table.from_pylist([row], schema))
    assert same_rows(index.probe_many([(1, 1), (3, 3), (1, 3)]).to_pylist(), [rows[0], rows[2]])
    assert same_rows(index.probe_range((2, 0), (3, 3)).to_pylist(), rows[1:])
    assert index.erase([(2, 2)]).rows == 1
    assert same_rows(index.scan().read_all().to_pylist(), [rows[0], rows[2]])
