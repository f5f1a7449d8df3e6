import json
from pathlib import Path

import wavedex as wx


def rows_files(path):
    return [name for name in wx.open(path).files() if "data" in name]


def test_verify_counts_what_it_found_in_order(run, sales):
    result = run("verify", sales)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("ok: 30 rows of 5 slots in 3 sub-indexes, ")
    told = json.loads(run("verify", sales, "--json").stdout)
    assert (told["ok"], told["findings"], told["rows"], told["slots"]) == (True, [], 30, 5)


def test_verify_names_every_damaged_file_and_fails(run, filled):
    damaged = rows_files(filled)[:2]
    for name in damaged:
        content = bytearray(Path(name).read_bytes())
        content[-1] ^= 0xFF
        Path(name).write_bytes(content)
    result = run("verify", filled)
    assert result.exit_code == 1
    assert "ok" not in result.stdout.split()
    for name in damaged:
        short = name.rsplit("/", 1)[1]
        assert short in result.stdout
        assert short in result.stderr
    assert result.stderr.startswith("The index is damaged")
    told = json.loads(run("verify", filled, "--json").stdout)
    assert told["ok"] is False
    assert len(told["findings"]) >= 2


def test_a_missing_file_is_damage_for_every_command(run, filled):
    missing = rows_files(filled)[0]
    (filled / missing).unlink()
    for command in (["verify"], ["scan"], ["verify", "--json"]):
        result = run(command[0], filled, *command[1:])
        assert result.exit_code == 1
        assert missing.rsplit("/", 1)[1] in result.stderr


def test_a_damaged_definition_is_found_too(run, filled):
    (filled / "index.json").write_text("{")
    result = run("verify", filled, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["ok"] is False


def test_vacuum_removes_old_commits_and_keeps_the_rows(run, filled):
    before = wx.open(filled).scan().read_all()
    kept = run("vacuum", filled, "--keep", "2")
    assert (kept.exit_code, kept.stdout) == (0, "0 files removed\n")
    removed = json.loads(run("vacuum", filled, "--json").stdout)["removed"]
    assert any(name.startswith("log/") for name in removed)
    assert not any((filled / name).exists() for name in removed)
    assert wx.open(filled).scan().read_all() == before
    assert run("vacuum", filled, "--keep", "0").exit_code == 2
