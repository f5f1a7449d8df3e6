"""Wavedex keeps the recent past indexed: the last W slots of your data by key.

It does so from plain files, with no server.

>>> import datetime as dt, tempfile
>>> import pyarrow as pa
>>> import wavedex as wx
>>> schema = pa.schema(
...     [("user", pa.string()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.int64())]
... )
>>> folder = tempfile.TemporaryDirectory()
>>> idx = wx.WaveIndex.create(
...     f"{folder.name}/sales.wx", schema, key="user", time="at", window=7, indexes=3
... )
>>> noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
>>> rows = [
...     {"user": "ann", "at": noon + dt.timedelta(days=day), "amount": day} for day in range(10)
... ]
>>> idx.append(pa.Table.from_pylist(rows, schema)).rows
7
>>> idx.probe("ann", since="2026-01-09")["amount"].to_pylist()
[8, 9]
>>> folder.cleanup()
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

from wavedex import errors
from wavedex.advisor.growth import Tuning, tune
from wavedex.errors import WavedexError
from wavedex.events import Committed, observe
from wavedex.index import (
    Appended,
    Fed,
    LifeSnapshot,
    LifetimeIndex,
    Refreshed,
    Retracted,
    Snapshot,
    Surroundings,
    WaveIndex,
    matching,
)
from wavedex.index.core.delivery import Offer, register
from wavedex.index.opening import open_index
from wavedex.index.positions import position
from wavedex.rows.codes import split_codes
from wavedex.store.databases.server_address import trust_server

if TYPE_CHECKING:
    from wavedex.online import Window
    from wavedex.online.live import Live

__version__ = "0.1.0"


def _take_frame(frame: Any) -> Offer:
    from wavedex.spark.frames import FrameDelivery

    return FrameDelivery(frame)


register("pyspark.sql", "DataFrame", _take_frame)


@overload
def open(  # noqa: A001 - the contract's name
    path: str | os.PathLike[str],
    *,
    commit: None = None,
    check: bool = False,
    surroundings: Surroundings | None = None,
) -> WaveIndex | LifetimeIndex: ...
@overload
def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    commit: int,
    check: bool = False,
    surroundings: Surroundings | None = None,
) -> Snapshot: ...
def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    commit: int | None = None,
    check: bool = False,
    surroundings: Surroundings | None = None,
) -> WaveIndex | LifetimeIndex | Snapshot:
    """Open the index at a path or URI, to read from it and to write to it.

    With `commit`, it is opened as that commit left it.

    With `check`, every file that is opened to be read is checked once, all of it, before it is
    answered from. An answer is then what was written, or Damaged. Without it damage is found when
    files are merged or rewritten, and by `verify`.

    It is a WaveIndex or a LifetimeIndex, as it was created. Raises NotAnIndex where there is none,
    CommitGone where that commit is not kept, NewerFormat or OlderFormat where another Wavedex wrote
    it, BadPath or DiskFailed where a URI names no place or one that cannot be reached.
    """
    index = open_index(path, surroundings=surroundings, check=check)
    return index if commit is None else index.snapshot(commit)


def live(window: Window, index: WaveIndex | LifetimeIndex) -> Live:
    """Memory and disk as one: a window, and the index that is its archive.

    Raises BadDefinition where the index is not the archive of the window.
    """
    from wavedex.online.live import live as read_both

    return read_both(window, index)


__all__ = [
    "Appended",
    "Committed",
    "Fed",
    "LifeSnapshot",
    "LifetimeIndex",
    "Refreshed",
    "Retracted",
    "Snapshot",
    "Surroundings",
    "Tuning",
    "WaveIndex",
    "WavedexError",
    "errors",
    "live",
    "matching",
    "observe",
    "open",
    "position",
    "split_codes",
    "trust_server",
    "tune",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
