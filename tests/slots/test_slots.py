"""Slots are judged row by row with `zoneinfo` and Python integers.

Those know nothing of the code.
"""

import json
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.errors import BadDefinition, BadTime
from wavedex.slots import Slotting, from_json, ordinals, slotting

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
DAY_S = 86_400
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The years of each zone in which its clock does something worth a test.
ZONES = {
    "UTC": (1969, 2030),
    "Europe/Berlin": (1969, 2030),
    "America/New_York": (1969, 2030),
    "America/Sao_Paulo": (2015, 2018),  # changes at midnight
    "Asia/Kolkata": (1940, 1975),
    "Pacific/Apia": (2010, 2013),  # had no 2011-12-30
    "America/St_Johns": (1987, 2006),  # changes a minute past midnight
}
CALENDAR = ["day", "week", "month", "quarter", "year"]
MONTHS = {"month": 1, "quarter": 3, "year": 12}
SECONDS = {"second": 1, "minute": 60, "hour": 3600}

# --- the oracle


def wall(second: int, zone: str) -> datetime:
    """The zone's clock, naive, at a second since 1970."""
    return (EPOCH + timedelta(seconds=second)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def oracle_date(second: int, zone: str) -> date:
    """The latest date that the zone's clock has shown so far.

    It is never set back by more than 3 hours.
    """
    before = range(second // 60 * 60 - 3 * 3600, second + 1, 60)
    return max(wall(s, zone).date() for s in [*before, second])


def oracle_slot(day: date, unit: str, every: int, origin: date) -> int:
    if unit in MONTHS:
        months = (day.year - origin.year) * 12 + day.month - origin.month
        return (months - (day.day < origin.day)) // (every * MONTHS[unit])
    return (day - origin).days // (every * (7 if unit == "week" else 1))


@cache
def changes(zone: str) -> list[int]:
    """Seconds near which the zone's clock changes, and a few at which it does not."""
    first, last = (
        int((datetime(y, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()) for y in ZONES[zone]
    )
    steps = range(first, last, 6 * 3600)
    offsets = [wall(s, zone) - wall(s, "UTC") for s in steps]
    near = [s for s, a, b in zip(steps, offsets, offsets[1:], strict=False) if a != b]
    return [first, last, *near]


def seconds_of(zone: str) -> st.SearchStrategy[int]:
    near = st.tuples(st.sampled_from(changes(zone)), st.integers(-120, 160)).map(
        lambda t: t[0] + t[1] * 900
    )
    jitter = st.sampled_from([-1, 0, 1, 59, 60, 61])
    return st.tuples(
        near | st.integers(min(changes(zone)), max(changes(zone))),
        jitter,
    ).map(sum)


def aware(column: str = "s") -> pa.DataType:
    return pa.timestamp(column, tz="UTC")


def array(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def slot_of(slots: Slotting, ordinal: int) -> int:
    return int(slots.slots_of(array(ordinal))[0])


# --- rows to slots


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
@examples(60)
@given(data=st.data())
def test_calendar_slots_of_instants_equal_those_of_the_oracle(
    zone: str, data: st.DataObject
) -> None:
    unit, every = data.draw(st.sampled_from(CALENDAR)), data.draw(st.integers(1, 5))
    column = data.draw(st.sampled_from(list(PER_SECOND)))
    origin = data.draw(st.none() | st.dates(date(1900, 1, 1), date(2100, 1, 1)))
    if origin is not None and unit in MONTHS:
        origin = origin.replace(day=min(origin.day, 28))
    slots = slotting(aware(column), f"{every} {unit}", zone, origin)
    at = origin or (date(1970, 1, 5) if unit == "week" else date(1970, 1, 1))

    rows = data.draw(st.lists(seconds_of(zone), min_size=1, max_size=12))
    per = PER_SECOND[column]
    fractions = data.draw(st.lists(st.integers(0, per - 1), min_size=len(rows), max_size=len(rows)))
    expected = [oracle_slot(oracle_date(s, zone), unit, every, at) for s in rows]
    given_rows = array(*[s * per + f for s, f in zip(rows, fractions, strict=True)])
    got = slots.slots_of(given_rows)
    assert got.dtype == np.int64
    assert got.tolist() == expected
    # Many rows go another way than few.
    assert slots.slots_of(np.tile(given_rows, 400)).tolist() == expected * 400
    for row, slot in zip(given_rows.tolist(), expected, strict=True):
        assert slots.start(slot) <= row < slots.start(slot + 1)
        assert slot_of(slots, slots.start(slot)) == slot
        assert slot_of(slots, slots.start(slot) - 1) < slot


@pytest.mark.slow
@pytest.mark.parametrize("column", [*PER_SECOND, "date32", "date64"])
@examples(60)
@given(
    whens=st.lists(
        st.datetimes(datetime(1680, 1, 1), datetime(2260, 1, 1)), min_size=1, max_size=12
    ),
    unit=st.sampled_from(CALENDAR),
    every=st.integers(1, 400),
    origin=st.dates(date(1, 1, 1), date(9999, 12, 28)),
)
def test_calendar_slots_of_times_as_written_need_no_zone(
    column, whens, unit, every, origin
) -> None:
    origin = origin.replace(day=min(origin.day, 28)) if unit in MONTHS else origin
    types = {"date32": pa.date32(), "date64": pa.date64()}
    rows = pa.array([w.date() for w in whens] if column in types else whens)
    rows = rows.cast(types[column] if column in types else pa.timestamp(column), safe=False)
    slots = slotting(rows.type, f"{every} {unit}s", "America/Sao_Paulo", origin)
    got = slots.slots_of(ordinals(rows)).tolist()
    assert got == [oracle_slot(w.date(), unit, every, origin) for w in whens]


@pytest.mark.parametrize("is_aware", [True, False])
@examples(100)
@given(
    column=st.sampled_from(list(PER_SECOND)),
    rows=st.lists(st.integers(INT64_MIN, INT64_MAX), max_size=8),
    unit=st.sampled_from(list(SECONDS)),
    every=st.integers(2, 1000),
    origin=st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)).map(
        lambda d: d.replace(microsecond=0)
    ),
)
def test_durations_are_measured_from_the_origin(
    is_aware, column, rows, unit, every, origin
) -> None:
    time_type = pa.timestamp(column, tz="Asia/Tokyo" if is_aware else None)
    slots = slotting(time_type, f"{every} {unit}", "UTC", origin)
    per = PER_SECOND[column]
    zero = (origin.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1) * per
    width = every * SECONDS[unit] * per
    assert slots.slots_of(array(*rows)).tolist() == [(row - zero) // width for row in rows]
    assert slots.start(3) == zero + 3 * width


@given(
    rows=st.lists(st.integers(INT64_MIN, INT64_MAX), max_size=8),
    every=st.integers(2, INT64_MAX),
    origin=st.integers(INT64_MIN, INT64_MAX),
)
def test_integers_are_counted_from_the_origin_without_wrapping(rows, every, origin) -> None:
    slots = slotting(pa.int64(), every, origin=origin)
    assert slots.slots_of(array(*rows)).tolist() == [(row - origin) // every for row in rows]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("slot", ["1 hour", "1 day", "2 weeks", "1 month"])
def test_later_rows_never_have_an_earlier_slot(zone: str, slot: str) -> None:
    slots = slotting(aware(), slot, zone)
    for near in changes(zone)[:40]:
        rows = np.arange(near - 2 * DAY_S, near + 2 * DAY_S, 20)
        assert (np.diff(slots.slots_of(rows)) >= 0).all()


def test_a_day_of_23_or_25_hours_is_one_slot() -> None:
    days = slotting(aware("us"), "day", "Europe/Berlin")
    hours = [
        (days.start(slot + 1) - days.start(slot)) // (3600 * 10**6)
        for slot in (
            date(2024, m, d).toordinal() - date(1970, 1, 1).toordinal()
            for m, d in [(3, 30), (3, 31), (10, 27)]
        )
    ]
    assert hours == [24, 23, 25]


def test_a_date_that_the_zone_skipped_is_an_empty_slot() -> None:
    days = slotting(aware(), "day", "Pacific/Apia", origin="2011-12-29")
    assert days.start(1) == days.start(2) < days.start(3)
    assert slot_of(days, days.start(1)) == 2
    assert days.bounds("2011-12-30", "2011-12-30") == (days.start(1), days.start(1))


def test_a_midnight_inside_a_skipped_hour_is_the_end_of_that_hour() -> None:
    days = slotting(aware(), "day", "America/Toronto")  # 1919-03-30 23:30 was followed by 00:30
    start = days.bounds("1919-03-31")[0]
    assert start is not None
    assert wall(start, "America/Toronto") == datetime(1919, 3, 31, 0, 30)
    assert wall(start - 1, "America/Toronto") == datetime(1919, 3, 30, 23, 29, 59)


def test_hours_align_with_the_clock_of_the_zone() -> None:
    hours = slotting(aware(), "1 hour", "Asia/Kolkata")
    assert wall(hours.start(400_000), "Asia/Kolkata").minute == 0
    assert hours.start(0) == -5 * 3600 - 1800


def test_one_outlier_does_not_make_every_day_in_between_be_visited() -> None:
    days = slotting(aware("us"), "day", "Europe/Berlin")
    rows = np.full(100_000, 10**15)
    rows[7] = 250_000_000_000 * 10**6  # the year 9892
    got = days.slots_of(rows)
    assert got[6] == 11_574
    assert got[7] == 250_000_003_600 // DAY_S


@pytest.mark.parametrize("column", PER_SECOND)
@pytest.mark.parametrize("slot", ["day", "3 weeks", "month", "year", "7 hours"])
def test_slots_reach_to_both_ends_of_time(column: str, slot: str) -> None:
    slots = slotting(aware(column), slot, "Europe/Berlin")
    rows = array(INT64_MIN, INT64_MIN + 1, 0, INT64_MAX - 1, INT64_MAX)
    got = slots.slots_of(rows).tolist()
    assert got == sorted(got)
    assert [slot_of(slots, row) for row in rows.tolist()] == got
    assert slots.start(got[0]) == INT64_MIN
    assert slots.start(got[-1]) <= INT64_MAX
    assert slots.bounds(got[-1], got[-1]) == (slots.start(got[-1]), None)
    assert slots.bounds(got[0], got[0]) == (None, slots.start(got[0] + 1))
    with pytest.raises(BadTime, match="earlier"):
        slots.start(got[-1] + 1)


def test_years_past_9999_follow_the_same_calendar() -> None:
    days, years = (slotting(aware(), slot, "Europe/Berlin") for slot in ("day", "year"))
    per_cycle = 146_097
    for slot in range(19_000, 19_400):
        assert days.start(slot + 100 * per_cycle) == days.start(slot) + 100 * per_cycle * DAY_S
    assert years.label(100_000) == "101970"
    assert years.label(-3000) == "-1030"


def test_no_rows_have_no_slots() -> None:
    for slots in EXAMPLES:
        got = slots.slots_of(array())
        assert (got.dtype, got.size) == (np.int64, 0)


# --- since and until


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
@examples(40)
@given(data=st.data())
def test_bounds_choose_the_rows_that_the_words_mean(zone: str, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(list(PER_SECOND)))
    unit, every = data.draw(st.sampled_from(CALENDAR)), data.draw(st.integers(1, 3))
    slots = slotting(aware(column), f"{every} {unit}", zone, date(2000, 1, 3))
    per = PER_SECOND[column]
    second = data.draw(seconds_of(zone))
    micros = data.draw(st.integers(0, 10**6 - 1))
    ranks = {  # how to give a bound, and what a row is compared with
        "slot": lambda s, ns: oracle_slot(oracle_date(s, zone), unit, every, date(2000, 1, 3)),
        "date": lambda s, ns: oracle_date(s, zone),
        "datetime": lambda s, ns: ns,
    }
    kind = data.draw(st.sampled_from(list(ranks)))
    when = EPOCH + timedelta(seconds=second, microseconds=micros)
    bound = when if kind == "datetime" else ranks[kind](second, 0)
    mark = second * 10**9 + micros * 1000 if kind == "datetime" else bound
    if kind != "slot":
        bound = data.draw(st.sampled_from([bound, bound.isoformat()]))
    since, until = slots.bounds(bound, None)[0], slots.bounds(None, bound)[1]
    assert slots.bounds(bound, bound) == (since, max(since, until))

    near = [second + d for d in (-DAY_S, -1, 0, 1, 60, DAY_S)]
    for s in [*near, *data.draw(st.lists(seconds_of(zone), max_size=6))]:
        row = s * per + data.draw(st.integers(0, per - 1))
        rank = ranks[kind](s, row * (10**9 // per))
        assert (row >= since) == (rank >= mark)
        assert (row < until) == (rank <= mark)


def test_a_date_is_its_whole_day_also_where_slots_are_hours_or_months() -> None:
    for slot in ("1 hour", "1 month"):
        slots = slotting(aware("ms"), slot, "America/New_York")
        assert slots.bounds(date(2013, 1, 5), "2013-01-05") == (1357362000000, 1357448400000)


def test_a_slot_number_is_its_whole_interval() -> None:
    months = slotting(pa.date32(), "1 month")
    for slot in (1, np.int16(1), np.uint64(1), "1", " +1 "):
        assert months.bounds(slot, slot) == (31, 59)
    assert months.bounds("-1", 0) == (-31, 31)


def test_datetimes_finer_than_the_column_round_inwards() -> None:
    seconds = slotting(pa.timestamp("s"), "1 hour")
    half = datetime(1970, 1, 1, 0, 0, 9, 500_000)
    assert seconds.bounds(half, half) == (10, 10)
    assert seconds.bounds(half.replace(microsecond=0), half) == (9, 10)
    days = slotting(pa.date32(), "1 week")
    assert days.bounds(datetime(1970, 1, 5, 1), datetime(1970, 1, 8)) == (5, 8)
    assert days.bounds(datetime(1970, 1, 5), datetime(1970, 1, 8, 23)) == (4, 8)


def test_nanoseconds_are_kept_from_strings_numpy_and_pandas() -> None:
    import pandas as pd

    slots = slotting(pa.timestamp("ns"), "1 hour")
    ns = 1_357_380_900_123_456_789
    text = "2013-01-05T10:15:00.123456789"
    for when in (
        text,
        text + "Z",
        np.datetime64(text),
        pd.Timestamp(text),
        pd.Timestamp(text, tz="UTC"),
    ):
        assert slots.bounds(when, when) == (ns, ns + 1)
    assert slots.bounds("2013-01-05T10:15:00.1234567")[0] == ns - 89
    assert slots.bounds(np.datetime64("2013-01-05"), np.datetime64("2013-01-05T10")) == (
        1_357_344_000 * 10**9,
        1_357_380_000 * 10**9 + 1,
    )


def test_naive_datetimes_are_local_to_the_zone_and_aware_ones_are_turned_into_its_clock() -> None:
    naive, tokyo = (
        datetime(2013, 7, 5, 12),
        datetime(2013, 7, 5, 19, tzinfo=timezone(timedelta(hours=9))),
    )
    instants = slotting(aware(), "1 day", "Europe/Berlin")
    written = slotting(pa.timestamp("s"), "1 day", "Europe/Berlin")
    assert instants.bounds(naive) == instants.bounds(tokyo) == (1373018400, None)
    assert written.bounds(naive) == written.bounds(tokyo) == (1373018400 + 7200, None)


def test_a_datetime_that_the_zone_skipped_lies_between_its_neighbours() -> None:
    slots = slotting(aware(), "1 day", "Europe/Berlin")
    change = 1711846800  # 2024-03-31 02:00 became 03:00
    for fold in (0, 1):
        skipped = datetime(2024, 3, 31, 2, 30, 0, 7, fold=fold)
        assert slots.bounds(skipped, skipped) == (change, change)
    assert slots.bounds(None, "2024-03-31T01:59:59") == (None, change)
    assert slots.bounds("2024-03-31T03:00") == (change, None)


def test_a_datetime_that_the_zone_had_twice_is_told_by_its_fold() -> None:
    slots = slotting(aware(), "1 day", "Europe/Berlin")
    twice = datetime(2024, 10, 27, 2, 30)
    first, second = (slots.bounds(twice.replace(fold=fold))[0] for fold in (0, 1))
    assert (first, second) == (1729989000, 1729992600)


def test_bounds_past_the_ends_of_the_column_are_open_or_empty() -> None:
    slots = slotting(aware("ns"), "1 day", "Europe/Berlin")
    assert slots.bounds("0001-01-01", "9999-12-31") == (None, None)
    assert slots.bounds(datetime.min, datetime.max) == (None, None)
    assert slots.bounds(-(10**30), 10**30) == (None, None)
    for since, until in [("2500-01-01", None), (None, "1500-01-01T00:00"), (10**30, None)]:
        start, stop = slots.bounds(since, until)
        assert start == stop is not None


def test_the_last_and_first_numbers_can_be_told_from_no_bound() -> None:
    slots = slotting(None)
    assert slots.bounds(INT64_MIN + 1, INT64_MAX - 1) == (INT64_MIN + 1, INT64_MAX)
    assert slots.bounds(INT64_MIN, INT64_MAX) == (None, None)


def test_bounds_the_wrong_way_round_are_empty() -> None:
    for slots in EXAMPLES:
        start, stop = slots.bounds(7, 3)
        assert start == stop is not None


def test_no_bounds_are_no_bounds() -> None:
    assert all(slots.bounds(None, None) == (None, None) for slots in EXAMPLES)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "2013-02-30",
        "10:15",
        "1.5",
        "9" * 5000,
        "2013-01-05T10:15:00.1234567891",
        1.0,
        True,
        np.True_,
        b"3",
        [1],
        np.datetime64("NaT"),
        np.datetime64("2013-01"),
        np.datetime64(10**9, "D"),
        np.datetime64(1, "ps"),
        timedelta(1),
    ],
    ids=repr,
)
def test_what_is_no_time_is_a_bad_time(value: object) -> None:
    for slots in EXAMPLES:
        for given_bounds in ((value, None), (None, value)):
            with pytest.raises(BadTime, match="give"):
                slots.bounds(*given_bounds)


def test_the_missing_time_of_pandas_is_a_bad_time() -> None:
    import pandas as pd

    with pytest.raises(BadTime, match="give a slot number"):
        slotting(aware()).bounds(pd.NaT)


@pytest.mark.parametrize("slots", [slotting(None), slotting(pa.int64(), 5)])
@pytest.mark.parametrize(
    "value", [date(2013, 1, 5), datetime(2013, 1, 5), "2013-01-05", np.datetime64("2013-01-05")]
)
def test_numbers_have_no_dates(slots: Slotting, value: object) -> None:
    with pytest.raises(BadTime, match="slot numbers"):
        slots.bounds(value)


# --- definitions


def test_without_a_time_column_the_ordinal_is_the_slot() -> None:
    for slots in (slotting(None), slotting(None, None), slotting(None, "1 day")):
        assert slots.slots_of(array(-3, INT64_MAX)).tolist() == [-3, INT64_MAX]
        assert (slots.start(7), slots.bounds(3, 5), slots.label(17)) == (7, (3, 6), "17")


@pytest.mark.parametrize("text", ["3 hours", "3 Hour", " 3 HOURS ", "3hours", "03  hours"])
def test_slots_are_written_in_many_ways(text: str) -> None:
    assert slotting(aware(), text) == slotting(aware(), "3 hours")


def test_a_unit_alone_means_one_of_it_and_nothing_means_a_day() -> None:
    assert slotting(aware(), "quarter") == slotting(aware(), "1 quarters")
    assert slotting(aware(), None) == slotting(aware()) == slotting(aware(), "day")


def test_integer_widths_may_come_as_text() -> None:
    assert (
        slotting(pa.uint8(), "10") == slotting(pa.uint8(), np.int64(10)) == slotting(pa.uint8(), 10)
    )


def test_weeks_begin_on_the_monday_after_the_epoch_unless_told() -> None:
    weeks = slotting(pa.date32(), "week")
    assert weeks.slots_of(array(3, 4, 10, 11)).tolist() == [-1, 0, 0, 1]
    sundays = slotting(pa.date32(), "week", origin=date(2023, 1, 1))
    assert sundays.label(1) == "2023-01-08"


@pytest.mark.parametrize(
    "origin",
    [
        date(2013, 1, 5),
        "2013-01-05",
        datetime(2013, 1, 5),
        "2013-01-05T00:00",
        "2013-01-04T23:00Z",
        datetime(2013, 1, 4, 23, tzinfo=UTC),
    ],
    ids=repr,
)
def test_an_origin_is_local_to_the_zone_unless_aware(origin: object) -> None:
    for time_type, slot in [
        (aware(), "1 day"),
        (aware("ns"), "1 hour"),
        (pa.timestamp("us"), "hour"),
    ]:
        slots = slotting(time_type, slot, "Europe/Berlin", origin)
        assert slots.label(0).startswith("2013-01-05")
        assert slots.start(0) == slots.bounds("2013-01-05")[0]


@pytest.mark.parametrize(
    ("time_type", "slot", "zone", "origin", "says"),
    [
        (pa.float64(), "1 day", "UTC", None, "timestamp, date or integer"),
        (pa.string(), "1 day", "UTC", None, "timestamp, date or integer"),
        (pa.time64("us"), "1 day", "UTC", None, "timestamp, date or integer"),
        (pa.duration("us"), "1 day", "UTC", None, "timestamp, date or integer"),
        (pa.int64(), "1 day", "UTC", None, "give slot=N"),
        (pa.int64(), None, "UTC", None, "give slot=N"),
        (pa.int64(), 0, "UTC", None, "give slot=N"),
        (pa.int64(), True, "UTC", None, "give slot=N"),
        (pa.int64(), 1.5, "UTC", None, "give slot=N"),
        (pa.int64(), 2**63, "UTC", None, "give slot=N"),
        (pa.int64(), 5, "UTC", date(2013, 1, 5), "integer as its origin"),
        (pa.int64(), 5, "UTC", 2**63, "integer as its origin"),
        (None, None, "UTC", 5, "leave it out"),
        (aware(), 5, "UTC", None, "15 minutes"),
        (aware(), "", "UTC", None, "15 minutes"),
        (aware(), "0 days", "UTC", None, "15 minutes"),
        (aware(), "-1 day", "UTC", None, "15 minutes"),
        (aware(), "1.5 days", "UTC", None, "15 minutes"),
        (aware(), "1 fortnight", "UTC", None, "15 minutes"),
        (aware(), "1 day or so", "UTC", None, "15 minutes"),
        (aware("ns"), "99999999 hours", "UTC", None, "shorter slot"),
        (aware("ns"), "1 hour", "UTC", date(1, 1, 1), "origin in the unit and range"),
        (aware("s"), "1 hour", "UTC", "2013-01-05T00:00:00.5", "origin in the unit and range"),
        (pa.date32(), "6 hours", "UTC", None, "slot of days"),
        (pa.date64(), "30 minutes", "UTC", None, "slot of days"),
        (aware(), "1 day", "Europe/Atlantis", None, "no zone"),
        (aware(), "1 day", "Europe", None, "no zone"),
        (aware(), "1 day", "", None, "no zone"),
        (aware(), "1 day", "/etc/passwd", None, "no zone"),
        (aware(), "1 day", "../UTC", None, "no zone"),
        (aware(), "1 day", None, None, "no zone"),
        (aware(), "1 month", "UTC", date(2013, 1, 29), "day 1 to 28"),
        (aware(), "1 quarter", "UTC", "2013-01-31", "day 1 to 28"),
        (aware(), "1 year", "UTC", date(2013, 5, 30), "day 1 to 28"),
        (aware(), "1 day", "UTC", datetime(2013, 1, 5, 6), "begins at midnight"),
        (aware(), "1 day", "Asia/Kolkata", "2013-01-05T00:00Z", "begins at midnight"),
        (aware(), "1 day", "UTC", np.datetime64(10**7 * DAY_S, "s"), "begins at midnight"),
        (aware(), "1 day", "UTC", 5, "give a date"),
        (aware(), "1 day", "UTC", "soon", "Cannot read origin"),
        (aware(), "1 day", "UTC", 1.5, "Cannot read origin"),
    ],
)
def test_what_cannot_be_slotted_is_a_bad_definition(time_type, slot, zone, origin, says) -> None:
    with pytest.raises(BadDefinition, match=says):
        slotting(time_type, slot, zone, origin)


def test_slot_numbers_that_do_not_fit_are_an_error_and_do_not_wrap() -> None:
    with pytest.raises(BadTime, match="origin"):
        slotting(pa.int64(), 1, origin=-1).slots_of(array(INT64_MAX))
    assert slotting(pa.int64(), 1, origin=-1).slots_of(array(INT64_MAX - 1)).tolist() == [INT64_MAX]


# --- labels, JSON, ordinals

EXAMPLES = [
    slotting(None),
    slotting(pa.int32(), 10, origin=-7),
    slotting(pa.date32(), "2 weeks", origin="2013-01-06"),
    slotting(pa.date64(), "1 month"),
    slotting(pa.timestamp("ns"), "15 minutes", "Asia/Kolkata"),
    slotting(aware("us"), "1 hour", "America/St_Johns", "2013-01-05T00:30"),
    slotting(aware("ms"), "1 quarter", "Pacific/Apia", date(2013, 2, 3)),
    slotting(aware("s"), "day", "Europe/Berlin"),
]


@pytest.mark.parametrize(
    ("slot", "origin", "label"),
    [
        ("1 day", "2013-01-04", "2013-01-05"),
        ("1 week", "2012-12-31", "2013-01-07"),
        ("1 month", "2012-12-01", "2013-01"),
        ("1 month", "2012-12-05", "2013-01-05"),
        ("1 quarter", "2012-10-01", "2013-01"),
        ("1 year", "2012-01-01", "2013"),
        ("1 year", "2012-04-01", "2013-04"),
        ("15 minutes", "2013-01-05T10:00", "2013-01-05 10:15"),
        ("1 hour", "2013-01-04T23:00:30", "2013-01-05 00:00:30"),
        ("1 second", "2013-01-05T10:14:59", "2013-01-05 10:15:00"),
    ],
)
@pytest.mark.parametrize("time_type", [aware("ns"), pa.timestamp("s")], ids=str)
def test_labels_are_for_people(time_type: pa.DataType, slot: str, origin: str, label: str) -> None:
    assert slotting(time_type, slot, "America/New_York", origin).label(np.int64(1)) == label


@pytest.mark.parametrize("slots", EXAMPLES, ids=repr)
def test_slots_survive_json_and_pickle(slots: Slotting) -> None:
    again = from_json(json.loads(json.dumps(slots.to_json())))
    assert again == slots == pickle.loads(pickle.dumps(slots))
    assert hash(again) == hash(slots)
    assert [again.start(n) for n in range(-5, 5)] == [slots.start(n) for n in range(-5, 5)]


def test_the_json_of_slots_keeps_its_form() -> None:
    assert [EXAMPLES[n].to_json() for n in (1, 4, 6)] == [
        {"kind": "numbers", "every": 10, "origin": -7},
        {"kind": "durations", "unit": "minute", "every": 15, "zone": "Asia/Kolkata",
         "column": "ns", "aware": False, "origin": 0},
        {"kind": "calendar", "unit": "quarter", "every": 1, "zone": "Pacific/Apia",
         "column": "ms", "aware": True, "origin": "2013-02-03"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "moons"},
        {"unit": "moon"},
        {"every": 0},
        {"every": "1"},
        {"zone": "Mars"},
        {"column": "eon"},
        {"origin": "soon"},
        {"origin": 5},
        {"more": 1},
    ],
    ids=repr,
)
def test_json_that_describes_no_slots_is_a_bad_definition(change: dict[str, object]) -> None:
    with pytest.raises(BadDefinition):
        from_json({**EXAMPLES[6].to_json(), **change})
    with pytest.raises(BadDefinition):
        from_json({})


@pytest.mark.parametrize(
    "time_type",
    [
        pa.timestamp("s"),
        aware("ms"),
        pa.timestamp("us"),
        aware("ns"),
        pa.date32(),
        pa.int8(),
        pa.uint64(),
        pa.int64(),
    ],
    ids=str,
)
def test_ordinals_are_the_raw_values_of_the_column(time_type: pa.DataType) -> None:
    rows = (
        pa.array([1, 0, 100], pa.int32())
        .cast(pa.int32() if time_type == pa.date32() else pa.int64())
        .cast(time_type)
    )
    for column in (rows, pa.chunked_array([rows]), pa.chunked_array([rows[:1], rows[1:]])):
        got = ordinals(column)
        assert (got.dtype, got.tolist()) == (np.int64, [1, 0, 100])
    assert ordinals(pa.chunked_array([], time_type)).tolist() == []
    assert ordinals(rows[1:]).tolist() == [0, 100]


@pytest.mark.parametrize(
    "time_type", [aware("ns"), pa.timestamp("s"), pa.date64(), pa.int64()], ids=str
)
def test_ordinals_of_64_bits_are_not_copied(time_type: pa.DataType) -> None:
    rows = pa.array([0, 86_400_000], pa.int64()).cast(time_type)
    for column in (rows, pa.chunked_array([rows])):
        assert ordinals(column).__array_interface__["data"][0] == rows.buffers()[1].address


def test_unsigned_times_past_int64_are_a_bad_time() -> None:
    with pytest.raises(BadTime, match="smaller"):
        ordinals(pa.array([2**63], pa.uint64()))
