"""A snapshot: the window as one commit left it, for as long as somebody looks at it.

It maps its files when it is taken, so that nothing a writer or a vacuum does can change or break
it. It takes no lock. (Where files are updated in place, it tells the vacuum which commit it holds.)

A query is turned into one range of ordinals for each part that can have an answer. A window that is
soft on disk is cut exactly to its slots here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from wavedex.errors import BadDefinition, BadKey, BadTime, Damaged, MissingColumn
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import folder_of, manifest_name
from wavedex.files.opened import Seek, disk_faults, finish, together, waits
from wavedex.index.core.definition import Definition, Target, Targets, View
from wavedex.index.core.description import describe
from wavedex.index.reading.arrangement import arrange, in_order
from wavedex.index.reading.asked import ALL, Asked
from wavedex.index.reading.condition import Condition, read_condition
from wavedex.index.reading.pointers import follow as fetch_records
from wavedex.index.reading.readable import Readable, call_all
from wavedex.log.manifest import Manifest
from wavedex.plan.slot_set import first_of, slots_from, slots_of
from wavedex.rows.entries import one_batch
from wavedex.rows.keys import Plain
from wavedex.show.html import to_html
from wavedex.slots import NamedSlots
from wavedex.store.checks import CheckedParts
from wavedex.store.formats import open_shard
from wavedex.store.part import Part
from wavedex.store.shard import Range, Shard, split_keys
from wavedex.store.sifted import STORE as SIFTED
from wavedex.store.sparse.shards import KEYS_MANY

SELECTIONS_MAX = 1024
"""For how many shards and spans of time a snapshot remembers whom to ask."""
CONDITIONS_MAX = 64
"""For how many conditions it remembers what they say."""

COLD_PROBES = 8
"""After a probe that waited for a disk, the disk is told what this many more will look at."""

_TELLING = frozenset({int, str, dt.date, type(None)})
"""Equal values of these types mean the same time.

Two datetimes that are equal may be an hour apart by their `fold`.
"""


class Snapshot(Readable):
    """The window at one commit. It never changes, and none of its methods sees a later commit."""

    _inner = frozenset(
        {
            *("all_targets", "arranged", "by_disk", "cold_probes", "condition", "count_rows"),
            *("definition", "entries_of", "held", "keys_of", "manifest", "names"),
            *("note_slow_probe", "opened", "order_column", "parts_of", "path_of", "renew"),
            *("renewed", "seek", "seen", "since", "source", "storage", "stretches", "table"),
            *("targets", "targets_between", "window"),
        }
    )

    def __init__(
        self,
        definition: Definition,
        files: AnyFiles,
        manifest: Manifest,
        opened: dict[FileRef, Shard] | None = None,
        view: View | None = None,
        checked: CheckedParts | None = None,
        floor: int | None = None,
    ) -> None:
        """Map the files of a manifest. Raises FileNotFoundError where it was vacuumed meanwhile.

        `opened` has shards that are open already, by their directories, and gets those that are
        opened now. `view` says what is seen of the commit: all that is live, if it is not given.
        `checked` opens files that must be what was written. Without it they are opened as they are.
        `floor` is the first ordinal that is seen; None for all.
        """
        open_part = open_shard if checked is None else checked.open
        self.definition = definition
        self.manifest = manifest
        self._files = files
        self._schema = definition.spec.schema
        self._view = definition.view(manifest) if view is None else view
        self._floor = floor
        self.window = self._view.slots
        if floor is not None:
            (first,) = definition.slotting.slots_of(np.array([floor])).tolist()
            self.window = slots_from(slots_of(self.window), first)
        changes = definition.technique.changes_files
        self._pin = files.pin(manifest_name(manifest.commit)) if changes else None
        opened = {} if opened is None else opened
        self._shards: list[list[tuple[str, Shard, Part]]] = [[] for _ in range(definition.shards)]
        for name, sub in manifest.shown.items():
            for shard, parts in enumerate(sub.shards):
                for part in parts:
                    ref = part.files["directory"]
                    if ref not in opened or not opened[ref].part.is_same(part):
                        opened[ref] = open_part(files, definition.spec, part)
                    self._shards[shard].append((name, opened[ref], part))
        self._everything = [
            self._find_targets(n, None, None, False) for n in range(definition.shards)
        ]
        self._selections: dict[tuple[Any, ...], Targets] = {}
        self._conditions: dict[str, Condition] = {}
        self.renew: Callable[[Snapshot, FileNotFoundError], Snapshot] | None = None
        self.source: tuple[type, str] | None = None
        """The kind of index and the path that it was taken from, for those who send it on."""
        self._is_held = files.is_local
        self._hides_a_column = self._schema is not definition.schema
        shards = (shard for shards in self._shards for _, shard, _ in shards)
        self.cold_probes = 0 if all(each.seems_in_memory for each in shards) else COLD_PROBES
        self._faults = disk_faults()

    @property
    def commit(self) -> int:
        """The number of the commit."""
        return self.manifest.commit

    @property
    def storage(self) -> AnyFiles:
        """The files below the folder of its index."""
        return self._files

    def parts_of(self, shard: int) -> list[tuple[str, Shard, Part]]:
        """The parts of one shard number as they are open, each with the name of its sub-index."""
        return self._shards[shard]

    def opened(self) -> dict[FileRef, Shard]:
        """Its shards by their directories, for a snapshot that comes after it."""
        shards = (shard for shards in self._shards for _, shard, _ in shards)
        return {shard.part.files["directory"]: shard for shard in shards}

    def close(self) -> None:
        """Let go of the commit where files are updated in place. Do not read from it afterwards.

        Otherwise it lets go when it is no longer used. A snapshot is its own context manager.
        """
        if self._pin is not None:
            self._pin.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def held(self) -> Snapshot:
        """The same snapshot, or a newer one if it was overtaken, with all it can be asked at hand.

        On a local disk all is at hand from the beginning. From afar, files are fetched as far as
        they are needed, and may be removed before they are. Whoever wants to read all, or to go on
        reading, has them fetched whole.
        """
        if not self._is_held:
            try:
                for shard in self.opened().values():
                    shard.hold()
            except FileNotFoundError as error:
                return self.renewed(error).held()
            self._is_held = True
            self.cold_probes = 0
        return self

    def renewed(self, error: FileNotFoundError) -> Snapshot:
        """What to read instead where a file that was not fetched yet is gone.

        Raises the error where there is nothing.
        """
        if self.renew is None:
            raise error
        return self.renew(self, error)

    def seek(
        self, targets: Sequence[Target], plains: Sequence[Plain], hashes: Sequence[int]
    ) -> None:
        """Have the disk or the store bring what a probe of these keys will look at.

        That goes for all targets at the same time. After some probes in a row that have not waited
        for a disk, it is no longer worth its while.
        """
        self._bring(shard.seek(plains, hashes, within) for shard, within in targets)

    def _bring(self, seeks: Iterable[Seek[None]]) -> None:
        before = waits()
        finish(together(seeks))
        if waits() > before:
            self.cold_probes = COLD_PROBES
        elif self._is_held:
            self.cold_probes = max(0, self.cold_probes - 1)  # Several threads may be counting.

    def note_slow_probe(self) -> None:
        """Note that a probe took long.

        If that was because of a disk, the disk is told beforehand what the next ones will look at.
        """
        faults = disk_faults()
        if faults > self._faults:
            self._faults = faults
            self.cold_probes = COLD_PROBES

    def seen(self, shorten: Any) -> Snapshot:
        """What a query with shorter windows sees of it.

        Raises BadTime, and BadDefinition where windows cannot be shortened.
        """
        if shorten is not None:
            raise BadDefinition(
                "shorten is for lifetime indexes. Leave it out, and use since for a shorter window."
            )
        return self

    def since(self, span: Any) -> Snapshot:
        """What is seen of it by those who ask for its last part only. Raises BadTime."""
        floor = self.definition.recent(self.manifest, span)
        found = type(self)(
            self.definition, self._files, self.manifest, self.opened(), view=self._view, floor=floor
        )
        if self.renew is not None:
            found.renew = lambda _, error: self.renewed(error).since(span)
        return found

    def count_rows(self) -> int:
        """How many rows count."""
        targets = self.all_targets(ALL)
        whole = [shard.part for shard, within in targets if _is_whole(shard, within)]
        count = sum(part.rows for part in whole)
        if len(whole) == len(targets):
            return count
        held = self.held()
        cut = [each for each in held.all_targets(ALL) if not _is_whole(*each)]
        return count + sum(
            batch.num_rows
            for shard, within in cut
            for batch in shard.stream(within, [held.definition.spec.order])
        )

    def targets(self, shard: int, asked: Asked) -> Targets:
        """Whom to ask of the parts of one shard number, and where in them an answer can lie."""
        since, until, expired, where = asked.since, asked.until, asked.expired, asked.where
        if where is not None:
            span = self.definition.slotting.bounds(since, until)
            return self._find_targets(shard, *self.condition(where).within(span), expired)
        if since is None and until is None and not expired:
            return self._everything[shard]
        bounds = None
        wanted: tuple[Any, ...] = (shard, type(since), since, type(until), until, bool(expired))
        if type(since) not in _TELLING or type(until) not in _TELLING:
            bounds = self.definition.slotting.bounds(since, until)
            wanted = (shard, *bounds, bool(expired))
        found = self._selections.get(wanted)
        if found is None:
            self._check_since(since)
            bounds = bounds or self.definition.slotting.bounds(since, until)
            found = self._find_targets(shard, *bounds, expired)
            if len(self._selections) >= SELECTIONS_MAX:
                self._selections.clear()
            self._selections[wanted] = found
        return found

    def condition(self, text: str) -> Condition:
        """What a condition on its rows says. Raises BadCondition."""
        found = self._conditions.get(text)
        if found is None:
            found = read_condition(text, self.definition)
            if len(self._conditions) >= CONDITIONS_MAX:
                self._conditions.clear()
            self._conditions[text] = found
        return found

    def stretches(self, targets: Sequence[Target]) -> list[list[Target]]:
        """Targets in groups, each later than the one before it."""
        return self._view.stretches(targets)

    @property
    def order_column(self) -> str:
        """The column by which rows are in order."""
        return self.definition.time or self.definition.spec.order

    def _check_since(self, since: Any) -> None:
        """Raise BadTime for a small number where a slot is meant by its date.

        It is a slot of 1970, and so would mean everything.
        """
        slotting = self.definition.slotting
        if not isinstance(since, int) or isinstance(since, bool) or not self.window:
            return
        first = first_of(slots_of(self.window))
        is_few = 0 <= since <= len(self.window) < (first - since) // 10
        if is_few and slotting.label(since) != str(since):
            raise BadTime(
                f"since={since} is slot {since}, {slotting.label(since)}, and the window begins "
                f"with {slotting.label(first)}. For the last {since} slots, ask "
                f"last({since}) first, as in idx.last({since}).scan(); or give a date."
            )

    def all_targets(self, asked: Asked) -> list[Target]:
        """The targets of all shards."""
        shards = range(self.definition.shards)
        return [target for shard in shards for target in self.targets(shard, asked)]

    def targets_between(self, start: int | None, stop: int | None, expired: bool) -> list[Target]:
        """The targets of all shards for a range of ordinals."""
        shards = range(self.definition.shards)
        return [t for shard in shards for t in self._find_targets(shard, start, stop, expired)]

    def by_disk(self, targets: Sequence[Target]) -> list[list[Target]]:
        """The same targets, in one list for each of the disks over which the index is spread."""
        disks: dict[str, list[Target]] = {}
        for target in targets:
            disks.setdefault(folder_of(target[0].part.files["rows"].name), []).append(target)
        return [*disks.values()] if self.definition.roots else [[*targets]]

    def keys_of(self, keys: Iterable[Any]) -> pa.Array:
        """Several keys, each once. Raises BadKey."""
        if isinstance(keys, str | bytes) or not isinstance(keys, Iterable):
            raise BadKey(f"{keys!r} is not a list of keys. Pass a list, even of one: [{keys!r}].")
        key_type = self.definition.spec.key_type
        return key_type.distinct(key_type.array(keys))

    def entries_of(self, keys: Iterable[Any], asked: Asked) -> list[pa.RecordBatch]:
        """The entries of several keys with all columns, hidden ones too. Raises BadKey.

        They come from every part that has any.
        """
        key_type = self.definition.spec.key_type
        wanted = self.keys_of(keys)
        calls: list[Callable[[], pa.RecordBatch]] = []
        seeks: list[Seek[None]] = []
        for number, (some, hashes) in split_keys(key_type, wanted, self.definition.shards).items():
            targets = self.targets(number, asked)
            calls += [partial(shard.probe_many, some, hashes, within) for shard, within in targets]
            if self.cold_probes and len(some) < KEYS_MANY:
                plains, numbers = [*map(key_type.reader(some), range(len(some)))], hashes.tolist()
                seeks += [shard.seek(plains, numbers, within) for shard, within in targets]
        if seeks:
            self._bring(seeks)
        found = call_all(calls, len(wanted), at_once=not self._is_held)
        self.note_slow_probe()
        return found

    def arranged(
        self, batches: Sequence[pa.RecordBatch], asked: Asked, *, of_one_key: bool
    ) -> list[pa.RecordBatch]:
        """Answers that meet the condition, in order, and as many as were asked for.

        Those that are so already are handed over as they lie.
        """
        if of_one_key and not asked.is_arranged and in_order(self, batches):
            return [*batches]
        rows = one_batch(pa.Table.from_batches(batches, self._schema))
        return [arrange(self, rows, asked, of_one_key=of_one_key)]

    def table(self, batches: Sequence[pa.RecordBatch], asked: Asked) -> pa.Table:
        """Answers as one table, with the columns asked for or with the records they point to."""
        table = pa.Table.from_batches(batches, self._schema)
        if asked.follow:
            return fetch_records(self.definition, table, asked.columns)
        if asked.columns is None and not self._hides_a_column:
            return table
        return table.select(self.names(asked.columns))

    def names(self, columns: Sequence[str] | None) -> list[str]:
        """The columns that were asked for. Raises MissingColumn."""
        known = self.definition.schema.names
        if columns is None:
            return list(known)
        if isinstance(columns, str):
            columns = [columns]
        for name in columns:
            if name not in known:
                raise MissingColumn(f"The index has no column {name!r}. It has {', '.join(known)}.")
        return list(columns)

    def path_of(self, name: str) -> str:
        """Where one of its files lies."""
        return str(self._files.path(name))

    def _current(self) -> Snapshot:
        return self

    def _find_targets(
        self, shard: int, start: int | None, stop: int | None, expired: bool
    ) -> Targets:
        if self._floor is not None:
            start = self._floor if start is None else max(start, self._floor)
        return self._view.arranged(
            [
                target
                for name, opened, part in self._shards[shard]
                for target in self._view.targets(name, opened, part, start, stop, expired)
            ]
        )

    def __reduce__(self) -> Any:
        """Opened again where it arrives, at the same commit, if that is still kept."""
        if self.source is None or self._floor is not None:
            raise TypeError("Send the index itself, or a snapshot that its index has taken.")
        return _taken, (*self.source, self.commit)

    def _repr_html_(self) -> str:
        about = {"path": str(self._files.root), **describe(self.definition, self.manifest)}
        return to_html(self.definition.drawing, about, self.definition.slotting.label)

    def __repr__(self) -> str:
        seen = NamedSlots(sorted(self.window), self.definition.slotting)
        return f"<Snapshot of {self._files.root} at commit {self.commit}: {seen}>"


def _taken(kind: Any, path: str, commit: int) -> Snapshot:
    """A snapshot that was sent from elsewhere. Raises CommitGone."""
    found: Snapshot = kind.open(path).snapshot(commit)
    return found


def _is_whole(shard: Shard, within: Range | None) -> bool:
    """Whether all rows of a part count, so that it is known how many there are."""
    return within is None and shard.part.hidden is None and shard.part.store != SIFTED


def open_newest(definition: Definition, files: AnyFiles, manifest: Manifest) -> Snapshot:
    """The newest commit for a writer, beside whom nobody removes files.

    Raises Damaged where one is missing.
    """
    try:
        return Snapshot(definition, files, manifest)
    except FileNotFoundError as error:
        raise Damaged(f"{error.filename} is missing") from error
