"""What an index says of itself.

What its scheme promises, and what was written against what was foretold.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.plan import SCHEMES, promise, scheme

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.int64())])
PLAIN = [name for name in SCHEMES if not SCHEMES[name].needs]


def filled(path, slots=20, rows=2_000, **options):
    index = wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=10, **options)
    rng = np.random.default_rng(5)
    for slot in range(slots):
        keys = rng.integers(0, 300, rows)
        index.append(pa.table({"k": keys, "t": np.full(rows, slot * 10), "v": keys % 7}, SCHEMA))
    return index


@pytest.mark.slow
@pytest.mark.parametrize("update", ["packed-shadow", "runs"])
@pytest.mark.parametrize("name", PLAIN)
def test_what_is_written_is_what_was_foretold(tmp_path, name, update):
    index = filled(tmp_path / "x", window=8, indexes=3, scheme=name, update=update)
    work = index.describe()["work"]
    assert len(work) <= 32
    for operation in {done["operation"] for done in work}:
        some = [done for done in work if done["operation"] == operation][-8:]
        predicted = sum(done["predicted_bytes"] for done in some)
        written = sum(done["written_bytes"] for done in some)
        assert predicted == pytest.approx(written, rel=0.15), operation
    assert work[-1]["newest"] == 19


def test_runs_write_a_slot_and_shadows_a_sub_index(tmp_path):
    wrote = {}
    for update in ("runs", "packed-shadow"):
        index = filled(tmp_path / update, window=8, indexes=2, scheme="reindex", update=update)
        appends = [d for d in index.describe()["work"] if d["operation"] == "append"]
        wrote[update] = appends[-1]["written_bytes"]
    assert wrote["packed-shadow"] > 3 * wrote["runs"]


@pytest.mark.parametrize(
    ("name", "transition", "preparation", "extra"),
    [
        ("del", 2, 0, 0),
        ("reindex", 5, 0, 0),
        ("wata", 1, 0, 8),
        ("reindex++", 1, None, 0),
        ("rata", 1, None, 0),
    ],
)
def test_promises_of_the_paper(name, transition, preparation, extra):
    made = promise(scheme(name, 10, 2))
    assert made.transition_slots == transition
    assert preparation in (None, made.preparation_slots)
    assert made.extra_slots == extra
    assert made.hard == (extra == 0)
    assert 0 < made.transition_share <= 1


def test_describe_says_the_promise_of_the_index_as_it_is_kept(tmp_path):
    index = filled(tmp_path / "x", slots=12, rows=50, window=10, indexes=2, scheme="wata")
    about = index.describe()
    assert about["promise"] == {
        "transition_slots": 1.0, "preparation_slots": 0.0, "transition_share": 1.0,
        "preparation_share": 0.0,
    }  # fmt: skip
    assert (about["hard"], about["extra_slots_max"]) == (False, 8)
    index.migrate(scheme="rata")
    about = index.describe()
    assert about["promise"]["preparation_share"] > 0
    assert (about["hard"], about["extra_slots_max"]) == (True, 0)
