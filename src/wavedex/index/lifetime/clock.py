"""The clock of a lifetime index: the instant of the last refresh, and how far streams had come.

Streams are followed where windows are counted. The clock is what a lifetime index keeps in its
manifests beside what every index keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from wavedex.errors import Damaged
from wavedex.log.codec import (
    BAD_JSON,
    TABLE,
    Codec,
    fields_from_json,
    fields_to_json,
    kept,
    listed,
)
from wavedex.log.manifest import Manifest


class Pace(NamedTuple):
    """How fast a stream came in some updates that followed one another."""

    first: int
    """How far it had come when they began."""
    since: float
    """From when on it went on from there, as an ordinal of time."""
    slowest: float
    """Its slowest rate, in rows for an ordinal."""


class Arrivals(NamedTuple):
    """How far streams had come in one update, or in some that followed one another."""

    now: int
    """The instant of the last of them."""
    positions: Mapping[str, int]
    """The newest position of each stream, by its name."""
    rates: Mapping[str, float]
    """How many rows of it come to an ordinal of time."""
    paces: Mapping[str, Pace]
    """How fast it came in all of them."""

    def to_json(self) -> list[Any]:
        """As a manifest holds it."""
        paces = {name: list(pace) for name, pace in self.paces.items()}
        return [self.now, dict(self.positions), dict(self.rates), paces]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Arrivals:
        """What a manifest holds."""
        now, positions, rates, paces = data
        return cls(now, positions, rates, {name: Pace(*pace) for name, pace in paces.items()})


@dataclass(frozen=True)
class LifeClock:
    """What one commit knows of time."""

    now: int | None = kept(default=None)
    """The instant of the last refresh, as an ordinal; None before the first."""
    arrivals: tuple[Arrivals, ...] = kept(
        listed(Codec(Arrivals.to_json, Arrivals.from_json)), default=()
    )
    """How far streams had come at each refresh that has rows, where windows are counted."""
    drained_at: Mapping[str, int] = kept(TABLE, make=dict)
    """How far they had come when sub-indexes began to drain."""

    @classmethod
    def of(cls, manifest: Manifest) -> LifeClock:
        """The clock of a commit. Raises Damaged."""
        try:
            return cls.from_json(manifest.own)
        except BAD_JSON as error:
            raise Damaged(
                f"commit {manifest.commit} does not say what the time is ({error})"
            ) from error

    @classmethod
    def from_json(cls, own: Mapping[str, Any]) -> LifeClock:
        """What a manifest holds, nothing in a new index. Raises one of BAD_JSON."""
        return cls(**fields_from_json(cls, own)) if own else cls()

    @property
    def came(self) -> Mapping[str, int]:
        """The newest position of each stream; none where windows are not counted."""
        return self.arrivals[-1].positions if self.arrivals else {}

    def at(self, now: int, arrivals: tuple[Arrivals, ...] | None = None) -> LifeClock:
        """The same at a later instant."""
        return replace(self, now=now, arrivals=self.arrivals if arrivals is None else arrivals)

    def to_json(self) -> dict[str, Any]:
        """As a manifest holds it."""
        return fields_to_json(self)
