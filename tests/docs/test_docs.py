"""The documentation is true.

Its examples run, its links lead somewhere, its pictures are the planners' own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path
from types import ModuleType

import pytest

from kit.pages import commands, examples_of, name_of
from kit.paths import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PICTURE_BYTES_MAX = 60_000

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def load(name: str) -> ModuleType:
    """A script that lies among the pages."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its own module up by name while it is being made.
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        patch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def draw() -> ModuleType:
    return load("draw")


WITH_SPARK = [page for page in PAGES if "spark" in examples_of(page)]
WITHOUT = [page for page in PAGES if examples_of(page) and page not in WITH_SPARK]
ONE_BY_ONE = """
import json, shutil, sys
from pathlib import Path

for page, examples in json.load(sys.stdin):
    print(page, flush=True)
    exec(compile(examples, page, "exec"), {"__name__": "__main__"})
    for left in Path().iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
"""
"""Runs the examples of pages, each in an empty folder."""


def run_pages(pages: list[Path], folder: Path) -> None:
    examples = json.dumps([(name_of(page), examples_of(page)) for page in pages])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ONE_BY_ONE],
        cwd=folder,
        input=examples,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("page", WITHOUT, ids=name_of)
def test_the_examples_of_a_page_run(page: Path, tmp_path):
    run_pages([page], tmp_path)


@pytest.mark.spark
def test_the_examples_of_the_pages_with_spark_run(tmp_path):
    """One after the other in one process: Spark takes long to start."""
    assert "docs/spark.md" in {name_of(page) for page in WITH_SPARK}
    run_pages(WITH_SPARK, tmp_path)


def test_the_readme_is_a_door():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert examples_of(ROOT / "README.md")
    assert len(readme.split()) <= 520


@pytest.mark.slow
def test_the_readme_runs_in_order_as_it_stands(tmp_path):
    """The example, and then the commands, on the files that the example has made."""
    readme = ROOT / "README.md"
    run_code(examples_of(readme), tmp_path)
    assert len(commands()) >= 4
    for command in commands():
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert done.stdout


def run_code(code: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_page_is_on_a_shelf():
    shelves = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in shelves


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file(page: Path):
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    targets = [urllib.parse.urlsplit(target) for target in _LINK.findall(text)]
    local = [target.path for target in targets if not target.scheme and target.path]
    missing = [path for path in local if not (page.parent / urllib.parse.unquote(path)).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title_and_no_open_fence(page: Path):
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert text.count("\n```") % 2 == 0
    assert len(re.findall(r"^# ", _FENCED.sub("", text), re.MULTILINE)) == 1


def test_the_pictures_are_what_the_code_makes_now(draw):
    scripts = [load("draw_grids"), load("draw_departures")]
    made = draw.pictures() | {
        name: svg for each in scripts for name, svg in each.pictures().items()
    }
    # Those of the page on performance are made from measurements, which no test repeats.
    ours = (path for path in draw.PICTURES.iterdir() if not path.name.startswith("performance-"))
    kept = {path.name: path.read_text(encoding="utf-8") for path in ours}
    assert kept == made, "run: python docs/draw.py, draw_grids.py and draw_departures.py"
    assert all(len(svg.encode()) < PICTURE_BYTES_MAX for svg in made.values())


def test_the_table_of_work_is_what_the_planners_compute_now(draw):
    page = draw.PAGE.read_text(encoding="utf-8")
    assert draw.BEGIN in page
    assert page == draw.page_with_table(page), "run: python docs/draw.py"


def test_every_scheme_and_technique_is_described_and_shown():
    from wavedex.engine.techniques import TECHNIQUES
    from wavedex.plan import SCHEMES

    page = (ROOT / "docs" / "schemes.md").read_text(encoding="utf-8")
    choosing = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    for name in SCHEMES:
        assert f"\n## {name}: " in page
        assert f"(pictures/{name}.svg)" in page
    for name in (*SCHEMES, *TECHNIQUES):
        assert f"`{name}`" in page
        assert f"`{name}`" in choosing


def test_every_method_and_partition_of_lifetimes_is_described():
    from wavedex.plan import METHODS
    from wavedex.plan.grids.partition import PARTITIONS

    page = (ROOT / "docs" / "lifetimes.md").read_text(encoding="utf-8")
    for name in (*METHODS, *PARTITIONS):
        assert f"`{name}`" in page


def test_the_commands_that_are_described_are_those_of_the_command_line():
    from typer.main import get_command

    from wavedex.cli import app

    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^wavedex (\w+) ", page, re.MULTILINE))
    assert shown == set(get_command(app).commands)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_line_of_prose_is_longer_than_100_columns(page: Path):
    long, is_free = [], False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```") or line.startswith("<!-- "):
            is_free = not is_free
        # Tables, and what is shown as it is or filled in, have the length that they have.
        elif len(line) > 100 and not is_free and not line.lstrip().startswith("|"):
            long.append(number)
    assert not long
