"""Which sub-indexes a refresh touches, on a real index.

The figures of the report, and what is left alone on the disk.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

import wavedex as wx
from kit.life_rows import SCHEMA, make, rows_at, table
from wavedex.testing.life_oracle import BIRTH, END, KEY, LifeOracle
from wavedex.testing.oracle import same_rows


def create(path, method, grid=(2, 2), **options):
    return wx.LifetimeIndex.create(
        path, SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2,
        grid=grid, method=method, **options,
    )  # fmt: skip


def parts_of(life):
    """The files of every sub-index."""
    manifest = life.snapshot().manifest
    return {
        name: sorted(ref.name for part in sub.parts for ref in part.all_files)
        for name, sub in manifest.indexes.items()
    }


FIGURES = {
    # time: inserted into, expired from (Figures 3 to 5 of the report)
    ("rebuild", ("chronological", "chronological")): {
        18: ("I1 I2", "I1 I3"), 20: ("I1 I2", "I1 I3"),
        22: ("I1 I2", "I1 I3"), 24: ("I1 I2", "I1 I3"),
        26: ("I3 I4", "I2 I4"), 28: ("I3 I4", "I2 I4"),
        30: ("I3 I4", "I2 I4"), 32: ("I3 I4", "I2 I4"),
        34: ("I1 I2", "I1 I3"),
    },
    ("no-rebuild", ("round-robin", "round-robin")): {
        18: ("I1 I2", "I1 I3"), 20: ("I3 I4", "I2 I4"),
        22: ("I1 I2", "I1 I3"), 24: ("I3 I4", "I2 I4"),
        26: ("I1 I2", "I1 I3"), 28: ("I3 I4", "I2 I4"),
        30: ("I1 I2", "I1 I3"), 32: ("I3 I4", "I2 I4"),
        34: ("I1 I2", "I1 I3"),
    },
    ("lazy-rebuild", None): {
        18: ("I3 I4", "I3"), 20: ("I3 I4", "I4"), 22: ("I3 I4", "I3"), 24: ("I3 I4", "I4"),
        26: ("I3 I4", "I3"), 28: ("I3 I4", "I4"), 30: ("I1 I2", "I1 I2 I3"),
    },
}  # fmt: skip


@pytest.mark.parametrize(("method", "partition"), FIGURES)
def test_refreshes_touch_what_the_figures_show_and_leave_the_other_files_alone(
    tmp_path, method, partition
):
    life = create(tmp_path / "index", method, partition=partition)
    oracle = LifeOracle()
    # A row for every birth and death of the first window, so that every cell has rows.
    first = [
        {KEY: birth % 3, BIRTH: birth, END: end, "v": "first"}
        for birth in range(1, 17)
        for end in range(17, birth + 17)
    ]
    life.update(16, table(first))
    oracle.update(16, first)
    for now, (inserts, expires) in FIGURES[method, partition].items():
        before = parts_of(life)
        rows = [
            {KEY: now % 3, BIRTH: birth, END: end, "v": "later"}
            for birth in (now - 1, now)
            for end in range(now + 1, birth + 17)
        ]
        done = life.update(now, table(rows))
        oracle.update(now, rows)
        assert (done.inserts, done.expires) == (inserts.split(), expires.split()), now
        after = parts_of(life)
        changed = [name for name in after if after[name] != before[name]]
        assert changed == done.touched, now
        assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    life.verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "grid", "touched"),
    [
        ("rebuild", (4, 2), {5}),
        ("rebuild", (4, 4), {7}),
        ("no-rebuild", (2, 8), {9}),
        ("lazy-rebuild", (4, 2), {4, 5}),
        ("lazy-no-rebuild", (3, 4), {5, 6}),
        ("r-ins", (5, 1), {5}),
        ("d-exp", (1, 5), {5}),
        ("wata", (5, 1), {1}),
    ],
)
def test_a_refresh_touches_one_row_and_one_column(tmp_path, method, grid, touched):
    life = create(tmp_path / "index", method, grid, shards=1)
    seen = set()
    for now in range(2, 80, 2):
        rows = [
            {KEY: birth, BIRTH: birth, END: end, "v": ""}
            for birth in (now - 1, now)
            for end in range(birth + 1, birth + 17)
        ]
        done = life.update(now, table(rows))
        if now > 34:
            seen.add(len(done.touched))
    assert seen == touched


def test_several_refreshes_at_once_are_one_commit_and_lead_to_the_same_answers(tmp_path):
    one, many = create(tmp_path / "one", "rebuild"), create(tmp_path / "many", "rebuild")
    rows = [row for now in range(2, 40, 2) for row in rows_at(now)]
    for now in range(2, 40, 2):
        many.update(now, table([row for row in rows if now - 2 < row[BIRTH] <= now]))
    many.update(40)
    done = one.update(40, table(rows))
    assert same_rows(one.scan().read_all().to_pylist(), many.scan().read_all().to_pylist())
    assert (done.commit, done.slot) == (1, 20)
    assert done.rows + done.over == len(rows)
    cells = {name: sub["rows"] for name, sub in one.describe()["sub_indexes"].items()}
    assert cells == {name: sub["rows"] for name, sub in many.describe()["sub_indexes"].items()}


def test_rows_of_a_slot_that_has_only_begun_wait_in_the_delta_and_can_be_asked_for(tmp_path):
    life = create(tmp_path / "index", "rebuild")
    life.update(4, table([{KEY: 1, BIRTH: 3, END: 9, "v": "a"}]))
    before = parts_of(life)
    done = life.update(5, table([{KEY: 1, BIRTH: 5, END: 8, "v": "b"}]))
    assert (done.touched, done.rows) == ([], 1)
    assert parts_of(life) == before
    assert sorted(life.probe(1)["v"].to_pylist()) == ["a", "b"]
    assert life.describe()["open"]["rows"] == 1
    life.update(6)
    assert life.describe()["open"] is None
    assert sorted(life.probe(1)["v"].to_pylist()) == ["a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rebuild", "no-rebuild"])
def test_what_comes_bit_by_bit_between_two_refreshes_is_not_written_again_and_again(
    tmp_path, method
):
    life = create(tmp_path / "index", method, shards=1)
    life.update(4)
    oracle = LifeOracle()
    most = 0
    for number in range(100):
        row = {KEY: number % 7, BIRTH: 5, END: 6 + number % 14, "v": "x" * 1_000}
        life.update(5, table([row | {"v": f"{number}" + row["v"]}]))
        oracle.update(5, [row | {"v": f"{number}" + row["v"]}])
        most = max(most, sum(1 for _ in life.snapshot().manifest.open.parts))
    assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    assert most <= 64
    written = sum(done["written_bytes"] for done in life.describe()["work"])
    assert written < 32 * 100 * 1_000 / 2  # Of the last 32, none wrote all that was there.
    life.update(8)
    oracle.update(8, [])
    assert life.describe()["open"] is None
    assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    life.verify()


def test_what_is_over_when_it_comes_is_left_out_between_two_refreshes_too(tmp_path):
    life = create(tmp_path / "index", "rebuild")
    life.update(18)
    rows = [{KEY: 1, BIRTH: 18, END: end, "v": ""} for end in (18, 19, 20)]
    done = life.update(19, table(rows))
    assert (done.rows, done.over) == (1, 2)
    assert life.probe(1, expired=True).to_pylist() == rows[2:]


def test_the_work_of_refreshes_is_foretold_and_told(tmp_path):
    make(tmp_path / "index", "rebuild")
    work = wx.open(tmp_path / "index").describe()["work"]
    assert {done["operation"] for done in work} == {"update"}
    assert all(done["written_bytes"] > 0 and done["predicted_bytes"] > 0 for done in work)


def test_the_same_update_again_is_passed_over_and_another_at_that_instant_is_not(tmp_path):
    life = create(tmp_path / "index", "rebuild")
    rows = table([{KEY: 1, BIRTH: 1, END: 9, "v": "a"}])
    assert not life.update(2, rows).repeated
    again = life.update(2, rows)
    assert again.repeated
    assert again.rows == 0
    assert life.update(2, table([{KEY: 1, BIRTH: 1, END: 9, "v": "b"}])).rows == 1
    assert life.probe(1).num_rows == 2


def test_rows_that_come_late_are_as_good_as_others_and_rows_that_are_over_are_counted(tmp_path):
    life = create(tmp_path / "index", "lazy-rebuild")
    life.update(20)
    rows = [
        {KEY: 1, BIRTH: 3, END: 19, "v": "over"},
        {KEY: 1, BIRTH: 6, END: 22, "v": "late"},
        {KEY: 1, BIRTH: 8, END: 8, "v": "never"},
    ]
    done = life.update(20, table(rows))
    assert (done.rows, done.over) == (1, 2)
    for now in range(20, 24):
        life.update(now)
        assert life.probe(1).num_rows == (1 if now < 22 else 0), now


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rebuild", "no-rebuild", "lazy-rebuild"])
def test_what_is_over_is_never_answered_and_its_space_is_given_back(tmp_path, method):
    life = create(tmp_path / "index", method, shards=1)
    payload = "x" * 1000
    for now in range(2, 60, 2):
        rows = [{KEY: n, BIRTH: now, END: now + 1 + n % 16, "v": payload} for n in range(64)]
        life.update(now, table(rows))
        assert all(row[END] > now for row in life.scan().read_all().to_pylist())
    full = sum(file.stat().st_size for file in (tmp_path / "index" / "data").iterdir())
    for now in range(60, 100, 2):
        life.update(now)
    life.vacuum()
    assert life.scan().read_all().num_rows == 0
    left = sum(file.stat().st_size for file in (tmp_path / "index" / "data").iterdir())
    assert left < full / 20


def test_a_row_may_be_asked_for_after_it_is_over_while_it_is_still_there(tmp_path):
    life = create(tmp_path / "index", "wata", (2, 1))
    life.update(2, table([{KEY: 1, BIRTH: 1, END: 3, "v": "short"}]))
    life.update(4)
    assert life.probe(1).num_rows == 0
    assert life.probe(1, expired=True)["v"].to_pylist() == ["short"]
    assert life.scan(expired=True).read_all().num_rows == 1


def test_lifetimes_may_stand_in_a_column_of_durations(tmp_path):
    schema = pa.schema(
        [("k", pa.string()), ("at", pa.timestamp("ms", "UTC")), ("ttl", pa.duration("s"))]
    )
    life = wx.LifetimeIndex.create(
        tmp_path / "index", schema, key="k", inserted="at", lifetime="ttl",
        max_lifetime="16 minutes", refresh="2 minutes",
    )  # fmt: skip
    minute = 60_000
    rows = pa.table({"k": ["a", "a"], "at": [0, minute], "ttl": [60, 600]}, schema)
    life.update("1970-01-01T00:02", rows)
    assert life.probe("a").to_pylist() == rows.slice(1).to_pylist()
    assert life.probe("a").schema == schema
    assert life.probe("a", shorten="9 minutes").num_rows == 0
    assert life.probe("a", shorten="8 minutes").num_rows == 1
    life.update("1970-01-01T00:11")
    assert life.probe("a").num_rows == 0


@pytest.mark.parametrize("method", ["rebuild", "no-rebuild", "lazy-rebuild"])
def test_a_refresh_after_a_long_gap_says_that_every_cell_was_emptied(tmp_path, method):
    make(tmp_path / "index", method)
    life = wx.open(tmp_path / "index")
    done = life.update(100)
    assert life.describe()["rows_held"] == 0
    assert done.expires == done.touched == ["I1", "I2", "I3", "I4"]
