"""Mistakes that were made once: each has a test of its own, so that it is not made again."""

import contextlib
import datetime as dt
import gc
import random
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import wavedex as wx
from kit.ways import WAYS
from wavedex import errors
from wavedex.files.local import Files

S = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


def table(rows, s=S):
    return pa.Table.from_pylist(rows, s)


def make(path, schema=S, **kw):
    a = {
        "key": "k",
        "time": "t",
        "slot": 10,
        "window": 4,
        "indexes": 2,
        "scheme": "wata",
        "update": "runs",
    }
    a.update(kw)
    return wx.WaveIndex.create(path, schema, **a)


def one(typ, vals, path, **kw):
    sch = pa.schema([("k", typ), ("t", pa.int64())])
    i = make(path, sch, **kw)
    i.append(pa.table({"k": pa.array(vals, typ), "t": [1] * len(vals)}, sch))
    return i


def col(typ, arr, path, n=6, **kw):
    sch = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", typ)])
    i = make(path, sch, **kw)
    a = arr if isinstance(arr, pa.Array) else pa.array(arr, typ)
    for s in range(1, n):
        i.append(pa.table([pa.array(range(len(a))), pa.array([s * 10] * len(a)), a], schema=sch))
    i.verify()
    return i


def churn(idx, rnd, slots):
    for s in slots:
        idx.append(
            table(
                [{"k": k, "t": s * 10 + i, "v": "x"} for i, k in enumerate(rnd.sample(range(8), 2))]
            )
        )
        yield s


def test_a_probe_result_of_one_row_never_changes_under_its_holder(tmp_path):
    idx = make(tmp_path / "x", update="in-place", scheme="del", first_room=1, shards=1, indexes=1)
    held = []
    for _ in churn(idx, random.Random(1), range(1, 60)):
        for k in range(8):
            t = idx.probe(k)
            if len(t) == 1:
                held.append((t, t.to_pylist()))
        gc.collect()
    assert not [(b, t.to_pylist()) for t, b in held if t.to_pylist() != b][:1]


@pytest.mark.slow
def test_a_scan_that_is_read_later_answers_for_its_own_commit(tmp_path):
    idx = make(tmp_path / "x", update="in-place", scheme="del", first_room=1, shards=1, indexes=1)
    held = []
    for _ in churn(idx, random.Random(1), range(1, 60)):
        held.append((idx.scan(), idx.scan().read_all().to_pylist()))
        gc.collect()
    for reader, expected in held:
        assert reader.read_all().to_pylist() == expected


def test_a_time_at_the_end_of_int64_is_refused_or_readable(tmp_path):
    idx = make(tmp_path / "x")
    try:
        idx.append(table([{"k": 1, "t": 2**63 - 1, "v": ""}]))
    except errors.BadTime:
        assert idx.snapshot().commit == 0
        return
    assert idx.probe(1).num_rows == 1


def test_the_smallest_slots_are_refused_or_readable(tmp_path):
    idx = wx.WaveIndex.create(tmp_path / "x", S, key="k", window=4, indexes=2)
    try:
        idx.append(table([{"k": 1, "t": 1, "v": ""}]), slot=-(2**63) + 1)
    except errors.BadTime:
        return
    assert idx.probe(1).num_rows == 1


def test_a_string_that_is_no_utf8_is_no_key(tmp_path):
    with pytest.raises(errors.BadKey):
        one(pa.string(), ["a"], tmp_path / "x").probe("\ud800")


def test_a_finer_moment_is_not_the_key_it_is_cut_to(tmp_path):
    i = one(pa.timestamp("s"), [dt.datetime(2020, 1, 1)], tmp_path / "x")
    with contextlib.suppress(errors.BadKey):
        assert i.probe(dt.datetime(2020, 1, 1, 0, 0, 0, 500000)).num_rows == 0


def test_a_pandas_timestamp_with_nanoseconds_is_not_the_key_it_is_cut_to(tmp_path):
    i = one(pa.timestamp("us"), [dt.datetime(2020, 1, 1)], tmp_path / "x")
    with contextlib.suppress(errors.BadKey):
        assert i.probe(pd.Timestamp("2020-01-01T00:00:00.000000500")).num_rows == 0


@pytest.mark.parametrize(
    ("typ", "val", "probe"),
    [
        (pa.timestamp("s"), dt.datetime(2020, 1, 1), np.datetime64("2020-01-01T00:00:00.5")),
        (pa.timestamp("us"), dt.datetime(2020, 1, 1), np.datetime64("2020-01-01T00:00:00")),
        (pa.date32(), dt.date(2020, 1, 1), np.datetime64("2020-01-01T05:00")),
        (pa.date32(), dt.date(2020, 1, 1), np.datetime64("2020-01-01")),
        (pa.timestamp("us"), dt.datetime(2020, 1, 1), pd.NaT),
    ],
)
def test_numpy_and_pandas_times_are_found_or_refused_by_name(tmp_path, typ, val, probe):
    i = one(typ, [val], tmp_path / "x")
    with contextlib.suppress(errors.BadKey):
        i.probe(probe)


@pytest.mark.parametrize(
    ("to", "arr"),
    [
        (pa.float32(), pa.array([0.1, 1e300])),
        (pa.float16(), pa.array([0.1])),
        (pa.list_(pa.float32()), pa.array([[0.1]])),
        (pa.list_(pa.string()), pa.array([[1]])),
        (pa.struct([("a", pa.int64())]), pa.array([{"a": 1, "b": 2}])),
        (pa.struct([("a", pa.string())]), pa.array([{"a": 1}])),
        (
            pa.list_(pa.timestamp("us", "UTC")),
            pa.array([[dt.datetime(2020, 1, 1)]], pa.list_(pa.timestamp("us"))),
        ),
    ],
    ids=lambda v: str(getattr(v, "type", v)),
)
def test_a_cast_that_changes_or_loses_values_is_refused(tmp_path, to, arr):
    i = make(tmp_path / "x", pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", to)]))
    with pytest.raises(errors.SchemaMismatch):
        i.append(pa.table({"k": [1] * len(arr), "t": [1] * len(arr), "v": arr}))


ODD = {
    "string_view": (pa.string_view(), ["a", None, "b" * 20]),
    "binary_view": (pa.binary_view(), [b"a", None]),
    "list_view": (pa.list_view(pa.int64()), [[1], None]),
    "interval": (pa.month_day_nano_interval(), [(1, 2, 3), None]),
    "uuid": (pa.uuid(), [b"0" * 16, None]),
    "fsb0": (pa.binary(0), [b"", None]),
    "union": (
        pa.dense_union([pa.field("a", pa.int64())]),
        pa.UnionArray.from_dense(
            pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])], ["a"]
        ),
    ),
}


@pytest.mark.parametrize("way", ["packed-shadow", "packed-shadow in parquet", "in-place"])
@pytest.mark.parametrize("name", ODD)
def test_a_schema_that_cannot_be_kept_is_refused_when_the_index_is_created(tmp_path, name, way):
    typ, arr = ODD[name]
    try:
        make(
            tmp_path / "x",
            pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", typ)]),
            **WAYS[way],
        )
    except errors.BadDefinition:
        return
    col(typ, arr, tmp_path / "y", **WAYS[way])


@pytest.mark.parametrize("update", ["in-place", "simple-shadow"])
@pytest.mark.parametrize("typ", [pa.int64(), pa.decimal128(5, 2), pa.binary(3)], ids=str)
def test_a_dictionary_of_anything_but_strings_is_readable_in_place_or_refused(
    tmp_path, typ, update
):
    v = {pa.int64(): [5, 6], pa.decimal128(5, 2): [1, 2], pa.binary(3): [b"abc", b"xyz"]}[typ]
    a = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(v, typ))
    with contextlib.suppress(errors.BadDefinition):
        col(a.type, a, tmp_path / "x", update=update)


@pytest.mark.parametrize("way", WAYS)
def test_a_dictionary_that_holds_a_null_is_kept(tmp_path, way):
    a = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["a", None]))
    col(a.type, a, tmp_path / "x", **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_small_dictionaries_that_are_large_together_do_not_stop_an_index(tmp_path, way):
    typ = pa.dictionary(pa.int8(), pa.string())
    sch = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", typ)])
    i = make(tmp_path / "x", sch, **WAYS[way], shards=1)
    for s in range(1, 6):
        a = pa.array([f"{s}-{n}" for n in range(100)]).dictionary_encode().cast(typ)
        with contextlib.suppress(errors.WavedexError):
            i.append(pa.table([pa.array(range(100)), pa.array([s * 10] * 100), a], schema=sch))
        i.scan().read_all()
    i.verify()


def test_a_slice_with_a_map_column_is_the_same_rows(tmp_path):
    typ = pa.map_(pa.string(), pa.int64())
    sch = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", typ)])
    i = make(tmp_path / "x", sch)
    t = pa.table(
        [
            pa.array([1, 2, 3]),
            pa.array([10] * 3),
            pa.array([[("a", 1)], [("b", 2)], [("c", 3)]], typ),
        ],
        schema=sch,
    )
    i.append(t.slice(1, 1))
    assert (
        i.append(
            pa.table([pa.array([2]), pa.array([10]), pa.array([[("b", 2)]], typ)], schema=sch)
        ).slots
        == []
    )


@pytest.mark.parametrize(
    "kw",
    [
        {"growth": "x"},
        {"growth": None},
        {"first_room": "x"},
        {"first_room": 1.5},
        {"scheme": []},
        {"update": []},
        {"include": 5},
    ],
    ids=str,
)
def test_a_definition_of_the_wrong_kind_has_a_named_error(tmp_path, kw):
    with pytest.raises(errors.BadDefinition):
        make(tmp_path / "x", **kw)


def test_appending_to_an_index_that_lacks_a_file_says_damaged(tmp_path):
    i = make(tmp_path / "x", update="packed-shadow", scheme="del")
    for s in (1, 2, 3):
        i.append(table([{"k": 1, "t": s * 10, "v": "a"}]))
    i.vacuum()
    for f in (tmp_path / "x" / "data").iterdir():
        f.unlink()
    late = [{"k": 1, "t": s * 10, "v": "a"} for s in (4, 5, 6)]
    with pytest.raises(errors.Damaged):
        i.append(table(late))


def test_an_index_without_its_log_is_called_damaged(tmp_path):
    i = make(tmp_path / "x")
    shutil.rmtree(tmp_path / "x" / "log")
    with pytest.raises(errors.Damaged):
        i.probe(1)


def test_a_missing_empty_heap_is_found(tmp_path):
    s = pa.schema([("k", pa.int64()), ("t", pa.int64())])
    i = make(tmp_path / "x", s, update="in-place", shards=1)
    i.append(table([{"k": 1, "t": 1}], s))
    i.vacuum()
    heaps = list((tmp_path / "x" / "data").glob("*.heap"))
    for f in heaps:
        f.unlink()
    if heaps:
        with pytest.raises(errors.Damaged):
            i.verify()


def test_creating_at_the_path_of_a_file_says_already_exists(tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(errors.AlreadyExists):
        make(tmp_path / "x")


def test_damage_to_a_heap_names_the_heap(tmp_path):
    i = make(tmp_path / "x", update="in-place", shards=1)
    i.append(table([{"k": 1, "t": 1, "v": "abc"}]))
    i.vacuum()
    (h,) = (tmp_path / "x" / "data").glob("*.heap")
    h.write_bytes(b"abd")
    with pytest.raises(errors.Damaged, match=h.name):
        i.verify()


def test_a_polars_frame_with_categories_arrives(tmp_path):
    i = make(tmp_path / "x", pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())]))
    i.append(
        pl.DataFrame({"k": [1], "t": [1], "v": ["a"]}).with_columns(
            pl.col("v").cast(pl.Categorical)
        )
    )


def test_a_writer_overtaken_on_a_disk_without_locks_gets_concurrent_write(tmp_path):
    import contextlib

    make(tmp_path / "x").append(table([{"k": 1, "t": 1, "v": ""}]))
    fast = wx.open(tmp_path / "x")
    todo = [lambda: fast.append(table([{"k": 1, "t": 11, "v": ""}]))]

    class D(Files):
        @contextlib.contextmanager
        def lock(self, name, preparing=False):
            yield

        def link(self, a, b):
            if todo:
                todo.pop()()
            super().link(a, b)

    with pytest.raises(errors.ConcurrentWrite):
        wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=D)).append(
            table([{"k": 1, "t": 11, "v": ""}])
        )


def test_probing_no_keys_finds_nothing(tmp_path):
    assert one(pa.string(), ["a"], tmp_path / "x").probe_many([]).num_rows == 0


@pytest.mark.parametrize("field", ["window", "update", "scheme", "shards", "first_room", "indexes"])
def test_a_definition_with_a_value_of_the_wrong_kind_is_damaged(tmp_path, field):
    import json

    make(tmp_path / "x").append(table([{"k": 1, "t": 1, "v": ""}]))
    p = tmp_path / "x" / "index.json"
    b = json.loads(p.read_text())
    b[field] = None
    p.write_text(json.dumps(b))
    with pytest.raises(errors.Damaged):
        wx.open(tmp_path / "x")
