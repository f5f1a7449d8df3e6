"""Windows that are counted in rows.

Ends are guessed, what is over is told by positions, and nothing is left behind.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from kit.life_rows import COUNTED, SIZES, counted_rows, make_counted, table
from kit.matrix import examples
from wavedex import errors
from wavedex.index.lifetime import counted as counting
from wavedex.index.lifetime.clock import LifeClock
from wavedex.testing.life_oracle import CountOracle
from wavedex.testing.oracle import same_rows

METHODS = ["count-rebuild", "count-no-rebuild"]


def create(path, method="count-rebuild", grid=(2, 2), **options):
    return wx.LifetimeIndex.create(
        path, COUNTED, key="k", inserted="b", counts=SIZES, max_lifetime=16, refresh=2,
        grid=grid, method=method, **options,
    )  # fmt: skip


steps = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, 2, 2, 3, 9]),  # how far time goes on
        st.sampled_from([0, 0, 1, 4, 5, 6, 30, 80]),  # how many rows come on the left
        st.sampled_from([0, 1, 5, 8, 70]),  # and on the right
        st.sampled_from(["update"] * 6 + ["retract", "rebuild", "drain", "reopen"]),
    ),
    min_size=12,
    max_size=30,
)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_whatever_the_rates_do_the_answers_are_those_of_a_plain_list(tmp_path, method):
    @examples(8)
    @given(steps, st.integers(0, 2**32))
    def walk(plan, number):
        rng = random.Random(number)
        folder = Path(tempfile.mkdtemp(dir=tmp_path)) / "index"
        life = create(folder, method, shards=1)
        oracle = CountOracle(SIZES)
        now, arrived = 0, {"left": 60, "right": 60}
        for jump, left, right, step in plan:
            now += jump
            arrived = {"left": arrived["left"] + left, "right": arrived["right"] + right}
            rows = [
                {"k": rng.randrange(4), "b": now, "left": arrived["left"] - rng.randrange(40),
                 "right": arrived["right"] - rng.randrange(60)}
                for _ in range(rng.randrange(5))
            ]  # fmt: skip
            if not life.update(now, table(rows, COUNTED), arrived=arrived).repeated:
                oracle.update(rows, arrived)
            if step == "retract" and oracle.rows:
                row = oracle.rows.pop(rng.randrange(len(oracle.rows)))
                life.retract(now, table([row], COUNTED))
            elif step in ("rebuild", "drain"):
                life.migrate(
                    method=rng.choice(METHODS), grid=rng.choice([(2, 2), (4, 2)]), strategy=step
                )
            elif step == "reopen":
                life = wx.open(folder)
            assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
            less = {"left": 7, "right": 0}
            assert same_rows(life.scan(shorten=less).read_all().to_pylist(), oracle.live(less))
            for key in range(4):
                mine = [row for row in oracle.live() if row["k"] == key]
                assert same_rows(life.probe(key).to_pylist(), mine)
            life.verify()

    walk()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_at_a_steady_rate_what_is_over_is_gone_and_few_sub_indexes_are_touched(tmp_path, method):
    life = create(tmp_path / "index", method, (2, 4), shards=1)
    arrived = {"left": 0, "right": 0}
    seen = set()
    for now in range(2, 100, 2):
        arrived = {name: came + 5 for name, came in arrived.items()}
        rows = [row for row in counted_rows(now, arrived) if row["left"] > 0]
        done = life.update(now, table(rows, COUNTED), arrived=arrived)
        if now > 40:
            seen.add(len(done.touched))
            living = life.scan().read_all().num_rows
            assert life.describe()["rows_held"] <= living + 4  # A guess may be a slot off.
    assert max(seen) < 8


@pytest.mark.parametrize("method", METHODS)
def test_rates_that_break_the_bound_widen_the_range_rather_than_leave_a_row_behind(
    tmp_path, method
):
    """Sixteen times as many rows come as were guessed.

    What was to end far ahead is over now, and is found.
    """
    life = create(tmp_path / "index", method, shards=1)
    arrived = {"left": 100, "right": 100}
    for now in range(2, 12, 2):
        arrived = {name: came + 5 for name, came in arrived.items()}
        life.update(now, table(counted_rows(now, arrived), COUNTED), arrived=arrived)
    held = life.describe()["rows_held"]
    assert held > 10
    arrived = {name: came + 80 for name, came in arrived.items()}
    done = life.update(12, arrived=arrived)
    assert life.scan().read_all().num_rows == 0
    assert life.describe()["rows_held"] == 0
    assert set(done.expires) == {"I1", "I2", "I3", "I4"}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_rows_whose_guess_has_passed_live_on_until_they_are_over(tmp_path, method):
    """Nothing comes any more: no row is over, however often the index is refreshed.

    Then rows come, and all are.
    """
    oracle = make_counted(tmp_path / "index", method)
    life = wx.open(tmp_path / "index")
    for now in range(22, 90, 2):
        life.update(now, arrived=oracle.arrived)
        assert same_rows(life.scan().read_all().to_pylist(), oracle.live())
    arrived = {name: came + 60 for name, came in oracle.arrived.items()}
    life.update(90, arrived=arrived)
    assert life.describe()["rows_held"] == 0


def test_what_drains_goes_when_its_windows_are_filled_anew(tmp_path):
    make_counted(tmp_path / "index", "count-rebuild")
    life = wx.open(tmp_path / "index")
    life.migrate(grid=(4, 2), strategy="drain")
    assert life.describe()["draining"]
    arrived = dict(LifeClock.of(life.manifest).arrivals[-1].positions)
    for now in range(22, 40, 2):
        arrived = {name: came + 10 for name, came in arrived.items()}
        life.update(now, table(counted_rows(now, arrived), COUNTED), arrived=arrived)
    assert not life.describe()["draining"]


@pytest.mark.slow
def test_the_record_of_arrivals_does_not_grow(tmp_path):
    life = create(tmp_path / "index", shards=1)
    rng = random.Random(1)
    arrived, most = {"left": 0, "right": 0}, 0
    for now in range(1, 120):
        arrived = {name: came + 5 + rng.randrange(4) for name, came in arrived.items()}
        life.update(now, table(counted_rows(now, arrived), COUNTED), arrived=arrived)
        most = max(most, len(LifeClock.of(life.manifest).arrivals))
    assert most <= 40 // 5 + 3
    for now in range(120, 320):
        life.update(now, arrived=arrived)  # Nothing comes any more.
    assert len(LifeClock.of(life.manifest).arrivals) <= most
    for number in range(50):
        arrived = {name: came + number % 2 for name, came in arrived.items()}
        life.update(320, arrived=arrived)
    assert len(LifeClock.of(life.manifest).arrivals) <= most + 1


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_come_between_two_refreshes_wait_for_the_next_if_they_may_end_after_all_others(
    tmp_path, method
):
    life = create(tmp_path / "index", method, shards=1)
    arrived = {"left": 50, "right": 50}
    row = {"k": 1, "b": 18, **arrived}
    assert life.update(19, table([row], COUNTED), arrived=arrived).rows == 1
    life.update(22, table([row | {"b": 20}], COUNTED), arrived=arrived)
    life.update(25, table([row | {"b": 24}], COUNTED), arrived=arrived)
    assert sorted(life.probe(1)["b"].to_pylist()) == [18, 20, 24]
    life.verify()


@pytest.mark.parametrize("method", METHODS)
def test_what_drains_stays_while_a_row_lives_that_was_born_early_and_came_late(tmp_path, method):
    life = create(tmp_path / "index", method, shards=1)
    other = next(each for each in METHODS if each != method)
    life.update(10, arrived={"left": 100, "right": 100})
    row = {"k": 1, "b": 2, "left": 130, "right": 130}
    life.update(12, table([row], COUNTED), arrived={"left": 130, "right": 130})
    life.erase([3])
    life.migrate(method=other, strategy="drain")
    for came in (145, 160, 169):
        life.update(14, arrived={"left": came, "right": came})
        assert life.probe(1).to_pylist() == [row]
    life.update(14, arrived={"left": 170, "right": 170})
    assert life.probe(1).num_rows == 0
    assert not life.describe()["draining"]


def test_a_refresh_that_finds_nothing_over_writes_nothing(tmp_path):
    life = create(tmp_path / "index", "count-rebuild", shards=1)
    arrived = {"left": 100, "right": 100}
    rows = [{"k": n, "b": 10, "left": 100 - n % 30, "right": 100} for n in range(200)]
    life.update(10, table(rows, COUNTED), arrived=arrived)
    for now in range(12, 40, 2):
        life.update(now, arrived=arrived)
        assert life.describe()["work"][-1]["written_bytes"] == 0
    assert life.scan().read_all().num_rows == 200


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 1, 3]), st.integers(0, 40), st.integers(0, 12)),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_remembered_of_arrivals_bounds_every_guess(tmp_path_factory, steps):
    """No entry that is over now was guessed to end later than the paces of updates say.

    That holds however updates are put together.
    """
    folder = Path(tempfile.mkdtemp(dir=tmp_path_factory.getbasetemp())) / "index"
    definition = create(folder, shards=1).definition
    came, now, known, guesses = dict.fromkeys(SIZES, 0), 0, None, []
    for jump, left, right in steps:
        now += jump
        came = {"left": came["left"] + left, "right": came["right"] + right}
        latest = counting._next(definition, known, now, came)
        known = latest if known is None else counting._together(known, latest)
        guesses += [(name, now, came[name], latest.rates[name]) for name in SIZES]
    for name, at, position, rate in guesses:
        pace = known.paces[name]
        for later in range(known.positions[name], known.positions[name] + 50, 7):
            guess = at + (later - position) / rate
            assert guess <= pace.since + (later - pace.first) / pace.slowest + 1e-6


def test_the_same_rows_again_are_passed_over_and_not_where_the_streams_have_come_farther(tmp_path):
    life = create(tmp_path / "index", shards=1)
    rows = table([{"k": 1, "b": 2, "left": 5, "right": 5}], COUNTED)
    life.update(2, rows, arrived={"left": 5, "right": 5})
    assert life.update(2, rows, arrived={"right": 5, "left": 5}).repeated
    assert not life.update(2, rows, arrived={"left": 45, "right": 5}).repeated
    assert life.probe(1).num_rows == 0


def entry(key: int, birth: int, left: int, right: int) -> dict:
    return {"k": key, "b": birth, "left": left, "right": right}


@pytest.mark.parametrize("method", METHODS)
def test_rows_go_with_an_instant_that_nobody_says(tmp_path, method):
    life = create(tmp_path / "x", method)
    life.append(table([entry(key, 2, 40 + key, 60 + key) for key in range(4)], COUNTED))
    assert life.apply(None, retract=wx.matching({"k": [1]})).retracted == 1
    exact = table([entry(2, 2, 42, 62)], COUNTED)
    assert life.apply(None, retract=exact).retracted == 1
    with pytest.raises(errors.RowNotThere):
        life.apply(None, retract=exact)
    before = life.commit
    assert life.append(None).commit == before
    assert life.apply(None, retract=table([], COUNTED)).commit == before
    life.apply(None, stream="s", number=0)
    life.feed(None, stream="s", number=1)
    assert life.describe()["streams"]["s"]["batch"] == 1
    assert sorted(row["k"] for row in life.scan().read_all().to_pylist()) == [0, 3]
    assert LifeClock.of(life.manifest).came == {"left": 43, "right": 63}
    life.verify()


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_pushed_out_where_only_streams_are_said_to_have_come_farther(tmp_path, method):
    life = create(tmp_path / "x", method)
    far = {"left": SIZES["left"] + 50, "right": 50}
    assert life.apply(None, arrived=far).commit == 0  # There is no instant and no row yet.
    life.append(table([entry(1, 2, 50, 50), entry(2, 2, 51, 50)], COUNTED))
    life.apply(None, arrived=far)
    assert [row["k"] for row in life.scan().read_all().to_pylist()] == [2]
    with pytest.raises(errors.BadTime, match="to where the stream had come"):
        life.apply(None, arrived={**far, "left": 60})
    with pytest.raises(errors.FromTheFuture, match="Say with arrived="):
        life.apply(None, insert=table([entry(3, 4, far["left"] + 1, 50)], COUNTED), arrived=far)
    life.apply(None, insert=table([entry(3, 4, far["left"], 50)], COUNTED), arrived=far)
    assert sorted(row["k"] for row in life.scan().read_all().to_pylist()) == [2, 3]
    life.verify()


def test_streams_that_begin_below_zero_stay_where_they_have_come(tmp_path):
    life = create(tmp_path / "x")
    life.append(table([entry(1, 2, -50, -60)], COUNTED))
    life.apply(None, stream="s", number=0)
    life.append(table([entry(2, 3, -49, -60)], COUNTED))
    life.apply(None, retract=wx.matching({"k": [2]}))
    assert LifeClock.of(life.manifest).came == {"left": -49, "right": -60}
    assert life.scan().read_all().num_rows == 1


def test_bad_counts_are_refused_by_name(tmp_path):
    life = create(tmp_path / "index", shards=1)
    rows = table([{"k": 1, "b": 2, "left": 5, "right": 5}], COUNTED)
    with pytest.raises(errors.BadTime, match="arrived=None"):
        life.update(2, rows)
    with pytest.raises(errors.BadTime, match="'right'"):
        life.update(2, rows, arrived={"left": 5})
    with pytest.raises(errors.BadTime, match="no position"):
        life.update(2, rows, arrived={"left": 5, "right": "many"})
    with pytest.raises(errors.BadTime, match="farther"):
        life.update(2, rows, arrived={"left": 5, "right": 2**70})
    with pytest.raises(errors.FromTheFuture, match="positions up to 5"):
        life.update(2, rows, arrived={"left": 4, "right": 9})
    life.update(2, rows, arrived={"left": 5, "right": 5})
    with pytest.raises(errors.BadTime, match="less than 5"):
        life.update(4, arrived={"left": 4, "right": 9})
    with pytest.raises(errors.BadDefinition, match="no ends"):
        life.prolong(4, rows)
    with pytest.raises(errors.BadTime, match="how many rows"):
        life.probe(1, shorten=3)
    with pytest.raises(errors.BadTime, match="longer than the window"):
        life.probe(1, shorten={"left": 41})
    assert life.probe(1).num_rows == 1
