"""The command `run`: the file is checked first, and then Spark is looked for."""

import subprocess
import sys

import pytest

GOOD = """\
[source]
format = "rate"
mode = "stream"
[index]
path = "rate.wx"
key = "value"
time = "timestamp"
window = 3
[stream]
checkpoint = "rate.checkpoint"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rate.toml"
    path.write_text(GOOD)
    return path


def test_a_file_without_mistakes_is_fine(run, file, tmp_path):
    result = run("run", file, "--check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{file} is fine: rate (stream) into {tmp_path}/rate.wx\n"


@pytest.mark.parametrize("options", [[], ["--check"], ["--once"]])
def test_all_mistakes_are_told_and_nothing_is_run(run, file, tmp_path, options):
    file.write_text(GOOD.replace("key", "kye").replace("= 3", "= 0"))
    result = run("run", file, *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert result.stderr.splitlines() == [
        f"{file}:6: [index] has no key 'kye'. Did you mean 'key'?",
        f"{file}:8: window=0 is not a whole number of at least 1.",
    ]


def test_where_spark_is_not_installed_one_line_says_what_to_do(run, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = run("run", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Spark is not installed. Install it: pip install 'wavedex[spark]'\n"
    assert run("run", file, "--check").exit_code == 0


def test_a_check_loads_nothing_of_spark(file):
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from wavedex.cli import app\n"
        "assert CliRunner().invoke(app, ['run', sys.argv[1], '--check']).exit_code == 0\n"
        "loaded = {'pyspark', 'duckdb', 'wavedex.spark.runner'} & set(sys.modules)\n"
        "sys.exit(str(loaded) if loaded else 0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(file)], check=True, timeout=60)


def test_a_file_that_is_not_there_is_named(run, tmp_path):
    result = run("run", tmp_path / "none.toml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{tmp_path}/none.toml: It cannot be read: No such file")
