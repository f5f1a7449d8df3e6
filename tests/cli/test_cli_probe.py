import csv
import io
import json
import shutil

import pyarrow as pa
import pytest

import wavedex as wx
from kit.cli_sales import SCHEMA, noon, rows_of


def lines(result):
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_probe_shows_a_table_with_a_count(run, sales):
    result = run("probe", sales, "ann")
    assert result.exit_code == 0
    assert result.stderr == ""
    for day in range(3, 8):
        assert f"2026-01-0{day}T12:00:00+00:00" in result.stdout
    assert "1.75" in result.stdout
    assert result.stdout.splitlines()[-1] == "5 rows"


def test_json_is_a_line_for_each_row_with_times_decimals_and_binary_as_text(run, sales):
    found = lines(run("probe", sales, "ann", "--json"))
    assert found[0] == {
        "user": "ann",
        "at": "2026-01-03T12:00:00+00:00",
        "amount": 3,
        "price": "0.75",
        "tag": "ff",
    }
    assert [row["amount"] for row in found] == [3, 4, 5, 6, 7]
    assert found == lines(run("probe", sales, "ann", "--format", "json"))


def test_csv_has_a_header_and_empty_fields_for_nulls(run, sales):
    result = run("probe", sales, "bob", "--since", "2026-01-07", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["amount"] for row in rows] == ["0", "1", "2", "3", "4", "5", "6"]
    assert {row["price"] for row in rows} == {""}
    assert {row["at"] for row in rows} == {"2026-01-07 12:00:00.000000Z"}


def test_arrow_is_a_stream_of_the_very_rows(run, sales):
    result = run("probe", sales, "ann", "--format", "arrow")
    table = pa.ipc.open_stream(result.stdout_bytes).read_all()
    assert table.schema == SCHEMA
    assert table.to_pylist() == [rows_of(day)[0] for day in range(3, 8)]


@pytest.mark.parametrize(
    ("bounds", "days"),
    [
        (["--since", "2026-01-06"], [6, 7]),
        (["--until", "2026-01-03"], [3]),
        (["--since", "20458", "--until", "2026-01-06T11:59"], [5]),
        (["--since", "2026-01-06T12:00:00Z", "--until", "2026-01-06T12:00:00+00:00"], [6]),
    ],
)
def test_since_and_until_are_slots_dates_or_datetimes(run, sales, bounds, days):
    found = lines(run("probe", sales, "ann", "--json", *bounds))
    assert [row["amount"] for row in found] == days


def test_expired_rows_are_shown_when_asked_for(run, sales):
    assert [row["amount"] for row in lines(run("probe", sales, "ann", "--expired", "--json"))] == [
        2, 3, 4, 5, 6, 7,
    ]  # fmt: skip


def test_columns_are_chosen_and_still_in_the_order_of_time(run, sales):
    found = lines(run("probe", sales, "ann", "--columns", "amount, user", "--json"))
    assert found[-1] == {"amount": 7, "user": "ann"}
    assert list(found[0]) == ["amount", "user"]
    assert [row["amount"] for row in found] == [3, 4, 5, 6, 7]


def test_a_table_shows_no_more_rows_than_the_limit_and_says_so(run, sales):
    result = run("probe", sales, "bob", "--limit", "2")
    assert result.stdout.count("│ bob") == 2
    assert "25 rows, of which the first 2 are shown" in result.stdout
    assert len(lines(run("probe", sales, "bob", "--limit", "2", "--json"))) == 25


def test_a_key_without_rows_is_no_error(run, sales):
    assert (run("probe", sales, "eve").exit_code, run("probe", sales, "eve").stdout) == (0, "")
    assert run("probe", sales, "eve").stderr == "No rows.\n"
    asked = run("probe", sales, "eve", "--json")
    assert (asked.exit_code, asked.stdout, asked.stderr) == (0, "", "")
    assert run("probe", sales, "eve", "--format", "csv").stdout.startswith('"user","at"')
    arrow = run("probe", sales, "eve", "--format", "arrow").stdout_bytes
    assert pa.ipc.open_stream(arrow).read_all().num_rows == 0


def test_keys_that_are_numbers_are_read_as_such_also_below_zero(run, tmp_path):
    schema = pa.schema([("k", pa.int32()), ("v", pa.string())])
    idx = wx.WaveIndex.create(tmp_path / "n.wx", schema, key="k", window=2, indexes=2)
    idx.append(pa.table({"k": [-5, 7], "v": ["a", "b"]}, schema=schema), slot=1)
    assert lines(run("probe", tmp_path / "n.wx", "7", "--json")) == [{"k": 7, "v": "b"}]
    assert lines(run("probe", tmp_path / "n.wx", "--json", "--", "-5")) == [{"k": -5, "v": "a"}]
    refused = run("probe", tmp_path / "n.wx", "seven")
    assert refused.exit_code == 1
    assert "int32" in refused.stderr


def test_nothing_in_the_data_can_steer_the_terminal(run, empty):
    row = {**rows_of(1)[0], "user": "a\x1b[2J[bold]b"}
    wx.open(empty).append(pa.Table.from_pylist([row], SCHEMA))
    result = run("probe", empty, "a\x1b[2J[bold]b")
    assert "\x1b" not in result.stdout
    assert r"a\x1b[2J[bold]b" in result.stdout


def test_a_column_that_is_not_there_is_named(run, sales):
    result = run("probe", sales, "ann", "--columns", "amount,colour")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "'colour'" in result.stderr
    assert noon(3).isoformat() not in result.stderr


def test_a_key_of_several_columns_has_commas_or_is_a_list_in_json(run, tmp_path):
    schema = pa.schema([("shop", pa.string()), ("item", pa.int32()), ("n", pa.int64())])
    index = wx.WaveIndex.create(tmp_path / "x.wx", schema, key=["shop", "item"], window=3)
    rows = [{"shop": "a", "item": 1, "n": 1}, {"shop": "b,c", "item": 1, "n": 2}]
    index.append(pa.Table.from_pylist(rows, schema), slot=1)
    assert lines(run("probe", index.path, "a,1", "--json")) == rows[:1]
    assert lines(run("probe", index.path, '["b,c", 1]', "--json")) == rows[1:]
    for wrong in ("a", "a,1,2", "a,x"):
        result = run("probe", index.path, wrong)
        assert (result.exit_code, result.stdout) == (1, "")
    assert "shop,item" in run("probe", index.path, "a").stderr


def test_all_keys_between_two_are_looked_up_together(run, sales):
    found = lines(run("probe", sales, "ann", "--to", "bob", "--since", "2026-01-06", "--json"))
    assert {row["user"] for row in found} == {"ann", "bob"}
    assert len(found) == 2 + 6 + 7
    assert run("probe", sales, "b", "--to", "a").stderr == "No rows.\n"


@pytest.mark.parametrize("command", [["probe", "ann"], ["scan"]])
def test_with_check_nothing_is_answered_from_a_damaged_file(run, sales, tmp_path, command):
    shutil.copytree(sales, tmp_path / "copy.wx")
    name, *key = command
    checked = run(name, tmp_path / "copy.wx", *key, "--check", "--json")
    assert lines(checked) == lines(run(name, tmp_path / "copy.wx", *key, "--json"))
    for file in (tmp_path / "copy.wx" / "data").glob("*.arrow"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    result = run(name, tmp_path / "copy.wx", *key, "--check")
    assert result.exit_code == 1
    assert "The index is damaged" in result.stderr


def test_the_latest_rows_come_in_either_order(run, sales):
    def amounts(*options):
        return [row["amount"] for row in lines(run("probe", sales, "ann", "--json", *options))]

    assert amounts("--last", "2") == [6, 7]
    assert amounts("--last", "2", "--order=-time") == [7, 6]
    assert amounts("--where", "amount % 2 = 1") == [3, 5, 7]
    assert amounts("--where", "amount < 6", "--last", "1", "--columns", "amount") == [5]
    both = lines(run("probe", sales, "ann", "--to", "bob", "--last", "1", "--json"))
    assert [row["user"] for row in both] == ["ann", "bob"]


def test_what_is_no_condition_is_said(run, sales):
    result = run("probe", sales, "ann", "--where", "amount >")
    assert result.exit_code == 1
    assert "cannot be understood: syntax error" in result.stderr
    assert run("probe", sales, "ann", "--order", "up").exit_code == 1
    assert run("probe", sales, "ann", "--last", "-1").exit_code == 2


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Twenty columns, one of them with long values."""
    path = tmp_path_factory.mktemp("wide") / "wide.wx"
    columns = {f"column_{n}": [f"value {n}"] * 3 for n in range(17)}
    rows = pa.table({"k": ["a"] * 3, "t": [1, 2, 3], **columns, "long": ["x" * 90] * 3})
    wx.WaveIndex.create(path, rows, key="k", time="t", slot=1, window=3, rows=True)
    return path


def test_columns_that_do_not_fit_are_left_out_in_the_middle(run, wide):
    shown = run("probe", wide, "a", COLUMNS="100").stdout.splitlines()
    assert max(map(len, shown)) <= 100
    assert len(shown) == 8  # a row is a line
    assert "│ a │ 1 │ value 0" in shown[3]
    assert shown[3].rstrip(" │").endswith("x…")
    assert "│ … │" in shown[3]
    assert shown[-1] == "3 rows; 6 of 20 columns: --columns A,B chooses"


def test_nothing_is_left_out_where_nobody_looks(run, wide):
    shown = run("probe", wide, "a").stdout
    assert "x" * 90 in shown
    assert "…" not in shown
    assert shown.splitlines()[-1] == "3 rows"


def test_the_help_of_a_flag_names_no_value(run):
    for command in ("probe", "erase", "create"):
        assert "<bool>" not in run(command, "--help").stdout
    assert "<bool>" not in run("--help").stdout


def test_completion_can_be_had(run):
    assert "--install-completion" in run("--help").stdout


def test_a_command_that_is_nearly_one_is_told(run):
    assert "Did you mean 'create'" in run("creat").stderr
