"""How the pages become a site: `make docs`, with Sphinx, and without a network.

The pages are read by people where they lie, so they stay plain Markdown. What only a site has is
added here while they are read: the README as its door, the shelves of `docs/README.md` as its
navigation, and what docstrings say on the page of the API.
"""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import wavedex
from wavedex import errors

HERE = Path(__file__).parent

project = "Wavedex"
author = "The authors of Wavedex"
release = version = wavedex.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
source_suffix = {".md": "markdown"}
exclude_patterns = ["__pycache__"]
html_theme = "furo"
html_title = "Wavedex"
html_copy_source = False
html_show_sphinx = False
highlight_language = "text"
default_role = "code"
myst_heading_anchors = 4
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
suppress_warnings = ["misc.highlighting_failure"]

_SHELF = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_PAGE = re.compile(r"\]\(([\w/-]+)\.md\)")
_LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
_OWN = re.compile(r"^# .*\n")


def _navigation(shelves: str) -> str:
    """A hidden table of contents for each shelf."""
    tables = [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {name}", *_PAGE.findall(listed), "```"])
        for name, listed in _SHELF.findall(shelves)
    ]
    return "\n\n".join(tables)


def _door() -> str:
    """The README of the project, whose links lead to the pages of the site."""

    def turned(found: re.Match[str]) -> str:
        shown, target = found.groups()
        if target.startswith("docs/"):
            return f"{shown}({target.removeprefix('docs/')})"
        return found[0] if "://" in target else shown.strip("![]")

    return _LINK.sub(turned, (HERE.parent / "README.md").read_text(encoding="utf-8"))


def _members(kind: type) -> str:
    """What users call, as completion shows it."""
    inner: frozenset[str] = getattr(kind, "_inner", frozenset())
    return ", ".join(name for name in dir(kind) if not name.startswith("_") and name not in inner)


def _rst(directive: str, name: str, *options: str) -> str:
    lines = [f".. {directive}:: {name}", *(f"   {option}" for option in options)]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def _api(page: str) -> str:
    """The page of the API, with the docstrings of what each of its lines names."""
    out = []
    for line in page.splitlines():
        if named := re.fullmatch(r"- `([\w.]+)`", line):
            out += ["", _described(named[1]), ""]
        else:
            out.append(line)
        if line == "<!-- errors -->":
            out += [_rst("autoexception", f"wavedex.errors.{name}") for name in _named_errors()]
    return "\n".join(out)


def _named_errors() -> list[str]:
    """The names of all errors, but for what they have in common."""
    kinds = vars(errors).items()
    return [
        name
        for name, kind in kinds
        if isinstance(kind, type) and issubclass(kind, errors.WavedexError)
        if kind is not errors.WavedexError
    ]


def _described(name: str) -> str:
    """What a docstring says of a name, written as users write it."""
    whole = name.replace("wxs.", "wavedex.spark.").replace("wx.", "wavedex.")
    module, _, last = whole.rpartition(".")
    found = getattr(importlib.import_module(module), last)
    if not isinstance(found, type):
        return _rst("autofunction", whole)
    if issubclass(found, BaseException):
        return _rst("autoexception", whole)
    return _rst("autoclass", whole, f":members: {_members(found)}")


def _read(app: Any, name: str, content: list[str]) -> None:
    if name == root_doc:
        shelves = content[0]
        content[0] = "\n\n".join([_door(), _OWN.sub("", shelves), _navigation(shelves)])
    elif name == "decisions/README":
        listed = _PAGE.findall(content[0])
        content[0] += "\n".join(["", "```{toctree}", ":hidden:", *listed, "```"])
    elif name == "api":
        content[0] = _api(content[0])


def _finish(app: Any, error: Exception | None) -> None:
    """Let whoever opens the folder find the door."""
    if error is None:
        out = Path(app.outdir)
        shutil.copyfile(out / f"{root_doc}.html", out / "index.html")


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _read)
    app.connect("build-finished", _finish)
