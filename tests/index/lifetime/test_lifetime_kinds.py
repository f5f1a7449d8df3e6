"""Lifetime indexes of other columns, keys, formats and disks.

Shared results, timed probes, and readers while it changes.
"""

from __future__ import annotations

import datetime as dt
import threading

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from kit.life_rows import LAST, SCHEMA, make, rows_at, table
from wavedex import errors
from wavedex.index.reading.asked import Asked
from wavedex.slots import ends
from wavedex.testing.life_oracle import BIRTH, END, KEY
from wavedex.testing.oracle import same_rows

T0 = dt.datetime(2026, 3, 1)


def minutes(count):
    return T0 + dt.timedelta(minutes=count)


# -- results that several queries share ------------------------------------------------------------


def test_a_join_of_windows_answers_for_shorter_ones(tmp_path):
    """Rows of two windows of 20 minutes are joined.

    The answer for any smaller windows is filtered from the result.
    """
    schema = pa.schema(
        [("k", pa.int64())]
        + [(name, pa.timestamp("us")) for name in ("made", "until", "left", "right")]
    )
    life = wx.LifetimeIndex.create(
        tmp_path / "index", schema, key="k", inserted="made", expires="until",
        max_lifetime="20 minutes", refresh="2 minutes", grid=(2, 2),
        spans={"left": "20 minutes", "right": "20 minutes"},
    )  # fmt: skip
    bases = [(left, right) for left in range(0, 30, 3) for right in range(0, 30, 4)]
    joined = [
        {"k": (left + right) % 3, "made": minutes(max(left, right)),
         "until": minutes(min(left, right) + 20), "left": minutes(left), "right": minutes(right)}
        for left, right in bases
        if abs(left - right) < 20
    ]  # fmt: skip
    for now in range(2, 32, 2):
        some = [row for row in joined if minutes(now - 2) < row["made"] <= minutes(now)]
        life.update(minutes(now), pa.Table.from_pylist(some, schema))

        def window(left, right, now=now):
            return [
                row
                for row in joined
                if row["made"] <= minutes(now) and row["made"] > minutes(0)
                and row["left"] + dt.timedelta(minutes=left) > minutes(now)
                and row["right"] + dt.timedelta(minutes=right) > minutes(now)
            ]  # fmt: skip

        def asked(shorten):
            return life.scan(shorten=shorten).read_all().to_pylist()

        assert same_rows(asked(None), window(20, 20))
        assert same_rows(asked("4 minutes"), window(16, 16))
        assert same_rows(asked(dt.timedelta(minutes=4)), window(16, 16))
        assert same_rows(asked({"right": "10 minutes"}), window(20, 10))
        assert same_rows(asked({"left": "5 minutes", "right": "12 minutes"}), window(15, 8))
    with life.snapshot() as snapshot:
        assert same_rows(snapshot.scan(shorten="4 minutes").read_all().to_pylist(), window(16, 16))
    with pytest.raises(errors.BadTime, match="longer than the window"):
        life.probe(1, shorten={"left": "21 minutes"})


# -- columns, keys, formats, disks -----------------------------------------------------------------


def test_dates_and_days(tmp_path):
    schema = pa.schema([("k", pa.string()), ("on", pa.date32()), ("until", pa.date32())])
    life = wx.LifetimeIndex.create(
        tmp_path / "index", schema, key="k", inserted="on", expires="until",
        max_lifetime="12 days", refresh="3 days", grid=(2, 2), origin="2026-01-01",
    )  # fmt: skip
    day = dt.date(2026, 1, 1)
    rows = [
        {"k": "a", "on": day + dt.timedelta(n), "until": day + dt.timedelta(2 * n)}
        for n in range(10)
    ]
    for n in range(25):
        now = day + dt.timedelta(n)
        life.update(now, pa.Table.from_pylist([row for row in rows if row["on"] == now], schema))
        live = [row for row in rows if row["on"] <= now < row["until"]]
        assert same_rows(life.probe("a").to_pylist(), live), now
        assert same_rows(
            life.probe("a", since="2026-01-05").to_pylist(), [r for r in live if r["on"].day >= 5]
        )


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_keys_of_several_columns_and_lists_of_keys(tmp_path, method):
    schema = pa.schema(
        [
            ("tenant", pa.string()),
            ("words", pa.list_(pa.string())),
            ("b", pa.int64()),
            ("e", pa.int64()),
        ]
    )
    life = wx.LifetimeIndex.create(
        tmp_path / "index", schema, key=["tenant", "words"], position="place", inserted="b",
        expires="e", max_lifetime=8, refresh=2, method=method, nulls="skip",
    )  # fmt: skip
    rows = [
        {"tenant": "t", "words": ["x", "y", "x"], "b": 1, "e": 5},
        {"tenant": None, "words": ["x"], "b": 1, "e": 5},
    ]
    done = life.update(2, pa.Table.from_pylist(rows, schema))
    assert (done.rows, done.null_keys) == (3, 1)
    assert life.probe(("t", "x"))["place"].to_pylist() == [0, 2]
    gone = pa.table(
        {"tenant": ["t"], "words": ["x"], "place": pa.array([0], pa.int32()), "b": [1], "e": [5]}
    )
    life.retract(2, gone)
    assert life.probe(("t", "x"))["place"].to_pylist() == [2]
    life.update(5)
    assert life.probe(("t", "y")).num_rows == 0


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["parquet", "sqlite"])
def test_other_formats_hold_the_cells_of_methods_that_recluster(tmp_path, stored):
    oracle = make(tmp_path / "index", "rebuild", format=stored)
    life = wx.open(tmp_path / "index")
    assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    life.update(LAST + 4)
    oracle.update(LAST + 4, [])
    life.verify()
    life.migrate(format="arrow", strategy="drain")
    for now in range(LAST + 4, LAST + 20):
        rows = rows_at(now)
        life.update(now, table(rows))
        oracle.update(now, rows)
        assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    life.verify()


def test_cells_lie_on_several_disks(tmp_path):
    roots = [tmp_path / "disk1", tmp_path / "disk2"]
    oracle = make(tmp_path / "index", "rebuild", roots=roots)
    life = wx.open(tmp_path / "index")
    assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    assert all(any(root.rglob("*.arrow")) or any(root.rglob("*")) for root in roots)
    life.verify()


def test_an_old_commit_is_as_it_was(tmp_path):
    make(tmp_path / "index", "rebuild", keep_commits=50)
    life = wx.open(tmp_path / "index")
    seen = {
        commit: wx.open(tmp_path / "index", commit=commit).scan().read_all().num_rows
        for commit in life.commits
    }
    for now in range(LAST + 2, LAST + 40, 2):
        life.update(now)
    for commit, rows in seen.items():
        assert wx.open(tmp_path / "index", commit=commit).scan().read_all().num_rows == rows
    assert life.scan().read_all().num_rows == 0


# -- timed probes ----------------------------------------------------------------------------------


def test_a_timed_probe_asks_only_sub_indexes_with_rows_of_that_time(tmp_path):
    life = wx.LifetimeIndex.create(
        tmp_path / "index", SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=64,
        refresh=2, grid=(16, 2), shards=1,
    )  # fmt: skip
    for now in range(2, 66, 2):
        life.update(
            now, table([{KEY: 1, BIRTH: now, END: now + 50 + n, "v": ""} for n in range(8)])
        )
    snapshot = life.snapshot()
    assert len(snapshot.all_targets(Asked())) == 32
    for slot in (20, 25, 32):
        targets = snapshot.all_targets(Asked(2 * slot, 2 * slot))
        assert len(targets) == 2
        found = life.probe(1, since=2 * slot, until=2 * slot)
        assert set(found[BIRTH].to_pylist()) == {2 * slot}
    assert snapshot.all_targets(Asked(80)) == []


def test_a_prolonged_row_is_found_by_the_time_at_which_it_was_inserted(tmp_path):
    life = wx.LifetimeIndex.create(
        tmp_path / "index", SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2
    )
    row = {KEY: 1, BIRTH: 3, END: 10, "v": ""}
    life.update(4, table([row]))
    life.update(8)
    life.prolong(8, table([{**row, END: 22}]))
    for now in (9, 10, 12, 18):
        life.update(now)
        assert life.probe(1, since=3, until=3).num_rows == 1
        assert life.probe(1, since=4).num_rows == 0


# -- readers ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["rebuild", "drain"])
def test_readers_notice_nothing_of_a_migration(tmp_path, strategy):
    oracle = make(tmp_path / "index", "rebuild")
    life = wx.open(tmp_path / "index")
    wanted = oracle.live()
    held = life.snapshot()
    over, wrong = threading.Event(), []

    def read():
        reader = wx.open(tmp_path / "index")
        while not over.is_set():
            if not same_rows(reader.scan().read_all().to_pylist(), wanted):
                wrong.append("scan")
            for key in range(5):
                mine = [row for row in wanted if row[KEY] == key]
                if not same_rows(reader.probe(key).to_pylist(), mine):
                    wrong.append(key)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for method, grid in [
            ("no-rebuild", (4, 2)),
            ("lazy-rebuild", (3, 2)),
            ("lazy-no-rebuild", (2, 4)),
            ("r-ins", (4, 1)),
            ("rebuild", (8, 8)),
        ]:
            life.migrate(method=method, grid=grid, strategy=strategy)
            life.vacuum()
    finally:
        over.set()
        for reader in readers:
            reader.join()
    assert not wrong
    assert same_rows(held.scan().read_all().to_pylist(), wanted)
    assert same_rows(life.scan().read_all().to_pylist(), wanted)
    life.verify()


# -- slots that are named by their ends ------------------------------------------------------------


def test_slots_of_refreshes_hold_their_ends():
    slots = ends.ends(pa.int64(), 5, 3)
    for time in range(-30, 30):
        slot = int(slots.slots_of(np.array([time]))[0])
        assert 3 + 5 * (slot - 1) < time <= 3 + 5 * slot
        assert slots.start(slot) <= time < slots.stop(slot)
        assert slots.due(time) == (slot if time == 3 + 5 * slot else slot - 1)
    assert ends.from_json(slots.to_json()) == slots
    hours = ends.ends(pa.timestamp("ms", "UTC"), "1 hour")
    assert hours.label(25) == "1970-01-02 01:00"
    assert hours.instant("1970-01-01T00:00:01.0005") == 1000
    with pytest.raises(errors.BadDefinition):
        ends.from_json({"kind": "numbers"})
