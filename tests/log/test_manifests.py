"""Manifests as JSON, there and back, and as an earlier format had them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
import xxhash

import wavedex as wx
from wavedex import errors
from wavedex.files.names import DEFINITION, manifest_name
from wavedex.log.codec import seal, unseal
from wavedex.log.manifest import Manifest

SCHEMA = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("n", pa.int64())])


def rows(now: int) -> pa.Table:
    return pa.table({"k": [1, 2], "b": [now, now], "n": [now - 1, now]}, schema=SCHEMA)


@pytest.fixture
def wave(tmp_path) -> wx.WaveIndex:
    index = wx.WaveIndex.create(tmp_path / "w", SCHEMA, key="k", time="b", slot=10, window=3)
    for slot in range(1, 6):
        index.append(rows(slot * 10))
    index.feed(rows(61), stream="s", number=0, delay=5)
    return index


@pytest.fixture
def life(tmp_path) -> wx.LifetimeIndex:
    index = wx.LifetimeIndex.create(
        tmp_path / "l", SCHEMA, key="k", inserted="b", counts={"n": 4}, max_lifetime=16, refresh=2,
        method="count-rebuild", grid=(2, 2),
    )  # fmt: skip
    for now in (2, 4, 6):
        index.update(now, rows(now), arrived={"n": now})
    index.migrate(grid=(2, 4), strategy="drain")
    return index


def as_of_format_5(data: bytes) -> bytes:
    """The same manifest with the names that format 5 had."""
    body = unseal("manifest", data)
    ledger, sources = body.pop("ledger"), body.pop("sources")
    own = {"now": None, "arrivals": [], "drained_at": {}, **body.pop("own")}
    return seal("manifest", {**body, **own, **sources, **ledger, "ledger": ledger["segments"]})


@pytest.mark.parametrize("kind", ["wave", "life"])
def test_a_manifest_is_read_as_it_was_written_and_as_format_5_had_it(kind, request):
    index = request.getfixturevalue(kind)
    data = index.storage.read(manifest_name(index.manifest.commit))
    assert Manifest.from_bytes(data, "x").to_bytes() == data
    old = as_of_format_5(data)
    assert b'"own"' not in old
    read = Manifest.from_bytes(old, "x")
    assert kind == "wave" or read == index.manifest
    assert read.files == index.manifest.files
    assert read.sources == index.manifest.sources


@pytest.mark.parametrize("kind", ["wave", "life"])
def test_an_index_of_format_5_is_read_and_written_on(kind, request):
    index = request.getfixturevalue(kind)
    expected = index.scan().read_all()
    for commit in index.commits:
        path = index.storage.path(manifest_name(commit))
        path.write_bytes(as_of_format_5(path.read_bytes()))
    definition = index.storage.path(DEFINITION)
    text = definition.read_text().replace('"format": 8', '"format": 5')
    assert text != definition.read_text()
    _rewrite(index, text)
    index = wx.open(index.path)
    index.verify()
    assert index.scan().read_all().equals(expected)
    if kind == "wave":
        index.feed(rows(62), stream="s", number=1, delay=5)
    else:
        index.update(8, rows(8), arrived={"n": 8})
    index.verify()
    assert index.scan().read_all().num_rows == (10 if kind == "wave" else 4)


def _rewrite(index, definition: str) -> None:
    """Another definition, and manifests that have its checksum."""
    before = index.manifest.definition
    index.storage.path(DEFINITION).write_text(definition)
    after = xxhash.xxh64_hexdigest(definition.encode())
    for commit in index.commits:
        path = index.storage.path(manifest_name(commit))
        body = unseal("manifest", path.read_bytes())
        assert body["definition"] in (before, "")
        path.write_bytes(seal("manifest", {**body, "definition": after}))


@pytest.mark.parametrize(
    "own", [{"now": 3}, {"now": 3, "arrivals": 7, "drained_at": {}}, {"arrivals": [[1]]}], ids=str
)
def test_a_kind_that_cannot_read_its_own_words_says_that_the_commit_is_damaged(life, own):
    path = life.storage.path(manifest_name(life.manifest.commit))
    path.write_bytes(seal("manifest", {**unseal("manifest", path.read_bytes()), "own": own}))
    with pytest.raises(errors.Damaged, match="does not say what the time is"):
        wx.open(life.path).probe(1)


def test_what_is_not_sealed_is_not_read(wave):
    data = wave.storage.read(manifest_name(wave.manifest.commit))
    for spoilt in (data.replace(b'"commit":', b'"commit" :'), b"{}", json.dumps([]).encode()):
        with pytest.raises(errors.Damaged, match="no manifest"):
            Manifest.from_bytes(spoilt, "x")
