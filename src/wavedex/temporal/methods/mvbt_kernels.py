"""The loops that change a multiversion B-tree (Becker and others, as in Section 5.1).

A page is a row of `words`, which `halves` sees as 32-bit numbers. Its records lie in the order of
their ids, those of one id in the order of their beginnings. What has ended stays among them.

A leaf (level 0) holds ids. A directory holds for each page below it the least id that goes there,
when that page was there, and in place of a pointer its number. So a page below is the one with the
greatest such id, up to the id that is sought, of those that were there at a version.

A page is left as it is when it splits or is merged, and what is alive in it is copied. Copies keep
their beginnings. What had not ended in a page that was left counts until then.

What begins and ends at one version leaves no trace: neither records nor pages.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]

NOW = 2**31 - 1
LOWEST = -(2**63)
READS, WRITES, SERIAL = 0, 1, 2
COUNT, ALIVE, START, END, LEVEL = range(5)
"""Places in the header of a page. `END` is NOW until what is alive in it is copied."""
PAGES_USED, FREE, ROOTS = range(3)
"""Places in `tally`: pages, how many of them are free, and entries of root*."""
RECORDS, LEAST, SPARE, POINTERS = range(4)
"""Places in a line of `sizes`, of which there is one for leaves and one for directories: the
records of a page, B; q and e; and whether a record has a pointer."""
LEVELS_MAX = 40
"""More levels than a tree can have whose pages have two records or more."""
HEADER = 8


@checked_kernel
def _after(page, oid, words, halves) -> int:  # type: ignore[no-untyped-def]
    """How many records of a page have an id up to this one."""
    before, left = 0, halves[page, COUNT]
    while left > 1:
        half = left >> 1
        before += half * (words[page, HEADER + before + half - 1] <= oid)
        left -= half
    return before + 1 if left and words[page, HEADER + before] <= oid else before


@checked_kernel
def _newest_before(page, at, halves, sizes) -> int:  # type: ignore[no-untyped-def]
    """The last place before another whose record has not ended; -1 without one."""
    records = sizes[min(halves[page, LEVEL], 1), RECORDS]
    ends = 2 * (HEADER + records) + records
    at -= 1
    while at >= 0 and halves[page, ends + at] != NOW:
        at -= 1
    return at


@checked_kernel
def _page_below(page, at, halves, sizes) -> int:  # type: ignore[no-untyped-def]
    """The page at a place in a directory."""
    records = sizes[1, RECORDS]
    return halves[page, 2 * (HEADER + records) + 2 * records + at]


@checked_kernel
def _use(page, is_new, buffer, io) -> None:  # type: ignore[no-untyped-def]
    """Have a page in the buffer, and count it as read where it must be.

    The page that was not used for longest makes room.
    """
    at, last = 0, len(buffer) - 1
    while at < last and buffer[at] != page:
        at += 1
    if buffer[at] != page and not is_new:
        io[READS] += 1
    while at > 0:
        buffer[at] = buffer[at - 1]
        at -= 1
    buffer[0] = page


@checked_kernel
def _write(page, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Count a page as written, once for each change."""
    if stamps[page] != io[SERIAL]:
        stamps[page] = io[SERIAL]
        io[WRITES] += 1


@checked_kernel
def _shift(page, at, by, words, halves, sizes) -> None:  # type: ignore[no-untyped-def]
    """Move the records of a page from a place on by one, up or down."""
    line = sizes[min(halves[page, LEVEL], 1)]
    count = halves[page, COUNT]
    ids = words[page, HEADER : HEADER + line[RECORDS]]
    if by > 0:
        for i in range(count, at, -1):
            ids[i] = ids[i - 1]
    else:
        for i in range(at, count):
            ids[i - 1] = ids[i]
    for column in range(3 if line[POINTERS] else 2):
        begun = 2 * (HEADER + line[RECORDS]) + column * line[RECORDS]
        values = halves[page, begun : begun + line[RECORDS]]
        if by > 0:
            for i in range(count, at, -1):
                values[i] = values[i - 1]
        else:
            for i in range(at, count):
                values[i - 1] = values[i]


@checked_kernel
def _set(page, at, oid, start, pointer, words, halves, sizes) -> None:  # type: ignore[no-untyped-def]
    """Put a record that has not ended into a place of a page."""
    line = sizes[min(halves[page, LEVEL], 1)]
    records = line[RECORDS]
    first = 2 * (HEADER + records)
    words[page, HEADER + at] = oid
    halves[page, first + at] = start
    halves[page, first + records + at] = NOW
    if line[POINTERS]:
        halves[page, first + 2 * records + at] = pointer


@checked_kernel
def _insert(page, oid, start, pointer, words, halves, sizes) -> None:  # type: ignore[no-untyped-def]
    """Put a record among those of a page, behind those of its id."""
    at = _after(page, oid, words, halves)
    _shift(page, at, 1, words, halves, sizes)
    _set(page, at, oid, start, pointer, words, halves, sizes)
    halves[page, COUNT] += 1
    halves[page, ALIVE] += 1


@checked_kernel
def _end(page, at, version, words, halves, sizes) -> None:  # type: ignore[no-untyped-def]
    """End a record at a version. One that began at it goes."""
    records = sizes[min(halves[page, LEVEL], 1), RECORDS]
    first = 2 * (HEADER + records)
    halves[page, ALIVE] -= 1
    if halves[page, first + at] < version:
        halves[page, first + records + at] = version
        return
    _shift(page, at + 1, -1, words, halves, sizes)
    halves[page, COUNT] -= 1


@checked_kernel
def _open_page(level, version, halves, free, tally, stamps, buffer, io) -> int:  # type: ignore[no-untyped-def]
    """A new page without records."""
    if tally[FREE] > 0:
        tally[FREE] -= 1
        page = free[tally[FREE]]
    else:
        page = tally[PAGES_USED]
        tally[PAGES_USED] += 1
    header = halves[page]
    header[COUNT] = header[ALIVE] = 0
    header[START], header[END], header[LEVEL] = version, NOW, level
    _use(page, True, buffer, io)
    _write(page, stamps, io)
    return page


@checked_kernel
def _leave(page, version, halves, free, tally, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Leave a page as it is from a version on. One that began at it is free."""
    halves[page, END] = version
    if halves[page, START] == version:
        free[tally[FREE]] = page
        tally[FREE] += 1
    _write(page, stamps, io)


@checked_kernel
def _set_root(version, page, roots, tally) -> None:  # type: ignore[no-untyped-def]
    """Note in root* that a page is the root from a version on."""
    if tally[ROOTS] == 0 or roots[tally[ROOTS] - 1, 0] < version:
        tally[ROOTS] += 1
    roots[tally[ROOTS] - 1, 0], roots[tally[ROOTS] - 1, 1] = version, page


@checked_kernel
def _gather(page, count, words, halves, sizes, scratch) -> int:  # type: ignore[no-untyped-def]
    """Put what is alive in a page behind what was gathered; how much that is then."""
    line = sizes[min(halves[page, LEVEL], 1)]
    records = line[RECORDS]
    first = 2 * (HEADER + records)
    for at in range(halves[page, COUNT]):
        if halves[page, first + records + at] == NOW:
            scratch[0, count] = words[page, HEADER + at]
            scratch[1, count] = halves[page, first + at]
            if line[POINTERS]:
                scratch[2, count] = halves[page, first + 2 * records + at]
            count += 1
    return count


@checked_kernel
def _gather_new(oid, version, pointer, count, scratch) -> None:  # type: ignore[no-untyped-def]
    """Put a new record among what was gathered."""
    at = count
    while at > 0 and scratch[0, at - 1] > oid:
        scratch[:, at] = scratch[:, at - 1]
        at -= 1
    scratch[0, at], scratch[1, at], scratch[2, at] = oid, version, pointer


@checked_kernel
def _neighbour(page, at, halves, sizes) -> int:  # type: ignore[no-untyped-def]
    """The place in a directory of the next page that is there now, or else of the one before."""
    ends = 2 * (HEADER + sizes[1, RECORDS]) + sizes[1, RECORDS]
    for other in range(at + 1, halves[page, COUNT]):
        if halves[page, ends + other] == NOW:
            return other
    return _newest_before(page, at, halves, sizes)


@checked_kernel
def _rewrite(  # type: ignore[no-untyped-def]
    level, top, version, new, news, path, places,
    words, halves, free, tally, sizes, stamps, buffer, io, scratch,
) -> int:  # fmt: skip
    """Leave a page of the path, and put what is alive in it and what is new into one page or two.

    If that is too little for a page, what is alive in a sibling is added (a merge), and if it is
    too much, it is parted (a key split). The new pages are then what is `new` for the directory
    above. How many they are.
    """
    page = first = path[level]
    line = sizes[min(level, 1)]
    second, low = -1, LOWEST
    if level < top:
        parent, place = path[level + 1], places[level]
        low = words[parent, HEADER + place]
        if halves[page, ALIVE] + news < line[LEAST] + line[SPARE]:
            other = _neighbour(parent, place, halves, sizes)
            second = _page_below(parent, other, halves, sizes)
            if other < 0 or second < 0 or halves[second, LEVEL] != level:
                raise IndexError("a directory does not lead to two pages below it")
            _use(second, False, buffer, io)
            if other < place:
                first, second = second, first
                place, other = other, place
                low = words[parent, HEADER + place]
            _end(parent, other, version, words, halves, sizes)
        _end(parent, place, version, words, halves, sizes)
    count = _gather(first, 0, words, halves, sizes, scratch)
    _leave(first, version, halves, free, tally, stamps, io)
    if second >= 0:
        count = _gather(second, count, words, halves, sizes, scratch)
        _leave(second, version, halves, free, tally, stamps, io)
    for i in range(news):
        _gather_new(new[i, 0], version, new[i, 1], count + i, scratch)
    count += news
    parts = 2 if count > line[RECORDS] - line[SPARE] else 1
    if count > parts * line[RECORDS]:
        raise IndexError("two pages have more records than two can have")
    begun = 0
    for part in range(parts):
        stop = (count + 1) // 2 if part + 1 < parts else count
        page = _open_page(level, version, halves, free, tally, stamps, buffer, io)
        for i in range(begun, stop):
            _set(page, i - begun, scratch[0, i], scratch[1, i], scratch[2, i], words, halves, sizes)
        halves[page, COUNT] = halves[page, ALIVE] = stop - begun
        new[part, 0], new[part, 1] = (scratch[0, begun] if part else low), page
        begun = stop
    return parts


@checked_kernel
def _change(  # type: ignore[no-untyped-def]
    oid, version, sign, pointer, new, path, places,
    words, halves, roots, free, tally, sizes, stamps, buffer, io, scratch,
) -> None:  # fmt: skip
    """Add or remove an id: go down to its leaf, and from there up as far as pages are rewritten."""
    page = roots[tally[ROOTS] - 1, 1]
    top = halves[page, LEVEL]
    path[top] = page
    _use(page, False, buffer, io)
    for level in range(top - 1, -1, -1):
        after = _after(page, oid, words, halves)
        places[level] = _newest_before(page, after, halves, sizes)
        page = _page_below(page, places[level], halves, sizes)
        if places[level] < 0 or page < 0 or halves[page, LEVEL] != level:
            raise IndexError("a directory does not lead to a page below it")
        path[level] = page
        _use(page, False, buffer, io)
    news = 0
    if sign > 0:
        new[0, 0], new[0, 1] = oid, pointer
        news = 1
    else:
        # It is alive, so it is the last of those of its id.
        at = _after(page, oid, words, halves) - 1
        if at < 0 or words[page, HEADER + at] != oid:
            raise IndexError("an id is alive that is in no page")
        _end(page, at, version, words, halves, sizes)
    for level in range(top + 1):
        page = path[level]
        line = sizes[min(level, 1)]
        alive = halves[page, ALIVE] + news
        _write(page, stamps, io)
        if 0 < level == top and alive == 1:
            # The last page below it is new, and the root from now on.
            _leave(page, version, halves, free, tally, stamps, io)
            break
        if halves[page, COUNT] + news <= line[RECORDS] and (level == top or alive >= line[LEAST]):
            for i in range(news):
                _insert(page, new[i, 0], version, new[i, 1], words, halves, sizes)
            return
        news = _rewrite(
            level, top, version, new, news, path, places,
            words, halves, free, tally, sizes, stamps, buffer, io, scratch,
        )  # fmt: skip
    page = new[0, 1]
    if news == 2:
        if top + 1 == LEVELS_MAX:
            raise IndexError("a tree has more levels than any can have")
        page = _open_page(top + 1, version, halves, free, tally, stamps, buffer, io)
        for i in range(news):
            _insert(page, new[i, 0], version, new[i, 1], words, halves, sizes)
    _set_root(version, page, roots, tally)


@checked_kernel
def apply(  # type: ignore[no-untyped-def]
    ids, versions, signs, pointers, start, stop,
    words, halves, roots, free, tally, sizes, stamps, buffer, io, scratch,
) -> int:  # fmt: skip
    """Take changes in from `start` to `stop`. The first for which there may be no room."""
    new = np.zeros((2, 2), np.int64)
    path, places = np.zeros(LEVELS_MAX, np.int64), np.zeros(LEVELS_MAX, np.int64)
    for i in range(start, stop):
        levels = 1
        if tally[ROOTS] > 0:
            levels += halves[roots[tally[ROOTS] - 1, 1], LEVEL]
        if tally[PAGES_USED] + 2 * levels + 1 > len(words) or tally[ROOTS] == len(roots):
            return i
        io[SERIAL] += 1
        if tally[ROOTS] == 0:
            page = _open_page(0, versions[i], halves, free, tally, stamps, buffer, io)
            _set_root(versions[i], page, roots, tally)
        _change(
            ids[i], versions[i], signs[i], pointers[i], new, path, places,
            words, halves, roots, free, tally, sizes, stamps, buffer, io, scratch,
        )  # fmt: skip
    return stop
