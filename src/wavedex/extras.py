"""Packages that Wavedex uses where they are installed, and does without where they are not.

Each is imported when something needs it, never before. Imports nothing of ours but the errors.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from wavedex.errors import PackageMissing, SparkMissing

PACKAGES = {
    "duckdb": ("DuckDB", "duckdb"),
    "matplotlib": ("Matplotlib", "matplotlib"),
    "numba": ("Numba", "'wavedex[online]'"),
    "obstore": ("obstore, which reads and writes object stores,", "'wavedex[objects]'"),
    "polars": ("Polars", "polars"),
    "polars.io.plugins": ("A Polars that reads lazily from other packages", "--upgrade polars"),
    "pyspark": ("Spark", "'wavedex[spark]'"),
}
"""What each is called, and what to install."""


def require(package: str) -> ModuleType:
    """Import one of the packages. Raises PackageMissing where it is not installed."""
    check_installed(package)
    return import_module(package)


def check_installed(package: str) -> None:
    """Raise PackageMissing, or SparkMissing, where a package is not installed; import nothing."""
    if find_spec(package) is None:
        title, install = PACKAGES[package]
        kind = SparkMissing if package == "pyspark" else PackageMissing
        raise kind(f"{title} is not installed. Install it: pip install {install}")
