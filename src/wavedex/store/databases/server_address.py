"""Where a PostgreSQL server is, and whether this process may connect to it.

An address is a URI of libpq's, without a password. Passwords belong into a password file or a
service file, which libpq finds by itself. What follows a # in it is the name of the schema that
belongs to the index.

A folder that somebody else made can name any server, and libpq would offer it the passwords of
whoever opens the folder. So a server is connected to only if something other than a file of an
index has asked for it. That is the program, by naming the address to `create`, `migrate` or
`trust_server`, or the environment (`WAVEDEX_SERVERS`). An address without a schema stands for all
schemas of the database.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from wavedex.errors import BadDefinition, ServerNotTrusted

NAME_BYTES_MAX = 63
"""PostgreSQL cuts off longer names."""
VARIABLE = "WAVEDEX_SERVERS"
"""The environment variable with trusted addresses, with blanks or line ends between them."""
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URI = re.compile(r"postgresql://[!-~]*")
_ASKED_FOR: set[str] = set()
"""The addresses that this process was asked to use."""


@dataclass(frozen=True)
class Address:
    """A server, a database on it, and a schema there."""

    uri: str
    """The server and the database."""
    schema: str
    """The schema that belongs to the index; empty while it has none."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address in what was given as `format=`.

        Raises BadDefinition, which never repeats what may be a secret.
        """
        uri, _, schema = text.partition("#")
        if not _URI.fullmatch(uri):
            raise needs_an_address()
        if _has_secret(uri):
            raise BadDefinition(
                "The address in format= has a password, and would be kept in index.json for all "
                "to read. Put it into a password file (PGPASSFILE), or name a service "
                "(?service=...) whose file has it."
            )
        if schema and (not _SCHEMA.fullmatch(schema) or len(schema) > NAME_BYTES_MAX):
            raise BadDefinition(
                "What follows the # in format= is no name for a schema. Use letters, digits and _, "
                f"{NAME_BYTES_MAX} at most."
            )
        return cls(uri, schema)

    def __str__(self) -> str:
        return f"{self.uri}#{self.schema}" if self.schema else self.uri

    @property
    def is_trusted(self) -> bool:
        """Whether somebody has asked for this server."""
        return not Trust.mine().servers.isdisjoint({self.uri, str(self)})

    def check_trusted(self) -> None:
        """Raise ServerNotTrusted where nobody has asked for this server."""
        if not self.is_trusted:
            raise ServerNotTrusted(
                f"The index lies on the server {self}, which nobody but its own files has named. "
                f"If you know that server, say so: call wavedex.trust_server({str(self)!r}), or "
                f"set the environment variable {VARIABLE}={shlex.quote(str(self))}."
            )


def _has_secret(uri: str) -> bool:
    """Whether there is a password in a URI. Raises BadDefinition if it is not a URI."""
    try:
        parts = urlsplit(uri)
        names = [name for name, _ in parse_qsl(parts.query, True)]
        return parts.password is not None or any("password" in name.lower() for name in names)
    except ValueError:
        raise BadDefinition("format= is no URI of PostgreSQL's.") from None


def trust_server(address: str) -> None:
    """Let this process connect to a PostgreSQL server that an index names.

    The address is that in its `index.json`. Without the # and the schema behind it, all indexes in
    that database are meant. Raises BadDefinition.
    """
    _ASKED_FOR.add(str(Address.parse(address)))


@dataclass(frozen=True)
class Trust:
    """The servers that a process may connect to, to be sent to the tasks that work for it."""

    servers: frozenset[str]
    """Their addresses."""

    @classmethod
    def mine(cls) -> Trust:
        """What this process may connect to."""
        return cls(frozenset({*_ASKED_FOR, *os.environ.get(VARIABLE, "").split()}))

    def extend(self) -> None:
        """Let the process that was sent this connect to the same."""
        _ASKED_FOR.update(self.servers)


def settle(text: str) -> str:
    """The address as an index keeps it: with the name of a schema of its own. Raises BadDefinition.

    REQUIRES: the program has named the address, not a file of an index. The server is trusted from
    then on.
    """
    address = Address.parse(text)
    trust_server(text)
    return str(Address(address.uri, address.schema or f"wavedex_{os.urandom(6).hex()}"))


def needs_an_address() -> BadDefinition:
    """What to say where there is no address."""
    return BadDefinition(
        "format='postgresql' must say where the server is. Give the URI of a database, such as "
        "format='postgresql:///sales?host=/run/postgresql'."
    )
