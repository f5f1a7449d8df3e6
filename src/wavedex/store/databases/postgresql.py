"""The PostgreSQL package: a part is a table with an index on key and time.

The tables lie in a schema that belongs to the index. A small file below the folder of the index,
the marker, stands for each table. It is written before the table is, and the table is committed
before a manifest names the marker. When the part is over, the marker goes first, and the table with
the next sweep. So after any crash every table that a manifest names is there, and a table without a
marker is over. Only tables that this index has made are dropped: those with its comment, in the
schema that belongs to it.

A reader holds a connection for each part that it has open, and in a transaction on it a lock on the
table. The lock keeps the table from being dropped and stops nothing else. A sweep leaves such
tables for later.

PostgreSQL can delete rows, but would take them from under a reader who holds an earlier commit. So
as a package of ours it has no deletion.
"""

from __future__ import annotations

import json
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from wavedex.errors import BadDefinition, CommitGone, Damaged, NotOurs
from wavedex.files.contract import AnyFiles, FileRef
from wavedex.files.names import DEFINITION
from wavedex.rows.content import add_content
from wavedex.rows.entries import EntrySpec
from wavedex.rows.pieces import Pieces
from wavedex.store.databases.server import (
    Owner,
    Refused,
    Session,
    check_free,
    check_server,
    literal,
)
from wavedex.store.databases.server_address import Address, needs_an_address, settle
from wavedex.store.databases.simple_types import simple_type
from wavedex.store.databases.sql import (
    ROW,
    SqlShard,
    aliases,
    grown,
    numbered,
    quoted,
    write_version,
)
from wavedex.store.package import Format, Site, Updatable
from wavedex.store.part import Part, Slots
from wavedex.store.shard import checksum_findings
from wavedex.store.sorter import sort_rows

STORE = "postgresql"
MARKER = ".pg"
_NO_TABLE = ("42P01", "3F000")
_LOCKED = "55P03"
_IS_OURS = re.compile(r"[0-9a-f]+(-[0-9a-f]+){3,}")
"""The names of tables: those of the files that stand for them."""


@dataclass(frozen=True)
class Place:
    """A schema on a server that belongs to an index."""

    address: Address
    """The server and the schema."""
    identity: str
    """The identity of the index."""

    def owner(self, files: AnyFiles) -> Owner:
        """To whom the schema must belong."""
        return Owner(self.identity, files.stamp(DEFINITION), str(files.root))

    @property
    def mark(self) -> str:
        """The comment on the tables that this index makes."""
        return json.dumps({"wavedex": self.identity})

    def claimed(self, files: AnyFiles) -> Session:
        """A session with the server, where the schema is this index's own.

        Raises SchemaTaken and its kin.
        """
        session = Session(self.address)
        try:
            session.claim(self.owner(files))
        except BaseException:
            session.close()
            raise
        return session


@dataclass(frozen=True)
class ServerTable:
    """Where a part lies: what its marker says."""

    address: Address
    """The server and the schema."""
    name: str
    """The name of the table."""

    @property
    def quoted(self) -> str:
        """Its name as SQL has it."""
        return f"{quoted(self.address.schema)}.{quoted(self.name)}"

    def mark(self, files: AnyFiles, stem: str) -> FileRef:
        """Write the marker. ENSURES: it lasts."""
        said = {"server": self.address.uri, "schema": self.address.schema, "table": self.name}
        text = json.dumps(said) + "\n"
        ref = files.create(f"{stem}{MARKER}", lambda sink: sink.write(text.encode()))
        files.sync(ref.name)
        return ref

    @classmethod
    def of(cls, files: AnyFiles, ref: FileRef) -> ServerTable:
        """The table that a marker stands for, which has the same name.

        Raises FileNotFoundError or Damaged.
        """
        content = files.map(ref)
        if findings := [*checksum_findings(ref, content)]:
            raise Damaged(findings)
        try:
            said = json.loads(bytes(content))
            table = cls(Address.parse(f"{said['server']}#{said['schema']}"), said["table"])
        except (ValueError, KeyError, TypeError, RecursionError, BadDefinition) as error:
            raise Damaged(f"{ref.name} does not say where a table is ({error})") from error
        if table.name != _name_of(ref.name) or not _IS_OURS.fullmatch(table.name):
            raise NotOurs(
                f"{ref.name} stands for the table {table.name!r}, and Wavedex gives a table the "
                "name of its marker. Restore the folder from a copy of your own, or build the "
                "index anew from its source."
            )
        return table


def build_postgresql(
    place: Place, files: AnyFiles, spec: EntrySpec, stem: str, entries: Pieces, held: Slots
) -> Part:
    """Write the entries as a table. REQUIRES: at least one row. ENSURES: marker and table last."""
    rows, content = numbered(spec, sort_rows(spec, entries).batch, 0)
    table = ServerTable(place.address, _name_of(stem))
    marker = table.mark(files, stem)
    with place.claimed(files) as session:
        columns = [f"{quoted(field.name)} {_declared(field.type)}" for field in spec.schema]
        session.do(
            f"create table {table.quoted} ({quoted(ROW)} bigint primary key, {', '.join(columns)})"
        )
        session.do(f"comment on table {table.quoted} is {literal(place.mark)}")
        session.load(place.address.schema, table.name, rows)
        session.do(f"create index on {table.quoted} ({', '.join(_indexed(spec))})")
        session.do(f"analyze {table.quoted}")
        session.commit()
    files_of = {"rows": marker, "directory": marker}
    return Part(STORE, files_of, held, held, rows.num_rows, content)


@dataclass(frozen=True)
class PostgresqlUpdates(Updatable):
    """Tables that are added to."""

    place: Place
    """Where the tables of the index lie."""
    site: Site
    """What is known where parts are changed."""

    def build(self, stem: str, batch: pa.RecordBatch, held: Slots) -> Part:
        files, spec = self.site.files, self.site.spec
        return build_postgresql(self.place, files, spec, stem, Pieces.of(batch), held)

    def add(self, part: Part, stem: str, batch: pa.RecordBatch, slots: Slots) -> Part:
        files, spec = self.site.files, self.site.spec
        table = ServerTable.of(files, part.files["rows"])
        rows, content = numbered(spec, sort_rows(spec, Pieces.of(batch)).batch, part.rows)
        with replace(self.place, address=table.address).claimed(files) as session:
            # No other writer, but any number of readers.
            session.do(f"lock table {table.quoted} in share row exclusive mode")
            session.do(f"delete from {table.quoted} where {quoted(ROW)} >= {part.rows}")
            session.load(table.address.schema, table.name, rows)
            session.commit()
        total = add_content(part.content or 0, content)
        count = part.rows + rows.num_rows
        version = write_version(files, stem, count, total)
        return grown(part, part.held | slots, count, total, version)

    def copy(self, part: Part, stem: str) -> Part:
        files = self.site.files
        old = ServerTable.of(files, part.files["rows"])
        new = ServerTable(self.place.address, _name_of(stem))
        marker = new.mark(files, stem)
        with self.place.claimed(files) as session:
            session.do(f"create table {new.quoted} (like {old.quoted} including all)")
            session.do(f"comment on table {new.quoted} is {literal(self.place.mark)}")
            shown = f"where {quoted(ROW)} < {part.rows}"
            session.do(f"insert into {new.quoted} select * from {old.quoted} {shown}")
            session.commit()
        return replace(part, files={"rows": marker, "directory": marker})


class PostgresqlShard(SqlShard):
    """A table that is read, over a connection of its own.

    Several threads may ask; they take turns.
    """

    def __init__(self, files: AnyFiles, spec: EntrySpec, part: Part) -> None:
        super().__init__(files, spec, part)
        self.table = ServerTable.of(files, part.files["rows"])
        self._turn = threading.Lock()
        self._session: Session | None = None
        self._kinds = dict(zip(spec.schema.names, map(_declared, spec.schema.types), strict=True))
        try:
            self._open()
        except Refused as refusal:
            if refusal.state in _NO_TABLE:
                raise FileNotFoundError(2, "its table is gone", self._rows_name) from refusal
            raise

    def _open(self) -> Session:
        """A session in whose transaction the table cannot be dropped."""
        session = Session(self.table.address)
        try:
            session.do("set idle_in_transaction_session_timeout = 0")
            session.do(f"lock table {self.table.quoted} in access share mode")
        except BaseException:
            session.close()
            raise
        self._session = session
        self._closing = weakref.finalize(self, session.close)
        return session

    @property
    def _table(self) -> str:
        return self.table.quoted

    def _mark(self, place: int) -> str:
        return f"${place + 1}"

    def _ask(
        self, names: Sequence[str], tests: Sequence[str], values: Sequence[pa.Array] = ()
    ) -> list[pa.Array]:
        text = self._select(names, tests, by_number=not values)
        return self._columns(names, self._fetch(text, values))

    def _ask_keys(self, keys: Sequence[pa.Array], tests: Sequence[str]) -> list[pa.Array]:
        names = self.spec.schema.names
        kinds = [self._kinds[name].partition(" ")[0] for name in self.spec.key_names]
        wanted = aliases(names, len(keys))
        lists = ", ".join(f"{self._mark(n)}::{kind}[]" for n, kind in enumerate(kinds))
        matches = " and ".join(f"{k} = {w}" for k, w in zip(self._keys, wanted, strict=True))
        text = (
            f"select {', '.join(map(quoted, names))} from unnest({lists}) as "
            f"wanted({', '.join(wanted)}) join {self.table.quoted} on {matches} where "
            f"{' and '.join(tests)}"
        )
        return self._columns(names, self._fetch(text, [*map(_listed, keys)]))

    def _columns(self, names: Sequence[str], found: pa.Table) -> list[pa.Array]:
        kinds = [simple_type(self.spec.schema.field(name).type) for name in names]
        whole = [found.column(place).combine_chunks() for place in range(len(names))]
        return [c if c.type == kind else c.cast(kind) for c, kind in zip(whole, kinds, strict=True)]

    def _fetch(self, text: str, values: Sequence[pa.Array] = ()) -> pa.Table:
        with self._turn:
            try:
                return self._current().fetch(text, values)
            except Refused as refusal:
                self._let_go()
                if not refusal.is_broken:
                    raise
            # The server was away, or has ended the connection: its answers are the same over
            # another.
            return self._current().fetch(text, values)

    def _current(self) -> Session:
        if self._session is not None:
            return self._session
        try:
            return self._open()
        except Refused as refusal:
            if refusal.state in _NO_TABLE:
                raise CommitGone(
                    f"The table of {self._rows_name} was cleared away while the server was out of "
                    "reach. Take a new snapshot."
                ) from refusal
            raise

    def _let_go(self) -> None:
        if self._session is not None:
            self._session = None
            self._closing()

    def _rule_findings(self) -> Iterable[str]:
        valid = (
            "select bool_and(indisvalid)::int::bigint as valid, count(*) as number from pg_index "
            f"where indrelid = {literal(self.table.quoted)}::regclass"
        )
        found = self._fetch(valid).to_pylist()[0]
        if found != {"valid": 1, "number": 2}:
            yield f"the table of {self._rows_name} has lost an index"


def sweep(
    place: Place, files: AnyFiles, names: Callable[[], Iterable[str]], patience_s: float
) -> list[str]:
    """Drop the tables of this index for which no marker stands any more.

    Tables that a reader still holds after `patience_s` seconds in all are left, and returned. A
    reader that has just gone holds its tables until the server has noticed. Whatever else is there
    is left too: tables that this index did not make, and all of a schema that is not its own.
    """
    held = []
    end_s = time.monotonic() + patience_s
    with Session(place.address) as session:
        if not any(map(place.owner(files).is_same, session.owners())):
            return []
        tables = [*filter(_IS_OURS.fullmatch, session.tables(place.mark))]
        session.rollback()
        # The markers are listed after the tables, since each is written before its table.
        marked = {name.removesuffix(MARKER) for name in names() if name.endswith(MARKER)}
        for name in tables:
            if name not in marked:
                table = ServerTable(place.address, name).quoted
                try:
                    wait_ms = max(1, int((end_s - time.monotonic()) * 1e3))
                    session.do(f"set local lock_timeout = {wait_ms}")
                    session.do(f"lock table {table} in access exclusive mode")
                    session.do(f"drop table {table}")
                    session.commit()
                except Refused as refusal:
                    session.rollback()
                    if refusal.state == _LOCKED:
                        held.append(table)
                    elif refusal.state not in _NO_TABLE:
                        raise
    return held


def located(text: str, identity: str) -> Format:
    """The format for tables at an address, of the index with that identity."""
    address = Address.parse(text)
    place = Place(address, identity)
    return replace(
        POSTGRESQL,
        build=partial(build_postgresql, place),
        check=partial(check_server, address),
        check_free=partial(check_free, address),
        check_trusted=address.check_trusted,
        updates=partial(PostgresqlUpdates, place),
        sweep=partial(sweep, place),
        located=None,
    )


def _name_of(stem: str) -> str:
    """The table that belongs to a stem, or to the marker of that stem."""
    return stem.rpartition("/")[2].removesuffix(MARKER)


def _declared(kind: pa.DataType) -> str:
    stored = simple_type(kind)
    if pt.is_floating(stored):
        return "float8"
    if pt.is_integer(stored):
        return "bigint"
    return 'text collate "C"' if pt.is_string(stored) or pt.is_large_string(stored) else "bytea"


def _indexed(spec: EntrySpec) -> list[str]:
    return [*map(quoted, dict.fromkeys([*spec.key_names, spec.order]))]


def _listed(column: pa.Array) -> pa.Array:
    """A column of one row, which holds all of another as a list."""
    bounds = pa.py_buffer(bytes(4) + len(column).to_bytes(4, "little"))
    kind = pa.list_(column.type)
    return pa.Array.from_buffers(kind, 1, [None, bounds], children=[column])


def _unlocated(*_: Any) -> Any:
    raise needs_an_address()


POSTGRESQL = Format(
    _unlocated,
    _unlocated,
    {STORE: PostgresqlShard},
    updates=_unlocated,
    located=located,
    settled=settle,
)
