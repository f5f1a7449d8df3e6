"""A scan that hands over columns of few values as dictionaries has the same rows as one that does not."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.store.codes import WORDS_MAX

ROWS = WORDS_MAX + 5_000
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("at", pa.timestamp("us")),
        ("few", pa.string()),
        ("holes", pa.large_string()),
        ("blob", pa.binary()),
        ("many", pa.string()),
    ]
)


def rows_of(day, rows=ROWS, seed=0):
    random = np.random.default_rng([seed, day])
    begin = dt.datetime(2026, 1, day)
    holes = [None if n % 7 == 0 else f"hole {n % 5}" for n in range(rows)]
    return pa.table(
        {
            "key": [f"k{n}" for n in random.integers(0, 500, rows)],
            "at": [begin + dt.timedelta(seconds=int(n)) for n in random.integers(0, 86_400, rows)],
            "few": [f"label {n}" for n in random.integers(0, 30 + day, rows)],
            "holes": holes,
            "blob": [b"" if n % 3 else b"\xff\x00" for n in range(rows)],
            "many": [f"{day} {n}" for n in range(rows)],
        },
        SCHEMA,
    )


def filled(path, days=5, **how):
    how = {"window": 4, "indexes": 2, "shards": 1} | how
    index = wx.WaveIndex.create(path, SCHEMA, key="key", time="at", **how)
    for day in range(1, days + 1):
        index.append(rows_of(day))
    return index


def decoded(reader):
    table = reader.read_all()
    plain = [
        column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return sorted(map(tuple, zip(*(column.to_pylist() for column in plain), strict=True)), key=repr)


def test_columns_of_few_values_come_as_dictionaries_and_the_rows_are_the_same(tmp_path):
    index = filled(tmp_path / "x")
    schema = index.scan(dictionaries=True).schema
    coded = {field.name for field in schema if pt.is_dictionary(field.type)}
    assert coded == {"few", "holes", "blob"}
    assert index.scan().schema == SCHEMA
    assert index.scan(dictionaries=True).read_all().schema == schema
    for how in ({}, {"since": "2026-01-03", "until": "2026-01-04"}, {"expired": True}):
        assert decoded(index.scan(dictionaries=True, **how)) == decoded(index.scan(**how))
    some = index.scan(columns=["few", "at"], dictionaries=True)
    assert some.schema.names == ["few", "at"]
    assert decoded(some) == decoded(index.scan(columns=["few", "at"]))


@pytest.mark.parametrize("update", ["runs", "packed-shadow", "in-place"])
@pytest.mark.parametrize("rows", [0, 3, 200])
def test_small_parts_are_encoded_as_they_are_read(tmp_path, update, rows):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="key", time="at", window=3, indexes=2, update=update
    )
    for day in range(1, 5):
        index.append(rows_of(day, rows), slot=dt.date(2026, 1, day))
    reader = index.scan(dictionaries=True)
    assert all(pt.is_dictionary(reader.schema.field(name).type) for name in ("key", "few", "many"))
    assert decoded(reader) == decoded(index.scan())


def test_a_large_part_without_codes_leaves_the_column_as_it_is(tmp_path):
    index = filled(tmp_path / "x", days=3, format="parquet")
    assert index.scan(dictionaries=True).schema == SCHEMA
    assert decoded(index.scan(dictionaries=True)) == decoded(index.scan())


def test_wrong_codes_are_found(tmp_path):
    index = filled(tmp_path / "x", days=1)
    index.verify()
    # Codes of other rows under a checksum that is right, as a writer with a mistake would leave them.
    from wavedex.log import Log
    from wavedex.store import open_shard
    from wavedex.store.arrays import read_arrays, write_arrays

    part = next(part for sub in Log(index.storage).latest().shown.values() for part in sub.parts)
    name = part.files["directory"].name
    arrays, metadata = read_arrays(pa.py_buffer(index.storage.read(name)), name)
    arrays["codes:few"] = pa.concat_arrays([arrays["codes:few"][1:], arrays["codes:few"][:1]])
    assert arrays["codes:few"][0] != arrays["codes:few"][1]
    index.storage.remove(name)
    ref = index.storage.create(name, lambda sink: write_arrays(sink, arrays, metadata))
    shard = open_shard(index.storage, index.definition.spec, part)
    assert any("codes" in finding for finding in shard._rule_findings())
    assert ref.checksum != part.files["directory"].checksum
    with pytest.raises(errors.Damaged):
        index.verify()
