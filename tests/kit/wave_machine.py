"""A machine that does anything to a wave index, and asks it everything after each step.

Questions go to the index that wrote, to a second handle that only reads, and to every snapshot that
is still held, which must say what it said before.
"""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
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
from kit.ways import CHAINED, SQLITE, WAYS, told
from wavedex.plan import SCHEMES
from wavedex.testing.disks import FullDisk
from wavedex.testing.oracle import Oracle, same_rows

EVERY = 10
KEYS = 6
ABSENT = 999

rows_of_a_slot = st.lists(
    st.tuples(st.integers(0, KEYS - 1), st.integers(0, EVERY - 1), st.integers(0, 40)), max_size=7
)


class Waves(RuleBasedStateMachine):
    scheme = way = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="waves-"))
        self.serial = 0
        self.held: list[tuple[wx.Snapshot, Oracle, list[int]]] = []
        self.delivered: dict[int, list[dict]] = {}
        self.ever: list[dict] = []
        self.folding = Folding("follower")

    @initialize(
        window=st.integers(2, 6),
        indexes=st.sampled_from([1, 1, 2, 2, 3, 6]),
        shards=st.integers(1, 3),
        spread=st.booleans(),
        growth=st.sampled_from([1.2, 2.0, 3.5]),
        first_room=st.sampled_from([1, 1, 2, 4]),
        text=st.booleans(),
    )
    def create(self, window, indexes, shards, spread, growth, first_room, text) -> None:
        least = SCHEMES[self.scheme].fewest_indexes
        self.text = text
        self.window = window
        self.max_gap = 2 * window
        key = pa.string() if text else pa.int64()
        self.schema = pa.schema(
            [("k", key), ("t", pa.int64()), ("n", pa.int64()), ("v", pa.string())]
        )
        self.index = wx.WaveIndex.create(
            self.folder / "x", self.schema, key="k", time="t", slot=EVERY, window=window,
            indexes=min(window, max(least, indexes)), scheme=self.scheme,
            **(WAYS | CHAINED | SQLITE)[self.way],
            shards=shards, spread=spread, growth=growth, first_room=first_room,
            max_gap=self.max_gap, **told(self.scheme, first=3),
        )  # fmt: skip
        self.reader = wx.open(self.folder / "x")
        self.oracle = Oracle(window, "k", lambda row: row["t"] // EVERY)

    # -- what can be done ---------------------------------------------------------------------

    @rule(drawn=rows_of_a_slot.filter(bool))
    def append_one_slot(self, drawn) -> None:
        self.append([self.rows(self.next_slot, drawn)])

    @rule(drawn=st.lists(st.tuples(st.integers(0, 9), rows_of_a_slot), min_size=2, max_size=5))
    def append_several_slots_with_gaps(self, drawn) -> None:
        slot, batches = self.next_slot - 1, []
        for gap, rows in drawn:
            if rows:
                slot += 1 + (min(gap, self.max_gap) if gap > 5 else gap % 3)
                batches.append(self.rows(slot, rows))
        self.append(batches)

    @rule(drawn=rows_of_a_slot.filter(bool), extra=st.integers(-1, 6))
    def append_after_a_long_gap(self, drawn, extra) -> None:
        gap = min(self.max_gap, self.window + extra)
        self.append([self.rows(self.next_slot + gap, drawn)])

    @rule(slots=st.lists(rows_of_a_slot.filter(bool), min_size=3, max_size=8))
    def append_slot_after_slot_under_a_held_snapshot(self, slots) -> None:
        # Many commits between two looks, so that freed room would be used again if it could be.
        if len(self.held) == 3:
            del self.held[0]
        self.hold_a_snapshot()
        for drawn in slots:
            self.append([self.rows(self.next_slot, drawn)])

    @rule(gap=st.sampled_from([0, 0, 1, 2]))
    def append_an_empty_slot(self, gap) -> None:
        slot = self.next_slot + gap
        done = self.index.append(self.table([]), slot=slot)
        assert done.slots == [slot]
        assert done.rows == 0
        self.oracle.append([], slot)
        self.delivered[slot] = []

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def append_the_same_slot_again(self, data) -> None:
        slot = data.draw(st.sampled_from(self.known))
        rows = data.draw(st.permutations(self.delivered[slot]))
        before = self.index.snapshot().commit
        done = self.index.append(self.table(rows), slot=slot)
        assert done.slots == []
        assert done.commit == before == self.index.snapshot().commit

    @precondition(lambda self: self.oracle.newest is not None)
    @rule(data=st.data(), drawn=rows_of_a_slot.filter(bool), more=rows_of_a_slot)
    def amend_late_rows(self, data, drawn, more) -> None:
        slots = st.sampled_from(self.window_slots)
        late = self.rows(data.draw(slots), drawn) + self.rows(data.draw(slots), more)
        done = self.index.amend(self.table(late))
        assert done.rows == len(late)
        self.oracle.amend(late)
        self.ever += late

    @rule(drawn=rows_of_a_slot.filter(bool), room_bytes=st.integers(0, 40_000))
    def append_on_a_disk_that_fills_up(self, drawn, room_bytes) -> None:
        rows = self.rows(self.next_slot, drawn)
        around = wx.Surroundings(files=lambda path: FullDisk(path, room_bytes))
        narrow = wx.open(self.folder / "x", surroundings=around)
        try:
            narrow.append(self.table(rows))
        except wx.errors.DiskFull:
            return
        except wx.errors.PreparationOwed:
            assert self.index.describe()["preparation_owed"]
        self.arrived(rows)

    @rule(keep=st.integers(1, 3))
    def vacuum(self, keep) -> None:
        self.index.vacuum(keep)

    @rule()
    def prepare(self) -> None:
        owed = self.index.describe()["preparation_owed"]
        assert self.index.prepare() == owed
        assert not self.index.describe()["preparation_owed"]

    @rule()
    def follow(self) -> None:
        """Somebody reads on who has not looked for a while, and has missed nothing."""
        self.folding.read(self.reader)

    @rule(number=st.integers(0, KEYS))
    def erase(self, number) -> None:
        while self.held:
            self.held.pop()[0].close()
        self.reader.close()
        key = self.key(number)
        self.index.erase([key])
        self.ever = [row for row in self.ever if row["k"] != key]
        self.delivered.clear()  # What was delivered is not what is there any more.
        for slot, rows in self.oracle.slots.items():
            self.oracle.slots[slot] = [row for row in rows if row["k"] != key]

    @rule(indexes=st.sampled_from([1, 2, 3, 6]), shards=st.integers(1, 3), drain=st.booleans())
    def migrate(self, indexes, shards, drain) -> None:
        least = SCHEMES[self.scheme].fewest_indexes
        self.index.migrate(
            indexes=min(self.window, max(least, indexes)),
            shards=None if drain else shards,
            strategy="drain" if drain else "rebuild",
        )

    @rule()
    def reopen(self) -> None:
        self.index = wx.open(self.folder / "x")

    @precondition(lambda self: len(self.held) < 3)
    @rule()
    def hold_a_snapshot(self) -> None:
        self.held.append((self.index.snapshot(), self.frozen_oracle(), list(self.window_slots)))

    @precondition(lambda self: self.held)
    @rule(place=st.integers(0, 2))
    def let_go_of_a_snapshot(self, place) -> None:
        del self.held[place % len(self.held)]
        gc.collect()

    # -- what must hold after each step ---------------------------------------------------------

    @invariant()
    def the_index_is_whole(self) -> None:
        self.index.verify()

    @invariant()
    def the_writer_answers_as_the_dictionary_does(self) -> None:
        self.check(self.index, self.oracle, self.window_slots)

    @invariant()
    def another_reader_answers_as_the_dictionary_does(self) -> None:
        self.check(self.reader, self.oracle, self.window_slots)

    @invariant()
    def what_is_held_never_changes(self) -> None:
        for snapshot, oracle, slots in self.held:
            self.check(snapshot, oracle, slots)

    @invariant()
    def only_what_was_appended_once_is_ever_seen(self) -> None:
        seen = Counter(row["n"] for row in self.index.scan(expired=True).read_all().to_pylist())
        window = Counter(row["n"] for row in self.oracle.rows())
        assert window <= seen
        assert seen <= Counter(row["n"] for row in self.ever)
        by_key = [self.index.probe(key, expired=True) for key in self.all_keys()]
        assert seen == Counter(n for table in by_key for n in table["n"].to_pylist())

    def check(self, asked, oracle: Oracle, slots: list[int]) -> None:
        assert asked.slots == slots
        assert same_rows(asked.scan().read_all().to_pylist(), oracle.rows())
        keys = self.all_keys()
        for key in keys:
            assert same_rows(asked.probe(key).to_pylist(), oracle.probe(key)), key
        some = [keys[0], keys[-1], keys[2], keys[2]]
        assert same_rows(
            asked.probe_many(some).to_pylist(), oracle.rows(lambda row: row["k"] in some)
        )
        low, high = keys[1], keys[4]
        assert same_rows(
            asked.probe_range(low, high).to_pylist(),
            oracle.rows(lambda row: low <= row["k"] <= high),
        )
        assert asked.probe_range(high, low).num_rows == 0
        for since, until in self.spans(slots):

            def inside(row, since=since, until=until) -> bool:
                slot = row["t"] // EVERY
                return (since is None or slot >= since) and (until is None or slot <= until)

            answer = asked.scan(since, until).read_all()
            assert same_rows(answer.to_pylist(), oracle.rows(inside)), (since, until)
            for key in (keys[0], keys[3]):
                answer = asked.probe(key, since, until)
                assert same_rows(answer.to_pylist(), oracle.probe(key, inside)), (since, until)
            answer = asked.probe_many(keys, since, until)
            assert same_rows(answer.to_pylist(), oracle.rows(inside)), (since, until)
            answer = asked.probe_range(keys[0], keys[5], since, until)
            assert same_rows(answer.to_pylist(), oracle.rows(inside)), (since, until)

    # -- the hands of the machine ---------------------------------------------------------------

    @property
    def next_slot(self) -> int:
        return 3 if self.oracle.newest is None else self.oracle.newest + 1

    @property
    def window_slots(self) -> list[int]:
        newest = self.oracle.newest
        return [] if newest is None else list(range(newest - self.window + 1, newest + 1))

    @property
    def known(self) -> list[int]:
        return [slot for slot in self.delivered if slot in self.window_slots]

    def spans(self, slots: list[int]) -> list[tuple]:
        if not slots:
            return [(None, 3), (0, None)]
        first, last, middle = slots[0], slots[-1], slots[len(slots) // 2]
        return [(middle, middle), (first - 3, middle), (middle, None), (last + 1, last + 9)]

    def key(self, number: int) -> str | int:
        return f"key é{number}" if self.text else number

    def all_keys(self) -> list:
        return [self.key(number) for number in [*range(KEYS), ABSENT]]

    def rows(self, slot: int, drawn) -> list[dict]:
        rows = []
        for number, at, length in drawn:
            self.serial += 1
            text = None if length == 0 else "ß" * length
            rows.append(
                {"k": self.key(number), "t": slot * EVERY + at, "n": self.serial, "v": text}
            )
        return rows

    def table(self, rows) -> pa.Table:
        return pa.Table.from_pylist(rows, self.schema)

    def append(self, batches: list[list[dict]]) -> None:
        rows = [row for batch in batches for row in batch]
        if not rows:
            assert self.index.append(self.table(rows)).slots == []
            return
        done = self.index.append(self.table(rows))
        assert done.slots == sorted({row["t"] // EVERY for row in rows})
        assert done.rows + done.expired == len(rows)
        self.arrived(rows)

    def arrived(self, rows: list[dict]) -> None:
        for row in rows:
            self.delivered.setdefault(row["t"] // EVERY, []).append(row)
        self.oracle.append(rows, max(row["t"] // EVERY for row in rows))
        self.ever += rows

    def frozen_oracle(self) -> Oracle:
        copy = Oracle(self.window, "k", lambda row: row["t"] // EVERY)
        copy.newest = self.oracle.newest
        copy.slots = {slot: list(rows) for slot, rows in self.oracle.slots.items()}
        return copy

    def teardown(self) -> None:
        self.held.clear()
        shutil.rmtree(self.folder)
