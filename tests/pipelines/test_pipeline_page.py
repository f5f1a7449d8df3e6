"""What docs/pipelines.md says of pipeline files is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.paths import DOCS
from wavedex.errors import BadPipeline
from wavedex.pipelines.pipeline import HINTS, read_pipeline

PAGE = DOCS.joinpath("pipelines.md").read_text(encoding="utf-8")


WAVE, LIFETIME = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The first example of the page, as the file flights.toml in the working folder."""
    monkeypatch.chdir(tmp_path)
    file = Path("flights.toml")
    file.write_text(WAVE)
    return file


def test_the_examples_have_no_mistakes(example):
    found = read_pipeline(example)
    assert found.stream is not None
    assert found.index.options["window"] == 30
    example.write_text(LIFETIME)
    found = read_pipeline(example)
    assert found.stream is not None
    assert (found.index.kind, found.index.options["grid"]) == ("lifetime", "2x2")


def test_the_mistakes_that_are_shown_are_told_so(example):
    wrong = {"stream": "strem", "time": "tme", "wata": "waat"}
    text = example.read_text()
    for right, typed in wrong.items():
        text = re.sub(rf'(?m)^(\w+ = ")?{right}\b(?=["\s])', rf"\g<1>{typed}", text, count=1)
    example.write_text(text)
    with pytest.raises(BadPipeline) as raised:
        read_pipeline("flights.toml")
    assert len(raised.value.mistakes) == len(wrong)
    assert f"```\n{raised.value}\n```" in PAGE


@pytest.mark.parametrize("table", HINTS)
def test_every_key_is_in_the_table_of_keys(table):
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    named: dict[str, set[str]] = {}
    current = ""
    for _, name, keys, *_ in rows:
        current = name.strip() or current
        named.setdefault(current, set()).update(re.findall(r"`(\w+)`", keys))
    assert named[f"`[{table}]`"] == set(HINTS[table])
