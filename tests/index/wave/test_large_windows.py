"""A window of many slots.

What a commit writes and a reader reads does not grow with it, and nothing is forgotten.
"""

from __future__ import annotations

import itertools
import json
import random

import numpy as np
import pyarrow as pa
import pytest
import xxhash

import wavedex as wx
from kit.crashing import crash_everywhere
from kit.small_waves import make as make_small
from kit.small_waves import rows_of, table
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.files.names import LOG
from wavedex.log import ledger
from wavedex.log.manifest import Manifest
from wavedex.plan.slot_set import SPAN_MAX
from wavedex.testing.crashes import DISKS, unnamed_files
from wavedex.testing.oracle import Oracle, same_rows

DAY = 86_400
SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def few_lines(monkeypatch):
    monkeypatch.setattr(ledger, "LINES_MAX", 3)
    monkeypatch.setattr(ledger, "SEGMENTS_MAX", 4)


def seconds(first: int, last: int) -> pa.Table:
    """A row or two of some key for each second: a shard has rows of about every other slot."""
    times = np.repeat(np.arange(first, last), 2)
    keys = (times * 2_654_435_761) % 977
    return pa.table({"k": keys, "t": times, "v": times.astype(str)}, schema=SCHEMA)


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    path = tmp_path_factory.mktemp("day") / "x"
    index = wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=1, window=DAY)
    start = 1_700_000_000
    index.append(seconds(start, start + DAY))
    for slot in range(start + DAY, start + DAY + 4):
        index.append(seconds(slot, slot + 1))
    return path, start + 4


class CountingDisk(Files):
    """Counts the bytes that are read as a whole and the names of files that are mapped."""

    def __init__(self, root) -> None:
        super().__init__(root)
        self.bytes_read = 0
        self.mapped: list[str] = []

    def read(self, name):
        data = super().read(name)
        self.bytes_read += len(data)
        return data

    def map(self, ref):
        self.mapped.append(ref.name)
        return super().map(ref)


@pytest.mark.slow
def test_the_manifest_of_a_day_of_seconds_is_small(day):
    path, _ = day
    sizes = [file.stat().st_size for file in (path / LOG).glob("*.json")]
    assert max(sizes) < 200_000


def test_a_probe_of_a_day_of_seconds_reads_one_small_manifest_and_no_ledger(day):
    path, oldest = day
    disk = CountingDisk(path)
    index = wx.open(path, surroundings=wx.Surroundings(files=lambda _: disk))
    times = np.arange(oldest, oldest + DAY)
    expected = times[(times * 2_654_435_761) % 977 == 5]
    assert index.probe(5).num_rows == 2 * len(expected)
    assert disk.bytes_read < 200_000
    assert not [name for name in disk.mapped if name.endswith(".slots")]


def test_a_slot_of_long_ago_that_comes_again_is_known_by_its_rows(day):
    path, oldest = day
    index = wx.open(path)
    known = oldest + 1_000
    assert index.append(seconds(known, known + 1)).slots == []
    with pytest.raises(errors.SlotConflict):
        index.append(pa.concat_tables([seconds(known, known + 1)] * 2))
    about = index.describe()
    assert about["rows"] == 2 * DAY
    assert len(about["slots"]) >= DAY


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["wata", "rata", "del", "reindex+"])
def test_lines_that_are_in_segments_count_as_those_in_the_manifest(tmp_path, few_lines, scheme):
    chance = random.Random(scheme)
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=12, indexes=3, scheme=scheme
    )
    oracle = Oracle(12, "k", lambda row: row["t"] // 10)
    for slot in range(1, 45):
        new = [row for row in rows_of(slot) if chance.random() < 0.8]
        if new:
            index.append(table(new))
        else:
            index.append(table([]), slot=slot)
        oracle.append(new, slot)
        late = rows_of(max(1, slot - chance.randrange(8)))[:2]
        if slot % 3 == 0:
            index.amend(table(late))
            oracle.amend(late)
        if new:
            assert index.append(table(new)).slots == []
        counts = {each["slot"]: each["rows"] for each in index.describe()["slots"] if each["live"]}
        found = [row["t"] // 10 for row in oracle.rows()]
        assert counts == {live: found.count(live) for live in range(slot - 11, slot + 1)}
    index.verify()
    assert same_rows(index.scan().read_all().to_pylist(), oracle.rows())
    assert 0 < len(index.manifest.ledger.segments) <= 5
    index.erase([3])
    index.verify()
    index.migrate(window=7, indexes=2)
    index.verify()
    index.migrate(window=12)
    index.verify()
    with pytest.raises(errors.SlotBackwards):
        index.append(table(rows_of(36)))
    index.vacuum()
    assert not unnamed_files(tmp_path / "x")


def test_changes_are_found_though_lines_have_moved_to_a_segment(tmp_path, few_lines):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=6, keep_commits=100
    )
    for slot in range(1, 16):
        index.append(table(rows_of(slot)))
        if slot % 4 == 0:
            index.amend(table(rows_of(slot - 2)[:1]))
    commits = index.commits
    for since, until in itertools.pairwise(commits[1:]):
        before = index.snapshot(since).scan().read_all().to_pylist()
        changed = index.changes(since, until).read_all().to_pylist()
        for row in changed:
            plain = {name: row[name] for name in SCHEMA.names}
            before.append(plain) if row["_change"] > 0 else before.remove(plain)
        assert same_rows(before, index.snapshot(until).scan().read_all().to_pylist())


@pytest.mark.slow
def test_a_stream_whose_open_slots_are_many_is_sealed_with_all_its_rows(tmp_path, few_lines):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=9, scheme="wata-bounded",
        max_size=60,
    )  # fmt: skip
    for number in range(20):
        index.feed(table(rows_of(number)), stream="s", number=number, delay=60)
        index.verify()
    sealed, opened = range(4, 13), range(13, 20)
    expected = [row for slot in (*sealed, *opened) for row in rows_of(slot)]
    assert same_rows(index.scan().read_all().to_pylist(), expected)
    assert index.manifest.state["sizes"] == {str(slot): len(rows_of(slot)) for slot in sealed}


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("update", ["runs", "in-place"])
def test_a_crash_while_lines_are_written_to_a_segment_leaves_the_old_window_or_the_new_one(
    tmp_path, few_lines, update, disk
):
    assert update in TECHNIQUES
    oracle = make_small(tmp_path / "origin", "wata", update, range(1, 8))
    old = oracle.rows()
    following = [row for slot in (8, 9, 10, 11) for row in rows_of(slot)]
    oracle.append(following, 11)

    def act(index: wx.WaveIndex) -> None:
        index.append(table(following))

    crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.rows())


def test_a_damaged_segment_is_found(tmp_path, few_lines):
    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="k", time="t", slot=10, window=9)
    for slot in range(1, 12):
        index.append(table(rows_of(slot)))
    name = index.manifest.ledger.segments[0].file.name
    path = tmp_path / "x" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(errors.Damaged, match="checksum"):
        wx.open(tmp_path / "x").verify()
    path.unlink()
    with pytest.raises(errors.Damaged, match="missing"):
        wx.open(tmp_path / "x").verify()
    assert wx.open(tmp_path / "x").probe(3).num_rows


@pytest.mark.parametrize(
    "wrong",
    [
        ["data/../../secret", 5, "00", 1, 2, 3],
        ["/etc/passwd", 5, "00", 1, 2, 3],
        ["data/0000000001-ab-ledger.slots", "5", "00", 1, 2, 3],
        ["data/0000000001-ab-ledger.slots", 5, "00", 1, 2],
        [1, 2],
        "ledger",
    ],
)
def test_a_manifest_that_names_something_else_as_a_segment_is_damaged(wrong):
    manifest = Manifest(3, "append", "2026-01-01T00:00:00+00:00")
    text = manifest.to_bytes().decode()
    inner = text[text.index('"manifest":') + len('"manifest":') : text.rindex("}")]
    named = inner.replace('"segments":[]', f'"segments":[{json.dumps(wrong)}]')
    assert named != inner
    inner = named
    checksum = xxhash.xxh64_hexdigest(inner.encode())
    forged = f'{{"checksum":"{checksum}","manifest":{inner}}}'.encode()
    with pytest.raises(errors.Damaged, match="no manifest"):
        Manifest.from_bytes(forged, "log/3.json")


def test_a_window_of_more_slots_than_a_set_has_room_for_is_refused(tmp_path):
    with pytest.raises(errors.BadDefinition, match=r"more than 2,097,152 slots\. Choose longer"):
        wx.WaveIndex.create(
            tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=SPAN_MAX // 2 + 1
        )
