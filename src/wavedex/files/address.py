"""Where does an index lie? From what a user writes to the object that reads and writes there.

A path is on the local disk, whatever it looks like, unless it is text that begins with a scheme and
`://`. Then it is a URI: of an object store, or of another file system that Arrow knows. A URI is
printed in messages and kept by other processes. So one with a secret in it is refused.
"""

from __future__ import annotations

import os
import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from wavedex.errors import BadPath, DiskFailed
from wavedex.files.contract import AnyFiles
from wavedex.files.local import Files

_IS_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_IS_SECRET = re.compile(r"secret|token|password|key|sig", re.IGNORECASE)
_KNOWN = "s3://, gs://, az://, abfs://, hdfs://, fsspec+...:// or file:///"
_OBJECT_STORES = frozenset({"s3", "gs", "gcs", "az", "abfs", "abfss"})


def files_at(path: str | os.PathLike[str]) -> AnyFiles:
    """The files at a path or URI.

    Raises BadPath where it cannot be understood, DiskFailed where it cannot be reached.

    >>> files_at("file:///tmp/sales%20of%20May.wx").root
    PosixPath('/tmp/sales of May.wx')
    """
    text = os.fspath(path)
    if not isinstance(text, str) or not _IS_URI.match(text):
        return Files(path)
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        # It may be a password with a letter in it that should have been escaped, so nothing is
        # repeated.
        scheme = text.partition(":")[0]
        raise BadPath(
            f"What follows {scheme}:// cannot be understood. Write {scheme}://host/folder, "
            "with a port that is a number if any, and without credentials."
        ) from None
    _check_secrets(parts)
    if parts.fragment:
        raise BadPath(f"{text!r} has a # in it. Write %23 where a name has one.")
    if parts.scheme == "file":
        return _local_files(parts)
    where, mark, options = text.partition("://")[2].partition("?")
    uri = f"{parts.scheme}://{where.rstrip('/')}{mark}{options}"
    return _object_files(uri) if parts.scheme in _OBJECT_STORES else _remote_files(uri)


def _check_secrets(parts: SplitResult) -> None:
    options = parse_qsl(parts.query, keep_blank_values=True)
    secrets = [name for name, _ in options if _IS_SECRET.search(name)]
    secret = "a password" if parts.password is not None else next(iter(secrets), None)
    if secret is not None:
        raise BadPath(
            f"The {parts.scheme}:// URI has {secret} in it, which would be seen wherever the path "
            "is. Leave it out and give credentials through the environment, as docs/filesystems.md "
            "says."
        )


def _local_files(parts: SplitResult) -> Files:
    if parts.netloc not in ("", "localhost") or parts.query or not parts.path:
        raise BadPath(
            f"{parts.geturl()!r} names no local folder. "
            "Write file:/// and an absolute path, or only the path."
        )
    return Files(unquote(parts.path))


def _object_files(uri: str) -> AnyFiles:
    # It needs a package that is not needed otherwise.
    from wavedex.files.buckets import object_files_at

    return object_files_at(uri)


def _remote_files(uri: str) -> AnyFiles:
    # They take some ten milliseconds to import, and most indexes need none.
    from pyarrow.fs import FileSystem

    from wavedex.files.remote import RemoteFiles

    try:
        system, base = FileSystem.from_uri(uri)
    except OSError as error:
        raise DiskFailed(
            f"Cannot reach {uri} ({error}). Check the address, the credentials and the connection."
        ) from error
    except Exception as error:  # Arrow, fsspec and its file systems each have their own.
        raise BadPath(
            f"{uri!r} cannot be used ({error}). "
            f"Give a path on a local disk, or a URI that begins with {_KNOWN}."
        ) from error
    if not base.strip("/"):
        raise BadPath(f"{uri!r} names no folder. Say where in it the index is to be.")
    return RemoteFiles(system, base, uri)
