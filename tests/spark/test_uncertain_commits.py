"""Where a commit may still appear, the rows that tasks have staged for it stay."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

import wavedex as wx
from wavedex.errors import CommitUncertain
from wavedex.files.names import staged_stem
from wavedex.files.remote import RemoteFiles
from wavedex.index.core.arrival import Arriving
from wavedex.index.core.staged import Staged, stage
from wavedex.index.wave.append import append
from wavedex.log.manifest import Manifest
from wavedex.spark import frames
from wavedex.spark.source import writer as source_write
from wavedex.spark.source.writer import Said
from wavedex.spark.types import spark_schema

SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64())])


class SlowStore(RemoteFiles):
    """Once it is slow, it gives no answer to a commit, which it carries out later."""

    is_slow = False
    late: tuple[str, bytes] | None = None

    def publish(self, name: str, data: bytes, draft: str) -> None:
        if self.is_slow:
            self.late = name, data
            raise CommitUncertain("There was no answer.")  # as of an object store
        super().publish(name, data, draft)

    def carry_out(self) -> None:
        assert self.late is not None
        name, data = self.late
        self.is_slow = False
        self.create(name, lambda sink: sink.write(data))


def rows_of(slot: int) -> pa.Table:
    return pa.table({"k": ["a", "b"], "t": [slot, slot]}, SCHEMA)


@pytest.fixture
def store(tmp_path) -> SlowStore:
    system = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    return SlowStore(system, "x.wx")


@pytest.fixture
def index(store) -> wx.WaveIndex:
    made = wx.WaveIndex.create(
        "x.wx", SCHEMA, key="k", time="t", slot=1, window=5, indexes=2, update="runs", shards=1,
        surroundings=wx.Surroundings(files=lambda _: store),
    )  # fmt: skip
    for slot in range(7):
        made.append(rows_of(slot))
    return made


def task(index: wx.WaveIndex, rows: pa.Table, stem: str) -> Staged:
    """What a task of a job does, in this process: executors could not reach this store."""
    return stage(index.storage, index.definition, rows, None, stem)


Bring = Callable[[Manifest], AbstractContextManager[Arriving]]


def by_a_frame(index: wx.WaveIndex, patch: pytest.MonkeyPatch) -> Bring:
    def run(path: str, definition: Any, rows: Any, at: Any, stem: str) -> list[Staged]:
        return [task(index, rows, f"{stem}-1")]

    patch.setattr(frames, "_run", run)
    return lambda manifest: frames.staging(index, rows_of(7), None, manifest)


def by_the_source(index: wx.WaveIndex, patch: pytest.MonkeyPatch) -> Bring:
    patch.setattr(source_write, "open_index", lambda path: index)
    stager = source_write._Stager(index.path, spark_schema(SCHEMA), "0" * 16, None)
    index.storage.make_folder("staged")
    staged = task(index, rows_of(7), staged_stem(stager.prefix, 1, "57a6ed"))
    return partial(stager.bring, [Said({"insert": staged.to_json()})])


@pytest.mark.parametrize("way", [by_a_frame, by_the_source])
def test_a_commit_that_appears_after_all_has_its_rows(index, store, monkeypatch, way):
    bring = way(index, monkeypatch)
    store.is_slow = True
    with pytest.raises(CommitUncertain):
        append(index.writer, bring, None)
    store.carry_out()
    assert all(store.exists(name) for name in index.manifest.files)
    index.verify()
    assert sorted(index.scan().read_all()["t"].to_pylist()) == sorted([*range(3, 8)] * 2)
    index.vacuum()
    index.verify()
