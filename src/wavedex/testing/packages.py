"""The contract of a package: what a format must do to hold sub-indexes, as clauses to run.

`contract("my_format")` lists them. Each is called with an empty folder, and raises what went wrong.
With pytest:

    @pytest.mark.parametrize("clause", contract("my_format"), ids=str)
    def test_my_package(clause, tmp_path):
        clause(tmp_path)

- Every scheme is walked through, with the techniques that go with the format. All questions are
  asked along the way, and the answers compared with an oracle.
- Keys and values of every type come back as they were, or are refused with BadDefinition.
- Streams, changes, and columns with odd names.
- Erased rows are in no file; a bit that turned over is found by `verify`, or does no harm; an
  append crashes before each of its changes to the disk. These look at files, and are left out
  where the rows live elsewhere (`Format.sweep`).

>>> import tempfile
>>> clauses = {str(clause): clause for clause in contract("arrow")}
>>> with tempfile.TemporaryDirectory() as folder:
...     clauses["wata with runs"](folder)
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wavedex.engine.techniques import TECHNIQUES
from wavedex.index.core.manner import NOW, PREPARE_VARIABLE
from wavedex.plan import SCHEMES
from wavedex.store.formats import find_format
from wavedex.testing import package_trials as trials
from wavedex.testing.crashes import DISKS
from wavedex.testing.package_rows import KEY_TYPES

GROWING = [name for name, technique in TECHNIQUES.items() if technique.writes_into_files]
WHOLE = [name for name in TECHNIQUES if name not in GROWING]


@dataclass(frozen=True)
class Clause:
    """One thing that a package must do. Call it with an empty folder."""

    name: str
    """What must hold, and with which technique."""
    act: Callable[[Path], None]
    """Tries it at a path that is free."""

    def __call__(self, folder: str | Path) -> None:
        """Try it. Raises AssertionError, Damaged, or what the package raised."""
        with _preparing_at_once():
            self.act(Path(folder) / "index.wx")

    def __str__(self) -> str:
        return self.name


@contextmanager
def _preparing_at_once() -> Iterator[None]:
    """Writes that prepare before they return: clauses look at files, and copy them."""
    before = os.environ.get(PREPARE_VARIABLE)
    os.environ[PREPARE_VARIABLE] = NOW
    try:
        yield
    finally:
        if before is None:
            del os.environ[PREPARE_VARIABLE]
        else:
            os.environ[PREPARE_VARIABLE] = before


def contract(
    format: str,  # noqa: A002 - as everywhere
    *,
    thorough: bool = False,
    **options: Any,
) -> list[Clause]:
    """The clauses for a format that this process has registered.

    `options` are further ones of `WaveIndex.create`. `thorough` walks each scheme through with each
    technique, and crashes before each change on every kind of disk; otherwise they take turns.
    """
    found = find_format(format)
    updates = [*TECHNIQUES] if found.updates is not None else WHOLE
    clauses = [*_of_schemes(updates, found.deletes, thorough, {"format": format, **options})]
    for place, update in enumerate(updates):
        how = {"format": format, "update": update, **options}
        kinds = [*KEY_TYPES] if thorough else [*KEY_TYPES][place % 2 :: 2]
        clauses += _of_rows(update, how, kinds)
        if found.sweep is None:
            clauses += _of_files(update, how, None if thorough else place)
    return clauses


def _of_schemes(
    updates: Sequence[str], deletes: bool, thorough: bool, how: Mapping[str, Any]
) -> Iterator[Clause]:
    for place, (scheme, kind) in enumerate(SCHEMES.items()):
        fit = [each for each in updates if deletes or each in WHOLE or not kind.needs_delete]
        chosen = fit if thorough or scheme == "wata" else [fit[place % len(fit)]]
        for update in chosen:
            walk = partial(trials.walk_through, scheme=scheme, update=update, **how)
            yield Clause(f"{scheme} with {update}", walk)


def _of_rows(update: str, how: Mapping[str, Any], kinds: Sequence[str]) -> Iterator[Clause]:
    for kind in kinds:
        arrow_type, keys = KEY_TYPES[kind]
        act = partial(trials.check_keys, kind=arrow_type, keys=keys, **how)
        yield Clause(f"keys of type {kind} with {update}", act)
    yield Clause(f"values with {update}", partial(trials.check_values, **how))
    yield Clause(f"a stream with {update}", partial(trials.check_stream, **how))
    yield Clause(f"changes with {update}", partial(trials.check_changes, **how))
    yield Clause(f"odd names with {update}", partial(trials.check_odd_names, **how))


def _crashes(turn: int | None) -> list[tuple[str, str]]:
    """A scheme and a disk by turns; all of them if it is nobody's turn."""
    schemes, disks = ("wata", "reindex++"), [*DISKS]
    if turn is None:
        return [*itertools.product(schemes, disks)]
    return [(schemes[turn % len(schemes)], disks[turn % len(disks)])]


def _of_files(update: str, how: Mapping[str, Any], turn: int | None) -> Iterator[Clause]:
    yield Clause(f"erased rows with {update}", partial(trials.check_erased, **how))
    yield Clause(f"turned bits with {update}", partial(trials.check_turned_bits, **how))
    for scheme, disk in _crashes(turn):
        every = 1 if turn is None else 2
        act = partial(trials.check_crashes, scheme=scheme, disk=disk, every=every, **how)
        yield Clause(f"crashes of {scheme} with {update}, disk: {disk}", act)
