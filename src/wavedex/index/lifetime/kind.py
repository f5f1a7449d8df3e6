"""What a lifetime index is told when it is created, for pipeline files and the data source."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import pyarrow as pa

from wavedex.errors import BadDefinition, BadTime
from wavedex.index.core.delivery import Delivery
from wavedex.index.core.manner import NOW
from wavedex.index.core.turns import Turn
from wavedex.index.kind import Found, Kind, Lateness, is_number, key_columns, time_type, width_of
from wavedex.index.lifetime.answers import read_grid, read_partition
from wavedex.index.lifetime.application import Application, apply
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.lifetime.moments import When
from wavedex.index.lifetime.refresh import Refreshed
from wavedex.plan.grids.methods import METHODS
from wavedex.slots import Numbers, duration_ns
from wavedex.slots.ends import ends

_COUNTS = {"position": 1}
"""A counted window, for methods that need one."""
_ENDS = ("expires", "lifetime", "counts")
"""The ways to tell when a row ends."""


class LifeKind(Kind):
    """The options of `LifetimeIndex.create`."""

    index = LifetimeIndex
    has_watermark = False
    can_apply = True
    can_shorten = True
    checked_first = (
        "method",
        "key",
        "inserted",
        "refresh",
        "zone",
        "origin",
        *_ENDS,
        "grid",
        "max_lifetime",
    )

    def counted(self, about: Mapping[str, Any]) -> tuple[dict[str, int], str]:
        """The rows in the files, and those of them that are hidden."""
        rows, hidden = about["rows_held"], about["rows_hidden"]
        said = f"{rows:,} rows of which {hidden:,} are hidden"
        return {"rows": rows, "rows_hidden": hidden}, said

    def append(
        self, index: LifetimeIndex, rows: Delivery, slot: Any = None, **manner: Any
    ) -> Refreshed:
        if slot is not None:
            raise BadTime(
                "slot= is for wave indexes. Leave it out, or use update(path, now, frame)."
            )
        return index.append(rows, **manner)

    def amend(
        self, index: LifetimeIndex, rows: Delivery, slot: Any = None, **manner: Any
    ) -> NoReturn:
        raise BadDefinition(
            "Late rows of a lifetime index need no special call. Use append, or update(path, now, "
            "frame)."
        )

    def update(
        self,
        index: LifetimeIndex,
        rows: Delivery,
        now: Any,
        arrived: Mapping[str, int] | None = None,
        **manner: Any,
    ) -> Refreshed:
        return index.update(now, rows, arrived=arrived, **manner)

    def apply(self, index: LifetimeIndex, now: Any, **given: Any) -> Refreshed:
        return index.apply(now, **given)

    def refresh(self, index: LifetimeIndex, rows: Delivery, now: int | None) -> Refreshed:
        if now is None:
            return index.append(rows, prepare=NOW)
        return apply(index, Application(rows), When(now))

    def feed(
        self, index: LifetimeIndex, rows: Delivery, turn: Turn, late: Lateness, **manner: Any
    ) -> Refreshed:
        return index.feed(rows, **turn.given, **manner)

    def check_stream(self, delay: Any, dead_letters: Any) -> None:
        for name, given in (("delay", delay), ("dead_letters", dead_letters)):
            if given is not None:
                raise BadDefinition(
                    f"{name} is for wave indexes: no row comes too late for a lifetime index. "
                    "Leave it out."
                )

    def read_instant(self, index: LifetimeIndex, now: str | None) -> int | None:
        if now is None:
            return None
        number = now.strip().removeprefix("-")
        return index.instant(int(now) if number.isdecimal() else now)

    def missing(self, options: Mapping[str, Any]) -> Iterator[Found]:
        for name in ("key", "inserted", "max_lifetime", "refresh"):
            if name not in options:
                yield name, repr(name)
        if any(name in options for name in _ENDS):
            return
        if _is_counted(options):
            yield "counts", "'counts'"
        else:
            yield "expires", "'expires' or 'lifetime'"

    def stand_ins(self, options: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"key": "key", "inserted": "inserted", "refresh": "1 minute"}
        spans = (options.get("spans") or {}).values()
        if any(isinstance(span, int) for span in (options.get("origin"), *spans)):
            found["refresh"] = 1
        if _is_counted(options):
            found["counts"] = _COUNTS
        elif not any(name in options for name in _ENDS):
            found["expires"] = "expires"
        found |= options
        if "max_lifetime" not in options or "refresh" not in options:
            # How many refreshes it is cannot be told, so it is one that goes with the grid.
            found["max_lifetime"] = _longest(found)
        return found

    def beside(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        if name != "method" or options[name] not in METHODS or "grid" not in options:
            return {}
        sides = METHODS[options[name]].sides
        return {"grid": [2 if side in sides else 1 for side in ("births", "deaths")]}

    def schema(self, options: Mapping[str, Any]) -> pa.Schema:
        counted = is_number(options["refresh"])
        time = pa.int64() if counted else pa.timestamp("us", "UTC")
        columns = key_columns(options)
        columns |= dict.fromkeys(options.get("counts") or (), pa.int64())
        if "lifetime" in options:
            columns[options["lifetime"]] = pa.int64() if counted else pa.duration("us")
        timed = [options["inserted"], options.get("expires"), *(options.get("spans") or ())]
        columns |= {name: time for name in timed if name is not None}
        return pa.schema(list(columns.items()))

    def compare(self, definition: LifeDefinition, name: str, given: Any) -> tuple[bool, Any]:
        slotting = definition.slotting
        if name in ("refresh", "zone", "origin"):
            return _compare_refreshes(definition, name, given)
        if name == "max_lifetime":
            held = f"{definition.window} refreshes of {width_of(slotting.base)}"
            return slotting.length(given) == definition.longest, held
        if name == "spans":
            spans = {column: slotting.length(span) for column, span in given.items()}
            return spans == definition.spans, definition.spans
        if name == "grid":
            return read_grid(given) == definition.sides, [*definition.sides]
        if name == "partition":
            sides = definition.partition
            return read_partition(definition.method, given) == sides, [*sides]
        if name == "reach":
            return tuple(given) == definition.reach, [*definition.reach]
        return super().compare(definition, name, given)

    def needed(self, definition: LifeDefinition) -> set[str]:
        told = (definition.time, definition.expires, definition.lifetime, definition.position)
        found = (*definition.key_names, *told, *definition.counts, *definition.spans)
        return {name for name in found if name is not None}

    def attribute(self, name: str) -> str:
        return {"inserted": "time"}.get(name, name)


def _is_counted(options: Mapping[str, Any]) -> bool:
    """Whether the method is one of counted windows."""
    method = METHODS.get(options.get("method", "rebuild"))
    return method is not None and method.counts


def _longest(options: Mapping[str, Any]) -> Any:
    """A bound on lifetimes with as many refreshes as the longer side of the grid.

    1 where there can be no such bound.
    """
    try:
        window = max(read_grid(options.get("grid", (2, 2))))
        if is_number(options["refresh"]):
            return window * int(options["refresh"])
        return window * dt.timedelta(microseconds=duration_ns(options["refresh"]) // 1000)
    except (BadDefinition, BadTime, OverflowError):
        return 1  # What is wrong with the grid or with the refresh is said by `create`.


def _compare_refreshes(definition: LifeDefinition, name: str, given: Any) -> tuple[bool, Any]:
    held = definition.slotting
    kind = time_type(definition)
    width = width_of(held.base)
    if name == "zone":
        return isinstance(held.base, Numbers) or held.zone == given, held.zone
    if name == "origin":
        shown = held.base.origin if isinstance(held.base, Numbers) else held.label(0)
        return ends(kind, width, given, held.zone) == held, shown
    return width_of(ends(kind, given).base) == width, width
