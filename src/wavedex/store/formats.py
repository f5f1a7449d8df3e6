"""The formats of parts that never change: what `format=` chooses between.

A format is a way to write sorted rows and to read them back. Techniques that only ever write whole parts work with all of
them and know none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wavedex.store.access import AnyFiles
from wavedex.store.encoding import check_types
from wavedex.store.entries import EntrySpec
from wavedex.store.packed import build_packed
from wavedex.store.parquet import build_parquet
from wavedex.store.part import Part, Slots
from wavedex.store.pieces import Pieces

Build = Callable[[AnyFiles, EntrySpec, str, Pieces, Slots], Part]
"""Writes entries as a part under a stem of names, with the slots that it then holds, and lets go of them.

REQUIRES: at least one row.
"""


@dataclass(frozen=True)
class Format:
    """How parts are written, and a check that raises BadDefinition where entries cannot be kept so."""

    build: Build
    check: Callable[[EntrySpec], None]


FORMATS: dict[str, Format] = {
    "arrow": Format(build_packed, lambda spec: None),
    "parquet": Format(build_parquet, check_types),
}
