"""A PostgreSQL server: where it is, and a session with it, whose refusals come out as errors with a name.

An address is a URI of libpq's, without a password: those belong into a password file or a service file, which libpq finds
by itself. What follows a # in it is the name of the schema that belongs to the index.

The driver is ADBC's, which takes and gives Arrow's columns; it is imported when the first session is opened.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from wavedex.errors import (
    BadDefinition,
    DiskFull,
    PackageFailed,
    PackageMissing,
    ReadOnly,
    WriteFailed,
)
from wavedex.store.entries import EntrySpec
from wavedex.store.sql import check_columns, quoted

NAME_BYTES_MAX = 63
"""PostgreSQL cuts off longer names."""
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AWAY = ("08", "57P", "25P03")
"""How the states begin in which a connection is of no use any more."""
_FULL = ("53100", "53200")
_TEXT = "22021"


@dataclass(frozen=True)
class Address:
    """A server and a database on it, and the schema there that belongs to the index."""

    uri: str
    schema: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address in what was given as `format=`. Raises BadDefinition."""
        uri, _, schema = text.partition("#")
        if not uri.startswith("postgresql://"):
            raise needs_an_address()
        try:
            parts = urlsplit(uri)
            is_secret = parts.password is not None or any(
                "password" in name.lower() for name, _ in parse_qsl(parts.query, True)
            )
        except ValueError as error:
            raise BadDefinition(f"format= is no URI of PostgreSQL's ({error}).") from None
        if is_secret:
            raise BadDefinition(
                "The address in format= has a password, and would be kept in index.json for all to read. Put it into "
                "a password file (PGPASSFILE), or name a service (?service=...) whose file has it."
            )
        if schema and (not _SCHEMA.fullmatch(schema) or len(schema) > NAME_BYTES_MAX):
            raise BadDefinition(
                f"{schema!r} is no name for a schema. Use letters, digits and _, {NAME_BYTES_MAX} at most."
            )
        return cls(uri, schema)


def settle(text: str) -> str:
    """The address as an index keeps it: with the name of a schema of its own. Raises BadDefinition."""
    address = Address.parse(text)
    return f"{address.uri}#{address.schema or f'wavedex_{os.urandom(6).hex()}'}"


def needs_an_address() -> BadDefinition:
    """What to say where there is no address."""
    return BadDefinition(
        "format='postgresql' must say where the server is. Give the URI of a database, such as "
        "format='postgresql:///sales?host=/run/postgresql'."
    )


class Refused(PackageFailed):
    """The server refused something. `state` is its five letters for why, empty where it said nothing at all."""

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
"""Held while a connection comes or goes: the driver counts those of a database, and two threads at once make it miscount.

Whoever holds it may meet the end of another session, when what is no longer used is cleared away; so it can be taken twice.
"""


@cache
def _database(uri: str) -> Any:
    """What the driver knows of a database before it connects. To find it out takes twenty times as long as to connect."""
    try:
        import adbc_driver_postgresql
    except ImportError as error:
        raise _no_driver() from error
    return adbc_driver_postgresql.connect(uri)


class _Lasting:
    """Stands for the database where a connection would close it, which others go on using."""

    def close(self) -> None:
        """It stays."""


def _no_driver() -> PackageMissing:
    return PackageMissing(
        "format='postgresql' needs the driver adbc-driver-postgresql. Install wavedex[postgresql]."
    )


class Session:
    """A connection with a transaction on it, which ends with the session unless it is committed."""

    def __init__(self, address: Address) -> None:
        """Connect. Raises PackageMissing and PackageFailed."""
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
            self.do("set application_name = 'wavedex'")
            self.do("set synchronous_commit = on")
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

    def make_schema(self) -> None:
        """Create the schema unless it is there."""
        name = self.address.schema
        if self.fetch(f"select 1 as found from pg_namespace where nspname = '{name}'").num_rows:
            return
        # Two that create it at the same time would otherwise fail, in spite of "if not exists".
        self.do(f"do $$ begin perform pg_advisory_xact_lock(hashtext('{name}')); end $$")
        self.do(f"create schema if not exists {quoted(name)}")
        self.commit()

    def tables(self) -> list[str]:
        """The tables of the schema."""
        found = f"select tablename::text from pg_tables where schemaname = '{self.address.schema}'"
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
                f"{where} cannot keep a text with a zero in it; nothing was changed. Make the column one of binary, or "
                "keep the index in another format."
            )
        return Refused(
            f"The PostgreSQL server at {where} refused or did not answer ({said}). See that it runs, can be reached "
            "and has connections left, and try again; nothing was changed.",
            state,
        )


def check_server(address: Address, spec: EntrySpec) -> None:
    """Raise BadDefinition where the server cannot keep entries like these, PackageFailed where it is not there."""
    check_columns(spec, "PostgreSQL", fold=False)
    for name in spec.schema.names:
        if len(name.encode()) > NAME_BYTES_MAX:
            raise BadDefinition(
                f"PostgreSQL cuts off the name of the column {name!r}. Use at most {NAME_BYTES_MAX} bytes."
            )
    with Session(address) as session:
        (encoding,) = (
            session.fetch("select current_setting('server_encoding') as e").column(0).to_pylist()
        )
    if encoding != "UTF8":
        raise BadDefinition(
            f"The database at {address.uri} keeps text in {encoding}. Use one that was created with the encoding UTF8."
        )
