"""The files of an index on a file system that Arrow knows: HDFS, what fsspec reaches, a sub-tree.

A sub-tree is one of another file system. Offers what `Files` offers, as far as such a store goes. A
file is read whole into memory. It is there, and lasts, once it was written and closed. There are no
locks and no pins, and nothing is changed in place. A name is taken in two steps: by looking whether
it is free, and then moving a file there. docs/filesystems.md says what that asks of a user.

Nothing here retries or caches; Arrow retries by itself. Whatever a store refuses comes out as an
error with a name.
"""

from __future__ import annotations

import contextlib
import errno
import re
import time
from collections.abc import Callable, Hashable, Iterator, Sequence

import pyarrow as pa
import pyarrow.fs as pafs

from wavedex.errors import Damaged, DiskFailed, ReadOnly, WavedexError
from wavedex.files.contract import FileRef, LinkingFiles, Output, check_spans, name_refusal
from wavedex.files.names import check_inside
from wavedex.files.unlocked import ADVICE, ALLOWED, UnlockedFiles

_DENIED = re.compile(
    r"ACCESS_DENIED|AccessDenied|PERMISSION_DENIED|AuthorizationPermissionMismatch|Forbidden"
    r"|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH"
)
"""How stores say in the text of an error that something is not allowed.

Arrow gives numbers only to the errors of local disks and of HDFS.
"""


class RemoteFiles(UnlockedFiles, LinkingFiles):
    """The files below one folder of a file system of Arrow's.

    `base` is the folder as that file system names it. `root` is how people name it: the URI from
    which `files_at` made this, or something to print where there is none.
    """

    def __init__(self, system: pafs.FileSystem, base: str, root: str | None = None) -> None:
        self._system = system
        self._base = base.rstrip("/")
        self.root = root or f"{system.type_name}://{self._base}"

    def _at(self, name: str) -> str:
        """What the file system calls it. Raises NotOurs where the name leads out of the root."""
        check_inside(name)
        return "/".join(part for part in (self._base, name) if part)

    # -- reading ------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        return self._info(name).type is not pafs.FileType.NotFound

    def is_folder(self, name: str) -> bool:
        return self._info(name).type is pafs.FileType.Directory

    def age_s(self, name: str) -> float:
        """By this machine's clock and the store's; 0 where the store does not say.

        Raises FileNotFoundError.
        """
        info = self._info(name)
        if info.type is pafs.FileType.NotFound:
            raise self.gone(name)
        return 0.0 if info.mtime_ns is None else time.time() - info.mtime_ns / 1e9

    def _info(self, name: str) -> pafs.FileInfo:
        with self._reading(name):
            return self._system.get_file_info(self._at(name))

    def list(self, folder: str) -> list[str]:
        names = [info.base_name for info in self._infos(folder)]
        # An object store lists nothing below an object, as it does below nothing.
        if not names and self._info(folder).type is pafs.FileType.File:
            raise self.no_folder(folder)
        return names

    def _infos(self, folder: str) -> Sequence[pafs.FileInfo]:
        wanted = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self._reading(folder):
            return self._system.get_file_info(wanted)

    def version(self, folder: str) -> Hashable | None:
        """The names themselves, with size and time of change. COST: one listing.

        A log uses no name twice. So its names alone would do while the index is not removed and
        made anew.
        """
        return frozenset((info.base_name, info.size, info.mtime_ns) for info in self._infos(folder))

    def read(self, name: str) -> bytes:
        with self._opened(name) as file:
            return file.read()

    def map(self, ref: FileRef) -> pa.Buffer:
        """The content, read into memory. COST: one request for the size and one for all bytes."""
        with self._opened(ref.name) as file:
            size = file.size()
            fits = size == ref.bytes or (size > ref.bytes and not ref.checksum)
            content = file.read_buffer(ref.bytes) if fits else None
        if content is None or content.size != ref.bytes:
            found = size if content is None else content.size
            raise Damaged(f"{ref.name} has {found} bytes, not {ref.bytes}")
        return content

    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> Sequence[pa.Buffer]:
        """Some of the content. COST: one request for the size and one for each span."""
        with self._opened(name) as file:
            check_spans(name, spans, file.size())
            return [pa.py_buffer(file.read_at(stop - start, start)) for start, stop in spans]

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[pa.NativeFile]:
        """A file to be read. Raises FileNotFoundError, even where it goes during the reading."""
        try:
            with self._reading(name), self._system.open_input_file(self._at(name)) as file:
                yield file
        except DiskFailed:
            # Stores say in many ways that something is gone, some of them hard to understand.
            self._check_there(name)
            raise

    # -- changing -----------------------------------------------------------------------------

    def make_folder(self, name: str) -> None:
        with self._writing(name):
            self._system.create_dir(self._at(name), recursive=True)

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        """Write a new file, which lasts once it is written.

        Raises FileExistsError where there is one.
        """
        self._check_free(name)
        with self._writing(name):
            stream = self._system.open_output_stream(self._at(name), compression=None)

        def put(data: memoryview) -> int:
            with self._writing(name):
                return stream.write(data)

        sink = Output(put)
        try:
            fill(sink)
        except BaseException:
            # A stream cannot be given up: what has come so far gets the name, and the caller
            # removes it.
            with contextlib.suppress(Exception):
                stream.close()
            raise
        with self._writing(name):
            stream.close()
        return FileRef(name, sink.bytes, sink.checksum)

    def link(self, source: str, target: str) -> None:
        """Move a file to a name that is free. Raises FileExistsError or FileNotFoundError.

        Between the look and the move another writer may take the name. Where a move onto a name
        that is taken fails, as on HDFS, that is found out. Where it replaces what is there, as on
        object stores, it is not.
        """
        self._check_free(target)
        try:
            with self._writing(target, FileNotFoundError):
                self._system.move(self._at(source), self._at(target))
        except DiskFailed:
            self._check_free(target)
            self._check_there(source)
            raise

    def _check_there(self, name: str) -> None:
        if not self.exists(name):
            raise self.gone(name)

    def _check_free(self, name: str) -> None:
        if self.exists(name):
            raise self.taken(name)

    def remove(self, name: str) -> None:
        with (
            contextlib.suppress(FileNotFoundError),
            self._writing(name, FileNotFoundError),
        ):
            self._system.delete_file(self._at(name))

    # -- errors -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Name what goes wrong with a question.

        Raises FileNotFoundError and NotADirectoryError as they are.
        """
        try:
            yield
        except Exception as error:  # A file system that is written in Python may raise anything.
            self._pass_on(error, name, FileNotFoundError, NotADirectoryError)
            raise DiskFailed(
                f"Cannot read {self.path(name)} ({_said_of(error)}). {ADVICE}"
            ) from error

    @contextlib.contextmanager
    def _writing(self, name: str, *meant: type[OSError]) -> Iterator[None]:
        """Name what goes wrong with a change, but for what the caller has a use for."""
        try:
            yield
        except Exception as error:
            self._pass_on(error, name, *meant)
            where = self.path(name)
            if _DENIED.search(str(error)):
                raise ReadOnly(
                    f"Not allowed to write {where} ({_said_of(error)}). {ALLOWED}"
                ) from error
            raise name_refusal(error, where, ADVICE) from error

    def _pass_on(self, error: Exception, name: str, *meant: type[OSError]) -> None:
        """Raise what has its name already, and what is meant, with the file's name in it."""
        if isinstance(error, WavedexError):
            raise error
        if isinstance(error, meant):
            raise type(error)(
                error.errno or errno.ENOENT, _said_of(error), self.path(name)
            ) from error


def _said_of(error: Exception) -> str:
    """What a store says, on one line and without the details that follow."""
    text = str(getattr(error, "strerror", None) or error) or type(error).__name__
    return " ".join(text.partition("Detail:")[0].split()).rstrip(".; ")
