"""Open whatever kind of index lies at a path."""

from __future__ import annotations

import os

from wavedex.index.creating import open_at
from wavedex.index.life_definition import LifeDefinition
from wavedex.index.lifetime import LifetimeIndex
from wavedex.index.surroundings import Surroundings
from wavedex.index.wave import WaveIndex
from wavedex.index.wave_definition import WaveDefinition

AnyIndex = WaveIndex | LifetimeIndex


def open_index(
    path: str | os.PathLike[str], *, surroundings: Surroundings | None = None, check: bool = False
) -> AnyIndex:
    """The index at a path, of the kind as which it was created. Raises NotAnIndex and its kin.

    With `check`, every file is compared with its checksum before it is first answered from.
    """
    around = surroundings or Surroundings()
    files, definition = open_at(path, around)
    if isinstance(definition, LifeDefinition):
        return LifetimeIndex(files, definition, around, check)
    assert isinstance(definition, WaveDefinition)
    return WaveIndex(files, definition, around, check)
