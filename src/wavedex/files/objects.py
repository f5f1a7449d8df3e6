"""The files of an index on an object store: S3, Google Cloud Storage, Azure, and those like them.

Offers what `Files` offers, as far as such a store goes. An object appears whole, under its last
name, by one put. The store refuses the put where the name is taken: of any number of writers one
wins. There are no folders, no locks and no pins, and nothing is changed in place.

A client that gets no answer sends a put again, and may then be refused because of itself. So
whoever is refused reads what is there. Nothing else is retried here; obstore retries by itself.
Whatever a store refuses comes out as an error with a name.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from wavedex.errors import (
    CommitUncertain,
    Damaged,
    DiskFailed,
    ReadOnly,
    UnsafeStore,
    WavedexError,
)
from wavedex.extras import require
from wavedex.files.contract import FileRef, Output, check_spans
from wavedex.files.names import check_inside
from wavedex.files.unlocked import ADVICE, ALLOWED, UnlockedFiles

PUT_BYTES_MAX = 16 << 20
"""Up to this size an object is put in one request. What is larger is sent in parts, as it comes."""
PUTS_MAX = 3
"""How often a put is tried while the store says that the name is taken, and nothing is there."""
APART = "lock"
"""The object by which a store shows that it keeps writers apart. A local lock has this name."""

GAP_BYTES_MAX = 1 << 20
"""Spans no farther apart than this are read in one request.

To ask again takes longer than to receive this much in vain.
"""

_REFUSED = re.compile(r"status code: 4\d\d")
"""How obstore says that a store has understood a request and does not carry it out."""


class ObjectFiles(UnlockedFiles):
    """The objects of an obstore store whose names begin with a base.

    `root` is how people name it: the URI from which `files_at` made this, or something to print
    where there is none. `one_writer` says that somebody else keeps writers apart. It is for stores
    that cannot put only where nothing is.
    """

    def __init__(
        self, store: Any, base: str, root: str | None = None, one_writer: bool = False
    ) -> None:
        self._store = store
        self._base = base.strip("/")
        self._one_writer = one_writer
        self._is_apart = False
        self.root = root or f"{type(store).__name__}://{self._base}"

    def _at(self, name: str) -> str:
        """What the store calls it. Raises NotOurs where the name leads out of the root."""
        check_inside(name)
        return "/".join(part for part in (self._base, name) if part)

    # -- reading ------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        return self._head(name) is not None or self.is_folder(name)

    def is_folder(self, name: str) -> bool:
        """Whether there is an object below it: a folder is nothing else."""
        with self._reading(name):
            return (
                next(iter(_obstore().list(self._store, self._at(name), chunk_size=1)), None)
                is not None
            )

    def age_s(self, name: str) -> float:
        """By this machine's clock and the store's. Raises FileNotFoundError."""
        found = self._head(name)
        if found is None:
            raise self.gone(name)
        return time.time() - found["last_modified"].timestamp()

    def _head(self, name: str) -> Any | None:
        """What the store says of an object; None where there is none."""
        if not self._at(name):
            return None
        try:
            with self._reading(name):
                return _obstore().head(self._store, self._at(name))
        except FileNotFoundError:
            return None

    def list(self, folder: str) -> list[str]:
        found = self._list(folder)
        paths = [*(each["path"] for each in found["objects"]), *found["common_prefixes"]]
        # A store lists nothing below an object, as it does below nothing.
        if not paths and self._head(folder) is not None:
            raise self.no_folder(folder)
        return [path.rpartition("/")[2] for path in paths]

    def _list(self, folder: str) -> Any:
        with self._reading(folder):
            return _obstore().list_with_delimiter(self._store, self._at(folder))

    def version(self, folder: str) -> Hashable | None:
        """The names themselves, with what the store says of each. COST: one listing.

        A log uses no name twice. So its names alone would do while the index is not removed and
        made anew.
        """
        told = ("path", "size", "e_tag", "last_modified")
        objects = self._list(folder)["objects"]
        return frozenset(tuple(each[name] for name in told) for each in objects)

    def read(self, name: str) -> bytes:
        with self._reading(name):
            return bytes(_obstore().get(self._store, self._at(name)).bytes())

    def map(self, ref: FileRef) -> pa.Buffer:
        """The content, read into memory. COST: one request."""
        with self._reading(ref.name):
            found = _obstore().get(self._store, self._at(ref.name))
            size = found.meta["size"]
            fits = size == ref.bytes or (size > ref.bytes and not ref.checksum)
            content = _aligned(pa.py_buffer(found.bytes())) if fits else None
        if content is None or content.size < ref.bytes:
            raise Damaged(f"{ref.name} has {size} bytes, not {ref.bytes}")
        return content.slice(0, ref.bytes)

    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> Sequence[pa.Buffer]:
        """Some of the content.

        COST: spans that lie close together are one request, others are asked for at the same time.
        """
        groups = _grouped(spans)
        starts, stops = [start for start, _ in groups], [stop for _, stop in groups]
        try:
            with self._reading(name):
                # It would group them itself, and break down where the object is too short for a
                # group.
                found = _obstore().get_ranges(
                    self._store, self._at(name), starts=starts, ends=stops, coalesce=0
                )
        except DiskFailed:
            self._check_size(name, spans)
            raise
        if [len(content) for content in found] != [stop - start for start, stop in groups]:
            self._check_size(name, spans)
        held = [pa.py_buffer(content) for content in found]
        pieces = []
        for start, stop in spans:
            group = bisect_right(starts, start) - 1
            pieces.append(
                _aligned(held[group].slice(start - starts[group], stop - start))
                if start < stop
                else pa.py_buffer(b"")
            )
        return pieces

    def _check_size(self, name: str, spans: Sequence[tuple[int, int]]) -> None:
        found = self._head(name)
        if found is None:
            raise self.gone(name)
        check_spans(name, spans, found["size"])

    # -- changing -----------------------------------------------------------------------------

    def make_folder(self, name: str) -> None:
        """There are none: a folder is there while something is in it."""

    def create(self, name: str, fill: Callable[[Output], object]) -> FileRef:
        """Write a new object, which lasts once it is written.

        Raises FileExistsError where there is one.
        """
        upload = _Upload(self, name)
        sink = Output(upload.put)
        fill(sink)
        upload.finish()
        return FileRef(name, sink.bytes, sink.checksum)

    def publish(self, name: str, data: bytes, draft: str) -> None:
        """Put an object if there is none of its name.

        Raises FileExistsError where another's is there, and CommitUncertain where the store does
        not say what came of the put: it may still be carried out.
        """
        self._check_apart()
        try:
            self.put_new(name, data)
        except DiskFailed as error:
            if _REFUSED.search(str(error)):
                raise
            raise CommitUncertain(f"Nobody says whether that was done. {error}") from error

    def put_new(self, name: str, data: bytes) -> None:
        """Put an object whole if there is none of its name, and see that it is this one.

        Raises FileExistsError where another's is there, and DiskFailed where the store refuses or
        does not answer.
        """
        for _ in range(PUTS_MAX):
            try:
                self._put(name, data)
                return
            except FileExistsError:
                failed = None
            except DiskFailed as error:
                failed = error
            there = self._read_back(name)
            if there == data:
                return
            if there is not None:
                raise self.taken(name)
            if failed is not None:
                raise failed
        raise DiskFailed(
            f"Cannot write {self.path(name)} "
            f"(the store says that there is one, and shows none). {ADVICE}"
        )

    def _put(self, name: str, data: bytes) -> None:
        if self._one_writer and self._head(name) is not None:
            raise self.taken(name)
        mode = "overwrite" if self._one_writer else "create"
        with self._writing(name):
            _obstore().put(self._store, self._at(name), data, mode=mode, use_multipart=False)

    def _read_back(self, name: str) -> bytes | None:
        """What is there now; None where nothing is, or where that cannot be told either."""
        try:
            return self.read(name)
        except (FileNotFoundError, DiskFailed):
            return None

    def _check_apart(self) -> None:
        """See, once, that the store refuses to put what is there already.

        Some stores heed no condition, and do not say so.
        """
        if self._one_writer or self._is_apart:
            return
        for _ in range(2):
            try:
                self._put(APART, b"")
            except FileExistsError:
                self._is_apart = True
                return
        raise UnsafeStore(
            f"The store of {self.root} does not keep two writers apart: it puts an object even "
            "where one is, though it is told not to. Use a store that heeds If-None-Match. Or let "
            "one job write, see to it that there is never a second, and say so: "
            f"{self.root}{'&' if '?' in self.root else '?'}one_writer=true"
        )

    def open_upload(self, name: str) -> Any:
        """A writer that sends an object in parts. Raises FileExistsError where there is one."""
        if self._head(name) is not None:
            raise self.taken(name)
        with self._writing(name):
            return _obstore().open_writer(self._store, self._at(name), buffer_size=PUT_BYTES_MAX)

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), self._writing(name, FileNotFoundError):
            _obstore().delete(self._store, self._at(name))

    # -- errors -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Name what goes wrong with a question. Raises FileNotFoundError."""
        try:
            yield
        except FileNotFoundError:
            raise self.gone(name) from None
        except Exception as error:  # obstore has its own, and those of whatever is below it.
            if isinstance(error, WavedexError):
                raise
            raise DiskFailed(
                f"Cannot read {self.path(name)} ({_said_of(error)}). {ADVICE}"
            ) from error

    @contextlib.contextmanager
    def _writing(self, name: str, *meant: type[Exception]) -> Iterator[None]:
        """Name what goes wrong with a change, but for what the caller has a use for.

        Raises FileExistsError.
        """
        known = _obstore().exceptions
        try:
            yield
        except known.AlreadyExistsError:
            raise self.taken(name) from None
        except (known.PermissionDeniedError, known.UnauthenticatedError) as error:
            raise ReadOnly(
                f"Not allowed to write {self.path(name)} ({_said_of(error)}). {ALLOWED}"
            ) from error
        except Exception as error:
            if isinstance(error, (WavedexError, *meant)):
                raise
            raise DiskFailed(
                f"Cannot write {self.path(name)} ({_said_of(error)}). {ADVICE}"
            ) from error


class _Upload:
    """What is written to a new object.

    It is put at the end in one request, or sent in parts where it is large.
    """

    def __init__(self, files: ObjectFiles, name: str) -> None:
        self._files = files
        self._name = name
        self._waiting = bytearray()
        self._stream: Any = None

    def put(self, data: memoryview) -> int:
        if self._stream is None and len(self._waiting) + len(data) <= PUT_BYTES_MAX:
            self._waiting += data
            return len(data)
        if self._stream is None:
            self._stream = self._files.open_upload(self._name)
        with self._files._writing(self._name):
            for part in (self._waiting, data):
                self._stream.write(bytes(part)) if len(part) else None
        self._waiting = bytearray()
        return len(data)

    def finish(self) -> None:
        if self._stream is None:
            self._files.put_new(self._name, bytes(self._waiting))
            return
        with self._files._writing(self._name):
            self._stream.close()


_used_by: list[int] = []
"""The process that first used obstore, which has threads from then on.

A process that is forked from it would wait for them forever.
"""


def _obstore() -> Any:
    if not _used_by:
        _used_by.append(os.getpid())
    if _used_by[0] != os.getpid():
        raise DiskFailed(
            "This process was forked from one that has used an object store, which cannot be used "
            "here. Start it anew, as multiprocessing does with spawn or forkserver."
        )
    return require("obstore")


def _grouped(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in their order on the disk. Close ones are joined, empty ones are left out."""
    groups: list[tuple[int, int]] = []
    for start, stop in sorted(span for span in spans if span[0] < span[1]):
        if groups and start - groups[-1][1] <= GAP_BYTES_MAX:
            first, last = groups.pop()
            start, stop = first, max(last, stop)
        groups.append((start, stop))
    return groups


def _aligned(found: pa.Buffer) -> pa.Buffer:
    """What was received, as Arrow takes it: its arrays begin at multiples of eight bytes."""
    return found if found.address % 8 == 0 else pa.py_buffer(found.to_pybytes())


def _said_of(error: Exception) -> str:
    """What a store says, on one line and without the details that follow.

    Of an answer in XML only the code is kept.
    """
    text = str(error).partition("Debug source:")[0]
    code = re.search(r"<Code>(\w+)</Code>", text)
    told = text.partition("<")[0] + (code[1] if code else "")
    return " ".join(told.split()).rstrip(".:; ") or type(error).__name__
