"""Which rings are there? Every ring index by its name; each is loaded when it is first asked for.

A ring that is listed here can be asked for by name anywhere (`ring=`).
"""

from __future__ import annotations

from importlib import import_module

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import SetIndex
from wavedex.online.rings.contract import Ring

KINDS: dict[str, tuple[str, str]] = {
    "simple": ("simple", "SimpleRing"),
    "auxiliary": ("auxiliary", "AuxiliaryRing"),
    "backward": ("backward", "BackwardRing"),
    "dirty-bits": ("dirty_bits", "DirtyBitsRing"),
    "numbered": ("numbered", "NumberedRing"),
}
"""The module of this package and the class of each kind."""


def ring_of(kind: str, index: SetIndex, capacity: int) -> Ring:
    """A ring index of some kind on the nodes of an index. `capacity` is a power of two.

    Raises BadDefinition for a kind that there is not.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadDefinition(f"there is no ring {kind!r}: choose one of {', '.join(KINDS)}.")
    module, name = KINDS[kind]
    found: type[Ring] = getattr(import_module(f"wavedex.online.rings.{module}"), name)
    return found(index, capacity)
