"""A session with a PostgreSQL server, and who owns which schema there.

Refusals of the server come out as errors with a name. A schema belongs to one index. The index says
so in a comment on the schema, which it writes in the transaction that makes the schema. A schema
without that comment is somebody else's and is never touched.

The driver is ADBC's, which takes and gives Arrow's columns. It is imported when the first session
is opened.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pyarrow as pa

from wavedex.errors import (
    BadDefinition,
    DiskFull,
    PackageFailed,
    PackageMissing,
    ReadOnly,
    SchemaTaken,
    WriteFailed,
)
from wavedex.rows.entries import EntrySpec
from wavedex.store.databases.server_address import NAME_BYTES_MAX, Address
from wavedex.store.databases.sql import check_columns, quoted

_AWAY = ("08", "57P", "25P03")
"""How the states begin that leave a connection of no use any more."""
_FULL = ("53100", "53200")
_TEXT = "22021"


@dataclass(frozen=True)
class Owner:
    """To which index a schema belongs, as the comment on the schema has it."""

    index: str
    """The identity of the index."""
    stamp: str
    """Tells the folder of the index from a copy of it, which has the same identity."""
    folder: str
    """Where the folder was when the schema was made, for people to read."""

    def to_text(self) -> str:
        """The comment."""
        said = {"wavedex": self.index, "stamp": self.stamp, "folder": self.folder}
        return json.dumps(said)

    @classmethod
    def of(cls, text: str | None) -> Owner | None:
        """Whom a comment names; None if it is not a comment of ours."""
        try:
            said = json.loads(text or "")
            return cls(str(said["wavedex"]), str(said["stamp"]), str(said["folder"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def is_same(self, other: Owner | None) -> bool:
        """Whether it is the same index in the same folder, wherever that was moved to."""
        return other is not None and (self.index, self.stamp) == (other.index, other.stamp)


class Refused(PackageFailed):
    """The server refused something.

    `state` is its five letters for why, empty where it said nothing at all.
    """

    def __init__(self, message: str, state: str = "") -> None:
        super().__init__(message)
        self.state = state

    def __reduce__(self) -> tuple[type[Refused], tuple[str, str]]:
        return type(self), (str(self), self.state)

    @property
    def is_broken(self) -> bool:
        """Whether another connection may do better."""
        return not self.state or self.state.startswith(_AWAY)


_COUNTING = threading.RLock()
"""Held while a connection comes or goes.

The driver counts the connections of a database, and two threads at once make it miscount. Whoever
holds it may meet the end of another session, when what is no longer used is cleared away. So it can
be taken twice.
"""


@cache
def _database(uri: str) -> Any:
    """What the driver knows of a database before it connects.

    To find it out takes twenty times as long as to connect.
    """
    try:
        import adbc_driver_postgresql
    except ImportError as error:
        raise _no_driver() from error
    return adbc_driver_postgresql.connect(uri)


class _Lasting:
    """Stands for the database, which a connection would close while others go on using it."""

    def close(self) -> None:
        """It stays."""


def _no_driver() -> PackageMissing:
    return PackageMissing(
        "format='postgresql' needs the driver adbc-driver-postgresql. Install wavedex[postgresql]."
    )


_SETTINGS = "select " + ", ".join(
    f"set_config('{name}', '{value}', false)"
    for name, value in {
        "application_name": "wavedex",
        "synchronous_commit": "on",
        "standard_conforming_strings": "on",  # `literal` relies on it.
    }.items()
)


class Session:
    """A connection with a transaction on it, which ends with the session unless it is committed."""

    def __init__(self, address: Address) -> None:
        """Connect. Raises ServerNotTrusted, PackageMissing and PackageFailed."""
        address.check_trusted()
        try:
            import adbc_driver_manager as driver
            from adbc_driver_manager import dbapi
        except ImportError as error:
            raise _no_driver() from error
        self.address = address
        self._errors = dbapi.Error
        self._connection: Any = None
        try:
            with _COUNTING:
                connection = driver.AdbcConnection(_database(address.uri))
            database: Any = _Lasting()
            self._connection = dbapi.Connection(database, connection)
            self.fetch(_SETTINGS)
        except dbapi.Error as error:
            raise self._named(error) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, and undo what was not committed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with _COUNTING:
                connection.close()

    def do(self, text: str) -> None:
        """Execute a statement. Raises Refused and its kin, as all of these do."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(text)
        except self._errors as error:
            raise self._named(error) from error

    def fetch(self, text: str, values: Sequence[pa.Array] = ()) -> pa.Table:
        """The answer to a query. `values`, each a column of one row, stand for $1, $2 and so on."""
        names = [f"v{place}" for place in range(len(values))]
        bound = pa.RecordBatch.from_arrays([*values], names=names) if values else None
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(text, bound)
                return cast(pa.Table, cursor.fetch_arrow_table())
        except self._errors as error:
            raise self._named(error) from error

    def load(self, schema: str, table: str, rows: pa.RecordBatch) -> None:
        """Copy rows into a table."""
        try:
            with self._connection.cursor() as cursor:
                cursor.adbc_ingest(table, rows, mode="append", db_schema_name=schema)
        except self._errors as error:
            raise self._named(error) from error

    def commit(self) -> None:
        """Make what was done last."""
        try:
            self._connection.commit()
        except self._errors as error:
            raise self._named(error) from error

    def rollback(self) -> None:
        """Undo what was not committed."""
        try:
            self._connection.rollback()
        except self._errors as error:
            raise self._named(error) from error

    def owners(self) -> list[Owner | None]:
        """A list of one: to whom the schema belongs, None if that is no index.

        The list is empty where there is no such schema.
        """
        named = f"nspname = {literal(self.address.schema)}"
        text = (
            f"select obj_description(oid, 'pg_namespace') as said from pg_namespace where {named}"
        )
        return [*map(Owner.of, self.fetch(text).column(0).to_pylist())]

    def claim(self, owner: Owner) -> None:
        """See that the schema belongs to this owner, and make it where there is none.

        Raises SchemaTaken.
        """
        found = self.owners() or self._made(owner)
        if not owner.is_same(found[0]):
            raise taken(self.address, owner, found[0])

    def _made(self, owner: Owner) -> list[Owner | None]:
        """Make the schema, with its owner in one transaction.

        A schema that another has made meanwhile is left as it is.
        """
        name = self.address.schema
        self.do(f"do $$ begin perform pg_advisory_xact_lock(hashtext({literal(name)})); end $$")
        if not (found := self.owners()):
            self.do(f"create schema {quoted(name)}")
            self.do(f"comment on schema {quoted(name)} is {literal(owner.to_text())}")
            found = [owner]
        self.commit()
        return found

    def check_free(self) -> None:
        """Raise SchemaTaken where the schema is there already."""
        if found := self.owners():
            raise taken(self.address, None, found[0])

    def tables(self, comment: str) -> list[str]:
        """The tables of the schema that have this comment."""
        found = (
            "select relname::text from pg_class where relkind = 'r' and relnamespace = "
            f"(select oid from pg_namespace where nspname = {literal(self.address.schema)}) "
            f"and obj_description(oid, 'pg_class') = {literal(comment)}"
        )
        return cast(list[str], self.fetch(found).column(0).to_pylist())

    def _named(self, error: Any) -> Exception:
        """The error with a name for a refusal of the server's."""
        state = error.sqlstate or ""
        where = self.address.uri
        said = " ".join(str(error).split())
        if state in _FULL:
            return DiskFull(
                f"{where} has no room left. Free some and try again; nothing was changed."
            )
        if state == "42501":
            return ReadOnly(f"{where} does not allow it ({said}). Connect as a user who may.")
        if state == _TEXT:
            return WriteFailed(
                f"{where} cannot keep a text with a zero in it; nothing was changed. Make the "
                "column one of binary, or keep the index in another format."
            )
        return Refused(
            f"The PostgreSQL server at {where} refused or did not answer ({said}). See that it "
            "runs, can be reached and has connections left, and try again; nothing was changed.",
            state,
        )


def check_server(address: Address, spec: EntrySpec) -> None:
    """Raise BadDefinition where the server cannot keep entries like these.

    Raises PackageFailed where the server is not there.
    """
    check_columns(spec, "PostgreSQL", fold=False)
    for name in spec.schema.names:
        if len(name.encode()) > NAME_BYTES_MAX:
            raise BadDefinition(
                f"PostgreSQL cuts off the name of the column {name!r}. Use at most "
                f"{NAME_BYTES_MAX} bytes."
            )
    with Session(address) as session:
        (encoding,) = (
            session.fetch("select current_setting('server_encoding') as e").column(0).to_pylist()
        )
    if encoding != "UTF8":
        raise BadDefinition(
            f"The database at {address.uri} keeps text in {encoding}. Use one that was created "
            "with the encoding UTF8."
        )


def check_free(address: Address) -> None:
    """Raise SchemaTaken where there is a schema of that name already."""
    with Session(address) as session:
        session.check_free()


def literal(text: str) -> str:
    """A text as SQL has it. REQUIRES: strings conform to the standard, which a session sees to."""
    return "'" + text.replace("'", "''") + "'"


def taken(address: Address, owner: Owner | None, found: Owner | None) -> SchemaTaken:
    """What to say of a schema that is not this index's own.

    It may belong to another index, to a folder that was copied, or to nobody that is known.
    """
    if found is None:
        return SchemaTaken(
            f"The schema {address.schema} at {address.uri} is there already, and no index has "
            "made it. Nothing in it was changed. Give a name behind the # that no schema has, or "
            "leave the # out: the index then makes a schema of its own."
        )
    if owner is None or owner.index != found.index:
        return SchemaTaken(
            f"The schema {address.schema} at {address.uri} belongs to another index, which was "
            f"made in {found.folder}. Nothing in it was changed. Give another name behind the #, "
            "or leave the # out. If that index is gone, drop the schema first: drop schema "
            f"{quoted(address.schema)} cascade."
        )
    return SchemaTaken(
        f"{owner.folder} is a copy, and its tables in the schema {address.schema} belong to the "
        f"index that it was copied from, which was made in {found.folder}. Nothing was changed. "
        f"Give this one tables of its own, once: migrate(format={address.uri!r})."
    )
