"""The kinds of index that there are, each by its name."""

from __future__ import annotations

from typing import Any

from wavedex.errors import BadDefinition
from wavedex.index.held import Held
from wavedex.index.kind import Kind
from wavedex.index.lifetime.kind import LifeKind
from wavedex.index.wave.kind import WaveKind

KINDS: dict[str, Kind] = {kind.name: kind for kind in (WaveKind(), LifeKind())}
DEFAULT = "wave"
"""The kind of an index if nobody said it."""


def all_hints() -> dict[str, Any]:
    """The options of all kinds and their types."""
    return {name: hint for kind in KINDS.values() for name, hint in kind.hints.items()}


def kinds_of(option: str) -> list[str]:
    """The kinds of index that have an option."""
    return [name for name, kind in KINDS.items() if option in kind.hints]


def find_kind(name: str) -> Kind:
    """The kind of that name. Raises BadDefinition."""
    if name not in KINDS:
        raise BadDefinition(f"kind is {name!r}. Give one of {', '.join(map(repr, KINDS))}.")
    return KINDS[name]


def kind_of(index: Held[Any]) -> Kind:
    """What kind an index is."""
    return KINDS[index.created.kind]
