"""Sets of slots that cost little however many slots are in them.

A window may have a day of seconds. A set of its slots then has tens of thousands of elements, and a
write makes dozens of such sets. Here a set is its least slot and one large integer, with a bit for
each slot from there on. Union, intersection and difference are those of integers: they need a
microsecond where a `frozenset` needs a millisecond. Slots that lie far apart stay in a `frozenset`.
Both are `Slots`; they compare and combine with each other.

In JSON a set is a list of slots, of ranges and of bitmaps, whichever is shortest. Knows nothing but
integers.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Set
from itertools import compress
from typing import Any, TypeAlias

Slots: TypeAlias = Set[int]

SPAN_MAX = 1 << 22
"""How many slots such a set may span: half a megabyte of bits. No stored range is longer."""
FEW = 64
"""Up to this many slots are looked up one by one."""
RUN_LEAST = 4
"""A run of at least this many slots is stored as a range."""

_RUN = re.compile("1+")
_TRUTH = bytes(byte == ord("1") for byte in range(256))
"""Turns the digit 1 into 1 and all others into 0."""


class SlotSet(Set[int]):
    """An immutable set of slots: bit i of `mask` stands for slot `first` + i.

    Bit 0 is set unless the set is empty.

    COST: operators and `len` take a 64th of the span of both sets, iteration takes the span.
    """

    __slots__ = ("first", "mask")

    first: int
    mask: int

    def __init__(self, first: int, mask: int) -> None:
        """Bits may begin with zeros. Use `slots_of` or `run_of`, which check the span of slots."""
        zeros = (mask & -mask).bit_length() - 1 if mask else 0
        self.first = first + zeros if mask else 0
        self.mask = mask >> zeros

    @property
    def last(self) -> int:
        """The greatest slot. REQUIRES: there is one."""
        return self.first + self.mask.bit_length() - 1

    @property
    def is_run(self) -> bool:
        """Whether there is no gap in it."""
        return self.mask & (self.mask + 1) == 0

    def ranges(self) -> list[list[int]]:
        """The first and the last slot of each run, ascending."""
        if self.is_run:
            return [[self.first, self.last]] if self.mask else []
        runs = (found.span() for found in _RUN.finditer(self._digits))
        return [[self.first + start, self.first + stop - 1] for start, stop in runs]

    @property
    def _digits(self) -> str:
        """A digit for each slot, the first one first."""
        return bin(self.mask)[:1:-1]

    def __contains__(self, slot: object) -> bool:
        if not isinstance(slot, int):
            return False
        return slot >= self.first and self.mask >> (slot - self.first) & 1 == 1

    def __iter__(self) -> Iterator[int]:
        span = range(self.first, self.first + self.mask.bit_length())
        if self.is_run:
            return iter(span)
        return compress(span, self._digits.encode().translate(_TRUTH))

    def __len__(self) -> int:
        return self.mask.bit_count()

    def __bool__(self) -> bool:
        return self.mask != 0

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SlotSet):
            return (self.first, self.mask) == (other.first, other.mask)
        if not isinstance(other, Set):
            return NotImplemented
        return len(self) == len(other) and all(slot in self for slot in other)

    def __le__(self, other: Set[Any]) -> bool:
        if len(self) > len(other):
            return False
        return not self - other

    def __ge__(self, other: Set[Any]) -> bool:
        if len(self) < len(other):
            return False
        if not isinstance(other, SlotSet):
            return all(slot in self for slot in other)
        return not other - self

    def __lt__(self, other: Set[Any]) -> bool:
        return len(self) < len(other) and self <= other

    def __gt__(self, other: Set[Any]) -> bool:
        return len(self) > len(other) and self >= other

    def union(self, *others: Iterable[int]) -> Slots:
        """The slots of all of them."""
        return union([self, *map(slots_of, others)])

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Whether no slot is in both."""
        if isinstance(other, SlotSet):
            return not self & other
        return not any(slot in self for slot in other)

    def __and__(self, other: Set[Any]) -> SlotSet:
        if not isinstance(other, SlotSet):
            few = len(other) < FEW
            found = slots_of([each for each in other if each in self] if few else other & {*self})
            assert isinstance(found, SlotSet), "no farther apart than its own slots"
            return found
        first = max(self.first, other.first)
        return SlotSet(first, self._from(first) & other._from(first))

    def __sub__(self, other: Set[Any]) -> Slots:
        common = self & other  # Slots far behind would have to be moved far.
        return SlotSet(self.first, self.mask & ~common._from(self.first)) if common else self

    def __or__(self, other: Set[Any]) -> Slots:
        if not isinstance(other, SlotSet):
            other = slots_of(other)
        if not isinstance(other, SlotSet):
            return other.union(self) if isinstance(other, frozenset) else frozenset(self) | other
        if not self or not other:
            return self or other
        first = min(self.first, other.first)
        if max(self.last, other.last) - first >= SPAN_MAX:
            return frozenset(self).union(other)
        return SlotSet(first, self._from(first) | other._from(first))

    __ror__ = __or__
    __rand__ = __and__

    def __rsub__(self, other: Set[Any]) -> Slots:
        return slots_of(slot for slot in other if slot not in self)

    def _from(self, first: int) -> int:
        """Its bits from another slot on."""
        moved = self.first - first
        return self.mask << moved if moved >= 0 else self.mask >> -moved

    def __reduce__(self) -> tuple[Any, ...]:
        return SlotSet, (self.first, self.mask)

    def __repr__(self) -> str:
        return f"slots_of({{{', '.join(map(str, self))}}})"


def slots_of(slots: Iterable[int]) -> Slots:
    """The set of some slots.

    >>> slots_of([3, 4, 11]) == frozenset({3, 4, 11})
    True
    """
    if isinstance(slots, SlotSet):
        return slots
    if isinstance(slots, range) and slots.step == 1 and len(slots) <= SPAN_MAX:
        return run_of(slots.start, slots.stop - 1)
    found = slots if isinstance(slots, Set) else frozenset(slots)
    if not found:
        return NO_SLOTS
    first, last = min(found), max(found)
    if last - first >= SPAN_MAX:
        return frozenset(found)
    if last - first == len(found) - 1:
        return run_of(first, last)
    digits = bytearray(b"0") * (last - first + 1)
    for slot in found:
        digits[last - slot] = 49
    return SlotSet(first, int(bytes(digits), 2))


def run_of(first: int, last: int) -> SlotSet:
    """All slots from `first` to `last`, both included; none if `last` is before `first`.

    REQUIRES: they are less than SPAN_MAX apart.
    """
    return SlotSet(first, (1 << (last - first + 1)) - 1) if first <= last else NO_SLOTS


def union(sets: Iterable[Slots]) -> Slots:
    """The slots of all sets."""
    found: Slots = NO_SLOTS
    for slots in sets:
        found = found | slots
    return found


def slots_from(slots: Slots, start: int) -> Slots:
    """Those that are not before `start`."""
    if not isinstance(slots, SlotSet):
        return frozenset(slot for slot in slots if slot >= start)
    return slots if start <= slots.first else SlotSet(start, slots._from(start))


def slots_before(slots: Slots, stop: int) -> Slots:
    """Those that are before `stop`."""
    if not isinstance(slots, SlotSet):
        return frozenset(slot for slot in slots if slot < stop)
    if not slots or stop > slots.last:
        return slots
    return SlotSet(slots.first, slots.mask & ((1 << max(0, stop - slots.first)) - 1))


def first_of(slots: Slots) -> int:
    """The least slot. REQUIRES: there is one. COST: constant, for a SlotSet."""
    return slots.first if isinstance(slots, SlotSet) else min(slots)


def last_of(slots: Slots) -> int:
    """The greatest slot. REQUIRES: there is one. COST: constant, for a SlotSet."""
    return slots.last if isinstance(slots, SlotSet) else max(slots)


def slots_key(slots: Slots) -> tuple[int, int] | Slots:
    """Something that is equal for equal sets, and can be hashed at little cost."""
    found = slots_of(slots)
    return (found.first, found.mask) if isinstance(found, SlotSet) else found


def ranges_of(slots: Iterable[int]) -> list[list[int]]:
    """Slots as a list of inclusive ranges, ascending.

    >>> ranges_of({3, 4, 5, 11})
    [[3, 5], [11, 11]]
    """
    found = slots_of(slots)
    if isinstance(found, SlotSet):
        return found.ranges()
    ranges: list[list[int]] = []
    for slot in sorted(found):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1][1] = slot
        else:
            ranges.append([slot, slot])
    return ranges


def slots_to_json(slots: Slots) -> list[Any]:
    """Slots as plain JSON: ascending slots and ranges, or one bitmap where that is shorter.

    >>> slots_to_json(frozenset({3, 11, 12, 13, 14, 15}))
    [3, [11, 15]]
    """
    found = slots_of(slots)
    if isinstance(found, SlotSet):
        span = found.mask.bit_length()
        runs = (found.mask & ~(found.mask << 1)).bit_count()
        # A range has two numbers and three signs; six bits of a bitmap make a character.
        if runs * (2 * len(str(found.first)) + 3) > 32 + span // 6:
            bits = found.mask.to_bytes(-(-span // 8), "little")
            return [[found.first, base64.b64encode(bits).decode()]]
    listed: list[Any] = []
    for first, last in ranges_of(found):
        if last - first + 1 < RUN_LEAST:
            listed += range(first, last + 1)
            continue
        for start in range(first, last + 1, SPAN_MAX):
            listed.append([start, min(start + SPAN_MAX - 1, last)])
    return listed


def slots_from_json(data: object) -> Slots:
    """Return the slots that `slots_to_json` made `data` of; raise ValueError for anything else.

    >>> sorted(slots_from_json([3, [11, 13]]))
    [3, 11, 12, 13]
    """
    if not isinstance(data, list):
        raise ValueError(f"slots are a list of whole numbers and ranges, not {data!r}")
    single = [each for each in data if type(each) is int]
    found = slots_of(single)
    count = len(single)
    for each in data if len(single) < len(data) else ():
        if type(each) is not int:
            run = _run_from_json(each)
            found, count = found | run, count + len(run)
    if len(found) != count:
        raise ValueError(f"a slot is listed twice in {str(data)[:200]}")
    return found


def _run_from_json(data: object) -> SlotSet:
    match data:
        case [int(first), int(last)] if 0 <= last - first < SPAN_MAX:
            return run_of(first, last)
        case [int(first), str(text)] if len(text) <= SPAN_MAX // 6 + 4:
            try:
                mask = int.from_bytes(base64.b64decode(text, validate=True), "little")
            except binascii.Error as error:
                raise ValueError(f"{text[:100]!r} is no bitmap of slots ({error})") from None
            if mask & 1:
                return SlotSet(first, mask)
    raise ValueError(
        f"slots are whole numbers, and ranges of them of at most {SPAN_MAX} slots, "
        f"not {str(data)[:200]}"
    )


NO_SLOTS = SlotSet(0, 0)
