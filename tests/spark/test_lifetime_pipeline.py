"""Pipelines into lifetime indexes.

What their options mean is checked line by line, and they run in batch and as streams.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from kit import spark_rows
from kit.spark_lives import Lives, lives, table
from wavedex.errors import BadPipeline, GapTooLarge, LifetimeTooLong
from wavedex.pipelines.pipeline import IndexPart, Pipeline, read_pipeline
from wavedex.plan.grids.methods import METHODS
from wavedex.spark.runner import Step, run
from wavedex.testing.oracle import same_rows

LIFE = """\
[source]
format = "parquet"
mode = "{mode}"
path = "in"
schema = "k bigint, b bigint, e bigint, v string"
[index]
path = "x.wx"
kind = "lifetime"
key = "k"
inserted = "b"
expires = "e"
max_lifetime = 16
refresh = 2
grid = "2x2"
{more}
"""
"""The options begin on line 8."""


def written(folder: Path, more: str = "", mode: str = "batch") -> Path:
    (folder / "in").mkdir(exist_ok=True)
    file = folder / "p.toml"
    file.write_text(LIFE.format(mode=mode, more=more))
    return file


@pytest.fixture
def mistakes(tmp_path):
    """What is wrong with a file in which some lines are others, each with its line."""

    def told_of(*changes: tuple[str, str], more: str = "", mode: str = "batch") -> list[str]:
        file = written(tmp_path, more, mode)
        text = file.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
        try:
            read_pipeline(file)
        except BadPipeline as error:
            return [f"{line}: {text}" for line, text in error.mistakes]
        return []

    return told_of


def test_the_options_of_a_lifetime_index_are_read(tmp_path):
    found = read_pipeline(written(tmp_path, "partition = ['random', 'round-robin']\nseed = 3"))
    assert found.index.kind == "lifetime"
    assert found.index.options["grid"] == "2x2"
    schema = pa.schema([(name, pa.int64()) for name in "kbe"])
    made = wx.LifetimeIndex.create(found.index.path, schema, **found.index.options).definition
    assert (made.partition, made.seed) == (("random", "round-robin"), 3)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"lifetime"', '"lifetme"', "8: kind is 'lifetme'. Give one of 'wave', 'lifetime'. Did"),
        ('"lifetime"', "3", "8: kind is a whole number. Give text in quotes."),
        ('inserted = "b"', "", "6: [index] lacks 'inserted', which a new index needs."),
        ('expires = "e"', "", "6: [index] lacks 'expires' or 'lifetime', which a new"),
        ('expires = "e"', "method = 'count-rebuild'", "6: [index] lacks 'counts', which a new"),
        ("refresh = 2", "", "6: [index] lacks 'refresh', which a new index needs."),
        (
            'expires = "e"',
            'expirs = "e"',
            "11: [index] has no key 'expirs'. Did you mean 'expires'?",
        ),
        ('expires = "e"', 'expires = "e"\nlifetime = "e"', "12: Say when rows end: either"),
        ('expires = "e"', "counts = {n = 5}", "11: Say when rows end: either"),
        ('expires = "e"', 'expires = "e"\nmethod = "count-rebuild"', "11: A method of counted"),
        ("= 16", "= 15", "12: max_lifetime=15 is not a whole number of refreshes of 2."),
        ("= 16", '= "soon"', "12: max_lifetime='soon' is no duration."),
        ("refresh = 2", "refresh = 0", "13: refresh=0 does not fit"),
        ('"2x2"', '"9x2"', "12: rows is 9: give rebuild between 2 and 8"),
        ('"2x2"', '"two"', "14: grid='two': give the partitions of insertions and of"),
        (
            '"2x2"',
            "[2, 'x']",
            "14: grid is a list. Give text in quotes or a list of whole numbers.",
        ),
        ('"2x2"', '"2x2"\nmethod = "rebild"', "15: there is no method 'rebild'"),
        ('"2x2"', '"2x2"\nmethod = "wata"', "14: columns is 2: give wata 1"),
        ('"2x2"', '"2x2"\nmethod = "no-rebuild"\nformat = "parquet"', "16: format='parquet' does"),
        ('"2x2"', "'2x2'\npartition = ['random']", "15: partition=['random']: give that of"),
        ('"2x2"', "'2x2'\npartition = ['random', 'x']", "15: there is no partition 'x' of deaths"),
        ('"2x2"', "'2x2'\nreach = [1]", "15: reach=[1]: give the slots before and after"),
        ('"2x2"', "'2x2'\nspans = {b = 'soon'}", "15: spans['b']='soon' is no duration"),
        ('"2x2"', "'2x2'\nshards = 0", "15: shards=0 is not"),
        (
            '"2x2"',
            "'2x2'\nwindow = 5",
            "15: window goes with kind = 'wave', and kind is 'lifetime'",
        ),
        ('kind = "lifetime"\nkey', "window = 3\ntime = 't'\nkey", None),
    ],
)
def test_one_mistake_is_told_once_on_its_line(mistakes, old, new, said):
    told = mistakes((old, new))
    if said is None:  # Without a kind it is a wave index, which has other options.
        assert len(told) == 5
        assert all("goes with kind = 'lifetime', and kind is 'wave'." in each for each in told)
        return
    (one,) = told
    assert one.startswith(said)


def test_what_is_only_unusual_is_no_mistake(mistakes):
    assert not mistakes(('"2x2"', "[4, 8]"))
    assert not mistakes(('expires = "e"', 'lifetime = "e"'), more="spans = {b = 9}")
    assert not mistakes(("= 16", '= "16 minutes"'), ("refresh = 2", 'refresh = "1 minute"'))
    assert not mistakes(("refresh = 2", "refresh = '2'\norigin = 1"))
    for name, method in METHODS.items():
        grid = [2 if side in method.sides else 1 for side in ("births", "deaths")]
        ends = "counts = {n = 5}" if method.counts else "expires = 'e'"
        changes = (('"2x2"', f"{grid}\nmethod = '{name}'"), ('expires = "e"', ends))
        assert not mistakes(*changes), name


def test_a_stream_into_a_lifetime_index_waits_for_nothing(mistakes, tmp_path):
    stream = "[stream]\ncheckpoint = 'c'\ndelay = '1 minute'\ndead_letters = 'late'"
    told = mistakes(more=stream, mode="stream")
    assert [line.split(" is for wave")[0] for line in told] == ["17: delay", "18: dead_letters"]
    create_as_in(tmp_path)
    file = tmp_path / "q.toml"
    source = "[source]\nformat = 'x'\nmode = 'stream'\n"
    file.write_text(f"{source}[index]\npath = 'x.wx'\n{stream}")
    with pytest.raises(BadPipeline, match="8: delay is for wave"):
        read_pipeline(file)


def create_as_in(folder: Path, **other: Any) -> wx.LifetimeIndex:
    """The index of which the file speaks."""
    schema = table([]).schema
    options = {**read_pipeline(written(folder)).index.options, **other}
    return wx.LifetimeIndex.create(folder / "x.wx", schema, **options)


WHOLE = """\
partition = ["random", "round-robin"]
method = "rebuild"
seed = 0
reach = [1, 1]
buckets = 2.5
spans = { b = 7 }
include = ["k"]
origin = 0
nulls = "error"
keep_for = "2 hours"
"""


def test_an_index_that_is_there_agrees_or_differs_line_by_line(mistakes, tmp_path):
    same = {"partition": ["random", "round-robin"], "spans": {"b": 7}, "include": ["k"]}
    create_as_in(tmp_path, keep_for="120 minutes", **same)
    assert not mistakes(more=WHOLE)
    assert not mistakes(('"2x2"', "[2, 2]"), ("refresh = 2", "refresh = '2'"), more=WHOLE)
    for old, new, said in [
        ('"lifetime"', '"wave"', None),
        ('inserted = "b"', 'inserted = "k"', "10: inserted is 'k', but the index has 'b'."),
        ('expires = "e"', 'lifetime = "e"', "11: lifetime is 'e', but the index has None."),
        ("= 16", "= 8", "12: max_lifetime is 8, but the index has '8 refreshes of 2'."),
        ("refresh = 2", "refresh = 4", "13: refresh is 4, but the index has 2."),
        ('"2x2"', '"4x2"', "14: grid is '4x2', but the index has [2, 2]."),
        ('["random", ', '["round-robin", ', "15: partition is ['round-robin', 'round-robin'], but"),
        ('"rebuild"', '"no-rebuild"', "16: method is 'no-rebuild', but the index has 'rebuild'."),
        ("seed = 0", "seed = 1", "17: seed is 1, but the index has 0."),
        ("[1, 1]", "[2, 1]", "18: reach is [2, 1], but the index has [1, 1]."),
        ("2.5", "3.5", "19: buckets is 3.5, but the index has 2.5."),
        ("b = 7", "b = 8", "20: spans is {'b': 8}, but the index has {'b': 7}."),
        ('["k"]', '["v"]', "21: include is ['v'], but the index has ['k', 'b', 'e']."),
        ("origin = 0", "origin = 1", "22: origin is 1, but the index has 0."),
        ('"error"', '"skip"', "23: nulls is 'skip', but the index has 'error'."),
        ('"2 hours"', '"3 hours"', "24: keep_for is '3 hours', but the index has '7200 seconds'."),
    ]:
        told = mistakes((old, new), more=WHOLE)
        if said is None:
            assert "8: kind is 'wave', but the index has 'lifetime'." in told[0]
        else:
            assert len(told) == 1, told
            assert told[0].startswith(said)


def test_of_an_index_that_is_there_only_the_path_is_needed(tmp_path):
    made = create_as_in(tmp_path)
    file = tmp_path / "q.toml"
    file.write_text("[source]\nformat = 'x'\n[index]\npath = 'x.wx'\nkey = 'k'\n")
    assert read_pipeline(file).index == IndexPart(made.path, {"key": "k"})
    file.write_text(file.read_text() + "late = 'drop'\n")
    with pytest.raises(BadPipeline, match="6: A lifetime index has no 'late'"):
        read_pipeline(file)
    wave = spark_rows.create(tmp_path / "w.wx")
    file.write_text("[source]\nformat = 'x'\n[index]\npath = 'w.wx'\nkind = 'lifetime'\n")
    with pytest.raises(BadPipeline, match="5: kind is 'lifetime', but the index has 'wave'"):
        read_pipeline(file)
    assert wave.definition.kind == "wave"


def go(pipeline: Pipeline) -> list[Step]:
    steps: list[Step] = []
    run(pipeline, once=True, tell=steps.append)
    return steps


def send(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(rows), folder / "in" / name)


def content(folder: Path) -> list[dict[str, Any]]:
    index = wx.open(folder / "x.wx")
    index.verify()
    return index.scan().read_all().to_pylist()


def test_a_batch_creates_the_index_and_refreshes_it(spark, tmp_path):
    oracle = Lives()
    file = written(tmp_path)
    rows = lives(1, 0, 9, 12)
    send(tmp_path, "a.parquet", rows)
    oracle.update(9, rows)
    (step,) = go(read_pipeline(file))
    assert (step.done, step.total, step.slots) == (1, 1, ["4"])
    assert same_rows(content(tmp_path), oracle.rows)
    assert go(read_pipeline(file))[0].rows == 0  # the same once more
    send(tmp_path, "a.parquet", [{"k": 1, "b": 9, "e": 99, "v": "long"}])
    with pytest.raises(LifetimeTooLong):
        go(read_pipeline(file))
    assert same_rows(content(tmp_path), oracle.rows)


def test_folders_are_refreshes_in_the_order_of_their_names(spark, tmp_path):
    oracle = Lives()
    same = [{"k": 1, "b": 14, "e": 20, "v": "twice"}]
    for name, now, rows in [
        ("a", 5, lives(1, 0, 5, 9)),
        ("b", 14, lives(2, 5, 14, 9)),
        ("c", 14, same),
        ("d", 14, same),
    ]:
        send(tmp_path, f"{name}/rows.parquet", rows)
        oracle.update(now, rows)
    file = written(tmp_path, mode="folders")
    assert [step.slots for step in go(read_pipeline(file))] == [["2"], ["7"], ["7"], ["7"]]
    assert same_rows(content(tmp_path), oracle.rows)
    assert go(read_pipeline(file)) == []
    send(tmp_path, "e/rows.parquet", [])
    (step,) = go(read_pipeline(file))
    assert (step.rows, step.slots) == (0, ["7"])
    assert go(read_pipeline(file)) == []
    send(tmp_path, "f/rows.parquet", lives(3, 90, 91, 3))
    with pytest.raises(GapTooLarge):
        go(read_pipeline(file))


def test_a_stream_takes_what_is_there_once(spark, tmp_path):
    oracle = Lives()
    file = written(tmp_path, "[stream]\ncheckpoint = 'c'", "stream")
    for name, now in [("a", 5), ("b", 12)]:
        rows = lives(4, now - 6, now, 9)
        send(tmp_path, f"{name}.parquet", rows)
        oracle.update(now, rows)
        (step,) = go(read_pipeline(file))
        assert step.slots == [str(now // 2)]
        assert same_rows(content(tmp_path), oracle.rows)
    assert go(read_pipeline(file)) == []
