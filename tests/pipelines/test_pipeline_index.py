"""A pipeline whose index is there already agrees with it, and keeps out of its folder."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import wavedex as wx
from wavedex.errors import BadPipeline, Mistake
from wavedex.pipelines.pipeline import IndexPart, Pipeline, Source, SparkPart, check_against
from wavedex.pipelines.pipeline import read_pipeline as read_file
from wavedex.pipelines.places import is_missing, is_uri, lies_in, place_of

SCHEMA = pa.schema(
    [("k", pa.string()), ("t", pa.timestamp("us", "UTC")), ("a", pa.int64()), ("b", pa.int64())]
)
CREATED = {
    "key": "k",
    "time": "t",
    "slot": "1 hour",
    "zone": "Europe/Berlin",
    "window": 7,
    "indexes": 3,
    "scheme": "rata",
    "update": "in-place",
    "include": ["a"],
    "shards": 3,
    "nulls": "skip",
    "late": "drop",
    "growth": 3,
    "first_room": 8,
    "spread": False,
    "origin": "2013-01-01T10:15:00",
}


@pytest.fixture
def created(tmp_path):
    return wx.WaveIndex.create(tmp_path / "a.wx", SCHEMA, **CREATED)


@pytest.fixture
def read(tmp_path):
    def read_text(index, source='format = "x"', more=""):
        file = tmp_path / "p.toml"
        file.write_text(f"[source]\n{source}\n[index]\npath = 'a.wx'\n{index}\n{more}\n")
        return read_file(file)

    return read_text


@pytest.fixture
def mistakes(read):
    def told_of(*args, **kwargs):
        with pytest.raises(BadPipeline) as raised:
            read(*args, **kwargs)
        return raised.value.mistakes

    return told_of


def pipeline(**options):
    lines = {("index",): 3, **{("index", key): n for n, key in enumerate(options, start=4)}}
    parts = Source("x"), None, IndexPart("a.wx", options), None, SparkPart()
    return Pipeline("p.toml", *parts, lines)


def test_an_index_that_is_there_needs_nothing_but_its_path(read, created):
    assert read("").index == IndexPart(created.path, {})


def test_the_options_it_was_created_with_agree_with_it(created):
    assert check_against(created.definition, pipeline(**CREATED)) == ()
    spelled = pipeline(slot="Hour", include=["k", "a", "t"], growth=3.0, max_gap=7, format="arrow")
    assert check_against(created.definition, spelled) == ()


@pytest.mark.parametrize(
    ("key", "other", "held"),
    [
        ("key", "a", "'k'"),
        ("time", "a", "'t'"),
        ("slot", "2 hours", "'1 hour'"),
        ("slot", "1 day", "'1 hour'"),
        ("zone", "UTC", "'Europe/Berlin'"),
        ("window", 8, "7"),
        ("indexes", 4, "3"),
        ("scheme", "wata", "'rata'"),
        ("update", "runs", "'in-place'"),
        ("include", ["a", "b"], "['k', 't', 'a']"),
        ("include", [], "['k', 't', 'a']"),
        ("shards", 2, "3"),
        ("nulls", "error", "'skip'"),
        ("late", "error", "'drop'"),
        ("max_gap", 0, "7"),
        ("growth", 2.0, "3.0"),
        ("first_room", 4, "8"),
        ("spread", True, "False"),
        ("origin", "2013-01-01T10:16:00", "'1970-01-01 01:15'"),
    ],
)
def test_an_option_that_differs_is_named_on_its_line(created, key, other, held):
    options = {**CREATED, key: other}
    ((line, text),) = check_against(created.definition, pipeline(**options))
    assert line == 4 + list(options).index(key)
    if key == "origin":
        held = repr(created.definition.slotting.label(0))
    advice = "Leave it out, or choose another path."
    assert text == f"{key} is {other!r}, but the index has {held}. {advice}"


@pytest.mark.parametrize("key", CREATED)
def test_every_option_is_compared(created, key):
    strange = {"slot": "2 hours", "origin": "2000-01-01", "zone": "UTC", "include": ["nothing"]}
    assert check_against(created.definition, pipeline(**{key: strange.get(key, "x")}))


WEIGHED = {
    "key": ["k", "a"],
    "time": "t",
    "window": 7,
    "position": "place",
    "scheme": "wata-offline",
    "sizes": {"2026-01-01": 5, "2026-01-03": 6},
    "keep_commits": 3,
    "keep_for": "2 days",
}


@pytest.mark.parametrize(
    ("key", "other", "said"),
    [
        ("key", ["a", "k"], "the index has ['k', 'a']"),
        ("key", "k", "the index has ['k', 'a']"),
        ("position", "pos", "the index has 'place'"),
        ("sizes", {"2026-01-01": 5}, "the index has {20454: 5, 20456: 6}"),
        ("sizes", {"soon": 5}, "Cannot read 'soon' as a time"),
        ("keep_for", "3 days", "the index has '172800 seconds'"),
        ("keep_for", "soon", "Cannot read 'soon' as a duration"),
        ("keep_commits", 2, "the index has 3"),
        ("max_size", 5, "the index has None"),
    ],
)
def test_composite_keys_sizes_and_times_are_compared_by_what_they_mean(tmp_path, key, other, said):
    index = wx.WaveIndex.create(tmp_path / "w.wx", SCHEMA, **WEIGHED)
    same = {**WEIGHED, "keep_for": "48 hours", "sizes": {"20456": 6, "2026-01-01": 5}}
    assert check_against(index.definition, pipeline(**same)) == ()
    options = {**WEIGHED, key: other}
    ((line, text),) = check_against(index.definition, pipeline(**options))
    assert line == 4 + list(options).index(key)
    assert said in text


def test_what_cannot_be_of_the_index_at_all_is_named_too(tmp_path):
    schema = pa.schema([("k", pa.string()), ("t", pa.int64()), ("d", pa.date32())])
    counted = wx.WaveIndex.create(tmp_path / "n.wx", schema, key="k", time="t", slot=5, window=7)
    dated = wx.WaveIndex.create(tmp_path / "d.wx", schema, key="k", time="d", window=7)
    assert check_against(counted.definition, pipeline(slot="5", zone="UTC", origin=0)) == ()
    told = check_against(counted.definition, pipeline(slot="1 day", origin=3))
    assert [mistake.line for mistake in told] == [4, 5]
    assert check_against(dated.definition, pipeline(slot="1 day", origin="2013-01-01"))
    (told,) = check_against(dated.definition, pipeline(slot="1 hour"))
    assert told == Mistake(4, "Dates have no hours: give a slot of days, or a timestamp column.")


def test_an_index_without_times_is_not_for_a_pipeline(tmp_path, mistakes):
    wx.WaveIndex.create(tmp_path / "a.wx", SCHEMA, key="k", window=7)
    ((line, text),) = mistakes("key = 'k'")
    assert line == 4
    assert text.startswith("The index has no time column")


def test_a_file_is_compared_with_the_index_and_each_mistake_told_once(created, mistakes):
    told = mistakes("window = 7\nindexes = 2\nscheme = 'waat'\nkye = 'k'")
    assert [line for line, _ in told] == [6, 7, 8]
    assert "the index has 3" in told[0].text
    assert "Choose one of" in told[1].text
    assert "'kye'" in told[2].text


APPLIED = """\
kind = "lifetime"
key = ["k", "part"]
inserted = "b"
expires = "e"
max_lifetime = 16
refresh = 2
spans = { left = 4 }
apply_by = """


@pytest.mark.parametrize(
    ("by", "option"),
    [("k", "key"), ("part", "key"), ("b", "inserted"), ("e", "expires"), ("left", "spans")],
)
def test_instructions_are_in_no_column_that_is_indexed(mistakes, read, by, option):
    ((line, said),) = mistakes(f"{APPLIED}'{by}'")
    assert line == 12
    assert said.startswith(f"apply_by is {by!r}, and {option} names the same column.")
    assert read(f"{APPLIED}'op'").index.apply_by == "op"


def test_instructions_are_in_no_column_that_the_index_keeps(tmp_path, mistakes, read):
    schema = pa.schema([(name, pa.int64()) for name in ("k", "b", "e", "v")])
    made = wx.LifetimeIndex.create(
        tmp_path / "a.wx", schema, key="k", inserted="b", expires="e", max_lifetime=16, refresh=2
    )
    ((line, said),) = mistakes("apply_by = 'v'")
    assert (line, "apply_by is 'v', and the index keeps that column" in said) == (5, True)
    found = read("apply_by = 'op'")
    assert check_against(made.definition, found) == ()
    other = replace(found, index=replace(found.index, apply_by="v"))
    assert [mistake.line for mistake in check_against(made.definition, other)] == [5]


def test_a_damaged_index_and_a_folder_of_something_else_are_told_at_the_path(tmp_path, mistakes):
    (tmp_path / "a.wx").mkdir()
    (tmp_path / "a.wx" / "notes.txt").write_text("mine")
    ((line, text),) = mistakes("")
    assert (line, text[:21]) == (4, "There is something at")
    (tmp_path / "a.wx" / "index.json").write_text("{")
    ((line, text),) = mistakes("")
    assert (line, text[:21]) == (4, "The index is damaged:")


def test_checking_leaves_nothing_behind(tmp_path, read):
    read("key = 'k'\ntime = 't'\nwindow = 7")
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]
    (tmp_path / "a.wx").mkdir()
    assert read("key = 'k'\ntime = 't'\nwindow = 7")
    assert not list((tmp_path / "a.wx").iterdir())


def test_of_an_index_behind_a_uri_nothing_is_known_here(read, tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(
        "[source]\nformat = 'x'\npath = 's3a://b/none'\n[index]\npath = 's3a://b/a.wx'\n"
    )
    assert read_file(file).index == IndexPart("s3a://b/a.wx", {})
    file.write_text(file.read_text() + "scheme = 'waat'\n")
    with pytest.raises(BadPipeline, match=r"p\.toml:6: There is no scheme"):
        read_file(file)


@pytest.mark.parametrize(
    ("checkpoint", "more", "expected"),
    [
        ("a.wx", "", "checkpoint lies in the path of [index]"),
        ("./a.wx/state/..", "", "checkpoint lies in the path of [index]"),
        ("link/state", "", "checkpoint lies in the path of [index]"),
        ("c", "dead_letters = 'a.wx/late'", "dead_letters lies in the path of [index]"),
        ("c", "dead_letters = 'c'", "dead_letters lies in the checkpoint of [stream]"),
        ("c/d", "dead_letters = 'c'", "checkpoint lies in the dead_letters of [stream]"),
        ("c", "dead_letters = 'rows/late'", "dead_letters lies in the path of [source]"),
    ],
)
def test_each_folder_has_one_keeper(mistakes, tmp_path, checkpoint, more, expected):
    (tmp_path / "link").symlink_to(tmp_path / "a.wx")
    source = "format = 'csv'\nmode = 'stream'\npath = 'rows'"
    stream = f"[stream]\ncheckpoint = '{checkpoint}'\n{more}"
    index = "key = 'k'\ntime = 't'\nwindow = 7"
    ((line, text),) = mistakes(index, source, stream)
    assert text.startswith(expected)
    assert line == (12 if expected.startswith("dead") else 11)


def test_an_index_is_no_source_of_its_own(mistakes):
    told = mistakes(
        "key = 'k'\ntime = 't'\nwindow = 7",
        "format = 'x'\nmode='stream'\npath = 'a.wx'",
        "[stream]\ncheckpoint = 'c'",
    )
    assert [(line, text[:31]) for line, text in told] == [(4, "path lies in the path of [index")]


def test_places_are_local_or_left_alone(tmp_path):
    assert place_of("x", str(tmp_path)) == f"{tmp_path}/x"
    assert place_of("/x/../y/", "/data") == "/y"
    for uri in ("s3a://b/x", "hdfs:///x", "file:/x", "dbfs:/mnt"):
        assert is_uri(uri)
        assert place_of(uri, "/data") == uri
        assert not is_missing(uri)
    for path in ("a:b", "x/s3://y", "c", "2013:01/x"):
        assert not is_uri(path)


def test_of_a_pattern_nobody_says_that_nothing_is_there(tmp_path):
    assert not is_missing(f"{tmp_path}/*.csv")
    assert is_missing(f"{tmp_path}/a.csv")
    assert not is_missing(str(tmp_path), folder=True)


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("/a/b", "/a/b", True),
        ("/a", "/a/b", False),
        ("/a/bc", "/a/b", False),
        ("s3a://x/a", "s3a://y/a", False),
        ("s3a://x/a//b/../c", "s3a://x/a/c/", True),
        ("s3a://x/a", "s3a://x", True),
        ("s3a://x/a", "/a", False),
        ("file:///a/b%20c/d", "/a/b c", True),
        ("/a/b", "file://localhost/a", True),
    ],
)
def test_a_place_lies_in_another_by_where_it_is(inner, outer, expected):
    assert lies_in(inner, outer) is expected
