"""Trials of damage.

An index is copied, one of its files is damaged, and then it is asked and written to. Run as a
script, `damage_trials.py FOLDER CASE ROUNDS`, since Arrow may not survive what is in a damaged
file: it prints each trial before it begins, a line for whatever went wrong in it, and at last what
came of all of them. A round has a trial for each kind of file and each kind of damage. A trial is
known by its number, which is its seed too.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import wavedex as wx
from wavedex.errors import (
    Damaged,
    NewerFormat,
    NotAnIndex,
    OlderFormat,
    PreparationOwed,
    WavedexError,
)
from wavedex.files.local import Files
from wavedex.log.manifest import Log

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string()), ("n", pa.int64())])
LIVES = pa.schema([("k", pa.string()), ("b", pa.int64()), ("e", pa.int64()), ("v", pa.string())])
KEYS = [f"key {number}" for number in range(12)]
LAST = 7
NOW = 11

Asked = Callable[[Any], pa.Table]
Write = Callable[[Any], object]


def rows_of(slot: int, count: int = 40) -> pa.Table:
    draw = random.Random(slot)
    rows = [
        {
            "k": draw.choice(KEYS),
            "t": slot * 10 + draw.randrange(10),
            "v": f"{draw.choice(['plain', 'naïve', ''])} {draw.randrange(9)}",
            "n": draw.randrange(10**9),
        }
        for _ in range(count)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def lives_of(now: int, count: int = 30) -> pa.Table:
    draw = random.Random(now)
    rows = [
        {
            "k": draw.choice(KEYS),
            "b": now,
            "e": now + draw.randrange(2, 8),
            "v": f"row {number} of {now}",
        }
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows, LIVES)


def make_wave(path: Path, **options: Any) -> None:
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=5, indexes=3, shards=2, **options
    )
    for slot in range(1, LAST + 1):
        index.append(rows_of(slot))


def make_stream(path: Path, **options: Any) -> None:
    index = wx.WaveIndex.create(
        path, SCHEMA, key="k", time="t", slot=10, window=5, indexes=3, shards=1, **options
    )
    for slot in range(1, LAST + 1):
        index.feed(rows_of(slot), stream="s", number=slot - 1, delay=15)


def make_lives(path: Path, **options: Any) -> None:
    index = wx.LifetimeIndex.create(
        path, LIVES, key="k", inserted="b", expires="e", max_lifetime=8, refresh=1, grid=(2, 2),
        shards=1, **options,
    )  # fmt: skip
    for now in range(1, NOW + 1):
        index.update(now, lives_of(now))
    for at in (NOW - 1, NOW):
        index.retract(NOW, some_living(at))


def some_living(now: int) -> pa.Table:
    rows = [row for row in lives_of(now).to_pylist() if row["e"] > NOW + 2]
    return pa.Table.from_pylist(rows[1:3], LIVES)


def others_living(now: int) -> pa.Table:
    rows = [row for row in lives_of(now).to_pylist() if row["e"] > NOW + 2]
    return pa.Table.from_pylist([{**rows[3], "e": NOW + 5}], LIVES)


MAKERS: dict[str, Callable[[Path], None]] = {
    "packed": partial(make_wave, update="packed-shadow", scheme="reindex+"),
    "runs": partial(make_wave, update="runs", scheme="wata"),
    "parquet": partial(make_wave, update="packed-shadow", scheme="del", format="parquet"),
    "contiguous": partial(make_wave, update="in-place", scheme="del"),
    "shadow": partial(make_wave, update="simple-shadow", scheme="reindex++"),
    "chained": partial(make_wave, update="in-place", scheme="del", format="chained"),
    "sqlite": partial(make_wave, update="packed-shadow", scheme="wata", format="sqlite"),
    "sqlite in place": partial(make_wave, update="in-place", scheme="wata", format="sqlite"),
    "stream": partial(make_stream, update="runs", scheme="wata"),
    "lives": partial(make_lives, method="rebuild"),
    "lives in chains": partial(make_lives, method="no-rebuild"),
}

WAVE_WRITES: dict[str, Write] = {
    "append": lambda index: index.append(rows_of(LAST + 1)),
    "amend": lambda index: index.amend(rows_of(LAST - 1, 5)),
    "migrate": lambda index: index.migrate(shards=3),
    "erase": lambda index: index.erase([KEYS[3]]),
}
STREAM_WRITES: dict[str, Write] = {
    "feed": lambda index: index.feed(rows_of(LAST + 2), stream="s", number=LAST, delay=15),
    "erase": WAVE_WRITES["erase"],
    "migrate": WAVE_WRITES["migrate"],
}
LIFE_WRITES: dict[str, Write] = {
    "update": lambda index: index.update(NOW + 1, lives_of(NOW + 1)),
    "prolong": lambda index: index.prolong(NOW, others_living(NOW)),
    "retract": lambda index: index.retract(NOW, some_living(NOW - 3)),
    "erase": WAVE_WRITES["erase"],
    "migrate": WAVE_WRITES["migrate"],
}
ASKED: list[Asked] = [
    lambda index: index.scan().read_all(),
    lambda index: index.scan(dictionaries=True).read_all(),
    lambda index: index.probe_many(KEYS),
    lambda index: index.probe_range(KEYS[1], KEYS[4]),
    *(partial(lambda key, index: index.probe(key), key) for key in (*KEYS[:4], "nobody")),
]


def writes_of(case: str) -> dict[str, Write]:
    if case.startswith("lives"):
        return LIFE_WRITES
    return STREAM_WRITES if case == "stream" else WAVE_WRITES


# -- damage ----------------------------------------------------------------------------------------


def flip(data: bytearray, draw: random.Random) -> bytearray:
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return data


def replace_byte(data: bytearray, draw: random.Random) -> bytearray:
    data[draw.randrange(len(data))] = draw.randrange(256)
    return data


def zeros(data: bytearray, draw: random.Random) -> bytearray:
    at = draw.randrange(max(1, len(data) - 16))
    data[at : at + 16] = bytes(len(data[at : at + 16]))
    return data


def truncate(data: bytearray, draw: random.Random) -> bytearray:
    return data[: draw.randrange(len(data))]


def extend(data: bytearray, draw: random.Random) -> bytearray:
    return data + draw.randbytes(draw.randrange(1, 64))


DAMAGES = [flip, replace_byte, zeros, truncate, extend, None, "swap"]
"""What is done to a file.

It is removed with None, and takes the place of another of its kind with the last.
"""


def damage(path: Path, name: str, how: Any, draw: random.Random) -> bool:
    """Do it, and say whether the file is another then."""
    file = path / name
    before = file.read_bytes()
    if how is None:
        # Without its last manifest an index is what it was a commit before, and nobody can tell.
        if file.parent.name != "log":
            file.unlink()
        return file.parent.name != "log"
    if how == "swap":
        others = [o for o in file.parent.glob(f"*{file.suffix}") if o.read_bytes() != before]
        if not others:
            return False
        file.write_bytes(draw.choice(sorted(others)).read_bytes())
        return True
    file.write_bytes(how(bytearray(before), draw) if before else draw.randbytes(3))
    return file.read_bytes() != before


# -- trials ----------------------------------------------------------------------------------------


def answers(index: Any) -> list[list[str]]:
    return [sorted(map(repr, asked(index).to_pylist())) for asked in ASKED]


def touched(table: pa.Table) -> None:
    """Look at every value, so that what leads out of memory shows.

    Text that is none counts as bytes.
    """
    for column in table.columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        column = column.cast(kind)
        (column.cast(pa.binary()) if pa.types.is_string(kind) else column).to_pylist()


def ask_checked(path: Path, truth: list[list[str]]) -> Iterator[str]:
    try:
        if answers(wx.open(path, check=True)) != truth:
            yield "ANOTHER ANSWER with check"
    except Damaged:
        pass
    except (NewerFormat, OlderFormat, NotAnIndex) as error:
        if "index.json" not in str(error):
            yield f"{type(error).__name__} with check: {error}"
    except BaseException as error:
        yield f"{type(error).__name__} with check: {error}"


def ask_unchecked(path: Path) -> Iterator[str]:
    index = None
    for asked in ASKED:
        try:
            index = index or wx.open(path)
            found = asked(index)
        except WavedexError:
            continue
        except BaseException as error:
            yield f"{type(error).__name__} without check: {error}"
            return
        touched(found)


def write(path: Path, name: str, act: Write, truths: dict[str, list[list[str]]]) -> Iterator[str]:
    try:
        act(wx.open(path))
        expected = truths[name]
    except PreparationOwed:
        expected = truths[name]
    except WavedexError:
        expected = truths[""]
    except BaseException as error:
        yield f"{type(error).__name__} of {name}: {error}"
        return
    try:
        wx.open(path).verify()
    except WavedexError:
        return
    except BaseException as error:
        yield f"{type(error).__name__} of verify after {name}: {error}"
        return
    if answers(wx.open(path)) != expected:
        yield f"LAUNDERED by {name}"


def find_truths(case: str, made: Path, scratch: Path) -> dict[str, list[list[str]]]:
    """The answers of the index as it was made, and after each write."""
    found = {"": answers(wx.open(made))}
    for name, act in writes_of(case).items():
        shutil.copytree(made, scratch)
        act(wx.open(scratch))
        found[name] = answers(wx.open(scratch))
        shutil.rmtree(scratch)
    return found


def victims_of(made: Path) -> list[list[str]]:
    """The files that count, by their kinds.

    Those of the newest commit, its manifest, and the definition.
    """
    log = Log(Files(made))
    newest = log.latest()
    hidden = {
        ref.name
        for sub in newest.everything.values()
        for part in sub.parts
        if part.hidden is not None
        for ref in part.hidden.all_files
    }
    kinds: dict[str, list[str]] = {}
    for name in sorted(newest.files):
        if (made / name).exists():
            kinds.setdefault(("hidden" if name in hidden else "") + Path(name).suffix, []).append(
                name
            )
    manifests = [f"log/{newest.commit:020d}.json"]
    return [*kinds.values(), manifests, ["index.json"]]


def say(*words: object) -> None:
    """A line that is out even if the process ends at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def run(folder: Path, case: str, rounds: int) -> None:
    made, scratch = folder / "made", folder / "trial"
    MAKERS[case](made)
    truths = find_truths(case, made, scratch)
    kinds, writes = victims_of(made), [*writes_of(case).items()]
    came: Counter[str] = Counter()
    tried = [(files, how) for _ in range(rounds) for files in kinds for how in DAMAGES]
    for trial, (files, how) in enumerate(tried):
        draw = random.Random(trial)
        name, act = draw.choice(files), draw.choice(writes)
        say("TRIAL", trial, name, getattr(how, "__name__", how), act[0])
        shutil.copytree(made, scratch)
        wrong: list[str] = []
        if damage(scratch, name, how, draw):
            wrong += ask_checked(scratch, truths[""])
            wrong += ask_unchecked(scratch)
            wrong += write(scratch, *act, truths)
            came["wrong" if wrong else "right"] += 1
        for each in wrong:
            say("WRONG", trial, each)
        shutil.rmtree(scratch)
    say("END", dict(came))


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
