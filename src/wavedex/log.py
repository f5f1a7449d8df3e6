"""The log: the complete state of an index after each commit, in one small file each, and how a next one comes to be.

A commit is one new manifest. All files that it names last before it is written, and it appears under its number all at
once, or not at all where that number is taken. A crash therefore leaves the old state and some files that nobody names.
Readers take no lock: a manifest and the files it names never change, except that in-place stores grow into room that no
manifest shows. Vacuum removes manifests first and then the files that no kept one names.

Knows files and parts. What a scheme's state or an owed operation means is not its business: those are plain JSON here.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import xxhash

from wavedex.errors import CommitUncertain, ConcurrentWrite, Damaged, NotAnIndex, WavedexError
from wavedex.store.access import AnyFiles, FileRef
from wavedex.store.part import Part, Slots, from_ranges, to_ranges

LOG = "log"
DATA = "data"
LOCK = "lock"
STAGED = "staged"
STAGED_HOURS_KEPT = 24
"""How long files below `staged/` that no manifest names are taken for the work of tasks that are still running."""
OPEN = "open"
"""The name of the delta, beside the names that schemes give."""

PARSED_MAX = 4
"""How many manifests are remembered as they were parsed: a write looks at the last few several times."""

_IS_OURS = re.compile(r"\d{10}-[0-9a-f]+-")
"""How the names of data files begin. Vacuum leaves whatever else lies there alone."""


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
        names = (base_of(ref.name) for part in self.parts for ref in part.files.values())
        return max((int(name[:10]) for name in names if _IS_OURS.match(name)), default=None)

    def to_json(self) -> dict[str, Any]:
        """As a manifest holds it."""
        shards = [[part.to_json() for part in parts] for parts in self.shards]
        return {"slots": to_ranges(self.slots), "shards": shards}

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
    """What one commit was expected to write, and what it wrote; `newest` was the newest slot then."""

    commit: int
    operation: str
    newest: int | None
    predicted_bytes: int
    written_bytes: int


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
    is in a sub-index; `totals` counts since the beginning. `open` is the delta: what streams brought for slots that are
    not sealed yet. `streams` has the last batch and the watermark of every stream that feeds the index, by its name;
    `marks` says how far a source that is read piece by piece has come, by the name of the last piece. `settings` has what
    migrations have changed of the definition, and `draining` the sub-indexes of the layout before, which stay until their
    slots are over. `work` says of the last transitions what was expected and what was written. `floor` is the oldest
    commit that may be kept: those before it have rows that were erased. Where rows have lifetimes of their own, `now` is
    the instant of the last refresh, as an ordinal. Where windows are counted, `arrivals` says how far the streams had come at
    each refresh of which there are rows, and `drained_at` how far when sub-indexes began to drain.
    """

    commit: int
    operation: str
    written_at: str
    state: Mapping[str, Any] | None = None
    indexes: Mapping[str, SubIndex] = field(default_factory=dict)
    temps: Mapping[str, SubIndex] = field(default_factory=dict)
    owed: tuple[Mapping[str, Any], ...] = ()
    batch: str = ""
    delivered: Mapping[int, str] = field(default_factory=dict)
    rows: Mapping[int, int] = field(default_factory=dict)
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
        return frozenset() if self.open is None else self.open.slots

    @property
    def away(self) -> Slots:
        """The slots whose rows lie in sub-indexes that drain, whatever the scheme's state says."""
        return frozenset().union(*(sub.slots for sub in self.draining.values()))

    @property
    def files(self) -> dict[str, FileRef]:
        """Every file that it names."""
        subs = self.everything.values()
        return {ref.name: ref for sub in subs for part in sub.parts for ref in part.all_files}

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
            delivered={},
            rows={},
            work=(),
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
            "delivered": {str(slot): rows for slot, rows in sorted(self.delivered.items())},
            "rows": {str(slot): count for slot, count in sorted(self.rows.items())},
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
        }
        text = json.dumps(body, separators=(",", ":"))
        checksum = xxhash.xxh64_hexdigest(text.encode())
        return f'{{"checksum":"{checksum}","manifest":{text}}}\n'.encode()

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Manifest:
        """The manifest in a file's content. Raises Damaged where it is not what was written."""
        try:
            text = data.decode()
            outer = json.loads(text)
            body, checksum = outer["manifest"], outer["checksum"]
            inner = text[text.index('"manifest":') + len('"manifest":') : text.rindex("}")]
            if xxhash.xxh64_hexdigest(inner.encode()) != checksum:
                raise ValueError("its checksum is another")
            return cls(
                commit=body["commit"],
                operation=body["operation"],
                written_at=body["written_at"],
                state=body["state"],
                indexes={name: SubIndex.from_json(sub) for name, sub in body["indexes"].items()},
                temps={name: SubIndex.from_json(sub) for name, sub in body["temps"].items()},
                owed=tuple(body["owed"]),
                batch=body["batch"],
                delivered={int(slot): rows for slot, rows in body["delivered"].items()},
                rows={int(slot): count for slot, count in body["rows"].items()},
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
            )
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{name} is no manifest ({error})") from error


def manifest_name(commit: int) -> str:
    """The file of a commit."""
    return f"{LOG}/{commit:020d}.json"


def folder_of(name: str) -> str:
    """The folder in which a file lies."""
    return name.rpartition("/")[0]


def base_of(name: str) -> str:
    """The name of a file without its folder."""
    return name.rpartition("/")[2]


class Log:
    """The manifests of one index."""

    def __init__(self, files: AnyFiles) -> None:
        self.files = files
        self._parsed: dict[int, tuple[bytes, Manifest]] = {}

    def commits(self) -> list[int]:
        """The numbers of the commits that are kept, oldest first."""
        names = self.files.list(LOG)
        return sorted(
            int(name[:20]) for name in names if name.endswith(".json") and name[:20].isdigit()
        )

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
            known = data, Manifest.from_bytes(data, name)
        self._parsed[commit] = known
        if len(self._parsed) > PARSED_MAX:
            # Others may be reading at the same time, and be faster.
            self._parsed.pop(next(iter(self._parsed.copy())), None)
        return known[1]

    def commit(self, manifest: Manifest, token: str, after: Manifest | None = None) -> None:
        """Publish the next manifest, the one `after` another.

        REQUIRES: the content of every file that it names lasts.
        Raises ConcurrentWrite where another writer was first; nothing has changed then. Raises CommitUncertain where
        the manifest is there, or may be, and the disk does not say whether it lasts; the files that it names must stay
        then. What interrupts is raised as it is: ask `is_published` what came of the commit.
        """
        draft = f"{LOG}/{manifest.commit:020d}.{token}.tmp"
        try:
            new = manifest.files.keys() - (after.files.keys() if after is not None else set())
            for folder in {DATA, *map(folder_of, new)} if new or after is None else ():
                self.files.sync_folder(folder)
            self.files.create(draft, lambda sink: sink.write(manifest.to_bytes()))
            self.files.sync(draft)
            self.files.link(draft, manifest_name(manifest.commit))
        except BaseException as error:
            if isinstance(error, Exception) and self.is_published(manifest):
                raise CommitUncertain(
                    f"Commit {manifest.commit} was made, or may have been: {error} Look to the disk; an append may "
                    "then be repeated, an amendment only if its rows are not there."
                ) from error
            self.files.remove(draft)
            # A writer that was faster may have taken the number, or cleared the draft away.
            if not isinstance(error, FileExistsError | FileNotFoundError):
                raise
            raise ConcurrentWrite(
                f"Another writer committed {manifest.commit} to {self.files.root} first. Nothing was "
                "changed; do it again on the new state."
            ) from None
        try:
            self.files.sync_folder(LOG)
            self.files.remove(draft)
        except WavedexError as error:
            raise CommitUncertain(
                f"Commit {manifest.commit} can be read, but it is not sure to survive a crash: {error} "
                "Look to the disk; an append may then be repeated, an amendment only if its rows are not there."
            ) from error

    def is_published(self, manifest: Manifest) -> bool:
        """Whether a manifest is there, or may be: False only where it certainly is not."""
        try:
            return self.files.read(manifest_name(manifest.commit)) == manifest.to_bytes()
        except FileNotFoundError:
            return False
        except (WavedexError, OSError):
            return True

    def vacuum(self, keep: int, since: str | None = None) -> list[str]:
        """Remove all but the newest `keep` manifests and the files that none of the kept ones names.

        Those that were written at `since` or later are kept too, and the one that was the newest then, but none from
        before an erase. Manifests that a reader has pinned are kept. REQUIRES: the writer's lock is held, where there are locks. Returns
        what was removed.
        """
        newest = max(self.commits(), default=-1)
        drafts = [name for name in self.files.list(LOG) if name.endswith(".tmp")]
        removed = [f"{LOG}/{name}" for name in drafts if self._is_over(name, newest)]
        for name in removed:
            self.files.remove(name)
        commits = self.commits()
        old = commits[:-keep][: self._count_before(commits, since)]
        floor = self.latest().floor
        old += [commit for commit in commits[len(old) :] if commit < floor]
        staged = [f"{STAGED}/{name}" for name in self.files.list(STAGED)]
        formerly = {name for commit in old for name in self.read(commit).files} if staged else ()
        removed += [name for name in map(manifest_name, old) if self.files.remove_unpinned(name)]
        ours = [name for name in self.files.names_in(DATA) if _IS_OURS.match(base_of(name))]
        data = [name for name in ours if self._is_over(base_of(name), newest)]
        over = [name for name in staged if name in formerly or self._is_old(name)]
        return removed + self.remove_unnamed([*data, *over])

    def _count_before(self, commits: list[int], since: str | None) -> int:
        """How many of all commits another one had followed by an instant, in ISO format and UTC; all without one."""
        if since is None:
            return len(commits)
        written = bisect_right(commits, since, key=lambda commit: self.read(commit).written_at)
        return max(written - 1, 0)

    def remove_unnamed(self, names: Iterable[str]) -> list[str]:
        """Remove those of these files that no kept manifest names, and return their names.

        REQUIRES: the writer's lock is held, or nobody else can come to name them.
        """
        named = {name for commit in self.commits() for name in self.read(commit).files}
        unnamed = [name for name in names if name not in named]
        for name in unnamed:
            self.files.remove(name)
        return unnamed

    def _is_old(self, name: str) -> bool:
        try:
            return self.files.age_s(name) > STAGED_HOURS_KEPT * 3600
        except FileNotFoundError:
            return False  # Its writer was faster.

    def _is_over(self, name: str, newest: int) -> bool:
        """Whether nobody can be at work on a file, whose name begins with the commit that it was written for.

        A lock keeps others out. Where there is none, a commit that is still to come may be another writer's.
        """
        number = re.match(r"\d+", name)
        return self.files.is_local or number is None or int(number[0]) <= newest
