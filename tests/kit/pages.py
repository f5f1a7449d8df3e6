"""What pages tell people to do: their examples, and the commands of the README."""

from __future__ import annotations

import re
from pathlib import Path

from kit.paths import ROOT

_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^wavedex .*$", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w/-]+\.md)\)")
README = ROOT / "README.md"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def examples_of(page: Path) -> str:
    """The examples of a page, which follow one another."""
    return "\n".join(_PYTHON.findall(page.read_text(encoding="utf-8")))


def commands() -> list[str]:
    """The commands of the README, which work on what its example has made."""
    return _COMMAND.findall(README.read_text(encoding="utf-8"))


def shelved() -> list[Path]:
    """The pages in the order of their shelves."""
    shelves = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    return [ROOT / "docs" / name for name in _PAGE.findall(shelves)]
