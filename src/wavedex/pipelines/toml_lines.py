"""On which line of a TOML text a key stands, which Python's own reader does not say.

The text is walked once, statement by statement: headers, keys, values. A value is only skipped,
except for inline tables, whose keys count too. So nothing inside a string, an array or a comment is
ever taken for a key. Says nothing about what is wrong with a text: `tomllib` has read it before.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left

KeyPath = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BETWEEN = re.compile(r"(?:[ \t\n,]|#[^\n]*)*")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_OPENS = re.compile(r"\[\[?[ \t]*")
_CLOSES = re.compile(r"[ \t]*\]\]?")
# The end of a long string takes up to two more quotes with it, which are its last characters.
_LONG = r'"""(?:\\.|[^\\])*?""""{0,2}|' + r"'''.*?''''{0,2}"
_STRING = rf"""{_LONG}|"(?:\\.|[^"\\])*"|'[^']*'"""
_SCALAR = re.compile(rf"{_STRING}|[^,\]}}#\n]*", re.DOTALL)
_TOKEN = re.compile(rf"""{_STRING}|#[^\n]*|[\[\]{{}}]|[^"'#\[\]{{}}]+""", re.DOTALL)
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


def lines_of(text: str) -> dict[KeyPath, int]:
    r"""Return the line of every table and key, by its path; lines are counted from 1.

    A table has the line of its header, or of the first key that makes it. Nothing within an array
    has a line of its own.
    REQUIRES: `tomllib` reads the text.

    >>> lines_of("[a]\nb.c = '''\nd = 1'''\ne = {f = 2}\n")
    {('a',): 1, ('a', 'b'): 2, ('a', 'b', 'c'): 2, ('a', 'e'): 4, ('a', 'e', 'f'): 4}
    """
    walk = _Walk(text.replace("\r\n", "\n"))
    walk.document()
    return walk.lines


class _Walk:
    """One walk through a text. A path of None is within an array, where nothing is noted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pos = 0
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._arrays: set[KeyPath] = set()
        self.lines: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath | None = ()
        self._take(_BLANK)
        while self._pos < len(self._text):
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)
            self._take(_BLANK)

    def _header(self) -> KeyPath | None:
        """Take a header; returns the table whose keys follow."""
        line = self._line()
        is_array = self._take(_OPENS).startswith("[[")
        path = self._key()
        self._take(_CLOSES)
        if any(path[:length] in self._arrays for length in range(1, len(path))):
            return None
        self._note(path, line)
        if is_array:
            self._arrays.add(path)
            return None
        self.lines[path] = line  # a header says more than a key or another header below it
        return path

    def _pair(self, table: KeyPath | None) -> None:
        line = self._line()
        key = self._key()
        path = None if table is None else table + key
        if path is not None:
            self._note(path, line, len(path) - len(key))
        self._take(_EQUALS)
        self._value(path)

    def _value(self, path: KeyPath | None) -> None:
        if self._next() == "{":
            self._pos += 1
            self._take(_BETWEEN)
            while self._next() != "}":
                self._pair(path)
                self._take(_BETWEEN)
            self._pos += 1
        elif self._next() == "[":
            depth = 0
            while True:
                depth += _DEPTH.get(self._take(_TOKEN), 0)
                if not depth:
                    break
        else:
            self._take(_SCALAR)

    def _key(self) -> KeyPath:
        parts = [self._part()]
        while _DOT.match(self._text, self._pos):
            self._take(_DOT)
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> str:
        part = self._take(_PART)
        return str(tomllib.loads(f"it = {part}")["it"]) if part[0] in "\"'" else part

    def _note(self, path: KeyPath, line: int, known: int = 0) -> None:
        """Note the line of a path and of the tables on the way to it, where none is noted yet."""
        for length in range(known + 1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def _next(self) -> str:
        return self._text[self._pos : self._pos + 1]

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._pos)
        assert found is not None, f"no {pattern.pattern} at {self._pos}"
        self._pos = found.end()
        return found[0]

    def _line(self) -> int:
        return bisect_left(self._ends, self._pos) + 1
