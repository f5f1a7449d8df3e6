"""Migrations and erasures by Spark leave what they leave when this process does them.

Readers notice them.
"""

from __future__ import annotations

import pytest

from kit.spark_rows import create, frame_of, rows, scanned
from wavedex import spark as wxs
from wavedex.errors import ConcurrentWrite
from wavedex.index.core.staged import gather, stage
from wavedex.testing.oracle import same_rows


@pytest.fixture
def filled(spark, tmp_path):
    index = create(tmp_path / "x", keep_commits=9)
    index.append(frame_of(spark, rows(1, 2, 3, 4, 5, 6)))
    return index


def test_spark_migrates_and_erases_as_this_process_does(spark, filled):
    asked = wxs.open(filled.path, spark)
    before = scanned(filled)
    for change in (
        {"shards": 5, "scheme": "rata", "indexes": 3},
        {"format": "parquet", "update": "packed-shadow"},
        {"scheme": "del", "update": "runs", "format": "arrow", "strategy": "drain"},
        {"update": "in-place", "shards": 2},
        {"update": "runs", "shards": 3},
    ):
        asked.migrate(**change)
        filled.verify()
        assert same_rows(scanned(filled), before), change
    erased = asked.erase([1, 2])
    assert erased.rows == sum(row["k"] in (1, 2) for row in before)
    left = [row for row in before if row["k"] not in (1, 2)]
    assert same_rows(scanned(filled), left)
    filled.append(frame_of(spark, rows(7)))
    filled.verify()


def test_frames_that_were_loaded_before_a_migration_see_the_window_of_then(spark, filled):
    frame = spark.read.format("wavedex").load(filled.path)
    before = sorted(row["k"] for row in scanned(filled))
    keys = spark.createDataFrame([(k,) for k in range(8)], "k long")
    probed = wxs.probe(filled.path, keys, columns=["t", "v"])
    count = filled.probe_many(range(8)).num_rows
    filled.migrate(shards=7, window=2, indexes=2)
    assert probed.count() == count
    assert sorted(row.k for row in spark.read.format("wavedex").load(filled.path).collect()) == (
        sorted(row["k"] for row in scanned(filled))
    )
    assert frame.count() in (len(before), filled.scan().read_all().num_rows)
    assert (
        wxs.probe(filled.path, keys, columns=["t"]).count() == filled.probe_many(range(8)).num_rows
    )


def test_rows_that_were_staged_for_other_shards_are_written_again(tmp_path):
    index = create(tmp_path / "x")
    staged = stage(index.storage, index.definition, rows(1), None, "data/0000000001-ab")
    index.migrate(shards=index.definition.shards + 1)
    with pytest.raises(ConcurrentWrite, match="write them again"):
        gather(index.definition, [staged])


def test_sub_indexes_on_several_disks_are_written_by_tasks(spark, tmp_path):
    roots = [tmp_path / "one", tmp_path / "two"]
    spread, plain = create(tmp_path / "spread", roots=roots), create(tmp_path / "plain")
    for slots in [(1, 2, 3), (4,), (5, 6, 7)]:
        spread.append(frame_of(spark, rows(*slots)))
        plain.append(rows(*slots))
        spread.verify()
        assert same_rows(scanned(spread), scanned(plain))
    spread.vacuum()
    assert all(len(list(root.iterdir())) > 1 for root in roots)
