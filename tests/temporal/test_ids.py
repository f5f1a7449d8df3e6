"""Ids of every type become numbers and come back, and times become versions."""

import datetime as dt
import decimal
import random

import numpy as np
import pyarrow as pa
import pytest

from wavedex.errors import BadDefinition, BadKey, BadTime, SchemaMismatch
from wavedex.temporal.ids.catalogue import ids_of, kept_type, type_of_id
from wavedex.temporal.instants import Instants, type_of_time

PAIR = pa.struct([("street", pa.string()), ("number", pa.int64())])
VALUES = {
    pa.string(): ["", *("a" * i + str(i) for i in range(60))],
    pa.large_binary(): [bytes([i] * i) for i in range(60)],
    pa.int32(): [*range(-30, 30)],
    pa.uint64(): [0, 1, 2**63, 2**64 - 1],
    pa.uint8(): [0, 1, 255],
    pa.bool_(): [True, False],
    pa.date32(): [dt.date(2020, 1, day) for day in range(1, 20)],
    pa.timestamp("us", "UTC"): [dt.datetime(2020, 1, day, tzinfo=dt.UTC) for day in range(1, 20)],
    pa.decimal128(20, 2): [decimal.Decimal(i) / 4 for i in range(-100, 100, 4)],
    PAIR: [("x" * (i % 3), i % 7) for i in range(40)],
}


def column(values, kind):
    if kind == PAIR:
        values = [dict(zip(("street", "number"), value, strict=True)) for value in values]
    return pa.array(values, kind)


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_an_id_keeps_its_number_and_comes_back(kind):
    ids, known, rng = ids_of(kind), {}, random.Random(1)
    for _ in range(5):
        some = [rng.choice(VALUES[kind]) for _ in range(50)]
        numbers = ids.number(column(some, kind))
        for value, number in zip(some, numbers.tolist(), strict=True):
            assert known.setdefault(value, number) == number
        assert len({*known.values()}) == len(known)
        assert ids.values(numbers).equals(column(some, kind))
        assert ids.numbers_of(some).tolist() == numbers.tolist()
        for value in VALUES[kind]:
            assert ids.number_of(value) == known.get(value, ids.number_of(value))
        assert [*ids.findings()] == []


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_another_has_the_same_numbers_from_the_arrays(kind):
    ids, other = ids_of(kind), ids_of(kind)
    numbers = ids.number(column(VALUES[kind], kind))
    other.restore({name: np.array(values) for name, values in ids.arrays.items()})
    assert other.numbers_of(VALUES[kind]).tolist() == numbers.tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.decimal128(20, 2), PAIR], ids=str)
def test_numbers_that_are_taken_back_are_given_out_anew(kind):
    ids, values = ids_of(kind), [*dict.fromkeys(VALUES[kind])]
    ids.number(column(values[:7], kind))
    ids.number(column(values, kind))
    ids.take_back(7)
    assert ids.count == 7
    assert [*ids.findings()] == []
    assert ids.number_of(values[7]) == -1
    assert ids.number(column(values[8:9], kind)).tolist() == [7]


def test_unknown_ids_have_no_number():
    assert ids_of(pa.string()).number_of("nobody") == -1
    assert ids_of(PAIR).number_of(("nobody", 3)) == -1


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (pa.string(), 5), (pa.string(), None), (pa.int32(), 2**40), (pa.int64(), 1.5),
        (pa.int64(), True), (PAIR, "x"), (PAIR, ("x",)), (PAIR, (1, "x")), (pa.date32(), "q"),
    ],
)  # fmt: skip
def test_what_is_no_id_is_named(kind, bad):
    with pytest.raises(BadKey, match=r"no id|no key"):
        ids_of(kind).number_of(bad)
    with pytest.raises(BadKey):
        ids_of(kind).numbers_of([bad])


def test_types_that_ids_cannot_have():
    for kind in (pa.float64(), pa.list_(pa.int64()), pa.struct([])):
        with pytest.raises(BadDefinition, match="An id cannot be"):
            ids_of(kind)
    for value in (1.5, None, [], object()):
        with pytest.raises(BadKey, match="is no id"):
            type_of_id(value)


def test_columns_are_cast_only_where_they_mean_the_same():
    ids = ids_of(pa.int64())
    assert ids.cast(pa.array([1, 2], pa.int8())).type == pa.int64()
    with pytest.raises(SchemaMismatch):
        ids.cast(pa.array(["1"]))
    with pytest.raises(SchemaMismatch, match="do not fit"):
        ids_of(pa.int8()).cast(pa.array([300]))
    dictionary = pa.array(["a", "b", "a"]).dictionary_encode()
    assert ids_of(pa.string()).cast(dictionary).to_pylist() == ["a", "b", "a"]
    assert kept_type(dictionary.type) == pa.string()


@pytest.mark.parametrize("step", [1, 7, 1_000, 10**9])
def test_times_become_versions_in_their_order(step):
    instants, last, known = Instants(pa.int64()), 0, []
    rng = np.random.default_rng(step)
    for _ in range(30):
        ticks = last + np.cumsum(rng.integers(0, step + 1, 37))
        last = int(ticks[-1])
        versions = instants.number(ticks)
        known = sorted({*known, *ticks.tolist()})
        assert instants.ticks.tolist() == known
        assert [known[version] for version in versions.tolist()] == ticks.tolist()
        asked = rng.integers(-5, last + 10, 100)
        asked[:30] = ticks[:30]
        expected = (np.searchsorted(known, asked, "right") - 1).tolist()
        assert instants.versions_at(asked).tolist() == expected
        assert [instants.version_at(tick) for tick in asked.tolist()] == expected


def test_far_apart_times_do_not_run_over():
    instants = Instants(pa.int64())
    ticks = np.array([-(2**62) + 1, 0, 2**62 - 1])
    assert instants.number(ticks).tolist() == [0, 1, 2]
    asked = np.array([-(2**63), -1, 0, 2**63 - 1])
    assert instants.versions_at(asked).tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.timestamp("us", "UTC"), "2026-01-01T00:00:00Z", "2026-01-01"),
        (pa.timestamp("us", "UTC"), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.date(2026, 1, 1)),
        (pa.timestamp("us"), dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        (pa.date32(), dt.date(2026, 1, 1), 5),
        (pa.date32(), "2026-01-01", "soon"),
        (pa.int64(), "17", None),
        (pa.int32(), 17, 1.5),
    ],
)
def test_times_of_another_type_are_named(kind, good, bad):
    instants = Instants(kind)
    tick = instants.tick_of(good)
    assert instants.tick_of(instants.time(tick)) == tick
    assert instants.ticks_of([good]).tolist() == [tick]
    with pytest.raises(BadTime, match="no time of this set"):
        instants.tick_of(bad)


def test_columns_of_times_of_another_type_are_named():
    instants = Instants(pa.timestamp("us", "UTC"))
    for kind in (pa.timestamp("us"), pa.date32(), pa.string()):
        with pytest.raises(BadTime):
            instants.ticks_of(pa.nulls(1, kind).fill_null("x" if kind == pa.string() else 0))
    with pytest.raises(BadTime, match="null"):
        instants.ticks_of(pa.nulls(2, pa.timestamp("us", "UTC")))
    assert type_of_time(dt.date(2026, 1, 1)) == pa.date32()
    with pytest.raises(BadTime, match="is no time"):
        type_of_time("soon")
