"""Whether an index can be created as a pipeline file says, and whether one that is there is what it says.

There are no lists of options and of their values here: the options are those of `WaveIndex.create`, and `create` itself
is asked whether it would take them, on a disk that stops it before it makes anything. The columns are not known before
Spark has read the source, so stand-ins are used: the columns that the options name, the time a timestamp, or a whole
number where the slot is one. Whatever is refused so is refused with every type that Spark can bring; whether the real
columns fit is said when they are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, get_type_hints

import pyarrow as pa

from wavedex.errors import AlreadyExists, BadDefinition, BadTime, NotAnIndex, WavedexError
from wavedex.index import Surroundings, WaveIndex
from wavedex.index.definition import Definition
from wavedex.plan import SCHEMES, options_of
from wavedex.slots import Numbers, Slotting, duration_ns, slotting
from wavedex.store.address import files_at
from wavedex.store.files import Files

HINTS: dict[str, Any] = {
    name: hint
    for name, hint in get_type_hints(WaveIndex.create).items()
    if name not in ("path", "schema", "surroundings", "return")
}
"""The options of an index and their types."""
REQUIRED = ("key", "time", "window")
"""What a new index needs. Without a time somebody would have to name the slot of each batch, and nobody does."""
_STAND_INS = {"key": "key", "time": "time", "window": 1_000_000}
"""For what is missing or wrong, so that the rest can be checked; no number of sub-indexes is too high for the window."""
_CHECKED_FIRST = ("key", "time", "slot", "zone", "origin", "scheme", "window", "indexes")
"""An option comes after those on which it depends whether it can be taken."""
_NEEDED = {"max_size": 1, "sizes": {0: 1}}
"""What some schemes cannot be without, and what stands in for it until it is its own turn."""

Found = tuple[str, str]
"""An option and what is wrong with it."""


class _Checked(Exception):
    """Nothing was refused, and the next thing would be to make a folder."""


class _Untouched(Files):
    """A disk on which nothing is made."""

    def make_folder(self, name: str) -> NoReturn:
        raise _Checked


def _nowhere(path: object) -> NoReturn:
    """No disk at all, for when only the options are asked about."""
    raise _Checked


def find_refused(options: Mapping[str, Any]) -> Iterator[Found]:
    """Find the options with which no index can be created, whatever the columns.

    Options that are only wrong together are found at the later one of them. REQUIRES: they are of the types in HINTS.
    """
    if _refusal(options) is None:
        return
    taken: dict[str, Any] = {}
    rest = [name for name in options if name not in _CHECKED_FIRST]
    for name in (*_CHECKED_FIRST, *rest):
        if name not in options:
            continue
        tried = {**taken, name: options[name]}
        if name == "scheme" and options[name] in SCHEMES:
            known = options_of(options[name])
            tried |= {need: _NEEDED[need] for need in _NEEDED if need in known and need in options}
        refusal = _refusal(tried)
        if refusal is None:
            taken = tried
        else:
            yield name, str(refusal)


def find_index(path: str) -> Definition | None:
    """The definition of the index at a local path, None where one can be created. Raises WavedexError or OSError."""
    try:
        return WaveIndex.open(path).definition
    except NotAnIndex:
        if isinstance(_refusal({}, path), AlreadyExists):
            text = f"There is something at {path!r} that is no index. Choose another path."
            raise AlreadyExists(text) from None
        return None


def find_differences(definition: Definition, options: Mapping[str, Any]) -> Iterator[Found]:
    """Find the options that are not those of an index that is there."""
    if definition.time is None:
        why = "The index has no time column, and a pipeline knows a row's slot by its time alone."
        yield "path", f"{why} Choose another path."
    for name, given in options.items():
        try:
            is_same, held = _compare(definition, name, given)
        except (BadDefinition, BadTime) as error:
            yield name, str(error)
            continue
        if not is_same:
            advice = "Leave it out, or choose another path."
            yield name, f"{name} is {given!r}, but the index has {held!r}. {advice}"


def _refusal(options: Mapping[str, Any], path: str | None = None) -> WavedexError | None:
    """What `create` says against the options, and against the path if one is given."""
    asked = {**_STAND_INS, **options}
    around = Surroundings(files=_nowhere if path is None else _Untouched)
    try:
        WaveIndex.create(path or "", _stand_in_schema(asked), **asked, surroundings=around)
    except _Checked:
        return None
    except WavedexError as error:
        return error
    raise AssertionError("an index was created, though only the check of it was wanted")


def _stand_in_schema(options: Mapping[str, Any]) -> pa.Schema:
    keys = [options["key"]] if isinstance(options["key"], str) else options["key"]
    columns = dict.fromkeys([*keys, *(options.get("include") or ())], pa.string())
    slot = options.get("slot")
    is_number = isinstance(slot, int) or (slot is not None and slot.strip().isdecimal())
    columns[options["time"]] = pa.int64() if is_number else pa.timestamp("us", "UTC")
    return pa.schema(list(columns.items()))


def _compare(definition: Definition, name: str, given: Any) -> tuple[bool, Any]:
    """Whether an option is that of an index, and what that is. Raises BadDefinition or BadTime where it cannot be."""
    if name in ("slot", "zone", "origin"):
        return _compare_slots(definition, name, given)
    if name == "key":
        held = definition.key
        names = (given,) if isinstance(given, str) else tuple(given)
        return names == definition.key_names, held if isinstance(held, str) else list(held)
    if name == "keep_for":
        return duration_ns(given) / 1e9 == definition.keep_s, f"{definition.keep_s:g} seconds"
    if name == "sizes":
        named = {definition.slotting.number(slot): rows for slot, rows in given.items()}
        return named == definition.sizes, definition.sizes
    if name == "pointer":
        return definition.pointer == tuple(given), definition.pointer and list(definition.pointer)
    if name == "roots":
        roots = tuple(str(files_at(root).root) for root in given)
        return roots == definition.roots, list(definition.roots)
    if name == "include":
        kept = definition.schema.names
        made = (definition.position, *(definition.pointer or ()))
        needed = {*definition.key_names, *made, definition.time} - {None}
        return {*given, *needed} == {*kept, *needed}, kept
    held = getattr(
        definition, {"scheme": "scheme_name", "max_gap": "gap_limit"}.get(name, name), given
    )
    return given == held, held


def _compare_slots(definition: Definition, name: str, given: Any) -> tuple[bool, Any]:
    held = definition.slotting
    kind = None if definition.time is None else definition.schema.field(definition.time).type
    zone = getattr(held, "zone", None)
    if name == "zone":
        return zone in (given, None), zone
    if name == "origin":
        asked = slotting(kind, _slot_of(held), zone or "UTC", given)
        return asked == held, held.origin if isinstance(held, Numbers) else held.label(0)
    return _slot_of(slotting(kind, given, zone or "UTC")) == _slot_of(held), _slot_of(held)


def _slot_of(slots: Slotting) -> str | int:
    """The width of slots, as `slot` takes it."""
    unit = getattr(slots, "unit", None)
    return slots.every if unit is None else f"{slots.every} {unit}{'s' * (slots.every > 1)}"
