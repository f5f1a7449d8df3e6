"""How records lie in a page: a header, then ids, beginnings, ends, and perhaps pointers.

A page is a row of an array of 64-bit words, which is also seen as an array of 32-bit words. Each
column of its records is one run in it, so that a search looks at ids and at nothing else.

| 64-bit words | what |
| --- | --- |
| 0 to 7 | the header: sixteen 32-bit numbers, which are the method's own |
| 8 to 7 + B | ids |
| then, in 32-bit words | B beginnings, B ends, and B pointers where ids carry rows |

The size of a page is given in bytes, or in records as the paper counts it (Section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wavedex.errors import BadDefinition

HEADER = 8
"""The 64-bit words of a header."""
PAGE_BYTES = 4096
"""The size of a page, unless another is asked for: that of a page of memory."""
PAGE_BYTES_MAX = 1 << 24
"""Larger pages would take memory for nothing."""
RECORDS_MIN = 2
"""A page of fewer records could not be split."""


@dataclass(frozen=True)
class Layout:
    """Where the columns of a page lie."""

    records: int
    """How many records a page has: B."""
    has_pointers: bool
    """Whether a record has a pointer."""
    is_counted: bool = field(default=False, repr=False)
    """Whether its size was given in records: then pages hold so many attributes, as the paper's."""

    @property
    def words(self) -> int:
        """The size of a page in 64-bit words."""
        return HEADER + self.records + (self.records * (3 if self.has_pointers else 2) + 1) // 2

    @property
    def page_bytes(self) -> int:
        """The size of a page in bytes."""
        return 8 * self.words


def layout_of(page_bytes: int | None, page_records: int | None, has_pointers: bool) -> Layout:
    """The layout of pages of a size in bytes, or in records. Raises BadDefinition.

    >>> layout_of(None, None, False)
    Layout(records=252, has_pointers=False)
    >>> layout_of(None, 25, False).page_bytes
    464
    """
    is_counted = page_records is not None
    if page_records is None:
        size = PAGE_BYTES if page_bytes is None else page_bytes
        record = 20 if has_pointers else 16
        page_records = (size - 8 * HEADER) // record
        while page_records > 0 and Layout(page_records, has_pointers).page_bytes > size:
            page_records -= 1
        least = f"{Layout(RECORDS_MIN, has_pointers).page_bytes} bytes"
    elif page_bytes is not None:
        raise BadDefinition("Give the size of a page as page_bytes or as page_records, not both.")
    else:
        least = f"{RECORDS_MIN} records"
    if page_records < RECORDS_MIN:
        raise BadDefinition(f"A page has at least {least}. Give it more room.")
    made = Layout(page_records, has_pointers, is_counted)
    if made.page_bytes > PAGE_BYTES_MAX:
        raise BadDefinition(f"A page has up to {PAGE_BYTES_MAX:,} bytes. Give it less room.")
    return made
