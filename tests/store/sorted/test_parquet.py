"""A Parquet shard reads little of its file, and notices what is damaged.

It is not larger than plain Parquet.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wavedex.errors import Damaged
from wavedex.files.local import Files
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.part import Part
from wavedex.store.sorted import parquet
from wavedex.store.sorted.parquet import ParquetShard, build_parquet
from wavedex.store.sorted.row_groups import describe_groups
from wavedex.store.sorter import PartDraft, SortedRows, as_sorted, sort_rows, write_part

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("t", pa.timestamp("us")),
        ("f", pa.float64()),
        ("i", pa.int32()),
        ("s", pa.string()),
    ]
)
SPEC = EntrySpec(SCHEMA, "k", "t")
HELD = frozenset({0})


def rows_of(count: int, keys: int, seed: int = 1) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    words = ["".join(map(chr, random.integers(97, 123, 12))) for _ in range(1000)]
    columns = [
        pa.array(random.integers(0, keys, count)),
        pa.array(np.sort(random.integers(0, 10**12, count)), pa.timestamp("us")),
        pa.array(random.random(count)),
        pa.array(random.integers(0, 2**31 - 1, count).astype(np.int32)),
        pa.array([words[place] for place in random.integers(0, len(words), count)]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


class Watched(ParquetShard):
    """Remembers which row groups it has read."""

    def __init__(self, files: Files, part: Part) -> None:
        super().__init__(files, SPEC, part)
        self.seen: list[int] = []

    def _read(self, groups, names=None):
        self.seen += groups
        return super()._read(groups, names)

    def find(self, key: int, within=None) -> tuple[list[dict], list[int]]:
        """The rows of a key, and what was read for it."""
        self.seen.clear()
        found = self.probe(key, SPEC.key_type.hash(key), within)
        return ([] if found is None else found.to_pylist()), list(self.seen)


def build(folder: Path, batch: pa.RecordBatch) -> Watched:
    files = Files(folder)
    return Watched(files, build_parquet(files, SPEC, "p", Pieces.of(batch), HELD))


def test_a_probe_reads_only_the_row_groups_of_its_key(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 64)
    batch = rows_of(5_000, 1_500)
    shard = build(tmp_path, batch)
    lying = shard.scan(None).to_pylist()
    for key in range(0, 1_500, 7):
        rows, seen = shard.find(key)
        places = [place for place, row in enumerate(lying) if row["k"] == key]
        assert rows == [lying[place] for place in places]
        if places:
            assert seen == sorted({place // 64 for place in places})


def test_most_keys_that_are_not_there_cost_no_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 64)
    shard = build(tmp_path, rows_of(5_000, 10**9))
    seen = [shard.find(key)[1] for key in range(0, 10**9, 10**6)]
    assert sum(map(bool, seen)) < 40


def test_of_a_key_with_many_rows_only_the_row_groups_of_the_time_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 64)
    shard = build(tmp_path, rows_of(5_000, 1))
    times = SPEC.ordinals(shard.scan(None)).tolist()
    within = times[1_000], times[1_010]
    rows, seen = shard.find(0, within)
    assert len(rows) == 10
    assert seen == sorted({1_000 // 64, 1_009 // 64})


def test_many_keys_are_found_by_reading_each_row_group_once(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 64)
    monkeypatch.setattr(parquet, "PIECE_GROUPS", 8)
    shard = build(tmp_path, rows_of(5_000, 1_500))
    lying = shard.scan(None).to_pylist()
    for keys in (range(1_400, 1_700), range(0, 1_500, 3), [7], [10**6], []):
        shard.seen.clear()
        asked = pa.array(keys, pa.int64())
        found = shard.probe_many(asked, SPEC.key_type.hash_array(asked), None)
        assert found.to_pylist() == [row for row in lying if row["k"] in set(keys)]
        assert len(shard.seen) == len(set(shard.seen))
    shard.seen.clear()
    assert shard.probe_range(100, 110, None).num_rows == sum(100 <= r["k"] <= 110 for r in lying)
    assert len(shard.seen) <= 3


def test_a_small_answer_does_not_hold_its_row_group_in_memory(tmp_path):
    shard = build(tmp_path, rows_of(5_000, 2_000))
    found = shard.probe(77, SPEC.key_type.hash(77), None)
    assert 0 < found.get_total_buffer_size() < 1_000


@pytest.mark.parametrize("keys", [100, 10_000, 10**9])
def test_rows_and_directory_are_little_larger_than_plain_parquet(tmp_path, keys):
    batch = rows_of(100_000, keys)
    shard = build(tmp_path, batch)
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "plain", compression="zstd")
    assert shard.part.bytes < 1.2 * (tmp_path / "plain").stat().st_size


def test_columns_of_every_kind_are_encoded_so_that_others_can_read_them(tmp_path):
    count = 3_000
    columns = {
        "k": pa.array([f"prefix/{number // 3:06d}" for number in range(count)]),
        "t": pa.array(range(count)),
        "same": pa.array(["x"] * count),
        "a.b": pa.array(range(count)),
        "nested": pa.array([{"x": [number, None], "s": "y"} for number in range(count)]),
        "null": pa.nulls(count),
        "flag": pa.array([number % 3 == 0 for number in range(count)]),
        "bytes": pa.array([bytes([number % 256]) * 5 for number in range(count)], pa.binary(5)),
    }
    batch = pa.record_batch(columns)
    part = build_parquet(
        Files(tmp_path), EntrySpec(batch.schema, "k", "t"), "p", Pieces.of(batch), HELD
    )
    shard = ParquetShard(Files(tmp_path), EntrySpec(batch.schema, "k", "t"), part)
    assert shard.scan(None).equals(batch)
    assert shard.findings() == []
    assert pq.read_table(tmp_path / "p.parquet").equals(pa.Table.from_batches([batch]))
    names = ["a.b", "same"]
    pieces = pa.Table.from_batches(shard.stream((5, 2_500), names))
    assert pieces.equals(pa.Table.from_batches([batch]).slice(5, 2_495).select(names))


def test_several_threads_read_one_shard(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 256)
    shard = build(tmp_path, rows_of(20_000, 5_000))
    counts = np.bincount(shard.scan(None).column("k").to_numpy(), minlength=5_000)
    wrong: list[int] = []

    def ask(first: int) -> None:
        for key in range(first, 5_000, 40):
            found = shard.probe(key, SPEC.key_type.hash(key), None)
            if (0 if found is None else found.num_rows) != counts[key]:
                wrong.append(key)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def spoilt(folder: Path, rows: SortedRows, **arrays) -> list[str]:
    """What is found where the directory, or the order, is not that of the rows.

    Every checksum is right all the same.
    """
    right, metadata = describe_groups(SPEC, rows, 64)
    table = pa.Table.from_batches([rows.batch])
    layout = PartDraft(
        "parquet",
        ".parquet",
        lambda sink: pq.write_table(table, pa.PythonFile(sink, mode="w"), row_group_size=64),
        {**right, **arrays},
        metadata,
    )
    files = Files(folder)
    return Watched(files, write_part(files, "p", layout, HELD, rows.batch.num_rows)).findings()


def test_rules_that_are_broken_are_found(tmp_path):
    rows = sort_rows(SPEC, Pieces.of(rows_of(500, 100)))
    right, _ = describe_groups(SPEC, rows, 64)
    for number, (name, values) in enumerate(right.items()):
        (tmp_path / str(number)).mkdir()
        other = (
            values[::-1] if isinstance(values, np.ndarray) else values.take(list(range(7, -1, -1)))
        )
        lines = spoilt(tmp_path / str(number), rows, **{name: other})
        assert lines == [f"p.dir has other {name.replace('_', ' ')} than p.parquet"]
    assert as_sorted(SPEC, rows.batch.take(pa.array([1, 0]))) is None
    backwards = replace(rows, batch=rows.batch.take(pa.array(range(499, -1, -1))))
    assert spoilt(tmp_path, backwards) == ["p.parquet is not sorted by key and time"]


def test_row_groups_of_another_size_are_called_damaged(tmp_path):
    shard = build(tmp_path, rows_of(500, 100))
    table = pq.read_table(tmp_path / "p.parquet")
    pq.write_table(table, tmp_path / "q.parquet", row_group_size=100)
    size = (tmp_path / "q.parquet").stat().st_size
    ref = replace(shard.part.files["rows"], name="q.parquet", bytes=size)
    part = replace(shard.part, files={**shard.part.files, "rows": ref})
    with pytest.raises(Damaged, match="other sizes"):
        Watched(Files(tmp_path), part).find(7)


SPOIL = """
import sys
sys.path.insert(0, sys.argv[1])
from test_parquet import SPEC, Files, HELD, Pieces, Watched, build_parquet, parquet, rows_of
from wavedex.errors import Damaged

parquet.GROUP_ROWS = 50
files = Files(sys.argv[2])
part = build_parquet(files, SPEC, "p", Pieces.of(rows_of(300, 40)), HELD)
whole = files.read("p.parquet")
truth = [Watched(files, part).find(key)[0] for key in range(0, 40, 9)]
damaged = 0
for at in range(0, len(whole), 37):
    print(at, flush=True)
    spoilt = bytearray(whole)
    spoilt[at] ^= 1 << (at % 8)
    files.path("p.parquet").write_bytes(spoilt)
    try:
        if [Watched(files, part).find(key)[0] for key in range(0, 40, 9)] != truth:
            print("WRONG", at)
    except Damaged:
        damaged += 1
print("END" if damaged > len(whole) / 37 / 3 else "TOO FEW")
"""


@pytest.mark.slow
def test_a_probe_of_a_damaged_file_is_right_or_says_damaged(tmp_path):
    # In a process of its own, for Arrow may not survive what is in a damaged file.
    script = [sys.executable, "-c", SPOIL, str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-1]) == (0, "END"), done.stderr
    assert [line for line in lines if line.startswith("WRONG")] == []
