"""Files of a folder that may come from somebody else: they are reached without following a link.

The folder of an index may itself be reached through links. What lies in it must be files and
folders: a link in it could lead anywhere, and a pipe would keep whoever opens it waiting.
"""

from __future__ import annotations

import errno
import os
import stat

from wavedex.errors import NotOurs


def check_plain(place: str) -> None:
    """Raise NotOurs where a link stands at a place, or anything else but a file or a folder.

    There may be nothing.
    """
    try:
        mode = os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise _not_plain(place, "a link" if stat.S_ISLNK(mode) else "neither file nor folder")


def open_here(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """A descriptor of a file, opened without following a link. Raises NotOurs where it is one."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(path):
            raise _not_plain(os.fspath(path), "a link") from error
        raise


def _not_plain(place: str, what: str) -> NotOurs:
    return NotOurs(
        f"{place} is {what}. In the folder of an index Wavedex uses plain files and folders only, "
        "since others could lead out of it. If you put it there, put the file or folder itself in "
        "its place; otherwise do not use this folder."
    )
