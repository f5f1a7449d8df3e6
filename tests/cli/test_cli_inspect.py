import json
import re

import pyarrow as pa
import pytest

import wavedex as wx
from kit.cli_sales import SCHEMA, table_of
from wavedex.show.signs import BLOCKS, axis, bar
from wavedex.show.wave import WavePicture


def test_inspect_says_what_the_index_is(run, sales):
    result = run("inspect", sales)
    assert result.exit_code == 0
    text = re.sub(r" +", " ", result.stdout)
    assert text.startswith(f"{sales}\n")
    for fact in (
        "key user",
        "time at",
        "scheme wata (soft: up to 1 expired slots are still held)",
        "update runs",
        "window 5 slots in 3 sub-indexes",
        "rows 30",
        "kB",
        f"commit {wx.open(sales).describe()['commit']}, written at 20",
    ):
        assert fact in text


def test_the_wave_has_a_line_for_each_sub_index_and_a_column_for_each_slot(run, sales):
    output = run("inspect", sales).stdout.splitlines()
    start = next(at for at, line in enumerate(output) if line.startswith("I1"))
    assert output[start - 1].strip() == "2026-01-02 to 2026-01-07"
    layout = wx.open(sales).sub_indexes
    first = min(min(slots) for slots in layout.values())
    for name, line in zip(layout, output[start:], strict=False):
        bar = line[4:10]
        held = {first + at for at, sign in enumerate(bar) if sign != " "}
        assert line.startswith(name)
        assert held == set(layout[name])
        assert line.rstrip().endswith("kB")
        assert " rows" in line
    signs = "".join(sorted(sign for line in output[start : start + 3] for sign in line[4:10]))
    assert (
        signs.strip()[-1] == "▒"
    )  # January 2 has expired, with 3 rows of the 8 that January 7 has
    assert "█" in signs


def test_a_hard_window_with_temporaries_shows_them_below(run, tmp_path):
    wx.WaveIndex.create(
        tmp_path / "r.wx", SCHEMA, key="user", time="at", window=5, indexes=2, scheme="reindex++"
    )
    idx = wx.open(tmp_path / "r.wx")
    for day in range(1, 8):
        idx.append(table_of(day))
    names = list(idx.describe()["temporaries"])
    output = run("inspect", tmp_path / "r.wx").stdout
    assert names
    assert "hard: expired slots are gone" in output
    order = [output.index(f"\n{name} ") for name in ("I1", "I2", *names)]
    assert order == sorted(order)


def test_a_long_window_is_drawn_in_the_columns_that_there_are(run, tmp_path):
    schema = pa.schema([("k", pa.int64()), ("t", pa.int64())])
    idx = wx.WaveIndex.create(
        tmp_path / "long.wx", schema, key="k", time="t", slot=1, window=300, indexes=3
    )
    idx.append(pa.table({"k": range(400), "t": range(400)}, schema=schema))
    result = run("inspect", tmp_path / "long.wx", COLUMNS="60")
    assert max(map(len, result.stdout.splitlines()[1:])) <= 60
    assert "slots a column" in result.stdout


def test_an_index_without_rows_can_be_inspected(run, empty):
    assert "Nothing was appended yet." in run("inspect", empty).stdout


def test_inspect_as_json_is_what_describe_returns(run, sales):
    assert json.loads(run("inspect", sales, "--json").stdout) == wx.open(sales).describe()


@pytest.mark.parametrize("width", [1, 3, 7, 50])
def test_no_slot_is_lost_between_the_columns(width):
    wave = WavePicture(
        range(10, 30), {slot: slot % 5 for slot in range(8, 30)}, range(8, 30), width
    )
    assert [slot for column in wave.columns for slot in column] == list(range(8, 30))
    assert len(wave.columns) <= width
    assert len(bar(wave, range(8, 20))) == len(wave.columns)


def test_the_height_of_a_block_grows_with_the_rows():
    wave = WavePicture(range(1, 9), {slot: slot for slot in range(1, 9)}, range(1, 9), 80)
    assert bar(wave, range(1, 9)) == BLOCKS


def test_expired_and_empty_slots_have_signs_of_their_own():
    wave = WavePicture(range(3, 5), {1: 3, 3: 3}, range(1, 5), 80)
    assert bar(wave, range(1, 5)) == "▓-█·"
    assert bar(WavePicture(range(1, 2), {}, range(1, 2), 80), [1]) == "·"


def test_the_axis_names_both_ends():
    assert (
        axis(WavePicture(range(30), {}, range(30), 80), "first", "last")
        == "first" + " " * 21 + "last"
    )
    assert axis(WavePicture(range(3), {}, range(3), 80), "first", "last") == "first to last"
    assert axis(WavePicture(range(1), {}, range(1), 80), "5", "5") == "5"


def test_an_index_that_keeps_its_history_says_so_and_is_asked_for_the_past(run, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text(
        "user,at,n\n" + "".join(f"u{day},2026-01-{day:02},{day}\n" for day in range(1, 7))
    )
    path = str(tmp_path / "a.wx")
    created = run(
        "create", path, rows, "--key", "user", "--time", "at", "--window", "3", "--yes",
        "--history", "pph-s",
    )  # fmt: skip
    assert created.exit_code == 0, created.stderr
    assert re.search(r"history +by pph-s, .* beside the rows", run("inspect", path).stdout)
    assert json.loads(run("inspect", path, "--json").stdout)["history"]["method"] == "pph-s"
    found = run("probe", path, "u6", "--as-of", "2026-01-08", "--columns", "n", "--format", "csv")
    assert found.stdout.splitlines() == ['"n"', "6"]
    beside = run("probe", path, "u6", "--as-of", "2026-01-08", "--last", "2")
    assert beside.exit_code == 2
    assert "--as-of" in beside.stderr
    lost = run("probe", path, "u6", "--as-of", "soon")
    assert (lost.exit_code, "soon" in lost.stderr) == (1, True)
    there = run("temporal", "contains", f"{path}/history", "u6", "2026-01-08")
    assert there.stdout.startswith("yes")
