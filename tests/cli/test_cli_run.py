"""The command `run`: the file is checked first, and then Spark is looked for."""

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from wavedex.spark.pipeline import read_pipeline

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


@pytest.fixture
def runs(monkeypatch):
    """What the runner was called with; stand-ins, so that no Spark is needed or started here."""
    calls = []
    spark = ModuleType("pyspark")
    spark.__spec__ = ModuleSpec("pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark", spark)
    runner = ModuleType("wavedex.spark.runner")

    def record(pipeline, *, once, say):
        calls.append((pipeline, once))
        say("3 rows\x1b")

    runner.run = record
    monkeypatch.setitem(sys.modules, "wavedex.spark.runner", runner)
    return calls


def test_a_file_without_mistakes_is_fine(run, file, tmp_path):
    result = run("run", file, "--check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{file} is fine: rate (stream) into {tmp_path}/rate.wx\n"


@pytest.mark.parametrize("options", [[], ["--check"], ["--once"]])
def test_all_mistakes_are_told_and_nothing_is_run(run, runs, file, options):
    file.write_text(GOOD.replace("key", "kye").replace("= 3", "= 0"))
    result = run("run", file, *options)
    assert (result.exit_code, result.stdout, runs) == (1, "", [])
    assert result.stderr.splitlines() == [
        f"{file}:6: [index] has no key 'kye'. Did you mean 'key'?",
        f"{file}:8: window=0 is not a whole number of at least 1.",
    ]


@pytest.mark.parametrize(("options", "once"), [([], False), (["--once"], True)])
def test_a_good_file_is_run(run, runs, file, options, once):
    result = run("run", file, *options)
    assert (result.exit_code, result.stdout) == (0, "3 rows\\x1b\n")
    assert runs == [(read_pipeline(file), once)]


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
