"""The hashings that there are, and what can be set of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavedex.errors import BadDefinition
from wavedex.temporal.hashing.contract import Hashing

if TYPE_CHECKING:
    from wavedex.temporal.hashing.extendible import ExtendibleHashing
    from wavedex.temporal.hashing.linear import LinearHashing

HASHINGS = ("linear", "extendible")
BUCKETS_MAX = 1 << 24
"""More buckets than that at first would take memory for nothing."""


@dataclass(frozen=True)
class HashingSettings:
    """How what is alive is hashed."""

    hashing: str = "linear"
    """Which hashing it is: `linear` or `extendible`."""
    buckets: int = 10
    """M: how many buckets there are at first, and at least. Extendible: the next power of two."""
    low: float = 0.1
    """f: buckets are merged below this load: linear by that of all, extendible by their own."""
    high: float = 0.2
    """g: a bucket is split above this load: linear by that of all, extendible by its own."""
    splits: str = "controlled"
    """`controlled` by the load, or `uncontrolled`: whenever a bucket overflows."""
    mixed: int = 1
    """1 where ids are spread before they are hashed, 0 where they are taken as they are."""

    def __post_init__(self) -> None:
        _check_name("hashing", self.hashing, HASHINGS)
        _check_name("splits", self.splits, ("controlled", "uncontrolled"))
        check_buckets(self.buckets)
        if not 0 <= self.low <= self.high or not self.high > 0:
            raise BadDefinition(
                f"low={self.low!r} and high={self.high!r} are no bounds of a load. Give numbers "
                "from 0 on, the lower one first, such as 0.1 and 0.2."
            )


def hashing_of(settings: HashingSettings, records: int) -> Hashing:
    """An empty hashing, of pages of so many records."""
    return _class_of(settings.hashing)(
        settings.buckets,
        records,
        settings.low,
        settings.high,
        bool(settings.mixed),
        settings.splits == "controlled",
    )


def _class_of(name: str) -> type[LinearHashing] | type[ExtendibleHashing]:
    """Each is loaded when it is first wanted: they load Numba."""
    if name == "linear":
        from wavedex.temporal.hashing.linear import LinearHashing

        return LinearHashing
    from wavedex.temporal.hashing.extendible import ExtendibleHashing

    return ExtendibleHashing


def check_buckets(buckets: int) -> None:
    """Raise BadDefinition where there cannot be as many buckets at first."""
    if not 1 <= buckets <= BUCKETS_MAX or buckets != int(buckets):
        raise BadDefinition(
            f"buckets={buckets!r} is no number of buckets. Give 1 to {BUCKETS_MAX:,}."
        )


def _check_name(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        names = ", ".join(map(repr, known))
        raise BadDefinition(f"{what}={given!r} is not known. There are: {names}.")
