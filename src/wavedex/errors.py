"""What can go wrong, by name.

Every error that a user, a disk or a clock can cause is a `WavedexError`. Its class says what is
wrong, its message says what to do. When it is raised, the index on disk is what it was before the
call. The exceptions are CommitUncertain, EraseUnfinished and PreparationOwed, which say so.

Imports nothing of ours, so that every layer may raise these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class WavedexError(Exception):
    """The base of all errors that Wavedex raises on purpose."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What it was made of. The message is made of that again in another process."""
        return self.args

    def __reduce__(self) -> tuple[type[WavedexError], tuple[Any, ...]]:
        return type(self), self.arguments


class BadDefinition(WavedexError):
    """An index cannot be created, or a plan drawn, as asked for."""


class UnknownScheme(BadDefinition):
    """There is no scheme, update technique or format of that name."""


class BadGrid(BadDefinition):
    """A grid cannot have those rows, columns or partitions."""


class Mistake(NamedTuple):
    """What is wrong in a file, and on which line."""

    line: int
    """The number of the line; 0 is for the file as a whole."""
    text: str
    """What is wrong."""


class BadPipeline(BadDefinition):
    """A pipeline file has mistakes.

    `mistakes` holds all of them in the order of their lines; the message has a line for each.
    """

    def __init__(self, file: str, mistakes: Sequence[Mistake]) -> None:
        self.file = file
        self.mistakes = tuple(sorted(Mistake(*each) for each in mistakes))
        super().__init__(
            "\n".join(
                f"{file}:{line}: {text}" if line else f"{file}: {text}"
                for line, text in self.mistakes
            )
        )

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.file, self.mistakes


class PackageMissing(WavedexError):
    """Something needs a package that is not installed."""


class PackageFailed(WavedexError):
    """A package that holds sub-indexes refused a change or an answer, or did not answer at all."""


class ServerNotTrusted(WavedexError):
    """An index names a server that nobody else has asked for, so it was not connected to."""


class SchemaTaken(WavedexError):
    """A schema on a server belongs to another index, or to no index at all."""


class SparkMissing(PackageMissing):
    """Something needs Spark, and it is not installed."""


class AlreadyExists(WavedexError):
    """There is something at the path where an index was to be created."""


class NotAnIndex(WavedexError):
    """The path holds no index."""


class NotOurs(WavedexError):
    """The folder of an index has a link or a name in it that Wavedex did not make.

    It could lead out of the folder.
    """


class BadPath(WavedexError):
    """A path or URI names no place that Wavedex can use."""


class NewerFormat(WavedexError):
    """The index was written by a newer version of Wavedex."""


class OlderFormat(WavedexError):
    """The index was written by an older version of Wavedex, whose files this one does not read."""


class SchemaMismatch(WavedexError):
    """A batch does not fit the schema of the index."""


class MissingColumn(SchemaMismatch):
    """A batch lacks a column, or a query names one that the index does not have."""


class BadName(WavedexError):
    """A view cannot have that name: it is no name, or a table has it."""


class NullKeys(WavedexError):
    """A batch has rows without a key."""


class NullTimes(WavedexError):
    """A batch has rows without a time."""


class BadSample(WavedexError):
    """A sample says too little to choose by."""


class BadKey(WavedexError):
    """A key that was asked for is not of the index's key type."""


class BadCondition(WavedexError):
    """A condition on rows, or how many of them in which order, cannot be understood."""


class BadTime(WavedexError):
    """A time or slot that was given cannot be understood or is out of range."""


class LifetimeTooLong(WavedexError):
    """Rows live longer than the bound that the index was created with."""


class EndBeforeBeginning(WavedexError):
    """Rows end before they begin."""


class FromTheFuture(WavedexError):
    """Rows were inserted after the instant of the refresh that brings them."""


class RefreshBackwards(WavedexError):
    """A refresh is for an instant before the last one."""


class RowNotThere(WavedexError):
    """The index does not have a row that is to be retracted or prolonged."""

    def __init__(self, message: str, rows: Any = None) -> None:
        super().__init__(message)
        self.rows = rows
        """All rows that are not there, as a table of Arrow's."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (*self.args, self.rows)


class AlreadyInSet(WavedexError):
    """An id is added to a set over time that has it."""


class NotInSet(WavedexError):
    """An id is removed from a set over time that does not have it."""


class TimeBackwards(WavedexError):
    """A change of a set over time is from before the last one."""


class Forgotten(WavedexError):
    """The history of a set is asked for from before the horizon up to which it was forgotten."""


class SetBroken(WavedexError):
    """Something failed while a set in memory took changes, and what it holds is not whole."""


class LateRows(WavedexError):
    """Rows came after their basic window was complete, beyond the delay that the window allows."""


class WindowBusy(WavedexError):
    """Rows were pushed to a window in memory by somebody whom it was telling of others."""


class WindowBroken(WavedexError):
    """Something failed while a window in memory took rows, and what it holds is not whole."""


class SlotBackwards(WavedexError):
    """A batch brings rows for a slot that has already passed."""


class SlotConflict(WavedexError):
    """A slot was appended before with other rows."""


class GapTooLarge(WavedexError):
    """A batch would skip more empty slots than `max_gap` allows."""


class OutsideWindow(WavedexError):
    """Rows lie outside the window: too old, or not yet arrived."""


class TooLarge(WavedexError):
    """A shard would grow past what one file can hold."""


class ConcurrentWrite(WavedexError):
    """Another writer is at work on the index, or committed first."""


class StillPreparing(ConcurrentWrite):
    """Another writer has finished and is working ahead for the next write."""


class UnsafeStore(WavedexError):
    """A store does not keep two writers apart, and nobody has said that there is only one."""


class AnotherStream(WavedexError):
    """An index that one stream feeds was given rows by another."""


class StreamOutOfStep(WavedexError):
    """A batch of a stream is not the one that comes next for this index."""


class CommitGone(WavedexError):
    """A commit that was asked for is not kept any more, or was never there."""


class RowsGone(CommitGone):
    """The rows of a past time are not kept any more. Only who was there is."""

    def __init__(self, message: str, contains: bool) -> None:
        super().__init__(message)
        self.contains = contains
        """Whether the key that was asked for was in the window then."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (*self.args, self.contains)


class Straddling(WavedexError):
    """One clock does not divide another: some of its slots begin in the middle of one of those."""


class BadPosition(WavedexError):
    """What changes were asked from is no commit, and no batch that a stream has come to."""


class BadSource(WavedexError):
    """Spark cannot read the source of a pipeline, or run its query."""


class NoJava(WavedexError):
    """Spark cannot run: there is no Java, or one that is too old."""


class NoWatermark(WavedexError):
    """A stream does not say how late its rows may be."""


class SparkFailed(WavedexError):
    """Spark gave up on a job; the index is as it was."""


class DiskFull(WavedexError):
    """The disk has no room for the change."""


class DiskFailed(WavedexError):
    """The disk or its file system refused a change, or a remote one an answer."""


class RecordGone(WavedexError):
    """The record to which a pointer leads is not there any more, or is another one."""


class RootMissing(WavedexError):
    """One of the disks over which an index is spread is not there."""


class WriteFailed(WavedexError):
    """A write failed half-way for want of memory or for data that Arrow cannot handle."""


class ReadOnly(WavedexError):
    """The index lies in a folder that cannot be written to."""


class Damaged(WavedexError):
    """Files of the index are damaged, truncated or missing.

    `findings` holds one line for each file or rule that is broken.
    """

    def __init__(self, findings: Sequence[str] | str) -> None:
        self.findings = (findings,) if isinstance(findings, str) else tuple(findings)
        count = len(self.findings)
        head = "The index is damaged" + (f" in {count} places" if count > 1 else "")
        advice = "Restore the named files from a copy, or build the index anew from its source."
        super().__init__(f"{head}: {'; '.join(self.findings)}. {advice}")

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (self.findings,)


class OtherKind(Damaged):
    """What lies there says that it is a kind of index that nobody knows."""


class BadPlot(WavedexError):
    """A chart cannot be written to a file of that name."""


class BadQuery(WavedexError):
    """DuckDB cannot answer the query."""


class BadSizes(WavedexError):
    """A file does not say how many rows each slot has."""


class Unreadable(WavedexError):
    """A file is missing, of no known kind, or not what its name says."""


class CommitUncertain(WavedexError):
    """A commit was made, or may have been, but the disk did not say that it lasts."""


class EraseUnfinished(WavedexError):
    """Rows were erased from the window, but files that have them are still there."""


class PreparationOwed(WavedexError):
    """Rows were committed, but the work ahead for the next slot failed.

    The next write does it first.
    """


def tell(error: WavedexError) -> dict[str, Any]:
    """An error as plain JSON, for another process."""
    return {"error": type(error).__name__, "arguments": list(error.arguments), "text": str(error)}


def told(said: Mapping[str, Any]) -> WavedexError:
    """The error that another process told of. One of a name that is not known here keeps its text.

    >>> told(tell(Damaged(["a is missing", "b is missing"]))).findings
    ('a is missing', 'b is missing')
    """
    kind = globals().get(said["error"])
    if not isinstance(kind, type) or not issubclass(kind, WavedexError):
        return WavedexError(said["text"])
    return kind(*said["arguments"])
