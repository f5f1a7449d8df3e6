import gzip
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx
from kit.cli_sales import SCHEMA, noon, rows_of, slot_of, table_of

CSV = """user,at,amount,price,tag
007,2026-01-01T13:00:00+01:00,1,0.25,ff
ann,2026-01-02 12:00:00Z,2,,
"""
JSONL = """{"user": "007", "at": "2026-01-01T12:00:00Z", "amount": 1, "price": "0.25", "tag": "ff"}
{"user": "ann", "at": "2026-01-02T12:00:00Z", "amount": 2, "price": null, "tag": null}
"""
TWO = [
    {"user": "007", "at": noon(1), "amount": 1, "price": Decimal("0.25"), "tag": b"\xff"},
    {"user": "ann", "at": noon(2), "amount": 2, "price": None, "tag": None},
]


def write(path, text):
    packed = path.suffix == ".gz"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return path


def held(path):
    return wx.open(path).scan().read_all().sort_by("at").to_pylist()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", CSV),
        ("rows.csv.gz", CSV),
        ("ROWS.CSV", CSV),
        ("rows.jsonl", JSONL),
        ("rows.ndjson", JSONL),
        ("rows.json", JSONL),
        ("rows.v2.jsonl.gz", JSONL),
    ],
)
def test_text_takes_the_types_of_the_index(run, empty, tmp_path, name, text):
    file = write(tmp_path / name, text)
    result = run("append", empty, file)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{file}: 2 slots (2026-01-01 to 2026-01-02), 2 rows\n"
    assert result.stderr == ""
    assert held(empty) == TWO


def test_parquet_files_are_appended_one_after_the_other(run, empty, tmp_path):
    files = []
    for day in (1, 2):
        folder = tmp_path / f"day={day}"  # no column of the file, whatever the folder is called
        folder.mkdir()
        files.append(folder / "rows.parquet")
        pq.write_table(table_of(day), files[-1])
    result = run("append", empty, *files, "--json")
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["file"] == str(files[0])
    assert (first["slots"], first["rows"]) == ([slot_of(1)], 2)
    assert (second["slots"], second["rows"]) == ([slot_of(2)], 3)
    assert first["already_there"] is False
    assert len(held(empty)) == 5


def test_a_file_that_was_appended_before_is_passed_over(run, empty, tmp_path):
    file = write(tmp_path / "rows.csv", CSV)
    run("append", empty, file)
    again = run("append", empty, file)
    assert (again.exit_code, again.stdout) == (0, f"{file}: already there\n")
    assert json.loads(run("append", empty, file, "--json").stdout)["already_there"] is True
    assert held(empty) == TWO


def test_skipped_late_and_expired_rows_are_counted(run, tmp_path):
    index = tmp_path / "i.wx"
    wx.WaveIndex.create(
        index, SCHEMA, key="user", time="at", window=2, indexes=2, nulls="skip", late="drop"
    )
    file = write(tmp_path / "a.csv", CSV + ",2026-01-02 12:00:00Z,3,,\n")
    assert "2 rows, 1 skipped without a key" in run("append", index, file).stdout
    pq.write_table(table_of(4), tmp_path / "b.parquet")
    run("append", index, tmp_path / "b.parquet")
    pq.write_table(table_of(1), tmp_path / "c.parquet")
    late = run("append", index, tmp_path / "c.parquet").stdout
    assert late == f"{tmp_path / 'c.parquet'}: no rows to append, 2 late and dropped\n"
    pq.write_table(table_of(5, 6, 7), tmp_path / "d.parquet")
    done = run("append", index, tmp_path / "d.parquet").stdout
    assert "3 slots (2026-01-05 to 2026-01-07), " in done
    assert "already expired" in done


def test_a_slot_is_named_where_the_rows_have_no_time(run, tmp_path):
    schema = pa.schema([("k", pa.string()), ("v", pa.int8())])
    wx.WaveIndex.create(tmp_path / "i.wx", schema, key="k", window=2, indexes=2)
    file = write(tmp_path / "a.csv", "k,v\na,1\n")
    refused = run("append", tmp_path / "i.wx", file)
    assert refused.exit_code == 1
    assert "slot=N" in refused.stderr
    assert "1 slot (17), 1 row\n" in run("append", tmp_path / "i.wx", file, "--slot", "17").stdout
    assert wx.open(tmp_path / "i.wx").slots == [16, 17]


def test_null_is_what_the_option_says_and_quotes_make_it_a_text(run, tmp_path):
    schema = pa.schema([("k", pa.string()), ("v", pa.string()), ("n", pa.int64())])
    text = 'k,v,n\na,NA,NA\nb,"NA",1\nc,,2\n'
    for null, expected in (("NA", [None, "NA", ""]), ("", ["NA", "NA", None])):
        index = tmp_path / f"i{null}.wx"
        wx.WaveIndex.create(index, schema, key="k", window=2, indexes=2)
        rows = text if null else text.replace("NA,NA", "NA,")
        file = write(tmp_path / f"a{null}.csv", rows)
        result = run("append", index, file, "--slot", "1", *(["--null", null] if null else []))
        assert result.exit_code == 0, result.stderr
        found = wx.open(index).scan().read_all().sort_by("k").to_pydict()
        assert (found["v"], found["n"]) == (expected, [None, 1, 2])


def test_values_may_have_line_breaks_and_other_columns_may_be_dropped(run, tmp_path):
    schema = pa.schema([("k", pa.string()), ("v", pa.string()), ("extra", pa.int64())])
    wx.WaveIndex.create(tmp_path / "i.wx", schema, key="k", window=2, indexes=2, include=["v"])
    file = write(tmp_path / "a.csv", 'k,v,extra\na,"one\ntwo",5\n')
    assert run("append", tmp_path / "i.wx", file, "--slot", "1").exit_code == 0
    assert wx.open(tmp_path / "i.wx").probe("a").to_pylist() == [{"k": "a", "v": "one\ntwo"}]


def test_unusual_types_are_read_from_text(run, tmp_path):
    schema = pa.schema(
        [
            ("k", pa.dictionary(pa.int8(), pa.string())),
            ("day", pa.date64()),
            ("hour", pa.time32("s")),
            ("took", pa.duration("ms")),
            ("digest", pa.binary(2)),
            ("wall", pa.timestamp("ns")),
        ]
    )
    plain = pa.schema([pa.field("id", pa.int64()), *schema])
    files = {
        "a.csv": "id,k,day,hour,took,digest,wall\n"
        "1,a,2026-01-02,12:30:00,5,00ff,2026-01-02T03:04:05.000000006\n",
        "a.jsonl": '{"id": 1, "k": "a", "day": "2026-01-02", "hour": "12:30:00", "took": 5, '
        '"digest": "00ff", "wall": "2026-01-02T03:04:05.000000006"}\n',
    }
    answers = []
    for name, text in files.items():
        index = tmp_path / f"{name}.wx"
        wx.WaveIndex.create(index, plain, key="id", window=2, indexes=2)
        result = run("append", index, write(tmp_path / name, text), "--slot", "1")
        assert result.exit_code == 0, result.stderr
        answers.append(run("scan", index, "--json").stdout)
    assert answers[0] == answers[1]
    assert json.loads(answers[0]) == {
        "id": 1,
        "k": "a",
        "day": "2026-01-02",
        "hour": "12:30:00",
        "took": 5,
        "digest": "00ff",
        "wall": "2026-01-02T03:04:05.000000006",
    }


BAD = {
    "rows.txt": (CSV, "Cannot tell what"),
    "rows": (CSV, "Cannot tell what"),
    "rows.parquet.gz": ("x", "Cannot tell what"),
    "rows.parquet": ("not parquet", "Cannot read"),
    "empty.csv": ("", "Cannot read"),
    "empty.jsonl": ("", "Cannot read"),
    "ragged.csv": ("user,at\nann\n", "Cannot read"),
    "number.csv": (CSV.replace("007,", "007,x"), "Cannot read"),
    "soon.csv": (CSV.replace("2026-01-01T13:00:00+01:00", "soon"), "'at' is no timestamp"),
    "soon.jsonl": (JSONL.replace("2026-01-01T12:00:00Z", "soon"), "'at' is no timestamp"),
    "array.json": ("[" + JSONL.splitlines()[0] + "]", "Cannot read"),
    "hex.csv": (CSV.replace(",ff", ",fg"), "'tag' is no binary"),
    "missing.csv": ("user,at,amount\nann,2026-01-01 12:00:00Z,1\n", "lacks 'price', 'tag'"),
    "missing.jsonl": (
        JSONL.replace(', "price": "0.25"', "").replace(', "price": null', ""),
        "lacks 'price'",
    ),
    "more.csv": (
        CSV.replace("tag\n", "tag,more\n").replace("ff\n", "ff,1\n").replace(",,\n", ",,,2\n"),
        "'more'",
    ),
    "gone.csv.gz": (None, "not there"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_of_it_is_appended(
    run, empty, tmp_path, name
):
    text, said = BAD[name]
    if text is not None:
        write(tmp_path / name, text)
    result = run("append", empty, tmp_path / name)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert held(empty) == []


def test_a_damaged_archive_and_a_folder_are_refused(run, empty, tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(CSV.encode())[:-12])
    (tmp_path / "b.csv").mkdir()
    assert "Cannot read" in run("append", empty, tmp_path / "a.csv.gz").stderr
    assert "no file" in run("append", empty, tmp_path / "b.csv").stderr
    assert held(empty) == []


def test_files_before_one_that_fails_stay_appended(run, empty, tmp_path):
    good = write(tmp_path / "good.csv", CSV)
    result = run("append", empty, good, tmp_path / "gone.csv")
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{good}: 2 slots")
    assert "gone.csv is not there" in result.stderr
    assert held(empty) == TWO


def test_rows_that_the_index_refuses_are_refused_with_its_message(run, empty, tmp_path):
    pq.write_table(table_of(3), tmp_path / "a.parquet")
    run("append", empty, tmp_path / "a.parquet")
    other = pa.Table.from_pylist(rows_of(3)[:1], SCHEMA)
    pq.write_table(other, tmp_path / "b.parquet")
    result = run("append", empty, tmp_path / "b.parquet")
    assert result.exit_code == 1
    assert "was appended before with other rows" in result.stderr


def test_a_file_of_a_header_alone_brings_no_rows(run, empty, tmp_path):
    file = write(tmp_path / "a.csv", CSV.splitlines()[0] + "\n")
    assert run("append", empty, file).stdout == f"{file}: no rows to append\n"
