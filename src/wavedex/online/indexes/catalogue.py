"""Which set-valued indexes there are, by the names that users know them by.

Loads no Numba: kernels are loaded when the first index is made.
"""

from __future__ import annotations

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import SetIndex
from wavedex.online.indexes.counting import CountIndex
from wavedex.online.indexes.groups import GroupIndex
from wavedex.online.indexes.hashes import BUCKETS, HashIndex, UnsortedHashIndex
from wavedex.online.indexes.lists import ListIndex
from wavedex.online.indexes.trees import TreeIndex

KINDS: dict[str, type[SetIndex]] = {
    each.kind: each
    for each in (CountIndex, ListIndex, TreeIndex, HashIndex, UnsortedHashIndex, GroupIndex)
}
"""Each kind of index, by name."""


def index_of(kind: str, *, buckets: int = BUCKETS) -> SetIndex:
    """A new index of a kind; `buckets` is for those that have any."""
    if kind not in KINDS:
        raise BadDefinition(f"There is no index {kind!r}. There are: {', '.join(KINDS)}.")
    made = KINDS[kind]
    return made(buckets=buckets) if issubclass(made, HashIndex) else made()
