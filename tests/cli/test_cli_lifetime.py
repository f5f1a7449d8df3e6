"""Every command works for a lifetime index as for a wave index.

It says which options go with which.
"""

import csv
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from kit.cli_calls import CALLS, SCHEMA, call, create, fill, living, minute, table_of


@pytest.fixture(scope="session")
def calls(tmp_path_factory):
    """Calls as of 12:08. Only to be read."""
    path = tmp_path_factory.mktemp("calls") / "calls.wx"
    fill(path, keep_commits=10)
    return path


@pytest.fixture
def mine(tmp_path):
    """The same, to be written to."""
    fill(tmp_path / "mine.wx")
    return tmp_path / "mine.wx"


def lines(result):
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def callers(result):
    return sorted(row["caller"] for row in lines(result))


def write(path, rows):
    pq.write_table(table_of(rows), path)
    return path


# -- probe and scan ----------------------------------------------------------------------------


def test_probe_finds_what_lives_oldest_first(run, calls):
    rows = lines(run("probe", calls, "ann", "--json"))
    assert [row["begun"][11:16] for row in rows] == ["12:01", "12:03", "12:07"]
    assert callers(run("probe", calls, "bob", "--json")) == ["bob"]
    shown = run("probe", calls, "ann", "--columns", "line")
    assert re.findall(r"\d", shown.stdout.split("┩")[1])[:3] == ["1", "2", "3"]


def test_probe_takes_a_range_of_keys(run, calls):
    assert callers(run("probe", calls, "bob", "--to", "dot", "--json")) == ["bob", "cid", "dot"]
    assert run("probe", calls, "x", "--to", "z").stderr == "No rows.\n"


def test_since_and_until_are_compared_with_insertion_times(run, calls):
    since = run("scan", calls, "--since", "2026-01-05T12:07", "--json")
    assert callers(since) == ["ann", "eve"]
    until = run("scan", calls, "--until", "2026-01-05T12:03", "--json")
    assert callers(until) == ["ann", "ann", "bob"]
    assert len(lines(run("probe", calls, "ann", "--since", "2026-01-05T12:03", "--json"))) == 2


def test_scan_shows_what_lives_in_every_format(run, calls):
    expected = [who for who, _ in living(8)]
    assert callers(run("scan", calls, "--json")) == expected
    told = csv.DictReader(io.StringIO(run("scan", calls, "--format", "csv").stdout))
    assert sorted(row["caller"] for row in told) == expected
    raw = run("scan", calls, "--format", "arrow").stdout_bytes
    assert pa.ipc.open_stream(raw).read_all().num_rows == len(expected)


def test_shorten_asks_as_a_query_with_shorter_windows(run, calls):
    shorter = ["--shorten", "4 minutes"]
    expected = [who for who, begun in living(12) if begun <= minute(8)]
    assert callers(run("scan", calls, *shorter, "--json")) == expected
    assert len(lines(run("probe", calls, "ann", *shorter, "--json"))) == 1
    assert len(lines(run("probe", calls, "a", "--to", "c", *shorter, "--json"))) == 2
    sql = "select count(*) as n from entries"
    assert lines(run("scan", calls, "--sql", sql, *shorter, "--json")) == [{"n": len(expected)}]


def test_sql_is_asked_of_what_lives(run, calls):
    sql = "select caller, count(*) as n from entries group by caller order by caller"
    rows = lines(run("scan", calls, "--sql", sql, "--since", "2026-01-05T12:03", "--json"))
    assert rows == [
        {"caller": c, "n": n}
        for c, n in [("ann", 2), ("bob", 1), ("cid", 1), ("dot", 1), ("eve", 1)]
    ]


def test_commit_shows_an_earlier_refresh(run, calls):
    assert callers(run("scan", calls, "--commit", 2, "--json")) == [
        who for who, _ in living(4, CALLS[2] + CALLS[4])
    ]
    once = run("scan", calls, "--commit", 2, "--shorten", "6 minutes", "--json")
    assert callers(once) == ["ann", "bob"]
    gone = run("scan", calls, "--commit", 99)
    assert gone.exit_code == 1
    assert "has no commit 99" in gone.stderr


def test_expired_shows_what_is_over_and_still_there(run, tmp_path):
    fill(tmp_path / "wata.wx", method="wata", grid=(2, 1))
    asked = ("probe", tmp_path / "wata.wx", "bob", "--json")
    assert len(lines(run(*asked))) == 1
    assert len(lines(run(*asked, "--expired"))) == 2


def test_windows_are_shortened_one_by_one_where_the_index_knows_them(run, tmp_path):
    schema = pa.schema(
        [("k", pa.string()), ("made", pa.int64()), ("over", pa.int64()), ("left", pa.int64())]
    )
    life = wx.LifetimeIndex.create(
        tmp_path / "join.wx", schema, key="k", inserted="made", expires="over", spans={"left": 8},
        max_lifetime=8, refresh=1, grid=(2, 2),
    )  # fmt: skip
    rows = [{"k": "a", "made": 10, "over": 11 + n, "left": 3 + n} for n in range(6)]
    life.update(10, pa.Table.from_pylist(rows, schema))
    asked = ("scan", tmp_path / "join.wx", "--json")
    assert len(lines(run(*asked))) == 6
    assert {row["left"] for row in lines(run(*asked, "--shorten", "left=3"))} == {6, 7, 8}
    assert len(lines(run(*asked, "--shorten", "3"))) == 3
    for wrong, code, why in [
        (["--shorten", "right=3"], 1, "the windows that the index knows are 'left'"),
        (["--shorten", "left=9"], 1, "longer than the window"),
        (["--shorten", "left=3", "--shorten", "left=2"], 2, "said twice"),
        (["--shorten", "left="], 2, "is not COLUMN=VALUE"),
        (["--shorten", "left=3", "--shorten", "2"], 2, "is not COLUMN=VALUE"),
        (["--shorten", "soon"], 1, "Cannot read 'soon'"),
    ]:
        result = run(*asked, *wrong)
        assert (result.exit_code, result.stdout) == (code, "")
        assert why in plain(result.stderr)


def plain(text):
    """What a message of the command says, without the box around it."""
    return re.sub(r"[\s│╭╮╰╯─]+", " ", text)


# -- append ------------------------------------------------------------------------------------


def test_append_refreshes_at_the_last_insertion_and_says_so(run, tmp_path):
    create(tmp_path / "c.wx")
    files = [write(tmp_path / f"{now}.parquet", rows) for now, rows in CALLS.items()]
    results = [run("append", tmp_path / "c.wx", file) for file in files]
    assert {(result.exit_code, result.stderr) for result in results} == {(0, "")}
    first, second, third, fourth = (result.stdout.rstrip("\n") for result in results)
    assert first == (
        f"{files[0]}: as of 2026-01-05T12:02+00:00, the last insertion: 3 rows into I1 I2 I3 I4"
    )
    # At 12:03 no refresh is due; bob hangs up at 12:04.
    assert second.endswith("12:03+00:00, the last insertion: 2 rows, to wait for the next refresh")
    assert third.endswith(
        "12:06+00:00, the last insertion: 2 rows into I1 I2 I3 I4, expired from I1 I2 I3 I4"
    )
    assert fourth.endswith("12:08+00:00, the last insertion: 2 rows into I3 I4, expired from I2 I4")
    assert callers(run("scan", tmp_path / "c.wx", "--json")) == [who for who, _ in living(8)]
    again = run("append", tmp_path / "c.wx", files[-1])
    assert again.stdout.endswith(": already there\n")


@pytest.mark.parametrize("instant", [[], ["--now", "2026-01-05T12:08"]], ids=["last", "given"])
def test_several_files_are_one_refresh_and_the_same_command_again_is_passed_over(
    run, tmp_path, instant
):
    create(tmp_path / "c.wx")
    text = "line,until,begun,caller\n1,2026-01-05T12:22:00Z,2026-01-05T12:06:00Z,dot\n"
    (tmp_path / "dot.csv").write_text(text)
    files = [
        write(tmp_path / "last.parquet", CALLS[8]),
        tmp_path / "dot.csv",
        write(tmp_path / "first.parquet", CALLS[2]),
        write(tmp_path / "empty.parquet", []),
    ]
    (told,) = lines(run("append", tmp_path / "c.wx", *files, *instant, "--json"))
    assert told["files"] == [str(file) for file in files]
    assert (told["now"], told["rows"], told["over"]) == ("2026-01-05T12:08+00:00", 4, 2)
    assert wx.open(tmp_path / "c.wx").commits == [0, 1]
    expected = ["ann", "ann", "dot", "eve"]
    assert callers(run("scan", tmp_path / "c.wx", "--json")) == expected
    for order in (files, files[::-1]):
        again = run("append", tmp_path / "c.wx", *order, *instant)
        assert again.stdout.startswith(", ".join(map(str, order)) + ": as of 2026-01-05T12:08")
        assert again.stdout.endswith(": already there\n")
    assert callers(run("scan", tmp_path / "c.wx", "--json")) == expected


def test_a_file_that_does_not_fit_is_named_and_nothing_of_the_others_is_appended(
    run, mine, tmp_path
):
    before = wx.open(mine).describe()
    good = write(tmp_path / "good.parquet", [call("zoe", 9, 12)])
    bad = tmp_path / "bad.parquet"
    pq.write_table(table_of([call("yve", 9, 12)]).drop_columns("line"), bad)
    for files in ([good, bad], [bad, good], [good, tmp_path / "missing.parquet"]):
        result = run("append", mine, *files)
        assert (result.exit_code, result.stdout) == (1, "")
        assert str(bad if bad in files else files[1]) in result.stderr
    assert wx.open(mine).describe() == before


def test_rows_without_a_key_are_counted_over_all_files(run, tmp_path):
    create(tmp_path / "c.wx", nulls="skip")
    whole = write(tmp_path / "whole.parquet", [call("ann", 1, 9), call(None, 2, 9)])
    none = write(tmp_path / "none.parquet", [call(None, 3, 9)])
    result = run("append", tmp_path / "c.wx", none)
    assert result.stdout.endswith("no --now to refresh at, 1 skipped without a key\n")
    (told,) = lines(run("append", tmp_path / "c.wx", whole, none, "--json"))
    assert (told["now"], told["rows"], told["null_keys"]) == ("2026-01-05T12:01+00:00", 1, 2)


def test_append_takes_the_instant_that_is_given(run, tmp_path):
    create(tmp_path / "c.wx")
    file = write(tmp_path / "calls.parquet", CALLS[2])
    told = lines(
        run("append", tmp_path / "c.wx", file, "--now", "2026-01-05T12:05+00:00", "--json")
    )
    assert [(row["now"], row["rows"], row["over"]) for row in told] == [
        ("2026-01-05T12:05+00:00", 2, 1)
    ]
    empty = write(tmp_path / "empty.parquet", [])
    assert "no rows" in run("append", tmp_path / "c.wx", empty, "--now", "2026-01-05T12:06").stdout
    assert wx.open(tmp_path / "c.wx").describe()["now_at"] == "2026-01-05T12:06+00:00"


def test_append_reads_text_in_the_types_of_the_index(run, tmp_path):
    create(tmp_path / "c.wx")
    text = "caller,begun,until,line\nann,2026-01-05T12:01:00Z,2026-01-05T12:17:00Z,1\n"
    (tmp_path / "calls.csv").write_text(text)
    result = run("append", tmp_path / "c.wx", tmp_path / "calls.csv")
    assert "as of 2026-01-05T12:01+00:00, the last insertion" in result.stdout


def test_append_without_rows_needs_an_instant(run, tmp_path):
    create(tmp_path / "c.wx")
    empty = write(tmp_path / "empty.parquet", [])
    result = run("append", tmp_path / "c.wx", empty)
    assert result.stdout.endswith("no rows to insert, and no --now to refresh at\n")
    assert wx.open(tmp_path / "c.wx").describe()["now"] is None


def test_rows_that_came_before_are_not_taken_for_late_ones(run, mine, tmp_path):
    """A file that is older than the index may have been appended already.

    So late rows come with an instant.
    """
    late = write(tmp_path / "late.parquet", [call("zoe", 5, 20)])
    refused = run("append", mine, late)
    assert refused.exit_code == 1
    assert refused.stderr == (
        "The index was refreshed at 2026-01-05T12:08+00:00, and 2026-01-05T12:05+00:00 is before "
        "that. Give an instant that is not earlier; rows that come late may come with it.\n"
    )
    assert run("append", mine, late, "--now", "2026-01-05T12:09").exit_code == 0
    assert callers(run("probe", mine, "zoe", "--json")) == ["zoe"]


def test_append_says_what_is_wrong_with_a_file(run, mine, tmp_path):
    for rows, why in [
        ([call("zoe", 9, 40)], "live longer than max_lifetime"),
        ([call("zoe", 9, 8)], "end before they begin"),
    ]:
        result = run("append", mine, write(tmp_path / "bad.parquet", rows))
        assert (result.exit_code, result.stdout) == (1, "")
        assert why in result.stderr
    future = run(
        "append",
        mine,
        write(tmp_path / "f.parquet", [call("zoe", 12, 20)]),
        "--now",
        "2026-01-05T12:10",
    )
    assert (
        "inserted at 2026-01-05T12:12+00:00, "
        "after the instant of the refresh, 2026-01-05T12:10+00:00"
    ) in future.stderr
    pq.write_table(table_of([call("zoe", 9, 12)]).drop_columns("begun"), tmp_path / "no.parquet")
    missing = run("append", mine, tmp_path / "no.parquet")
    assert missing.exit_code == 1
    assert "lacks 'begun'" in missing.stderr
    assert callers(run("scan", mine, "--json")) == [who for who, _ in living(8)]


def test_append_counts_rows_where_windows_are_counted(run, tmp_path):
    schema = pa.schema([("k", pa.string()), ("at", pa.int64()), ("left", pa.int64())])
    wx.LifetimeIndex.create(
        tmp_path / "n.wx", schema, key="k", inserted="at", counts={"left": 10}, max_lifetime=8,
        refresh=2, grid=(2, 2), method="count-rebuild",
    )  # fmt: skip
    pq.write_table(
        pa.table({"k": ["a", "b"], "at": [2, 2], "left": [1, 6]}, schema), tmp_path / "f.parquet"
    )
    asked = ("append", tmp_path / "n.wx", tmp_path / "f.parquet", "--now", 2)
    needed = run(*asked)
    assert needed.exit_code == 2
    assert "--arrived left=N" in plain(needed.stderr)
    assert run(*asked, "--arrived", "left=many").exit_code == 2
    assert run(*asked, "--arrived", "left=6").exit_code == 0
    rows = lines(run("scan", tmp_path / "n.wx", "--shorten", "left=5", "--json"))
    assert [row["k"] for row in rows] == ["b"]
    assert run("scan", tmp_path / "n.wx", "--shorten", "left=5 minutes").exit_code == 2
    alike = run("scan", tmp_path / "n.wx", "--shorten", "5")
    assert (alike.exit_code, "by how many rows each of 'left'" in alike.stderr) == (1, True)
    assert "leaves a window of 10 rows by left" in plain(run("inspect", tmp_path / "n.wx").stdout)


# -- inspect, verify, vacuum -------------------------------------------------------------------


def test_inspect_draws_the_grid(run, calls):
    text = run("inspect", calls).stdout
    said = re.sub(r" +", " ", text)
    for fact in (
        "key caller",
        "inserted begun",
        "ends until",
        "method rebuild (round-robin, round-robin)",
        "lifetimes up to 8 refreshes of 2 minutes",
        "grid 2x2, 2 shards each",
        f"rows {len(living(8))} held",
        "now 2026-01-05T12:08+00:00",
        "refresh 2026-01-05 12:08 was the last",
        "commit 4, written at 20",
        "* written by commit 4, the last that changed the grid",
    ):
        assert fact in said
    about = wx.open(calls).describe()
    for name, sub in about["sub_indexes"].items():
        mark = "*" if sub["commit"] == 4 else " "
        assert f"{name}{mark}" in text
        assert f"{sub['rows']} row" in text
    # One line of cells for each partition of births.
    grid = [line for line in text.splitlines() if line.startswith("│") and "I" in line]
    assert [re.findall(r"I\d", line) for line in grid] == [["I1", "I2"], ["I3", "I4"]]


def test_inspect_shows_the_delta_what_is_hidden_and_what_drains(run, mine):
    life = wx.open(mine)
    life.update(minute(9), table_of([call("zoe", 9, 20)]))
    life.retract(minute(9), table_of([CALLS[2][0]]))
    text = run("inspect", mine).stdout
    assert "1 of them hidden" in text
    assert "1 hidden" in text
    assert re.search(r"open: 1 row, [\d.]+ kB, waiting for the next refresh", text)
    assert run("migrate", mine, "--grid", "4x2", "--drain").exit_code == 0
    life.update(minute(10), table_of([call("yve", 10, 20)]))
    text = run("inspect", mine).stdout
    assert re.search(r"O1: \d rows?, ", text)
    assert "draining" in text
    assert "I8" in text


def test_inspect_as_json_is_what_describe_returns(run, calls):
    assert json.loads(run("inspect", calls, "--json").stdout) == wx.open(calls).describe()


def test_a_new_lifetime_index_can_be_inspected(run, tmp_path):
    create(tmp_path / "new.wx")
    assert "Nothing was inserted yet." in run("inspect", tmp_path / "new.wx").stdout
    assert run("verify", tmp_path / "new.wx").stdout.startswith("ok: 0 rows")


def test_a_wide_grid_is_cut_to_the_terminal_and_says_so(run, tmp_path):
    fill(tmp_path / "wide.wx", grid=(8, 8))
    whole = run("inspect", tmp_path / "wide.wx").stdout
    assert "I64" in whole
    cut = run("inspect", tmp_path / "wide.wx", COLUMNS="60").stdout
    assert max(map(len, cut.splitlines()[1:])) <= 60
    assert "not shown: 6 columns" in cut


def test_verify_counts_what_is_held(run, mine):
    result = run("verify", mine)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("ok: 7 rows of which 0 are hidden in 4 sub-indexes, ")
    wx.open(mine).retract(minute(8), table_of([CALLS[2][0]]))
    told = json.loads(run("verify", mine, "--json").stdout)
    assert (told["ok"], told["rows"], told["rows_hidden"]) == (True, 7, 1)


def test_verify_names_a_damaged_file(run, mine):
    name = wx.open(mine).files()[0]
    with open(name, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    result = run("verify", mine)
    assert result.exit_code == 1
    assert name.rsplit("/", 1)[1] in result.stdout
    assert result.stderr.startswith("The index is damaged")


def test_vacuum_removes_old_commits_and_keeps_the_rows(run, mine):
    before = callers(run("scan", mine, "--json"))
    removed = json.loads(run("vacuum", mine, "--json").stdout)["removed"]
    assert any(name.startswith("log/") for name in removed)
    assert callers(run("scan", mine, "--json")) == before


# -- erase and migrate -------------------------------------------------------------------------


def test_erase_forgets_hidden_rows_too(run, mine):
    wx.open(mine).retract(minute(8), table_of([CALLS[2][0]]))
    asked = run("erase", mine, "ann")
    assert asked.exit_code == 1
    assert "Erase 2 rows for good?" in asked.stderr
    done = run("erase", mine, "ann", "nobody", "--yes")
    assert done.stdout.startswith("2 rows erased, commit ")
    assert not any(b"ann" in file.read_bytes() for file in (mine / "data").iterdir())
    assert run("verify", mine).exit_code == 0


def test_migrate_changes_method_grid_and_partition(run, mine):
    before = callers(run("scan", mine, "--json"))
    result = run("migrate", mine, "--method", "no-rebuild", "--grid", "2x4")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "grid 2x4, method no-rebuild" in result.stdout
    told = json.loads(
        run("migrate", mine, "--method", "rebuild", "--partition", "random,chronological",
            "--shards", 3, "--format", "parquet", "--json").stdout
    )  # fmt: skip
    assert told["changed"]["partition"] == ["random", "chronological"]
    assert (told["changed"]["shards"], told["changed"]["format"]) == (3, "parquet")
    assert callers(run("scan", mine, "--json")) == before
    same = run("migrate", mine, "--grid", "2 x 4")
    assert same.stdout == "nothing to change: the index is kept so already\n"
    wx.open(mine).verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--grid", "1x3"], 1, "rows is 1"),
        (["--grid", "two"], 2, "is not rows x columns"),
        (["--partition", "random"], 2, "is not BIRTHS,DEATHS"),
        (["--partition", "random,rounds"], 1, "there is no partition 'rounds'"),
        (["--method", "fast"], 1, "there is no method 'fast'"),
        (["--method", "count-rebuild"], 1, "Choose a method of the same sort"),
        (["--shards", "3", "--drain"], 1, "changes where every key lies"),
        (["--method", "no-rebuild", "--format", "parquet"], 1, "chained"),
        (["--scheme", "rata"], 2, "--scheme goes with wave indexes, and this is a lifetime index."),
        (["--indexes", "3"], 2, "--indexes goes with wave indexes"),
        (["--window", "3"], 2, "--window goes with wave indexes"),
        (["--update", "runs"], 2, "--update goes with wave indexes"),
        (["--max-size", "3"], 2, "--max-size goes with wave indexes"),
    ],
)  # fmt: skip
def test_migrate_refuses_what_cannot_be(run, mine, options, code, why):
    before = wx.open(mine).describe()
    result = run("migrate", mine, *options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert why in plain(result.stderr)
    assert wx.open(mine).describe() == before


# -- options of the other kind -----------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        ("probe", "ann", "--shorten", "1 day"),
        ("scan", "--shorten", "1 day"),
        ("migrate", "--method", "rebuild"),
        ("migrate", "--grid", "2x2"),
        ("migrate", "--partition", "random,random"),
        ("append", "file.csv", "--now", "2026-01-05"),
        ("append", "file.csv", "--arrived", "x=3"),
    ],
)
def test_a_wave_index_refuses_the_options_of_lifetimes_by_name(run, sales, asked):
    command, *rest = asked
    result = run(command, sales, *rest)
    assert (result.exit_code, result.stdout) == (2, "")
    option = next(word for word in rest if word.startswith("--"))
    assert f"{option} goes with lifetime indexes, and this is a wave index." in plain(result.stderr)


def test_a_lifetime_index_refuses_the_options_of_waves_by_name(run, mine, tmp_path):
    file = write(tmp_path / "f.parquet", [call("zoe", 9, 20)])
    for options, why in [
        (["--slot", "3"], "--slot goes with wave indexes, and this is a lifetime index."),
        (["--arrived", "line=3"], "--arrived goes with counted windows, and this index has none."),
        (["--arrived", "line"], "--arrived goes with counted windows"),
    ]:
        result = run("append", mine, file, *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert why in plain(result.stderr)
    assert run("append", mine, file, "--now", "noon").exit_code == 1


def test_schema_of_the_rows_is_that_of_the_index(run, calls):
    raw = run("scan", calls, "--format", "arrow").stdout_bytes
    assert pa.ipc.open_stream(raw).read_all().schema == SCHEMA
