"""An index from files, in one line of a shell."""

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import wavedex as wx
from wavedex.cli import app
from wavedex.cli.guesses import guess_types

ROWS = pa.table(
    {
        "customer": ["ann", "bob"],
        "sold_at": pa.array(
            [dt.datetime(2026, 1, 5, 10), dt.datetime(2026, 1, 5, 11)], pa.timestamp("us")
        ),
        "amount": [3.0, 4.5],
        "code": ["007", "008"],
    }
)
MORE = ROWS.set_column(
    1, "sold_at", pa.array([dt.datetime(2026, 1, 6, 10)] * 2, pa.timestamp("us"))
)
CSV = """customer,sold_at,amount,code
ann,2026-01-05T10:00:00,3,007
bob,2026-01-05 11:00,4.5,008
"""
JSONL = """{"customer": "ann", "sold_at": "2026-01-05T10:00:00", "amount": 3.0, "code": "007"}
{"customer": "bob", "sold_at": "2026-01-05T11:00:00", "amount": 4.5, "code": "008"}
"""
OPTIONS = ("--key", "customer", "--time", "sold_at", "--window", "30")


def write(path, table=ROWS):
    """The rows in the format that the name of a file says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix in (".arrow", ".feather"):
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, table.schema) as sink:
            sink.write_table(table)
    else:
        path.write_text(CSV if path.suffix == ".csv" else JSONL)
    return path


def given(content, *args):
    """Run the command with something on its standard input."""
    runner = CliRunner(env={"COLUMNS": None, "NO_COLOR": "1"})
    return runner.invoke(app, [str(arg) for arg in args], input=content, prog_name="wavedex")


NAMES = ["m.parquet", "m.arrow", "m.feather", "m.arrows", "m.csv", "m.jsonl", "m.ndjson"]


@pytest.mark.parametrize("name", NAMES)
def test_an_index_is_made_of_a_file(run, tmp_path, name):
    path = tmp_path / "sales.wx"
    result = run("create", path, write(tmp_path / name), *OPTIONS)
    assert result.exit_code == 0, result.stderr
    idx = wx.open(path)
    assert idx.to_arrow(order="time").equals(ROWS)
    assert idx.definition.window == 30
    assert f"{path}: created with 4 columns, 2 rows" in result.stdout
    is_text = name.endswith(("csv", "jsonl", "ndjson"))
    assert ("code      string" in result.stderr) == is_text
    again = run("append", path, tmp_path / name)
    assert "already there" in again.stdout


@pytest.mark.parametrize("name", NAMES)
def test_an_index_is_made_of_standard_input(tmp_path, name):
    content = write(tmp_path / name).read_bytes()
    path = tmp_path / "sales.wx"
    result = given(content, "create", path, "-", *OPTIONS)
    assert result.exit_code == 0, result.stderr
    assert wx.open(path).to_arrow(order="time").equals(ROWS)
    again = given(content, "append", path, "-")
    assert "already there" in again.stdout
    assert run_json(given(content, "append", path, "-", "--json"))["repeated"]


def run_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout.splitlines()[0])


def test_what_a_probe_prints_is_taken_by_append(run, tmp_path):
    path = tmp_path / "sales.wx"
    run("create", path, write(tmp_path / "m.parquet"), *OPTIONS)
    other = tmp_path / "other.wx"
    printed = run("scan", path, "--format", "arrow").stdout_bytes
    made = given(printed, "create", other, "-", *OPTIONS)
    assert made.exit_code == 0, made.stderr
    assert wx.open(other).to_arrow(order="time").equals(ROWS)


def test_several_files_go_in_one_after_the_other(run, tmp_path):
    files = [write(tmp_path / "m.csv"), write(tmp_path / "t.parquet", MORE)]
    path = tmp_path / "sales.wx"
    result = run("create", path, *files, *OPTIONS, "--json")
    made, appended = map(json.loads, result.stdout.splitlines())
    assert made["columns"]["sold_at"] == "timestamp[us]"
    assert made["rows"] == appended["rows"] == 2
    assert len(wx.open(path)) == 4


def test_columns_alone_make_an_empty_index(run, tmp_path):
    path = tmp_path / "sales.wx"
    result = run("create", path, "--like", write(tmp_path / "m.csv"), *OPTIONS)
    assert result.exit_code == 0
    assert len(wx.open(path)) == 0
    assert run("append", path, tmp_path / "m.csv").exit_code == 0
    assert len(wx.open(path)) == 2


def test_options_are_those_of_an_index(run, tmp_path):
    path = tmp_path / "sales.wx"
    options = ["--key", "customer,code", "--time", "sold_at", "--window", "30 days"]
    options += ["--slot", "6h", "--zone", "Europe/Berlin", "--scheme", "rata", "--indexes", "3"]
    options += ["--update", "packed-shadow", "--include", "amount", "--format", "parquet"]
    options += ["--shards", "1", "--nulls", "skip", "--late", "drop", "--keep-commits", "5"]
    options += ["--keep-for", "2 days"]
    result = run("create", path, write(tmp_path / "m.csv"), *options)
    assert result.exit_code == 0, result.stderr
    found = wx.open(path).definition
    assert (found.window, found.scheme_name, found.indexes, found.shards) == (120, "rata", 3, 1)
    assert (found.key, found.format, found.update) == (
        ("customer", "code"), "parquet", "packed-shadow"
    )  # fmt: skip
    assert (found.nulls, found.late, found.keep_commits, found.keep_s) == (
        "skip", "drop", 5, 172_800
    )  # fmt: skip
    assert found.zone == "Europe/Berlin"
    assert wx.open(path).probe(("ann", "007")).num_rows == 1


def test_rows_with_ends_make_a_lifetime_index(run, tmp_path):
    calls = tmp_path / "calls.csv"
    calls.write_text("caller,begun,until\nann,1,5\nbob,2,9\n")
    more = tmp_path / "more.csv"
    more.write_text("caller,begun,until\neve,4,8\n")
    path = tmp_path / "calls.wx"
    options = ["--key", "caller", "--inserted", "begun", "--expires", "until"]
    options += ["--max-lifetime", "16", "--refresh", "2", "--grid", "2x4"]
    options += ["--method", "no-rebuild", "--partition", "round-robin,round-robin"]
    result = run("create", path, calls, more, *options)
    assert result.exit_code == 0, result.stderr
    life = wx.open(path)
    assert isinstance(life, wx.LifetimeIndex)
    assert len(life) == 3
    assert life.definition.sides == (2, 4)


def test_types_are_said_where_those_found_are_not_meant(run, tmp_path):
    path = tmp_path / "sales.wx"
    types = ["--type", "code=int64", "--type", "sold_at=timestamp[us, UTC]"]
    zone = ["--zone", "America/New_York"]
    result = run("create", path, write(tmp_path / "m.csv"), *OPTIONS, *types, *zone)
    assert result.exit_code == 0, result.stderr
    found = wx.open(path).to_arrow(order="time").to_pylist()
    assert [row["code"] for row in found] == [7, 8]
    assert found[0]["sold_at"] == dt.datetime(2026, 1, 5, 15, tzinfo=dt.UTC)
    other = tmp_path / "other.wx"
    result = run("create", other, write(tmp_path / "m.parquet"), *OPTIONS, "--type", "amount=float")
    assert result.exit_code == 0, result.stderr
    assert wx.open(other).schema.field("amount").type == pa.float32()


@pytest.mark.parametrize(
    ("args", "said", "code"),
    [
        ([], "an index needs --key", 2),
        (["--key", "customer"], "an index needs --time", 2),
        (["--key", "customer", "--time", "sold_at"], "an index needs --window", 2),
        ([*OPTIONS, "--grid", "2x2"], "--grid goes with lifetime indexes", 2),
        ([*OPTIONS, "--type", "code"], "is not COLUMN=VALUE", 2),
        ([*OPTIONS, "--type", "nope=int64"], "has no column 'nope'", 2),
        ([*OPTIONS, "--type", "code=nope"], "such as string, int64", 2),
        ([*OPTIONS, "--type", "customer=int64"], "Cannot read", 1),
        ([*OPTIONS, "--scheme", "tidal"], "There is no scheme 'tidal'", 1),
        (["--key", "custmer", *OPTIONS[2:]], "there is no such column", 1),
        ([*OPTIONS[:-1], "30 hours"], "not a whole number of slots of 1 day", 1),
        ([*OPTIONS, "--like", "m.csv"], "--like FILE", 2),
    ],
)
def test_what_makes_no_index_is_refused(run, tmp_path, args, said, code):
    result = run("create", tmp_path / "i.wx", write(tmp_path / "m.csv"), *args)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "i.wx").exists()


def test_no_file_makes_no_index(run, tmp_path):
    for files, said in (([], "give files"), ([tmp_path / "no.csv"], "not there")):
        result = run("create", tmp_path / "i.wx", *files, *OPTIONS)
        assert result.exit_code in (1, 2)
        assert said in result.stderr
    (tmp_path / "m.txt").write_text(CSV)
    result = run("create", tmp_path / "i.wx", tmp_path / "m.txt", *OPTIONS)
    assert "say it with --from" in result.stderr
    result = run("create", tmp_path / "i.wx", tmp_path / "m.txt", *OPTIONS, "--from", "csv")
    assert result.exit_code == 0, result.stderr


def test_what_is_there_is_not_made_again(run, tmp_path):
    file = write(tmp_path / "m.csv")
    assert run("create", tmp_path / "i.wx", file, *OPTIONS).exit_code == 0
    result = run("create", tmp_path / "i.wx", file, *OPTIONS)
    assert result.exit_code == 1
    assert "There is something at" in result.stderr
    assert len(wx.open(tmp_path / "i.wx")) == 2


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2", "0"], pa.int64()),
        (["1", "007"], pa.string()),
        (["1", "2.5", None], pa.float64()),
        (["1e5", "2"], pa.float64()),
        (["true", "false"], pa.bool_()),
        (["2026-01-05", None], pa.date32()),
        (["2026-02-30"], pa.string()),
        (["2026-01-05T10:00", "2026-01-05 10:00:00.25"], pa.timestamp("us")),
        (["2026-01-05T10:00Z", "2026-01-05T10:00:00+02:00"], pa.timestamp("us", "UTC")),
        (["2026-01-05T10:00Z", "2026-01-05T10:00"], pa.string()),
        (["2026-01-05", "x"], pa.string()),
        (["9223372036854775808"], pa.string()),
        ([None, None], pa.string()),
        (["-0"], pa.float64()),
        ([""], pa.string()),
    ],
)
def test_a_type_is_taken_that_every_value_has(texts, kind):
    table = pa.table({"c": pa.array(texts, pa.string())})
    assert guess_types(table).schema.field("c").type == kind
