"""A reader that folds changes: the state before and the changes give the state after."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from wavedex import errors

HAPPENED = ("_change", "_at", "_commit")


def plain(row: dict[str, Any]) -> tuple[Any, ...]:
    """A row of a schema, to be counted."""
    return tuple(value for name, value in row.items() if name not in HAPPENED)


def bag_of(rows: list[dict[str, Any]]) -> Counter:
    return Counter(map(plain, rows))


class Folding:
    """What somebody knows of an index who has read nothing but its changes."""

    def __init__(self, follower: str | None = None) -> None:
        """With a name, it follows the index, which then keeps what it has not read."""
        self.follower = follower
        self.commit: int | None = None
        self.at: Any = None
        self.rows: Counter = Counter()

    def read(self, index: Any) -> list[dict[str, Any]]:
        """Read on, and see that everything is in order."""
        newest = index.commit
        try:
            changes = self._changes(index, newest)
        except errors.CommitGone:
            # All that was known is over: an erasure leaves no earlier commit.
            assert self.commit not in index.commits
            self.rows.clear()
            self.commit, self.at = None, None
            changes = self._changes(index, newest)
        found = changes.to_pylist()
        check_order(changes, self.at)
        for row in found:
            self.rows[plain(row)] += row["_change"]
            assert self.rows[plain(row)] >= 0, row
        self.rows = +self.rows
        if found:
            self.at = found[-1]["_at"]
        self.commit = newest
        assert self.rows == bag_of(index.scan().read_all().to_pylist())
        return found

    def _changes(self, index: Any, newest: int) -> pa.Table:
        if self.follower is None:
            return index.changes(self.commit, newest).read_all()
        reader = index.follow(self.follower)
        if self.commit is None:
            reader.move(None)
        assert reader.position == self.commit
        changes = reader.changes().read_all()
        reader.advance()
        assert reader.position == newest
        return changes


def check_order(changes: pa.Table, last: Any = None) -> None:
    """What went before what came, and no instant before another."""
    found = changes.to_pylist()
    happened = [(row["_commit"], row["_at"], row["_change"]) for row in found]
    assert happened == sorted(happened)
    instants = [row["_at"] for row in found]
    assert instants == sorted(instants)
    assert last is None or not instants or instants[0] >= last
