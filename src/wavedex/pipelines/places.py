"""The paths of a pipeline file: where they are, and whether one lies in the other.

A path is local, and then relative to the folder of the file that names it. Or it is a URI, which is
left as it is. Looks at local folders and never at anything behind a URI.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_GLOB = re.compile(r"[*?\[{]")


def is_uri(path: str) -> bool:
    """Whether a path is a URI: s3a://flights/2013 or file:/flights, but not flights/2013."""
    return _URI.match(path) is not None


def place_of(path: str, folder: str) -> str:
    """A path that means the same from everywhere.

    >>> place_of("flights", "/data"), place_of("s3a://flights/2013", "/data")
    ('/data/flights', 's3a://flights/2013')
    """
    return path if is_uri(path) else os.path.abspath(os.path.join(folder, path))


def is_missing(place: str, *, folder: bool = False) -> bool:
    """Whether there is certainly nothing at a place, or no folder.

    Of URIs and patterns nobody can tell.
    """
    if is_uri(place) or (_GLOB.search(place) and not os.path.exists(place)):
        return False
    return not (os.path.isdir(place) if folder else os.path.exists(place))


def lies_in(inner: str, outer: str) -> bool:
    """Whether a place is another one, or below it.

    >>> lies_in("s3a://a/b/c", "s3a://a/b/"), lies_in("/a/bc", "/a/b"), lies_in("file:/a/b", "/a")
    (True, False, True)
    """
    return _steps(inner)[: len(_steps(outer))] == _steps(outer)


def _steps(place: str) -> tuple[str, ...]:
    """Where a place is, from the outside in. Another name of the same place has the same steps."""
    if not is_uri(place):
        return "file", "", *PurePosixPath(os.path.realpath(place)).parts
    parts = urlsplit(place)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return _steps(unquote(parts.path))
    path = PurePosixPath(os.path.normpath(parts.path or "/"))
    return parts.scheme, parts.netloc, *path.parts
