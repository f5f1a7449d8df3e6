"""Open whatever kind of index lies at a path."""

from __future__ import annotations

import os
from typing import cast

from wavedex.index.core.creation import open_at
from wavedex.index.core.surroundings import Surroundings
from wavedex.index.kinds import KINDS
from wavedex.index.lifetime.index import LifetimeIndex
from wavedex.index.wave.index import WaveIndex

AnyIndex = WaveIndex | LifetimeIndex


def open_index(
    path: str | os.PathLike[str], *, surroundings: Surroundings | None = None, check: bool = False
) -> AnyIndex:
    """The index at a path, of the kind as which it was created. Raises NotAnIndex and its kin.

    With `check`, every file is compared with its checksum before it is first answered from.
    """
    around = surroundings or Surroundings()
    files, definition = open_at(path, around, [kind.definition for kind in KINDS.values()])
    return cast(AnyIndex, KINDS[definition.kind].index(files, definition, around, check))
