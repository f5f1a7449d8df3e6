"""Everything that a manifest names lasts before it does.

That holds though files are synced while others are written.
"""

from __future__ import annotations

import errno
import os

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import DiskFull
from wavedex.files.contract import name_refusal
from wavedex.files.names import DATA
from wavedex.log.manifest import Log
from wavedex.testing.disks import WatchedDisk

pytestmark = pytest.mark.usefixtures("small_row_groups")

SCHEMA = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("e", pa.int64()), ("s", pa.string())])
METHODS = ["rebuild", "no-rebuild", "lazy-no-rebuild"]


class Noting(WatchedDisk):
    """A disk that notes what is done to it, in order.

    Syncs are noted once they are done, and some of them fail.
    """

    def __init__(self, root):
        super().__init__(root)
        self.done = []
        self.fails = False

    def before(self, change, name):
        super().before(change, name)
        if change != "sync":
            self.done.append((change, name))

    def sync(self, name):
        if self.fails and name.startswith(DATA):
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise name_refusal(full, self.path(name))
        super().sync(name)
        self.done.append(("sync", name))


def create(path, method):
    disk = Noting(path)
    around = wx.Surroundings(files=lambda _: disk)
    life = wx.LifetimeIndex.create(
        path, SCHEMA, key="k", inserted="b", expires="e", max_lifetime=12, refresh=1, grid=(3, 3),
        method=method, surroundings=around,
    )  # fmt: skip
    return life, disk


def rows(now):
    ends = [now + 1 + n % 12 for n in range(60)]
    columns = [range(60), [now] * 60, ends, [f"{now} {n}" for n in range(60)]]
    return pa.table(dict(zip(SCHEMA.names, columns, strict=True)), SCHEMA)


def unsynced(done):
    """The data files that were written to and not synced since."""
    left = set()
    for change, name in done:
        if change in ("create", "copy", "patch", "scatter", "resize") and name.startswith(DATA):
            left.add(name)
        elif change == "sync":
            left.discard(name)
    return left


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_file_is_synced_before_the_manifest_that_names_it_appears(tmp_path, method):
    life, disk = create(tmp_path / "index", method)
    for now in range(1, 20):
        life.update(now, rows(now))
    links = [place for place, (change, _) in enumerate(disk.done) if change == "link"]
    assert len(links) > 18
    assert sum(change == "sync" for change, _ in disk.done) > 100
    for place in links:
        assert not unsynced(disk.done[:place])


@pytest.mark.parametrize("method", METHODS)
def test_a_sync_that_fails_fails_the_refresh_and_nothing_has_changed(tmp_path, method):
    life, disk = create(tmp_path / "index", method)
    for now in range(1, 4):
        life.update(now, rows(now))
    before = life.scan().read_all().sort_by("s")
    disk.fails = True
    with pytest.raises(DiskFull):
        life.update(4, rows(4))
    disk.fails = False
    assert life.scan().read_all().sort_by("s").equals(before)
    named = set(Log(disk).latest().files)
    assert {name for name in disk.names_in(DATA) if name not in named} <= set(
        Log(disk).read(life.commits[0]).files
    )
    assert life.update(4, rows(4)).rows == 60
    assert not life.verify()


def test_a_manifest_is_parsed_once_and_one_that_was_changed_again(tmp_path):
    life, disk = create(tmp_path / "index", "rebuild")
    for now in range(1, 4):
        life.update(now, rows(now))
    log = Log(disk)
    newest = log.latest()
    assert log.latest() is newest
    assert all(log.read(commit).commit == commit for commit in log.commits())
    path = disk.path(f"log/{newest.commit:020d}.json")
    path.write_bytes(path.read_bytes().replace(b'"update"', b'"append"'))
    with pytest.raises(wx.errors.Damaged, match="checksum"):
        log.latest()
