"""How basic windows can keep an attribute that is aggregated out, by the names that users know.

Loads no Numba: kernels are loaded when the first storage is made.
"""

from __future__ import annotations

from wavedex.errors import BadDefinition
from wavedex.online.indexes.contract import SetIndex
from wavedex.online.storages.aggregates import AggrStorage
from wavedex.online.storages.contract import Storage
from wavedex.online.storages.groups import GroupStorage
from wavedex.online.storages.hashes import BUCKETS, HashStorage

KINDS: dict[str, type[Storage]] = {
    each.kind: each for each in (AggrStorage, HashStorage, GroupStorage)
}
"""Each kind of storage, by name."""


def storage_of(
    kind: str, index: SetIndex | None, *, buckets: int = BUCKETS, eager: bool = True
) -> Storage:
    """A new storage of a kind. `buckets` is for the kind that has any."""
    if kind not in KINDS:
        raise BadDefinition(f"There is no storage {kind!r}. There are: list, {', '.join(KINDS)}.")
    made = KINDS[kind]
    if issubclass(made, HashStorage):
        return made(index, buckets=buckets, eager=eager)
    return made(index, eager=eager)
