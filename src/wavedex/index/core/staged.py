"""Rows that are written before they are appended: by tasks elsewhere, as packed parts.

A task checks its rows, splits them by shard and writes one part a shard (`stage`). What it says of
them is small and plain JSON. The writer puts the messages of all tasks together (`gather`) and goes
on as with rows in memory. The append only names the parts. A part that is not named in the end is a
file that nobody names, and is removed as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from wavedex.engine.workbench import born_in
from wavedex.errors import CommitUncertain, ConcurrentWrite
from wavedex.files.contract import AnyFiles
from wavedex.files.names import base_of, brought_stem, folder_of
from wavedex.index.core.arrival import (
    NO_ROWS,
    NOTHING_SENT,
    Arriving,
    Found,
    Sent,
    arrive,
    no_keys,
    nothing,
)
from wavedex.index.core.definition import Definition
from wavedex.log.manifest import Log
from wavedex.rows.pieces import Pieces
from wavedex.slots import distinct
from wavedex.store.checks import CheckedParts
from wavedex.store.part import Part
from wavedex.store.shard import split_by_shard


@contextmanager
def clearing(files: AnyFiles, mine: Callable[[], Iterable[str]], since: int) -> Iterator[None]:
    """Remove staged files that no commit from `since` on names in the end; `mine` lists them all.

    All of them stay where a commit that names them may still appear. That is so where a commit is
    uncertain and, without a lock, where one was interrupted. If none appears, a later vacuum clears
    them away.
    """
    try:
        yield
    except BaseException as error:
        is_settled = isinstance(error, Exception) or files.is_local
        if is_settled and not isinstance(error, CommitUncertain):
            Log(files).remove_unnamed(mine(), since)
        raise
    Log(files).remove_unnamed(mine(), since)


@dataclass(frozen=True)
class Staged:
    """What one task has staged."""

    shards: int
    """How many shards the index had."""
    summary: Mapping[int, Found]
    """What was found for each slot."""
    null_keys: int
    """How many rows had no key."""
    over: int
    """How many rows were over when they came."""
    sent: Sent
    """All rows that were sent to it."""
    parts: Mapping[int, Part]
    """The part for each shard that got rows."""

    def to_json(self) -> dict[str, Any]:
        """As a task sends it."""
        return {
            "shards": self.shards,
            "summary": {
                str(slot): [found.rows, f"{found.content:016x}", found.latest]
                for slot, found in self.summary.items()
            },
            "null_keys": self.null_keys,
            "over": self.over,
            "sent": self.sent.identity,
            "parts": {str(shard): part.to_json() for shard, part in self.parts.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Staged:
        """What a task sent."""
        return cls(
            data["shards"],
            {
                int(slot): Found(rows, int(content, 16), latest)
                for slot, (rows, content, latest) in data["summary"].items()
            },
            data["null_keys"],
            data["over"],
            Sent.of(data["sent"]),
            {int(shard): Part.from_json(part) for shard, part in data["parts"].items()},
        )


def stage(files: AnyFiles, definition: Definition, rows: pa.Table, at: Any, stem: str) -> Staged:
    """Write rows as one packed part a shard.

    `at` is what was said of their time. Rows without a key are counted; `gather` says whether they
    may be. Raises what `arrive` raises, except NullKeys. ENSURES: the parts last.
    """
    arriving = arrive(rows, replace(definition, nulls="skip"), at)
    spec = definition.spec
    homes = files.homes(folder_of(stem))
    parts = {}
    shares = split_by_shard(arriving.batch, spec, definition.shards, arriving.slots)
    for shard, share in enumerate(shares):
        if share.num_rows:
            batch = share.batch()
            held = frozenset(distinct(share.slots)[0].tolist())
            own = f"{homes[shard % len(homes)]}/{brought_stem(base_of(stem), shard)}"
            born = born_in(batch, spec, definition.slotting)
            built = definition.package.build(files, spec, own, Pieces.of(batch), held)
            parts[shard] = replace(built, born=born)
    return Staged(
        definition.shards,
        arriving.summary,
        arriving.null_keys,
        arriving.over,
        arriving.sent,
        parts,
    )


def gather(definition: Definition, messages: Iterable[Staged]) -> Arriving:
    """The rows that all tasks have staged.

    Raises NullKeys where the index allows none, ConcurrentWrite where it has other shards now.
    """
    summary: dict[int, Found] = {}
    staged: list[list[Part]] = [[] for _ in range(definition.shards)]
    null_keys, over, sent = 0, 0, NOTHING_SENT
    for message in messages:
        if message.shards != definition.shards:
            raise ConcurrentWrite(
                f"The index was migrated from {message.shards} to {definition.shards} shards "
                "while rows were staged for it. Nothing was changed; write them again."
            )
        null_keys += message.null_keys
        over += message.over
        sent |= message.sent
        for slot, found in message.summary.items():
            summary[slot] = summary.get(slot, NO_ROWS) + found
        for shard, part in message.parts.items():
            staged[shard].append(part)
    if null_keys and definition.nulls == "error":
        total = null_keys + sum(found.rows for found in summary.values())
        raise no_keys(definition, null_keys, total)
    return replace(
        nothing(definition),
        summary=dict(sorted(summary.items())),
        null_keys=null_keys,
        over=over,
        sent=sent,
        staged=tuple(map(tuple, staged)),
    )


def read_rows(files: AnyFiles, definition: Definition, arriving: Arriving) -> pa.Table:
    """The rows themselves, wherever they are. Raises Damaged."""
    batches = [arriving.batch]
    checked = CheckedParts()
    for part in (part for parts in arriving.staged for part in parts):
        opened = checked.open(files, definition.spec, part)
        batches += [opened.scan(w) for w in part.ranges(part.shown, definition.slotting)]
    table = pa.Table.from_batches(batches, definition.spec.schema)
    return table.select(definition.schema.names)


def file_names(messages: Sequence[Staged]) -> list[str]:
    """The files that tasks have written."""
    return [
        file.name
        for message in messages
        for part in message.parts.values()
        for file in part.files.values()
    ]
