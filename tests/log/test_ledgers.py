"""The ledger goes on telling of a slot whose sub-index has lost its last row, or never had one."""

from __future__ import annotations

import pytest

import wavedex as wx
from kit.small_waves import SCHEMA, table
from wavedex import errors
from wavedex.log import ledger
from wavedex.testing.oracle import same_rows

pytestmark = pytest.mark.usefixtures("small_row_groups")

WINDOW, EMPTY = 20, 5
"""How many slots there are, and how many the first of four sub-indexes has."""
WAYS = [("reindex", "packed-shadow"), ("reindex", "runs"), ("del", "in-place")]


@pytest.fixture(autouse=True)
def few_lines(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr(ledger, "LINES_MAX", 3)
    monkeypatch.setattr(ledger, "SEGMENTS_MAX", 4)


def make(path, scheme: str, update: str) -> wx.WaveIndex:
    return wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=WINDOW, indexes=4, scheme=scheme,
        update=update, shards=1,
    )  # fmt: skip


def row_of(slot: int, key: int) -> dict:
    return {"k": key, "t": slot * 10, "v": f"of {slot}"}


def counts(index: wx.WaveIndex) -> dict[int, int]:
    return {each["slot"]: each["rows"] for each in index.describe()["slots"] if each["live"]}


def check_counts(index: wx.WaveIndex, rows: list[dict]) -> None:
    assert same_rows(index.scan().read_all().to_pylist(), rows)
    found = [row["t"] // 10 for row in rows]
    assert counts(index) == {slot: found.count(slot) for slot in range(WINDOW)}
    assert index.describe()["rows"] == len(rows)
    index.verify()


@pytest.mark.parametrize(("scheme", "update"), WAYS)
def test_slots_whose_sub_index_was_emptied_by_an_erase_are_counted_as_empty(
    tmp_path, scheme, update
):
    index = make(tmp_path / "x", scheme, update)
    rows = [row_of(slot, key=1 if slot < EMPTY else 2) for slot in range(WINDOW)]
    index.append(table(rows))
    assert index.manifest.ledger.segments
    assert index.erase([1]).rows == EMPTY
    assert any(sub.is_over for sub in index.manifest.shown.values())
    check_counts(index, rows[EMPTY:])
    late = row_of(1, key=3)
    index.amend(table([late]))
    check_counts(index, [late, *rows[EMPTY:]])


@pytest.mark.parametrize(("scheme", "update"), WAYS)
def test_an_empty_slot_that_is_appended_again_is_passed_over(tmp_path, scheme, update):
    index = make(tmp_path / "x", scheme, update)
    rows = [row_of(slot, key=2) for slot in range(EMPTY, WINDOW)]
    for slot in range(WINDOW):
        index.append(table([row for row in rows if row["t"] // 10 == slot]), slot=slot)
    assert index.manifest.ledger.segments
    commit = index.manifest.commit
    for slot in range(EMPTY):
        assert index.append(table([]), slot=slot).slots == []
        with pytest.raises(errors.SlotConflict):
            index.append(table([row_of(slot, key=2)]))
    assert index.manifest.commit == commit
    check_counts(index, rows)
