"""Which schemes are there? Every wave scheme by its name.

A scheme that is listed here can be asked for by name anywhere (`scheme`), and is tested by being
listed. Names and options come from users, so what is wrong with them is said in a `BadDefinition`
that tells what to write instead.

Never plans: it only makes schemes.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from wavedex.errors import BadDefinition, UnknownScheme
from wavedex.plan.waves.deletion import Deletion
from wavedex.plan.waves.rata import Rata
from wavedex.plan.waves.reindex import Reindex
from wavedex.plan.waves.reindex_plus import ReindexPlus
from wavedex.plan.waves.reindex_plus_plus import ReindexPlusPlus
from wavedex.plan.waves.wata import Wata
from wavedex.plan.waves.wata_bounded import RataBounded, WataBounded
from wavedex.plan.waves.wata_offline import RataOffline, WataOffline
from wavedex.plan.waves.wave import Scheme, Wave

SCHEMES: dict[str, type[Wave]] = {
    kind.name: kind
    for kind in (
        *(Deletion, Reindex, ReindexPlus, ReindexPlusPlus, Wata, Rata),
        *(WataBounded, RataBounded, WataOffline, RataOffline),
    )
}

COUNTS = frozenset({"window", "indexes"})  # what every scheme takes; its other fields are options


def scheme(name: str, window: int, indexes: int, **options: Any) -> Scheme:
    """Return the scheme called `name` for `window` slots in `indexes` sub-indexes.

    Raises UnknownScheme for a name that is not in the catalogue, BadDefinition for numbers or
    options that the scheme cannot take.

    >>> scheme("wata", window=10, indexes=4).extra_slots
    2
    """
    kind = SCHEMES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnknownScheme(f"there is no scheme {name!r}: choose one of {', '.join(SCHEMES)}.")
    taken = options_of(name)
    for option, value in options.items():
        if option not in taken:
            offer = f"it takes {', '.join(taken)}" if taken else "leave it out"
            raise BadDefinition(f"{name} has no option {option!r}: {offer}.")
        if isinstance(getattr(kind, option, None), bool) and not isinstance(value, bool):
            raise BadDefinition(f"{option} is {value!r}: give True or False.")
    for field in fields(kind):
        if field.default is MISSING and field.name not in {*COUNTS, *options}:
            raise BadDefinition(f"{name} needs {field.name}: {kind.needs[field.name]}.")
    return kind(window, indexes, **options)


def options_of(name: str) -> list[str]:
    """Return the options that the scheme called `name` takes beside window and indexes.

    >>> options_of("rata")
    ['spread']
    """
    return [field.name for field in fields(SCHEMES[name]) if field.name not in COUNTS]
