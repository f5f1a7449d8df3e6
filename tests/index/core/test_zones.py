"""A time without a zone is local to the zone of the index.

In rows, in since and until, and as an instant, in either kind.
"""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadDefinition, BadKey, BadTime, SchemaMismatch
from wavedex.rows.keys import key_type

ZONES = ["UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin"]
KINDS = ["wave", "lifetime"]
AWARE = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")


def schema_of(time):
    return pa.schema([("k", pa.string()), ("at", time), ("over", time)])


def make(path, kind, zone, time=AWARE):
    """An index of two days."""
    if kind == "wave":
        return wx.WaveIndex.create(
            path,
            schema_of(time),
            key="k",
            time="at",
            slot="1 hour",
            window=48,
            indexes=2,
            zone=zone,
        )
    return wx.LifetimeIndex.create(
        path, schema_of(time), key="k", inserted="at", expires="over", max_lifetime="2 days",
        refresh="1 hour", zone=zone,
    )  # fmt: skip


def put(index, now, table):
    if isinstance(index, wx.WaveIndex):
        return index.append(table)
    return index.update(now, table)


def rows(times, time):
    """A row a time, each of which ends a day later; the times as they are given."""
    schema = schema_of(time)
    day = dt.timedelta(days=1)
    return pa.table([["a"] * len(times), times, [at + day for at in times]], schema=schema)


def at(hour, minute=0, zone=None, day=10):
    return dt.datetime(2026, 6, day, hour, minute, tzinfo=zone)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_a_zone_are_local(tmp_path, kind, zone):
    index = make(tmp_path / "x", kind, zone)
    put(index, at(12), rows([at(9), at(10, 30)], LOCAL))
    found = index.scan().read_all().column("at").to_pylist()
    there = ZoneInfo(zone)
    assert sorted(found) == [at(9, zone=there), at(10, 30, there)]


@pytest.mark.parametrize("time", [AWARE, LOCAL])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", KINDS)
def test_since_and_until_without_a_zone_are_local_and_others_are_instants(
    tmp_path, kind, zone, time
):
    index = make(tmp_path / "x", kind, zone, time)
    put(index, at(12), rows([at(9), at(10), at(11)], LOCAL))

    def hours(since, until):
        found = index.scan(since=since, until=until).read_all().column("at")
        local = (
            each.astimezone(ZoneInfo(zone)) if each.tzinfo else each for each in found.to_pylist()
        )
        return sorted(each.hour for each in local)

    assert hours(at(10), None) == hours("2026-06-10T10:00", None) == [10, 11]
    assert hours(None, at(10)) == hours(None, "2026-06-10T10:00") == [9, 10]
    there = at(10, zone=ZoneInfo(zone))
    for same in (there, there.astimezone(dt.UTC), there.astimezone(dt.UTC).isoformat()):
        assert hours(same, same) == [10]
    assert hours(dt.date(2026, 6, 10), dt.date(2026, 6, 10)) == [9, 10, 11]
    assert hours(dt.date(2026, 6, 11), None) == []


@pytest.mark.slow
@pytest.mark.parametrize("time", [AWARE, LOCAL])
@pytest.mark.parametrize("zone", ZONES)
def test_now_is_read_as_all_times_are(tmp_path, zone, time):
    """A row ends at ten of the next day: an instant before shows it, the very instant does not."""
    there = ZoneInfo(zone)
    for number, (before, over) in enumerate(
        [
            (at(9, 59, day=11), at(10, day=11)),
            ("2026-06-11T09:59", "2026-06-11T10:00"),
            (at(9, 59, there, 11), at(10, 0, there, 11).astimezone(dt.UTC)),
            (at(9, 59, there, 11).isoformat(), at(10, 0, there, 11).isoformat()),
        ]
    ):
        life = make(tmp_path / f"{number}", "lifetime", zone, time)
        life.update(at(12), rows([at(10)], LOCAL))
        life.update(before)
        assert life.probe("a").num_rows == 1
        life.update(over)
        assert life.probe("a").num_rows == 0


@pytest.mark.parametrize("kind", KINDS)
def test_on_the_day_that_clocks_change_local_times_are_told_apart_or_refused(tmp_path, kind):
    """In New York clocks went from 2:00 to 3:00 on 2026-03-08.

    They showed 1:00 to 2:00 twice on 2026-11-01.
    """
    zone = ZoneInfo("America/New_York")
    spring = [dt.datetime(2026, 3, 8, hour, 30) for hour in (1, 3)]
    index = make(tmp_path / "spring", kind, zone.key)
    put(index, dt.datetime(2026, 3, 8, 4), rows(spring, LOCAL))
    first, second = sorted(index.scan().read_all().column("at").to_pylist())
    assert second - first == dt.timedelta(hours=1)
    skipped = dt.datetime(2026, 3, 8, 2, 30)
    assert index.scan(since=skipped).read_all().column("at").to_pylist() == [second]
    assert index.scan(until=skipped).read_all().column("at").to_pylist() == [first]
    autumn = make(tmp_path / "autumn", kind, zone.key)
    twice = dt.datetime(2026, 11, 1, 1, 30)
    for when, into in ((skipped, index), (twice, autumn)):
        commit = into.snapshot().commit
        with pytest.raises(
            BadTime, match=r"skipped one of them or showed it twice.*Give that column a zone"
        ):
            put(into, when + dt.timedelta(days=1), rows([when], LOCAL))
        assert into.snapshot().commit == commit
    both = [twice.replace(tzinfo=zone, fold=fold).astimezone(dt.UTC) for fold in (0, 1)]
    put(autumn, both[1], rows(both, AWARE))
    later = twice.replace(fold=1)
    assert autumn.scan(since=twice).read_all().num_rows == 2
    assert autumn.scan(since=later).read_all().num_rows == 1


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_a_zone_are_refused_where_the_index_keeps_local_times(tmp_path, kind):
    index = make(tmp_path / "x", kind, "Europe/Berlin", LOCAL)
    with pytest.raises(SchemaMismatch, match="make them local times before you append"):
        put(index, at(12), rows([at(9, zone=dt.UTC)], AWARE))


def test_refreshes_of_days_are_as_long_as_one_another_in_any_zone(tmp_path):
    life = wx.LifetimeIndex.create(
        tmp_path / "x", schema_of(AWARE), key="k", inserted="at", expires="over",
        max_lifetime="8 days", refresh="1 day", zone="Europe/Berlin",
    )  # fmt: skip
    spring = dt.datetime(2026, 3, 29)
    assert life.instant(spring + dt.timedelta(days=1)) - life.instant(spring) == 23 * 3600 * 10**6
    assert life.definition.slotting.width == 24 * 3600 * 10**6
    opened = wx.open(tmp_path / "x")
    assert opened.definition == life.definition
    assert opened.definition.zone == "Europe/Berlin"


@pytest.mark.parametrize("kind", KINDS)
def test_a_zone_that_there_is_not_is_refused(tmp_path, kind):
    with pytest.raises(BadDefinition, match="There is no zone 'Berlin'"):
        make(tmp_path / "x", kind, "Berlin")


@pytest.mark.parametrize("kind", KINDS)
def test_a_zone_is_refused_where_slots_are_numbers(tmp_path, kind):
    """It would be passed over.

    And times without a zone in other columns would mean UTC all the same.
    """
    common = {"schema": schema_of(pa.int64()), "key": "k", "zone": "Europe/Berlin"}
    wave = {"time": "at", "slot": 5, "window": 4}
    life = {"inserted": "at", "expires": "over", "max_lifetime": 10, "refresh": 2}
    create, own = {
        "wave": (wx.WaveIndex.create, wave),
        "lifetime": (wx.LifetimeIndex.create, life),
    }[kind]
    with pytest.raises(BadDefinition, match=r"zone='Europe/Berlin' is for .* timestamp or a date"):
        create(tmp_path / "x", **common, **own)


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_says_its_zone(tmp_path, kind):
    assert make(tmp_path / "x", kind, "Asia/Kolkata").describe()["zone"] == "Asia/Kolkata"


def test_refreshes_of_days_begin_at_an_instant_of_utc(tmp_path):
    def create(name, origin):
        return wx.LifetimeIndex.create(
            tmp_path / name, schema_of(AWARE), key="k", inserted="at", expires="over",
            max_lifetime="9 days", refresh="3 days", zone="Europe/Berlin", origin=origin,
        )  # fmt: skip

    dated, exact = create("a", "2026-01-02"), create("b", "2026-01-02T00:00Z")
    assert dated.definition.slotting == exact.definition.slotting
    with pytest.raises(BadDefinition, match="begins at midnight in UTC"):
        create("c", "2026-01-02T00:00+01:00")


def test_a_typed_key_that_is_a_time_must_say_its_zone():
    kind = key_type(AWARE)
    assert kind.parse("2026-06-10T13:00+02:00") == at(11, zone=dt.UTC)
    with pytest.raises(BadKey, match=r"does not say in which zone.*2026-06-10T13:00Z"):
        kind.parse("2026-06-10T13:00")
    assert key_type(LOCAL).parse("2026-06-10T13:00") == at(13)
