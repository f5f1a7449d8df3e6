"""Rows that come, go and get another end in one commit: all of it or nothing.

The machine of lifetimes applies all of it at random; here stands what a user relies on.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.crashing import crash_everywhere
from kit.folding import Folding
from kit.life_rows import COUNTED, LAST, SCHEMA, SIZES, make, rows_at, table
from kit.matrix import in_turn
from wavedex import errors
from wavedex.testing.crashes import DISKS
from wavedex.testing.life_oracle import BIRTH, END, KEY, Row
from wavedex.testing.oracle import same_rows

METHODS = ["rebuild", "no-rebuild", "lazy-rebuild"]


def create(path: Path, method: str = "rebuild", **options) -> wx.LifetimeIndex:
    return wx.LifetimeIndex.create(
        path, SCHEMA, key=KEY, inserted=BIRTH, expires=END, max_lifetime=16, refresh=2,
        method=method, keep_commits=50, **options,
    )  # fmt: skip


def row(key: int, birth: int, end: int, value: str = "") -> Row:
    return {KEY: key, BIRTH: birth, END: end, "v": value}


@pytest.fixture
def life(tmp_path):
    """Four calls as of 4."""
    index = create(tmp_path / "x")
    index.update(4, table([row(1, 3, 9), row(1, 4, 9), row(2, 4, 15), row(3, 4, 15, "a")]))
    return index


def rows_of(index) -> list[Row]:
    return index.scan(order="time").read_all().to_pylist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("now", [5, 6, 11])
def test_all_of_it_is_one_commit_whether_a_refresh_is_due_or_not(tmp_path, method, now):
    index = create(tmp_path / "x", method)
    index.update(4, table([row(1, 4, 15), row(2, 4, 15), row(3, 4, 15)]), prepare="now")
    before = index.commit
    done = index.apply(
        now,
        insert=table([row(4, 5, 12)]),
        retract=table([row(1, 4, 15)]),
        prolong=table([row(2, 4, 20)]),
        prepare="later",
    )
    assert (done.rows, done.retracted, done.prolonged, done.commit) == (1, 1, 1, before + 1)
    wanted = [row(2, 4, 20), row(3, 4, 15), row(4, 5, 12)]
    assert same_rows(rows_of(index), wanted)
    index.prepare()
    assert same_rows(rows_of(index), wanted)
    index.verify()
    totals = index.describe()["totals"]
    assert (totals["rows"], totals["retracted"], totals["prolonged"]) == (4, 1, 1)


def test_the_changes_of_one_commit_are_those_of_the_three_calls(tmp_path, life):
    known = life.commit
    life.apply(6, insert=table([row(9, 5, 12)]), retract=table([row(1, 3, 9)]),
               prolong=table([row(2, 4, 20)]))  # fmt: skip
    told = life.changes(known).read_all().to_pylist()
    found = [(each[KEY], each[END], each["_change"], each["_at"]) for each in told]
    assert found == [(9, 12, 1, 5), (1, 9, -1, 6), (2, 15, -1, 6), (2, 20, 1, 6)]


def test_a_batch_of_a_stream_is_applied_once(life):
    given = {
        "insert": table([row(9, 5, 12)]),
        "retract": table([row(1, 3, 9)]),
        "stream": "calls",
        "number": 0,
    }
    done = life.apply(6, **given)
    assert not done.repeated
    again = life.apply(6, **given)
    assert (again.repeated, again.commit) == (True, done.commit)
    assert life.describe()["streams"]["calls"]["batch"] == 0
    life.apply(7, insert=table([row(8, 7, 12)]), stream="calls", number=1)
    with pytest.raises(
        errors.StreamOutOfStep, match="the last that the index has taken is batch 1"
    ):
        life.apply(9, stream="calls", number=3)
    with pytest.raises(errors.AnotherStream, match="is fed by the stream calls"):
        life.apply(9, stream="other", number=0)
    with pytest.raises(errors.BadDefinition, match="give a name, and the number"):
        life.apply(9, stream="calls")


def test_without_a_stream_insertions_alone_are_known_by_their_rows(life):
    assert not life.apply(6, insert=table([row(9, 5, 12)])).repeated
    assert life.update(6, table([row(9, 5, 12)])).repeated
    assert life.apply(6, insert=table([row(9, 5, 12)])).repeated


def test_nothing_is_changed_where_one_row_is_not_there_and_all_of_these_are_named(life):
    before, commit = rows_of(life), life.commit
    missing = [row(1, 3, 9, "no"), row(7, 4, 9), row(8, 4, 9), row(9, 4, 9)]
    with pytest.raises(
        errors.RowNotThere, match=r"5 of the rows are not there.*and 2 more"
    ) as told:
        life.apply(
            6,
            insert=table([row(9, 5, 12)]),
            retract=table([row(1, 3, 9), *missing]),
            prolong=table([row(5, 4, 12)]),
        )
    named = told.value.rows.to_pylist()
    assert same_rows([each for each in named if each[END] is not None], missing)
    assert [each[KEY] for each in named if each[END] is None] == [5]
    assert (rows_of(life), life.commit) == (before, commit)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"insert": [row(9, 8, 12)]}, errors.FromTheFuture),
        ({"insert": [row(9, 5, 40)]}, errors.LifetimeTooLong),
        ({"prolong": [row(2, 4, 40)]}, errors.LifetimeTooLong),
    ],
)
def test_what_update_and_prolong_refuse_is_refused(life, given, error):
    before, commit = rows_of(life), life.commit
    with pytest.raises(error):
        life.apply(6, retract=table([row(1, 3, 9)]), **{n: table(r) for n, r in given.items()})
    with pytest.raises(errors.RefreshBackwards):
        life.apply(3)
    assert (rows_of(life), life.commit) == (before, commit)


def test_a_row_that_is_meant_twice_is_retracted_and_an_alike_one_lives_on(life):
    life.update(5, table([row(2, 4, 15)]))  # alike
    done = life.apply(6, retract=table([row(2, 4, 15)]), prolong=table([row(2, 4, 20)]))
    assert (done.retracted, done.prolonged) == (1, 1)
    assert life.probe(2).to_pylist() == [row(2, 4, 20)]
    with pytest.raises(errors.RowNotThere):
        life.apply(6, retract=table([row(3, 4, 15, "a")]), prolong=table([row(3, 4, 20, "a")]))


def test_what_the_same_commit_pushes_out_of_a_counted_window_is_not_there(tmp_path):
    life = wx.LifetimeIndex.create(
        tmp_path / "x", COUNTED, key=KEY, inserted=BIRTH, counts=SIZES, max_lifetime=16, refresh=2,
        method="count-rebuild", keep_commits=20,
    )  # fmt: skip
    rows = table([{KEY: 1, BIRTH: 2, "left": 1, "right": 50}], COUNTED)
    more = table([{KEY: 2, BIRTH: 2, "left": 40, "right": 50}], COUNTED)
    life.update(2, pa.concat_tables([rows, more]), arrived={"left": 40, "right": 60})
    known = life.commit
    arrived = {"left": 50, "right": 60}
    for meant in (rows, wx.matching({KEY: [1]})):
        with pytest.raises(errors.RowNotThere):
            life.apply(4, retract=meant, arrived=arrived)
    life.apply(4, retract=more, arrived=arrived)
    told = life.changes(known).read_all()
    assert sorted(told[KEY].to_pylist()) == [1, 2]
    assert told["_change"].to_pylist() == [-1, -1]
    assert not life.probe_many([1, 2]).num_rows


def test_rows_without_a_key_are_counted_wherever_they_stand(tmp_path):
    life = create(tmp_path / "x", nulls="skip")
    life.update(4, table([row(1, 4, 15), row(2, 4, 15)]))
    nobody = row(None, 4, 15)
    done = life.apply(5, insert=table([nobody]), retract=table([row(1, 4, 15), nobody]),
                      prolong=table([row(2, 4, 16), nobody]))  # fmt: skip
    assert (done.null_keys, done.rows, done.retracted, done.prolonged) == (3, 0, 1, 1)


@pytest.mark.parametrize("nulls", ["error", "skip"])
def test_without_rows_nothing_is_done_in_an_index_that_was_never_refreshed(tmp_path, nulls):
    life = create(tmp_path / "x", nulls=nulls)
    empty = table([])
    asked = [{"retract": empty}, {"prolong": empty}, {"retract": wx.matching({KEY: []})},
             {"retract": empty, "prolong": empty}, {}]  # fmt: skip
    for given in asked:
        done = life.apply(None, **given)
        assert (done.commit, done.slot, done.retracted) == (0, None, 0)
    if nulls == "skip":
        nobody = table([row(None, 4, 15)])
        assert life.apply(None, retract=nobody).null_keys == 1
        assert life.apply(None, prolong=nobody, retract=nobody).null_keys == 2
    assert life.commit == 0
    for given in ({"retract": table([row(1, 4, 15)])}, {"retract": wx.matching({KEY: [1]})}):
        with pytest.raises(errors.RowNotThere):
            life.apply(None, **given)
    life.apply(None, retract=empty, stream="s", number=0)
    assert life.describe()["streams"]["s"]["batch"] == 0
    assert life.apply(4, retract=empty).slot == 2


def test_without_rows_a_batch_is_what_it_is_with_tables_that_have_none(life):
    empty = table([])
    given = [{}, {"retract": empty}, {"prolong": empty}, {"retract": wx.matching({KEY: []})},
             {"retract": empty, "prolong": empty}]  # fmt: skip
    for number, first in enumerate(given):
        life.apply(6, insert=table([row(number, 5, 12)]), stream="s", number=number, **first)
    life.apply(6, insert=table([row(9, 5, 12)]), stream="s", number=len(given))
    for number in range(len(given)):
        for again in given:
            rows = table([row(number, 5, 12)])
            assert life.apply(6, insert=rows, stream="s", number=number, **again).repeated
    with pytest.raises(errors.StreamOutOfStep, match="other rows"):
        life.apply(6, insert=table([row(0, 5, 12)]), retract=table([row(1, 3, 9)]),
                   stream="s", number=0)  # fmt: skip


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([["insert"]]), "of type list.* cannot be read as text"),
        (pa.array([{"a": 1}]), "of type struct.* cannot be read as text"),
        (pa.array([b"\xff"]), "of type binary.* cannot be read as text"),
        (pa.array([True]), "says 'true' of a row"),
    ],
)
def test_a_column_that_cannot_say_what_is_to_be_done_is_refused(life, column, said):
    before = (rows_of(life), life.commit)
    with pytest.raises(errors.SchemaMismatch, match=said):
        life.apply(6, rows=table([row(9, 5, 12)]).append_column("op", column), by="op")
    assert (rows_of(life), life.commit) == before


def test_instructions_that_are_there_twice_are_refused(life):
    before = (rows_of(life), life.commit)
    rows = table([row(9, 5, 12)])
    for name in ("op", KEY):
        twice = rows.append_column("op", pa.array(["insert"])).append_column(name, pa.array(["1"]))
        with pytest.raises(errors.SchemaMismatch, match=f"column '{name}' twice"):
            life.apply(6, rows=twice, by="op")
    assert (rows_of(life), life.commit) == before


# -- by a key, or by some columns ------------------------------------------------------------------


def test_all_living_rows_of_a_key_go(life):
    life.update(5, table([row(1, 5, 12, "delta")]))
    assert life.retract(6, wx.matching({KEY: [1]})).rows == 3
    assert [each[KEY] for each in rows_of(life)] == [2, 3]
    with pytest.raises(errors.RowNotThere, match=r"\{'k': 1\}"):
        life.retract(6, wx.matching({KEY: [1, 2]}))
    assert [each[KEY] for each in rows_of(life)] == [2, 3]


def test_those_go_that_agree_in_other_columns_too(life):
    done = life.apply(6, retract=wx.matching(pa.table({KEY: [1, 3], BIRTH: [4, 4]})))
    assert done.retracted == 2
    assert rows_of(life) == [row(1, 3, 9), row(2, 4, 15)]
    with pytest.raises(errors.MissingColumn, match="lack 'k'"):
        life.retract(6, wx.matching({"v": ["a"]}))
    with pytest.raises(errors.SchemaMismatch, match="have the columns 'k', 'x'"):
        life.retract(6, wx.matching({KEY: [1], "x": [1]}))


def test_a_column_to_match_that_is_there_twice_is_refused(life):
    before = rows_of(life)
    twice = pa.table([pa.array([1]), pa.array([1])], names=[KEY, KEY])
    with pytest.raises(errors.SchemaMismatch, match="each once"):
        life.retract(6, wx.matching(twice))
    assert rows_of(life) == before


@pytest.mark.parametrize(
    "asked",
    [
        {KEY: "1"}, {KEY: 1}, {KEY: None}, {KEY: {"a": 1}}, {1: [1]}, {KEY: [1], BIRTH: [3, 4]},
        {KEY: [object()]}, {KEY: [1], BIRTH: [2**70]},
    ],
)  # fmt: skip
def test_what_is_no_columns_is_refused_by_name(life, asked):
    before = rows_of(life)
    with pytest.raises(errors.SchemaMismatch, match=r"no column|Cannot read"):
        life.retract(6, wx.matching(asked))
    assert rows_of(life) == before


def test_rows_to_match_may_come_in_a_filtered_frame_of_pandas(life):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({KEY: [7, 1], "x": [0, 1]})
    assert life.retract(6, wx.matching(frame[frame.x == 1][[KEY]])).rows == 2


def test_rows_of_a_key_of_two_columns_and_nulls_agree(tmp_path):
    schema = pa.schema(
        [("a", pa.string()), ("b", pa.int64()), ("i", pa.int64()), ("e", pa.int64()),
         ("v", pa.string())]
    )  # fmt: skip
    index = wx.LifetimeIndex.create(
        tmp_path / "x", schema, key=["a", "b"], inserted="i", expires="e", max_lifetime=16,
        refresh=2,
    )  # fmt: skip
    rows = [
        {"a": a, "b": b, "i": 2, "e": 9, "v": v}
        for a, b, v in (("x", 1, None), ("x", 1, "w"), ("x", 2, None))
    ]
    index.update(2, pa.Table.from_pylist(rows, schema))
    asked = pa.table({"a": ["x"], "b": [1], "v": pa.array([None], pa.string())})
    assert index.retract(2, wx.matching(asked)).rows == 1
    assert same_rows(index.scan().read_all().to_pylist(), rows[1:])
    assert index.retract(2, wx.matching({"a": ["x", "x"], "b": [2, 1]})).rows == 2


# -- whatever happens ------------------------------------------------------------------------------


def applied(oracle, now: int) -> dict:
    """What is given to `apply`, done to the oracle too."""
    gone = [dict(each) for each in oracle.rows[:3] if each[END] > now]
    oracle.retract(now, gone)
    held = [{**oracle.meant(each, now), END: now + 15} for each in oracle.live()[1:2]]
    oracle.prolong(now, held)
    rows = rows_at(now, 6)
    oracle.update(now, rows)
    return {"insert": table(rows), "retract": table(gone), "prolong": table(held)}


@pytest.mark.parametrize(
    ("method", "now", "disk"),
    in_turn(DISKS, ["rebuild", "no-rebuild", "lazy-no-rebuild"], [LAST + 1, LAST + 2, LAST + 5]),
)
def test_a_crash_leaves_the_rows_of_before_or_of_after(tmp_path, method, now, disk):
    oracle = make(tmp_path / "origin", method)
    old = oracle.live()
    given = applied(oracle, now)

    def act(life):
        life.apply(now, **given, stream="s", number=0)

    assert crash_everywhere(tmp_path, DISKS[disk], act, old, oracle.live()) > 6


@pytest.mark.parametrize("method", METHODS)
def test_what_is_folded_agrees_over_a_long_run(tmp_path, method):
    oracle = make(tmp_path / "x", method, keep_commits=50)
    life, folding = wx.open(tmp_path / "x"), Folding()
    for now in range(LAST + 2, LAST + 60, 3):
        life.apply(now, **applied(oracle, now))
        folding.read(life)
        assert same_rows(rows_of(life), oracle.live())
    life.verify()
