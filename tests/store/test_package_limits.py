"""What a system refuses has its right name, in packages too.

A full disk, too many open files, a folder that is read-only.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex import errors
from wavedex.engine.techniques import TECHNIQUES
from wavedex.testing.package_rows import SCHEMA, rows_of, table
from wavedex.testing.package_trials import create

pytestmark = pytest.mark.usefixtures("small_row_groups")

MANY = pa.table(
    {"k": [*range(2_000)], "t": [20] * 2_000, "v": [f"{n:0100}" for n in range(2_000)]}, SCHEMA
)


@contextlib.contextmanager
def limited(what: int, limit: int) -> Iterator[None]:
    """A limit of the system's that holds for a moment."""
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


@pytest.mark.parametrize("update", TECHNIQUES)
def test_a_database_that_may_not_grow_is_a_full_disk(tmp_path, update):
    index = create(tmp_path / "x", "sqlite", "wata", update, shards=1)
    index.append(table(rows_of(1)))
    before = index.scan().read_all()
    for limit in (20_000, 50_000, 100_000, 200_000):
        with limited(resource.RLIMIT_FSIZE, limit), pytest.raises(errors.DiskFull, match="No room"):
            index.append(MANY)
    assert index.scan().read_all() == before
    index.append(MANY)
    index.verify()
    assert index.scan().read_all().num_rows == before.num_rows + MANY.num_rows


@pytest.mark.parametrize("update", ["in-place", "runs"])
def test_too_many_open_files_are_neither_damage_nor_a_want_of_rights(tmp_path, update):
    index = create(tmp_path / "x", "sqlite", "wata", update, shards=3)
    for slot in (1, 2, 3):
        index.append(table(rows_of(slot)))
    del index
    gc.collect()
    reader = wx.open(tmp_path / "x")
    refused = []
    for limit in itertools.count(4):
        try:
            with limited(resource.RLIMIT_NOFILE, limit):
                reader.verify()
                reader.snapshot()
            break
        except (errors.WavedexError, OSError) as error:
            refused.append((type(error), getattr(error, "errno", "ulimit -n" in str(error))))
    assert set(refused) == {(errors.DiskFailed, True)}


def test_what_this_user_may_open_is_not_called_a_want_of_rights(tmp_path):
    index = create(tmp_path / "x", "sqlite", "wata", "in-place", shards=1)
    index.append(table(rows_of(1)))
    del index
    gc.collect()
    for database in [*(tmp_path / "x").rglob("*.sqlite")]:
        log = database.with_name(f"{database.name}-wal")
        log.unlink(missing_ok=True)
        log.mkdir()
    with pytest.raises(errors.DiskFailed, match="though this user may"):
        wx.open(tmp_path / "x").probe(3)


AS_NOBODY = """
import os, sys
import sqlite3
import wavedex as wx
from wavedex import errors

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for use in (lambda: wx.open(sys.argv[1]).probe(3), lambda: wx.open(sys.argv[1]).verify()):
    try:
        use()
    except errors.ReadOnly:
        print("refused")
"""


def test_a_database_that_may_not_be_read_is_not_called_damaged(shared):
    index = create(shared / "x", "sqlite", "wata", "in-place", shards=1)
    index.append(table(rows_of(1)))
    del index
    gc.collect()
    made = (shared, *shared.rglob("*"))
    try:
        for path in made:
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(shared / "x")],
            capture_output=True, text=True, cwd="/", check=False,
        )  # fmt: skip
        assert done.stdout.split() == ["refused"] * 2, done.stderr
    finally:
        for path in made:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("masked", [0o077, 0o027, 0o022])
@pytest.mark.parametrize("format_", ["arrow", "sqlite", "chained"])
def test_files_and_folders_may_be_read_by_whom_the_umask_says(tmp_path, format_, masked):
    before = os.umask(masked)
    try:
        index = create(tmp_path / "x", format_, "wata", "in-place", shards=1)
        for slot in range(1, 5):
            index.append(table(rows_of(slot)))
        index.probe(3)
        made = [tmp_path / "x", *(tmp_path / "x").rglob("*")]
    finally:
        os.umask(before)
    names = {path.suffix for path in made}
    assert format_ != "sqlite" or {".sqlite-wal", ".sqlite-shm"} <= names
    for path in made:
        usual = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.stat().st_mode) == usual & ~masked, path


def test_a_file_that_may_not_be_read_is_not_called_damaged_but_one_that_is_cut_off_is(tmp_path):
    index = create(tmp_path / "x", "arrow", "wata", "runs", shards=1)
    index.append(table(rows_of(1)))
    victim = Path(index.files()[0])
    del index
    gc.collect()
    content = victim.read_bytes()
    victim.write_bytes(content[:-1])
    with pytest.raises(errors.Damaged):
        wx.open(tmp_path / "x").verify()
    victim.write_bytes(content)
    wx.open(tmp_path / "x").verify()
    with (
        limited(resource.RLIMIT_NOFILE, 3),
        pytest.raises(errors.DiskFailed, match="Too many open files"),
    ):
        wx.open(tmp_path / "x").verify()
