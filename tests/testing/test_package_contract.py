"""The contract of a package notices packages that do not keep it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kit.toy_package import Lines, build, check
from wavedex.errors import Damaged, UnknownScheme
from wavedex.store.formats import register
from wavedex.store.package import Format
from wavedex.store.part import Part
from wavedex.testing.packages import contract


class Ranged(Lines):
    """Leaves out the end of a range."""

    def probe_range(self, low, high, within):
        return self._where(lambda key: low <= key < high, within)


class Timeless(Lines):
    """Hands out rows of any time."""

    def _within(self, rows, within):
        return rows


class Repeating(Lines):
    """Answers twice where a key is asked for among others."""

    def probe_many(self, keys, hashes, within):
        found = super().probe_many(keys, hashes, within)
        return pa.concat_batches([found, found])


def unsynced(files, spec, stem, rows, held) -> Part:
    lines = "".join(json.dumps(row) + "\n" for row in rows.batch().to_pylist())
    ref = files.create(f"{stem}.jsonl", lambda sink: sink.write(lines.encode()))
    return Part("jsonl", {"rows": ref, "directory": ref}, held, held, rows.num_rows)


def careless(spec) -> None:
    """Accepts what `build` then cannot write."""


def package(name: str, *, build: Callable = build, check: Callable = check, shard=Lines) -> Format:
    """The toy with something else in it, and parts of a kind of their own."""

    def named(*given: Any) -> Part:
        return replace(build(*given), store=name)

    return Format(named, check, {name: shard})


FAULTS = {
    "ranged": ({"shard": Ranged}, "keys of type text with runs", AssertionError),
    "timeless": ({"shard": Timeless}, "wata with runs", AssertionError),
    "repeating": ({"shard": Repeating}, "reindex with packed-shadow", AssertionError),
    "unsynced": ({"build": unsynced}, "crashes of wata with runs, disk: forgetful", Damaged),
    "careless": ({"check": careless}, "values with runs", TypeError),
}
"""What is wrong with a package, a clause that it breaks, and what that raises."""


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_package_does_wrong_is_noticed(tmp_path, fault):
    wrong, broken, raised = FAULTS[fault]
    register(f"jsonl_{fault}", package(f"jsonl_{fault}", **wrong))
    clauses = {str(each): each for each in contract(f"jsonl_{fault}", thorough=True)}
    with pytest.raises(raised):
        clauses[broken](tmp_path)


def test_a_clause_is_named_once_and_thorough_has_more_of_them():
    few, many = ([str(each) for each in contract("sqlite", thorough=it)] for it in (False, True))
    assert len({*few}) == len(few)
    assert {*few} < {*many}
    assert "del with in-place" not in many  # SQLite cannot delete.
    assert "del with in-place" in map(str, contract("chained", thorough=True))


def test_rows_that_live_elsewhere_are_not_looked_for_in_files():
    names = [str(each) for each in contract("postgresql:///", thorough=True)]
    assert "wata with in-place" in names
    assert not any(name.startswith(("crashes", "turned", "erased")) for name in names)


def test_a_format_that_is_not_registered_is_refused():
    with pytest.raises(UnknownScheme, match="none of"):
        contract("nobody_has_registered_it")
