"""The ways to keep an index: every update technique, and Parquet wherever files never change."""

from __future__ import annotations

from typing import Any

from wavedex.engine.technique import TECHNIQUES

PARQUET: dict[str, dict[str, Any]] = {
    f"{name} in parquet": {"update": name, "format": "parquet"}
    for name, technique in TECHNIQUES.items()
    if "parquet" in technique.formats
}
WAYS: dict[str, dict[str, Any]] = {name: {"update": name} for name in TECHNIQUES} | PARQUET
