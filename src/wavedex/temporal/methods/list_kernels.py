"""The loops that change evolving lists, one for each bucket (Section 4.2 and the appendix).

A page is a row of `words`, which `halves` sees as 32-bit numbers: a header, records, and the array
NT, whose entries (*links*) say which page followed it in the list as of a version. The array FT of
a bucket says which page was the first. All of a bucket's pages but the last have links.

A change walks the list from its first page, and notes in `path` which pages it passed. So it is
known which page is before one, and has to be told of another behind it.

A record that has not ended has a negative number in place of its end. That says which entry its id
has among those that are alive. What is left behind in a page of no use stays so, and counts until
the page ceased to be useful.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavedex.jit import checked_kernel

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

NOW = 2**31 - 1
COPIED = -(2**31)
"""A bit of a beginning: the record goes on where one in another page has ended."""
ADD = 1
READS, WRITES, SERIAL = 0, 1, 2

COUNT, ALIVE, START, END, LINKS, BUCKET = range(6)
"""Places in the header of a page. `END` is NOW while it is useful; `LINKS` counts entries of NT."""
FIRST, LENGTH, TABLE, LINES, TABLE_ROOM = range(5)
"""Places in the line of a bucket: the first page of its list, and how many pages that has; where
its FT begins, how many entries it has and has room for."""
PAGES_USED, TABLES_USED, MOVED_PAGE, MOVED_AT = range(4)
"""Places in `tally`: pages, entries of all FT, and the place of what was moved out last."""
RECORDS, USEFUL, LINKS_MOST, LINKS_AT, FANOUT, POINTERS, TABLES_ON_DISK = range(7)
"""Places in `sizes`: Br; V; entries of an NT, and where it begins in a page; entries of a page of
FT; whether records have pointers; and whether no level of an FT is in memory."""
PAGES_MORE = 4
"""A change needs no more new pages than this, and one for each page of the list."""
TABLE_ROOM_MIN = 4
HEADER = 8


@checked_kernel
def _read(page: int, stamps: I64, io: I64) -> None:
    """Count a page as read, once for each change."""
    if stamps[page, READS] != io[SERIAL]:
        stamps[page, READS] = io[SERIAL]
        io[READS] += 1


@checked_kernel
def _write(page: int, stamps: I64, io: I64) -> None:
    """Count a page as written, and as read, once for each change."""
    _read(page, stamps, io)
    if stamps[page, WRITES] != io[SERIAL]:
        stamps[page, WRITES] = io[SERIAL]
        io[WRITES] += 1


@checked_kernel
def _open_page(bucket: int, version: int, halves: I32, tally: I64, stamps: I64, io: I64) -> int:
    """A new page of a bucket, which is in no list yet."""
    page = tally[PAGES_USED]
    tally[PAGES_USED] += 1
    header = halves[page]
    header[COUNT] = header[ALIVE] = header[LINKS] = 0
    header[START], header[END], header[BUCKET] = version, NOW, bucket
    stamps[page, READS] = io[SERIAL]  # What is new need not be read.
    _write(page, stamps, io)
    return page


@checked_kernel
def _close_page(page: int, version: int, halves: I32, stamps: I64, io: I64) -> None:
    """Say of a page that it is of no use any more."""
    halves[page, END], halves[page, ALIVE] = version, 0
    _write(page, stamps, io)


@checked_kernel
def _append(page, oid, start, pointer, entry, words, halves, sizes, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Put a record that has not ended behind those of a page."""
    at, records = halves[page, COUNT], sizes[RECORDS]
    if at >= records:
        raise IndexError("a page counts what is alive in it wrongly")
    first = 2 * (HEADER + records)
    words[page, HEADER + at] = oid
    halves[page, first + at] = start
    halves[page, first + records + at] = -1 - entry
    if sizes[POINTERS]:
        halves[page, first + 2 * records + at] = pointer
    halves[page, COUNT] += 1
    halves[page, ALIVE] += 1
    _write(page, stamps, io)


@checked_kernel
def _append_copy(source, at, target, version, entry, words, halves, sizes, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Have a record go on in another page, from a version on."""
    first = 2 * (HEADER + sizes[RECORDS])
    start = halves[source, first + at]
    if (start & NOW) != version:
        start = version | COPIED
    pointer = halves[source, first + 2 * sizes[RECORDS] + at] if sizes[POINTERS] else -1
    oid = words[source, HEADER + at]
    _append(target, oid, start, pointer, entry, words, halves, sizes, stamps, io)


@checked_kernel
def _copy_alive(source, target, most, version, words, halves, sizes, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """Have up to `most` records that are alive go on in another page."""
    ends = 2 * (HEADER + sizes[RECORDS]) + sizes[RECORDS]
    for at in range(halves[source, COUNT]):
        end = halves[source, ends + at]
        if end >= 0:
            continue
        if most == 0:
            break
        most -= 1
        _append_copy(source, at, target, version, -1 - end, words, halves, sizes, stamps, io)


@checked_kernel
def _end_first(page, count, version, halves, sizes, stamps, io) -> None:  # type: ignore[no-untyped-def]
    """End as many of the records of a page that are alive: the first ones."""
    ends = 2 * (HEADER + sizes[RECORDS]) + sizes[RECORDS]
    halves[page, ALIVE] -= count
    for at in range(halves[page, COUNT]):
        if count and halves[page, ends + at] < 0:
            halves[page, ends + at] = version
            count -= 1
    _write(page, stamps, io)


@checked_kernel
def _following(page: int, halves: I32, sizes: I64) -> int:
    """The page behind another in the list; -1 behind the last."""
    links = halves[page, LINKS]
    return halves[page, sizes[LINKS_AT] + 2 * links - 1] if links else -1


@checked_kernel
def _link(page, target, version, halves, sizes, stamps, io) -> bool:  # type: ignore[no-untyped-def]
    """Note in NT of a page what follows it from a version on; False where there is no room."""
    links = halves[page, LINKS]
    at = sizes[LINKS_AT] + 2 * links
    if links and halves[page, at - 2] == version:
        at -= 2
    elif links == sizes[LINKS_MOST]:
        return False
    else:
        halves[page, LINKS] += 1
    halves[page, at], halves[page, at + 1] = version, target
    _write(page, stamps, io)
    return True


@checked_kernel
def _lead(bucket, page, version, buckets, tables, tally, sizes, io) -> None:  # type: ignore[no-untyped-def]
    """Note in FT of a bucket which page is the first from a version on."""
    line = buckets[bucket]
    line[FIRST] = page
    last = line[TABLE] + line[LINES] - 1
    io[WRITES] += 1
    if line[LINES] and tables[last, 0] == version:
        tables[last, 1] = page
        io[READS] += 1
        return
    if line[LINES] == line[TABLE_ROOM]:
        room = max(TABLE_ROOM_MIN, 2 * line[TABLE_ROOM])
        old, new = line[TABLE], tally[TABLES_USED]
        for i in range(line[LINES]):
            tables[new + i, 0], tables[new + i, 1] = tables[old + i, 0], tables[old + i, 1]
        tally[TABLES_USED] += room
        line[TABLE], line[TABLE_ROOM] = new, room
    if line[LINES] % sizes[FANOUT]:
        io[READS] += 1
    at = line[TABLE] + line[LINES]
    tables[at, 0], tables[at, 1] = version, page
    line[LINES] += 1


@checked_kernel
def _point(  # type: ignore[no-untyped-def]
    bucket, place, version, words, halves, buckets, tables, tally, sizes, stamps, io, path
) -> None:
    """Have the list lead to `path[place]`: backward updating.

    Where NT of the page before is full, that page is replaced by a copy with an empty one, which
    the page before it has to be told of in turn.
    """
    while place > 0:
        page = path[place - 1]
        if _link(page, path[place], version, halves, sizes, stamps, io):
            return
        copy = _open_page(bucket, version, halves, tally, stamps, io)
        _copy_alive(page, copy, sizes[RECORDS], version, words, halves, sizes, stamps, io)
        _link(copy, path[place], version, halves, sizes, stamps, io)
        _close_page(page, version, halves, stamps, io)
        place -= 1
        path[place] = copy
    _lead(bucket, path[0], version, buckets, tables, tally, sizes, io)


@checked_kernel
def _extend(  # type: ignore[no-untyped-def]
    bucket, place, version, words, halves, buckets, tables, tally, sizes, stamps, io, path
) -> None:
    """Where the last page is full, have another. What is alive moves there if that is too little.

    These are the cases 1.2 and 2.2.
    """
    page = path[place]
    if halves[page, LINKS] or halves[page, COUNT] < sizes[RECORDS]:
        return
    new = _open_page(bucket, version, halves, tally, stamps, io)
    if halves[page, ALIVE] < sizes[USEFUL]:
        _copy_alive(page, new, sizes[RECORDS], version, words, halves, sizes, stamps, io)
        _close_page(page, version, halves, stamps, io)
    else:
        place += 1
        buckets[bucket, LENGTH] += 1
    path[place] = new
    _point(bucket, place, version, words, halves, buckets, tables, tally, sizes, stamps, io, path)


@checked_kernel
def _join(  # type: ignore[no-untyped-def]
    bucket, place, version, words, halves, buckets, tables, tally, sizes, stamps, io, path
) -> None:
    """Where a page is of no use any more, have what is alive in it go on in another.

    The other page is the one before it, or behind it where it is the first. It takes the records in
    if it has room (1.1.1, 2.1.1). Else a new page takes those of both if they are few (1.1.2.a,
    2.1.2.a), or V of those of the other (1.1.2.b, 2.1.2.b).
    """
    page, useful = path[place], sizes[USEFUL]
    following = _following(page, halves, sizes)
    if halves[page, ALIVE] >= useful or following < 0:
        return
    other = path[place - 1] if place else following
    _read(other, stamps, io)
    if halves[other, COUNT] + halves[page, ALIVE] <= sizes[RECORDS]:
        _copy_alive(page, other, useful, version, words, halves, sizes, stamps, io)
        path[place] = following
        buckets[bucket, LENGTH] -= 1
    else:
        new = _open_page(bucket, version, halves, tally, stamps, io)
        if halves[other, ALIVE] <= 3 * useful:
            before, behind = (other, page) if place else (page, other)
            _copy_alive(before, new, sizes[RECORDS], version, words, halves, sizes, stamps, io)
            _copy_alive(behind, new, sizes[RECORDS], version, words, halves, sizes, stamps, io)
            following = _following(behind, halves, sizes)
            _close_page(other, version, halves, stamps, io)
            place = max(place - 1, 0)
            buckets[bucket, LENGTH] -= 1
        else:
            _copy_alive(page, new, useful, version, words, halves, sizes, stamps, io)
            _copy_alive(other, new, useful, version, words, halves, sizes, stamps, io)
            _end_first(other, useful, version, halves, sizes, stamps, io)
        if following >= 0:
            _link(new, following, version, halves, sizes, stamps, io)
        path[place] = new
    _close_page(page, version, halves, stamps, io)
    _point(bucket, place, version, words, halves, buckets, tables, tally, sizes, stamps, io, path)
    _extend(bucket, place, version, words, halves, buckets, tables, tally, sizes, stamps, io, path)


@checked_kernel
def _roomy(bucket, version, halves, buckets, tables, tally, sizes, stamps, io, path) -> int:  # type: ignore[no-untyped-def]
    """The place of the first page of a list that has room. A list that has none gets a page."""
    line = buckets[bucket]
    if line[LENGTH] == 0:
        line[LENGTH] = 1
        path[0] = _open_page(bucket, version, halves, tally, stamps, io)
        _lead(bucket, path[0], version, buckets, tables, tally, sizes, io)
        return 0
    place, path[0] = 0, line[FIRST]
    _read(path[0], stamps, io)
    while halves[path[place], COUNT] == sizes[RECORDS]:
        path[place + 1] = _following(path[place], halves, sizes)
        place += 1
        if path[place] < 0:
            raise IndexError("the last page of a list is full")
        _read(path[place], stamps, io)
    return place


@checked_kernel
def _search(bucket, entry, halves, buckets, sizes, stamps, io, path) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """The place of the page of what is alive in a list, and its place there; -1 without any."""
    ends = 2 * (HEADER + sizes[RECORDS]) + sizes[RECORDS]
    place, page = 0, buckets[bucket, FIRST]
    while page >= 0:
        path[place] = page
        _read(page, stamps, io)
        for at in range(halves[page, COUNT]):
            if halves[page, ends + at] == -1 - entry:
                return place, at
        place, page = place + 1, _following(page, halves, sizes)
    return -1, -1


@checked_kernel
def apply(  # type: ignore[no-untyped-def]
    event_buckets, event_ids, event_versions, kinds, entries, pointers, start, stop,
    words, halves, buckets, tables, tally, sizes, stamps, io, path,
) -> int:  # fmt: skip
    """Take events in from `start` to `stop`. The first for which there may be no room."""
    ends = 2 * (HEADER + sizes[RECORDS]) + sizes[RECORDS]
    for i in range(start, stop):
        bucket, version, kind, entry = event_buckets[i], event_versions[i], kinds[i], entries[i]
        more = buckets[bucket, LENGTH] + PAGES_MORE
        room = 2 * buckets[bucket, TABLE_ROOM] + TABLE_ROOM_MIN
        if (
            tally[PAGES_USED] + more > len(words)
            or tally[TABLES_USED] + room > len(tables)
            or more > len(path)
        ):
            return i
        if abs(kind) == ADD:
            io[SERIAL] += 1
        if kind > 0:
            place = _roomy(bucket, version, halves, buckets, tables, tally, sizes, stamps, io, path)
            if kind == ADD:
                _append(
                    path[place], event_ids[i], version, pointers[i], entry,
                    words, halves, sizes, stamps, io,
                )  # fmt: skip
            else:
                _append_copy(
                    tally[MOVED_PAGE], tally[MOVED_AT], path[place], version, entry,
                    words, halves, sizes, stamps, io,
                )  # fmt: skip
            _extend(
                bucket, place, version,
                words, halves, buckets, tables, tally, sizes, stamps, io, path,
            )  # fmt: skip
        else:
            place, at = _search(bucket, entry, halves, buckets, sizes, stamps, io, path)
            if place < 0:
                raise IndexError("an id is alive that is in no page")
            page = path[place]
            halves[page, ends + at] = version
            halves[page, ALIVE] -= 1
            _write(page, stamps, io)
            tally[MOVED_PAGE], tally[MOVED_AT] = page, at
            _join(
                bucket, place, version,
                words, halves, buckets, tables, tally, sizes, stamps, io, path,
            )  # fmt: skip
    return stop
