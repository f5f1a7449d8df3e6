"""Times without a zone in files and options are local to the zone of the index.

Or to --zone, where a file says nothing.
"""

import datetime as dt
import json
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wavedex as wx

KINDS = ["wave", "lifetime"]
ZONES = ["Asia/Kolkata", "America/New_York"]
INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
CSV = """k,at,over
early,2026-06-10T09:00:00,2026-06-11 09:00
late,2026-06-10 11:00:00.5,2026-06-11 11:00:00
"""
JSONL = """{"k": "early", "at": "2026-06-10T09:00:00", "over": "2026-06-11T09:00:00"}
{"k": "late", "at": "2026-06-10T11:00:00.5", "over": "2026-06-11T11:00:00"}
"""


def create(path, kind, zone, time=INSTANT):
    schema = pa.schema([("k", pa.string()), ("at", time), ("over", time)])
    if kind == "wave":
        return wx.WaveIndex.create(
            path, schema, key="k", time="at", slot="1 hour", window=48, indexes=2, zone=zone
        )
    return wx.LifetimeIndex.create(
        path, schema, key="k", inserted="at", expires="over", max_lifetime="2 days",
        refresh="1 hour", zone=zone,
    )  # fmt: skip


def write(folder, name):
    path = folder / name
    if path.suffix == ".parquet":
        columns = [["early", "late"]]
        for day in (10, 11):
            hours = [dt.datetime(2026, 6, day, 9), dt.datetime(2026, 6, day, 11)]
            columns.append(pa.array(hours, LOCAL))
        pq.write_table(pa.table(columns, names=["k", "at", "over"]), path)
    else:
        path.write_text(CSV if path.suffix == ".csv" else JSONL)
    return path


def beginning(path):
    return wx.open(path).probe("early").column("at").to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet"])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", KINDS)
def test_times_in_files_are_local_to_the_index_or_to_the_zone_that_is_said(
    run, tmp_path, kind, zone, name
):
    file = write(tmp_path, name)
    nine = dt.datetime(2026, 6, 10, 9)
    for own, said in ((zone, None), ("UTC", zone), ("Europe/Berlin", zone)):
        path = tmp_path / f"{own.replace('/', '-')}.wx"
        create(path, kind, own)
        result = run("append", path, file, *(["--zone", said] if said else []))
        assert result.exit_code == 0, result.stderr
        assert beginning(path) == [nine.replace(tzinfo=ZoneInfo(zone))]
    # A column without a zone is local to the zone of the index, whatever the zone of the file is.
    path = tmp_path / "local.wx"
    create(path, kind, "UTC", LOCAL)
    assert run("append", path, file, "--zone", zone).exit_code == 0
    instant = nine.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
    assert beginning(path) == [instant.replace(tzinfo=None)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_that_names_its_zone_means_its_instant_beside_others_that_do_not(
    run, tmp_path, kind
):
    create(tmp_path / "x.wx", kind, "Asia/Kolkata")
    file = tmp_path / "mixed.csv"
    file.write_text(
        "k,at,over\nearly,2026-06-10T09:00:00Z,2026-06-11T09:00:00+00:00\n"
        "b,2026-06-10T12:00:00,2026-06-11T12:00:00\nc,2026-06-10 09:00-0200,2026-06-11\n"
    )
    assert run("append", tmp_path / "x.wx", file).exit_code == 0
    found = wx.open(tmp_path / "x.wx").scan().read_all().sort_by("k").to_pylist()
    utc = [row["at"].astimezone(dt.UTC).strftime("%H:%M") for row in found]
    assert utc == ["06:30", "11:00", "09:00"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", KINDS)
def test_since_until_and_now_are_local_to_the_index(run, tmp_path, kind, zone):
    path = tmp_path / "x.wx"
    create(path, kind, zone)
    now = ["--now", "2026-06-10T12:00"] if kind == "lifetime" else []
    result = run("append", path, write(tmp_path, "rows.csv"), *now, "--json")
    assert result.exit_code == 0, result.stderr
    if now:
        noon = dt.datetime(2026, 6, 10, 12, tzinfo=ZoneInfo(zone))
        assert dt.datetime.fromisoformat(json.loads(result.stdout)["now"]) == noon

    def asked(*options):
        lines = run("scan", path, "--json", *options).stdout.splitlines()
        return sorted(json.loads(line)["k"] for line in lines)

    assert asked("--since", "2026-06-10T10:00") == ["late"]
    assert asked("--until", "2026-06-10T10:00") == ["early"]
    assert asked("--since", "2026-06-10", "--until", "2026-06-10") == ["early", "late"]


@pytest.mark.parametrize("kind", KINDS)
def test_local_times_that_a_zone_skipped_and_zones_that_there_are_not_are_refused(
    run, tmp_path, kind
):
    path = tmp_path / "x.wx"
    create(path, kind, "UTC")
    file = tmp_path / "spring.csv"
    file.write_text("k,at,over\na,2026-03-08T02:30:00,2026-03-09T02:30:00\n")
    result = run("append", path, file, "--zone", "America/New_York")
    assert result.exit_code == 1
    assert "Give that column a zone" in result.stderr
    assert "spring.csv: Column 'at'" in result.stderr
    assert "--zone" in result.stderr
    result = run("append", path, file, "--zone", "New York")
    assert result.exit_code == 1
    assert "There is no zone 'New York'" in result.stderr
    assert wx.open(path).scan().read_all().num_rows == 0
