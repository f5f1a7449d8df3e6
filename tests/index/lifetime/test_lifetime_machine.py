"""Whatever is done to a lifetime index in whatever order, it answers as a plain list of rows would.

One machine for every method. Times jump and stand still, rows come late and in bursts, are
retracted and prolonged, the index is migrated, reopened, vacuumed and erased from; each step is
followed by every kind of question, to the index that wrote, to a second handle that only reads, and
to every snapshot that is still held.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import wavedex as wx
from kit.folding import Folding
from kit.machines import run_machine
from wavedex import errors
from wavedex.testing.life_oracle import BIRTH, END, KEY, LifeOracle, Row
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.string())])
REFRESH, LONGEST = 2, 16
KEYS = 5
GRIDS = [(2, 2), (4, 2), (2, 4)]
TWO_SIDED = ["rebuild", "no-rebuild", "lazy-rebuild", "lazy-no-rebuild"]
ONE_SIDED = {"r-ins": (3, 1), "d-ins": (3, 1), "r-exp": (1, 3), "d-exp": (1, 3), "wata": (3, 1)}
PARTITIONS = ["round-robin", "chronological", "random"]
EXAMPLES, STEPS = 3, 16

rows_to_come = st.lists(
    st.tuples(
        st.integers(0, KEYS - 1), st.integers(0, 5), st.integers(0, LONGEST), st.sampled_from("xy")
    ),
    max_size=6,
)
jumps = st.sampled_from([0, 1, 2, 2, 2, 2, 3, 4, 7, 15, 16, 40])


def table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


class Lives(RuleBasedStateMachine):
    scheme = way = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="lives-"))
        self.oracle = LifeOracle()
        self.now = 0
        self.held: list[tuple[wx.Snapshot, list[Row]]] = []
        self.folding = Folding()
        self.following = Folding("follower")

    @initialize(grid=st.sampled_from(GRIDS), shards=st.integers(1, 2), start=st.integers(-20, 40))
    def create(self, grid, shards, start):
        method = self.scheme
        self.now = start
        self.index = wx.LifetimeIndex.create(
            self.folder / "index",
            SCHEMA,
            key=KEY,
            inserted=BIRTH,
            expires=END,
            max_lifetime=LONGEST,
            refresh=REFRESH,
            grid=ONE_SIDED.get(method, grid),
            method=method,
            shards=shards,
            keep_commits=20,
        )

    def pick(self, data, most: int = 3) -> list[Row]:
        """Some of the rows that live, each at most as often as it is there."""
        places = st.lists(st.integers(0, len(self.oracle.rows) - 1), max_size=most, unique=True)
        return [dict(self.oracle.rows[place]) for place in data.draw(places)]

    @rule(jump=jumps, some=rows_to_come)
    def update(self, jump, some):
        self.now += jump
        rows = [
            {KEY: key, BIRTH: self.now - late, END: self.now - late + life, "v": value}
            for key, late, life, value in some
        ]
        done = self.index.update(self.now, table(rows) if rows else None)
        if not done.repeated:
            self.oracle.update(self.now, rows)

    @precondition(lambda self: self.oracle.rows)
    @rule(jump=st.sampled_from([0, 0, 1, 2]), data=st.data())
    def retract(self, jump, data):
        rows = self.pick(data)
        gone = [row for row in rows if row[END] <= self.now + jump]
        if gone:
            with pytest.raises(errors.RowNotThere):
                self.index.retract(self.now + jump, table(rows))
            return
        done = self.index.retract(self.now + jump, table(rows))
        assert done.rows == len(rows)
        if rows:
            self.now += jump
            self.oracle.retract(self.now, rows)

    @precondition(lambda self: self.oracle.rows)
    @rule(
        jump=st.sampled_from([0, 0, 1, 2, 3]),
        life=st.sampled_from([0, 1, 5, LONGEST - 1, LONGEST, LONGEST]),
        data=st.data(),
    )
    def prolong(self, jump, life, data):
        now = self.now + jump
        rows = [row for row in self.pick(data, 1) if row[END] > now]
        meant = [self.oracle.meant(row, now) for row in rows]
        changed = [{**row, END: max(now + life, row[BIRTH])} for row in meant]
        assert self.index.prolong(now, table(changed)).rows == len(rows)
        if rows:
            self.now = now
            self.oracle.prolong(now, changed)

    @rule(jump=jumps, some=rows_to_come, life=st.sampled_from([0, 1, LONGEST]), data=st.data())
    def apply(self, jump, some, life, data):
        """All of it at once: what lives is retracted and prolonged, and rows come."""
        now = self.now + jump
        places = st.lists(st.integers(0, max(0, len(self.oracle.rows) - 1)), unique=True)
        picked = (
            [dict(self.oracle.rows[at]) for at in data.draw(places)] if self.oracle.rows else []
        )
        picked = [row for row in picked if row[END] > now]
        middle = data.draw(st.integers(0, len(picked)))
        gone, held = picked[:middle], picked[middle : middle + 1]
        after = LifeOracle()
        after.rows = [dict(row) for row in self.oracle.rows]
        after.retract(now, gone)
        meant = [after.meant(row, now) for row in held]
        changed = [{**row, END: max(now + life, row[BIRTH])} for row in meant]
        after.prolong(now, changed)
        rows = [
            {KEY: key, BIRTH: now - late, END: now - late + lasts, "v": value}
            for key, late, lasts, value in some
        ]
        after.update(now, rows)
        done = self.index.apply(
            now,
            insert=table(rows) if rows else None,
            retract=table(gone) if gone else None,
            prolong=table(changed) if changed else None,
        )
        if done.repeated:
            return
        assert (done.retracted, done.prolonged) == (len(gone), len(changed))
        self.now = now
        self.oracle.now, self.oracle.rows = after.now, after.rows

    @rule(key=st.integers(0, KEYS), drops=st.booleans())
    def retract_by_key(self, key, drops):
        """All living rows of a key, or those of one value."""
        asked = {KEY: [key]} | ({"v": ["x"]} if drops else {})
        lives = self.oracle.live()
        gone = [row for row in lives if row[KEY] == key and (not drops or row["v"] == "x")]
        wanted = wx.matching(pa.table(asked))
        if not gone:
            with pytest.raises(errors.RowNotThere):
                self.index.retract(self.now, wanted)
            return
        assert self.index.retract(self.now, wanted).rows == len(gone)
        self.oracle.retract(self.now, gone)

    @rule(
        method=st.sampled_from(TWO_SIDED),
        grid=st.sampled_from(GRIDS),
        births=st.sampled_from(PARTITIONS),
        deaths=st.sampled_from(PARTITIONS),
        shards=st.sampled_from([None, 1, 2]),
        drain=st.booleans(),
    )
    def migrate(self, method, grid, births, deaths, shards, drain):
        self.index.migrate(
            method=method,
            grid=grid,
            partition=("wave" if "lazy" in method else births, deaths),
            shards=None if drain else shards,
            strategy="drain" if drain else "rebuild",
        )

    @rule(key=st.integers(0, KEYS))
    def erase(self, key):
        held, self.held = self.held, []
        for snapshot, _ in held:
            snapshot.close()
        self.index.erase([key])
        self.oracle.rows = [row for row in self.oracle.rows if row[KEY] != key]

    @rule()
    def reopen(self):
        self.index = wx.open(self.folder / "index")

    @rule()
    def vacuum(self):
        self.index.vacuum()

    @precondition(lambda self: hasattr(self, "index"))
    @rule()
    def follow(self):
        """Somebody reads on who has not looked for a while, and has missed nothing."""
        self.following.read(self.index)

    @rule()
    def hold(self):
        self.held = [*self.held[-1:], (self.index.snapshot(), self.oracle.live())]

    @rule(now=st.integers(1, 5))
    def go_back(self, now):
        if self.oracle.now is not None:
            with pytest.raises(errors.RefreshBackwards):
                self.index.update(self.oracle.now - now)

    @invariant()
    def answers(self):
        if not hasattr(self, "index"):
            return
        other = wx.open(self.folder / "index")
        for asked in (self.index, other):
            check(asked, self.oracle)
        for row in self.folding.read(other):
            # A row comes when it is born and goes when it ends, or at the instant of the commit.
            own = row[BIRTH] if row["_change"] > 0 else row[END]
            assert row["_at"] in (own, self.oracle.now)
        for snapshot, rows in self.held:
            assert same_rows(snapshot.scan().read_all().to_pylist(), rows)
        other.verify()

    def teardown(self):
        self.held.clear()
        shutil.rmtree(self.folder)


def check(asked, oracle: LifeOracle) -> None:
    live = oracle.live()
    assert same_rows(asked.scan().read_all().to_pylist(), live)
    assert same_rows(asked.probe_range(1, 3).to_pylist(), [r for r in live if 1 <= r[KEY] <= 3])
    assert same_rows(asked.probe_many([0, 2, 9]).to_pylist(), [r for r in live if r[KEY] in (0, 2)])
    for key in range(KEYS):
        assert same_rows(asked.probe(key).to_pylist(), [row for row in live if row[KEY] == key])
    for shorten in (1, 5, LONGEST):
        assert same_rows(asked.scan(shorten=shorten).read_all().to_pylist(), oracle.live(shorten))
    now = oracle.now or 0
    for since, until in ((now - 3, None), (None, now - 2), (now - 7, now - 2)):
        low, high = -100 if since is None else since, now if until is None else until
        wanted = [row for row in live if low <= row[BIRTH] <= high]
        assert same_rows(asked.scan(since, until).read_all().to_pylist(), wanted)
        one = [row for row in wanted if row[KEY] == 1]
        assert same_rows(asked.probe(1, since, until).to_pylist(), one)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*TWO_SIDED, *ONE_SIDED])
def test_any_sequence_of_steps_leaves_the_answers_of_a_plain_list(method):
    run_machine(Lives, method, "", examples=EXAMPLES, steps=STEPS)
