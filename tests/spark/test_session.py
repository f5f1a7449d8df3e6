"""The session: the one that runs, and one that is set up right and quiet.

And what is said when there is no Java for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wavedex import spark as wxs
from wavedex.errors import NoJava
from wavedex.spark.sessions import find_java

QUIET = """
from wavedex import spark as wxs
first = wxs.session("local[1]", app="first")
assert first.range(3).count() == 3
assert first.conf.get("spark.sql.session.timeZone") == "UTC"
first.stop()
second = wxs.session("local[1]", app="second", conf={"spark.sql.shuffle.partitions": "3"})
assert second.sparkContext.appName == "second"
assert second.conf.get("spark.sql.shuffle.partitions") == "3"
assert second.range(3).repartition(2).count() == 3
"""
LOUD = """
from wavedex import spark as wxs
wxs.session("local[1]", conf={"spark.driver.memory": "2q"})
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python with nothing of a session in it. Java would say which options it was given."""
    plain = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=plain,
    )


def fake_java(folder: Path, script: str) -> Path:
    """A folder like that of a Java, whose java is a script."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(script)
    java.chmod(0o755)
    return folder


def java_that_says(folder: Path, version: str) -> Path:
    return fake_java(folder, f"#!/bin/sh\necho '{version}' >&2\n")


def test_the_running_session_is_returned_as_it_is(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert wxs.session("local[7]", conf={"spark.sql.session.timeZone": "UTC"}) is spark
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_another_thread_gets_the_running_session_as_it_is(spark):
    found = []
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        thread = threading.Thread(target=lambda: found.append(wxs.session()))
        thread.start()
        thread.join()
        assert found == [spark]
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_workers_run_this_python(spark):
    used = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert [os.path.realpath(each) for each in used] == [os.path.realpath(sys.executable)]


def test_a_session_says_nothing_and_may_be_followed_by_another():
    done = run(QUIET)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_what_java_says_of_a_wrong_setting_is_not_kept_back():
    done = run(LOUD)
    assert done.returncode != 0
    assert "2q" in done.stderr


def test_the_names_of_the_package_stay_functions_whatever_is_imported_first():
    code = """
import wavedex.spark.stream, wavedex.spark.sessions
from wavedex import spark as wxs
assert all(callable(getattr(wxs, name)) for name in wxs.__all__), wxs.__dict__
"""
    assert run(code).returncode == 0


def test_java_is_found():
    assert Path(find_java()).name == "java"


def test_no_java_at_all(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        NoJava, match=r"needs Java 17 or later, and there is no java on the path\. Install"
    ):
        find_java()


def test_a_home_of_java_without_one(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoJava, match=f"JAVA_HOME={tmp_path} has no bin/java"):
        find_java()
    fake_java(tmp_path, "").joinpath("bin", "java").chmod(0o644)
    with pytest.raises(NoJava, match="has no bin/java"):
        find_java()


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is version 11"),
        ('java version "1.8.0_392"', "is version 8"),
        ('openjdk version "9"', "is version 9"),
        ("I am a teapot", "is of an unknown version"),
    ],
)
def test_a_java_that_is_too_old_is_named_with_its_version(monkeypatch, tmp_path, said, named):
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path / "java", said)))
    with pytest.raises(NoJava, match=rf"{tmp_path}/java/bin/java {named}\. Install a newer one"):
        find_java()


@pytest.mark.parametrize(
    "version", ["17.0.9", "21", "25-ea", '17.0.9" 2023\nPicked up JAVA_TOOL_OPTIONS: "x']
)
def test_a_java_that_is_new_enough_is_taken(monkeypatch, tmp_path, version):
    home = java_that_says(tmp_path / "java", f'openjdk version "{version}"')
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == str(home / "bin" / "java")


def test_a_java_that_cannot_be_run(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "java", "")))
    with pytest.raises(NoJava, match="cannot be run"):
        find_java()


def test_a_java_on_the_path_is_looked_at_where_no_home_is_set(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    home = java_that_says(tmp_path / "java", 'openjdk version "11.0.2"')
    monkeypatch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    with pytest.raises(NoJava, match="version 11"):
        find_java()
