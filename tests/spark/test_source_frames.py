"""What a frame and a view see.

The right rows in every shape of a query, one commit each, and never a commit that is gone.
"""

from __future__ import annotations

import datetime as dt
import pickle
import time
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import DataFrame, SparkSession

import wavedex as wx
from kit.spark_rows import collected, create, rows, scanned
from wavedex import spark as wxs
from wavedex.errors import CommitGone, DiskFailed
from wavedex.files.local import Files
from wavedex.files.names import LOG
from wavedex.index import Surroundings
from wavedex.log.leases import LEASE_S
from wavedex.spark.held_commit import HeldCommit, hold_newest
from wavedex.spark.source.data_source import WavedexSource
from wavedex.testing.oracle import same_rows

PUSH_DOWN = "spark.sql.python.filterPushdown.enabled"
"""Whether Spark hands filters over. Off in Spark 4.3; somebody else's session may have it on."""

SHAPES = """
select 'one branch' shape, count(*) n, max(t) t from {v} where k = 1
union all select 'the other', count(*), max(t) from {v} where k = 2 and t < 50
union all select 'all', count(*), max(t) from {v}
union all select 'subqueries', (select count(*) from {v} where k = 3),
    (select max(t) from {v} where k in (4, 99))
union all select 'self-join', count(*), max(b.t) from {v} a join {v} b on a.t = b.t + 1
    where a.k = 2 and b.k < 3
union all select 'exists', count(*), max(t) from {v} o
    where exists (select 1 from {v} i where i.k = o.k + 5 and i.t > 30)
union all (with c as (select k, t from {v} where t > 20)
    select 'with', count(*), max(t)
    from (select * from c where k = 1 union all select * from c where k = 4))
"""


def load(spark: SparkSession, index: wx.WaveIndex, **options: str) -> DataFrame:
    return spark.read.format("wavedex").options(**options).load(index.path)


def count(spark: SparkSession, view: str) -> int:
    return spark.sql(f"select count(*) from {view}").first()[0]


def leases(index: wx.WaveIndex) -> list[str]:
    return [name for name in index.storage.list(LOG) if name.endswith(".lease")]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    path = tmp_path_factory.mktemp("indexes") / "it's a \\ name.wx"
    made = create(path, indexes=1, scheme="reindex")
    made.append(rows(1, 2, 3, 4, 5))
    return made


@pytest.mark.parametrize("pushes", ["false", "true"])
def test_filters_are_right_in_every_shape_of_a_query(spark, index, pushes):
    """On frames and views of every sort, again and again on the same, whatever a session allows."""
    spark.createDataFrame(index.scan().read_all()).coalesce(1).createOrReplaceTempView("plain")
    wanted = [tuple(row) for row in spark.sql(SHAPES.format(v="plain")).collect()]
    assert len(wanted) == 7
    frame, kept = load(spark, index), load(spark, index).cache()
    frame.createOrReplaceTempView("loaded")
    kept.createOrReplaceTempView("kept")
    wxs.view("moving", index.path)
    spark.conf.set(PUSH_DOWN, pushes)
    try:
        for view in ("loaded", "kept", "moving"):
            found = [tuple(row) for row in spark.sql(SHAPES.format(v=view)).collect()]
            assert found == wanted, view
            assert count(spark, f"{view} where k = 3") == 5
            assert count(spark, view) == 35
        assert frame.where("k = 3").union(frame.where("k = 4")).where("k = 4").count() == 5
        assert frame.where("k = 3").union(frame).count() == 40
    finally:
        spark.conf.set(PUSH_DOWN, "false")
        kept.unpersist()


def test_views_of_one_index_with_other_options_are_not_mixed_up(spark, index):
    wxs.view("one", index.path, key=1, columns=["k", "t"])
    wxs.view("two", index.path, keys=[2, 3], since=4, expired=True)
    assert spark.table("one").columns == ["k", "t"]
    asked = "select min(k), max(k), min(t), count(*) from"
    found = spark.sql(f"{asked} one union all {asked} two union all {asked} one where t > 40")
    assert [tuple(row) for row in found.collect()] == [(1, 1, 11, 5), (2, 3, 42, 4), (1, 1, 41, 2)]
    wxs.view("one", index.path, key="2")
    assert spark.sql(f"{asked} one").first() == (2, 2, 12, 5)
    with pytest.raises(Exception, match="no option 'sinse' for reading"):
        wxs.view("three", index.path, sinse=4)


def test_a_frame_stays_at_its_commit_and_a_view_moves_on(spark, tmp_path):
    index = create(tmp_path / "x")
    index.append(rows(1))
    frame, kept = load(spark, index), load(spark, index).cache()
    frame.createOrReplaceTempView("stays")
    spark.sql(
        f"create or replace temporary view using_it using wavedex options (path '{index.path}')"
    )
    wxs.view("moves", index.path)
    joined = spark.sql("select count(*) from moves a join moves b using (k, t)")
    for slots in [(), (2, 3), (4, 5, 6, 7, 8)]:
        for slot in slots:
            index.append(rows(slot))
        now = len(scanned(index))
        assert [frame.count(), len(frame.where("k >= 0").collect()), kept.count()] == [7, 7, 7]
        assert [count(spark, view) for view in ("stays", "using_it", "moves")] == [7, 7, now]
        assert load(spark, index).count() == now
    kept.unpersist()
    # It was made when there was one slot, and is asked for the first time now.
    assert joined.first()[0] == now
    assert same_rows(collected(frame), rows(1).to_pylist())
    assert len(index.commits) <= 5
    index.verify()


def test_a_query_under_way_reads_one_commit_while_others_come(spark, tmp_path):
    """One partition is read at a time, and there are appends between them."""
    index = create(tmp_path / "x", indexes=5, shards=2, update="packed-shadow")
    index.append(rows(1, 2, 3, 4, 5))
    expected = scanned(index)
    keys = spark.range(7).selectExpr("id as k").repartition(7)
    under_way = load(spark, index).toLocalIterator()
    probes = wxs.probe(index.path, keys).toLocalIterator()
    found, probed = [next(under_way).asDict()], [next(probes).asDict()]
    for slot in range(6, 13):
        index.append(rows(slot))
    found += [row.asDict() for row in under_way]
    probed += [row.asDict() for row in probes]
    assert same_rows(found, expected)
    assert same_rows(probed, expected)


def test_the_commit_of_a_frame_is_chosen_when_it_is_loaded(spark, tmp_path):
    """Spark plans each mention of it in a process of its own, at the same time even.

    They must not choose.
    """
    index = create(tmp_path / "x")
    index.append(rows(1))
    frame = load(spark, index)
    index.append(rows(2))
    assert frame.count() == 7
    assert frame.union(frame).count() == 14


def test_every_mention_of_a_frame_is_planned_for_one_commit(tmp_path):
    index = create(tmp_path / "x")
    index.append(rows(1))
    source = WavedexSource({"path": index.path})
    schema, kept = source.schema(), pickle.dumps(source)
    planned = []
    for slot in (2, 3):
        index.append(rows(slot))
        planned += pickle.loads(kept).reader(schema).partitions()
    assert {piece.held.commit for piece in planned} == {1}


def test_a_frame_that_nobody_asked_for_long_says_what_to_do(spark, tmp_path):
    index = create(tmp_path / "x")
    index.append(rows(1))
    frame = load(spark, index)
    assert frame.count() == 7
    later = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=LEASE_S + 1)
    writer = wx.open(index.path, surroundings=Surroundings(now=lambda: later))
    for slot in (2, 3, 4):
        writer.append(rows(slot))
    with pytest.raises(
        Exception,
        match=r"CommitGone: Commit 1 of .*Load the frame again.*keep_for.*spark\.view",
    ):
        frame.count()
    assert load(spark, index).count() == 28


def test_tasks_that_start_late_renew_the_lease(tmp_path):
    index = create(tmp_path / "x")
    index.append(rows(1))
    _, held = hold_newest(index)
    assert len(leases(index)) == 1
    Path(index.path, LOG, leases(index)[0]).unlink()
    with held.reading(index):
        assert not leases(index)
    with HeldCommit(held.commit, time.time() + LEASE_S / 2 - 1, None).reading(index):
        assert len(leases(index)) == 1


def test_a_lease_that_another_frame_took_counts_until_its_own_end(tmp_path):
    index = create(tmp_path / "x")
    index.append(rows(1))
    _, held = hold_newest(index)
    commit, log = held.commit, Path(index.path, LOG)
    (log / leases(index)[0]).unlink()
    ends = int(time.time() + LEASE_S / 2 + 60)
    (log / f"{commit:020d}.{ends}-ab.lease").touch()
    assert hold_newest(index)[1].until_s == ends
    assert len(leases(index)) == 1


class ReadOnly(Files):
    """A disk that the reader may not write to."""

    def create(self, name: str, fill: object) -> NoReturn:
        raise DiskFailed(f"{name}: Permission denied")


def test_who_may_only_read_is_told_that_there_was_no_lease(tmp_path):
    index = create(tmp_path / "x")
    index.append(rows(1))
    reader = wx.open(index.path, surroundings=Surroundings(files=ReadOnly))
    manifest, held = hold_newest(reader)
    assert same_rows(reader.at(manifest).scan().read_all().to_pylist(), rows(1).to_pylist())
    for slot in (2, 3, 4):
        index.append(rows(slot))
    with (
        pytest.raises(CommitGone, match=r"No lease could be taken on it \(.*Permission denied\)"),
        held.reading(reader),
    ):
        reader.at(manifest)
