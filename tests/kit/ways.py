"""The ways to keep an index.

Every scheme with what it must be told, every update technique, Parquet wherever files never change,
chained buckets, and SQLite for flat columns.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from wavedex.engine.techniques import TECHNIQUES
from wavedex.plan import SCHEMES, options_of

PARQUET: dict[str, dict[str, Any]] = {
    f"{name} in parquet": {"update": name, "format": "parquet"}
    for name, technique in TECHNIQUES.items()
    if "parquet" in technique.formats
}
SQLITE: dict[str, dict[str, Any]] = {
    f"{name} in sqlite": {"update": name, "format": "sqlite"} for name in TECHNIQUES
}
CHAINED: dict[str, dict[str, Any]] = {
    f"{name} in chained": {"update": name, "format": "chained"}
    for name, technique in TECHNIQUES.items()
    if technique.writes_into_files
}
WAYS: dict[str, dict[str, Any]] = {name: {"update": name} for name in TECHNIQUES} | PARQUET

WEIGHING = [name for name in SCHEMES if SCHEMES[name].weighs]
BLIND = [name for name in SCHEMES if name not in WEIGHING]
CASES = [*product(BLIND, TECHNIQUES), *zip(WEIGHING, TECHNIQUES, strict=True)]
"""Schemes and techniques: all pairs.

But those schemes that weigh slots have a technique of their own each.
"""


def told(scheme: str, first: int = 1) -> dict[str, Any]:
    """The options that a scheme needs, for windows of some fifteen rows and slots from `first` on.

    Most tests bring other rows than these foresee: then a scheme may hold more than it should, and
    answer as ever.
    """
    wanted = {"max_size": 15, "sizes": {first + slot: slot * 3 % 5 for slot in range(12)}}
    return {name: value for name, value in wanted.items() if name in options_of(scheme)}
