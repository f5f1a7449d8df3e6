"""A pipeline file is read as it is meant, or all its mistakes are named with their lines."""

from __future__ import annotations

import datetime as dt
import os
from inspect import signature
from textwrap import dedent

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from wavedex.engine.techniques import TECHNIQUES
from wavedex.errors import BadPipeline, Mistake
from wavedex.pipelines.pipeline import (
    HINTS,
    HistoryPart,
    Shape,
    Source,
    SparkPart,
    StreamPart,
    read_pipeline,
)
from wavedex.plan import SCHEMES, options_of

WHOLE = """\
[source]
format = "parquet"
path = "flights/"
mode = "stream"
schema = "tail string, at timestamp"
options = { mergeSchema = true, maxFilesPerTrigger = 4, kafka.group = "a", "x.y" = "" }

[shape]
sql = '''
select tail, at, dest
from source
'''

[index]
path = "flights.wx"
key = "tail"
time = "at"
slot = "1 day"
window = 30
zone = "America/New_York"
indexes = 4
scheme = "rata"
update = "runs"
include = ["dest"]
shards = 4
format = "arrow"
nulls = "skip"
late = "drop"
max_gap = 7
growth = 2
first_room = 8
spread = false
origin = 2013-01-01

[stream]
trigger = "10seconds"
checkpoint = "flights.checkpoint"
delay = "1 minutes"
dead_letters = "s3a://late/flights"

[spark]
master = "local[*]"
conf = { "spark.executor.memory" = "4g", spark.sql.shuffle.partitions = 8 }
"""
BATCH = """\
[source]
format = "rate"
[index]
path = "a.wx"
key = "k"
time = "t"
window = 9
"""


@pytest.fixture
def read(tmp_path):
    """Read a text as a pipeline file."""

    def read_text(text):
        file = tmp_path / "pipeline.toml"
        file.write_text(text) if isinstance(text, str) else file.write_bytes(text)
        return read_pipeline(file)

    return read_text


@pytest.fixture
def mistakes(read, tmp_path):
    """The mistakes of a text as they are printed, without the name of the file."""

    def told_of(text):
        with pytest.raises(BadPipeline) as raised:
            read(text)
        told = str(raised.value).split("\n")
        assert len(told) == len(raised.value.mistakes)
        return [line.removeprefix(f"{tmp_path}/pipeline.toml:") for line in told]

    return told_of


def test_everything_that_a_file_can_say_is_read(read, tmp_path):
    found = read(WHOLE)
    assert found.source == Source(
        "parquet",
        f"{tmp_path}/flights",
        "stream",
        "tail string, at timestamp",
        {"mergeSchema": "true", "maxFilesPerTrigger": "4", "kafka.group": "a", "x.y": ""},
    )
    assert found.shape == Shape("select tail, at, dest\nfrom source\n")
    assert found.index.path == f"{tmp_path}/flights.wx"
    assert found.index.options["origin"] == dt.date(2013, 1, 1)
    assert found.index.options["growth"] == 2
    assert len(found.index.options) == 18
    assert found.stream == StreamPart(
        f"{tmp_path}/flights.checkpoint", "10 seconds", "1 minute", "s3a://late/flights"
    )
    assert found.spark == SparkPart(
        "local[*]", {"spark.executor.memory": "4g", "spark.sql.shuffle.partitions": "8"}
    )
    assert found.lines["index", "window"] == 19


def test_the_options_are_those_with_which_an_index_is_created(read):
    found = read(WHOLE)
    schema = pa.schema(
        [("tail", pa.string()), ("at", pa.timestamp("us", "UTC")), ("dest", pa.string())]
    )
    assert not os.path.exists(found.index.path)
    idx = wx.WaveIndex.create(found.index.path, schema, **found.index.options)
    assert idx.definition.scheme_name == "rata"
    assert read(WHOLE) == found
    creators = (wx.WaveIndex.create, wx.LifetimeIndex.create)
    keywords = {name for create in creators for name in signature(create).parameters}
    own = {"kind", "apply_by"}
    assert set(HINTS["index"]) == {*own, *keywords} - {"schema", "rows", "surroundings"}


def test_little_is_needed(read, tmp_path):
    found = read(BATCH)
    assert found.source == Source("rate", None, "batch", None, {})
    assert (found.shape, found.stream, found.spark) == (None, None, SparkPart(None, {}))
    assert found.index.options == {"key": "k", "time": "t", "window": 9}


def test_relative_paths_begin_beside_the_file(read, tmp_path, monkeypatch):
    (tmp_path / "rows").mkdir()
    read(BATCH.replace('"rate"', '"parquet"\npath = "rows"'))
    monkeypatch.chdir(tmp_path.parent)
    found = read_pipeline(f"{tmp_path.name}/pipeline.toml")
    assert found.source.path == f"{tmp_path}/rows"
    assert found.file == f"{tmp_path.name}/pipeline.toml"


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(mistakes):
    text = """\
        window = 3
        speed = 4
        [source]
        format = 5
        mode = "strem"
        colour = "red"
        options = ["a"]
        [sparks]
        [index]
        path = ""
        windw = 30
        key = "k"
        indexes = 0
        scheme = "waat"
        slot = "1 dya"
        late = "drp"
        spread = "yes"
        include = ["a", 1]
        [stream]
        trigger = "once"
        delay = "1 month"
    """
    told = mistakes(dedent(text))
    assert [int(line.split(":")[0]) for line in told] == [1, 2, *range(4, 12), *range(13, 22)]
    assert told[:10] == [
        "1: The key 'window' is in no table. Move it below [index].",
        "2: The key 'speed' is in no table. Move it below one, or take it out.",
        "4: format is a whole number. Give text in quotes.",
        "5: mode is 'strem'. Give one of 'batch', 'folders', 'stream'. Did you mean 'stream'?",
        "6: [source] has no key 'colour'.",
        "7: options is a list. Give a table of names and values.",
        "8: There is no table 'sparks'. Did you mean 'spark'?",
        "9: [index] lacks 'time', which a new index needs.",
        "10: path is ''. Give a text that says something.",
        "11: [index] has no key 'windw'. Did you mean 'window'?",
    ]
    assert "Choose one of" in told[11]
    assert told[14:17] == [
        "17: spread is text. Give true or false.",
        "18: include is a list. Give a list of texts in quotes.",
        "19: [stream] lacks 'checkpoint'.",
    ]
    assert all("such as '10 minutes'" in line for line in told[17:])


def test_the_error_has_the_mistakes_and_a_line_of_text_for_each(read, tmp_path):
    with pytest.raises(wx.errors.BadDefinition) as raised:
        read("[index]\npath = 'a.wx'\nkey = 'k'\ntime = 't'\n")
    assert raised.value.mistakes == (
        Mistake(1, "There is no [source], and every pipeline needs one."),
        Mistake(1, "[index] lacks 'window', which a new index needs."),
    )
    assert str(raised.value).startswith(f"{tmp_path}/pipeline.toml:1: There is no [source]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\nb = \n", "2: This is no TOML: Invalid value, at column 5."),
        ("[a]\n[a]\n", "2: This is no TOML: "),
        ("a = 1\n\na = 2\n", "3: This is no TOML: Cannot overwrite a value"),
        ("\n\na = '''x\n\n", "3: This is no TOML: "),
        ("x = 1\ns = 'é'\n".encode("latin-1"), "2: This is no UTF-8. Save it as that."),
        ("a = " + "[" * 50_000, " Its values are nested too deeply."),
        ("a = " + "1" * 5_000, " This is no TOML: "),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(mistakes, text, expected):
    (told,) = mistakes(text)
    assert told.startswith(expected)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(BadPipeline, match=r"none.toml: It cannot be read: No such file"):
        read_pipeline(tmp_path / "none.toml")
    with pytest.raises(BadPipeline, match="Is a directory"):
        read_pipeline(tmp_path)


def test_a_file_as_windows_saves_it_is_read(read):
    assert read(BATCH.replace("\n", "\r\n").encode("utf-8-sig")) == read(BATCH)


def test_an_empty_file_lacks_the_tables_that_every_pipeline_needs(mistakes):
    assert mistakes("") == [
        "1: There is no [index], and every pipeline needs one.",
        "1: There is no [source], and every pipeline needs one.",
    ]


@pytest.mark.parametrize("text", ["[[source]]\nformat = 'x'\n", "source = 'x'\n"])
def test_a_table_that_is_none_is_told(mistakes, text):
    told = mistakes(text + BATCH.partition("\n")[2].partition("\n")[2])
    assert told[0].endswith("Write a table, once: [source].")
    assert len(told) == 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"rate"', '"rate"\nmode = "stream"', "3: mode is 'stream', but there is no [stream]."),
        ("[index]", "[stream]\ncheckpoint = 'c'\n[index]", "3: [stream] goes with mode = 'stream'"),
        ('"rate"', '"rate"\nmode = "folders"', "1: mode is 'folders', and [source] has no path."),
        ('"rate"', '"csv"\npath = "none/"', "3: There is nothing at "),
        ('"rate"', '"csv"\nmode = "folders"\npath = "pipeline.toml"', "4: mode is 'folders', and "),
        ('"rate"', '"csv"\noptions = {a = [1]}', "3: 'a' is a list. Give text, a number"),
        ('"rate"', '"csv"\noptions = {a = 1979-05-27}', "3: 'a' is a date or time. Give text"),
        ('"rate"', '"csv"\noptions = {a = {}}', "3: 'a' is a table. Give text"),
        ('"rate"', '"csv"\noptions = {a.b = 1, "a.b" = 2}', "3: options has 'a.b' twice"),
        ('"rate"', '"csv"\npath = "."\noptions.path = "b"', "4: The source has two paths."),
        ("[index]", "[shape]\n[index]", "3: [shape] lacks 'sql'."),
        ("= 9", "= 2\nindexes = 3", "8: indexes is 3: give wata between 2 and 2"),
        ("= 9", "= 9\nindexes = 1", "8: indexes is 1: give wata between 2 and 9"),
        ("= 9", "= 9\nupdate = 'in-plce'", "8: There is no update technique 'in-plce'."),
        ("= 9", "= 9\nshards = 30000", "8: 30000 shards of 4 sub-indexes are 120,000 parts"),
        ("= 9", "= 9\ngrowth = nan", "8: growth=nan is not above 1"),
        ("= 9", "= 1\nindexes = 1\nscheme = 'del'\ngrowth = 0", "10: growth=0.0 is not above 1"),
        ("= 9", "= 9\norigin = 1979-05-27T07:32:00\nslot = '1 hour'\nlate = 'x'", "10: late='x' "),
        ("= 9", "= 9\nzone = 'Mars'", "8: There is no zone 'Mars'"),
        ("= 9", "= 9\norigin = 5", "8: Origin 5 is a number"),
        ("= 9", "= 9\norigin = 2013-01-01T10:15:00", "8: A day begins at midnight"),
        ("= 9", "= 9\nmax_size = 5", "8: max_size= goes with schemes that weigh slots"),
        ("= 9", "= 9\nroots = ['a', 'a']", "8: roots has"),
        ("= 9", "= 9\npointer = ['file']", "8: pointer=['file']"),
        ("= 9", "= 9\nscheme = 'wata-bounded'", "8: wata-bounded needs max_size"),
        ("= 9", "= 9\nmax_size = 0\nscheme = 'wata-bounded'", "8: max_size=0 is not"),
        ("= 9", "= 9\nmax_size = 5\nscheme = 'wata-offline'\nsizes = {1 = 1}", "8: max_size= goes"),
        ("= 9", "= 9\nsizes = [3, 4]", "8: sizes is a list. Give a table"),
        ("= 9", "= 9\nscheme = 'rata-offline'\nsizes = {soon = 3}", "9: sizes names a slot"),
        ("= 9", "= 9\nscheme = 'rata-offline'\n[index.sizes]\n'2026-01-01' = 'x'", "9: sizes='x'"),
        ("= 9", "= 9\nkeep_for = 5", "8: keep_for is a whole number. Give text in quotes."),
        ("= 9", "= 9\nkeep_for = 'soon'", "8: keep_for='soon' is no duration."),
        ("= 9", "= 9\nposition = 'k'", "8: position='k': give the name of a new column"),
        ("= 9", "= 9\nposition = '_commit'", "8: The column name _commit is taken."),
        ('"k"', '["k", "k"]', "5: key=['k', 'k'] has 'k' twice."),
        ('"k"', "[]", "5: key=[] names no column."),
        ('"k"', "[1]", "5: key is a list. Give text in quotes or a list of texts in quotes."),
        ("= 9", '= 9\n"\\u001b[2J" = 5', "8: [index] has no key '\\x1b[2J'."),
        ("= 9", "= true", "7: window is true or false. Give a whole number or text in quotes."),
        ("= 9", "= 9.0", "7: window is a number. Give a whole number or text in quotes."),
        ('"a.wx"', '"a\\u0000"', "4: path is 'a\\x00'."),
        ('"a.wx"', '"pipeline.toml"', "4: There is something at "),
        ('"a.wx"', '"pipeline.toml/a.wx"', "4: "),
    ],
)
def test_one_mistake_is_told_once_on_its_line(mistakes, old, new, expected):
    assert old in BATCH
    (told,) = mistakes(BATCH.replace(old, new))
    assert told.startswith(expected)


def test_a_name_may_have_any_number_of_dots(mistakes):
    (told,) = mistakes(BATCH.replace('"rate"', f'"csv"\noptions.{"a." * 2000}b = []'))
    assert told.startswith("3: 'a.a.")


@pytest.mark.parametrize(
    ("more", "is_stream"),
    [
        ("indexes = 1\nscheme = 'del'", False),
        ("slot = 5\norigin = 3", False),
        ("slot = '5'", False),
        ("origin = 2013-01-01T10:15:00\nslot = '1 hour'", False),
        ("include = ['k', 'x']", False),
        ("include = []", False),
        ("scheme = 'wata-bounded'\nmax_size = 500", False),
        ("sizes = {2026-01-01 = 5, 20456 = 7}\nscheme = 'wata-offline'", False),
        ("scheme = 'rata-offline'\n[index.sizes]\n2026-01-01 = 5", False),
        ("position = 'place'\nkeep_for = '2 days'", False),
        ("[stream]\ncheckpoint = 'c'\ntrigger = 'available-now'", True),
        ("[stream]\ncheckpoint = 'c'\ntrigger = 'Minute'\ndelay = '2 weeks'", True),
    ],
)
def test_what_is_only_unusual_is_no_mistake(read, more, is_stream):
    mode = "format = 'x'\nmode = 'stream'" if is_stream else "format = 'x'"
    assert read(BATCH.replace('format = "rate"', mode) + more).source.format == "x"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("update", TECHNIQUES)
def test_every_scheme_and_technique_can_be_asked_for(read, scheme, update):
    more = {"max_size": "max_size = 9\n", "sizes": "sizes = {1 = 9}\n"}
    needed = "".join(text for option, text in more.items() if option in options_of(scheme))
    found = read(f"{BATCH}scheme = '{scheme}'\nupdate = '{update}'\n{needed}")
    assert found.index.options["scheme"] == scheme


VALUES = st.one_of(
    st.integers(),
    st.booleans(),
    st.text("ab19 -:", max_size=6),
    st.sampled_from(["1 day", "wata", "lifetime", "count-rebuild", "2x2"]),
)


@given(st.dictionaries(st.sampled_from(sorted(HINTS["index"])), VALUES, max_size=6))
def test_whatever_stands_in_the_index_table_is_read_or_named(tmp_path_factory, options):
    folder = tmp_path_factory.mktemp("drawn")
    written = [
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {str(value).lower()}"
        for key, value in options.items()
    ]
    file = folder / "p.toml"
    file.write_text("\n".join(["[source]", "format = 'x'", "[index]", *written]))
    told: tuple[Mistake, ...] = ()
    try:
        found = read_pipeline(file)
        told_apart = ("path", "kind")
        assert found.index.options == {k: options[k] for k in options if k not in told_apart}
        assert found.index.kind == options.get("kind")
    except BadPipeline as error:
        told = error.mistakes
    assert all(3 <= line <= 3 + len(written) for line, _ in told)
    assert len({text for _, text in told}) == len(told)


_SMALL = '[source]\nformat = "x"\n[index]\npath = "a"\nkey = "k"\ntime = "t"\nwindow = 3\n'


def test_a_history_is_said_in_a_table_of_its_own(read, mistakes):
    assert read(_SMALL).history is None
    assert read(f"{_SMALL}\n[history]\n").history == HistoryPart("pph-s")
    assert read(f'{_SMALL}\n[history]\nmethod = "mvbt"\n').history == HistoryPart("mvbt")
    (told,) = mistakes(f'{_SMALL}\n[history]\nmethod = "diary"\n')
    assert "history='diary'" in told
    (told,) = mistakes(f'{_SMALL}history = "pph-s"\n[history]\n')
    assert "Leave out one of them" in told
