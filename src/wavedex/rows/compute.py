"""Arrow's functions, imported when the first of them is called.

`pyarrow.compute` writes the documentation of hundreds of functions when it is imported. That takes
as long as all of Wavedex. Whoever opens an index and probes for a key needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(import_module("pyarrow.compute"), name)
