"""What sets say of themselves: figures, sizes over time, pages of buckets; and keeping them."""

import datetime as dt
import json

import pyarrow as pa
import pytest

from kit.set_events import Told, spans_of
from wavedex.errors import AlreadyExists, BadDefinition, ReadOnly
from wavedex.temporal import TemporalSet
from wavedex.temporal.methods.catalogue import METHODS


def filled(seed=1, count=400, **options):
    found, told = TemporalSet.create(**options), Told(seed)
    found.load(told.events(count))
    return found, told


def test_a_set_describes_itself_as_plain_json(tmp_path):
    found, told = filled(path=tmp_path / "a.wxt", page_records=8, usefulness=0.5)
    found.commit()
    found.add("late", told.time + 1)
    about = json.loads(json.dumps(found.describe()))
    assert about["path"] == str(tmp_path / "a.wxt")
    assert (about["method"], about["settings"]["usefulness"]) == ("pph-s", 0.5)
    assert (about["ids"], about["times"], about["rows"]) == ("string", "int64", {"v": "int64"})
    assert about["page_records"] == 8
    assert (about["changes"], about["uncommitted"]) == (401, 1)
    assert about["alive"] == len(told.members.snapshot(told.time)) + 1
    assert 2 * about["lifespans"] == 401 + about["alive"]
    assert (about["first"], about["last"]) == (found.first, told.time + 1)
    assert (about["pages"], about["buckets"]) == (found.pages, found.buckets)
    on_disk = sum(each.stat().st_size for each in (tmp_path / "a.wxt" / "data").iterdir())
    assert about["bytes"] == on_disk
    assert about["bytes_a_lifespan"] == round(on_disk / about["lifespans"], 1)
    assert (about["commit"], about["segments"], about["horizon"]) == (1, 1, None)


def test_an_empty_set_and_one_in_memory_describe_themselves():
    empty = TemporalSet.create()
    about = empty.describe()
    assert (about["path"], about["ids"], about["alive"], about["bytes"]) == (None, None, 0, 0)
    assert about["bytes_a_lifespan"] is None
    assert (empty.schema, empty.sizes().num_rows, empty.buckets) == (None, 0, 0)
    assert filled()[0].describe()["bytes"] > 10_000


@pytest.mark.parametrize("method", METHODS)
def test_sizes_are_those_of_snapshots(method):
    found, told = filled(method=method, page_records=8)
    sizes = found.sizes().to_pylist()
    assert len(sizes) > 100
    assert found.describe()["pages"] == found.pages > 1
    assert "now" in str(found.draw())
    for each in sizes[::7]:
        assert each["size"] == len(told.members.snapshot(each["time"]))
    assert [each["time"] for each in sizes] == sorted({each["time"] for each in sizes})
    horizon = told.time // 2
    found.forget(horizon)
    later = found.sizes().to_pylist()
    assert later[0] == {"time": horizon, "size": len(told.members.snapshot(horizon))}
    assert later[1:] == [each for each in sizes if each["time"] > horizon]


@pytest.mark.parametrize(
    "options",
    [{"buckets": 2}, {"method": "pph-l", "buckets": 2}, {"method": "snapshot"}],
    ids=["pph-s", "pph-l", "snapshot"],
)
def test_pages_of_buckets_hold_each_lifespan_where_it_was_copied_from_none(options):
    found, told = filled(count=900, page_records=6, **options)
    reads = found.io.reads
    records = copies = 0
    for bucket in range(found.buckets):
        pages = found.bucket(bucket).to_pylist()
        for page in pages:
            assert 0 <= page["records"] <= 6
            assert page["end"] is None or page["start"] <= page["end"]
            records, copies = records + page["records"], copies + page["copies"]
        assert [page["start"] for page in pages] == sorted(page["start"] for page in pages)
        assert not pages or any(page["end"] is None for page in pages)
    spans = sum(len(told.members.lifespans(name)) for name in told.names)
    assert copies > 0
    # What moved from a bucket to another begins there once more, as a copy too.
    assert records - copies >= spans
    assert found.io.reads == reads
    with pytest.raises(BadDefinition, match=rf"no bucket {found.buckets}\. They are 0 to"):
        found.bucket(found.buckets)
    with pytest.raises(BadDefinition, match="has none"):
        filled(method="mvbt")[0].bucket(0)


def test_typed_ids_are_those_of_the_set():
    found = TemporalSet.create()
    assert found.parse_id("7") == "7"
    found.add(("main st", 5), dt.date(2026, 3, 1))
    assert found.schema.names == ["oid", "time"]
    assert found.schema.field("time").type == pa.date32()
    assert found.parse_id("main st,5") == found.parse_id('["main st", 5]') == ("main st", 5)
    other = TemporalSet.create(ids=pa.int64(), times=pa.int64())
    assert other.parse_id("-7") == -7


def test_a_set_in_memory_can_be_kept(tmp_path):
    found, told = filled()
    found.load(told.events(5), stream="s", number=4)
    expected = spans_of(found)
    assert found.save(tmp_path / "a.wxt") == 1
    again = TemporalSet.open(tmp_path / "a.wxt")
    assert spans_of(again) == expected
    assert (again.marks, again.verify()) == ({"s": 4}, [])
    found.load(told.events(50))
    assert found.commit() == 2
    again.refresh()
    told.check(again)
    with pytest.raises(ReadOnly, match=r"a\.wxt already"):
        found.save(tmp_path / "b.wxt")
    other = filled(2)[0]
    with pytest.raises(AlreadyExists):
        other.save(tmp_path / "a.wxt")
    assert other.path is None
    assert other.save(tmp_path / "b.wxt") == 1


@pytest.mark.parametrize("settings", [{"buckets": "many"}, {"usefulness": "high"}])
def test_settings_of_other_types_are_named(settings):
    with pytest.raises(BadDefinition, match="takes numbers"):
        TemporalSet.create(**settings)
