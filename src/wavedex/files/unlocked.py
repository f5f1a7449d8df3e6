"""What all stores without locks share: what was written lasts, nobody is kept out or held up."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from wavedex.files.contract import AnyFiles, Pin

ADVICE = "Check the address, the credentials and the connection, and try again."
ALLOWED = "Use credentials that may write there."


class UnlockedFiles(AnyFiles):
    """Files whose root is named by a URI, with no locks and no pins."""

    root: str
    is_local = False

    def path(self, name: str) -> str:
        """The URI of `name`, with the options that the root was given."""
        where, mark, options = self.root.partition("?")
        return f"{where}/{name}{mark}{options}" if name else self.root

    def sync(self, name: str) -> None:
        """What was closed lasts."""

    def sync_folder(self, name: str) -> None:
        """What was closed lasts, and its name."""

    @contextlib.contextmanager
    def lock(self, name: str, preparing: bool = False) -> Iterator[None]:
        """Hold nothing: a lock that is a file would outlive a writer that crashed.

        The commit keeps writers apart.
        """
        yield

    def pin(self, name: str) -> Pin:
        """Hold nothing: readers have in memory what they read.

        Files that never change need no pin.
        """
        return Pin()

    def remove_unpinned(self, name: str) -> bool:
        self.remove(name)
        return True

    def gone(self, name: str) -> FileNotFoundError:
        """What to raise where a file is not there."""
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path(name))

    def taken(self, name: str) -> FileExistsError:
        """What to raise where a name is taken."""
        return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.path(name))

    def no_folder(self, name: str) -> NotADirectoryError:
        """What to raise where a file is taken for a folder."""
        return NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self.path(name))
