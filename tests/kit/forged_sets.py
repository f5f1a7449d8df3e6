"""What somebody may put into the folder of a set over time, under good checksums."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import xxhash

from wavedex.files import names
from wavedex.files.local import Files
from wavedex.files.names import LOG, SET
from wavedex.log.codec import seal
from wavedex.log.outside import Outside
from wavedex.rows.arrays import write_batch
from wavedex.temporal.commit import Changed
from wavedex.temporal.folder import SetFolder

LATER = 160
"""A time behind the changes of the sets that are forged."""
WORDS = (-1, 0, 1, 2**31, 2**63, 2**100, 0.5, -1e400, "", "x", "../x", True, None, [], {}, [[]])
EXTREMES = (-1, -2, 0, 1, 2, -(2**31), 2**31 - 1, 2**31 - 2, -(2**63), 2**63 - 1, 1 << 20)


class Forged(NamedTuple):
    """What a folder writes a base of."""

    arrays: dict[str, Any]
    changes: int
    columns: Any


def _evil(rng: random.Random, values: np.ndarray[Any, Any], sizes: list[int]) -> int:
    """A number that leads somewhere else."""
    choice = rng.randrange(4)
    if choice == 0:
        found = rng.choice(EXTREMES)
    elif choice == 1:
        found = rng.choice(sizes) + rng.randrange(-1, 2)
    elif choice == 2:
        found = int(values.reshape(-1)[rng.randrange(values.size)]) if values.size else 0
    else:
        found = rng.randrange(-3, max(sizes) + 3)
    limits = np.iinfo(values.dtype)
    return min(max(found, int(limits.min)), int(limits.max))


def _put(rng: random.Random, values: np.ndarray[Any, Any], sizes: list[int]) -> None:
    """Put evil numbers into some places. Those of pages are mostly put into headers."""
    halves = values.view(np.int32) if values.ndim == 2 and values.dtype == np.int64 else values
    for _ in range(rng.choice((1, 1, 1, 2, 5, 30))):
        if halves.ndim == 2 and halves.shape[0]:
            row, other = rng.randrange(halves.shape[0]), rng.randrange(halves.shape[0])
            width = halves.shape[1]
            column = rng.randrange(min(12, width) if rng.random() < 0.6 else width)
            is_known = rng.random() < 0.5
            evil = halves[other, column] if is_known else _evil(rng, halves, sizes)
            halves[row, column] = evil
        elif values.size:
            values.reshape(-1)[rng.randrange(values.size)] = _evil(rng, values, sizes)


def _swap(rng: random.Random, values: np.ndarray[Any, Any], sizes: list[int]) -> None:
    """Exchange two entries, or two columns of two rows: lists go round in circles."""
    halves = values.view(np.int32) if values.ndim == 2 and values.dtype == np.int64 else values
    if len(halves) < 2:
        return
    one, other = rng.sample(range(len(halves)), 2)
    if halves.ndim == 2 and rng.random() < 0.8:
        columns = [rng.randrange(min(12, halves.shape[1]))]
    else:
        columns = [...]  # type: ignore[list-item]
    for column in columns:
        at = (slice(None), column) if halves.ndim == 2 else (slice(None),)
        lines = halves[at]
        lines[[one, other]] = lines[[other, one]]


def _nudge(rng: random.Random, values: np.ndarray[Any, Any]) -> None:
    """Make a few numbers others that could well be there: many of them no check can know."""
    halves = values.view(np.int32) if values.ndim == 2 and values.dtype == np.int64 else values
    lines = halves if halves.ndim == 2 else halves.reshape(-1, 1)
    for _ in range(rng.choice((1, 1, 2, 4)) if lines.size else 0):
        row, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        column = rng.randrange(min(12, lines.shape[1]) if rng.random() < 0.4 else lines.shape[1])
        if rng.random() < 0.5:
            lines[row, column] = lines[other, column]
        else:
            lines[row, column] ^= rng.choice((1, 2, 3))


def _tie(rng: random.Random, values: np.ndarray[Any, Any]) -> None:
    """Have rows lead to themselves, to each other, or all to one: lists without an end."""
    halves = values.view(np.int32) if values.ndim == 2 and values.dtype == np.int64 else values
    lines = halves if halves.ndim == 2 else halves.reshape(-1, 1)
    count = len(lines)
    if not lines.size or np.iinfo(lines.dtype).max < count:
        return
    column = lines[
        :, rng.randrange(min(12, lines.shape[1]) if rng.random() < 0.5 else lines.shape[1])
    ]
    linked = np.flatnonzero((column >= 0) & (column < count))
    rows = np.arange(count) if rng.random() < 0.3 or not len(linked) else linked
    if rng.random() < 0.6:
        rows = rows[[rng.randrange(len(rows)) for _ in range(rng.choice((1, 1, 2, 4)))]]
    way = rng.randrange(5)
    if way < 3:
        column[rows] = (rows + way - 1) % count
    elif way == 3:
        column[rows] = rng.choice(rows.tolist())
    else:
        column[rows] = column[rows[::-1]]


def forged(rng: random.Random, good: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a set, some of them spoiled."""
    arrays = {
        name: values.copy() if isinstance(values, np.ndarray) else values
        for name, values in good.items()
    }
    sizes = [len(values) for values in arrays.values()] + [LATER, 6, 12]
    is_subtle = rng.random() < 0.6
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice([*arrays])
        values, way = arrays[name], rng.randrange(20)
        if is_subtle and isinstance(values, np.ndarray):
            (_tie if rng.random() < 0.5 else _nudge)(rng, values)
            continue
        if not isinstance(values, np.ndarray):
            arrays[name] = _forged_rows(rng, values)
        elif way < 11:
            _put(rng, values, sizes)
        elif way < 14:
            _swap(rng, values, sizes)
        elif way == 14:
            arrays[name] = values[: rng.randrange(len(values) + 1)].copy()
        elif way == 15:
            more = values[-rng.randrange(1, 4) :] if rng.random() < 0.5 else np.zeros_like(values)
            arrays[name] = np.concatenate([values, more])
        elif way == 16:
            other = rng.choice((np.int8, np.int16, np.int32, np.int64, np.uint32, np.uint64))
            arrays[name] = values.astype(other)
        elif way == 17:
            width = rng.randrange(1, 9)
            flat = values.reshape(-1)
            arrays[name] = flat[: len(flat) // width * width].reshape(-1, width)
        elif way == 18:
            del arrays[name]
        else:
            arrays[name] = arrays[rng.choice([*arrays])]
    return arrays


def _forged_rows(rng: random.Random, values: pa.Array) -> pa.Array:
    """Carried rows that are fewer, others, or whose texts lie nowhere."""
    way = rng.randrange(4)
    if way == 0 and pa.types.is_string(values.type) and len(values) > 1:
        offsets = np.frombuffer(values.buffers()[1], np.int32).copy()
        offsets[rng.randrange(1, len(values))] = rng.choice((-1, 2**31 - 1, 10**6))
        buffers = [None, pa.py_buffer(offsets), values.buffers()[2]]
        return pa.Array.from_buffers(values.type, len(values), buffers)
    if way == 1:
        return values.slice(0, rng.randrange(len(values) + 1))
    return pa.array(range(len(values)), pa.int16()) if way == 2 else values.slice(0, 0)


def forge_base(path: Path, arrays: dict[str, Any]) -> None:
    """Commit a base that holds these arrays."""
    folder = SetFolder.open(path, Outside(files=Files))
    held = folder.load()
    assert held.state is not None
    state = Forged(arrays, held.state.changes, held.state.columns)
    folder.write(held, state, [], {}, whole=True)  # type: ignore[arg-type]


def forge_changes(rng: random.Random, path: Path, events: pa.Table) -> None:
    """Commit changes that nobody can have made."""
    folder = SetFolder.open(path, Outside(files=Files))
    before, (batch,) = folder.journal.latest(), events.combine_chunks().to_batches()
    columns = [*batch.columns]
    sign = np.int32 if folder.definition.counted else np.int8
    limits = np.iinfo(sign)
    signs = np.array(columns[2], sign)
    times = np.array(columns[1])
    for _ in range(rng.choice((0, 1, 5, 100))):
        signs[rng.randrange(len(signs))] = rng.choice((0, 1, -1, 2, -2, limits.min, limits.max))
    for _ in range(rng.choice((0, 0, 1, 3))):
        times[rng.randrange(len(times))] = rng.choice((*EXTREMES, 2**62 - 1, LATER, 2 * LATER))
    columns[1:3] = pa.array(times), pa.array(signs)
    for place in range(len(columns)):
        if rng.random() < 0.1:
            columns[place] = columns[place].take(pa.array([None, *range(len(batch) - 1)]))
    made = pa.RecordBatch.from_arrays(columns, names=[str(each) for each in range(len(columns))])
    name = names.set_file(before.commit + 1, "f" * 8, "changes")
    ref = folder.files.create(name, lambda sink: write_batch(sink, made))
    segments = (*before.segments, Changed(ref, len(made)))
    folder.journal.commit(before.next("", "f" * 8, segments=segments), "f" * 8, before)


def forge_words(rng: random.Random, path: Path) -> None:
    """Have the definition or the newest commit say something else."""
    newest, first = max((path / LOG).iterdir()), path / SET
    body, said = json.loads(newest.read_text())["set"], json.loads(first.read_text())
    for _ in range(rng.choice((1, 1, 2))):
        settings = said.get("settings") if isinstance(said.get("settings"), dict) else {}
        inner: Any = rng.choice((body, body, said, settings or body))
        key = rng.choice([*inner])
        while isinstance(inner[key], list | dict) and inner[key] and rng.random() < 0.8:
            inner = inner[key]
            key = rng.choice([*inner] if isinstance(inner, dict) else range(len(inner)))
        inner[key] = rng.choice(WORDS)
    first.write_text(json.dumps(said))
    if rng.random() < 0.9:
        body["definition"] = xxhash.xxh64_hexdigest(first.read_bytes())
    newest.write_bytes(seal("set", body))
