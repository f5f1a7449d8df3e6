"""A follower: a reader of changes that has a name, goes on where it stopped, and is waited for.

The index knows how far it has come, and keeps what it has not read (`wavedex.log.followers`). A
follower reads, does with the changes whatever it does, and then says so with `advance`. Where it is
cut off in between, it reads the same changes again: it gets each at least once. A follower that
notes the commit together with what it made of the changes has each exactly once.

One process at a time follows under a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from wavedex.errors import BadDefinition, BadPosition, CommitGone
from wavedex.files.contract import AnyFiles
from wavedex.files.names import LOG
from wavedex.index.core.changes import ChangeFeed, Position, check_commit
from wavedex.index.core.definition import Definition
from wavedex.log.followers import Standing, check_name, forget, note, standings


class Followable(Protocol):
    """An index, as far as a follower must know one."""

    @property
    def path(self) -> str:
        """Where it is."""

    @property
    def commit(self) -> int:
        """The number of the newest commit."""

    @property
    def commits(self) -> list[int]:
        """The numbers of the commits that are kept."""

    @property
    def storage(self) -> AnyFiles:
        """The files below its folder."""

    @property
    def definition(self) -> Definition:
        """What it is."""

    @property
    def change_feed(self) -> ChangeFeed[Any]:
        """What finds and reads changes."""

    def changes(
        self, since_commit: Position | None, until_commit: Position | None = None
    ) -> pa.RecordBatchReader:
        """The rows that came and went."""


Locked = Callable[[Callable[[], None]], None]
"""Makes a call while nobody writes to the index."""


class Follower:
    """A reader of changes that an index knows by name. Make one with `follow`."""

    def __init__(self, index: Followable, name: str, locked: Locked) -> None:
        """Go on where the follower stopped. Raises BadName, BadDefinition."""
        self.name = check_name(name)
        self._index = index
        self._locked = locked
        self._reached: int | None = None
        if not index.definition.keep_followed:
            raise BadDefinition(
                f"{index.path} keeps no commits for followers. Create an index with keep_followed, "
                "such as '7 days', and with a keep_commits of more than 1."
            )

    @property
    def position(self) -> int | None:
        """The commit up to which it has read; None before its first."""
        standing = self._standing
        return None if standing is None or not standing.has_read else standing.commit

    @property
    def reached(self) -> int | None:
        """The commit up to which the last `changes` goes; None before the first.

        Note it together with what is made of the changes, and no change counts twice.
        """
        return self._reached

    @property
    def behind(self) -> int:
        """How many commits it has not read."""
        position = self.position
        return self._index.commit + 1 if position is None else self._index.commit - position

    def changes(self, until_commit: int | None = None) -> pa.RecordBatchReader:
        """What changed since it last advanced, up to the newest commit or another one.

        All that is there came, before it has advanced for the first time. The columns and their
        order are those of `changes` of the index. Raises CommitGone where it has fallen too far
        behind or the other commit is not there, BadPosition where that is none to read up to.
        """
        position, until = self.position, self.reach(until_commit)
        try:
            found = self._index.changes(position, until)
        except CommitGone as error:
            raise self._explained(error) from error
        self._reached = until
        return pa.RecordBatchReader.from_batches(found.schema, self._named(found))

    def reach(self, until_commit: int | None = None) -> int:
        """The commit up to which it would read: the newest, if no other is named.

        At its first look it says so before it reads, so that the commit is there to go on from.
        Raises CommitGone and BadPosition where the other commit is not there, or is none.
        """
        position, feed = self.position, self._index.change_feed
        if until_commit is None:
            return self._begin() if position is None else self._index.commit
        until = check_commit(until_commit)
        feed.check_kept(until)
        if position is None:
            self._locked(lambda: self._begin_with(until))
        elif until < position:
            raise BadPosition(
                f"The follower {self.name!r} has read up to commit {position} already, and not "
                f"only to {until}. Use move to go back."
            )
        return until

    def advance(self, commit: int | None = None) -> None:
        """Say that all up to a commit is done with: what the last `changes` gave, if none is named.

        The index need not keep it any longer. Raises BadPosition where the follower has read
        nothing, or is further already; `move` goes back. Raises CommitGone where the commit that is
        named is not kept.
        """
        done = self._reached if commit is None else check_commit(commit)
        if done is None:
            raise BadPosition(
                f"The follower {self.name!r} has read nothing yet. Call changes() first, or say "
                "up to which commit all is done with."
            )
        position, newest = self.position, self._index.commit
        if not (position or 0) <= done <= newest:
            advice = "Use move to go back." if 0 <= done <= newest else "Give one that is there."
            raise BadPosition(
                f"The follower {self.name!r} {self._has_read(position)}, and the newest commit is "
                f"{newest}: it cannot advance to {done}. {advice}"
            )
        if commit is not None and done != position:
            self._index.change_feed.check_kept(done)
        note(self._index.storage, self.name, Standing(done, True))

    def move(self, position: Position | None) -> None:
        """Go on from another commit, or another batch of a stream. From None on, begin anew.

        A crash leaves it where it was, or where it went. Raises CommitGone where that commit is not
        kept, BadPosition where there is none.
        """

        def place() -> None:
            feed = self._index.change_feed
            feed.find(position, None)  # Raises where it cannot be followed from there.
            assert position is not None
            note(self._index.storage, self.name, Standing(feed.commit_of(position), True))

        if position is None:
            self.forget()
        else:
            self._locked(place)
        self._reached = None

    def forget(self) -> None:
        """End it: the index keeps nothing for it any more. The next one of its name begins anew."""
        forget(self._index.storage, self.name)

    @property
    def _standing(self) -> Standing | None:
        return standings(self._index.storage.list(LOG)).get(self.name)

    def _begin(self) -> int:
        """Have the newest commit kept, as of which it reads all that is there.

        A vacuum that has listed the files before the follower was there removes only commits that
        were not the newest then.
        """
        while True:
            newest = self._index.commit
            note(self._index.storage, self.name, Standing(newest, False))
            if self._index.commit == newest:
                return newest

    def _begin_with(self, commit: int) -> None:
        """The same with another commit. REQUIRES: nobody writes. Raises CommitGone."""
        self._index.change_feed.check_kept(commit)
        note(self._index.storage, self.name, Standing(commit, False))

    def _named(self, found: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            yield from found
        except CommitGone as error:
            raise self._explained(error) from error

    def _explained(self, error: CommitGone) -> CommitGone:
        """What to say where changes are gone: why, if it cannot go on from where it stopped."""
        position = self.position
        if position is None or position in self._index.commits:
            return error
        bound = self._index.definition.keep_followed
        return CommitGone(
            f"The follower {self.name!r} has read up to commit {position} of {self._index.path}, "
            f"and cannot go on from there: it fell further behind than keep_followed allows, "
            f"{bound}, or rows were erased since. Read all that is there anew, after move(None). "
            f"({error})"
        )

    def _has_read(self, position: int | None) -> str:
        return "has read nothing yet" if position is None else f"has read up to commit {position}"

    def __repr__(self) -> str:
        return f"<Follower {self.name!r} of {self._index.path}: commit {self.position}>"
