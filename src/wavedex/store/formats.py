"""The formats of parts: what `format=` chooses between, and where another package is added.

A format is a way to write rows and to read them back (`wavedex.store.package`). Techniques that
only ever write whole parts work with all formats and know none. Techniques that update in place
work with the formats that can be updated.
"""

from __future__ import annotations

from typing import Any

from wavedex.errors import BadDefinition, UnknownScheme
from wavedex.files.contract import AnyFiles
from wavedex.rows.entries import EntrySpec
from wavedex.store.databases.postgresql import POSTGRESQL
from wavedex.store.databases.sqlite import SQLITE
from wavedex.store.growing.chain_updates import Chainer
from wavedex.store.growing.inplace import Updater
from wavedex.store.growing.records import RecordFormat
from wavedex.store.package import Build, Format, Open
from wavedex.store.part import Part
from wavedex.store.positions import Positioned
from wavedex.store.shard import Shard
from wavedex.store.sifted import HidingShard
from wavedex.store.sorted.encoding import check_types
from wavedex.store.sorted.packed import build_packed
from wavedex.store.sorted.parquet import build_parquet
from wavedex.store.sparse.parquet_shards import open_parquet
from wavedex.store.sparse.shards import open_chained, open_contiguous, open_packed

__all__ = ["FORMATS", "Build", "Format", "find_format", "open_shard", "register"]

FORMATS: dict[str, Format] = {}
_STORES: dict[str, Open] = {}
"""Who opens which kind of part."""


def register(name: str, format: Format) -> None:  # noqa: A002 - what it is
    """Add a format, to be chosen by name in this process.

    Raises BadDefinition where a name is taken. Registering a format twice is the same as
    registering it once.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise BadDefinition(f"{name!r} is no name for a format. Use letters, digits and _.")
    if FORMATS.get(name, format) != format:
        raise BadDefinition(f"There is a format {name!r} already. Choose another name.")
    for store, opener in format.stores.items():
        if _STORES.get(store, opener) != opener:
            raise BadDefinition(f"There is a store {store!r} already. Choose another name.")
    FORMATS[name] = format
    _STORES.update(format.stores)


def find_format(text: Any, identity: str = "") -> Format:
    """The format that `format=` means: a name, or a name, a colon and an address.

    `identity` is that of the index whose format it is. A new index has none yet. Raises
    BadDefinition and its kin.
    """
    name = name_of(text)
    # Only the name of an address is repeated: there could be a password in the rest.
    if name is None or name not in FORMATS:
        raise UnknownScheme(
            f"format={text if name is None else name!r} is none of "
            f"{', '.join(map(repr, FORMATS))}. A package of your own is known once the module "
            "that registers it is imported."
        )
    found = FORMATS[name]
    if found.located is not None:
        return found.located(text, identity)
    if text != name:
        raise BadDefinition(f"format={name!r} takes no address. Leave out what follows the name.")
    return found


def name_of(text: Any) -> str | None:
    """The name in what was given as `format=`; None if that is not text."""
    return text.partition(":")[0] if isinstance(text, str) else None


def open_shard(files: AnyFiles, spec: EntrySpec, part: Part) -> Shard:
    """Open a part for reading. Raises FileNotFoundError where it is gone."""
    opened = _STORES[part.store](files, spec, part)
    if part.hidden is None:
        return opened
    if isinstance(opened, Positioned):
        return opened.without(part.hidden)
    return HidingShard(opened, open_shard(files, spec, part.hidden))


def _check_records(spec: EntrySpec) -> None:
    RecordFormat(spec)


register(
    "arrow",
    Format(
        build_packed,
        lambda spec: None,
        {"packed": open_packed, "contiguous": open_contiguous},
        updates=Updater.at,
        check_updates=_check_records,
        deletes=True,
    ),
)
register("parquet", Format(build_parquet, check_types, {"parquet": open_parquet}))
register("sqlite", SQLITE)
register("postgresql", POSTGRESQL)
register(
    "chained",
    Format(
        build_packed,
        lambda spec: None,
        {"packed": open_packed, "chained": open_chained},
        updates=Chainer.at,
        check_updates=_check_records,
        deletes=True,
        removes=True,
    ),
)
