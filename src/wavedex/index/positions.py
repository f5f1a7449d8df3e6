"""From where a stream must be read again, so that all that it feeds agrees.

A stream may feed several things: an archive, results that rest on it, a history. Each notes in its
own commit how far the stream had come. After a crash they may lie apart by some batches. Then the
stream is read again from the first batch that one of them lacks. The others know the batches that
they have and pass them over, so nothing is lost and nothing counts twice. Each knows its last batch
by the number alone, and those before it by their rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from wavedex.errors import BadPath, StreamOutOfStep
from wavedex.index.opening import AnyIndex, open_index
from wavedex.log.progress import Progress

Place = str | os.PathLike[str] | AnyIndex


def position(*places: Place) -> dict[str, int]:
    """The number of the batch from which each stream must be sent again, to all of these.

    They are paths or indexes. A stream counts for those that it has fed, and for those that no
    stream has fed yet: these lack all of it. There is nothing for a stream that has fed none.

    Raises StreamOutOfStep where one of them is so far ahead that it would not know its batches
    again, BadPath where one is neither a path nor an index, and what `wavedex.open` raises.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from wavedex import WaveIndex
    >>> folder = tempfile.TemporaryDirectory()
    >>> rows = pa.table({"user": ["ann"], "day": [1]})
    >>> calls, sales = (
    ...     WaveIndex.create(f"{folder.name}/{n}", rows, key="user", time="day", slot=1, window=7)
    ...     for n in ("calls.wx", "sales.wx")
    ... )
    >>> _ = calls.feed(rows, stream="shop", number=0, delay=0)
    >>> position(calls, sales)
    {'shop': 0}
    >>> _ = sales.feed(rows, stream="shop", number=0, delay=0)
    >>> position(calls, sales)
    {'shop': 1}
    >>> folder.cleanup()
    """
    named = {_name(place): place for place in places}
    fed = {name: _streams(place) for name, place in named.items()}
    names = dict.fromkeys(stream for streams in fed.values() for stream in streams)
    return {stream: _first_lacking(stream, fed) for stream in names}


def _first_lacking(stream: str, fed: Mapping[str, Mapping[str, Progress]]) -> int:
    """The first batch of a stream that one of them lacks. Raises StreamOutOfStep."""
    known = {name: streams[stream] for name, streams in fed.items() if stream in streams}
    first = min(progress.batch + 1 for progress in known.values())
    if not all(fed.values()):
        first = 0
    for name, progress in known.items():
        if first < progress.first_recalled and first <= progress.batch:
            behind = next(
                other
                for other, streams in fed.items()
                if not streams or (stream in streams and streams[stream].batch < first)
            )
            raise StreamOutOfStep(
                f"The stream {stream!r} has come to batch {progress.batch} in {name} and lacks "
                f"batch {first} in {behind}. {name} knows its batches again from "
                f"{progress.first_recalled} on, so the stream cannot be sent to both. Bring "
                f"{behind} up to it by itself first, from the source or from changes."
            )
    return first


def _name(place: Any) -> str:
    """The path of one of them. Raises BadPath."""
    if isinstance(place, AnyIndex):
        return place.path
    path = os.fspath(place) if isinstance(place, str | os.PathLike) else None
    if not isinstance(path, str):
        raise BadPath(
            f"{place!r} is neither a path nor an index. Pass paths or indexes, one by one, as "
            'position("calls.wx", sales).'
        )
    return path


def _streams(place: Place) -> Mapping[str, Progress]:
    index = place if isinstance(place, AnyIndex) else open_index(place)
    return index.manifest.sources.streams
