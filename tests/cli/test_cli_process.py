"""The command as a process: exit codes, what stands on which stream, pipes and signals."""

import os
import pty
import signal
import subprocess
import sys
import time
from importlib.metadata import version

import pyarrow as pa
import pytest

import wavedex as wx
from kit.cli_sales import rows_of
from wavedex.cli import commands
from wavedex.cli.rows import RowAnswer

COMMANDS = ["run", "probe", "scan", "inspect", "plan", "append", "verify", "vacuum", "tune"]


def start(*args, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "wavedex", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def finish(*args):
    process = start(*args)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err.decode()


def test_the_version_is_that_of_the_package():
    code, out, err = finish("--version")
    assert (code, out.decode(), err) == (0, f"wavedex {wx.__version__}\n", "")
    assert wx.__version__ == version("wavedex")


def test_an_error_is_its_message_alone_on_standard_error(tmp_path):
    code, out, err = finish("probe", tmp_path / "none.wx", "ann")
    assert (code, out) == (1, b"")
    with pytest.raises(wx.errors.NotAnIndex) as raised:
        wx.open(tmp_path / "none.wx")
    assert err == f"{raised.value}\n"


@pytest.mark.slow
def test_a_failed_query_leaves_nothing_but_its_message(sales):
    code, out, err = finish("scan", sales, "--sql", "select colour from entries")
    assert (code, out) == (1, b"")
    assert err.startswith("The query failed. Binder Error")
    assert "leaked" not in err


@pytest.mark.slow
def test_wrong_usage_exits_with_2():
    code, out, err = finish("probe", "--colour")
    assert (code, out) == (2, b"")
    assert "--colour" in err


def test_arrow_on_standard_output_is_a_stream_that_arrow_reads(sales):
    code, out, err = finish("scan", sales, "--since", "2026-01-07", "--format", "arrow")
    assert (code, err) == (0, "")
    rows = pa.ipc.open_stream(out).read_all().to_pylist()
    assert sorted(row["amount"] for row in rows) == sorted(row["amount"] for row in rows_of(7))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["json", "csv", "arrow"])
def test_a_reader_that_goes_away_ends_the_command_quietly(sales, kind):
    process = start("scan", sales, "--sql", "from range(20_000_000)", "--format", kind)
    assert process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141
    process.stderr.close()


@pytest.mark.slow
def test_an_interrupt_ends_the_command_quietly(sales, tmp_path):
    started = tmp_path / "started.csv"
    endless = "select count(*) from range(1_000_000_000_000) where hash(range) = 7"
    query = f"copy (select 1) to '{started}'; {endless}"
    process = start("scan", sales, "--sql", query, "--format", "csv")
    try:
        until = time.monotonic() + 60
        while not started.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_an_interrupt_anywhere_is_130(run, sales, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RowAnswer, "write", interrupted)
    result = run("scan", sales)
    assert (result.exit_code, result.output) == (130, "")


def test_an_error_of_the_operating_system_is_said_in_a_line(run, sales, monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied", "/secret")

    monkeypatch.setattr(RowAnswer, "write", refused)
    result = run("scan", sales)
    assert (result.exit_code, result.output) == (1, "/secret: Permission denied.\n")


def test_neither_duckdb_nor_pandas_is_loaded_without_need(sales):
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from wavedex.cli import app\n"
        "for args in (['inspect', sys.argv[1]], ['probe', sys.argv[1], 'ann', '--json']):\n"
        "    assert CliRunner().invoke(app, args).exit_code == 0\n"
        "loaded = {'duckdb', 'pandas', 'pyspark', 'numba'} & set(sys.modules)\n"
        "sys.exit(str(loaded) if loaded else 0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(sales)], check=True, timeout=60)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(run, name):
    result = run(name, "--help", COLUMNS="200")
    assert result.exit_code == 0
    assert f"Example: wavedex {name} " in result.stdout


def test_the_command_alone_shows_what_there_is(run):
    result = run()
    for name in COMMANDS:
        assert name in result.output
    assert run("--help").exit_code == 0
    assert run("-h").exit_code == 0
    assert run("fly").exit_code == 2


@pytest.mark.parametrize("name", ["probe", "scan", "inspect", "append", "verify", "vacuum"])
def test_a_path_without_an_index_is_refused_by_every_command(run, tmp_path, name):
    more = {"probe": ["ann"], "append": ["a.csv"]}.get(name, [])
    result = run(name, tmp_path, *more)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is no index" in result.stderr


def test_a_time_that_cannot_be_read_is_refused(run, sales):
    for args in (["probe", sales, "ann", "--since", "soon"], ["scan", sales, "--until", "soon"]):
        result = run(*args)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Cannot read 'soon' as a time" in result.stderr


def test_two_formats_at_once_and_unknown_ones_are_wrong_usage(run, sales):
    assert run("scan", sales, "--format", "csv", "--json").exit_code == 2
    assert run("scan", sales, "--format", "xml").exit_code == 2
    assert run("scan", sales, "--limit", "0").exit_code == 2
    assert run("scan", sales, "--format", "json", "--json").exit_code == 0


def test_the_exit_codes_are_those_of_a_shell():
    assert commands.INTERRUPTED == 128 + signal.SIGINT
    assert commands.READER_GONE == 128 + signal.SIGPIPE


def on_a_terminal(*args):
    """What a command shows where somebody looks."""
    ours, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "wavedex", *map(str, args)],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**os.environ, "COLUMNS": "110", "TERM": "xterm"},
    )
    os.close(its)
    shown = b""
    # A terminal whose last writer has gone can be read no more.
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    return process.wait(), shown.decode()


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_whoever_looks_sees_rows_share_and_rate(tmp_path):
    file = tmp_path / "sales.csv"
    lines = (f"c{row % 70},2026-01-0{1 + row % 5},{row}" for row in range(30_000))
    file.write_text("\n".join(["customer,sold_at,amount", *lines]))
    path = tmp_path / "sales.wx"
    about = ["--key", "customer", "--time", "sold_at", "--window", "7"]
    code, shown = on_a_terminal("create", path, file, *about, "--yes")
    assert code == 0, shown
    assert "read 100%" in shown
    assert "append 100%, 30,000 of 30,000 rows" in shown
    code, shown = on_a_terminal("verify", path)
    assert (code, "verify 100%, 30,000 of 30,000 rows" in shown) == (0, True), shown
    assert "rows/s" in shown
    code, shown = on_a_terminal("migrate", path, "--shards", 3)
    assert (code, "migrate 100%" in shown) == (0, True), shown
    code, shown = on_a_terminal("erase", path, "c7", "--yes")
    assert (code, "erase 100%" in shown) == (0, True), shown
