"""Every type that may be a key is found again, and hashes as Spark's bytes do.

It refuses what is not of its type.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash

import wavedex as wx
from kit.matrix import in_turn
from kit.ways import WAYS
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.log.manifest import Log
from wavedex.rows.keys import key_type
from wavedex.store.formats import open_shard
from wavedex.testing.oracle import Oracle, same_rows

D = decimal.Decimal
UTC = dt.UTC
WIDE = decimal.Context(prec=76)
WINDOW, SLOTS, SHARDS = 3, 6, 3


def four(number: int) -> bytes:
    return struct.pack("<I", int(number) & 0xFFFFFFFF)


def eight(number: int) -> bytes:
    return struct.pack("<Q", int(number) & 0xFFFFFFFFFFFFFFFF)


def micros(moment: dt.datetime) -> bytes:
    epoch = dt.datetime(1970, 1, 1, tzinfo=moment.tzinfo and UTC)
    return eight((moment - epoch) // dt.timedelta(microseconds=1))


def days(day: dt.date) -> bytes:
    return four((day - dt.date(1970, 1, 1)).days)


def big_integer(scale: int):
    """As Java's BigInteger.toByteArray writes the unscaled number."""

    def to_bytes(value: D) -> bytes:
        number = int(D(value).scaleb(scale, WIDE))
        length = 1
        while not -(1 << (8 * length - 1)) <= number < 1 << (8 * length - 1):
            length += 1
        return number.to_bytes(length, "big", signed=True)

    return to_bytes


@dataclass(frozen=True)
class Kind:
    """A key type.

    Its keys in their order, some that are absent, some that are of the wrong type, Spark's bytes.
    """

    arrow: pa.DataType
    keys: list[Any]
    absent: list[Any]
    spark: Any
    wrong: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        return str(self.arrow)


def integer(arrow: pa.DataType, as_bytes) -> Kind:
    limits = np.iinfo(arrow.to_pandas_dtype())
    least, most = int(limits.min), int(limits.max)
    keys = sorted({least, least + 1, 0, 1, 2, 7, most // 2, most - 1, most})
    wrong = [most + 1, least - 1, 1.0, "1", b"1", None, True, np.bool_(True), D(1), dt.date.max]
    return Kind(arrow, keys, [5, most // 3, np.int8(9)], as_bytes, wrong)


TEXTS = [
    "",
    " ",
    "A",
    "a",
    "ab",
    "a" * 31,
    "a" * 32,
    "a" * 700,
    "é",
    "e\u0301",
    "日本",
    "\U0001f600",
    "\0",
]
DAYS = [
    dt.date(1, 1, 1),
    dt.date(1969, 12, 31),
    dt.date(1970, 1, 1),
    dt.date(2024, 2, 29),
    dt.date.max,
]
MOMENTS = [
    dt.datetime(1677, 9, 22),
    dt.datetime(1969, 12, 31, 23, 59, 59),
    dt.datetime(1970, 1, 1),
    dt.datetime(2024, 2, 29, 12, 30, 1),
    dt.datetime(2262, 4, 11),
]
ZONED = [moment.replace(tzinfo=UTC) for moment in MOMENTS]


def by_bytes(value) -> bytes:
    return value.encode() if isinstance(value, str) else value


def text(arrow: pa.DataType) -> Kind:
    keys = sorted(TEXTS, key=str.encode)
    return Kind(arrow, keys, ["b", "aa", "a" * 699], by_bytes, [b"a", 1, None, ["a"]])


def binary(arrow: pa.DataType) -> Kind:
    keys = sorted([by_bytes(value) for value in TEXTS] + [b"\xff\x00", b"\x80"])
    return Kind(arrow, keys, [b"b", b"\xff"], by_bytes, ["a", 1, None, [1]])


def date(arrow: pa.DataType) -> Kind:
    wrong = [dt.datetime(2024, 2, 29), "2024-02-29", 5, None]
    return Kind(arrow, DAYS, [dt.date(2000, 1, 1)], days, wrong)


def moment(unit: str, zone: str | None) -> Kind:
    keys, others = (ZONED, MOMENTS) if zone else (MOMENTS, ZONED)
    finer = [] if unit == "s" else [keys[2] + dt.timedelta(milliseconds=1)]
    if unit in ("us", "ns"):
        finer.append(keys[2] + dt.timedelta(microseconds=1))
    absent = [keys[2] + dt.timedelta(seconds=7)]
    wrong = [others[2], dt.date(1970, 1, 1), "1970-01-01", 0, None, np.datetime64("NaT")]
    return Kind(pa.timestamp(unit, zone), sorted(keys + finer), absent, micros, wrong)


def amount(precision: int, scale: int, as_bytes) -> Kind:
    step = D(1).scaleb(-scale)
    most = D(10**precision - 1).scaleb(-scale, WIDE)
    keys = [
        WIDE.minus(most),
        -step * 129,
        -step * 128,
        -step,
        step * 0,
        step,
        step * 127,
        step * 128,
        most,
    ]
    wrong = [WIDE.add(most, 1), step / 10, 1.5, "1", None, True, D("NaN"), D("Infinity")]
    return Kind(
        pa.decimal128(precision, scale),
        keys,
        [step * 3, 7 if scale < 3 else D(0.5)],
        as_bytes,
        wrong,
    )


def unscaled(scale: int):
    return lambda value: eight(D(value).scaleb(scale, WIDE))


KINDS = [
    integer(pa.int8(), four),
    integer(pa.int16(), four),
    integer(pa.int32(), four),
    integer(pa.int64(), eight),
    integer(pa.uint8(), four),
    integer(pa.uint16(), four),
    integer(pa.uint32(), eight),
    integer(pa.uint64(), eight),
    text(pa.string()),
    text(pa.large_string()),
    binary(pa.binary()),
    binary(pa.large_binary()),
    date(pa.date32()),
    date(pa.date64()),
    *(moment(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    moment("us", "Europe/Berlin"),
    amount(9, 2, unscaled(2)),
    amount(18, 0, unscaled(0)),
    amount(19, 2, big_integer(2)),
    amount(38, 10, big_integer(10)),
    Kind(pa.bool_(), [False, True], [], lambda value: four(value), [0, 1, "true", None]),
]  # fmt: skip


def comparable(value):
    # Arrow hands out nanoseconds as pandas' Timestamp.
    value = value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    return value.astimezone(UTC) if isinstance(value, dt.datetime) and value.tzinfo else value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "way", "scheme"),
    in_turn(["wata", "del"], KINDS, [*TECHNIQUES, "runs in parquet"]),
    ids=str,
)
def test_keys_of_every_type_are_found_as_a_dictionary_finds_them(tmp_path, kind, way, scheme):
    schema = pa.schema([("k", kind.arrow), ("t", pa.int64()), ("n", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=10, window=WINDOW, indexes=2,
        scheme=scheme, shards=SHARDS, first_room=1, **WAYS[way],
    )  # fmt: skip
    oracle = Oracle(WINDOW, "k", lambda row: row["t"] // 10)
    serial = 0
    for slot in range(SLOTS):
        rows = []
        for place, key in enumerate(kind.keys):
            for _ in range((slot + place) % 3):
                rows.append({"k": key, "t": slot * 10 + serial % 10, "n": serial})
                serial += 1
        index.append(pa.Table.from_pylist(rows, schema))
        oracle.append(rows, slot)
    index.verify()
    for asked in (wx.open(tmp_path / "x"), index.snapshot()):
        check(asked, kind, oracle)
    check_placement(index, kind)


def numbers(table: pa.Table) -> list[int]:
    return sorted(table["n"].to_pylist())


def expected(rows: list[dict]) -> list[int]:
    return sorted(row["n"] for row in rows)


def check(asked, kind: Kind, oracle: Oracle) -> None:
    found = asked.scan().read_all()
    assert found.schema.field("k").type == kind.arrow
    plain = [{**row, "k": comparable(row["k"])} for row in found.to_pylist()]
    assert same_rows(plain, [{**row, "k": comparable(row["k"])} for row in oracle.rows()])
    for key in kind.keys:
        assert numbers(asked.probe(key)) == expected(oracle.probe(key)), key
        newest = oracle.newest
        timed = asked.probe(key, newest - 1, newest - 1)
        assert numbers(timed) == expected(
            oracle.probe(key, lambda row, at=newest - 1: row["t"] // 10 == at)
        )
    for key in kind.absent:
        assert asked.probe(key).num_rows == 0, key
    some = [*kind.keys[::2], *kind.absent, kind.keys[0]]
    wanted = expected(oracle.rows(lambda row: row["k"] in kind.keys[::2]))
    assert numbers(asked.probe_many(some)) == wanted
    assert numbers(asked.probe_many(pa.array(kind.keys[::2], kind.arrow))) == wanted
    assert numbers(asked.probe_many(iter(pa.chunked_array([kind.keys[::2]], kind.arrow)))) == wanted
    assert asked.probe_many([]).num_rows == 0
    for low in range(len(kind.keys)):
        for high in (low, len(kind.keys) - 1, low - 1):
            between = set(map(repr, kind.keys[low : high + 1]))
            answer = asked.probe_range(kind.keys[low], kind.keys[high])
            if high < low:
                between = set() if high >= 0 else set(map(repr, kind.keys[low:]))
            rows = oracle.rows(lambda row, between=between: repr(row["k"]) in between)
            assert numbers(answer) == expected(rows), (kind.keys[low], kind.keys[high])


def check_placement(index: wx.WaveIndex, kind: Kind) -> None:
    """Every row lies in the shard of pmod(xxhash64(key), shards)."""
    files = Files(index.path)
    spec = index.definition.spec
    for sub in Log(files).latest().indexes.values():
        for shard, parts in enumerate(sub.shards):
            for part in parts:
                for key in open_shard(files, spec, part).scan(None).column("k").to_pylist():
                    hashed = xxhash.xxh64_intdigest(kind.spark(comparable(key)), 42)
                    signed = hashed - 2**64 if hashed >= 2**63 else hashed
                    assert signed % SHARDS == shard, key


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_hash_of_a_key_is_that_of_sparks_bytes_one_by_one_and_in_columns(kind):
    keys = key_type(kind.arrow)
    values = [*kind.keys, *kind.absent]
    hashes = [xxhash.xxh64_intdigest(kind.spark(value), 42) for value in values]
    assert [keys.hash(keys.plain(value)) for value in values] == hashes
    column = keys.array(values)
    assert column.type == kind.arrow
    assert keys.hash_array(column).tolist() == hashes
    assert keys.hash_array(column[1:]).tolist() == hashes[1:]
    reader = keys.reader(column)
    assert [reader(row) for row in range(len(values))] == list(map(keys.plain, values))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_plain_form_and_the_codes_of_keys_sort_as_the_keys_do(kind):
    keys = key_type(kind.arrow)
    plain = [keys.plain(value) for value in kind.keys]
    assert plain == sorted(plain)
    codes = keys.ranks(keys.array(kind.keys[::-1])).tolist()
    assert codes == sorted(set(codes), reverse=True)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_key_of_another_type_is_refused_by_name(tmp_path, kind):
    schema = pa.schema([("k", kind.arrow), ("t", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=10, window=2, indexes=2
    )
    index.append(pa.Table.from_pylist([{"k": kind.keys[0], "t": 1}], schema))
    for wrong in kind.wrong:
        with pytest.raises(wx.errors.BadKey):
            index.probe(wrong)
        with pytest.raises(wx.errors.BadKey):
            index.probe_many([kind.keys[0], wrong])
        with pytest.raises(wx.errors.BadKey):
            index.probe_range(wrong, kind.keys[0])
        with pytest.raises(wx.errors.BadKey):
            index.probe_range(kind.keys[0], wrong)


@pytest.mark.parametrize(
    "arrow",
    [pa.float32(), pa.float64(), pa.list_(pa.float64()), pa.list_(pa.list_(pa.int64())),
     pa.struct([("a", pa.int64())]), pa.null(), pa.duration("s"), pa.time32("s"),
     pa.decimal256(50, 2), pa.dictionary(pa.int8(), pa.string())],
    ids=str,
)  # fmt: skip
def test_a_column_that_is_no_good_as_a_key_is_refused_when_the_index_is_created(tmp_path, arrow):
    schema = pa.schema([("k", arrow), ("t", pa.int64())])
    with pytest.raises(wx.errors.BadDefinition, match="cannot be a key"):
        wx.WaveIndex.create(tmp_path / "x", schema, key="k", time="t", slot=10, window=2)
    assert not (tmp_path / "x").exists()


def test_keys_of_other_kinds_of_number_are_found_too(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=10, window=2, indexes=2
    )
    index.append(pa.Table.from_pylist([{"k": 7, "t": 1}], schema))
    for seven in (7, np.int8(7), np.uint64(7)):
        assert index.probe(seven).num_rows == 1
    assert index.probe_many(np.array([7, 8])).num_rows == 1
    assert index.probe_many(pa.array([7, 8], pa.int8())).num_rows == 1
    assert index.probe_many({7, 8}).num_rows == 1


def test_an_instant_is_the_same_key_in_every_zone(tmp_path):
    schema = pa.schema([("k", pa.timestamp("us", "Europe/Berlin")), ("t", pa.int64())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=10, window=2, indexes=2
    )
    noon = dt.datetime(2024, 7, 1, 12, tzinfo=UTC)
    index.append(pa.Table.from_pylist([{"k": noon, "t": 1}], schema))
    for hours in (-11, 0, 2, 14):
        assert index.probe(noon.astimezone(dt.timezone(dt.timedelta(hours=hours)))).num_rows == 1
    assert index.probe(noon.replace(tzinfo=dt.timezone(dt.timedelta(hours=2)))).num_rows == 0
