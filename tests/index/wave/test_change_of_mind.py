"""Whatever is done to an index, it answers as a dictionary would.

That holds however often somebody changes their mind about it. The machine of
`test_state_machine.py` with two more things that can be done: a migration, and an erase.
"""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

import wavedex as wx
from kit.machines import run_machine
from kit.wave_machine import ABSENT, KEYS, Waves
from kit.ways import WAYS
from wavedex.index.core.migration import STRATEGIES
from wavedex.plan import SCHEMES

NEEDED = {"max_size": 40, "sizes": {slot: slot % 5 for slot in range(3, 40)}}
EXAMPLES = 4
STEPS = 14


class Minds(Waves):
    """A machine whose index is migrated and erased from, too."""

    @rule(
        scheme=st.none() | st.sampled_from([*SCHEMES]),
        indexes=st.none() | st.integers(1, 6),
        window=st.none() | st.integers(2, 7),
        way=st.none() | st.sampled_from([*WAYS]),
        shards=st.none() | st.integers(1, 4),
        strategy=st.sampled_from(STRATEGIES),
    )
    def migrate(self, scheme, indexes, window, way, shards, strategy) -> None:
        kept = {} if way is None else {"format": "arrow", **WAYS[way]}
        needs = {} if scheme is None else {n: NEEDED[n] for n in SCHEMES[scheme].needs}
        before = self.index.describe()
        wanted = before["window"] if window is None else window
        least = SCHEMES[scheme or before["scheme"]].fewest_indexes
        fits = least <= (min(before["indexes"], wanted) if indexes is None else indexes) <= wanted
        moves = shards is not None and shards != before["shards"]

        def change():
            return self.index.migrate(
                scheme=scheme, indexes=indexes, window=window, shards=shards, strategy=strategy,
                **kept, **needs,
            )  # fmt: skip

        if not fits or (moves and strategy == "drain"):
            with pytest.raises(wx.errors.BadDefinition):
                change()
            assert self.index.describe() == before
            return
        change()
        after = self.index.describe()
        assert after["window"] == wanted
        assert scheme in (None, after["scheme"])
        assert shards in (None, after["shards"])
        self.window = self.oracle.window = wanted
        if self.oracle.newest is not None:
            self.oracle.append([], self.oracle.newest)

    @rule(numbers=st.sets(st.sampled_from([*range(KEYS), ABSENT]), max_size=3))
    def erase(self, numbers) -> None:
        doomed = {self.key(number) for number in numbers}
        seen = self.index.scan(expired=True).read_all().to_pylist()
        held = contextlib.nullcontext()
        if self.index.describe()["update"] == "in-place" or self.held:
            held = contextlib.suppress(wx.errors.EraseUnfinished)
        with held:
            done = self.index.erase(doomed)
            assert done.rows == sum(row["k"] in doomed for row in seen)
        for slot, rows in self.oracle.slots.items():
            self.oracle.slots[slot] = [row for row in rows if row["k"] not in doomed]
        self.ever = [row for row in self.ever if row["k"] not in doomed]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_change_of_mind_leaves_the_answers_of_a_plain_dictionary(way):
    run_machine(Minds, "wata", way, examples=EXAMPLES, steps=STEPS)
