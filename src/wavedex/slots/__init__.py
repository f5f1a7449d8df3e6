"""Time to slot numbers and back: counted, measured, read off a calendar, or named by their ends."""

from wavedex.slots.calendar import Calendar
from wavedex.slots.contract import Ordinals, Slotting, distinct, from_ordinals, ordinals
from wavedex.slots.division import check_divides, check_nested, divides
from wavedex.slots.ends import Ends
from wavedex.slots.named import NamedSlots
from wavedex.slots.numbers import Numbers
from wavedex.slots.reading import check_zone, from_json, slotting
from wavedex.slots.timed import Durations, duration_ns

__all__ = [
    "Calendar",
    "Durations",
    "Ends",
    "NamedSlots",
    "Numbers",
    "Ordinals",
    "Slotting",
    "check_divides",
    "check_nested",
    "check_zone",
    "distinct",
    "divides",
    "duration_ns",
    "from_json",
    "from_ordinals",
    "ordinals",
    "slotting",
]
