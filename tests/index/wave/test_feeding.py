"""A stream feeds an index batch by batch, each once.

Slots stay open until the watermark has passed them.
"""

from __future__ import annotations

import datetime as dt
import zlib
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from kit.stream_oracle import EVERY, KEYS, SCHEMA, StreamOracle, bag, rows
from kit.stream_walk import Walk
from kit.ways import CASES, told
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.index.core.staged import gather, stage
from wavedex.index.wave.feed import Batch, feed

WINDOW, MAX_GAP, STEPS = 4, 5, 20


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    # What lasts through a crash is the business of other tests.
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def make(path, **options) -> wx.WaveIndex:
    options = {"window": WINDOW, "indexes": 2, "max_gap": MAX_GAP, "first_room": 1, **options}
    return wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=EVERY, **options)


def times(index: wx.WaveIndex) -> list[int]:
    return sorted(index.scan().read_all()["t"].to_pylist())


def check(index: wx.WaveIndex, oracle: StreamOracle) -> None:
    index.verify()
    known = sorted(oracle.known)
    assert index.slots == known
    middle = known[len(known) // 2] if known else 0
    spans = [(None, None), (middle, None), (None, middle), (middle, middle), (middle + 1, 999)]
    for since, until in spans:
        inside = oracle.rows(since, until)
        assert bag(index.scan(since, until)) == bag(inside)
        for key in KEYS if since is until is None else KEYS[:2]:
            expected = bag(row for row in inside if row["k"] == key)
            assert bag(index.probe(key, since, until)) == expected
    said = index.describe()
    assert said["rows"] == len(oracle.rows())
    live = {slot["slot"]: slot["rows"] for slot in said["slots"] if slot["live"]}
    assert live == {slot: len(oracle.slots.get(slot, ())) for slot in known}
    assert {slot["slot"] for slot in said["slots"] if slot["open"]} == oracle.open


# -- against the dictionary ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "update"), CASES)
def test_whatever_a_stream_brings_the_answers_are_those_of_a_plain_dictionary(
    tmp_path, scheme, update
):
    seed = zlib.crc32(f"{scheme} {update}".encode())
    how = {"scheme": scheme, "update": update, **told(scheme, first=10)}
    index = make(tmp_path / "x", shards=1 + seed % 3, **how)
    walk = Walk(index, StreamOracle(WINDOW, MAX_GAP), seed)
    while walk.number < 0:
        walk.feed()
    for _ in range(STEPS):
        walk.step()
        check(index, walk.oracle)
    said = index.describe()
    stream = {"batch": walk.number, "watermark": walk.oracle.watermark}
    assert said["streams"] == {f"s{walk.stream}": stream}
    assert {name: said["totals"][name] for name in walk.totals} == walk.totals
    assert walk.seen["sealed"], "the walk met nothing worth the way"


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_staged_batches_feed_an_index_as_batches_in_memory_do(tmp_path, update):
    staged, plain = (make(tmp_path / name, update=update) for name in ("staged", "plain"))
    batches = [(101, 112), (113, 97), (138, 121, 99), (), (155, 140, 131, 101), (201, 179, 160)]
    for number, batch in enumerate(batches):
        half = len(batch) // 2
        messages = [
            stage(staged._files, staged.definition, some, None, f"data/{number:010d}-57a6ed-{task}")
            for task, some in enumerate([rows(*batch[:half]), rows(*batch[half:])])
        ]
        gathered = gather(staged.definition, messages)
        bring = lambda manifest, gathered=gathered: nullcontext(gathered)  # noqa: E731
        done = feed(staged._writer, bring, Batch("s", number, 5))
        expected = plain.feed(rows(*batch), stream="s", number=number, delay=5)
        assert replace(done, commit=0) == replace(expected, commit=0)
        staged.verify()
        assert times(staged) == times(plain)


# -- slots open, and are sealed -------------------------------------------------------------------


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_slot_is_sealed_when_the_watermark_reaches_its_end_and_nothing_expires_before(
    tmp_path, update
):
    index = make(tmp_path / "x", update=update, window=2)

    def send(number: int, *batch: int) -> tuple[list[int], list[int]]:
        done = index.feed(rows(*batch), stream="s", number=number, delay=5)
        return done.sealed, index.slots

    assert send(0, 100, 114) == ([], [10, 11])
    assert send(1, 115) == ([10], [9, 10, 11])
    assert send(2, 149) == ([11, 12, 13], [12, 13, 14])
    assert times(index) == [149]
    assert send(3) == ([], [12, 13, 14])
    assert send(4, 150, 151, 152) == ([], [12, 13, 14, 15])
    assert index.describe()["streams"]["s"] == {"batch": 4, "watermark": 147}


def test_of_one_batch_no_row_makes_another_one_late(tmp_path):
    index = make(tmp_path / "x")
    done = index.feed(rows(109, 161, 121, 100), stream="s", number=0, delay=0)
    assert (done.rows, done.late, done.sealed) == (4, 0, [10, 11, 12, 13, 14, 15])
    assert times(index) == [121, 161]
    assert index.feed(rows(159, 160), stream="s", number=1, delay=0).late == 1


def test_late_rows_are_set_aside_as_a_table_before_the_batch_is_in(tmp_path):
    index = make(tmp_path / "x", nulls="skip")
    index.feed(rows(100, 125), stream="s", number=0, delay=0)
    late: list[pa.Table] = []

    def fail(some: pa.Table) -> None:
        late.append(some)
        assert times(index) == [100, 125]
        raise OSError("no room here")

    before = index.describe()
    for _ in range(2):
        with pytest.raises(OSError, match="no room here"):
            index.feed(rows(101, 126, 119), stream="s", number=1, delay=0, set_aside=fail)
        assert index.describe() == before
    assert [each.sort_by("t") for each in late] == [rows(101, 119)] * 2
    done = index.feed(rows(101, 126, 119), stream="s", number=1, delay=0, set_aside=late.append)
    assert (done.rows, done.late, len(late)) == (1, 2, 3)
    index.feed(rows(101, 126, 119), stream="s", number=1, delay=0, set_aside=late.append)
    index.feed(rows(127), stream="s", number=2, delay=0, set_aside=late.append)
    assert len(late) == 3


def test_days_of_a_zone_are_sealed_at_their_own_midnight(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    index = wx.WaveIndex.create(
        tmp_path / "x", schema, key="k", time="t", slot="1 day", zone="Europe/Berlin", window=3
    )

    def send(number: int, when: str, delay: object) -> list[int]:
        at = dt.datetime.fromisoformat(f"{when}+00:00")
        batch = pa.Table.from_pylist([{"k": 1, "t": at}], schema)
        return index.feed(batch, stream="s", number=number, delay=delay).sealed

    # On 2026-03-29 the day has 23 hours in Berlin, and ends at 22:00 in UTC.
    assert send(0, "2026-03-29T12:00", "1 hour") == []
    assert send(1, "2026-03-29T22:59:59.999999", dt.timedelta(hours=1)) == []
    assert send(2, "2026-03-29T23:00", "1 hour") == [20541]
    before = index.describe()
    with pytest.raises(errors.GapTooLarge):
        send(3, "2099-01-01T00:00", "1 hour")
    assert index.describe() == before
    assert send(3, "2026-03-30T12:00", "900000 weeks") == []


@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("edge", [2**63 - 1, -(2**63)])
def test_a_stream_may_bring_the_first_and_the_last_time_of_all(tmp_path, edge, update):
    index = wx.WaveIndex.create(
        tmp_path / "x", SCHEMA, key="k", time="t", slot=1, window=3, update=update
    )
    done = index.feed(rows(edge), stream="s", number=0, delay=0)
    assert (done.rows, done.amended, done.sealed, times(index)) == (1, 0, [], [edge])
    index.feed(rows(edge), stream="s", number=1, delay=2**64)
    assert times(index) == [edge, edge]
    index.verify()


# -- each batch once, in step ----------------------------------------------------------------------


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_batch_that_is_sent_again_changes_nothing(tmp_path, update):
    index = make(tmp_path / "x", update=update)
    for number, batch in enumerate([(100, 111), (112, 125), ()]):
        first = index.feed(rows(*batch), stream="s", number=number, delay=3)
        before = index.describe(), sorted(path.name for path in tmp_path.rglob("*"))
        for again in (rows(*batch), rows(900), rows()):
            done = index.feed(again, stream="s", number=number, delay=0)
            assert replace(done, commit=0) == wx.Fed(0, repeated=True)
            assert done.commit >= first.commit
        assert (index.describe(), sorted(path.name for path in tmp_path.rglob("*"))) == before


def test_a_batch_out_of_turn_is_refused_and_so_is_another_stream_unless_it_takes_over(tmp_path):
    index = make(tmp_path / "x")

    def refuse(error, stream: str, number: int) -> None:
        before = index.describe()
        with pytest.raises(error):
            index.feed(rows(101), stream=stream, number=number, delay=3)
        assert index.describe() == before

    refuse(errors.StreamOutOfStep, "a", 1)
    index.feed(rows(100), stream="a", number=0, delay=3)
    index.feed(rows(110), stream="a", number=1, delay=3)
    refuse(errors.StreamOutOfStep, "a", 3)
    refuse(errors.StreamOutOfStep, "a", 0)
    refuse(errors.AnotherStream, "b", 0)
    refuse(errors.AnotherStream, "b", 7)
    for _ in range(2):
        index.feed(rows(112), stream="b", number=7, delay=3, takeover=True)
    refuse(errors.AnotherStream, "a", 2)
    refuse(errors.StreamOutOfStep, "b", 0)
    index.feed(rows(113), stream="b", number=np.int64(8), delay=3)
    assert index.describe()["streams"] == {"b": {"batch": 8, "watermark": 110}}
    assert times(index) == [100, 110, 112, 113]


@pytest.mark.parametrize(
    ("stream", "number"), [(5, 0), (None, 0), ("s", -1), ("s", 0.0), ("s", True), ("s", "0")]
)
def test_what_a_manifest_cannot_remember_is_no_stream_and_no_batch(tmp_path, stream, number):
    index = make(tmp_path / "x")
    with pytest.raises(errors.BadDefinition, match="from 0 on"):
        index.feed(rows(100), stream=stream, number=number, delay=0, takeover=True)
    assert index.describe()["commit"] == 0


def test_an_index_without_times_takes_no_stream(tmp_path):
    index = wx.WaveIndex.create(tmp_path / "x", pa.schema([("k", pa.int64())]), key="k", window=3)
    with pytest.raises(errors.BadTime, match="no time column"):
        index.feed(pa.table({"k": [1]}), stream="s", number=0, delay=0)
