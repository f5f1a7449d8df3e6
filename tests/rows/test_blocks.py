"""What is worked out block by block, or in pieces, is what it would be as a whole."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from wavedex.errors import TooLarge
from wavedex.rows import content, entries, order
from wavedex.rows import hashes as xxh64
from wavedex.rows.content import hash_rows
from wavedex.rows.entries import EntrySpec
from wavedex.rows.order import sort_order, stable_order
from wavedex.rows.pieces import Piece, Pieces
from wavedex.store.shard import Share, split_by_shard
from wavedex.store.sorter import sort_rows

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("s", pa.string())])
SPEC = EntrySpec(SCHEMA, "k", "t")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(xxh64, "_BLOCK", 7)
    monkeypatch.setattr(content, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(order, "_BLOCK", 7)


def rows_of(count, seed=0, keys=10, texts=5):
    random = np.random.default_rng(seed)
    return pa.record_batch(
        [
            pa.array(random.integers(0, keys, count)),
            pa.array(random.integers(0, 50, count)),
            pa.array([None if n % 4 == 0 else f"text {n % texts}" for n in range(count)]),
        ],
        schema=SCHEMA,
    )


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 14, 15, 100])
def test_hashes_are_those_of_each_value_by_itself(count):
    values = np.random.default_rng(1).integers(-(2**63), 2**63, count, np.int64)
    longs = [xxhash.xxh64_intdigest(value.tobytes(), 42) for value in values]
    assert xxh64.hash_longs(values).tolist() == longs
    ints = values.astype(np.int32)
    assert xxh64.hash_ints(ints).tolist() == [
        xxhash.xxh64_intdigest(value.tobytes(), 42) for value in ints
    ]
    texts = [f"t{value}" for value in values]
    offsets = np.cumsum([0, *map(len, texts)])
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    assert xxh64.hash_bytes(data, offsets[:-1], np.diff(offsets)).tolist() == [
        xxhash.xxh64_intdigest(text.encode(), 42) for text in texts
    ]


@pytest.mark.parametrize("coded", [False, True])
def test_rows_have_the_same_hash_wherever_they_stand(coded):
    rows = rows_of(30)
    if coded:
        rows = rows.set_column(2, "s", rows.column(2).dictionary_encode())
    alone = [hash_rows(rows.slice(n, 1)).item() for n in range(30)]
    assert hash_rows(rows).tolist() == alone
    assert 0 not in alone


@pytest.mark.parametrize("seed", range(30))
def test_rows_are_sorted_by_rank_and_time_and_else_stay_as_they_came(seed):
    random = np.random.default_rng(seed)
    ranks, times = random.integers(0, 6, (2, 40))
    if seed % 3 == 1:  # Older rows before younger ones, each lot by rank: what a merge meets.
        times = np.sort(times)
        halves = [lot[np.lexsort((times[lot], ranks[lot]))] for lot in np.split(np.arange(40), 2)]
        ranks, times = ranks[np.concatenate(halves)], times[np.concatenate(halves)]
    assert sort_order(ranks, times).tolist() == np.lexsort((times, ranks)).tolist()
    assert stable_order(ranks).tolist() == np.argsort(ranks, kind="stable").tolist()


def test_two_rows_out_of_time_are_noticed_wherever_they_stand():
    for place in range(39):
        times = np.arange(40)
        times[[place, place + 1]] = times[[place + 1, place]]
        assert sort_order(np.zeros(40, np.int64), times).tolist() == np.argsort(times).tolist()


def test_a_merge_of_older_with_younger_rows_sorts_once(monkeypatch):
    sorts = []
    real = order.stable_order
    monkeypatch.setattr(order, "stable_order", lambda values: sorts.append(1) or real(values))
    older, younger = (np.tile(np.arange(20), 2) for _ in range(2))
    older.sort(), younger.sort()
    times = np.concatenate([np.tile([1, 2], 20), np.tile([3, 4], 20)])
    sort_order(np.concatenate([older, younger]), times)
    assert len(sorts) == 1
    sort_order(np.concatenate([older, younger]), times[::-1].copy())
    assert len(sorts) == 1 + 3


def test_pieces_of_which_some_rows_count_are_sorted_as_one_batch_of_those_and_let_go_of():
    one, other = rows_of(20, 1), rows_of(30, 2)
    kept = pa.array([n for n in range(20) if n % 3 > 0], pa.uint32())
    whole = pa.concat_batches([one.take(kept), other])
    pieces = Pieces([Piece(one, kept), Piece(other)])
    assert pieces.num_rows == whole.num_rows
    assert pieces.batch().equals(whole)
    found, right = sort_rows(SPEC, pieces), sort_rows(SPEC, Pieces.of(whole))
    assert found.batch.equals(right.batch)
    assert found.starts.tolist() == right.starts.tolist()
    assert found.hashes.tolist() == right.hashes.tolist()
    assert not pieces.pieces


def test_pieces_with_dictionaries_of_their_own_become_one_column():
    lots = [pa.array(texts).dictionary_encode() for texts in (["a", "b"], ["c", None, "a"])]
    batches = [pa.record_batch([lot], names=["s"]) for lot in lots]
    assert Pieces.of(*batches).column(0).to_pylist() == ["a", "b", "c", None, "a"]


def test_more_text_than_a_column_can_have_is_refused(monkeypatch):
    monkeypatch.setattr(entries, "TEXT_BYTES_MAX", 100)
    with pytest.raises(TooLarge, match="'s'"):
        Pieces.of(rows_of(20, 1), rows_of(20, 2)).column(2)


@pytest.mark.parametrize("keys", [1, 10])
def test_every_row_is_in_one_share_which_is_sent_without_the_others(keys):
    rows = rows_of(40, keys=keys)
    shares = split_by_shard(rows, SPEC, 3)
    assert sum(share.num_rows for share in shares) == 40
    for share in shares:
        sent = pickle.loads(pickle.dumps(share))
        assert isinstance(sent, Share)
        assert sent.source.num_rows == sent.num_rows == share.num_rows
        assert sent.batch().equals(share.batch())
    everything = pa.Table.from_batches([share.batch() for share in shares])
    assert (
        everything.sort_by("k")
        .select(["k"])
        .equals(pa.Table.from_batches([rows]).sort_by("k").select(["k"]))
    )
