"""Records hold what the rows held: every flat type, all patterns of nulls, any heap before them."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavedex.errors import BadDefinition
from wavedex.rows.entries import EntrySpec
from wavedex.store.growing.records import RecordFormat

COLUMNS = {
    "k": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "t": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "u8": (pa.uint8(), st.none() | st.integers(0, 255)),
    "i16": (pa.int16(), st.none() | st.integers(-(2**15), 2**15 - 1)),
    "f32": (pa.float32(), st.none() | st.floats(width=32, allow_nan=False)),
    "b": (pa.bool_(), st.none() | st.booleans()),
    "s": (pa.string(), st.none() | st.text(max_size=9)),
    "ls": (pa.large_string(), st.none() | st.text(max_size=3)),
    "y": (pa.binary(), st.none() | st.binary(max_size=9)),
    "fsb": (pa.binary(3), st.none() | st.binary(min_size=3, max_size=3)),
    "d": (pa.decimal128(20, 3), st.none() | st.decimals(-1000, 1000, places=3)),
    "day": (pa.date32(), st.none() | st.dates()),
    "at": (pa.timestamp("us"), st.none() | st.datetimes(dt.datetime(1900, 1, 1))),
    "c": (pa.dictionary(pa.int32(), pa.string()), st.none() | st.sampled_from(["x", "yy", ""])),
}
SPEC = EntrySpec(pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()]), "k", "t")
rows = st.lists(
    st.fixed_dictionaries({name: values for name, (_, values) in COLUMNS.items()}), max_size=8
)


@pytest.mark.slow
@given(rows, rows)
def test_rows_survive_as_records_behind_a_heap_that_has_bytes_already(first, second):
    layout = RecordFormat(SPEC)
    one, two = (pa.RecordBatch.from_pylist(some, SPEC.schema) for some in (first, second))
    records, heap = layout.encode(one, 0)
    more, tail = layout.encode(two, len(heap))
    whole = np.frombuffer(heap + tail, np.uint8)
    both = np.concatenate([records, more])
    assert layout.decode(both, whole).to_pylist() == [*one.to_pylist(), *two.to_pylist()]
    assert layout.decode(more, whole).to_pylist() == two.to_pylist()
    assert layout.ordinals(both).tolist() == [row["t"] for row in first + second]
    assert layout.heap_live_bytes(both) == len(whole)


@pytest.mark.slow
@given(rows.filter(lambda some: len(some) > 1), st.integers(0, 7))
def test_a_slice_of_a_batch_becomes_its_own_records(some, start):
    layout = RecordFormat(SPEC)
    batch = pa.RecordBatch.from_pylist(some, SPEC.schema).slice(start % len(some))
    records, heap = layout.encode(batch, 0)
    assert layout.decode(records, np.frombuffer(heap, np.uint8)).to_pylist() == batch.to_pylist()


@pytest.mark.parametrize("width", [0, 7, None], ids=["empty", "one width", "many widths"])
def test_many_records_are_decoded_as_a_few_at_a_time_are(width):
    spec = EntrySpec(
        pa.schema([("k", pa.int64()), ("t", pa.int64()), ("s", pa.string())]), "k", "t"
    )
    layout = RecordFormat(spec)
    texts = ["x" * (n % 9 if width is None else width) + "y" * (n % 3 == 1) for n in range(200)]
    if width is not None:
        texts = [text[:width].ljust(width, "z") for text in texts]
    some = [None if width is None and n % 5 == 0 else text for n, text in enumerate(texts)]
    batch = pa.record_batch([range(200), range(200), some], schema=spec.schema)
    records, heap = layout.encode(batch, 3)
    whole = np.frombuffer(b"abc" + heap, np.uint8)
    assert layout.decode(records, whole).equals(batch)
    assert layout.fits(records, len(whole))
    for start in range(0, 200, 8):
        few = records[start : start + 8]
        assert layout.decode(few, whole).equals(batch.slice(start, 8))
        assert layout.fits(few, len(whole))


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize(("field", "value"), [("at2", -1), ("length2", -1), ("at2", 2**40)])
def test_records_that_point_outside_of_the_heap_do_not_fit(count, field, value):
    spec = EntrySpec(
        pa.schema([("k", pa.int64()), ("t", pa.int64()), ("s", pa.string())]), "k", "t"
    )
    layout = RecordFormat(spec)
    batch = pa.record_batch([range(count), range(count), ["abc"] * count], schema=spec.schema)
    records, heap = layout.encode(batch, 0)
    assert layout.fits(records, len(heap))
    assert not layout.fits(records, len(heap) - 1)
    records[field][-1] = value
    assert not layout.fits(records, len(heap))


def test_the_width_of_a_record_is_a_multiple_of_eight_bytes():
    for count in range(1, 20):
        columns = [
            ("k", pa.int64()),
            ("t", pa.int64()),
            *((f"c{n}", pa.int8()) for n in range(count)),
        ]
        assert RecordFormat(EntrySpec(pa.schema(columns), "k", "t")).dtype.itemsize % 8 == 0


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64()),
        pa.struct([("a", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.list_(pa.int64(), 2),
        pa.null(),
    ],
    ids=str,
)
def test_nested_columns_have_no_records(kind):
    with pytest.raises(BadDefinition, match="cannot be updated in place"):
        RecordFormat(
            EntrySpec(pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", kind)]), "k", "t")
        )


def test_decimals_of_all_widths_survive():
    kinds = [pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(30, 2), pa.decimal256(60, 2)]
    schema = pa.schema(
        [("k", pa.int64()), ("t", pa.int64()), *((str(kind), kind) for kind in kinds)]
    )
    layout = RecordFormat(EntrySpec(schema, "k", "t"))
    value = decimal.Decimal("-123.45")
    batch = pa.RecordBatch.from_pylist(
        [{"k": 1, "t": 1, **dict.fromkeys(map(str, kinds), value)}, {"k": 1, "t": 2}], schema
    )
    records, _ = layout.encode(batch, 0)
    assert layout.decode(records, np.zeros(0, np.uint8)).to_pylist() == batch.to_pylist()
