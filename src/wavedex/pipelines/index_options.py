"""Whether an index can be created as a pipeline file says, or is what it says if it is there.

The kind of index itself is asked: its `create` gets the options, on a disk that stops it before it
makes anything. The columns are not known before Spark has read the source, so stand-ins are used:
the columns that the options name. The time is a timestamp, or a whole number where the slot is one.
Whatever is refused so is refused with every type that Spark can bring. Whether the real columns fit
is said when they are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from wavedex.errors import AlreadyExists, BadDefinition, BadTime, NotAnIndex, WavedexError
from wavedex.files.local import Files
from wavedex.index import Surroundings
from wavedex.index.core.definition import Definition
from wavedex.index.kind import Found, Kind
from wavedex.index.kinds import DEFAULT, KINDS
from wavedex.index.opening import open_index

_OF_COLUMNS = ("key", "inserted", "expires", "lifetime", "counts", "spans", "include")
"""The options of a lifetime index that name columns of rows."""


class _Checked(Exception):
    """Nothing was refused, and the next thing would be to make a folder."""


class _Untouched(Files):
    """A disk on which nothing is made."""

    def make_folder(self, name: str) -> NoReturn:
        raise _Checked


def _nowhere(path: object) -> NoReturn:
    """No disk at all, for when only the options are asked about."""
    raise _Checked


def find_refused(kind: Kind, options: Mapping[str, Any]) -> Iterator[Found]:
    """Find the options with which no index of a kind can be created, whatever the columns.

    Options that are only wrong together are found at the later one of them.
    REQUIRES: they are of the types in its hints.
    """
    if _refusal(kind, options) is None:
        return
    taken: dict[str, Any] = {}
    rest = [name for name in options if name not in kind.checked_first]
    for name in (*kind.checked_first, *rest):
        if name not in options:
            continue
        tried = {**taken, name: options[name], **kind.beside(name, options)}
        refusal = _refusal(kind, tried)
        if refusal is None:
            taken = tried
        else:
            yield name, str(refusal)


def find_clash(definition: Definition | None, options: Mapping[str, Any], by: str) -> str | None:
    """What to say where the column of instructions is one of the index; None where it is not.

    REQUIRES: the options are of the types in the hints of their kind.
    """
    advice = "It is taken away before rows are indexed: give a column of its own."
    for name in _OF_COLUMNS:
        given = options.get(name) or ()
        if by in ([given] if isinstance(given, str) else given):
            return f"apply_by is {by!r}, and {name} names the same column. {advice}"
    if definition is not None and by in definition.schema.names:
        return f"apply_by is {by!r}, and the index keeps that column. {advice}"
    return None


def find_index(path: str) -> Definition | None:
    """The definition of the index at a local path; None where one can be created.

    Raises WavedexError or OSError.
    """
    try:
        return open_index(path).definition
    except NotAnIndex:
        if isinstance(_refusal(KINDS[DEFAULT], {}, path), AlreadyExists):
            text = f"There is something at {path!r} that is no index. Choose another path."
            raise AlreadyExists(text) from None
        return None


def find_differences(
    definition: Definition, name: str | None, options: Mapping[str, Any]
) -> Iterator[Found]:
    """Find the options that are not those of an index that is there.

    `name` is the kind that it should be of, if any.
    """
    kind = KINDS[definition.kind]
    advice = "Leave it out, or choose another path."
    if name not in (None, kind.name):
        yield "kind", f"kind is {name!r}, but the index has {kind.name!r}. {advice}"
        return
    if (why := kind.mismatch(definition)) is not None:
        yield "path", f"{why} Choose another path."
    for option, given in options.items():
        if option not in kind.hints:
            yield option, f"A {kind.name} index has no {option!r}, and the index is one. {advice}"
            continue
        try:
            is_same, held = kind.compare(definition, option, given)
        except (BadDefinition, BadTime) as error:
            yield option, str(error)
            continue
        if not is_same:
            yield option, f"{option} is {given!r}, but the index has {held!r}. {advice}"


def _refusal(
    kind: Kind, options: Mapping[str, Any], path: str | None = None
) -> WavedexError | None:
    """What `create` says against the options, and against the path if one is given."""
    asked = kind.stand_ins(options)
    around = Surroundings(files=_nowhere if path is None else _Untouched)
    try:
        kind.create(path or "", kind.schema(asked), **asked, surroundings=around)
    except _Checked:
        return None
    except WavedexError as error:
        return error
    raise AssertionError("an index was created, though only the check of it was wanted")
