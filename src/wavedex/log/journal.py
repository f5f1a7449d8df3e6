"""The log: the complete state of an index after each commit, in one small file each, and how a next one comes to be.

A commit is one new manifest. All files that it names last before it is written, and it appears under its number all at
once, or not at all where that number is taken. A crash therefore leaves the old state and some files that nobody names.
Readers take no lock: a manifest and the files it names never change, except that in-place stores grow into room that no
manifest shows. Vacuum removes manifests first and then the files that no kept one names, if we gave them their names.

Knows files and parts. What a scheme's state or an owed operation means is not its business: those are plain JSON here.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import xxhash

from wavedex.errors import (
    CommitUncertain,
    ConcurrentWrite,
    Damaged,
    NotAnIndex,
    NotOurs,
    WavedexError,
)
from wavedex.files import names as own_names
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import (
    base_of,
    commit_of,
    draft_name,
    folder_of,
    is_draft,
    is_manifest,
    is_part_file,
    manifest_name,
)
from wavedex.log.leases import leased_commits, take_lease, useless_leases
from wavedex.log.ledger import Ledger, Segment
from wavedex.plan.slot_set import NO_SLOTS, slots_to_json, union
from wavedex.store.part import Part, Slots, check_claims, from_ranges, to_ranges

LOG, DATA, LOCK, STAGED = own_names.LOG, own_names.DATA, own_names.LOCK, own_names.STAGED
STAGED_HOURS_KEPT = 24
"""How long files below `staged/` that no manifest names are taken for the work of tasks that are still running."""
OPEN = "open"
"""The name of the delta, beside the names that schemes give."""

TOKENS_KEPT = 32
"""Of how many commits a manifest has the tokens: so many may come, and it can still be told whether one follows another."""

PARSED_MAX = 8
"""How many manifests are remembered as they were parsed: a write looks at the last few several times."""
LISTED = 32
"""Once in so many vacuums at most, for every so many commits that are kept, files are listed that nobody may have named."""
RECENT = 4
"""Among the files of how many commits a write looks for those of attempts that failed: its own, and those before.

A file is first named by one of as many commits from the one in its name on.
"""

BAD_JSON = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""What text that should be JSON of a certain shape, and is not, can raise."""


@dataclass(frozen=True)
class SubIndex:
    """A sub-index or temporary: the slots it covers, and its parts, shard by shard."""

    slots: Slots
    shards: tuple[tuple[Part, ...], ...]

    @property
    def parts(self) -> Iterator[Part]:
        """All parts of all shards."""
        return (part for parts in self.shards for part in parts)

    @property
    def is_over(self) -> bool:
        """Whether there is no part of it any more."""
        return not any(self.shards)

    @property
    def rows(self) -> int:
        """The rows in its files."""
        return sum(part.rows for part in self.parts)

    @property
    def rows_hidden(self) -> int:
        """Those of them that do not count any more."""
        return sum(part.hidden.rows for part in self.parts if part.hidden is not None)

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(part.bytes for part in self.parts)

    @property
    def commit(self) -> int | None:
        """The last commit that wrote a file of its rows, told by their names; None where there is no such file."""
        refs = (ref for part in self.parts for ref in part.files.values())
        told = (commit_of(base_of(ref.name)) for ref in refs)
        return max((commit for commit in told if commit is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """As a manifest holds it."""
        shards = [[part.to_json() for part in parts] for parts in self.shards]
        return {"slots": slots_to_json(self.slots), "shards": shards}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SubIndex:
        """The sub-index that a manifest holds."""
        shards = tuple(tuple(map(Part.from_json, parts)) for parts in data["shards"])
        return cls(from_ranges(data["slots"]), shards)


@dataclass(frozen=True)
class Progress:
    """How far a stream has come: its last batch, and the ordinal before which nothing more is expected of it."""

    batch: int
    watermark: int | None


class Work(NamedTuple):
    """What one commit was expected to write, and what it wrote; `newest` was the newest slot then.

    `planned_rows` are the rows that its plan let expect, which later commits of its kind are foretold by.
    """

    commit: int
    operation: str
    newest: int | None
    predicted_bytes: int
    written_bytes: int
    planned_rows: int = 0


class Pace(NamedTuple):
    """How far a stream had come when updates began, from when on it went on from there, and its slowest rate."""

    first: int
    since: float
    slowest: float


class Arrivals(NamedTuple):
    """How far streams had come in one update, or in some that followed one another: the last of them at `now`.

    By the names of streams: the newest position, how many rows come to an ordinal of time, and the pace of all of them.
    """

    now: int
    positions: Mapping[str, int]
    rates: Mapping[str, float]
    paces: Mapping[str, Pace]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Arrivals:
        """What a manifest holds."""
        now, positions, rates, paces = data
        return cls(now, positions, rates, {name: Pace(*pace) for name, pace in paces.items()})


@dataclass(frozen=True)
class Manifest:
    """The state of an index after one commit.

    `state` is the scheme's, None while the index is new; `owed` the operations of a preparation that was not done yet;
    `batch` is what the last append was known by, the rows that it pushed out again included; `delivered` says for each slot of the window which rows it was appended with, `rows` how many rows each slot has that
    is in a sub-index: both stand in the `ledger`; `totals` counts since the beginning. `open` is the delta: what streams brought for slots that are
    not sealed yet. `streams` has the last batch and the watermark of every stream that feeds the index, by its name;
    `marks` says how far a source that is read piece by piece has come, by the name of the last piece. `settings` has what
    migrations have changed of the definition, and `draining` the sub-indexes of the layout before, which stay until their
    slots are over. `work` says of the last transitions what was expected and what was written. `floor` is the oldest
    commit that may be kept: those before it have rows that were erased. Where rows have lifetimes of their own, `now` is
    the instant of the last refresh, as an ordinal. Where windows are counted, `arrivals` says how far the streams had come at
    each refresh of which there are rows, and `drained_at` how far when sub-indexes began to drain. `tokens` are those of
    the last commits, its own the last: no two attempts have the same, so that no two manifests have the same bytes. `definition` is the
    checksum of what the index was created as.
    """

    commit: int
    operation: str
    written_at: str
    state: Mapping[str, Any] | None = None
    indexes: Mapping[str, SubIndex] = field(default_factory=dict)
    temps: Mapping[str, SubIndex] = field(default_factory=dict)
    owed: tuple[Mapping[str, Any], ...] = ()
    batch: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    totals: Mapping[str, int] = field(default_factory=dict)
    open: SubIndex | None = None
    streams: Mapping[str, Progress] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    draining: Mapping[str, SubIndex] = field(default_factory=dict)
    work: tuple[Work, ...] = ()
    floor: int = 0
    now: int | None = None
    arrivals: tuple[Arrivals, ...] = ()
    drained_at: Mapping[str, int] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    definition: str = ""

    def follows(self, other: Manifest) -> bool | None:
        """Whether it is another manifest, or came to be on top of it; None where that is too long ago to tell."""
        commits = self.commit - other.commit
        if commits < 0:
            return False
        return self.tokens[-1 - commits] == other.tokens[-1] if commits < len(self.tokens) else None

    @property
    def shown(self) -> dict[str, SubIndex]:
        """What readers look at: the sub-indexes, those that drain, and the delta."""
        delta = {} if self.open is None else {OPEN: self.open}
        return {**self.indexes, **self.draining, **delta}

    @property
    def everything(self) -> dict[str, SubIndex]:
        """Sub-indexes, temporaries and the delta."""
        return {**self.shown, **self.temps}

    @property
    def open_slots(self) -> Slots:
        """The slots that are not sealed yet."""
        return NO_SLOTS if self.open is None else self.open.slots

    @property
    def away(self) -> Slots:
        """The slots whose rows lie in sub-indexes that drain, whatever the scheme's state says."""
        return union(sub.slots for sub in self.draining.values())

    @property
    def held_slots(self) -> Slots:
        """The slots that are in a sub-index, with or without rows; of those that drain, while there are any."""
        subs = (
            sub for name, sub in self.shown.items() if name not in self.draining or not sub.is_over
        )
        return union(sub.slots for sub in subs)

    @property
    def files(self) -> dict[str, FileRef]:
        """Every file that it names."""
        subs = self.everything.values()
        data = {ref.name: ref for sub in subs for part in sub.parts for ref in part.all_files}
        return {**data, **{each.file.name: each.file for each in self.ledger.segments}}

    @property
    def rows(self) -> Mapping[int, int]:
        """How many rows each slot has. COST: that of the whole ledger."""
        return self.ledger.all_rows

    @property
    def delivered(self) -> Mapping[int, str]:
        """What each slot was delivered with. COST: that of the whole ledger."""
        return self.ledger.all_delivered

    def only(self, shard: int, name: str | None = None) -> Manifest:
        """What a reader of one shard must know, of all sub-indexes or of one: enough to read, and not to write."""
        shown = {
            each: SubIndex(
                sub.slots, tuple(p if n == shard else () for n, p in enumerate(sub.shards))
            )
            for each, sub in self.shown.items()
            if name in (None, each)
        }
        slots = (
            SubIndex(self.open_slots, ((),) * len(next(iter(shown.values())).shards))
            if shown
            else None
        )
        return replace(
            self,
            state=None if self.state is None else {"newest": self.state["newest"]},
            open=shown.pop(OPEN, slots),
            indexes=shown,
            temps={},
            draining={},
            owed=(),
            ledger=Ledger(),
            work=(),
            tokens=(),
        )

    def to_bytes(self) -> bytes:
        """The content of its file: JSON, with a checksum over the rest."""
        body = {
            "commit": self.commit,
            "operation": self.operation,
            "written_at": self.written_at,
            "state": self.state,
            "indexes": {name: sub.to_json() for name, sub in self.indexes.items()},
            "temps": {name: sub.to_json() for name, sub in self.temps.items()},
            "owed": list(self.owed),
            "batch": self.batch,
            "delivered": {str(slot): rows for slot, rows in sorted(self.ledger.delivered.items())},
            "rows": {str(slot): count for slot, count in sorted(self.ledger.rows.items())},
            "ledger": [segment.to_json() for segment in self.ledger.segments],
            "totals": dict(self.totals),
            "open": None if self.open is None else self.open.to_json(),
            "streams": {name: asdict(progress) for name, progress in self.streams.items()},
            "marks": dict(self.marks),
            "settings": dict(self.settings),
            "draining": {name: sub.to_json() for name, sub in self.draining.items()},
            "work": [list(done) for done in self.work],
            "floor": self.floor,
            "now": self.now,
            "arrivals": [list(each) for each in self.arrivals],
            "drained_at": dict(self.drained_at),
            "tokens": list(self.tokens),
            "definition": self.definition,
        }
        text = json.dumps(body, separators=(",", ":"))
        checksum = xxhash.xxh64_hexdigest(text.encode())
        return f'{{"checksum":"{checksum}","manifest":{text}}}\n'.encode()

    @classmethod
    def from_bytes(cls, data: bytes, name: str, files: AnyFiles | None = None) -> Manifest:
        """The manifest in a file's content. Raises Damaged where it is not what was written.

        The rest of its ledger is read from `files` when it is asked for.
        """
        try:
            text = data.decode()
            outer = json.loads(text)
            body, checksum = outer["manifest"], outer["checksum"]
            inner = text[text.index('"manifest":') + len('"manifest":') : text.rindex("}")]
            if xxhash.xxh64_hexdigest(inner.encode()) != checksum:
                raise ValueError("its checksum is another")
            check_claims(body)
            return cls(
                commit=body["commit"],
                operation=body["operation"],
                written_at=body["written_at"],
                state=body["state"],
                indexes={name: SubIndex.from_json(sub) for name, sub in body["indexes"].items()},
                temps={name: SubIndex.from_json(sub) for name, sub in body["temps"].items()},
                owed=tuple(body["owed"]),
                batch=body["batch"],
                ledger=Ledger(
                    {int(slot): rows for slot, rows in body["delivered"].items()},
                    {int(slot): count for slot, count in body["rows"].items()},
                    tuple(map(Segment.from_json, body["ledger"])),
                    files,
                ),
                totals=body["totals"],
                open=None if body["open"] is None else SubIndex.from_json(body["open"]),
                streams={name: Progress(**data) for name, data in body["streams"].items()},
                marks=body["marks"],
                settings=body["settings"],
                draining={name: SubIndex.from_json(sub) for name, sub in body["draining"].items()},
                work=tuple(Work(*done) for done in body["work"]),
                floor=body["floor"],
                now=body["now"],
                arrivals=tuple(map(Arrivals.from_json, body["arrivals"])),
                drained_at=body["drained_at"],
                tokens=tuple(body["tokens"]),
                definition=body["definition"],
            )
        except BAD_JSON as error:
            raise Damaged(f"{name} is no manifest ({error})") from error


def commits_in(names: Iterable[str]) -> list[int]:
    """The commits whose manifests are among the names in the log, oldest first."""
    found = [name for name in names if len(name) == 25 and name[20:] == ".json"]
    digits = "".join([name[:20] for name in found])
    if not digits.isascii() or not digits.isdigit():
        found = [name for name in found if is_manifest(name)]
    first, last = int(min(found, default="0")[:20]), int(max(found, default="-1")[:20])
    if last - first + 1 == len(found):  # as nearly always, and told without reading every number
        return [*range(first, last + 1)]
    return sorted(int(name[:20]) for name in found)


class Kept:
    """Which of the kept manifests tell whether a file is still named.

    The commits that name a file follow one another: none takes up what the one before has let go. So a file that a commit
    named which is gone is named by the next that is kept, or by the last before, or by none. The first that names a data file is
    the one in its name, or one soon after where a preparation came between. So a file of a commit that is gone is named by the
    next that is kept, or by none.

    Unless `whole`, only some are asked: those at the edges of gaps, which tell of all that belonged to commits that are gone, and so
    of whatever a vacuum that was cut off has left; and the newest, which tell of attempts that failed.
    """

    def __init__(self, commits: Sequence[int], whole: bool) -> None:
        runs = [] if whole else to_ranges(commits)
        recent = commits[-RECENT:]
        self.count, self.oldest = len(commits), commits[0]
        self.asked = {*commits} if whole else {*recent, *(edge for run in runs for edge in run)}
        bounds = [(first + 1, min(last, recent[0]) - 1) for first, last in runs]
        self._unasked = [(first, last) for first, last in bounds if first <= last]

    def told(self, names: list[str]) -> list[str]:
        """Those of the names in a folder of data that belong to files of which the manifests `asked` tell."""
        for first, last in self._unasked:
            start, stop = f"{max(0, first - RECENT):010d}", f"{last + 1:010d}"
            names = [name for name in names if not start <= name < stop]
        return names


class Log:
    """The manifests of one index."""

    def __init__(self, files: AnyFiles) -> None:
        self.files = files
        self._parsed: dict[int, tuple[bytes, Manifest]] = {}
        self._unlisted = sys.maxsize

    def commits(self) -> list[int]:
        """The numbers of the commits that are kept, oldest first."""
        return commits_in(self.files.list(LOG))

    def oldest(self) -> int:
        """The number of the oldest commit that is kept."""
        return self.commits()[0]

    def latest(self) -> Manifest:
        """The newest manifest."""
        while True:
            commits = self.commits()
            if not commits and not self.files.exists(""):
                raise NotAnIndex(f"{self.files.root} is no index any more: its folder is gone.")
            if not commits:
                raise Damaged(f"{LOG}/ holds no manifest")
            try:
                return self.read(commits[-1])
            except FileNotFoundError:
                continue  # It was vacuumed after a newer one had come; look again.

    def read(self, commit: int) -> Manifest:
        """The manifest of a commit. Raises FileNotFoundError where it is not kept.

        COST: the file is read each time; it is parsed only if it is none of the last few.
        """
        name = manifest_name(commit)
        data = self.files.read(name)
        known = self._parsed.pop(commit, None)
        if known is None or known[0] != data:
            known = data, Manifest.from_bytes(data, name, self.files)
            if known[1].commit != commit:
                raise Damaged(f"{name} is the manifest of commit {known[1].commit}")
        self._remember(*known)
        return known[1]

    def _remember(self, data: bytes, manifest: Manifest) -> None:
        self._parsed[manifest.commit] = data, manifest
        if len(self._parsed) > PARSED_MAX:
            # Others may be reading at the same time, and be faster.
            self._parsed.pop(next(iter(self._parsed.copy())), None)

    def commit(self, manifest: Manifest, token: str, after: Manifest | None = None) -> None:
        """Publish the next manifest, the one `after` another.

        REQUIRES: the content of every file that it names lasts.
        Raises ConcurrentWrite where another writer was first; nothing has changed then. Raises CommitUncertain where
        the manifest is there, or may be, and the disk does not say whether it lasts; the files that it names must stay
        then. What interrupts is raised as it is: ask `holds` what came of the commit.
        """
        draft = draft_name(manifest.commit, token)
        data = manifest.to_bytes()
        try:
            new = manifest.files.keys() - (after.files.keys() if after is not None else set())
            for folder in {DATA, *map(folder_of, new)} if new or after is None else ():
                self.files.sync_folder(folder)
            self.files.publish(manifest_name(manifest.commit), data, draft)
        except Exception as error:
            self._settle(manifest, error)
        else:
            if not self.files.is_local:
                self._settle(manifest, None)
        self._remember(data, manifest)

    def _settle(self, manifest: Manifest, failure: Exception | None) -> None:
        """See what came of a commit that failed, or that no lock guarded: raise it, unless it is in the log and lasts.

        Without a lock a writer may be so slow that its number is taken, vacuumed, and free again. Nobody will ever look
        at what it publishes then, since all go by the newest commit.
        """
        held = self.holds(manifest)
        if held and not self.files.is_local:
            return
        if held is not False or isinstance(failure, CommitUncertain):
            why = failure or "Others went on, and it cannot be told from where."
            raise CommitUncertain(
                f"Commit {manifest.commit} was made, or may have been: {why} Look to the disk; an append may "
                "then be repeated, an amendment only if its rows are not there."
            ) from failure
        # A writer that was faster may have taken the number, or cleared the draft away.
        if failure is not None and not isinstance(failure, FileExistsError | FileNotFoundError):
            raise failure
        self._remove_stray(manifest)
        raise ConcurrentWrite(
            f"Another writer committed {manifest.commit} to {self.files.root} first. Nothing was "
            "changed; do it again on the new state."
        )

    def _remove_stray(self, manifest: Manifest) -> None:
        """Remove a manifest that is not in line with those that follow, if it is there."""
        name = manifest_name(manifest.commit)
        with contextlib.suppress(FileNotFoundError):
            if self.files.read(name) == manifest.to_bytes():
                self.files.remove(name)

    def holds(self, manifest: Manifest) -> bool | None:
        """Whether a commit is in the log, or one that came to be on top of it; None where that cannot be told."""
        try:
            while (newest := max(self.commits(), default=-1)) == manifest.commit:
                with contextlib.suppress(FileNotFoundError):  # It was vacuumed since; look again.
                    name = manifest_name(manifest.commit)
                    return self.files.read(name) == manifest.to_bytes()
            return newest > manifest.commit and self.latest().follows(manifest)
        except (WavedexError, OSError):
            return None

    def lease(self, commit: int, now_s: float, token: str) -> int | None:
        """Keep a commit for some minutes from writers that clear up. Returns until when; None where it is gone already.

        Where only one commit is kept, and when rows are erased, writers let go of it all the same. Raises WavedexError where
        the disk refuses.
        """
        until_s = take_lease(self.files, LOG, commit, now_s, token)
        return until_s if self.files.exists(manifest_name(commit)) else None

    def vacuum(
        self, keep: int, since: str | None = None, now_s: float | None = None, whole: bool = True
    ) -> list[str]:
        """Remove all but the newest `keep` manifests and the files that none of the kept ones names.

        Those that were written at `since` or later are kept too, and the one that was the newest then, and with `now_s`
        those that are on lease then, but none from before an erase. Manifests that a reader has pinned are kept. Unless
        `whole`, some files that no manifest ever named stay until a later time. REQUIRES: the writer's lock is held, where
        there are locks. Returns what was removed.
        COST: reads a few manifests for each that goes, however many are kept; with `whole`, all of them.
        """
        listed = self.files.list(LOG)
        commits = commits_in(listed)
        drafts = [name for name in listed if name[-4:] == ".tmp" and is_draft(name)]
        removed = [f"{LOG}/{name}" for name in drafts if self._is_over(name, commits[-1])]
        for name in removed:
            self.files.remove(name)
        leased = set() if now_s is None else leased_commits(listed, now_s)
        old = self._over(commits, keep, since, leased)
        named = {commit: self._names_in(commit) for commit in old}
        gone = [commit for commit in old if self.files.remove_unpinned(manifest_name(commit))]
        for name in useless_leases(listed, {*commits} - {*old}, now_s):
            self.files.remove(f"{LOG}/{name}")
        kept = Kept(sorted({*commits} - {*gone}), whole)
        over = {name for commit in gone for name in named[commit] or ()}
        staged: list[str] = []
        if whole or None in named.values() or self._is_due(kept):
            over.update(self._perhaps_unnamed(kept, commits[-1]))
            staged = self._perhaps_left(kept.oldest)
            self._unlisted = 0
        unnamed = self._remove_unnamed(over, kept.asked)
        if staged:
            unnamed += self.remove_unnamed(staged)
        return [*removed, *map(manifest_name, gone), *unnamed]

    def _names_in(self, commit: int) -> Iterable[str] | None:
        """The files that an old manifest names; None where nobody can tell, and what only it named is found by listing."""
        try:
            return self.read(commit).files
        except (FileNotFoundError, Damaged, NotOurs):
            return None

    def _is_due(self, kept: Kept) -> bool:
        """Whether to look for files that no manifest ever named: the less often, the more files there are to look at."""
        self._unlisted += LISTED
        return self._unlisted >= kept.count

    def _perhaps_unnamed(self, kept: Kept, newest: int) -> Iterator[str]:
        """The files of which the manifests that are asked tell whether one names them."""
        for folder in dict.fromkeys([DATA, *self.files.homes(DATA)]):
            for name in kept.told(self.files.list(folder)):
                if self._is_over(name, newest) and is_part_file(f"{folder}/{name}"):
                    yield f"{folder}/{name}"

    def _perhaps_left(self, oldest: int) -> list[str]:
        """Staged files that no task can be at work on. Any kept manifest may name one: nothing tells how long it waited."""
        names = filter(is_part_file, self.files.names_in(STAGED))
        return [name for name in names if self._is_old(name, oldest)]

    def _over(
        self, commits: list[int], keep: int, since: str | None, leased: set[int]
    ) -> list[int]:
        """The commits that need not be kept: those from before an erase, and old ones.

        That is all but the newest `keep`, those written at `since` or later, in ISO format and UTC, the one before them, and
        those that are on lease.
        """
        floor = (self.find(commits[-1]) or self.latest()).floor
        few = commits[:-keep]
        old = few
        if since is not None:
            following = itertools.takewhile(
                lambda commit: self._written_at(commit) <= since, commits[1 : len(few) + 1]
            )
            old = few[: sum(1 for _ in following)]
        unheld = {*old} - leased
        # Another writer, whom no lock kept out, may have erased since these were listed.
        return [commit for commit in commits[:-1] if commit in unheld or commit < floor]

    def _written_at(self, commit: int) -> str:
        found = self.find(commit)
        return "" if found is None else found.written_at  # Another vacuum was faster.

    def remove_unnamed(self, names: Iterable[str], since: int = 0) -> list[str]:
        """Remove those of these files that no kept manifest names, and return their names.

        REQUIRES: the writer's lock is held, or nobody else can come to name them; no commit before `since` names any.
        """
        return self._remove_unnamed(names, [each for each in self.commits() if each >= since])

    def _remove_unnamed(self, names: Iterable[str], commits: Collection[int]) -> list[str]:
        found = [*filter(None, map(self.find, sorted(commits)))]
        if not found or len(found) < len(commits):
            # Another vacuum is at work, which no lock kept out: what those told that are gone, others must tell.
            found = self._kept()
        named = {name for manifest in found for name in manifest.files}
        unnamed = [name for name in names if name not in named]
        for name in unnamed:
            self.files.remove(name)
        return unnamed

    def _kept(self) -> list[Manifest]:
        """The manifests that are kept. Where there is no lock, another vacuum may remove some while they are read.

        ENSURES: the newest is among them, since whatever comes after it names no other file that was there before.
        """
        while True:
            commits = self.commits()
            found = [*filter(None, map(self.find, commits))]
            if not commits or (found and found[-1].commit == commits[-1]):
                return found

    def find(self, commit: int) -> Manifest | None:
        """The manifest of a commit; None where it is not kept."""
        try:
            return self.read(commit)
        except FileNotFoundError:
            return None

    def _is_old(self, name: str, oldest: int) -> bool:
        """Whether no task can be at work on a staged file, which is much older than the oldest commit."""
        try:
            kept_s = self.files.age_s(manifest_name(oldest))
            return self.files.age_s(name) > kept_s + STAGED_HOURS_KEPT * 3600
        except FileNotFoundError:
            return False  # Its writer was faster.

    def _is_over(self, name: str, newest: int) -> bool:
        """Whether nobody can be at work on a file, whose name begins with the commit that it was written for.

        A lock keeps others out. Where there is none, a commit that is still to come may be another writer's; and files that
        were staged for the newest may still come to be named, by the next, where a preparation took its number.
        """
        commit = commit_of(name)
        return self.files.is_local or commit is None or commit < newest
