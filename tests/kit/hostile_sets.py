"""Sets over time whose base somebody else made: arrays that hold anything, under good checksums.

As a program it tries some of them, one after the other, and says which it begins with and what it
saw. A set may say what it likes. It may not end the process, keep it for ever, or raise errors that
have no name of ours.
"""

from __future__ import annotations

import faulthandler
import random
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kit.forged_sets import LATER, forge_base, forge_changes, forge_words, forged
from wavedex.errors import WavedexError
from wavedex.temporal import TemporalSet
from wavedex.temporal.hashing.catalogue import HASHINGS
from wavedex.temporal.methods.catalogue import METHODS, settings_of

HANGS_S = 60.0
"""A trial that takes so long is taken for one that does not end."""
BYTES_MAX = 6 << 30
"""More memory than any trial may take."""
IDS = 40
TIMES = LATER


class Kind(NamedTuple):
    """One kind of sets."""

    method: str
    hashing: str | None
    ids: str
    what: str
    """Whether ids are alone, carry rows, or are counted."""


def kinds() -> list[Kind]:
    """All kinds of sets that are attacked."""
    found = []
    for method in METHODS:
        hashings = HASHINGS if hasattr(settings_of(method, {}), "hashing") else (None,)
        found += [
            Kind(method, hashing, ids, what)
            for hashing in hashings
            for ids in ("numbers", "texts", "tuples")
            for what in ("alone", "rows", "counted")
        ]
    return found


def _oid(kind: Kind, number: int) -> Any:
    if kind.ids == "numbers":
        return 3 * number - 5
    return f"id {number}" if kind.ids == "texts" else (f"t{number % 5}", number)


def _events(kind: Kind, rng: random.Random, start: int, stop: int, there: set[int]) -> pa.Table:
    """Some changes from a time on; who is there is known and kept."""
    rows = []
    for time in range(start, stop):
        for number in rng.sample(range(IDS), 2):
            rows.append((_oid(kind, number), time, -1 if number in there else 1))
            there ^= {number}
    oids, times, signs = zip(*rows, strict=True)
    first = oids[0]
    if isinstance(first, tuple):
        texts, numbers = (pa.array([oid[place] for oid in oids]) for place in (0, 1))
        column: Any = pa.StructArray.from_arrays([texts, numbers], names=["f0", "f1"])
    else:
        column = pa.array(oids)
    columns = {"oid": column, "time": pa.array(times), "op": pa.array(signs, pa.int8())}
    if kind.what == "rows":
        columns |= {"v": pa.array(times), "said": pa.array([f"row {time}" for time in times])}
    return pa.table(columns)


class Sound(NamedTuple):
    """A set as it should be, to begin with."""

    path: Path
    arrays: dict[str, Any]
    there: set[int]


def sound(kind: Kind, folder: Path) -> Sound:
    """A small set of a kind."""
    settings: dict[str, Any] = {} if kind.hashing is None else {"hashing": kind.hashing}
    if kind.hashing is not None:
        settings |= {"buckets": 2, "low": 0.8, "high": 1.5}
    path, there = folder / f"{'-'.join(map(str, kind))}.wxt", set[int]()
    found = TemporalSet.create(
        path, method=kind.method, page_records=6, counted=kind.what == "counted", **settings
    )
    found.load(_events(kind, random.Random(7), 0, TIMES, there))
    found.commit()
    state = found._state
    assert state is not None
    return Sound(path, dict(state.arrays), there)


# -- asking ---------------------------------------------------------------------------------------


def acts(
    kind: Kind, path: Path, rng: random.Random, there: set[int]
) -> Iterator[Callable[[], Any]]:
    """All that can be done with a set, asked again after it has changed."""
    found = TemporalSet.open(path)

    def ask() -> Iterator[Callable[[], Any]]:
        oids = [_oid(kind, number) for number in range(-1, IDS + 2)]
        for time in (-5, 0, 3, TIMES // 2, TIMES - 1, TIMES + 50):
            yield lambda time=time: _whole(found.snapshot(time))  # type: ignore[misc]
            yield lambda time=time: _whole(found.range(oids[2], oids[-4], time))  # type: ignore[misc]
            yield lambda time=time: _bools(found.contains_many(oids, [time] * len(oids)), oids)  # type: ignore[misc]
            for oid in oids[::3]:
                yield lambda time=time, oid=oid: _is(found.contains(oid, time), bool)  # type: ignore[misc]
                yield lambda time=time, oid=oid: found.row(oid, time)  # type: ignore[misc]
                yield lambda time=time, oid=oid: _is(  # type: ignore[misc]
                    found.contains_during(oid, time, time + 40), bool
                )
        for oid in oids:
            yield lambda oid=oid: _whole(found.lifespans(oid))  # type: ignore[misc]
        yield lambda: _whole(found.lifespans())
        yield lambda: _whole(found.join(found))
        yield lambda: _whole(found.counts())
        yield lambda: (len(found), found.first, found.last, found.pages, repr(found))
        yield lambda: _is(found.verify(), list)
        yield lambda: (_whole(found.sizes()), str(found.draw()))
        for bucket in (0, 1, found.buckets - 1):
            yield lambda bucket=bucket: _whole(found.bucket(bucket))  # type: ignore[misc]
            yield lambda bucket=bucket: str(found.draw(bucket))  # type: ignore[misc]

    yield from ask()
    carried = {"v": 1, "said": "more"} if kind.what == "rows" else None
    for time in range(TIMES, TIMES + 30):
        number = rng.randrange(IDS + 20)
        yield lambda time=time, number=number: found.add(_oid(kind, number), time, carried)  # type: ignore[misc]
        number = rng.randrange(IDS)
        yield lambda time=time, number=number: found.remove(_oid(kind, number), time)  # type: ignore[misc]
    yield from ask()
    yield found.refresh
    events = _events(kind, rng, TIMES + 30, 2 * TIMES, {*there})
    yield lambda: found.load(events)
    yield from ask()
    yield found.commit
    yield lambda: found.erase([_oid(kind, 2)])
    yield lambda: found.forget(TIMES // 3)
    yield found.compact
    yield from ask()


def _is(found: object, kind: type) -> None:
    assert isinstance(found, kind | np.bool_ if kind is bool else kind), repr(found)


def _bools(found: Any, asked: list[Any]) -> None:
    assert found.dtype == np.bool_
    assert len(found) == len(asked)


def _whole(found: pa.Table) -> None:
    found.validate(full=True)


class Tried(NamedTuple):
    """What came of one trial."""

    refused: bool
    """Whether the set was not opened, by an error of ours."""
    wrong: str
    """What happened that must not; empty if nothing did."""


def attempt(seed: int, goods: dict[Kind, Sound], folder: Path) -> Tried:
    """Forge a set, and use it."""
    rng = random.Random(seed)
    every = kinds()
    kind = every[seed % len(every)]
    if kind not in goods:
        goods[kind] = sound(kind, folder)
    good, path = goods[kind], folder / "forged.wxt"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(good.path, path)
    way = rng.randrange(10)
    if way == 0:
        forge_words(rng, path)
    elif way == 1:
        forge_changes(rng, path, _events(kind, rng, TIMES, TIMES + 40, {*good.there}))
    else:
        forge_base(path, forged(rng, good.arrays))
    return use(kind, path, rng, good.there)


def use(kind: Kind, path: Path, rng: random.Random, there: set[int]) -> Tried:
    """Do all that can be done with a set."""
    refused = True
    try:
        for act in acts(kind, path, rng, there):
            refused = False
            try:
                act()
            except WavedexError:
                continue
    except WavedexError:
        return Tried(refused, "")
    except BaseException:
        return Tried(False, f"{kind}\n{traceback.format_exc()}")
    return Tried(False, "")


def say(*words: object) -> None:
    """Say it now: what ends this process may be next."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(first: int, count: int) -> None:
    """Try so many seeds, and say what came of each."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
    goods: dict[Kind, Sound] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            say("begin", seed)
            is_new = kinds()[seed % len(kinds())] not in goods  # Its loops may have to be compiled.
            faulthandler.dump_traceback_later(HANGS_S * (10 if is_new else 1), exit=True)
            tried = attempt(seed, goods, Path(folder))
            faulthandler.cancel_dump_traceback_later()
            if tried.wrong:
                say("wrong", seed, tried.wrong)
            say("end", seed, int(tried.refused))


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]))
