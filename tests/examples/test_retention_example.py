"""The example of retention runs, and its numbers are those that the contracts give."""

from __future__ import annotations

import datetime as dt
import runpy
from pathlib import Path

import pytest

from kit.paths import ROOT
from wavedex.errors import LifetimeTooLong, RowNotThere

EXAMPLE = ROOT / "examples" / "retention.py"
KEPT = {"acme": 140, "bolt": 600, "dune": 600, "echo": 1_800, "foxtrot": 1_800, "gale": 600}


@pytest.fixture(scope="module")
def retention():
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def told(retention, tmp_path_factory):
    """The index after the story, what was said meanwhile, and what was done to its files."""
    life = retention["build"](tmp_path_factory.mktemp("retention") / "events.wx")
    said: list[str] = []
    changes = retention["story"](life, said.append)
    return life, said, {change.what: change for change in changes}


def rows_of(retention, tenant, days, now):
    """How many events of some days are still to be kept, plainly."""
    some = (row for day in days for row in retention["events"](day).to_pylist())
    return sum(row["tenant"] == tenant and row["until"] > now for row in some)


def test_every_tenant_keeps_what_its_contract_says(retention, told):
    _, said, _ = told
    assert said[0] == f"after 120 days: {KEPT}"
    for tenant, days in retention["CONTRACTS"].items():
        assert KEPT[tenant] == 20 * days
        assert KEPT[tenant] == rows_of(retention, tenant, range(120), retention["midnight"](120))


def test_a_hold_writes_nothing_of_others_and_lasts(retention, told):
    _, said, changes = told
    hold = changes["hold acme for 60 days"]
    assert (hold.rows, len(hold.written), hold.shards) == (140, 6, {"00003"})
    assert hold.stayed == hold.before == 30, "no file was written anew"
    assert said[1] == f"ten days later: {KEPT | {'acme': 280}}"


def test_who_leaves_is_gone_at_once_and_for_good(retention, told):
    life, said, changes = told
    left = changes["retract dune"]
    assert (left.rows, len(left.written), left.shards) == (600, 4, {"00006"})
    assert left.stayed == left.before == 32
    assert "'dune'" not in said[2]
    erased = changes["erase dune"]
    assert (len(erased.written), erased.before - erased.stayed) == (0, 10), "a shard of its own"
    erased = changes["erase gale"]
    assert (erased.rows, len(erased.written), erased.shards) == (600, 6, {"00001"})
    assert erased.before - erased.stayed == 6, "what it shares with bolt is written without it"
    data = Path(life.path) / "data"
    everything = b"".join(file.read_bytes() for file in data.iterdir())
    assert b"bolt did" in everything
    assert b"dune did" not in everything
    assert b"gale did" not in everything


def test_a_day_writes_a_part_of_the_grid(told):
    day = told[2]["an ordinary day"]
    assert day.rows == 80
    assert (len(day.written), day.stayed, day.before) == (10, 16, 26)


def test_a_hold_ends_and_who_left_may_come_again(retention, told, tmp_path):
    life = retention["build"](tmp_path / "short.wx", days=10)
    now = retention["midnight"](10)
    with pytest.raises(LifetimeTooLong):
        retention["hold"](life, now, "acme", 91)
    retention["hold"](life, now, "acme", 12)
    retention["leave"](life, now, "dune")
    with pytest.raises(RowNotThere):
        life.retract(now, retention["events"](9))
    retention["go_on"](life, 10, 21)
    assert retention["kept"](life)["acme"] == 140 + 140
    assert retention["kept"](life)["dune"] == 11 * 20
    retention["go_on"](life, 21, 22)
    assert retention["kept"](life)["acme"] == 140
    life.verify()


def test_a_hold_keeps_the_rest_of_a_row(retention, tmp_path):
    life = retention["build"](tmp_path / "held.wx", days=8)
    before = life.probe("acme").sort_by("event")
    now = retention["midnight"](8)
    retention["hold"](life, now, "acme", 30)
    after = life.probe("acme").sort_by("event")
    assert after.drop_columns("until").equals(before.drop_columns("until"))
    assert set(after["until"].to_pylist()) == {now + dt.timedelta(days=30)}


def test_the_example_tells_the_story(retention, tmp_path, capsys):
    retention["main"](["--folder", str(tmp_path)])
    said = capsys.readouterr().out
    assert f"after 120 days: {KEPT}" in said
    for what in ("hold acme for 60 days", "retract dune", "erase gale", "an ordinary day"):
        assert what in said
    assert (tmp_path / "events.wx" / "index.json").exists()
