"""Rows that were retracted are hidden afar too, and the rows around them are not.

Only some of a part is fetched there.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import wavedex as wx
from wavedex.testing.oracle import same_rows

SCHEMA = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.string())])
EVENTS = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.string())])
SLOT = 600
KEYS, HIDDEN = 60_000, 40
"""So many that what tells of a key in a directory is fetched piece by piece."""


def lives(keys) -> pa.Table:
    """Two rows for every key, the first of which is retracted where any is."""
    twice = [key for key in keys for _ in range(2)]
    texts = [f"{which} of {key}" for key in keys for which in ("first", "second")]
    return pa.table([twice, [1] * len(twice), [14] * len(twice), texts], schema=SCHEMA)


def first_of(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(range(0, rows.num_rows, 2)))


def seconds_of(keys) -> list[dict]:
    return lives(keys).to_pylist()[1::2]


@pytest.fixture(params=["arrow", "parquet"])
def afar(request, subtree):
    """Opens an index anew, so that nothing of it was fetched.

    With it come the keys of which a row was retracted.
    """
    address, chance = subtree.new(), random.Random(1)
    life = wx.LifetimeIndex.create(
        address, SCHEMA, key="k", inserted="b", expires="e", max_lifetime=16, refresh=2,
        grid=(2, 2), shards=1, format=request.param, surroundings=subtree.around,
    )  # fmt: skip
    life.update(2, lives(range(KEYS)))
    hidden = sorted(chance.sample(range(KEYS), HIDDEN))
    for some in (hidden[:-5], hidden[-5:]):  # The second time there are hidden rows already.
        subtree.open(address).retract(2, first_of(lives(some)))
    return lambda: subtree.open(address), hidden


def test_nobody_is_shown_a_row_that_is_hidden_and_everybody_all_others(afar):
    opened, hidden = afar
    index = opened()
    for key in hidden[::4]:
        assert same_rows(index.probe(key).to_pylist(), seconds_of([key]))
    for key in sorted({*range(3, KEYS, KEYS // 10)} - {*hidden}):
        assert same_rows(index.probe(key).to_pylist(), lives([key]).to_pylist())
    for key in hidden[1:3]:
        assert same_rows(opened().probe(key).to_pylist(), seconds_of([key]))
        assert same_rows(opened().probe(key, since=1, until=1).to_pylist(), seconds_of([key]))
    others = sorted({*range(5, KEYS, KEYS // 9)} - {*hidden})
    found = opened().probe_many([*hidden, *others]).to_pylist()
    assert same_rows(found, seconds_of(hidden) + lives(others).to_pylist())
    scanned = opened().scan().read_all()
    assert scanned.num_rows == 2 * KEYS - HIDDEN
    shown = scanned.filter(pc.is_in(scanned["k"], pa.array(hidden))).to_pylist()
    assert same_rows(shown, seconds_of(hidden))


@pytest.mark.slow
def test_rows_that_are_hidden_afar_cannot_be_retracted_again_and_go_in_the_end(afar):
    opened, hidden = afar
    with pytest.raises(wx.errors.RowNotThere):
        opened().retract(2, first_of(lives(hidden[:1])))
    opened().retract(2, pa.Table.from_pylist(seconds_of(hidden[:1]), SCHEMA))
    assert not opened().probe(hidden[0]).num_rows
    opened().verify()
    opened().update(16)
    assert not opened().scan().read_all().num_rows


@pytest.mark.slow
@pytest.mark.parametrize(("since", "until"), [(3, 3), (2, 4), (6, None), (None, 0)])
def test_a_stretch_of_the_rows_of_one_key_is_found_among_several(subtree, since, until):
    """Of text that lies outside the stretch nothing was fetched."""
    address, slots = subtree.new(), 7
    index = wx.WaveIndex.create(
        address, EVENTS, key="k", time="t", slot=SLOT, window=slots, indexes=1, scheme="del",
        shards=1, update="packed-shadow", surroundings=subtree.around,
    )  # fmt: skip
    rows = [
        {"k": 1 + (number == 0), "t": time, "v": f"text {time} {number}"}
        for time in range(slots * SLOT)
        for number in range(8)
    ]
    index.append(pa.Table.from_pylist(rows, EVENTS))
    first, last = since or 0, slots - 1 if until is None else until
    expected = [row for row in rows if row["k"] == 1 and first <= row["t"] // SLOT <= last]
    for ask in (
        lambda opened: opened.probe_many([1, 5], since=since, until=until),
        lambda opened: opened.probe(1, since=since, until=until),
    ):
        assert same_rows(ask(subtree.open(address)).to_pylist(), expected)
