"""Damaged files.

No answer that is checked is a wrong one, no write makes damage look good, and nothing ends the
process.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from kit import damage_trials
from kit.damage_trials import KEYS, LAST, MAKERS, WAVE_WRITES, answers, make_wave, rows_of
from kit.matrix import RUNS_ALL
from wavedex import errors
from wavedex.files.local import FileRef, Files
from wavedex.index.core.staged import gather, stage
from wavedex.index.wave.append import append
from wavedex.log.manifest import Log
from wavedex.store.formats import open_shard
from wavedex.store.sorted.packed import PackedShard

ROUNDS = 10 if RUNS_ALL else 1
"""How often each damage is tried on each kind of file.

`python tests/kit/damage_trials.py FOLDER CASE 20` tries more.
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", MAKERS)
def test_damage_is_answered_rightly_or_called_damaged_and_never_made_to_look_good(tmp_path, case):
    # In a process of its own, for Arrow may not survive what is in a damaged file.
    script = [sys.executable, damage_trials.__file__, str(tmp_path), case, str(ROUNDS)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, [lines[-1:], done.stderr[-2000:]]
    assert lines[-1].startswith("END")
    assert [line for line in lines if line.startswith("WRONG")] == []


# -- one value, changed on purpose -----------------------------------------------------------------


def change_a_value(path: Path) -> None:
    """Make one number of the newest commit a 0."""
    wanted = wx.open(path).scan().read_all().column("n")[5].as_py().to_bytes(8, "little")
    for name in sorted(Log(Files(path)).latest().files):
        data = (path / name).read_bytes()
        if wanted in data:
            (path / name).write_bytes(data.replace(wanted, bytes(8)))
            return
    raise AssertionError("no file has the number")


@pytest.mark.slow
@pytest.mark.parametrize("name", WAVE_WRITES)
@pytest.mark.parametrize("case", ["packed", "runs", "contiguous", "shadow", "chained"])
def test_a_value_that_was_changed_on_the_disk_never_gets_a_good_checksum(tmp_path, case, name):
    MAKERS[case](tmp_path / "x")
    change_a_value(tmp_path / "x")
    with contextlib.suppress(errors.Damaged, errors.PreparationOwed):
        WAVE_WRITES[name](wx.open(tmp_path / "x"))
    try:
        wx.open(tmp_path / "x").verify()
    except errors.Damaged:
        return
    assert 0 not in wx.open(tmp_path / "x").scan(expired=True).read_all()["n"].to_pylist()


@pytest.mark.parametrize("name", ["amend", "migrate", "erase"])
def test_a_write_that_would_copy_damage_leaves_the_index_as_it_was(tmp_path, name):
    make_wave(tmp_path / "x", update="packed-shadow", scheme="reindex")
    for file in (tmp_path / "x" / "data").glob("*.arrow"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    before = wx.open(tmp_path / "x").commits
    with pytest.raises(errors.Damaged, match="checksum"):
        WAVE_WRITES[name](wx.open(tmp_path / "x"))
    assert wx.open(tmp_path / "x").commits == before
    named = set(Log(Files(tmp_path / "x")).latest().files)
    assert {f"data/{file.name}" for file in (tmp_path / "x" / "data").iterdir()} >= named


def test_a_staged_part_is_checked_before_its_rows_are_copied(tmp_path):
    make_wave(tmp_path / "x", update="packed-shadow", scheme="del")
    index = wx.open(tmp_path / "x")
    message = stage(
        index._files, index.definition, rows_of(LAST + 1), None, f"data/{9:010d}-57a6-0"
    )
    victim = next(iter(message.parts.values())).files["rows"].name
    data = bytearray((tmp_path / "x" / victim).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "x" / victim).write_bytes(data)

    def bring(manifest):
        return contextlib.nullcontext(gather(index.definition, [message]))

    with pytest.raises(errors.Damaged, match=victim):
        append(index.writer, bring, None)
    index.verify()


# -- the definition and manifests ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [{"window": 6}, {"window": 4}, {"shards": 1}, {"shards": 3}, {"key": "v"}, {"late": "drop"}],
    ids=str,
)
def test_a_definition_that_was_edited_is_no_definition_of_the_index(tmp_path, edit):
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    definition = tmp_path / "x" / "index.json"
    definition.write_text(json.dumps({**json.loads(definition.read_text()), **edit}, indent=2))
    for act in (
        lambda index: index.probe(KEYS[0]),
        lambda index: index.append(rows_of(LAST + 1)),
        lambda index: index.verify(),
        lambda index: index.describe(),
        lambda index: index.vacuum(),
    ):
        with pytest.raises(errors.Damaged, match=r"index\.json is not what it was when commit \d+"):
            act(wx.open(tmp_path / "x"))


def test_verify_looks_at_the_definition_that_lies_there_now(tmp_path):
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    index = wx.open(tmp_path / "x")
    definition = tmp_path / "x" / "index.json"
    text = definition.read_text()
    definition.write_text(text + " ")
    with pytest.raises(errors.Damaged, match=r"index\.json is not what it was"):
        index.verify()
    definition.unlink()
    with pytest.raises(errors.Damaged, match=r"index\.json is missing"):
        index.verify()
    definition.write_text(text)
    index.verify()


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000])
def test_text_nested_too_deeply_is_damaged(tmp_path, deep):
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    manifest = max((tmp_path / "x" / "log").glob("*.json"))
    whole = manifest.read_bytes()
    manifest.write_text(deep)
    with pytest.raises(errors.Damaged, match=manifest.name):
        wx.open(tmp_path / "x").probe(KEYS[0])
    manifest.write_bytes(whole)
    (tmp_path / "x" / "index.json").write_text(deep)
    with pytest.raises(errors.Damaged, match=r"index\.json"):
        wx.open(tmp_path / "x")


def test_a_manifest_under_another_number_is_damaged(tmp_path):
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    older, newest = sorted((tmp_path / "x" / "log").glob("*.json"))
    newest.write_bytes(older.read_bytes())
    with pytest.raises(errors.Damaged, match="is the manifest of commit"):
        wx.open(tmp_path / "x").probe(KEYS[0])


# -- what is damage and what is not ----------------------------------------------------------------


class Failing(PackedShard):
    """A shard with a mistake in it."""

    def probe_range(self, low, high, within):
        raise ZeroDivisionError("ours")

    def stream(self, within, names, words=None):
        yield self.scan(None)
        raise ZeroDivisionError("ours")


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_mistake_of_ours_is_damage_only_where_the_files_are_damaged(tmp_path, is_damaged):
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    index = wx.open(tmp_path / "x")
    part = next(next(iter(index.manifest.indexes.values())).parts)
    shard = Failing(index.storage, index.definition.spec, part)
    if is_damaged:
        file = tmp_path / "x" / part.files["rows"].name
        file.write_bytes(file.read_bytes()[:-3] + b"abc")
        shard = Failing(index.storage, index.definition.spec, part)
    kind = errors.Damaged if is_damaged else ZeroDivisionError
    with pytest.raises(kind):
        shard.probe_range(b"key 1", b"key 1", None)
    with pytest.raises(kind):
        list(shard.stream(None, ["k"]))


def test_a_mistake_of_the_users_keeps_its_name_in_a_damaged_index(tmp_path):
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    change_a_value(tmp_path / "x")
    with pytest.raises(errors.BadKey):
        wx.open(tmp_path / "x").probe(5)
    with pytest.raises(errors.MissingColumn):
        wx.open(tmp_path / "x").scan(columns=["nothing"])


@pytest.mark.parametrize("case", ["packed", "contiguous", "sqlite in place"])
def test_text_that_is_none_is_not_handed_out_by_an_index_that_is_checked(tmp_path, case):
    MAKERS[case](tmp_path / "x")
    for file in (tmp_path / "x" / "data").iterdir():
        data = file.read_bytes()
        if "naïve".encode() in data:
            file.write_bytes(data.replace("naïve".encode(), b"na\xff\xffve"))
    with pytest.raises(errors.Damaged):
        wx.open(tmp_path / "x", check=True).scan()
    with pytest.raises(errors.Damaged):
        wx.open(tmp_path / "x", check=True).snapshot()
    with pytest.raises(errors.Damaged):
        wx.open(tmp_path / "x", check=True, commit=wx.open(tmp_path / "x").commits[-1])


@pytest.mark.slow
@pytest.mark.parametrize("case", MAKERS)
def test_an_index_that_is_checked_answers_as_it_does_unchecked(tmp_path, case):
    MAKERS[case](tmp_path / "x")
    index = wx.open(tmp_path / "x", check=True)
    assert answers(index) == answers(wx.open(tmp_path / "x"))


def test_a_file_is_checked_once_however_often_it_is_opened(tmp_path):
    class Counting(Files):
        mapped: list[str] = []

        def map(self, ref: FileRef) -> pa.Buffer:
            self.mapped.append(ref.name)
            return super().map(ref)

    make_wave(tmp_path / "x", update="runs", scheme="wata")
    around = wx.Surroundings(files=Counting)
    index = wx.open(tmp_path / "x", check=True, surroundings=around)
    first = answers(index)
    change_a_value(tmp_path / "x")
    assert len(set(Counting.mapped)) == len(Counting.mapped)
    assert index.snapshot().probe(KEYS[0]).num_rows > 0
    with pytest.raises(errors.Damaged):
        answers(wx.open(tmp_path / "x", check=True))
    assert first


LIMITED = """
import os, resource, sys
import wavedex as wx
from wavedex.files.local import FileRef, Files
from wavedex.store.formats import open_shard

path, what = sys.argv[1:]
index = wx.open(path)
part = next(next(iter(index.manifest.indexes.values())).parts)
if what == "memory":
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
    open(path + "/data/large", "wb").truncate(1 << 30)
else:
    import sqlite3
    last = os.open(path, os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, last + 1))
try:
    if what == "memory":
        Files(path).map(FileRef("data/large", 1 << 30))
    elif what == "parts":
        open_shard(index.storage, index.definition.spec, part)
    else:
        index.probe("key 1")
except wx.errors.WavedexError as error:
    sys.stdout.write(f"{type(error).__name__} {error}")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "advice"),
    [("index", "ulimit -n"), ("parts", "ulimit -n"), ("memory", "let go of snapshots")],
)
@pytest.mark.parametrize("case", ["runs", "sqlite in place"])
def test_what_the_system_refuses_is_no_damage(tmp_path, case, what, advice):
    MAKERS[case](tmp_path / "x")
    script = [sys.executable, "-c", LIMITED, str(tmp_path / "x"), what]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("DiskFailed Cannot read"), done.stderr
    assert advice in done.stdout


# -- what Arrow is not to follow -------------------------------------------------------------------


def test_offsets_and_codes_that_lead_astray_are_noticed_before_arrow_follows_them(tmp_path):
    """Rows of packed files and the directories of all stores.

    Their text and codes are mapped as they lie.
    """
    make_wave(tmp_path / "x", update="runs", scheme="wata")
    index = wx.open(tmp_path / "x")
    spec = index.definition.spec
    part = next(next(iter(index.manifest.indexes.values())).parts)
    good = open_shard(index.storage, spec, part)
    offsets = bytes(good.batch.column("v").buffers()[1])[: 4 * part.rows]
    file = tmp_path / "x" / part.files["rows"].name
    whole = file.read_bytes()
    at = whole.index(offsets)
    draw = random.Random(5)
    for _ in range(20):
        spoilt = bytearray(whole)
        middle = at + draw.randrange(8, len(offsets)) // 4 * 4
        spoilt[middle : middle + 4] = draw.choice(
            [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4)]
        )
        file.write_bytes(spoilt)
        shard = open_shard(index.storage, spec, part)
        for ask in (lambda s=shard: s.scan(None), lambda s=shard: [*s.stream(None, ["v"])]):
            with pytest.raises(errors.Damaged, match=file.name):
                ask()
