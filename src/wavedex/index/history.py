"""Which keys were in the window of an index at any past time: a set over time, kept with it.

The set lies in a folder of the index. It is fed from the changes of the index: after each commit,
and before what they are read from is cleared away. It notes the commit up to which it was fed, in
the same commit of its own. So what a crash left out is made good by the next write.

A window holds many rows of a key. The key is added with the first and removed with the last. What
comes and goes at one instant has not changed. The history outlives the rows. Keys that are erased
are erased from it, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wavedex.engine.change import Change
from wavedex.errors import BadDefinition, CommitGone, NotAnIndex
from wavedex.files.below import FilesBelow
from wavedex.files.contract import AnyFiles
from wavedex.index.core.arrival import nothing
from wavedex.index.core.changes import ChangeFeed, Changes, time_type
from wavedex.index.core.definition import AT_COLUMN, CHANGE_COLUMN, Definition, owed_by
from wavedex.index.core.writer import Writer
from wavedex.log.manifest import Log, Manifest, Notes
from wavedex.log.outside import Outside
from wavedex.rows.arrow import to_numpy
from wavedex.slots import from_ordinals

if TYPE_CHECKING:
    from wavedex.temporal import TemporalSet

FOLDER = "history"
"""The folder of the set, in that of the index."""
FED_BY = "the index that it lies in"
"""What is said to feed the set, where somebody else tries to."""
MARK = "commit"
"""The commit up to which the set was fed, among its marks."""


class History:
    """Feeds the set of one index, and opens it for whoever asks."""

    def __init__(self, files: AnyFiles, changes: Changes[Any], around: Outside) -> None:
        self._files, self._changes = files, changes
        below = FilesBelow(files, FOLDER)
        self._around = Outside(files=lambda _: below, now=around.now, token=around.token)
        self._held: TemporalSet | None = None
        self._shown: TemporalSet | None = None

    # -- feeding ------------------------------------------------------------------------------

    def keep_up(self, definition: Definition) -> None:
        """Feed the set up to the newest commit, if one is kept. REQUIRES: the lock is held.

        Raises CommitGone where commits that it was not fed with are gone.
        """
        if definition.history:
            found = self._newest(definition)
            if self._feed(found, definition, Log(self._files).latest().commit):
                found.commit()

    def erase(self, definition: Definition, keys: Any) -> int:
        """Erase keys, as if they had never been there. How many lifespans went."""
        return self._newest(definition).erase(keys)

    def begin(self, writer: Writer[Any], manifest: Manifest, method: str) -> None:
        """Keep a history from now on, or go on with it. Raises BadDefinition.

        Where not all that led to the present is known any more, what is in the window and was not
        came at the last instant, and the other way round.
        """
        definition = writer.definition
        if not definition.history:
            writer.use(replace(definition, history=method))
            change = Change(
                name="keep-history",
                state=definition.state_of(manifest),
                rows=nothing(definition),
                owed=tuple(owed_by(manifest)),
                notes=Notes(settings=writer.settings),
            )
            manifest = writer.commit(manifest, change)
        elif definition.history != method:
            raise BadDefinition(
                f"A history is kept by {definition.history!r}. It cannot be kept by {method!r} "
                "beside that."
            )
        try:
            self.keep_up(writer.definition)
        except CommitGone:
            self._go_on(writer.definition, manifest)

    def _go_on(self, definition: Definition, manifest: Manifest) -> None:
        found = self._newest(definition)
        held = found.counts()
        keys, counts = (
            [held.column("oid").combine_chunks()],
            [-to_numpy(held["n"].combine_chunks())],
        )
        feed = self._feed_of(definition)
        for batch in feed.read(feed.find(None, manifest.commit)):
            keys.append(_key_column(definition, batch))
            counts.append(to_numpy(batch.column(CHANGE_COLUMN)))
        oids, deltas = pa.concat_arrays(keys), np.concatenate(counts)
        now = max(definition.reached(manifest) or 0, found.last_tick)
        at = from_ordinals(np.full(len(oids), now), time_type(definition))
        found.load({"oid": oids, "time": at, "op": deltas})
        found.note({MARK: manifest.commit})
        found.commit()

    def _newest(self, definition: Definition) -> TemporalSet:
        """The set as of its newest commit, to be changed; made where there is none."""
        from wavedex.temporal import TemporalSet

        if self._held is None:
            try:
                self._held = TemporalSet.open(FOLDER, surroundings=self._around)
            except NotAnIndex:
                self._held = TemporalSet.create(
                    FOLDER,
                    method=definition.history,
                    ids=definition.spec.key_type.arrow_type,
                    times=time_type(definition),
                    counted=True,
                    fed_by=FED_BY,
                    surroundings=self._around,
                )
            self._held.feeds = True
        else:
            self._held.refresh()
        return self._held

    def _feed(
        self, found: TemporalSet, definition: Definition, commit: int, erases: bool = True
    ) -> bool:
        """Load what changed up to a commit. Whether there was anything to note.

        What was erased is erased where that is wanted, which writes to the disk.
        """
        since = found.marks.get(MARK)
        if since is not None and since >= commit:
            return False
        feed = self._feed_of(definition)
        try:
            steps = feed.find(since, commit)
            log = Log(self._files)
            for step in steps:
                for batch in feed.read([step]):
                    keys = _key_column(definition, batch)
                    found.load(
                        pa.table(
                            [keys, batch.column(AT_COLUMN), batch.column(CHANGE_COLUMN)],
                            names=["oid", "time", "op"],
                        )
                    )
                    found.note({MARK: step.commit})
                    erased = log.read(step.commit).operation == "erase"
                    if erases and erased and step.since is not None:
                        found.erase(keys)
        except CommitGone as error:
            raise CommitGone(
                f"The history was kept up to commit {since}, and what led from there to {commit} "
                f"is gone ({error}). Call keep_history(): it goes on from what is in the window "
                "now."
            ) from error
        found.note({MARK: commit})
        return True

    def _feed_of(self, definition: Definition) -> ChangeFeed[Any]:
        return ChangeFeed(self._files, definition, self._changes, columns=definition.key_names)

    # -- asking -------------------------------------------------------------------------------

    def shown(self, definition: Definition, commit: int) -> TemporalSet:
        """The set as of a commit, for whoever asks. What it was not fed with yet is added here.

        A writer may feed it and clear away what it was fed with in the meantime. Then it is looked
        at again.
        """
        found = self._shown
        while found is None or found.marks.get(MARK) != commit:
            found = self._opened(definition)
            since = found.marks.get(MARK)
            found.feeds = True
            try:
                self._feed(found, definition, commit, erases=False)
            except CommitGone:
                if self._opened(definition).marks.get(MARK) == since:
                    raise
                continue
            found.feeds = False
            self._shown = found
            break
        return found

    def _opened(self, definition: Definition) -> TemporalSet:
        """The set as of its newest commit, to be shown; an empty one where there is none."""
        from wavedex.temporal import TemporalSet

        try:
            return TemporalSet.open(FOLDER, surroundings=self._around)
        except NotAnIndex:
            return TemporalSet.create(
                method=definition.history,
                ids=definition.spec.key_type.arrow_type,
                times=time_type(definition),
                counted=True,
                fed_by=FED_BY,
            )

    def describe(self) -> dict[str, Any] | None:
        """What it costs, as plain JSON; None where nothing was kept yet. COST: one manifest."""
        from wavedex.temporal.folder import SetFolder

        try:
            folder = SetFolder.open(FOLDER, self._around)
        except NotAnIndex:
            return None
        newest = folder.journal.latest()
        return {
            "method": folder.definition.method,
            "commit": newest.marks.get(MARK),
            "bytes": sum(file.bytes for file in newest.files.values()),
            "files": len(newest.files),
            "horizon": newest.horizon,
        }


def _key_column(definition: Definition, batch: pa.RecordBatch) -> pa.Array:
    """The keys of changes, as one column."""
    names = definition.key_names
    if len(names) == 1:
        return batch.column(names[0])
    fields = [*definition.spec.key_type.arrow_type]
    return pa.StructArray.from_arrays([batch.column(name) for name in names], fields=fields)
