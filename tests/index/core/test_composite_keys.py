"""Keys of several columns: tuples, found, ranged over and spread over shards as Spark does."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from kit.matrix import examples
from kit.ways import WAYS
from wavedex import errors
from wavedex.rows.composite import CompositeKey
from wavedex.testing.oracle import Oracle, same_rows

SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        ("shop", pa.string()),
        ("item", pa.int32()),
        ("day", pa.date32()),
        ("v", pa.string()),
    ]
)
KEY = ["shop", "item", "day"]
SHOPS = ["", "é", "north", "north-east", "south"]
DAYS = [dt.date(1969, 12, 31), dt.date(2026, 1, 1), dt.date(2026, 1, 2)]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def key_of(row: dict) -> tuple:
    return tuple(row[name] for name in KEY)


def make(path: Path, **options) -> wx.WaveIndex:
    options = {"window": 4, "indexes": 2, "shards": 3, "first_room": 1, **options}
    return wx.WaveIndex.create(path, SCHEMA, key=KEY, time="t", slot=10, **options)


def table(rows: list[dict], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


class KeyOracle(Oracle):
    """The dictionary, asked by whole keys."""

    def __init__(self) -> None:
        super().__init__(4, "shop", lambda row: row["t"] // 10)

    def of(self, wanted) -> list[dict]:
        return self.rows(lambda row: wanted(key_of(row)))


keys = st.tuples(st.sampled_from(SHOPS), st.sampled_from([-2, 0, 7]), st.sampled_from(DAYS))
batches = st.lists(
    st.lists(st.tuples(keys, st.integers(0, 9)), min_size=1, max_size=8), min_size=1, max_size=7
)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@examples(8)
@given(
    batches=batches,
    late=st.lists(st.tuples(keys, st.integers(0, 9)), max_size=4),
    low=keys,
    high=keys,
)
def test_tuples_are_found_as_a_dictionary_finds_them(way, batches, late, low, high):
    folder = Path(tempfile.mkdtemp())
    index, oracle = make(folder / "x", **WAYS[way]), KeyOracle()
    serial = itertools.count()

    def rows(slot: int, drawn) -> list[dict]:
        return [
            {"t": slot * 10 + at, **dict(zip(KEY, key, strict=True)), "v": str(next(serial))}
            for key, at in drawn
        ]

    for slot, drawn in enumerate(batches):
        arriving = rows(slot, drawn)
        index.append(table(arriving))
        oracle.append(arriving, slot)
    if late:
        added = rows(len(batches) - 1, late)
        index.amend(table(added))
        oracle.amend(added)
    index = wx.open(folder / "x")
    index.verify()
    assert same_rows(index.scan().read_all().to_pylist(), oracle.rows())
    asked = sorted({key_of(row) for row in oracle.rows()} | {low, high})
    for key in asked:
        found = index.probe(key).to_pylist()
        assert same_rows(found, oracle.of(lambda each, key=key: each == key))
        assert same_rows(found, index.probe(list(key)).to_pylist())
    some = [*asked[::2], asked[0], low]
    assert same_rows(index.probe_many(some).to_pylist(), oracle.of(lambda key: key in some))
    last = len(batches) - 1
    assert same_rows(
        index.probe_many(asked, since=last).to_pylist(),
        oracle.rows(lambda row: row["t"] // 10 == last),
    )
    low, high = sorted([low, high])
    between = index.probe_range(low, high).to_pylist()
    assert same_rows(between, oracle.of(lambda key: low <= key <= high))
    shutil.rmtree(folder)


TYPES = {
    "int8 and text": ([pa.int8(), pa.string()], [(-1, "a"), (-1, "b"), (5, "")]),
    "large text and bytes": (
        [pa.large_string(), pa.binary()],
        [("ab", b"\xff"), ("a", b"b\xff"), ("a", b"")],
    ),
    "dates and times": (
        [pa.date32(), pa.timestamp("us", "UTC")],
        [(dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
         (dt.date(2026, 1, 1), dt.datetime(1960, 1, 1, tzinfo=dt.UTC))],
    ),
    "decimals and booleans": (
        [pa.decimal128(25, 2), pa.bool_(), pa.decimal128(5, 2)],
        [(decimal.Decimal("-1.50"), True, decimal.Decimal("1.00")),
         (decimal.Decimal("99999999999999999999.25"), False, decimal.Decimal("1.00"))],
    ),
    "unsigned numbers": ([pa.uint64(), pa.uint8()], [(2**64 - 1, 255), (0, 1), (2**63, 0)]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TYPES)
def test_columns_of_any_key_type_can_be_combined(tmp_path, name, way):
    types, values = TYPES[name]
    names = [f"k{place}" for place in range(len(types))]
    schema = pa.schema([*zip(names, types, strict=True), ("v", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key=names, window=3, indexes=2, shards=2, **WAYS[way]
    )
    for slot in range(4):
        index.append(
            table([dict(zip(names, key, strict=True), v=slot) for key in values], schema), slot=slot
        )
    index.verify()
    for key in values:
        assert sorted(index.probe(key)["v"].to_pylist()) == [1, 2, 3]
        assert index.probe_range(key, key).num_rows == 3
    ordered = sorted(values)
    assert index.probe_range(ordered[0], ordered[-1]).num_rows == 3 * len(values)
    assert index.probe_many(values[:1] * 2, since=3).num_rows == 1
    absent = (*values[0][:-1], values[1][-1])
    assert index.probe(absent).num_rows == (3 if absent in values else 0)


def spark_hash(row: tuple, types: list[pa.DataType]) -> int:
    """What Spark's xxhash64 of several columns is: each column's hash seeds the next one."""
    seed = 42
    for value, kind in zip(row, types, strict=True):
        if pa.types.is_string(kind):
            data = value.encode()
        elif pa.types.is_date32(kind):
            data = (value - dt.date(1970, 1, 1)).days.to_bytes(4, "little", signed=True)
        else:
            width = 8 if kind == pa.int64() else 4
            data = int(value).to_bytes(width, "little", signed=True)
        seed = xxhash.xxh64_intdigest(data, seed)
    return seed


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.text(max_size=70),
            st.integers(-(2**31), 2**31 - 1),
            st.integers(-(2**63), 2**63 - 1),
            st.dates(),
            st.booleans(),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_hashes_are_chained_as_spark_chains_them(rows):
    types = [pa.string(), pa.int32(), pa.int64(), pa.date32(), pa.bool_()]
    fields = [pa.field(f"k{place}", kind) for place, kind in enumerate(types)]
    key_type = CompositeKey(fields)
    expected = [spark_hash(row, types) for row in rows]
    assert [key_type.hash(key_type.plain(row)) for row in rows] == expected
    column = key_type.array(rows)
    assert key_type.hash_array(column).tolist() == expected
    middle = len(rows) // 2
    assert key_type.hash_array(column.slice(middle)).tolist() == expected[middle:]
    plain = [key_type.plain(row) for row in rows]
    read = key_type.reader(column)
    assert [read(place) for place in range(len(rows))] == plain
    order = np.argsort(key_type.ranks(column), kind="stable").tolist()
    assert order == sorted(range(len(rows)), key=lambda place: plain[place])
    assert sorted(map(repr, key_type.distinct(column).to_pylist())) == sorted(
        {repr(each) for each in column.to_pylist()}
    )


NO_KEYS = {
    "one value": "north",
    "too few": ("north", 7),
    "too many": ("north", 7, DAYS[0], 1),
    "a set": {"north", 7},
    "nothing": None,
    "a text of three": "abc",
}


@pytest.mark.parametrize("name", NO_KEYS)
def test_a_key_of_another_shape_is_refused_with_the_shape_of_keys(tmp_path, name):
    index, wrong = make(tmp_path / "x"), NO_KEYS[name]
    said = r"whose keys have 3 values\. Pass a tuple of \(shop, item, day\)"
    for ask in (
        lambda: index.probe(wrong),
        lambda: index.probe_many([wrong]),
        lambda: index.probe_range(("a", 1, DAYS[0]), wrong),
    ):
        with pytest.raises(errors.BadKey, match=said):
            ask()


@pytest.mark.parametrize(
    "wrong",
    [(7, 7, DAYS[0]), ("north", "7", DAYS[0]), ("north", 2**40, DAYS[0]), ("north", 7, None)],
)
def test_a_value_of_another_type_is_refused(tmp_path, wrong):
    index = make(tmp_path / "x")
    with pytest.raises(errors.BadKey):
        index.probe(wrong)
    with pytest.raises(errors.BadKey):
        index.probe_many([("north", 7, DAYS[0]), wrong])


def test_a_column_of_structs_is_several_keys_by_the_names_of_its_fields(tmp_path):
    index = make(tmp_path / "x")
    rows = [
        {"t": n, "shop": SHOPS[n % 5], "item": n % 2, "day": DAYS[n % 3], "v": "x"}
        for n in range(10)
    ]
    index.append(table(rows))
    other_way_round = [{"more": 1, **{name: row[name] for name in KEY[::-1]}} for row in rows[2:9]]
    structs = pa.array(other_way_round)
    expected = [row for row in rows if key_of(row) in {key_of(each) for each in rows[4:9]}]
    for several in (structs.slice(2), pa.chunked_array([structs.slice(2, 3), structs.slice(5)])):
        assert same_rows(index.probe_many(several).to_pylist(), expected)
    nulls = pa.array([None, *other_way_round]), pa.array([{**other_way_round[0], "shop": None}])
    for wrong in (*nulls, structs.flatten()[0], pa.array([{"shop": "a", "item": 1}])):
        with pytest.raises(errors.BadKey):
            index.probe_many(wrong)
    own = index.definition.spec.key_type
    whole = own.array([key_of(row) for row in rows])
    assert own.array(whole).equals(whole)


def test_one_tuple_is_not_several_keys(tmp_path):
    with pytest.raises(errors.BadKey, match="Pass a tuple of"):
        make(tmp_path / "x").probe_many(("north", 7, DAYS[0]))


@pytest.mark.parametrize("lacking", KEY)
def test_a_null_in_any_column_is_no_key(tmp_path, lacking):
    whole = {"t": 1, "shop": "north", "item": 7, "day": DAYS[1], "v": "x"}
    batch = table([whole, {**whole, lacking: None}, {**whole, "shop": None, lacking: None}])
    strict = make(tmp_path / "strict")
    with pytest.raises(
        errors.NullKeys, match="2 of 3 rows have no 'shop' or no 'item' or no 'day'"
    ):
        strict.append(batch)
    lenient = make(tmp_path / "lenient", nulls="skip")
    done = lenient.append(batch)
    assert (done.rows, done.null_keys) == (1, 2)
    assert lenient.probe(key_of(whole)).to_pylist() == [whole]


def test_a_composite_key_is_kept_named_and_included(tmp_path):
    index = make(tmp_path / "x", include=["v"])
    assert index.schema.names == SCHEMA.names
    narrow = make(tmp_path / "y", include=[])
    assert narrow.schema.names == ["t", "shop", "item", "day"]
    assert index.describe()["key"] == KEY
    assert json.loads((tmp_path / "x" / "index.json").read_text())["key"] == KEY
    single = wx.WaveIndex.create(tmp_path / "z", SCHEMA, key=["shop"], time="t", slot=10, window=4)
    single.append(table([{"t": 1, "shop": "a", "item": 1, "day": DAYS[0], "v": "x"}]))
    assert single.describe()["key"] == "shop"
    assert single.probe("a").num_rows == 1


def test_a_float_among_the_columns_is_refused(tmp_path):
    schema = pa.schema([("a", pa.int64()), ("b", pa.float64())])
    with pytest.raises(errors.BadDefinition):
        wx.WaveIndex.create(tmp_path / "x", schema, key=["a", "b"], window=3)


def test_the_same_rows_again_are_passed_over(tmp_path):
    index = make(tmp_path / "x")
    rows = [
        {"t": 1, "shop": shop, "item": item, "day": DAYS[0], "v": None}
        for shop in SHOPS
        for item in range(3)
    ]
    first = index.append(table(rows))
    again = index.append(table(rows[::-1]))
    assert (len(first.slots), again.slots, again.commit) == (1, [], index.snapshot().commit)


def test_keys_can_be_written_in_a_shell(tmp_path):
    key_type = make(tmp_path / "x").definition.spec.key_type
    assert key_type.parse("north,7,2026-01-01") == ("north", 7, DAYS[1])
    assert key_type.parse('["a,b", 7, "2026-01-01"]') == ("a,b", 7, DAYS[1])
    for wrong in (
        "north",
        "north,7",
        "[1",
        "a,b,c,d",
        "north,x,2026-01-01",
        '[null, 7, "2026-01-01"]',
    ):
        with pytest.raises(errors.BadKey):
            key_type.parse(wrong)
