"""A chained shard holds what a list of rows holds whatever is done to it.

It shows its past to whoever kept it.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.chain_walk import EVERY, KEYS, SPECS, Walk, batch_of, check, check_chains, make_row
from kit.collisions import colliding
from kit.crashing import crash_numbers
from kit.matrix import RUNS_ALL, examples
from wavedex.errors import Damaged
from wavedex.files.local import Files
from wavedex.rows.content import hash_rows
from wavedex.rows.entries import EntrySpec
from wavedex.store.growing import grower
from wavedex.store.growing.chain_updates import Chainer
from wavedex.store.growing.chained import ChainedShard
from wavedex.store.package import Updatable
from wavedex.store.room import Sizes
from wavedex.testing.disks import Crash, CrashingDisk, ForgetfulDisk, WatchedDisk

numbers = st.lists(st.integers(0, KEYS - 1), min_size=1, max_size=14)
step = st.one_of(
    st.tuples(st.just("add"), numbers),
    st.tuples(st.just("late"), numbers),
    st.tuples(st.just("delete"), st.integers(0, 3)),
    st.tuples(st.just("remove"), st.integers(1, 12)),
    st.tuples(st.just("copy"), st.none()),
)


@pytest.mark.slow
@pytest.mark.parametrize("keys", SPECS)
@examples(15)
@given(
    steps=st.lists(step, min_size=1, max_size=16),
    sizes=st.builds(
        Sizes, st.sampled_from([1.1, 2.0, 4.0]), st.integers(1, 4), st.sampled_from([1.0, 1.3, 2.5])
    ),
    kept=st.integers(1, 3),
    waste=st.sampled_from([64, 1 << 16]),
)
def test_any_updates_in_any_order_leave_what_a_list_of_rows_has(keys, steps, sizes, kept, waste):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(grower, "WASTE_LEAST_BYTES", waste)
        take_steps(Walk(Files(folder), SPECS[keys], sizes, kept), steps)


def take_steps(walk: Walk, steps: list, every: int = 1) -> None:
    """Take steps one after the other, behind a first addition, and look after every so many."""
    rnd = random.Random(5)
    for number, (what, drawn) in enumerate([("add", [*range(KEYS), 1, 1, 1]), *steps]):
        known = sorted(slot for slot, rows in walk.slots.items() if rows)
        if what in ("add", "late"):
            slot = max(known, default=0) + 1 if what == "add" else min(known, default=1)
            rows = [make_row(walk.spec, n, slot * EVERY + rnd.randrange(EVERY), rnd) for n in drawn]
            walk.add(slot, rows)
        elif walk.part is None:
            continue
        elif what == "delete":
            # The oldest slot mostly, but also one from the middle, and one that is not there.
            walk.delete(known[drawn] if drawn < len(known) else 99)
        elif what == "remove":
            walk.remove(rnd.sample(walk.rows, min(drawn, len(walk.rows))))
        else:
            walk.copy()
        if number % every == 0:
            walk.check()


LIFE = 600 if RUNS_ALL else 100


@pytest.mark.slow
@pytest.mark.parametrize("keys", SPECS)
@pytest.mark.parametrize("kept", [1, 2, 4])
def test_a_long_life_leaves_what_a_list_of_rows_has(tmp_path, monkeypatch, keys, kept):
    monkeypatch.setattr(grower, "WASTE_LEAST_BYTES", 1 << 12)
    rnd = random.Random(kept)
    does = ["add"] * 6 + ["late"] * 3 + ["delete"] * 4 + ["remove"] * 4 + ["copy"]
    steps: list = []
    for what in rnd.choices(does, k=LIFE):
        hot = [rnd.choice([0, 0, 0, rnd.randrange(KEYS)]) for _ in range(rnd.choice([1, 9, 60]))]
        drawn = {"delete": rnd.choice([0, 0, 1, 9]), "remove": rnd.randrange(1, 30)}
        steps.append((what, drawn.get(what, hot)))
    take_steps(Walk(Files(tmp_path), SPECS[keys], Sizes(2.0, 2), kept), steps, every=8)


# -- how many buckets a key has --------------------------------------------------------------------

PLAIN = SPECS["numbers"]


def plain_rows(counts: dict[int, int], slot: int) -> list[dict]:
    """So many rows of each key, without text."""
    nothing = {"v": None, "y": None, "f": None, "b": None, "c": None}
    return [
        {"k": key, "t": slot * EVERY + place % EVERY, **nothing}
        for key, count in counts.items()
        for place in range(count)
    ]


def chains_of(walk: Walk) -> ChainedShard:
    assert walk.part is not None
    shard = ChainedShard(walk.files, walk.spec, walk.part)
    check_chains(shard, walk.sizes)
    return shard


@pytest.mark.slow
@pytest.mark.parametrize("per_key", [1.0, 2.5, 4.0])
@pytest.mark.parametrize("growth", [1.1, 2.0, 8.0])
def test_a_key_that_grows_and_shrinks_has_few_buckets_all_the_way(tmp_path, growth, per_key):
    walk, rnd = Walk(Files(tmp_path), PLAIN, Sizes(growth, 2, per_key)), random.Random(1)
    for slot in range(1, 30):
        walk.add(slot, plain_rows({7: rnd.choice([1, 2, 40, 300])}, slot))
        chains_of(walk)
    assert len(walk.rows) > 1000
    most = chains_of(walk).buckets.sizes.max()
    for slot in range(1, 29):
        walk.delete(slot)
        chains_of(walk)
    shard = chains_of(walk)
    assert shard.buckets.sizes.max() < most
    check(walk.files, PLAIN, walk.part, walk.rows)


def test_a_hot_key_among_cold_ones_has_as_few_buckets_as_they_have(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 1))
    for slot in range(1, 25):
        walk.add(slot, plain_rows({0: 150, slot: 1, slot + 1: 2}, slot))
        if slot > 6:
            walk.delete(slot - 6)
        shard = chains_of(walk)
    sizes = np.maximum.reduceat(shard.buckets.sizes, shard.chains.starts[:-1])
    hot = walk.spec.key_type.reader(shard.keys)(0)
    assert hot == 0
    assert sizes[0] >= 900 / 2.5
    assert sizes[1:].max() <= 4


@pytest.mark.slow
def test_a_key_that_loses_single_rows_everywhere_stays_compact(tmp_path):
    walk, rnd = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 1)), random.Random(3)
    walk.add(1, plain_rows({1: 400, 2: 400}, 1))
    while len(walk.rows) > 10:
        walk.remove(rnd.sample(walk.rows, 10))
        chains_of(walk)
    walk.check()


def test_the_buckets_of_a_new_key_are_as_many_as_asked_for(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 1))
    walk.add(1, plain_rows({1: 1, 2: 5, 3: 1000}, 1))
    chains = chains_of(walk).chains
    assert chains.buckets.sizes.tolist() == [1, 2, 2, 2, 512, 512]
    assert chains.buckets.counts.tolist() == [1, 2, 2, 1, 512, 488]
    assert chains.starts.tolist() == [0, 1, 4, 6]


# -- what is written -------------------------------------------------------------------------------


def watched(walk: Walk) -> WatchedDisk:
    """From now on, with a disk that counts."""
    disk = WatchedDisk(walk.files.root)
    walk.files = disk
    return disk


@pytest.mark.slow
@pytest.mark.parametrize("keys", [50, 2000])
def test_an_addition_writes_the_buckets_it_touches_and_the_directory_however_large_the_shard(
    tmp_path, keys
):
    walk = Walk(Files(tmp_path), PLAIN, Sizes())
    walk.add(1, plain_rows(dict.fromkeys(range(keys), 20), 1))
    disk = watched(walk)
    walk.add(2, plain_rows({3: 1, 7: 2, 30: 1}, 2))
    shard = chains_of(walk)
    records = disk.bytes_written - walk.part.files["directory"].bytes
    # Three buckets of eight, of which the last was half full, merged with four new rows.
    assert records == (3 * 4 + 4) * shard.format.dtype.itemsize
    check(disk, PLAIN, walk.part, walk.rows)


def test_full_buckets_and_other_keys_stay_where_they_are(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 4))
    walk.add(1, plain_rows({1: 20, 2: 20}, 1))
    before = chains_of(walk).buckets.rooms.tolist()
    walk.add(2, plain_rows({1: 1}, 2))
    after = chains_of(walk).buckets.rooms.tolist()
    # Of the first key's buckets, full ones of 8 and one of 4, the last has moved behind everything.
    assert after == [*before[:2], 48, *before[3:]]


def test_a_last_bucket_that_is_full_stays_too(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 4))
    walk.add(1, plain_rows({1: 16}, 1))
    disk = watched(walk)
    walk.add(2, plain_rows({1: 1}, 2))
    shard = chains_of(walk)
    assert shard.buckets.counts.tolist() == [8, 8, 1]
    records = disk.bytes_written - walk.part.files["directory"].bytes
    assert records == shard.format.dtype.itemsize


def test_what_leaves_from_the_front_is_skipped_and_nothing_is_copied(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 4))
    for slot in (1, 2, 3):
        walk.add(slot, plain_rows({1: 8, 2: 3}, slot))
    disk = watched(walk)
    walk.delete(1)
    assert not disk.changes["scatter"]
    shard = chains_of(walk)
    assert shard.buckets.skips.any()
    assert disk.bytes_written == walk.part.files["directory"].bytes
    # Nor where the last ones leave.
    walk.delete(3)
    assert not disk.changes["scatter"]
    check(disk, PLAIN, walk.part, walk.rows)


def test_what_leaves_from_the_middle_of_a_bucket_has_that_bucket_copied_alone(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 64, 1.0))
    for slot in (1, 2, 3):
        walk.add(slot, plain_rows({1: 10}, slot))
    walk.add(3, plain_rows({2: 30}, 3))
    disk = watched(walk)
    walk.delete(2)
    width = chains_of(walk).format.dtype.itemsize
    assert disk.bytes_written == 20 * width + walk.part.files["directory"].bytes
    check(disk, PLAIN, walk.part, walk.rows)


def test_a_bucket_of_which_nothing_is_left_is_freed_and_its_room_used_once_no_kept_commit_shows_it(
    tmp_path,
):
    walk = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 4), kept=2)
    walk.add(1, plain_rows({1: 4}, 1))
    walk.add(2, plain_rows({2: 4}, 2))
    walk.delete(1)
    shard = chains_of(walk)
    assert shard.free.starts.tolist() == [0]
    assert len(shard.keys) == 1
    size = walk.part.files["rows"].bytes
    # Commits 2 and 3 are kept, and 2 shows it still.
    walk.add(4, plain_rows({4: 4}, 4))
    assert walk.part.files["rows"].bytes > size
    walk.add(5, plain_rows({5: 4}, 5))
    walk.add(6, plain_rows({6: 4}, 6))
    shard = chains_of(walk)
    assert not len(shard.free.starts)
    assert 0 in shard.buckets.rooms
    walk.check()


@pytest.mark.slow
@pytest.mark.parametrize("kept", [1, 3])
def test_a_steady_window_does_not_grow(tmp_path, kept):
    walk, sizes = Walk(Files(tmp_path), PLAIN, Sizes(2.0, 1), kept), []
    for slot in range(1, 80):
        walk.add(slot, plain_rows({1: 1, 2: 3, 3: 9}, slot))
        if slot > 4:
            walk.delete(slot - 4)
        sizes.append(walk.part.files["rows"].bytes)
    assert max(sizes[40:]) == max(sizes[:40])
    walk.check()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "long text " * 20])
def test_steady_churn_of_single_rows_leaves_the_files_bounded(tmp_path, monkeypatch, text):
    monkeypatch.setattr(grower, "WASTE_LEAST_BYTES", 1 << 10)
    walk, rnd, sizes, names = (
        Walk(Files(tmp_path), PLAIN, Sizes(2.0, 2)),
        random.Random(2),
        [],
        set(),
    )

    def fresh(slot: int) -> list[dict]:
        rows = plain_rows({rnd.randrange(6): 1 for _ in range(9)}, slot)
        return [row | {"v": text} for row in rows]

    walk.add(1, [row for _ in range(12) for row in fresh(1)])
    for slot in range(2, 90):
        rows = fresh(slot)
        walk.add(slot, rows)
        walk.remove(rnd.sample(walk.rows, len(rows)))
        names.add(walk.part.files["rows"].name)
        sizes.append(walk.part.files["rows"].bytes + walk.part.files["heap"].bytes)
    assert max(sizes[45:]) <= 1.5 * max(sizes[:45])
    assert len(names) > (5 if text else 1), "never written anew"
    walk.check()


# -- single rows -----------------------------------------------------------------------------------


def test_rows_that_share_a_hash_are_not_taken_out_for_each_other(tmp_path):
    schema = pa.schema([(name, pa.int64()) for name in ("k", "t", "a", "b")])
    spec = EntrySpec(schema, "k", "t")
    begin = int(
        hash_rows(pa.RecordBatch.from_pylist([{"k": 1, "t": 2}], schema.remove(3).remove(2)))[0]
    )
    one = {"k": 1, "t": 2, "a": 1, "b": 2}
    other_a, other_b = colliding(1, 2, 5, begin)
    other = one | {"a": other_a, "b": other_b}
    both = pa.RecordBatch.from_pylist([one, other], schema)
    assert len(set(hash_rows(both).tolist())) == 1
    for doomed, left in ((one, other), (other, one)):
        files = Files(tmp_path / str(doomed["a"]))
        files.make_folder("")
        chainer = Chainer(files, spec, Sizes(), 1, 0)
        part = chainer.build("0", both, frozenset({1}))
        part = chainer.remove(part, "1", pa.RecordBatch.from_pylist([doomed], schema))
        assert ChainedShard(files, spec, part).scan(None).to_pylist() == [left]


def test_a_row_that_stands_there_twice_is_taken_out_once(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes())
    walk.add(1, plain_rows({1: 2 * EVERY, 2: 1}, 1))
    walk.remove(plain_rows({1: EVERY}, 1))
    walk.check()
    assert walk.part.rows == EVERY + 1
    assert walk.part.held == {1}


def test_taking_out_all_rows_leaves_no_part(tmp_path):
    for number, end in enumerate(
        [lambda walk: walk.remove(walk.rows), lambda walk: walk.delete(1)]
    ):
        files = Files(tmp_path / str(number))
        files.make_folder("")
        walk = Walk(files, PLAIN, Sizes())
        walk.add(1, plain_rows({1: 3, 2: 30}, 1))
        end(walk)
        assert walk.part is None


@pytest.mark.parametrize("row", [{"k": 99}, {"t": 9}, {"v": "other"}, {"k": 2}])
def test_rows_that_are_not_there_are_said_to_be_lacking(tmp_path, row):
    walk = Walk(Files(tmp_path), PLAIN, Sizes())
    walk.add(1, plain_rows({1: 3, 2: 1}, 1))
    (there,) = plain_rows({2: 1}, 1)
    twice = batch_of(PLAIN, [there, there | row])
    with pytest.raises(Damaged, match="lacks 1 of the rows to be removed"):
        walk.chainer().remove(walk.part, "x", twice)
    walk.check()


def test_what_cannot_remove_says_so(tmp_path):
    walk = Walk(Files(tmp_path), PLAIN, Sizes())
    walk.add(1, plain_rows({1: 1}, 1))
    with pytest.raises(NotImplementedError):
        Updatable.remove(walk.chainer(), walk.part, "x", batch_of(PLAIN, walk.rows))


# -- crashes ---------------------------------------------------------------------------------------

DISKS = {
    "crash": lambda path, number: CrashingDisk(path, number),
    "torn": lambda path, number: CrashingDisk(path, number, torn=True),
    "forgetful": lambda path, number: ForgetfulDisk(path, number),
}
ACTS = {
    "add": lambda walk: walk.add(6, plain_rows({1: 3, 4: 1}, 6)),
    "delete": lambda walk: walk.delete(4),
    "remove": lambda walk: walk.remove(walk.rows[::7]),
    "copy": lambda walk: walk.copy(),
    "add with text": lambda walk: walk.add(6, [plain_rows({1: 1}, 6)[0] | {"v": "text"}]),
}


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("act", ACTS)
def test_a_crash_before_any_change_leaves_the_old_version_whole(tmp_path, act, disk):
    origin, scratch = tmp_path / "origin", tmp_path / "scratch"
    origin.mkdir()
    walk = Walk(Files(origin), PLAIN, Sizes(2.0, 1))
    for slot in (1, 2, 3, 4, 5):
        walk.add(slot, plain_rows({1: 5, 2: 1, slot: 3}, slot))
    walk.delete(1)
    walk.delete(2)
    for number in crash_numbers():
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(origin, scratch)
        broken = DISKS[disk](scratch, number)
        trial = Walk(
            broken, PLAIN, walk.sizes, 1, walk.commit, walk.part,
            {slot: list(rows) for slot, rows in walk.slots.items()},
        )  # fmt: skip
        try:
            ACTS[act](trial)
        except Crash:
            if isinstance(broken, ForgetfulDisk):
                broken.forget()
        else:
            if not broken.is_down:
                break
        survivor = Files(scratch)
        check(survivor, PLAIN, walk.part, walk.rows)
        again = Walk(
            survivor, PLAIN, walk.sizes, 1, walk.commit + 100, walk.part,
            {slot: list(rows) for slot, rows in walk.slots.items()},
        )  # fmt: skip
        ACTS[act](again)
        again.check()
        # Nor is anything left behind the end of the file that grew.
        rows = again.part.files["rows"]
        assert survivor.size(rows.name) == rows.bytes
    assert number > 3


def test_what_a_larger_write_left_behind_the_end_is_cut_off(tmp_path):
    files = Files(tmp_path)
    walk = Walk(files, PLAIN, Sizes(2.0, 1))
    walk.add(1, plain_rows({1: 2}, 1))
    sizes = set()
    for number in (1, 2, 3, 4, 5):
        broken = CrashingDisk(tmp_path, number)
        large = Walk(broken, PLAIN, walk.sizes, 1, walk.commit + 10 * number, walk.part, {})
        with contextlib.suppress(Crash):
            large.add(2, plain_rows(dict.fromkeys(range(5), 40), 2))
        sizes.add(files.size(walk.part.files["rows"].name))
    assert max(sizes) > min(sizes), "no write got as far as the file"
    walk.commit += 100
    walk.add(2, plain_rows({1: 1}, 2))
    rows = walk.part.files["rows"]
    assert files.size(rows.name) == rows.bytes < max(sizes)
    walk.check()
