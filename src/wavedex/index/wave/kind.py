"""What a wave index is told when it is created, for pipeline files and the data source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import pyarrow as pa

from wavedex.errors import BadDefinition, NotAnIndex, NoWatermark
from wavedex.index.core.definition import window_of
from wavedex.index.core.delivery import Delivery
from wavedex.index.core.manner import NOW
from wavedex.index.core.turns import Turn
from wavedex.index.kind import Found, Kind, Lateness, is_number, key_columns, time_type, width_of
from wavedex.index.wave.append import Appended
from wavedex.index.wave.definition import WaveDefinition
from wavedex.index.wave.feed import Fed
from wavedex.index.wave.index import WaveIndex
from wavedex.plan import SCHEMES, options_of
from wavedex.slots import Numbers, slotting

_REQUIRED = ("key", "time", "window")
"""What a new index needs.

Without a time somebody would have to name the slot of each batch, and nobody does.
"""
_STAND_INS = {"key": "key", "time": "time", "window": 1_000_000}
"""For what is missing or wrong; no number of sub-indexes is too high for the window."""
_NEEDED = {"max_size": 1, "sizes": {0: 1}}
"""What some schemes cannot be without."""


class WaveKind(Kind):
    """The options of `WaveIndex.create`."""

    index = WaveIndex
    has_watermark = True
    can_apply = False
    can_shorten = False
    checked_first = ("key", "time", "slot", "zone", "origin", "scheme", "window", "indexes")

    def counted(self, about: Mapping[str, Any]) -> tuple[dict[str, int], str]:
        """The rows that count, and their slots."""
        rows, slots = about["rows"], sum(entry["live"] for entry in about["slots"])
        return {"rows": rows, "slots": slots}, f"{rows:,} rows of {slots:,} slots"

    def append(self, index: WaveIndex, rows: Delivery, slot: Any = None, **manner: Any) -> Appended:
        return index.append(rows, slot, **manner)

    def amend(self, index: WaveIndex, rows: Delivery, slot: Any = None, **manner: Any) -> Appended:
        return index.amend(rows, slot, **manner)

    def update(
        self,
        index: WaveIndex,
        rows: Delivery,
        now: Any,
        arrived: Mapping[str, int] | None = None,
        **manner: Any,
    ) -> NoReturn:
        raise NotAnIndex(f"{index.path} is no lifetime index. Use append.")

    def apply(self, index: WaveIndex, now: Any, **given: Any) -> NoReturn:
        raise NotAnIndex(
            f"{index.path} is no lifetime index: its rows leave by themselves. Use append."
        )

    def refresh(self, index: WaveIndex, rows: Delivery, now: int | None) -> Appended:
        return index.append(rows, prepare=NOW)

    def feed(
        self, index: WaveIndex, rows: Delivery, turn: Turn, late: Lateness, **manner: Any
    ) -> Fed:
        return index.feed(
            rows,
            stream=turn.stream,
            number=turn.number,
            delay=late.delay,
            takeover=turn.takes_over,
            set_aside=late.set_aside,
            **manner,
        )

    def check_stream(self, delay: Any, dead_letters: Any) -> None:
        if delay is None:
            raise NoWatermark(
                "Say how late rows may be with the option delay, such as '10 minutes'."
            )

    def read_instant(self, index: WaveIndex, now: str | None) -> None:
        if now is not None:
            raise BadDefinition("The option now is for lifetime indexes. Leave it out.")

    def missing(self, options: Mapping[str, Any]) -> Iterator[Found]:
        for name in _REQUIRED:
            if name not in options:
                yield name, repr(name)

    def stand_ins(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {**_STAND_INS, **options}

    def beside(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        if name != "scheme" or options[name] not in SCHEMES:
            return {}
        known = options_of(options[name])
        return {need: _NEEDED[need] for need in _NEEDED if need in known and need in options}

    def schema(self, options: Mapping[str, Any]) -> pa.Schema:
        columns = key_columns(options)
        counted = is_number(options.get("slot"))
        columns[options["time"]] = pa.int64() if counted else pa.timestamp("us", "UTC")
        return pa.schema(list(columns.items()))

    def mismatch(self, definition: WaveDefinition) -> str | None:
        if definition.time is not None:
            return None
        return "The index has no time column, and a pipeline knows a row's slot by its time alone."

    def compare(self, definition: WaveDefinition, name: str, given: Any) -> tuple[bool, Any]:
        if name in ("slot", "zone", "origin"):
            return _compare_slots(definition, name, given)
        if name == "window":
            return window_of(given, definition.slotting) == definition.window, definition.window
        if name == "sizes":
            named = {definition.slotting.number(slot): rows for slot, rows in given.items()}
            return named == definition.sizes, definition.sizes
        if name == "pointer":
            held = definition.pointer
            return held == tuple(given), held and list(held)
        return super().compare(definition, name, given)

    def needed(self, definition: WaveDefinition) -> set[str]:
        made = (definition.position, *(definition.pointer or ()))
        found = (*definition.key_names, *made, definition.time)
        return {name for name in found if name is not None}

    def attribute(self, name: str) -> str:
        return {"scheme": "scheme_name", "max_gap": "gap_limit"}.get(name, name)


def _compare_slots(definition: WaveDefinition, name: str, given: Any) -> tuple[bool, Any]:
    held = definition.slotting
    kind = time_type(definition)
    zone = getattr(held, "zone", None)
    if name == "zone":
        return zone in (given, None), zone
    if name == "origin":
        asked = slotting(kind, width_of(held), zone or "UTC", given)
        return asked == held, held.origin if isinstance(held, Numbers) else held.label(0)
    return width_of(slotting(kind, given, zone or "UTC")) == width_of(held), width_of(held)
