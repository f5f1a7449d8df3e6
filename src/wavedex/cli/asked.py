"""What of an index is to be read: at a commit, with shorter windows, of files that were checked."""

from __future__ import annotations

from typing import Any, cast

from wavedex.cli.options import pairs_of, refuse, whole
from wavedex.index import Snapshot
from wavedex.index.core.definition import Definition
from wavedex.index.kinds import kind_of
from wavedex.index.lifetime.definition import LifeDefinition
from wavedex.index.opening import AnyIndex, open_index

LIMIT_ROWS = 50
"""How many rows a table shows if nothing else is said."""


def find_asked(
    index: str, commit: int | None, shorten: list[str] | None, check: bool
) -> AnyIndex | Snapshot:
    """The index, or what is to be seen of it.

    That is at a commit, with shorter windows, of files that were checked.
    """
    idx = open_index(index, check=check)
    kind = kind_of(idx)
    if not kind.can_shorten:
        refuse(f"lifetime indexes, and this is a {kind.name} index", shorten=shorten or None)
    if commit is None and not shorten:
        return idx
    snapshot = idx.snapshot(commit)
    return snapshot.seen(_shorter(idx.definition, shorten)) if shorten else snapshot


def _shorter(definition: Definition, texts: list[str]) -> str | dict[str, Any]:
    """By how much windows are shorter: all of them alike, or each by the name of a column."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0]
    pairs = pairs_of("--shorten", texts)
    if not cast(LifeDefinition, definition).counts:
        return pairs
    return {name: whole(value, "--shorten") for name, value in pairs.items()}
