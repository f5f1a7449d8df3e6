"""A chained shard is built and read as a list of rows, and what is wrong with one is found."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.chain_walk import SPECS, Walk, batch_of, check, check_chains, make_row
from kit.matrix import examples
from wavedex.errors import BadDefinition, Damaged
from wavedex.files.local import Files
from wavedex.rows.entries import EntrySpec
from wavedex.store.formats import FORMATS, open_shard
from wavedex.store.growing.buckets import Buckets
from wavedex.store.growing.chained import ChainedShard, Chains, build_chained, write_chains
from wavedex.store.package import Site
from wavedex.store.part import Part
from wavedex.store.room import Sizes
from wavedex.store.sieve import between

SIZES = Sizes(2.0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("keys", SPECS)
@examples(25)
@given(
    drawn=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 12)), min_size=1, max_size=60),
    sizes=st.builds(Sizes, st.sampled_from([1.1, 2.0, 16.0]), st.integers(1, 5), st.floats(1, 6)),
)
def test_a_shard_that_is_built_equals_a_list_of_rows(tmp_path_factory, keys, drawn, sizes):
    spec, rnd = SPECS[keys], random.Random(0)
    rows = [make_row(spec, number, t, rnd) for number, t in drawn]
    files = Files(tmp_path_factory.mktemp("built"))
    part = build_chained(files, spec, sizes, "p", batch_of(spec, rows), frozenset(range(13)))
    shard = check(files, spec, part, rows)
    check_chains(shard, sizes)
    assert part.store == "chained"
    assert isinstance(open_shard(files, spec, part), ChainedShard)


def test_an_answer_stays_as_it_is_when_the_room_of_its_rows_is_used_again(tmp_path):
    spec = SPECS["numbers"]
    walk, rnd = Walk(Files(tmp_path), spec, SIZES), random.Random(0)
    walk.add(1, [make_row(spec, 2, 2, rnd) for _ in range(9)])
    shard = ChainedShard(walk.files, spec, walk.part)
    found = shard.probe(0, spec.key_type.hash(0), None)
    before = found.to_pylist()
    records = tmp_path / walk.part.files["rows"].name
    records.write_bytes(b"\xff" * records.stat().st_size)
    assert str(found.to_pylist()) == str(before)


def test_what_another_version_shows_too_is_passed_over_bucket_by_bucket(tmp_path):
    spec = SPECS["numbers"]
    walk, rnd = Walk(Files(tmp_path), spec, SIZES), random.Random(0)
    walk.add(1, [make_row(spec, number, 2, rnd) for number in range(8) for _ in range(9)])
    before = walk.part
    walk.add(2, [make_row(spec, 3, 4, rnd)])
    walk.delete(3)
    opened, known = (ChainedShard(walk.files, spec, part) for part in (walk.part, before))
    found = opened.piece(None, [between("t", 4, 5)], other=known).rows()
    assert found.to_pylist() == opened.scan((4, 5)).to_pylist()
    assert {*opened.piece(None, other=known).rows()["k"].to_pylist()} == {1}
    assert known.piece(None, other=opened).num_rows < 9
    assert opened.piece(None, other=opened).num_rows == 0


def test_the_format_is_packed_until_it_is_updated_and_then_chained(tmp_path):
    chained = FORMATS["chained"]
    assert [*chained.stores] == ["packed", "chained"]
    assert chained.deletes
    assert chained.removes
    assert [name for name, each in FORMATS.items() if each.removes] == ["chained"]
    updates = chained.updates(Site(Files(tmp_path), SPECS["text"], SIZES, 1, 0))
    rows = [make_row(SPECS["text"], 1, 1, random.Random(0))]
    part = updates.build("p", batch_of(SPECS["text"], rows), frozenset({1}))
    assert chained.is_updatable([part])
    assert not chained.is_packed([part])


def test_columns_of_lists_cannot_be_updated_in_place():
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("l", pa.list_(pa.int8()))])
    with pytest.raises(BadDefinition, match="cannot be updated in place"):
        FORMATS["chained"].check_updates(EntrySpec(schema, "k", "t"))


# -- damage ----------------------------------------------------------------------------------------

SPEC = SPECS["numbers"]


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    walk, rnd = Walk(Files(tmp_path), SPEC, SIZES), random.Random(0)
    for slot in (1, 2, 3):
        rows = [make_row(SPEC, number % 3, slot * 2 + number % 2, rnd) for number in range(12)]
        walk.add(slot, [row | {"v": "some text"} for row in rows])
    walk.delete(1)
    return walk


def findings(walk: Walk, part: Part | None = None) -> str:
    assert walk.part is not None
    return "; ".join(ChainedShard(walk.files, SPEC, part or walk.part).findings())


def spoil(walk: Walk, role: str, change: Any) -> None:
    path = Path(walk.files.root) / walk.part.files[role].name
    path.write_bytes(change(bytearray(path.read_bytes())))


def test_a_whole_shard_has_no_faults(walk):
    assert not findings(walk)
    assert len(ChainedShard(walk.files, SPEC, walk.part).free.starts) > 0


def test_a_byte_of_a_record_that_has_turned_over_is_found(walk):
    shard = ChainedShard(walk.files, SPEC, walk.part)
    width, at = shard.format.dtype.itemsize, shard.format.dtype.fields["c1"][1]
    place = int(shard.buckets.firsts[0]) * width + at

    def turn(content: bytearray) -> bytearray:
        content[place] ^= 1
        return content

    spoil(walk, "rows", turn)
    assert "holds other rows than were written" in findings(walk)


def test_a_byte_of_text_that_has_turned_over_is_found(walk):
    spoil(walk, "heap", lambda content: content.replace(b"some text", b"sore text"))
    assert "holds other rows than were written" in findings(walk)


def test_a_directory_that_has_changed_is_found(walk):
    spoil(walk, "directory", lambda content: content[:-9] + b"x" + content[-8:])
    assert "checksum" in findings(walk)


@pytest.mark.parametrize("role", ["rows", "heap"])
def test_a_file_that_is_too_short_is_found(walk, role):
    spoil(walk, role, lambda content: content[:-1])
    with pytest.raises(Damaged, match="bytes, not"):
        findings(walk)


def test_records_that_point_outside_of_the_heap_are_found(walk):
    shard = ChainedShard(walk.files, SPEC, walk.part)
    records = shard.records.copy()
    records["at2"] += 1 << 40
    path = Path(walk.files.root) / walk.part.files["rows"].name
    path.write_bytes(records.tobytes())
    with pytest.raises(Damaged, match="points outside"):
        findings(walk)


def miswritten(walk: Walk, **changed: Any) -> str:
    """What is found wrong with a directory that was written with other chains.

    Written so, it has its checksum.
    """
    shard = ChainedShard(walk.files, SPEC, walk.part)
    chains, free = shard.chains, changed.pop("free", shard.free)
    arrays = chains.buckets.arrays() | {
        k: v for k, v in changed.items() if k in chains.buckets.arrays()
    }
    chains = Chains(
        changed.get("keys", chains.keys), changed.get("starts", chains.starts), Buckets(**arrays)
    )
    ref = write_chains(walk.files, SPEC, "wrong", chains, free, shard.heap_live_bytes)
    part = replace(walk.part, files={**walk.part.files, "directory": ref})
    found = "; ".join(ChainedShard(walk.files, SPEC, part)._rule_findings())
    walk.files.remove(ref.name)
    return found


def test_faults_of_a_directory_are_found(walk):
    shard = ChainedShard(walk.files, SPEC, walk.part)
    chains, buckets, free = shard.chains, shard.buckets, shard.free
    assert not miswritten(walk)
    assert "keys out of order" in miswritten(walk, keys=chains.keys[::-1])
    assert "other keys" in miswritten(walk, keys=chains.keys[::-1])
    assert "which buckets" in miswritten(walk, starts=chains.starts[:-1])
    assert "which buckets" in miswritten(walk, starts=chains.starts + 1)
    first_has_none = np.concatenate([[0, 0], chains.starts[2:]])
    assert "which buckets" in miswritten(walk, starts=first_has_none)
    moved = chains.starts.copy()
    moved[1] += 1
    assert "other keys" in miswritten(walk, starts=moved)
    emptied = buckets.counts.copy()
    emptied[0] = 0
    assert "without entries" in miswritten(walk, counts=emptied)
    assert "larger than their room" in miswritten(walk, skips=buckets.skips + 2)
    assert "overlap" in miswritten(walk, sizes=buckets.sizes + 4)
    taken = replace(
        free, starts=np.where(np.arange(len(free.starts)) == 0, buckets.rooms[0], free.starts)
    )
    assert "overlap" in miswritten(walk, free=taken)


def test_a_bucket_that_is_not_sorted_is_found(walk):
    shard = ChainedShard(walk.files, SPEC, walk.part)
    records = shard.records.copy()
    bucket = int(np.argmax(shard.buckets.counts))
    mine = slice(
        int(shard.buckets.firsts[bucket]),
        int((shard.buckets.firsts + shard.buckets.counts)[bucket]),
    )
    records[mine] = records[mine][::-1]
    path = Path(walk.files.root) / walk.part.files["rows"].name
    path.write_bytes(records.tobytes())
    assert "not sorted by time" in findings(walk)


def test_a_directory_that_does_not_find_its_own_keys_is_found(walk):
    shard = ChainedShard(walk.files, SPEC, walk.part)
    shard._arrays["table"] = shard._arrays["table"][::-1].copy()
    assert "does not find its own keys" in "; ".join(shard._rule_findings())
