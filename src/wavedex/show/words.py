"""Numbers and text for people."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def row_count(count: int) -> str:
    """A number of rows for people.

    >>> row_count(1), row_count(1_234)
    ('1 row', '1,234 rows')
    """
    return f"{count:,} row{'s' * (count != 1)}"


def human_bytes(count: int) -> str:
    """A number of bytes for people.

    >>> human_bytes(1), human_bytes(999), human_bytes(1_234_567)
    ('1 byte', '999 bytes', '1.2 MB')
    """
    if count < 1_000:
        return f"{count} byte{'s' * (count != 1)}"
    size, units = count / 1_000, iter(("kB", "MB", "GB", "TB", "PB", "EB"))
    unit = next(units)
    while size >= 1_000 and unit != "EB":
        size, unit = size / 1_000, next(units)
    return f"{size:,.1f} {unit}"


def printable(text: str) -> str:
    r"""The text, with everything that would steer a terminal written out.

    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
