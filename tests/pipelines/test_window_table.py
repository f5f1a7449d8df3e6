"""The table [window] of a pipeline: its mistakes with their lines, and a run with a window."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kit.paths import DOCS
from wavedex.cli import app
from wavedex.errors import BadPipeline
from wavedex.online.queries import Median, TopK
from wavedex.pipelines.pipeline import read_pipeline

STREAM = """\
[source]
format = "parquet"
path = "in"
mode = "stream"
schema = "who string, at timestamp, n long"
options = { maxFilesPerTrigger = 1 }
[index]
path = "x.wx"
key = "who"
time = "at"
slot = "1 hour"
window = 24
[stream]
checkpoint = "check"
delay = "10 minutes"
"""
WINDOW = """\
[window]
span = "1 hour"
basic = "10 minutes"
ring = ["who"]
"""
SCHEMA = pa.schema([("who", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64())])
BEGUN = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


def write(folder: Path, text: str) -> Path:
    file = folder / "p.toml"
    file.write_text(text)
    return file


def mistakes(folder: Path, window: str, before: str = STREAM) -> list[tuple[int, str]]:
    """The mistakes of a file, with lines counted from the header [window]."""
    first = before.count("\n") + 1
    with pytest.raises(BadPipeline) as raised:
        read_pipeline(write(folder, before + window))
    return [(line - first, text) for line, text in raised.value.mistakes]


def test_a_window_is_read_as_it_is_meant(tmp_path):
    asked = 'queries = { top = "top(who, 5) every 3", mid = "median(n)" }\nanswers = "out"\n'
    found = read_pipeline(write(tmp_path, STREAM + WINDOW + asked)).window
    assert found is not None
    assert found.settings == {"span": "1 hour", "basic": "10 minutes", "ring": ["who"]}
    assert found.answers == str(tmp_path / "out")
    assert [each.query for each in found.queries.values()] == [TopK("who", 5), Median("n")]
    assert [each.every for each in found.queries.values()] == [3, 1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("window", "line", "said"),
    [
        ('lste = "drop"', 4, "[window] has no key 'lste'. Did you mean 'late'?"),
        ("buckets = 'a'", 4, "buckets is text. Give a whole number."),
        ("late = 'later'", 4, "late='later': give 'error' or 'drop'."),
        ("pointers = 'lazily'", 4, "pointers='lazily'"),
        ("purge = 0", 4, "purge=0: give a number of rows"),
        ("purge = true", 4, "purge is true. Give false for never"),
        ("keep_up = -1", 4, "keep_up=-1"),
        ("rows = 9", 4, "A window has a number of rows or a span of time"),
        ("storage = { who = 3 }", 4, "who is 3. Give the name of a kind in quotes."),
        ("storage = { who = 'aggr' }", 4, "A ring links rows"),
        ("storage = { n = 'group' }", 4, "'n' is to be grouped"),
        ("groups = { n = 5 }", 4, "n is 5. Give a list of boundaries."),
        ("index = { who = 'heap' }", 4, "There is no index 'heap'"),
        ("[window.queries]\nq = 'top(who)'", 5, "write top(NAME, K). There are histogram(NAME)"),
        ("[window.queries]\nq = 'most(who)'", 5, "there is no query 'most'"),
        ("[window.queries]\nq = 7", 5, "q is 7. Give a query in quotes"),
        ("[window.queries]\n'a/b' = 'count()'", 5, "'a/b' cannot name answers"),
        ("answers = 's3://a/b'", 4, "answers is a URI"),
        ("answers = 'x.wx/answers'", 4, "answers lies in the path of [index]"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, window, line, said):
    ((where, text),) = mistakes(tmp_path, f"{WINDOW}{window}\n")
    assert where == line
    assert said in text


def test_what_is_wrong_of_the_times_is_told_where_they_are(tmp_path):
    ((line, text),) = mistakes(tmp_path, '[window]\nspan = "1 hour"\nbasic = "7 minutes"\n')
    assert (line, "is not a whole number of basic windows" in text) == (1, True)
    ((line, text),) = mistakes(tmp_path, '[window]\nspan = "1 hour"\n')
    assert (line, "basic= is missing" in text) == (0, True)
    ((line, text),) = mistakes(tmp_path, '[window]\nrows = 100\nbasic = 10\ndelay = "1 hour"\n')
    assert (line, "go with span=" in text) == (3, True)


def test_all_mistakes_are_told_at_once(tmp_path):
    window = WINDOW + "buckets = 'a'\nqueries = { q = 'nothing' }\n"
    assert [line for line, _ in mistakes(tmp_path, window)] == [4, 5]


def test_a_window_goes_with_a_stream_of_rows_that_come(tmp_path):
    (tmp_path / "in").mkdir()
    batch = STREAM.split("[stream]")[0].replace('"stream"', '"batch"')
    ((line, text),) = mistakes(tmp_path, WINDOW, batch)
    assert line == 0
    assert text.startswith("[window] goes with mode = 'stream', and mode is 'batch'.")
    life = STREAM.replace('time = "at"\nslot = "1 hour"\nwindow = 24\n', LIFE).replace(
        'delay = "10 minutes"\n', ""
    )
    ((line, text),) = mistakes(tmp_path, WINDOW, life)
    assert (line, "does not go with apply_by" in text) == (0, True)


LIFE = """\
kind = "lifetime"
inserted = "at"
lifetime = "n"
max_lifetime = "1 hour"
refresh = "10 minutes"
apply_by = "op"
"""


def test_the_example_of_the_page_is_right(tmp_path):
    page = DOCS.joinpath("pipelines.md").read_text(encoding="utf-8")
    whole = re.search(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    window = re.search(r"^```\n(\[window\].*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert whole is not None
    assert window is not None
    found = read_pipeline(write(tmp_path, whole[1] + window[1])).window
    assert found is not None
    assert list(found.queries) == ["busy", "delays"]


def test_a_key_of_the_index_that_is_in_no_table_is_still_told_of(tmp_path):
    with pytest.raises(BadPipeline, match=r"1: The key 'window' is in no table. Move it below \["):
        read_pipeline(write(tmp_path, "window = 7\n" + STREAM))


def send(folder: Path, name: str, *minutes: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    rows = [{"who": f"w{m % 3}", "at": BEGUN + dt.timedelta(minutes=m), "n": m} for m in minutes]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / "in" / f"{name}.parquet")


def lines(folder: Path, name: str) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in (folder / "out" / f"{name}.jsonl").read_text().split("\n")[:-1]
    ]


def test_a_run_answers_goes_on_where_it_stopped_and_names_columns_that_are_not_there(
    spark, tmp_path
):
    asked = 'answers = "out"\n[window.queries]\nrows = "count()"\ntop = "top(who, 1) every 2"\n'
    file = write(tmp_path, STREAM + WINDOW + asked)
    send(tmp_path, "1", *range(55))
    run(file)
    # Up to the 54th minute, ten minutes late: what was before the 40th is complete.
    assert [line["rows"] for line in lines(tmp_path, "rows")] == [
        [{"count": count}] for count in (10, 20, 30, 40)
    ]
    assert [line["until"] for line in lines(tmp_path, "top")] == [
        "2026-01-05T00:20+00:00",
        "2026-01-05T00:40+00:00",
    ]
    with (tmp_path / "out" / "rows.jsonl").open("a") as cut_off:
        cut_off.write("{")
    send(tmp_path, "2", *range(55, 95))
    run(file)
    text = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    assert text[4] == "{"
    assert [json.loads(line)["rows"] for line in text[5:]] == [
        [{"count": count}] for count in (50, 60, 60, 60)
    ]
    send(tmp_path, "3", *range(95, 110))
    file.write_text(STREAM + WINDOW + '[window.queries]\nlast = "maximum(n)"\n')
    result = run(file)
    said = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["query"] for line in said] == ["last"] * len(said)
    assert [line["until"] for line in said] == ["2026-01-05T01:30+00:00"]
    assert list(said[0]["rows"][0].values()) == [89]
    file.write_text(STREAM + WINDOW + 'index = ["nobody"]\n[window.queries]\nq = "sum(none)"\n')
    first = STREAM.count("\n") + 1
    failed = CliRunner().invoke(app, ["run", str(file), "--once"])
    assert failed.exit_code == 1
    assert failed.stderr.startswith(f"{file}:{first + 4}: index= has 'nobody'")


def run(file: Path):
    result = CliRunner().invoke(app, ["run", str(file), "--once"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result
