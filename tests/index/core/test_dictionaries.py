"""A scan that hands over columns of few values as dictionaries.

It has the same rows as one that does not.
"""

from __future__ import annotations

import datetime as dt
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.index.reading import readable
from wavedex.rows.codes import WORDS_MAX
from wavedex.store.sorted import parquet

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


@pytest.fixture(autouse=True)
def row_groups_of_some_size(monkeypatch):
    """These parts are large: of row groups of a few rows there would be tens of thousands."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 1_024)


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


def filled(path, days=5, rows=ROWS, **how):
    how = {"window": 4, "indexes": 2, "shards": 1} | how
    index = wx.WaveIndex.create(path, SCHEMA, key="key", time="at", **how)
    for day in range(1, days + 1):
        index.append(rows_of(day, rows))
    return index


def decoded(reader):
    table = reader.read_all()
    plain = [
        column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return sorted(map(tuple, zip(*(column.to_pylist() for column in plain), strict=True)), key=repr)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_large_part_without_codes_leaves_the_column_as_it_is(tmp_path):
    index = filled(tmp_path / "x", days=3, format="parquet")
    assert index.scan(dictionaries=True).schema == SCHEMA
    assert decoded(index.scan(dictionaries=True)) == decoded(index.scan())


def test_wrong_codes_are_found(tmp_path):
    index = filled(tmp_path / "x", days=1)
    index.verify()
    # Codes of other rows under a right checksum, as a writer with a mistake would leave them.
    from wavedex.log.manifest import Log
    from wavedex.rows.arrays import read_arrays, write_arrays
    from wavedex.store.formats import open_shard

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


@pytest.mark.slow
def test_a_code_means_the_same_in_all_batches(tmp_path):
    # Each day has a label more than the one before, and its own order of them.
    index = filled(tmp_path / "x", days=6, shards=2, indexes=3)
    batches = list(index.scan(dictionaries=True))
    assert len(batches) > 2
    words = batches[0].column("few").dictionary
    assert words.to_pylist() == sorted(words.to_pylist())
    for batch in batches:
        for name in ("few", "holes", "blob"):
            assert batch.column(name).dictionary.equals(batches[0].column(name).dictionary)


def test_columns_whose_parts_have_too_many_words_together_stay_as_they_are(tmp_path):
    schema = pa.schema([("key", pa.int64()), ("label", pa.string())])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="key", window=2, indexes=2, shards=1)
    few = WORDS_MAX // 2 + 10
    for slot in (1, 2):
        shuffled = np.random.default_rng(slot).permutation(4 * few)
        labels = [f"{slot} {n % few}" for n in shuffled]
        index.append(pa.table([range(len(labels)), labels], schema=schema), slot=slot)
        kind = index.scan(dictionaries=True).schema.field("label").type
        assert pt.is_dictionary(kind) == (slot == 1)
    assert decoded(index.scan(dictionaries=True)) == decoded(index.scan())


@pytest.mark.slow
def test_codes_and_words_make_the_rows_again(tmp_path):
    index = filled(tmp_path / "x")
    coded, words = wx.split_codes(index.scan(dictionaries=True))
    assert set(words) == {"few", "holes", "blob"}
    assert coded.schema.field("few").type == pa.int16()
    table = coded.read_all()
    for name, known in words.items():
        assert known.column_names == ["code", name]
        place = table.column_names.index(name)
        told = known.column(name).take(table.column(place).combine_chunks())
        table = table.set_column(place, name, told)
    assert decoded(table.to_reader()) == decoded(index.scan())


def test_codes_of_no_rows_and_of_no_dictionaries(tmp_path):
    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="key", time="at", window=4)
    coded, words = wx.split_codes(index.scan(dictionaries=True))
    assert coded.read_all().num_rows == 0
    assert all(known.num_rows == 0 for known in words.values())
    plain, none = wx.split_codes(filled(tmp_path / "y").scan())
    assert not none
    assert plain.schema == SCHEMA
    assert plain.read_all().num_rows == 4 * ROWS


def test_a_dictionary_that_changes_is_refused():
    one, other = (pa.array(words).dictionary_encode() for words in (["a", "b"], ["b", "a"]))
    batches = [pa.record_batch([labels], names=["label"]) for labels in (one, other)]
    coded, _ = wx.split_codes(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    with pytest.raises(errors.SchemaMismatch, match="'label' changes from batch to batch"):
        coded.read_all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_scan_that_copies_in_the_background_has_the_same_rows(tmp_path, monkeypatch, kind):
    index = filled(tmp_path / "x", days=7, rows=5_000, format=kind)
    how = {"columns": ["key", "few"]}
    asked = ({}, {"since": "2026-01-05"}, {"until": "2026-01-05"}, {"dictionaries": True})
    at_once = [decoded(index.scan(**how, **more)) for more in asked]
    threads = []
    monkeypatch.setattr(readable, "ROWS_MANY", 1)
    monkeypatch.setattr(
        readable, "ThreadPoolExecutor", lambda n: threads.append(n) or ThreadPoolExecutor(n)
    )
    for more, rows in zip(asked, at_once, strict=True):
        assert decoded(index.scan(**how, **more)) == rows
    assert threads == [1] * len(asked)


def test_a_scan_in_the_background_that_fails_or_is_left_says_so_and_ends(tmp_path, monkeypatch):
    index = filled(tmp_path / "x", days=7, rows=2_000)
    monkeypatch.setattr(readable, "ROWS_MANY", 1)
    before = threading.active_count()
    left = index.scan()
    assert left.read_next_batch().num_rows
    del left
    assert sum(batch.num_rows for batch in index.scan()) == 4 * 2_000

    def failing():
        yield "first"
        raise OSError("the disk is gone")

    ahead = readable.read_ahead(failing())
    assert next(ahead) == "first"
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    ahead.close()
    gc.collect()
    deadline = time.monotonic() + 60
    while threading.active_count() > before:
        assert time.monotonic() < deadline, "a thread of a scan that is over goes on"
        time.sleep(0.001)


def test_a_part_in_which_a_text_is_always_null_has_dictionaries_too(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot=1, window=4, indexes=4, shards=1
    )
    index.append(pa.table({"k": [1, 2], "t": [1, 1], "v": ["x", "y"]}, schema))
    index.append(pa.table({"k": [1, 2], "t": [2, 2], "v": pa.nulls(2, pa.string())}, schema))
    found = index.scan(dictionaries=True).read_all()
    assert sorted(found["v"].to_pylist(), key=str) == [None, None, "x", "y"]


def test_words_that_no_row_has_any_more_do_not_stay(tmp_path):
    schema = pa.schema(
        [("k", pa.int64()), ("t", pa.int64()), ("v", pa.dictionary(pa.int32(), pa.string()))]
    )
    index = wx.WaveIndex.create(
        tmp_path / "x",
        schema,
        key="k",
        time="t",
        slot=1,
        window=3,
        indexes=1,
        scheme="del",
        shards=1,
    )
    for slot in range(9):
        words = pa.array([f"{slot} {n}" for n in range(5)] + [None]).dictionary_encode()
        index.append(pa.table({"k": [*range(6)], "t": [slot] * 6, "v": words}, schema))
    chunks = index.scan().read_all()["v"].chunks
    assert max(len(chunk.dictionary) for chunk in chunks) == 15
    assert sorted(v for v in index.probe(2)["v"].to_pylist()) == ["6 2", "7 2", "8 2"]
    assert index.probe(5)["v"].null_count == 3
