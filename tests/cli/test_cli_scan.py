import csv
import io
import json
from collections import Counter

import pyarrow as pa
import pytest

import wavedex as wx
from kit.cli_sales import rows_of, table_of
from wavedex.cli import rows as cli_rows


def lines(result):
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def counted(rows):
    return Counter((row["user"], row["amount"]) for row in rows)


EXPECTED = [row for day in range(3, 8) for row in rows_of(day)]


def test_a_scan_has_all_rows_of_the_window(run, sales):
    assert counted(lines(run("scan", sales, "--json"))) == counted(EXPECTED)
    arrow = run("scan", sales, "--format", "arrow").stdout_bytes
    assert counted(pa.ipc.open_stream(arrow).read_all().to_pylist()) == counted(EXPECTED)
    text = run("scan", sales, "--format", "csv").stdout
    assert len(list(csv.reader(io.StringIO(text)))) == len(EXPECTED) + 1


def test_a_table_of_a_scan_counts_all_and_shows_some(run, sales):
    assert run("scan", sales).stdout.splitlines()[-1] == "30 rows"
    some = run("scan", sales, "--limit", "4").stdout
    assert some.count("│ ann") + some.count("│ bob") == 4
    assert "30 rows, of which the first 4 are shown" in some


def test_since_until_columns_and_expired_narrow_and_widen_a_scan(run, sales):
    found = lines(run("scan", sales, "--since", "2026-01-04", "--until", "2026-01-04", "--json"))
    assert counted(found) == counted(rows_of(4))
    found = lines(run("scan", sales, "--columns", "amount", "--json"))
    assert {tuple(row) for row in found} == {("amount",)}
    found = lines(run("scan", sales, "--expired", "--json"))
    assert counted(found) == counted(rows_of(2) + EXPECTED)


def test_large_batches_are_written_in_slices(run, sales, monkeypatch):
    monkeypatch.setattr(cli_rows, "SLICE_ROWS", 2)
    assert counted(lines(run("scan", sales, "--json"))) == counted(EXPECTED)
    text = run("scan", sales, "--format", "csv").stdout
    assert len(list(csv.reader(io.StringIO(text)))) == len(EXPECTED) + 1


def test_sql_may_name_the_entries_more_than_once(run, sales):
    query = """
        select user, count(*) as n, sum(amount) as total, sum(price) as paid, max("at") as last,
               (select count(*) from entries) as everybody
        from entries join (select distinct user from entries) using (user)
        group by user order by user
    """
    assert lines(run("scan", sales, "--sql", query, "--json")) == [
        {
            "user": "ann",
            "n": 5,
            "total": 25,
            "paid": "6.25",
            "last": "2026-01-07T12:00:00+00:00",
            "everybody": 30,
        },
        {
            "user": "bob",
            "n": 25,
            "total": 3 + 6 + 10 + 15 + 21,
            "paid": None,
            "last": "2026-01-07T12:00:00+00:00",
            "everybody": 30,
        },
    ]


def test_sql_sees_the_chosen_part_of_the_entries_in_any_format(run, sales):
    query = "select count(*) as n from entries"
    narrow = ["--since", "2026-01-07", "--columns", "user"]
    assert "│ 8 │" in run("scan", sales, *narrow, "--sql", query).stdout
    assert run("scan", sales, *narrow, "--sql", query, "--format", "csv").stdout == '"n"\n8\n'
    arrow = run("scan", sales, *narrow, "--sql", query, "--format", "arrow").stdout_bytes
    assert pa.ipc.open_stream(arrow).read_all().to_pydict() == {"n": [8]}


@pytest.mark.parametrize(
    "query",
    [
        "selec",
        "select * from idx",
        "select colour from entries",
        "",
        "select error('no') from entries",
    ],
)
def test_what_duckdb_objects_to_is_a_message_and_exit_code_1(run, sales, query):
    result = run("scan", sales, "--sql", query, "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("The query ")
    assert "Traceback" not in result.stderr


def test_every_kind_of_column_can_be_written_as_text(run, tmp_path):
    schema = pa.schema(
        [
            ("k", pa.int64()),
            ("wall", pa.timestamp("ns")),
            ("berlin", pa.timestamp("ms", "Europe/Berlin")),
            ("day", pa.date32()),
            ("hour", pa.time64("us")),
            ("took", pa.duration("s")),
            ("share", pa.float64()),
            ("code", pa.dictionary(pa.int8(), pa.string())),
            ("whole", pa.decimal128(5, 0)),
            ("many", pa.list_(pa.struct([("on", pa.date32()), ("f", pa.float64())]))),
        ]
    )
    row = {
        "k": 1,
        "wall": 1_500_000_001,
        "berlin": 3_600_000,
        "day": 1,
        "hour": 3_600_000_000,
        "took": 90,
        "share": float("nan"),
        "code": "a",
        "whole": 7,
        "many": [{"on": 2, "f": float("inf")}],
    }
    idx = wx.WaveIndex.create(tmp_path / "all.wx", schema, key="k", window=2, indexes=2)
    idx.append(pa.Table.from_pylist([row], schema), slot=0)
    assert lines(run("scan", tmp_path / "all.wx", "--json")) == [
        {
            "k": 1,
            "wall": "1970-01-01T00:00:01.500000001",
            "berlin": "1970-01-01T02:00:00+01:00",
            "day": "1970-01-02",
            "hour": "01:00:00.000000",
            "took": 90,
            "share": None,
            "code": "a",
            "whole": 7,
            "many": [{"on": "1970-01-03", "f": None}],
        }
    ]
    (written,) = csv.DictReader(
        io.StringIO(run("scan", tmp_path / "all.wx", "--format", "csv").stdout)
    )
    assert written["berlin"] == "1970-01-01 01:00:00.000Z"
    assert written["many"] == '[{"on": "1970-01-03", "f": null}]'
    assert "1970-01-01T02:00:00+01:00" in run("scan", tmp_path / "all.wx").stdout


def test_what_one_index_writes_another_can_append(run, sales, tmp_path):
    for kind, suffix in (("csv", "csv"), ("json", "jsonl")):
        copy = tmp_path / f"{kind}.wx"
        wx.WaveIndex.create(copy, wx.open(sales).schema, key="user", time="at", window=5, indexes=2)
        file = tmp_path / f"rows.{suffix}"
        file.write_bytes(run("scan", sales, "--format", kind).stdout_bytes)
        assert run("append", copy, file).exit_code == 0
        by = [("at", "ascending"), ("user", "ascending"), ("amount", "ascending")]
        assert wx.open(copy).scan().read_all().sort_by(by) == table_of(3, 4, 5, 6, 7).sort_by(by)


def test_a_scan_comes_in_order_and_by_a_condition(run, sales):
    def amounts(*options):
        result = run("scan", sales, "--json", *options)
        return [json.loads(line)["amount"] for line in result.stdout.splitlines()]

    assert amounts("--where", "\"user\" = 'ann'", "--order", "time") == [3, 4, 5, 6, 7]
    assert amounts("--where", "\"user\" = 'ann'", "--order", "-time") == [7, 6, 5, 4, 3]
    assert amounts("--where", "\"user\" = 'ann'", "--last", "2") == [6, 7]
    refused = run("scan", sales, "--sql", "select 1", "--last", "2")
    assert refused.exit_code == 2
    assert "--last goes with rows as they are" in refused.stderr
