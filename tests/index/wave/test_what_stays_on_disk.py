"""What the files below `data/` hold of slots that are over.

As docs/schemes.md has it, looked for byte by byte.
"""

import pyarrow as pa
import pytest

import wavedex as wx
from kit.paths import DOCS

PAGE = DOCS / "schemes.md"
SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.int64())])
WINDOW, INDEXES, ROWS = 7, 3, 30
FREE_ROOM = "in free room"


def said():
    """The table of the page: what is said of each scheme, technique and number of commits."""
    text = PAGE.read_text().partition("## What stays on disk")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    heads, _, *rows = lines
    for scheme, *cells in rows:
        for technique, cell in zip(heads[1:], cells, strict=True):
            for commits, slots in zip((2, 1), cell.split("; "), strict=True):
                yield scheme.strip("`"), technique.strip("`"), commits, slots


def mark(slot):
    """A number that stands in the rows of one slot and nowhere else."""
    return 0x5EED_1234_0000_0077 + slot * 0x0001_0203


def expired_on_disk(folder, newest):
    """The slots that are over and whose mark stands in a file."""
    files = [path.read_bytes() for path in (folder / "data").iterdir()]
    over = range(newest - WINDOW + 1)
    return [slot for slot in over if any(mark(slot).to_bytes(8, "little") in f for f in files)]


def most_expired(folder, scheme, technique, commits):
    """How many slots that are over lie on disk at most, over a window of appends."""
    idx = wx.WaveIndex.create(
        folder, SCHEMA, key="k", time="t", slot=1, window=WINDOW, indexes=INDEXES, shards=1,
        scheme=scheme, update=technique, keep_commits=commits,
    )  # fmt: skip
    most = 0
    for slot in range(3 * WINDOW):
        rows = pa.table([range(ROWS), [slot] * ROWS, [mark(slot)] * ROWS], schema=SCHEMA)
        idx.append(rows)
        if slot >= 2 * WINDOW:
            most = max(most, len(expired_on_disk(folder, slot)))
    idx.verify()
    assert idx.scan().read_all().num_rows == WINDOW * ROWS
    return most


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "technique", "commits", "slots"), list(said()))
def test_the_files_hold_as_many_expired_slots_as_the_page_says(
    tmp_path, scheme, technique, commits, slots
):
    most = most_expired(tmp_path / "x", scheme, technique, commits)
    if slots == FREE_ROOM:
        assert most > 1
    else:
        assert most == int(slots)


def test_the_page_names_all_schemes_that_do_not_weigh_and_all_techniques():
    assert len(list(said())) == 6 * 4 * 2


def test_a_slot_that_brings_several_others_leaves_nothing_either(tmp_path):
    idx = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=WINDOW, indexes=INDEXES, shards=2,
        scheme="rata", keep_commits=1,
    )  # fmt: skip
    for first in range(0, 30, 3):
        slots = range(first, first + 3)
        times = [slot for slot in slots for _ in range(ROWS)]
        rows = pa.table([[*range(ROWS)] * 3, times, [*map(mark, times)]], schema=SCHEMA)
        idx.append(rows)
        assert expired_on_disk(tmp_path / "x", slots[-1]) == []
    assert len(idx.commits) == 1


@pytest.mark.slow
@pytest.mark.parametrize("technique", ["in-place", "simple-shadow", "runs"])
def test_a_stream_leaves_nothing_of_sealed_slots_that_are_over(tmp_path, technique):
    idx = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=WINDOW, indexes=INDEXES, shards=1,
        scheme="rata", update=technique, keep_commits=1,
    )  # fmt: skip
    for slot in range(3 * WINDOW):
        rows = pa.table([range(ROWS), [slot] * ROWS, [mark(slot)] * ROWS], schema=SCHEMA)
        idx.feed(rows, stream="s", number=slot, delay=0)
    assert not expired_on_disk(tmp_path / "x", slot - 1)
    idx.verify()
