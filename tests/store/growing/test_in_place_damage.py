"""Whoever changes a part in place, or hides rows of it, does not read the whole of it.

Damage elsewhere in it is kept.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import Damaged
from wavedex.store.growing import records
from wavedex.store.shard import Shard

pytestmark = pytest.mark.usefixtures("small_row_groups")

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("v", pa.int64())])
LIVES = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.int64())])
KEYS, SLOTS = 50, 5
VALUE = 0x5EED_0000
"""Of the first key: a number such as no other in a file.

So are those of the other keys, which are one more each.
"""


def damage(path: Path, ending: str) -> None:
    """Change the values of the last key, also where they lay before records were moved."""
    (file,) = [file for file in (path / "data").iterdir() if file.name.endswith(ending)]
    good, bad = ((VALUE + last).to_bytes(8, "little") for last in (KEYS - 1, KEYS))
    data = file.read_bytes()
    assert good in data
    file.write_bytes(data.replace(good, bad))


@pytest.fixture
def read_whole(monkeypatch) -> list[int]:
    """How many rows the parts had that were read as a whole to be looked at."""
    seen: list[int] = []
    findings = Shard.source_findings

    def look(self: Shard) -> object:
        seen.append(self.part.rows)
        return findings(self)

    monkeypatch.setattr(Shard, "source_findings", look)
    return seen


def events(slot: int, keys: range = range(KEYS)) -> pa.Table:
    return pa.table([keys, [slot] * len(keys), [VALUE + key for key in keys]], schema=SCHEMA)


def lives(birth: int, keys: range = range(KEYS)) -> pa.Table:
    births, ends = [birth] * len(keys), [14] * len(keys)
    return pa.table([keys, births, ends, [VALUE + key for key in keys]], schema=LIVES)


def make_wave(path: Path, format_: str, slots: int) -> wx.WaveIndex:
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=1, window=SLOTS, indexes=1, scheme="del",
        update="in-place", format=format_, shards=1,
    )  # fmt: skip
    for slot in range(slots):
        index.append(events(slot))
    return index


def make_lives(path: Path, method: str) -> wx.LifetimeIndex:
    index = wx.LifetimeIndex.create(
        path, LIVES, key="k", inserted="b", expires="e", max_lifetime=16, refresh=2, grid=(2, 2),
        method=method, shards=1,
    )  # fmt: skip
    index.update(2, lives(1))
    return index


@pytest.mark.parametrize("format_", ["arrow", "chained"])
@pytest.mark.parametrize(
    "slots", [SLOTS - 1, SLOTS + 1], ids=["while it grows", "when one expires"]
)
def test_an_append_in_place_passes_beside_damage_which_is_found_by_verify(
    tmp_path, read_whole, format_, slots
):
    index = make_wave(tmp_path / "x", format_, slots)
    damage(tmp_path / "x", ".rows")
    read_whole.clear()
    index.append(events(slots, range(1)))
    assert read_whole == []
    assert index.probe(0).num_rows == min(SLOTS, slots + 1)
    with pytest.raises(Damaged, match="other rows than were written"):
        index.verify()
    with pytest.raises(Damaged, match="other rows than were written"):
        index.migrate(window=SLOTS + 1)  # which copies them


@pytest.mark.parametrize(("method", "ending"), [("no-rebuild", ".rows"), ("rebuild", ".arrow")])
def test_a_retraction_passes_beside_damage_which_is_found_by_verify(
    tmp_path, read_whole, method, ending
):
    life = make_lives(tmp_path / "x", method)
    damage(tmp_path / "x", ending)
    before = life.scan().read_all().num_rows
    read_whole.clear()
    for key in (3, 5):  # The second time there are hidden rows already.
        life.retract(2, lives(1, range(key, key + 1)))
        assert life.probe(key).num_rows == 0
    assert read_whole == []
    assert life.scan().read_all().num_rows == before - 2
    with pytest.raises(Damaged):
        life.verify()


def test_an_error_that_is_no_damage_keeps_its_name_beside_hidden_rows(tmp_path, monkeypatch):
    life = make_lives(tmp_path / "x", "no-rebuild")
    life.retract(2, lives(1, range(5, 6)))
    decode, failed = records.RecordFormat.decode, []

    def fail_once(*args: object) -> object:
        if not failed:
            failed.append(True)
            raise MemoryError("no room")
        return decode(*args)

    monkeypatch.setattr(records.RecordFormat, "decode", fail_once)
    with pytest.raises(MemoryError, match="no room"):
        life.scan().read_all()
    assert failed
    assert life.scan().read_all().num_rows == KEYS - 1
    life.verify()
