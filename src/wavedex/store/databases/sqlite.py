"""The SQLite package: a part is a SQLite database of one table, with an index on key and time.

There are two kinds of part. A part that never changes is a file that nobody locks. It is opened as
immutable, so that it can be read from a read-only disk, and it has a checksum. A part that grows is
a database in WAL mode, in which readers and a writer do not wait for each other. A reader asks for
the rows below its count and holds nothing between two queries. A writer's rows go into the
write-ahead log, which SQLite syncs before the write returns. The log and its index in shared memory
are files next to the database. A part names them, so that they stay for as long as the database
does.

SQLite can delete rows, but would take them from under a reader who holds an earlier commit. So as a
package of ours it has no deletion.

Other descriptors of a database in WAL mode would drop the locks of this process when they are
closed. So a part that grows is not opened by any other means once it was handed out.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.types as pt
import xxhash

from wavedex.errors import (
    BadDefinition,
    Damaged,
    DiskFailed,
    DiskFull,
    NotOurs,
    PackageFailed,
    ReadOnly,
    TooLarge,
)
from wavedex.files.contract import AnyFiles, FileRef, name_refusal
from wavedex.rows.content import add_content
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.databases.simple_types import from_values, simple_type, to_values
from wavedex.store.databases.sql import (
    PIECE_ROWS,
    ROW,
    SqlShard,
    aliases,
    check_columns,
    grown,
    numbered,
    quoted,
    write_version,
)
from wavedex.store.package import Format, Site, Updatable
from wavedex.store.part import Part, Slots
from wavedex.store.sorter import sort_rows

if TYPE_CHECKING:
    import sqlite3

UNCHANGING, READ, WRITE = "mode=ro&immutable=1", "mode=ro", "mode=rw"
"""How a database is opened: one that never changes, one that grows, one that is added to here."""
STORE = "sqlite"
GROWING = "sqlite-growing"
TABLE = "entries"
KEYS_AT_ONCE = 500
"""How many keys one query looks up."""
ROOM_BYTES = 1 << 16
"""What must fit beside a database for a failed write to have another cause than a full disk."""
BUSY_S = 60.0
"""How long a writer waits for a checkpoint that another process has begun."""


def build_sqlite(files: AnyFiles, spec: EntrySpec, stem: str, entries: Pieces, held: Slots) -> Part:
    """Write the entries as a database that never changes.

    REQUIRES: at least one row. ENSURES: it lasts.
    """
    batch = sort_rows(spec, entries).batch
    ref, _ = _write(files, spec, f"{stem}.sqlite", batch)
    checksum = xxhash.xxh64(files.map(ref)).hexdigest()
    ref = replace(ref, checksum=checksum)
    return Part(STORE, {"rows": ref, "directory": ref}, held, held, batch.num_rows)


@dataclass(frozen=True)
class SqliteUpdates(Updatable):
    """Databases that are added to."""

    site: Site
    """What is known where parts are changed."""

    def build(self, stem: str, batch: pa.RecordBatch, held: Slots) -> Part:
        files, spec = self.site.files, self.site.spec
        rows = sort_rows(spec, Pieces.of(batch)).batch
        ref, content = _write(files, spec, f"{stem}.sqlite", rows, grows=True)
        return self._part(stem, ref, held, rows.num_rows, content)

    def add(self, part: Part, stem: str, batch: pa.RecordBatch, slots: Slots) -> Part:
        files, spec = self.site.files, self.site.spec
        name = part.files["rows"].name
        rows, content = numbered(spec, sort_rows(spec, Pieces.of(batch)).batch, part.rows)

        def insert(path: Path) -> int:
            with _writing(path) as database:
                # What an earlier attempt left is gone from the file too, not only from sight.
                database.execute("pragma secure_delete = on")
                database.execute("begin immediate")
                database.execute(f"delete from {TABLE} where {quoted(ROW)} >= {part.rows}")
                _insert(database, rows)
                database.execute("commit")
                return _bytes(database)

        _check_beside(files, name)
        size = files.hand_over(name, insert)
        total = add_content(part.content or 0, content)
        count = part.rows + batch.num_rows
        version = write_version(files, stem, count, total)
        part = replace(part, files={**part.files, "rows": FileRef(name, size)})
        return grown(part, part.held | slots, count, total, version)

    def copy(self, part: Part, stem: str) -> Part:
        files, name = self.site.files, f"{stem}.sqlite"
        files.create(name, lambda sink: None)

        def fill(path: Path) -> int:
            source = _connect(files, part.files["rows"].name, READ)
            with contextlib.closing(source), _writing(path) as database:
                source.backup(database)
                database.execute(f"delete from {TABLE} where {quoted(ROW)} >= {part.rows}")
                return _bytes(database)

        ref = FileRef(name, files.hand_over(name, fill))
        files.sync(name)
        return self._part(stem, ref, part.held, part.rows, part.content or 0)

    def _part(self, stem: str, ref: FileRef, held: Slots, rows: int, content: int) -> Part:
        version = write_version(self.site.files, stem, rows, content)
        beside = {role: FileRef(f"{ref.name}-{role}", 0) for role in ("wal", "shm")}
        refs = {"rows": ref, **beside, "directory": version}
        return Part(GROWING, refs, held, held, rows, content)


class SqliteShard(SqlShard):
    """A database that is read. Several threads may ask; they take turns."""

    how = UNCHANGING
    _table = TABLE

    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        super().__init__(files, spec, part)
        files.size(self._rows_name)  # Raises FileNotFoundError, which SQLite would not.
        self._turn = threading.Lock()
        self._path = Path(files.path(self._rows_name))
        # Closed when nobody holds it any more, without a line of Python: an interrupt that came in
        # one would be lost.
        self._database = _connect(files, self._rows_name, self.how)
        # The first query opens all that belongs to the database, so that it stays readable without
        # its names.
        last = self._fetch(f"select max({quoted(ROW)}) from {TABLE}")[0][0]
        if last is None or last < part.rows - 1:
            files.size(self._rows_name)
            raise Damaged(f"{self._rows_name} holds fewer than {part.rows} rows")

    def _mark(self, place: int) -> str:
        return "?"

    def _ask(
        self, names: Sequence[str], tests: Sequence[str], values: Sequence[pa.Array] = ()
    ) -> list[pa.Array]:
        text = self._select(names, tests, by_number=not values)
        return self._columns(names, self._fetch(text, [to_values(value)[0] for value in values]))

    def _ask_keys(self, keys: Sequence[pa.Array], tests: Sequence[str]) -> list[pa.Array]:
        names = self.spec.schema.names
        asked = [*zip(*map(to_values, keys), strict=True)]
        wanted = aliases(names, len(keys))
        matches = " and ".join(f"{k} = {w}" for k, w in zip(self._keys, wanted, strict=True))
        columns = ", ".join(map(quoted, names))
        row = f"({', '.join('?' * len(keys))})"
        found: list[Any] = []
        for first in range(0, len(asked), KEYS_AT_ONCE):
            some = asked[first : first + KEYS_AT_ONCE]
            # The order of the tables is kept by "cross join": keys are looked up, not rows.
            text = (
                f"with wanted({', '.join(wanted)}) as (values {', '.join([row] * len(some))}) "
                f"select {columns} from wanted cross join {TABLE} on {matches} where "
                f"{' and '.join(tests)}"
            )
            found += self._fetch(text, [*chain.from_iterable(some)])
        return self._columns(names, found)

    def _columns(self, names: Sequence[str], rows: list[Any]) -> list[pa.Array]:
        kinds = [simple_type(self.spec.schema.field(name).type) for name in names]
        columns: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * len(names)
        try:
            return [from_values(c, kind) for c, kind in zip(columns, kinds, strict=True)]
        except (TypeError, ValueError, OverflowError) as error:
            raise Damaged(f"{self._rows_name} holds what was never written ({error})") from error

    def _fetch(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._turn, _named_errors(self._path, self.how):
            return self._database.execute(text, values).fetchall()

    def _rule_findings(self) -> Iterable[str]:
        for (line,) in self._fetch("pragma integrity_check"):
            if line != b"ok":
                yield f"{self._rows_name}: {line.decode(errors='replace')}"


class GrowingSqliteShard(SqliteShard):
    """A database that is added to while it is read."""

    how = READ

    def answer_findings(self) -> list[str]:
        """Its rows may be right and the tree that finds them damaged."""
        return super().answer_findings() or [*self._rule_findings()]


def check_sqlite(spec: EntrySpec) -> None:
    """Raise BadDefinition where SQLite cannot keep entries like these."""
    import sqlite3

    check_columns(spec, "SQLite", fold=True)
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            _create(database, spec)
    except sqlite3.Error as error:
        raise BadDefinition(
            f"SQLite refuses a table of these columns ({error}). Use fewer columns, or "
            "format='arrow'."
        ) from error


def _write(
    files: AnyFiles, spec: EntrySpec, name: str, batch: pa.RecordBatch, grows: bool = False
) -> tuple[FileRef, int]:
    """Write a database anew, and return it with the hash of its rows. ENSURES: it lasts."""
    rows, content = numbered(spec, batch, 0)
    files.create(name, lambda sink: None)

    def fill(path: Path) -> int:
        with _writing(path) as database:
            # Nobody knows the file yet: what is half-written when the machine goes down is a file
            # without a name.
            database.execute("pragma journal_mode = off")
            database.execute("pragma synchronous = off")
            database.execute("begin")
            _create(database, spec)
            _insert(database, rows)
            database.execute("commit")
            if grows:
                database.execute("pragma journal_mode = wal")
            return _bytes(database)

    size = files.hand_over(name, fill)
    files.sync(name)
    return FileRef(name, size), content


def _create(database: sqlite3.Connection, spec: EntrySpec) -> None:
    columns = [f"{quoted(field.name)} {_declared(field.type)}" for field in spec.schema]
    database.execute(
        f"create table {TABLE} ({quoted(ROW)} integer primary key, {', '.join(columns)})"
    )
    found = ", ".join(map(quoted, dict.fromkeys([*spec.key_names, spec.order])))
    database.execute(f"create index {TABLE}_by_key on {TABLE} ({found})")


def _declared(kind: pa.DataType) -> str:
    stored = simple_type(kind)
    if pt.is_floating(stored):
        return ""  # In a column of type REAL a -0.0 would become 0.0.
    if pt.is_integer(stored):
        return "integer"
    return "text" if pt.is_string(stored) or pt.is_large_string(stored) else "blob"


def _insert(database: sqlite3.Connection, rows: pa.RecordBatch) -> None:
    marks = ", ".join("?" * rows.num_columns)
    for first in range(0, rows.num_rows, PIECE_ROWS):
        columns = map(to_values, rows.slice(first, PIECE_ROWS).columns)
        database.executemany(f"insert into {TABLE} values ({marks})", zip(*columns, strict=True))


def _bytes(database: sqlite3.Connection) -> int:
    (pages,) = database.execute("pragma page_count").fetchone()
    (size,) = database.execute("pragma page_size").fetchone()
    return int(pages) * int(size)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A database to write to. What is not committed when it is left is undone."""
    database = _opened(path, WRITE)
    # What is refused is looked into before the database is closed, with which its log may go.
    with contextlib.closing(database), _named_errors(path, WRITE):
        database.execute("pragma synchronous = full")
        yield database


def _connect(files: AnyFiles, name: str, how: str) -> sqlite3.Connection:
    """A database to read from, for all threads."""
    _check_beside(files, name)
    database = _opened(Path(files.path(name)), how, check_same_thread=False)
    database.text_factory = bytes
    return database


def _opened(path: Path, how: str, check_same_thread: bool = True) -> sqlite3.Connection:
    import sqlite3

    with _named_errors(path, how):
        return sqlite3.connect(
            f"file:{quote(str(path))}?{how}", BUSY_S, uri=True, isolation_level=None,
            check_same_thread=check_same_thread,
        )  # fmt: skip


def _check_beside(files: AnyFiles, name: str) -> None:
    """Raise NotOurs where a file beside a database would lead SQLite elsewhere.

    A journal can name files that SQLite then removes. We never leave one beside a part.
    """
    for role in ("wal", "shm"):
        files.path(f"{name}-{role}")
    if files.exists(f"{name}-journal"):
        raise NotOurs(
            f"{name}-journal is none of the files that Wavedex leaves beside a database. Restore "
            "the folder from a copy of your own, or build the index anew from its source."
        )


@contextlib.contextmanager
def _named_errors(path: Path, how: str) -> Iterator[None]:
    """Give SQLite's refusals their names."""
    import sqlite3

    name = path.name
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        failed = code == sqlite3.SQLITE_IOERR
        if code == sqlite3.SQLITE_FULL or (failed and how == WRITE and not _has_room(path)):
            raise DiskFull(
                f"No room to write {name}. Free some space and try again; nothing was changed."
            ) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise _not_opened(path, how, error) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise Damaged(f"{name} is no good database ({error})") from error
        if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
            raise TooLarge(f"SQLite has no room for a value in {name} ({error}).") from error
        if failed:
            raise DiskFailed(
                f"Cannot use {name} ({error}). Look to the disk and try again."
            ) from error
        raise PackageFailed(
            f"SQLite refused {name} ({error}). Try again; nothing was changed."
        ) from error


def _not_opened(path: Path, how: str, error: sqlite3.Error) -> Exception:
    """Why the system did not let SQLite open a file, which SQLite does not tell.

    Rights are looked at, since they stay as they are. The number of open files does not stay: other
    threads have closed some. Raises FileNotFoundError where the file is gone.
    """
    with contextlib.suppress(PermissionError):
        path.stat()
    if how == UNCHANGING:
        may = os.access(path, os.R_OK)
    else:
        beside = filter(os.path.exists, (f"{path}-wal", f"{path}-shm"))
        used = (str(path.parent), str(path), *beside)
        may = all(os.access(each, os.R_OK | os.W_OK) for each in used)
    if may:
        return DiskFailed(
            f"SQLite cannot open {path.name} ({error}), though this user may; nothing was "
            "changed. If too many files are open in this process, raise the limit (ulimit -n), or "
            "use fewer shards and sub-indexes."
        )
    return ReadOnly(
        f"SQLite may not open {path.name} ({error}). Use the index as a user who may write to its "
        "folder: a database that grows is not even read without that."
    )


def _has_room(path: Path) -> bool:
    """Whether a file beside this one may grow past its size.

    SQLite does not tell why the system refused a write.
    """
    try:
        beside = [path, path.with_name(f"{path.name}-wal")]
        largest = max(each.stat().st_size for each in beside if each.exists())
        with tempfile.TemporaryFile(dir=path.parent) as scratch:
            return os.pwrite(scratch.fileno(), bytes(ROOM_BYTES), largest) == ROOM_BYTES
    except OSError as error:
        return not isinstance(name_refusal(error, path), DiskFull)


SQLITE = Format(
    build_sqlite,
    check_sqlite,
    {STORE: SqliteShard, GROWING: GrowingSqliteShard},
    updates=SqliteUpdates,
    needs_local_disk=True,
)
