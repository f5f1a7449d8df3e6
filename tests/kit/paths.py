"""Where the project's own files lie."""

from __future__ import annotations

from pathlib import Path

KIT = Path(__file__).parent
ROOT = KIT.parents[1]
DOCS = ROOT / "docs"
