"""The ledger: how many rows each slot has, and what it was delivered with.

A manifest with a line for each slot would grow with the window, and so would every commit. So it
holds the latest lines only. Once they are many, they are written to a file of their own, a segment.
A segment never changes. Manifests name it from then on, as they name data.
Readers of rows never look at it. Writers look at the lines in hand, and at a segment where a slot
comes again. A sum over slots takes segments as a whole.

Counts add up: a slot may have a line in several places, and has the sum of them. Of what it was
delivered with, the latest line counts. Lines of slots that are no longer held stay where they are
until their segment goes. Nobody asks for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from wavedex.errors import Damaged
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import check_part_file
from wavedex.log.codec import PLAIN, Codec, kept, listed, numbered
from wavedex.plan.slot_set import Slots, first_of, slots_before, slots_from, slots_of
from wavedex.rows.arrays import read_arrays, write_arrays
from wavedex.rows.arrow import to_numpy

LINES_MAX = 1024
"""How many slots have a line in the manifest. One more, and all are written to a segment.

A line takes some forty bytes.
"""
SEGMENTS_MAX = 128
"""How many segments there are. One more, and all are made one.

Each takes some hundred bytes in the manifest.
"""

_IS_OURS = re.compile(r"data/\d{10}-[0-9a-f]+-ledger\.slots")


class Segment(NamedTuple):
    """A file of lines as a manifest names it."""

    file: FileRef
    first: int
    """The first slot in it."""
    last: int
    """The last slot in it."""
    rows: int
    """The sum of its counts."""

    def to_json(self) -> list[Any]:
        """As a manifest holds it."""
        return [self.file.name, self.file.bytes, self.file.checksum, *self[1:]]

    @classmethod
    def from_json(cls, data: Any) -> Segment:
        """What a manifest holds. Raises ValueError."""
        name, size, checksum, *numbers = data
        if not isinstance(name, str) or not _IS_OURS.fullmatch(name):
            raise ValueError(f"no segment of a ledger is called {name!r}")
        if not all(type(number) is int for number in (size, *numbers)):
            raise ValueError(f"a segment has whole numbers, not {numbers!r}")
        return cls(FileRef(check_part_file(name), size, checksum), *numbers)


class Lines(NamedTuple):
    """The content of a segment: one line for each slot."""

    slots: npt.NDArray[np.int64]
    """Ascending."""
    delivered: pa.Array
    """What each slot was delivered with, perhaps nothing."""
    rows: npt.NDArray[np.int64]
    """How many rows are counted for each slot."""


@dataclass(frozen=True)
class Ledger:
    """The lines of all slots as one commit has them."""

    delivered: Mapping[int, str] = kept(numbered(PLAIN), make=dict)
    """The latest lines: what slots were delivered with."""
    rows: Mapping[int, int] = kept(numbered(PLAIN), make=dict)
    """The latest lines: how many rows are counted for slots."""
    segments: tuple[Segment, ...] = kept(
        listed(Codec(Segment.to_json, Segment.from_json)), default=()
    )
    """The files of all earlier lines, the oldest first."""
    files: AnyFiles | None = field(default=None, compare=False, repr=False)
    """Where segments are read from."""

    def identity(self, slot: int) -> str | None:
        """What a slot was delivered with. COST: that of its segment, if not among the latest."""
        if slot in self.delivered:
            return self.delivered[slot]
        for segment in reversed(self.segments):
            if segment.first <= slot <= segment.last:
                lines = self._read(segment)
                found = _place(lines, slot)
                if found is not None and lines.delivered[found].is_valid:
                    return str(lines.delivered[found].as_py())
        return None

    def total(self, slots: Slots) -> int:
        """The rows of some slots.

        COST: a segment is read only where some of its slots are wanted and some are not.
        """
        wanted = slots_of(slots)
        found = sum(self.rows[slot] for slot in slots_of(self.rows) & wanted)
        for segment in self.segments:
            within = slots_before(slots_from(wanted, segment.first), segment.last + 1)
            if len(within) == segment.last - segment.first + 1:
                found += segment.rows
            elif within:
                lines = self._read(segment)
                found += int(lines.rows[np.isin(lines.slots, np.fromiter(within, np.int64))].sum())
        return found

    @cached_property
    def all_rows(self) -> Mapping[int, int]:
        """The rows of every slot that has a line. COST: every segment is read."""
        found: Counter[int] = Counter()
        for segment in self.segments:
            lines = self._read(segment)
            found.update(dict(zip(lines.slots.tolist(), lines.rows.tolist(), strict=True)))
        found.update(self.rows)
        return found

    @cached_property
    def all_delivered(self) -> Mapping[int, str]:
        """What every slot was delivered with. COST: every segment is read."""
        found: dict[int, str] = {}
        for segment in self.segments:
            lines = self._read(segment)
            pairs = zip(lines.slots.tolist(), lines.delivered.to_pylist(), strict=True)
            found.update({slot: identity for slot, identity in pairs if identity is not None})
        return {**found, **self.delivered}

    def kept(self, held: Slots) -> Ledger:
        """Without lines and segments that have no held slot."""
        lines = slots_of(self.rows) & held
        return replace(
            self,
            rows={slot: self.rows[slot] for slot in lines},
            segments=tuple(each for each in self.segments if held and each.last >= first_of(held)),
        )

    def spilled(self, files: AnyFiles, stem: str, held: Slots) -> Ledger:
        """With all lines in a segment, where they are too many for a manifest.

        ENSURES: the segment lasts.

        Where there are too many segments, they are made one, of the slots that are `held`.
        """
        ledger = self
        if len(self.segments) >= SEGMENTS_MAX and self._is_long:
            delivered, rows = self.all_delivered, self.all_rows
            ledger = Ledger(
                {slot: delivered[slot] for slot in slots_of(delivered) & held},
                {slot: rows[slot] for slot in slots_of(rows) & held},
            )
        if not ledger._is_long:
            return ledger
        segment = ledger._write(files, f"{stem}.slots")
        return Ledger(segments=(*ledger.segments, segment), files=files)

    @property
    def _is_long(self) -> bool:
        return max(len(self.delivered), len(self.rows)) > LINES_MAX

    def _write(self, files: AnyFiles, name: str) -> Segment:
        slots = sorted({*self.delivered, *self.rows})
        rows = np.array([self.rows.get(slot, 0) for slot in slots], np.int64)
        arrays = {
            "slots": np.array(slots, np.int64),
            "delivered": pa.array([self.delivered.get(slot) for slot in slots], pa.string()),
            "rows": rows,
        }
        ref = files.create(name, lambda sink: write_arrays(sink, arrays, {}))
        files.sync(name)
        return Segment(ref, slots[0], slots[-1], int(rows.sum()))

    def differing(self, other: Ledger) -> Slots:
        """The slots that have another number of rows in another ledger.

        COST: segments that both have are not read.
        """
        found: Counter[int] = Counter()
        common = {*self.segments} & {*other.segments}
        for ledger, sign in ((self, 1), (other, -1)):
            for segment in ledger.segments:
                if segment not in common:
                    lines = ledger._read(segment)
                    counts = (sign * lines.rows).tolist()
                    found.update(dict(zip(lines.slots.tolist(), counts, strict=True)))
            found.update({slot: sign * count for slot, count in ledger.rows.items()})
        return slots_of([slot for slot, count in found.items() if count])

    @cached_property
    def _known(self) -> dict[Segment, Lines]:
        """The segments that were read already."""
        return {}

    def _read(self, segment: Segment) -> Lines:
        """The lines of a segment. Raises Damaged."""
        if segment not in self._known:
            self._known[segment] = self._read_file(segment)
        return self._known[segment]

    def _read_file(self, segment: Segment) -> Lines:
        assert self.files is not None, "a ledger with segments was read from files"
        ref = segment.file
        try:
            buffer = self.files.map(ref)
        except FileNotFoundError:
            raise Damaged(f"{ref.name} is missing") from None
        if xxhash.xxh64_hexdigest(buffer) != ref.checksum:
            raise Damaged(f"{ref.name} has another checksum than its manifest says")
        arrays, _ = read_arrays(buffer, ref.name)
        return Lines(to_numpy(arrays["slots"]), arrays["delivered"], to_numpy(arrays["rows"]))


def _place(lines: Lines, slot: int) -> int | None:
    place = int(np.searchsorted(lines.slots, slot))
    return place if place < len(lines.slots) and lines.slots[place] == slot else None
