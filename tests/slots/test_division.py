"""Which clock divides which: judged by a look at the boundaries themselves."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from wavedex import errors
from wavedex.slots import check_divides, check_nested, divides, slotting
from wavedex.slots.ends import ends

TIME = pa.timestamp("s", "UTC")
ZONES = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"]
WIDTHS = ["10 minutes", "15 minutes", "30 minutes", "1 hour", "90 minutes", "5 hours", "1 day",
          "2 days", "1 week", "1 month", "1 quarter", "1 year"]  # fmt: skip
FIRST, LAST = 1_262_304_000, 1_262_304_000 + 3 * 366 * 86_400
"""Three years from 2010 on: with changes of the clock, a leap year, and whole quarters."""


def boundaries(slots) -> set[int]:
    first, last = slots.slots_of(pa.array([FIRST, LAST]).to_numpy()).tolist()
    return {slots.start(slot) for slot in range(first + 1, last + 1)}


CLOCKS = {(zone, width): slotting(TIME, width, zone=zone) for zone, width in product(ZONES, WIDTHS)}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("width", WIDTHS)
def test_one_divides_another_where_it_has_all_of_its_boundaries(zone, width):
    part = CLOCKS[zone, width]
    own = boundaries(part)
    for about, whole in CLOCKS.items():
        has_all = boundaries(whole) <= own
        if "month" in about[1] or about[1] in ("1 quarter", "1 year"):
            # A zone may have had other offsets, in other years, when its months began.
            assert has_all or not divides(part, whole), (zone, width, about)
        else:
            assert divides(part, whole) == has_all, (zone, width, about)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ((pa.int64(), 5), (pa.int64(), 15), True),
        ((pa.int64(), 5, "UTC", 3), (pa.int64(), 15, "UTC", 8), True),
        ((pa.int64(), 5, "UTC", 3), (pa.int64(), 15), False),
        ((pa.int64(), 15), (pa.int64(), 5), False),
        ((pa.int64(), 5), (TIME, "1 day"), False),
        ((pa.timestamp("ms"), "1 hour"), (pa.timestamp("us"), "1 day"), True),
        ((pa.timestamp("ms"), "1 hour"), (TIME, "1 day"), False),
        ((pa.date32(), "1 day"), (pa.timestamp("ns"), "1 week"), True),
        ((TIME, "1 week"), (TIME, "2 weeks", "UTC", "1970-01-12"), True),
        ((TIME, "2 weeks"), (TIME, "2 weeks", "UTC", "1970-01-12"), False),
        ((TIME, "2 months"), (TIME, "1 year", "UTC", "1970-03-01"), True),
        ((TIME, "2 months"), (TIME, "1 year", "UTC", "1970-02-01"), False),
    ],
)
def test_origins_units_and_kinds_of_time_count(part, whole, expected):
    assert divides(slotting(*part), slotting(*whole)) is expected


def test_refreshes_have_the_boundaries_of_their_slots():
    assert divides(ends(TIME, "5 minutes"), slotting(TIME, "1 hour"))
    assert divides(slotting(TIME, "5 minutes"), ends(TIME, "1 hour"))
    assert not divides(ends(TIME, "7 minutes"), ends(TIME, "1 hour"))


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        ((TIME, "7 minutes"), (TIME, "1 hour"),
         r"The basic windows of 7 minutes straddle the slots of 1 hour: .* Give 6 minutes or 10 m"),
        ((pa.int64(), 4), (pa.int64(), 15), "Give 3 or 5, counted from"),
        ((TIME, "1 hour"), (TIME, "1 day", "Asia/Kolkata"), "same origin in Asia/Kolkata"),
        ((pa.int64(), 5, "UTC", 3), (pa.int64(), 15), "Their lengths would fit: count both from"),
        ((pa.int64(), 5), (TIME, "1 hour"), "One is counted in numbers and the other in time"),
        ((pa.timestamp("s"), "1 hour"), (TIME, "1 day"), "the other by times without a zone"),
        ((TIME, "1 month"), (TIME, "1 day"), "Give both the same length, or days of the same"),
    ],
)  # fmt: skip
def test_what_straddles_is_told_what_would_fit(part, whole, said):
    with pytest.raises(errors.Straddling, match=said):
        check_divides(slotting(*part), slotting(*whole), ("basic windows", "slots"))


def test_of_two_that_nest_either_may_be_the_longer_one():
    short, long, odd = (slotting(TIME, width) for width in ("5 minutes", "1 hour", "7 minutes"))
    check_nested(short, long, ("slots", "refreshes"))
    check_nested(long, short, ("slots", "refreshes"))
    with pytest.raises(errors.Straddling, match="The slots of 7 minutes straddle the refreshes"):
        check_nested(odd, long, ("slots", "refreshes"))
