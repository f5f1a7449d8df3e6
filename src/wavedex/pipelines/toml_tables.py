"""Whether a table of a TOML file is as it should be: unknown keys, values of the wrong type.

What a table may have is said by type hints. So the class that is filled from it, or the function
that is called with it, is the only list of its keys. Mistakes are collected and never raised:
whoever wrote the file is told all of them at once. Opens no file and knows no key by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from wavedex.errors import Mistake
from wavedex.pipelines.toml_lines import KeyPath

_WANTED = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
_KINDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class TomlNotes:
    """The mistakes in a file, each with the line that it is on."""

    def __init__(self, lines: Mapping[KeyPath, int]) -> None:
        self._lines = lines
        self._doubtful: set[KeyPath] = set()
        self.mistakes: list[Mistake] = []

    def add(self, path: KeyPath, text: str, meant: KeyPath | None = None) -> None:
        """Note a mistake at a key, which was probably `meant` to be another one."""
        self._doubtful |= {path, meant or path}
        self.mistakes.append(Mistake(line_of(self._lines, path), text))

    def doubts(self, path: KeyPath) -> bool:
        """Whether a mistake was noted here already. Then no other is made of it."""
        return path in self._doubtful

    def doubts_within(self, table: str) -> bool:
        """Whether a mistake was noted in a table, or of it."""
        return any(path[0] == table for path in self._doubtful)


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a key, or of what is nearest to it: its table's, or the first.

    >>> line_of({("index",): 3}, ("index", "key"))
    3
    """
    known = (path[:length] for length in range(len(path), 0, -1) if path[:length] in lines)
    return next((lines[place] for place in known), 1)


def read_table(
    notes: TomlNotes, name: str, content: Mapping[str, Any], hints: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of a table that are of the types in `hints`.

    Note what is wrong with the others.
    """
    values = {}
    for key, value in content.items():
        path = (name, key)
        hint = hints.get(key)
        if hint is None:
            near = nearest(key, [known for known in hints if known not in content])
            meant = (name, near) if near else None
            notes.add(path, f"[{name}] has no key {key!r}.{did_you_mean(near)}", meant)
        elif get_origin(hint) is Mapping and isinstance(value, dict):
            values[key] = dict(_texts(notes, path, value))
        elif not _fits(value, hint):
            notes.add(path, f"{key} is {kind_of(value)}. Give {' or '.join(_wanted(hint))}.")
        elif isinstance(value, str) and (not value.strip() or "\0" in value):
            notes.add(path, f"{key} is {value!r}. Give a text that says something.")
        else:
            values[key] = value
    return values


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a wrong one was probably meant to be.

    >>> nearest("Windw", ["key", "window"])
    'window'
    """
    return next(iter(get_close_matches(name.lower(), known, n=1)), None)


def did_you_mean(near: str | None) -> str:
    """A question to append to a sentence."""
    return f" Did you mean {near!r}?" if near else ""


def kind_of(value: Any) -> str:
    """What a value of TOML is, in words."""
    return _KINDS.get(type(value), "a date or time")


def _texts(notes: TomlNotes, path: KeyPath, content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The names and values of a table that Spark gets, all as text.

    Dots in a name may be written without quotes, though TOML takes them for tables in tables.
    """
    given: set[str] = set()
    for below, value in _flat(content):
        name = ".".join(below)
        place = (*path, *below)
        if name in given:
            notes.add(place, f"{path[-1]} has {name!r} twice, with quotes and without. Keep one.")
        elif not isinstance(value, str | bool | int | float):
            notes.add(place, f"{name!r} is {kind_of(value)}. Give text, a number, true or false.")
        else:
            given.add(name)
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _flat(content: dict[str, Any]) -> Iterator[tuple[KeyPath, Any]]:
    """All values in tables in tables, in their order.

    It keeps a stack, as a name may have any number of dots.
    """
    waiting: list[tuple[KeyPath, Any]] = [((key,), content[key]) for key in reversed(content)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting += [((*path, key), value[key]) for key in reversed(value)]
        else:
            yield path, value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of TOML is of the type that a hint says."""
    if hint is Any:
        return not isinstance(value, dict | list)
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is Mapping:
        return isinstance(value, dict)
    if get_origin(hint) is Sequence:
        (item,) = get_args(hint)
        return isinstance(value, list) and all(_fits(each, item) for each in value)
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    return isinstance(value, int | float) if hint is float else isinstance(value, hint)


def _wanted(hint: Any) -> list[str]:
    if hint is Any:
        return ["one value"]
    if get_origin(hint) in (Union, UnionType):
        return [word for part in get_args(hint) if part is not NoneType for word in _wanted(part)]
    if get_origin(hint) is Mapping:
        return ["a table of names and values"]
    if get_origin(hint) is Sequence:
        return [f"a list of {'whole numbers' if get_args(hint) == (int,) else 'texts in quotes'}"]
    # What a file cannot have, such as a timedelta, is nothing to ask for.
    return [_WANTED[hint]] if hint in _WANTED else []
