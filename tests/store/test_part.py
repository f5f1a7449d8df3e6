"""Parts: which slots they hold and show, as ranges of slots and of ordinals, and as JSON."""

from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from wavedex.files.local import FileRef
from wavedex.slots import Numbers
from wavedex.store.part import Part, from_ranges, to_ranges

slots = st.frozensets(st.integers(-20, 20), max_size=15)


@given(slots)
def test_slots_survive_being_written_as_ranges(some):
    ranges = to_ranges(some)
    assert from_ranges(ranges) == some
    assert all(first <= last for first, last in ranges)
    assert all(a[1] + 1 < b[0] for a, b in itertools.pairwise(ranges))


@given(slots, slots)
def test_the_ranges_of_a_part_cover_exactly_the_rows_of_the_slots_asked_for(held, wanted):
    part = Part("packed", {}, held, held, len(held))
    ranges = part.ranges(wanted & held, Numbers(every=10))
    covered = {
        slot
        for slot in held
        if any(r is None or (r[0] <= slot * 10 < r[1] and slot * 10 + 9 < r[1]) for r in ranges)
    }
    assert covered == held & wanted if held else covered == set()


@given(slots, slots)
def test_runs_end_only_where_a_held_slot_is_left_out(held, wanted):
    part = Part("packed", {}, held, held, 0)
    runs = part.runs(wanted & held)
    inside = {slot for slot in held if any(first <= slot <= last for first, last in runs)}
    assert inside == held & wanted
    for (_, last), (first, _) in itertools.pairwise(runs):
        assert any(last < slot < first for slot in held - wanted)


@given(slots.filter(bool), slots, st.integers(0, 2**64 - 1) | st.none())
def test_a_part_survives_being_written_as_json(held, shown, content):
    files = {
        "rows": FileRef("data/0000000001-0a1b2c3d-00000-0.arrow", 12, "ff"),
        "directory": FileRef("data/0000000001-0a1b2c3d-00000-0.dir", 3, ""),
    }
    part = Part("packed", files, held, held, 7, content).show(shown)
    assert Part.from_json(json.loads(json.dumps(part.to_json()))) == part
    assert part.bytes == 15
    assert part.is_whole == (held <= shown)
