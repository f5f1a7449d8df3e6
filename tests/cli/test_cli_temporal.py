"""Sets over time from a shell."""

import datetime as dt
import io
import json

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from wavedex.errors import NotAnIndex
from wavedex.temporal import TemporalSet

EVENTS = """member,at,change,city
ann,2026-03-01,1,Oslo
bob,2026-03-02,1,Rome
ann,2026-03-05,-1,
ann,2026-03-09,1,Bonn
"""
NAMED = ["--oid", "member", "--time", "at", "--op", "change"]


def day(number):
    return dt.date(2026, 3, number)


@pytest.fixture
def events(tmp_path):
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path / "events.csv"


@pytest.fixture
def members(run, tmp_path, events):
    """A set that the command has loaded."""
    assert run("temporal", "load", tmp_path / "m.wxt", events, *NAMED).exit_code == 0
    return tmp_path / "m.wxt"


def test_load_creates_a_set_as_it_is_told_and_says_what_it_did(run, tmp_path, events):
    path = tmp_path / "m.wxt"
    asked = ["temporal", "load", path, events, *NAMED, "--method", "pph-s", "--page-records", 10]
    told = run(*asked, "--set", "usefulness=0.5", "--set", "trees=disk")
    assert told.exit_code == 0
    assert told.stdout == (
        f"{path}: created, pph-s, 4 events loaded, 2 ids now, 2026-03-01 to 2026-03-09, commit 1\n"
    )
    assert "at      date32[day]" in told.stderr  # types that were found are shown
    found = TemporalSet.open(path)
    about = found.describe()
    settings = about["settings"]
    assert (settings["usefulness"], settings["trees"], about["page_records"]) == (0.5, "disk", 10)
    assert found.row("ann", day(3)) == {"city": "Oslo"}


def test_more_is_loaded_in_the_types_of_the_set(run, tmp_path):
    path, first, second = tmp_path / "m.wxt", tmp_path / "1.csv", tmp_path / "2.parquet"
    first.write_text("oid,time,op\n007,2026-03-01T10:00:00,1\n")
    types = ["--type", "oid=string", "--type", "time=timestamp[us, UTC]", "--zone", "Europe/Oslo"]
    assert run("temporal", "load", path, first, *types).exit_code == 0
    third = tmp_path / "3.csv"
    third.write_text("oid,time,op\n008,2026-03-03T10:00:00,1\n")
    local = pa.array([dt.datetime(2026, 3, 2, 10)], pa.timestamp("us"))
    pq.write_table(pa.table({"oid": ["7"], "time": local, "op": [1]}), second)
    told = run("temporal", "load", path, second, third, "--zone", "Europe/Oslo", "--json")
    assert (told.exit_code, told.stderr) == (0, "")
    data = json.loads(told.stdout)
    assert (data["created"], data["events"], data["alive"], data["commit"]) == (False, 2, 3, 2)
    spans = TemporalSet.open(path).lifespans().to_pylist()
    assert {each["oid"]: each["start"].isoformat() for each in spans} == {
        "007": "2026-03-01T09:00:00+00:00",
        "7": "2026-03-02T09:00:00+00:00",
        "008": "2026-03-03T09:00:00+00:00",
    }


def test_all_files_are_loaded_or_none(run, tmp_path, members, events):
    more, bad = tmp_path / "more.csv", tmp_path / "bad.csv"
    more.write_text("member,at,change,city\ncid,2026-03-10,1,Bonn\n")
    bad.write_text("member,at,change,city\nbob,2026-03-11,1,Rome\n")
    told = run("temporal", "load", members, more, bad, *NAMED)
    assert (told.exit_code, told.stdout) == (1, "")
    assert told.stderr.startswith(f"{bad}: The id 'bob' is added at 2026-03-11")
    assert not TemporalSet.open(members).contains("cid", day(11))
    told = run("temporal", "load", tmp_path / "n.wxt", events, bad, *NAMED)
    assert told.exit_code == 1
    assert not (tmp_path / "n.wxt").exists()


def test_the_batch_of_a_stream_is_loaded_once(run, tmp_path, events):
    asked = ["temporal", "load", tmp_path / "m.wxt", events, *NAMED, "--stream", "s", "--number"]
    assert run(*asked, 0).exit_code == 0
    assert run(*asked, 0).stdout == f"{tmp_path / 'm.wxt'}: already there\n"
    assert "Load batch 1 first" in run(*asked, 5).stderr
    assert run(*asked[:-1]).exit_code == 2


def test_a_set_that_is_there_keeps_what_it_was_created_with(run, members, events):
    told = run("temporal", "load", members, events, *NAMED, "--method", "mvbt", COLUMNS="200")
    assert told.exit_code == 2
    assert "its method is pph-s" in told.stderr
    told = run("temporal", "load", members, events, *NAMED, "--set", "buckets=3", COLUMNS="200")
    assert (told.exit_code, "its buckets is 10" in told.stderr) == (2, True)
    asked = ["--method", "pph-s", "--page-bytes", 4096, "--set", "buckets=10"]
    assert (
        "before the last change" in run("temporal", "load", members, events, *NAMED, *asked).stderr
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "buckets=many"], "is no number"),
        (["--set", "colour=red"], "'colour' is nothing that can be set"),
        (["--method", "b-tree"], "There are: pph-s"),
        (["--op", "sign"], "Events have a column 'sign'"),
    ],
)
def test_what_cannot_be_is_named_and_nothing_is_created(run, tmp_path, events, options, said):
    told = run("temporal", "load", tmp_path / "m.wxt", events, *NAMED, *options)
    assert (told.exit_code, told.stdout) == (1, "")
    assert said in told.stderr
    assert not (tmp_path / "m.wxt").exists()


def test_contains_says_yes_or_no_and_what_an_id_carried(run, members):
    for at, said in (("2026-03-03", 'yes, with {"city": "Oslo"}\n'), ("2026-03-07", "no\n")):
        told = run("temporal", "contains", members, "ann", at)
        assert (told.exit_code, told.stdout) == (0, said)
    told = json.loads(run("temporal", "contains", members, "ann", "2026-03-03", "--json").stdout)
    assert (told["contains"], told["row"]) == (True, {"city": "Oslo"})
    during = ["temporal", "contains", members, "ann", "2026-03-06", "--until"]
    assert run(*during, "2026-03-08").stdout == "no\n"
    assert run(*during, "2026-03-09").stdout == "yes\n"
    told = run("temporal", "contains", members, "ann", "soon")
    assert (told.exit_code, "no time of this set" in told.stderr) == (1, True)


def test_a_file_of_questions_is_answered_row_by_row(run, tmp_path, members):
    asked = tmp_path / "asked.csv"
    asked.write_text("who,when,n\nann,2026-03-03,1\nbob,2026-03-01,2\nzoe,2026-03-09,3\n")
    named = ["--oid", "who", "--time", "when", "--format", "csv"]
    told = run("temporal", "contains", members, "--asked", asked, *named)
    rows = pa_csv.read_csv(io.BytesIO(told.stdout.encode()))
    assert rows["contains"].to_pylist() == [True, False, False]
    assert rows["n"].to_pylist() == [1, 2, 3]
    told = run("temporal", "contains", members, "--asked", asked)
    assert (told.exit_code, "must have a column 'oid'" in told.stderr) == (1, True)
    assert run("temporal", "contains", members, "ann", "2026-03-03", "--oid", "who").exit_code == 2
    assert run("temporal", "contains", members, "ann").exit_code == 2


def test_ids_are_typed_as_those_of_the_set_are(run, tmp_path):
    table = pa.table({"oid": [7, -8], "time": [1, 2], "op": [1, 1]})
    pq.write_table(table, tmp_path / "e.parquet")
    path = tmp_path / "n.wxt"
    assert run("temporal", "load", path, tmp_path / "e.parquet", "--method", "mvbt").exit_code == 0
    assert run("temporal", "contains", path, "--", "-8", "2").stdout == "yes\n"
    told = run("temporal", "contains", path, "ann", "2")
    assert (told.exit_code, told.stdout) == (1, "")
    between = run("temporal", "snapshot", path, "2", "--low", "0", "--high", "9", "--json")
    assert [json.loads(line) for line in between.stdout.splitlines()] == [{"oid": 7}]
    assert run("temporal", "snapshot", path, "2", "--low", "0").exit_code == 2


def test_snapshots_and_lifespans_are_rows_in_every_format(run, members):
    told = run("temporal", "snapshot", members, "2026-03-03", "--format", "json")
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert sorted(row["oid"] for row in rows) == ["ann", "bob"]
    now = run("temporal", "snapshot", members)
    assert ("Bonn" in now.stdout, "2 rows" in now.stdout) == (True, True)
    told = run("temporal", "lifespans", members, "ann", "--json")
    assert [json.loads(line) for line in told.stdout.splitlines()] == [
        {"start": "2026-03-01", "end": "2026-03-05", "city": "Oslo"},
        {"start": "2026-03-09", "end": None, "city": "Bonn"},
    ]
    assert run("temporal", "lifespans", members, "--format", "csv").stdout.count("\n") == 4


def test_a_set_in_which_nothing_was_can_be_asked(run, tmp_path):
    for name, types in (("a", {}), ("b", {"ids": pa.int64(), "times": pa.date32()})):
        path = tmp_path / f"{name}.wxt"
        TemporalSet.create(path, **types)
        assert run("temporal", "snapshot", path).stderr == "No rows.\n"
        assert run("temporal", "lifespans", path).stderr == "No rows.\n"
        assert run("temporal", "contains", path, "7", "2026-03-03").stdout == "no\n"
        assert run("temporal", "inspect", path).exit_code == 0
        assert run("temporal", "verify", path).stdout.startswith("ok: 0 changes")


def test_inspect_says_what_a_set_is(run, members):
    told = run("temporal", "inspect", members)
    assert told.stdout.startswith(f"{members}\n")
    for fact in ("city string", "pph-s (hashing linear", "2 ids", "3 lifespans, 4 changes"):
        assert fact in told.stdout
    about = json.loads(run("temporal", "inspect", members, "--json").stdout)
    assert about == TemporalSet.open(members).describe()


def test_inspect_draws_the_sizes_and_the_pages_of_a_bucket(run, tmp_path, members):
    found, drawn = TemporalSet.open(members), tmp_path / "sizes.svg"
    told = run("temporal", "inspect", members, "--picture", drawn, COLUMNS="70")
    assert drawn.read_text() == found.draw().svg
    drawn_lines = [line.rstrip() for line in found.draw().lines(70)]
    lines = [line.rstrip() for line in told.stdout.splitlines()]
    assert lines[-len(drawn_lines) :] == drawn_lines
    number = next(each for each in range(found.buckets) if found.bucket(each).num_rows)
    told = run("temporal", "inspect", members, "--bucket", number, "--picture", drawn)
    assert "page 0" in told.stdout
    assert drawn.read_text() == found.draw(number).svg
    about = json.loads(run("temporal", "inspect", members, "--bucket", number, "--json").stdout)
    assert about["pages_of_bucket"][0]["start"] == "2026-03-01"
    told = run("temporal", "inspect", members, "--bucket", 10)
    assert (told.exit_code, "They are 0 to 9" in told.stderr) == (1, True)
    told = run("temporal", "inspect", members, "--picture", tmp_path / "a.png")
    assert (told.exit_code, "ends in .svg" in told.stderr) == (1, True)


def test_verify_names_what_is_damaged_and_fails(run, members):
    assert run("temporal", "verify", members).stdout.startswith("ok: 4 changes, 2 ids now")
    assert json.loads(run("temporal", "verify", members, "--json").stdout)["ok"] is True
    (name,) = (members / "data").iterdir()
    content = bytearray(name.read_bytes())
    content[-1] ^= 0xFF
    name.write_bytes(content)
    told = run("temporal", "verify", members)
    assert told.exit_code == 1
    assert name.name in told.stdout
    assert name.name in told.stderr
    told = json.loads(run("temporal", "verify", members, "--json").stdout)
    assert (told["ok"], len(told["findings"])) == (False, 1)


@pytest.mark.parametrize("command", ["contains", "snapshot", "lifespans", "inspect", "verify"])
def test_what_is_no_set_is_named(run, tmp_path, command):
    more = ["ann", "1"] if command == "contains" else []
    told = run("temporal", command, tmp_path / "none.wxt", *more)
    assert (told.exit_code, told.stdout) == (1, "")
    with pytest.raises(NotAnIndex) as raised:
        TemporalSet.open(tmp_path / "none.wxt")
    assert told.stderr == f"{raised.value}\n"
