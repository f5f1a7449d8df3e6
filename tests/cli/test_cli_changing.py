"""The commands that change an index or forget what it holds."""

import json

import pytest

import wavedex as wx


def test_migrate_says_what_changed(run, filled):
    rows = wx.open(filled).scan().read_all().num_rows
    result = run("migrate", filled, "--scheme", "rata", "--indexes", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "indexes 2, scheme rata" in result.stdout
    again = run("migrate", filled, "--scheme", "rata")
    assert again.stdout == "nothing to change: the index is kept so already\n"
    told = json.loads(
        run(
            "migrate", filled, "--window", 9, "--update", "packed-shadow", "--format", "parquet",
            "--shards", 3, "--json",
        ).stdout
    )  # fmt: skip
    assert told["changed"] == {
        "window": 9, "update": "packed-shadow", "shards": 3, "format": "parquet",
    }  # fmt: skip
    assert wx.open(filled).scan().read_all().num_rows == rows
    wx.open(filled).verify()


def test_migrate_drains_where_it_is_asked_to_and_inspect_draws_it(run, filled):
    done = run(
        "migrate", filled, "--scheme", "wata-bounded", "--max-size", 50, "--indexes", 2, "--drain"
    )
    assert done.exit_code == 0
    shown = run("inspect", filled).stdout
    assert "wata-bounded" in shown
    assert "O1" in shown
    about = json.loads(run("inspect", filled, "--json").stdout)
    assert set(about["draining"]) == {"O1", "O2", "O3"}
    assert about["promise"]["transition_slots"] >= 1


@pytest.mark.slow
def test_migrate_refuses_what_cannot_be(run, filled):
    result = run("migrate", filled, "--indexes", 17)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "between 2 and 5" in result.stderr


def test_erase_asks_first(run, filled):
    held = wx.open(filled).probe("ann", expired=True).num_rows
    result = run("erase", filled, "ann")
    assert result.exit_code == 1
    assert f"Erase {held} rows for good?" in result.stderr
    assert wx.open(filled).probe("ann", expired=True).num_rows == held


def test_erase_erases(run, filled):
    held = wx.open(filled).scan(expired=True).read_all().num_rows
    doomed = wx.open(filled).probe("ann", expired=True).num_rows
    result = run("erase", filled, "ann", "nobody", "--yes")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{doomed} rows erased, commit ")
    assert wx.open(filled).probe("ann", expired=True).num_rows == 0
    assert wx.open(filled).scan(expired=True).read_all().num_rows == held - doomed
    assert json.loads(run("erase", filled, "bob", "--yes", "--json").stdout)["rows"] > 0


def test_commands_wait_for_another_writer_where_they_are_told_to(run, filled):
    files = wx.open(filled).storage
    commands = [
        ("append", filled, "rows.csv"),
        ("erase", filled, "ann", "--yes"),
        ("vacuum", filled),
        ("migrate", filled, "--window", "4 days"),
    ]
    rows = filled.parent / "rows.csv"
    rows.write_text("user,at,amount,price,tag\nann,2026-01-08T12:00:00Z,1,,\n")
    commands[0] = ("append", filled, rows)
    for command in commands:
        with files.lock("lock"):
            refused = run(*command, "--wait", "0 s")
            assert refused.exit_code == 1
            assert "Another writer is at work" in refused.stderr
        assert run(*command, "--wait", "10 s").exit_code == 0
    assert wx.open(filled).definition.window == 4
    assert run("vacuum", filled, "--wait", "soon").exit_code == 1
