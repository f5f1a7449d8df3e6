"""Whatever is wrong has a name, and after it the index is bit for bit what it was."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit.ways import PARQUET, WAYS, told
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.files.local import Files
from wavedex.index.core.definition import OLDEST_FORMAT
from wavedex.log.manifest import Log
from wavedex.plan import SCHEMES
from wavedex.testing.disks import FullDisk, WatchedDisk
from wavedex.testing.oracle import Oracle, same_rows

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])
WINDOW = 4


def rows_of(slot: int, count: int = 6) -> list[dict]:
    return [
        {"k": f"key {(slot + number) % 5}", "t": slot * 10 + number, "v": f"{slot}/{number}"}
        for number in range(count)
    ]


def table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def create(path: Path, **how) -> wx.WaveIndex:
    options = {"key": "k", "time": "t", "slot": 10, "window": WINDOW, "indexes": 2, **how}
    return wx.WaveIndex.create(path, options.pop("schema", SCHEMA), **options)


def filled(path: Path, slots: range = range(1, 8), **how) -> wx.WaveIndex:
    index = create(path, **how)
    for slot in slots:
        index.append(table(rows_of(slot)))
    return index


def fingerprint(path: Path) -> dict[str, str]:
    """Every file and what is in it; the lock is no part of an index."""
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.name != "lock"
    }


@contextlib.contextmanager
def refused(path: Path, error: type[errors.WavedexError]) -> Iterator[None]:
    """The block raises `error`, with a message that is a sentence, and changes nothing on disk."""
    before = fingerprint(path)
    with pytest.raises(errors.WavedexError) as caught:
        yield
    assert type(caught.value) is error, repr(caught.value)
    assert len(str(caught.value)) > 20
    assert str(caught.value).endswith(".")
    assert fingerprint(path) == before


# -- batches ------------------------------------------------------------------------------------

LATEST = 7
BATCHES = {
    "a column of another type": (
        lambda: table(rows_of(8)).set_column(0, "k", pa.array(range(6))),
        errors.SchemaMismatch,
    ),
    "a missing column": (lambda: table(rows_of(8)).drop_columns(["v"]), errors.MissingColumn),
    "a missing key": (lambda: table(rows_of(8)).drop_columns(["k"]), errors.MissingColumn),
    "an unknown column": (
        lambda: table(rows_of(8)).append_column("w", pa.array(range(6))),
        errors.SchemaMismatch,
    ),
    "a column twice": (
        lambda: table(rows_of(8)).append_column("v", pa.array(["x"] * 6)),
        errors.SchemaMismatch,
    ),
    "no columns at all": (lambda: pa.table({}), errors.MissingColumn),
    "a null key": (
        lambda: table([*rows_of(8), {"k": None, "t": 80, "v": "x"}]),
        errors.NullKeys,
    ),
    "a null time": (
        lambda: table([*rows_of(8), {"k": "a", "t": None, "v": "x"}]),
        errors.NullTimes,
    ),
    "a slot of the window with other rows": (
        lambda: table(rows_of(6)[1:]),
        errors.SlotConflict,
    ),
    "a slot of the window with one row more": (
        lambda: table([*rows_of(7), rows_of(7)[0]]),
        errors.SlotConflict,
    ),
    "a slot of the window with other rows, and a new one": (
        lambda: table([*rows_of(6)[1:], *rows_of(8)]),
        errors.SlotConflict,
    ),
    "rows older than the window": (lambda: table(rows_of(3)), errors.OutsideWindow),
    "rows older than the window, and new ones": (
        lambda: table([*rows_of(8), *rows_of(2)]),
        errors.OutsideWindow,
    ),
    "a gap that is too large": (lambda: table(rows_of(LATEST + WINDOW + 2)), errors.GapTooLarge),
    "a gap that is too large inside the batch": (
        lambda: table([*rows_of(8), *rows_of(8 + WINDOW + 2)]),
        errors.GapTooLarge,
    ),
    "a year 2099 among the rows": (
        lambda: table([*rows_of(8), *rows_of(10**9)]),
        errors.GapTooLarge,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("name", BATCHES)
def test_a_bad_batch_is_refused_by_name_and_nothing_changes(tmp_path, name, update):
    make, error = BATCHES[name]
    index = filled(tmp_path / "x", update=update)
    with refused(tmp_path / "x", error):
        index.append(make())
    index.append(table(rows_of(8)))
    index.verify()


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_slot_that_nobody_delivered_cannot_be_appended_afterwards(tmp_path, update):
    index = filled(tmp_path / "x", update=update)
    index.append(table(rows_of(9)))
    with refused(tmp_path / "x", errors.SlotBackwards):
        index.append(table(rows_of(8)))
    with refused(tmp_path / "x", errors.SlotBackwards):
        index.append(table([]), slot=8)
    index.append(table([]), slot=10)
    with refused(tmp_path / "x", errors.SlotConflict):
        index.append(table(rows_of(10)))
    assert index.amend(table(rows_of(8))).rows == 6


AMENDMENTS = {
    "rows older than the window": (lambda: table(rows_of(3)), errors.OutsideWindow),
    "rows of the window and older ones": (
        lambda: table([*rows_of(7), *rows_of(1)]),
        errors.OutsideWindow,
    ),
    "a slot that has not arrived yet": (lambda: table(rows_of(8)), errors.OutsideWindow),
    "a null key": (lambda: table([{"k": None, "t": 70, "v": "x"}]), errors.NullKeys),
    "a null time": (lambda: table([{"k": "a", "t": None, "v": "x"}]), errors.NullTimes),
    "a missing column": (lambda: table(rows_of(7)).drop_columns(["v"]), errors.MissingColumn),
}


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
@pytest.mark.parametrize("name", AMENDMENTS)
def test_a_bad_amendment_is_refused_by_name_and_nothing_changes(tmp_path, name, update):
    make, error = AMENDMENTS[name]
    index = filled(tmp_path / "x", update=update)
    with refused(tmp_path / "x", error):
        index.amend(make())


def test_nothing_can_be_amended_while_nothing_was_appended(tmp_path):
    index = create(tmp_path / "x")
    with refused(tmp_path / "x", errors.OutsideWindow):
        index.amend(table(rows_of(1)))


@pytest.mark.parametrize("update", TECHNIQUES)
def test_the_same_rows_in_another_order_change_nothing(tmp_path, update):
    index = filled(tmp_path / "x", update=update)
    before = fingerprint(tmp_path / "x")
    for slot in (7, 5, 4):
        done = index.append(table(rows_of(slot)[::-1]))
        assert (done.slots, done.rows) == ([], 0)
    several = [row for slot in (6, 4, 7) for row in rows_of(slot)]
    assert index.append(table(several)).slots == []
    assert index.append(table([])).slots == []
    assert index.amend(table([])).rows == 0
    assert fingerprint(tmp_path / "x") == before


@pytest.mark.parametrize("update", TECHNIQUES)
def test_rows_without_a_key_are_skipped_and_counted_where_that_was_asked_for(tmp_path, update):
    index = create(tmp_path / "x", nulls="skip", update=update)
    keyless = [{"k": None, "t": 15, "v": "x"}] * 3
    done = index.append(table([*rows_of(1), *keyless]))
    assert (done.rows, done.null_keys) == (6, 3)
    again = index.append(table([*keyless, *rows_of(1)]))
    assert (again.slots, again.null_keys) == ([], 3)
    done = index.amend(table([*rows_of(1)[:1], *keyless]))
    assert (done.rows, done.null_keys) == (1, 3)
    assert same_rows(index.scan().read_all().to_pylist(), [*rows_of(1), rows_of(1)[0]])
    with refused(tmp_path / "x", errors.NullTimes):
        index.append(table([{"k": "a", "t": None, "v": "x"}]))


@pytest.mark.parametrize("update", TECHNIQUES)
def test_rows_that_are_too_old_are_dropped_and_counted_where_that_was_asked_for(tmp_path, update):
    index = filled(tmp_path / "x", late="drop", update=update)
    before = fingerprint(tmp_path / "x")
    assert index.append(table(rows_of(2))).late == 6
    assert index.amend(table(rows_of(3))).late == 6
    assert fingerprint(tmp_path / "x") == before
    done = index.append(table([*rows_of(8), *rows_of(2), *rows_of(7)]))
    assert (done.slots, done.rows, done.late) == ([8], 6, 6)
    done = index.amend(table([*rows_of(8)[:2], *rows_of(4)]))
    assert (done.rows, done.late) == (2, 6)
    live = [row for slot in (5, 6, 7, 8) for row in rows_of(slot)] + rows_of(8)[:2]
    assert same_rows(index.scan().read_all().to_pylist(), live)
    with refused(tmp_path / "x", errors.OutsideWindow):
        index.amend(table(rows_of(9)))


@pytest.mark.parametrize(
    "slot", ["never", 1.5, True, b"1", "2024-01-01", dt.date(2024, 1, 1), 2**70]
)
def test_a_slot_that_is_none_is_refused(tmp_path, slot):
    index = filled(tmp_path / "x")
    for act in (index.append, index.amend):
        with refused(tmp_path / "x", errors.BadTime):
            act(table([]), slot=slot)


def test_a_slot_that_the_rows_do_not_have_is_refused(tmp_path):
    index = filled(tmp_path / "x")
    with refused(tmp_path / "x", errors.BadTime):
        index.append(table(rows_of(8)), slot=9)
    with refused(tmp_path / "x", errors.BadTime):
        index.amend(table(rows_of(7)), slot=6)


@pytest.mark.parametrize(
    ("since", "until"), [("soon", None), (None, 1.5), (None, dt.date.max), ({}, 1)]
)
def test_times_that_cannot_be_understood_are_refused(tmp_path, since, until):
    index = filled(tmp_path / "x")
    for ask in (
        lambda: index.probe("key 1", since, until),
        lambda: index.probe_many(["key 1"], since, until),
        lambda: index.probe_range("key 1", "key 2", since, until),
        lambda: index.scan(since, until),
        lambda: index.files(since, until),
    ):
        with refused(tmp_path / "x", errors.BadTime):
            ask()


@pytest.mark.parametrize("keep", [0, -1, 1.0, "1", None, True])
def test_a_vacuum_that_would_keep_nothing_is_refused(tmp_path, keep):
    index = filled(tmp_path / "x")
    with refused(tmp_path / "x", errors.BadDefinition):
        index.vacuum(keep)


# -- definitions --------------------------------------------------------------------------------

DEFINITIONS = {
    "more sub-indexes than slots": ({"indexes": 5}, errors.BadDefinition),
    "no sub-indexes": ({"indexes": 0}, errors.BadDefinition),
    "half a sub-index": ({"indexes": 1.5}, errors.BadDefinition),
    "no window": ({"window": 0}, errors.BadDefinition),
    "a window of text": ({"window": "four"}, errors.BadDefinition),
    "true slots": ({"window": True, "indexes": 1}, errors.BadDefinition),
    "one sub-index for wata": ({"scheme": "wata", "indexes": 1}, errors.BadDefinition),
    "one sub-index for rata": ({"scheme": "rata", "indexes": 1}, errors.BadDefinition),
    "an unknown scheme": ({"scheme": "wave"}, errors.UnknownScheme),
    "an unknown update": ({"update": "shadow"}, errors.UnknownScheme),
    "an unknown format": ({"format": "orc"}, errors.UnknownScheme),
    "a format that is no name": ({"format": ["arrow"]}, errors.UnknownScheme),
    "Parquet files that change": (
        {"format": "parquet", "update": "in-place"},
        errors.BadDefinition,
    ),
    "Parquet files that change as copies": (
        {"format": "parquet", "update": "simple-shadow"},
        errors.BadDefinition,
    ),
    "a bound that is not given": ({"scheme": "wata-bounded"}, errors.BadDefinition),
    "unknown nulls": ({"nulls": "drop"}, errors.UnknownScheme),
    "unknown late": ({"late": "skip"}, errors.UnknownScheme),
    "growth of one": ({"growth": 1.0}, errors.BadDefinition),
    "growth that is not a number": ({"growth": float("nan")}, errors.BadDefinition),
    "growth without end": ({"growth": float("inf")}, errors.BadDefinition),
    "no first room": ({"first_room": 0}, errors.BadDefinition),
    "no shards": ({"shards": 0}, errors.BadDefinition),
    "too many shards": ({"shards": 10**6}, errors.BadDefinition),
    "a negative gap": ({"max_gap": -1}, errors.BadDefinition),
    "an unknown key": ({"key": "nobody"}, errors.MissingColumn),
    "a key of two columns, one unknown": ({"key": ["k", "nobody"]}, errors.MissingColumn),
    "a key of the same column twice": ({"key": ["k", "k"]}, errors.BadDefinition),
    "a key of no columns": ({"key": []}, errors.BadDefinition),
    "a key that is no name": ({"key": [1]}, errors.BadDefinition),
    "an unknown time": ({"time": "nobody"}, errors.MissingColumn),
    "a time of text": ({"time": "v"}, errors.BadDefinition),
    "an unknown column to include": ({"include": ["nobody"]}, errors.MissingColumn),
    "one string to include": ({"include": "v"}, errors.BadDefinition),
    "an unknown zone": ({"zone": "Mars/Olympus"}, errors.BadDefinition),
    "a slot that is none": ({"slot": "fortnight"}, errors.BadDefinition),
    "a slot of no width": ({"slot": 0}, errors.BadDefinition),
    "a schema that is none": ({"schema": {"k": "int"}}, errors.BadDefinition),
    "a float for a key": (
        {"schema": pa.schema([("k", pa.float64()), ("t", pa.int64())])},
        errors.BadDefinition,
    ),
    "a column twice": (
        {"schema": pa.schema([("k", pa.int64()), ("t", pa.int64()), ("t", pa.int8())])},
        errors.BadDefinition,
    ),
    "a column with our own name": (
        {"schema": pa.schema([("k", pa.int64()), ("t", pa.int64()), ("__slot", pa.int64())])},
        errors.BadDefinition,
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_bad_definition_is_refused_by_name_and_nothing_is_created(tmp_path, name):
    how, error = DEFINITIONS[name]
    with refused(tmp_path, error):
        create(tmp_path / "x", **how)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_window_cannot_be_spread_over_more_sub_indexes_than_it_has_slots(tmp_path, scheme):
    with refused(tmp_path, errors.BadDefinition):
        create(tmp_path / "x", scheme=scheme, window=3, indexes=4, **told(scheme))
    create(tmp_path / "x", scheme=scheme, window=3, indexes=3, **told(scheme))


def test_nothing_is_created_where_something_is(tmp_path):
    index = filled(tmp_path / "x")
    with refused(tmp_path / "x", errors.AlreadyExists):
        create(tmp_path / "x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with refused(tmp_path, errors.AlreadyExists):
        create(tmp_path / "full")
    (tmp_path / "empty").mkdir()
    create(tmp_path / "empty")
    index.verify()


# -- folders that are no index, and damaged ones ------------------------------------------------


def test_what_is_no_index_is_not_opened(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("{}")
    for name in ("empty", "file", "nowhere", "file/below"):
        with refused(tmp_path, errors.NotAnIndex):
            wx.open(tmp_path / name)


def test_an_index_of_a_newer_format_is_not_opened(tmp_path):
    filled(tmp_path / "x")
    definition = tmp_path / "x" / "index.json"
    body = json.loads(definition.read_text())
    body["format"] += 1
    body["what is this"] = body.pop("slots")
    definition.write_text(json.dumps(body))
    with refused(tmp_path / "x", errors.NewerFormat):
        wx.open(tmp_path / "x")


def test_an_index_of_an_older_format_is_not_opened(tmp_path):
    filled(tmp_path / "x")
    definition = tmp_path / "x" / "index.json"
    body = json.loads(definition.read_text())
    definition.write_text(json.dumps({**body, "format": OLDEST_FORMAT - 1}))
    with refused(tmp_path / "x", errors.OlderFormat):
        wx.open(tmp_path / "x")


BROKEN = {
    "empty": lambda text: "",
    "cut off": lambda text: text[: len(text) // 2],
    "no JSON": lambda text: "index",
    "a list": lambda text: "[]",
    "no format": lambda text: json.dumps({**json.loads(text), "format": None}),
    "no schema": lambda text: json.dumps({**json.loads(text), "schema": "AAAA"}),
    "a schema that is no base64": lambda text: json.dumps({**json.loads(text), "schema": "ä"}),
    "slots that are none": lambda text: json.dumps({**json.loads(text), "slots": {"kind": "x"}}),
    "no window": lambda text: json.dumps(
        {name: value for name, value in json.loads(text).items() if name != "window"}
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_definition_is_called_damaged(tmp_path, name):
    filled(tmp_path / "x")
    definition = tmp_path / "x" / "index.json"
    definition.write_text(BROKEN[name](definition.read_text()))
    with refused(tmp_path / "x", errors.Damaged):
        wx.open(tmp_path / "x")


def files_of(path: Path) -> list[str]:
    """All files of the newest commit, which is the only one that is left."""
    wx.open(path).vacuum()
    log = Log(Files(path))
    return [*sorted(log.latest().files), f"log/{log.commits()[-1]:020d}.json"]


def damaged_copies(path: Path, name: str) -> Iterator[str]:
    """Damage a file in one way after another, and put it right again at the end."""
    whole = (path / name).read_bytes()
    if whole:
        (path / name).write_bytes(whole[: len(whole) // 2])
        yield "cut in half"
        (path / name).write_bytes(b"")
        yield "empty"
        (path / name).write_bytes(whole[:-1])
        yield "one byte short"
        (path / name).unlink()
        yield "gone"
    (path / name).write_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["wata", "reindex++"])
@pytest.mark.parametrize("way", WAYS)
def test_verify_names_every_file_that_is_cut_off_or_gone(tmp_path, way, scheme):
    filled(tmp_path / "x", scheme=scheme, **WAYS[way]).verify()
    for name in files_of(tmp_path / "x"):
        for damage in damaged_copies(tmp_path / "x", name):
            if name.startswith("log/") and damage == "one byte short":
                continue  # The last byte of a manifest is the end of a line.
            index = wx.open(tmp_path / "x")
            with pytest.raises(errors.Damaged) as caught:
                index.verify()
            if not (name.startswith("log/") and damage == "gone"):
                assert name in str(caught.value), damage
    wx.open(tmp_path / "x").verify()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_cut_off_or_gone_is_called_damaged_when_it_is_read(tmp_path, way):
    filled(tmp_path / "x", **WAYS[way])
    constituents = Log(Files(tmp_path / "x")).latest().indexes
    seen = {
        ref.name
        for sub in constituents.values()
        for part in sub.parts
        for ref in part.files.values()
    }
    for name in files_of(tmp_path / "x"):
        if not (name in seen or name.startswith("log/")):
            continue
        for damage in damaged_copies(tmp_path / "x", name):
            if name.startswith("log/") and damage == "one byte short":
                continue
            for ask in (
                lambda index: index.probe("key 1"),
                lambda index: index.probe("nobody"),
                lambda index: index.scan().read_all(),
                lambda index: index.snapshot(),
                lambda index: index.slots,
            ):
                with pytest.raises(errors.Damaged):
                    ask(wx.open(tmp_path / "x"))


FLIP = """
import os, sys
import wavedex as wx

def answers():
    return sorted(map(repr, index.scan().read_all().to_pylist()))

path, step = sys.argv[1], int(sys.argv[2])
index = wx.open(path)
truth = answers()
for name in sys.argv[3:]:
    file = os.path.join(path, name)
    whole = open(file, "rb").read()
    found = 0
    for at in range(0, len(whole), step):
        print(name, at, flush=True)
        spoilt = bytearray(whole)
        spoilt[at] ^= 1 << (at % 8)
        with open(file, "r+b") as target:
            target.write(spoilt)
        try:
            index.verify()
        except wx.errors.Damaged as error:
            found += 1
            # Rows and heap make one content together, so that damage to either is told of the two.
            if os.path.splitext(name)[0] not in str(error):
                print("UNNAMED", name, at, error)
        else:
            if answers() != truth:
                print("UNNOTICED", name, at)
    with open(file, "r+b") as target:
        target.write(whole)
    if whole and not found:
        print("UNSEEN", name)
    index.verify()
print("END")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "heap", "directory", "manifest"])
@pytest.mark.parametrize("way", [*TECHNIQUES, "runs in parquet"])
def test_verify_finds_a_flipped_bit_wherever_it_changes_an_answer(tmp_path, way, kind):
    # In a process of its own, for Arrow may not survive what is in a damaged file.
    filled(tmp_path / "x", shards=1, **WAYS[way])
    *_, manifest = files_of(tmp_path / "x")
    refs = [
        part.files
        for sub in Log(Files(tmp_path / "x")).latest().indexes.values()
        for part in sub.parts
    ]
    names = [manifest] if kind == "manifest" else [ref[kind].name for ref in refs if kind in ref]
    script = [sys.executable, "-c", FLIP, str(tmp_path / "x"), "17", *names]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-1]) == (0, "END"), done.stderr
    assert [line for line in lines if line.startswith("UN")] == []


# -- disks that fill up or refuse -----------------------------------------------------------------


def append_with_little_room(path: Path, room_bytes: int, rows: list[dict]) -> str:
    around = wx.Surroundings(files=lambda root: FullDisk(root, room_bytes))
    index = wx.open(path, surroundings=around)
    try:
        index.append(table(rows))
    except errors.DiskFull:
        return "full"
    except errors.PreparationOwed:
        return "owed"
    return "done"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "scheme"),
    [
        *itertools.product(TECHNIQUES, ["wata", "del", "reindex++", "rata"]),
        *itertools.product(PARQUET, ["wata"]),
    ],
)
def test_a_disk_that_fills_up_at_any_byte_leaves_the_old_window_or_the_new_one(
    tmp_path, way, scheme
):
    filled(tmp_path / "origin", scheme=scheme, shards=1, **WAYS[way])
    old = [row for slot in (4, 5, 6, 7) for row in rows_of(slot)]
    new = [row for slot in (5, 6, 7, 8) for row in rows_of(slot)]
    outcomes: list[str] = []
    scratch = tmp_path / "scratch"
    step = 1_201
    for room_bytes in itertools.count(0, step):
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(tmp_path / "origin", scratch)
        held = wx.open(scratch).snapshot()
        outcomes.append(append_with_little_room(scratch, room_bytes, rows_of(8)))
        index = wx.open(scratch)
        index.verify()
        found = index.scan().read_all().to_pylist()
        assert same_rows(found, old if outcomes[-1] == "full" else new), room_bytes
        assert same_rows(held.scan().read_all().to_pylist(), old)
        if outcomes[-1] == "full" and WAYS[way]["update"] in ("packed-shadow", "runs"):
            assert fingerprint(scratch) == fingerprint(tmp_path / "origin")
        if outcomes[-1] == "done":
            break
        assert index.append(table(rows_of(8))).slots == ([8] if outcomes[-1] == "full" else [])
        index.verify()
        assert same_rows(index.scan().read_all().to_pylist(), new)
        index.append(table(rows_of(9)))
        index.verify()
        assert not index.describe()["preparation_owed"]
    assert outcomes == sorted(outcomes, key=["full", "owed", "done"].index)
    assert "full" in outcomes


def real_small_disk(path: Path) -> bool:
    """Mount a disk of one megabyte, where the system lets us."""
    path.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        return False
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)],
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


FILL = """
import sys
import pyarrow as pa
import wavedex as wx

index = wx.open(sys.argv[1])
for slot in range(int(sys.argv[2]), 500):
    rows = 40 * slot
    table = pa.table({
        "k": pa.array([f"key {n % 50}" for n in range(rows)]),
        "t": pa.array([slot * 10] * rows, pa.int64()),
        "v": pa.array([str(slot)] * rows),
    })
    try:
        index.append(table)
    except wx.errors.DiskFull:
        print("full", slot)
        break
    except wx.errors.PreparationOwed:
        print("owed", slot)
        break
"""


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_real_disk_that_is_full_leaves_an_index_that_answers(tmp_path, update):
    disk = tmp_path / "disk"
    is_real = real_small_disk(disk)
    try:
        create(disk / "x", update=update, window=3, indexes=2)
        if not is_real:
            assert append_with_little_room(disk / "x", 2_000, rows_of(1)) == "full"
            wx.open(disk / "x").verify()
            return
        script = [sys.executable, "-c", FILL, str(disk / "x"), "1"]
        done = subprocess.run(script, capture_output=True, text=True, check=True)
        outcome, slot = done.stdout.split()
        index = wx.open(disk / "x")
        index.verify()
        newest = int(slot) - (outcome == "full")
        assert index.slots[-1] == newest
        expected = {slot: 40 * slot for slot in index.slots}
        counts = index.scan().read_all().group_by("t").aggregate([("k", "count")]).to_pylist()
        assert {row["t"] // 10: row["k_count"] for row in counts} == expected
        del index
    finally:
        if is_real:
            subprocess.run(["umount", "-l", str(disk)], check=True)


AS_NOBODY = """
import os, sys
import pyarrow as pa
import wavedex as wx
from wavedex import errors

path, parent = sys.argv[1:3]
schema = pa.schema([("k", pa.string()), ("t", pa.int64()), ("v", pa.string())])
batch = pa.table({"k": pa.array(["a"]), "t": pa.array([80], pa.int64()), "v": pa.array(["x"])})
late = batch.set_column(1, "t", pa.array([70], pa.int64()))
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
index = wx.open(path)
index.verify()
assert index.probe("key 1").num_rows > 0
assert index.scan().read_all().num_rows == 24
for act in (
    lambda: index.append(batch),
    lambda: index.amend(late),
    lambda: index.vacuum(),
    lambda: index.prepare(),
    lambda: wx.WaveIndex.create(parent + "/new", schema, key="k", time="t", slot=10, window=4),
):
    try:
        act()
    except errors.ReadOnly:
        print("refused")
"""


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_an_index_in_a_folder_that_cannot_be_written_to_is_read_and_refuses_to_change(
    shared, update
):
    filled(shared / "x", update=update)
    before = fingerprint(shared / "x")
    try:
        for path in (shared, *shared.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        script = [sys.executable, "-c", AS_NOBODY, str(shared / "x"), str(shared)]
        done = subprocess.run(script, capture_output=True, text=True, cwd="/", check=False)
        assert done.stdout.split() == ["refused"] * 5, done.stderr
        assert fingerprint(shared / "x") == before
    finally:
        for path in (shared, *shared.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


# -- two writers ----------------------------------------------------------------------------------

HOLD = """
import sys
from wavedex.files.local import Files

with Files(sys.argv[1]).lock("lock"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_second_writer_is_refused_while_another_process_writes(tmp_path, update):
    index = filled(tmp_path / "x", update=update)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "x")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for act in (
            lambda: index.append(table(rows_of(8))),
            lambda: index.amend(table(rows_of(7))),
            index.vacuum,
            index.prepare,
        ):
            with refused(tmp_path / "x", errors.ConcurrentWrite):
                act()
        assert index.probe("key 1").num_rows
        holder.communicate()
    index.append(table(rows_of(8)))
    index.verify()


def test_two_threads_of_one_process_do_not_write_at_once(tmp_path):
    index = filled(tmp_path / "x")
    entered, release = threading.Event(), threading.Event()

    class Slow(WatchedDisk):
        def before(self, change: str, name: str) -> None:
            entered.set()
            release.wait()

    slow = wx.open(tmp_path / "x", surroundings=wx.Surroundings(files=Slow))
    thread = threading.Thread(target=lambda: slow.append(table(rows_of(8))))
    thread.start()
    entered.wait()
    try:
        with refused(tmp_path / "x", errors.ConcurrentWrite):
            index.append(table(rows_of(8)))
    finally:
        release.set()
        thread.join()
    assert index.append(table(rows_of(8))).slots == []


class Hoarder(Files):
    """A disk on which nothing is removed."""

    def remove(self, name: str) -> None:
        pass


class Unlocked(WatchedDisk):
    """A disk without locks, as some network disks are, on which another writer is faster."""

    def __init__(self, root, overtake: Callable[[], object]) -> None:
        super().__init__(root)
        self.overtake = overtake

    @contextlib.contextmanager
    def lock(self, name: str, preparing: bool = False) -> Iterator[None]:
        yield

    def link(self, source: str, target: str) -> None:
        overtake, self.overtake = self.overtake, lambda: None
        overtake()
        super().link(source, target)


@pytest.mark.parametrize("update", ["packed-shadow", "runs"])
def test_of_two_writers_that_no_lock_keeps_apart_the_second_to_commit_is_refused(tmp_path, update):
    path = tmp_path / "x"
    filled(path, update=update)
    # It has committed and not yet cleaned up, which is when the slower one arrives.
    faster = wx.open(path, surroundings=wx.Surroundings(files=Hoarder))
    states = []

    def overtake() -> None:
        faster.append(table(rows_of(8)))
        states.append(fingerprint(path))

    around = wx.Surroundings(files=lambda root: Unlocked(root, overtake))
    slower = wx.open(path, surroundings=around)
    with pytest.raises(errors.ConcurrentWrite):
        slower.append(table(rows_of(9)))
    index = wx.open(path)
    index.verify()
    assert index.slots[-1] == 8
    named = {name for name in fingerprint(path) if not name.endswith(".tmp")}
    assert named <= set(states[0])
    slower.append(table(rows_of(9)))
    oracle = Oracle(WINDOW, "k", lambda row: row["t"] // 10)
    oracle.append([row for slot in range(1, 10) for row in rows_of(slot)], 9)
    assert same_rows(wx.open(path).scan().read_all().to_pylist(), oracle.rows())
