"""How values are kept as JSON: each field of a value carries its own way there and back.

A codec is a pair of functions.
A dataclass whose fields carry codecs is turned into plain JSON by `fields_to_json`, and back by
`fields_from_json`.
`seal` makes bytes of that, with a checksum over the rest; `unseal` takes no others.

Knows no value of its own. What is read is never evaluated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from typing import Any, NamedTuple

import pyarrow as pa
import xxhash

BAD_JSON = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""What can be raised by text that should be JSON of a certain shape, and is not."""


class Codec(NamedTuple):
    """A way to JSON, and the way back. The latter may raise any of BAD_JSON."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


PLAIN = Codec(_as_it_is, _as_it_is)
"""For what is JSON already."""
TABLE = Codec(dict, _as_it_is)
"""For a mapping whose keys are text and whose values are JSON."""
REAL = Codec(_as_it_is, float)
"""For a number with a fraction."""


def _read_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


SCHEMA = Codec(lambda schema: base64.b64encode(schema.serialize()).decode(), _read_schema)
"""For a schema of Arrow's: Arrow's own message in base64. Reading it may raise ArrowException."""


def listed(one: Codec) -> Codec:
    """For a tuple of such values."""
    return Codec(
        lambda values: [one.write(each) for each in values],
        lambda data: tuple(one.read(each) for each in data),
    )


def named(one: Codec) -> Codec:
    """For a mapping of names to such values."""
    return Codec(
        lambda values: {name: one.write(each) for name, each in values.items()},
        lambda data: {name: one.read(each) for name, each in data.items()},
    )


def numbered(one: Codec) -> Codec:
    """For a mapping of numbers to such values, in the order of the numbers."""
    return Codec(
        lambda values: {str(number): one.write(values[number]) for number in sorted(values)},
        lambda data: {int(number): one.read(each) for number, each in data.items()},
    )


def maybe(one: Codec) -> Codec:
    """For such a value, or None."""
    return Codec(
        lambda value: None if value is None else one.write(value),
        lambda data: None if data is None else one.read(data),
    )


def pair(one: Codec) -> Codec:
    """For two such values."""

    def read(data: Any) -> tuple[Any, Any]:
        first, second = data
        return one.read(first), one.read(second)

    return Codec(listed(one).write, read)


def kept(
    codec: Codec = PLAIN, *, name: str = "", default: Any = MISSING, make: Any = MISSING
) -> Any:
    """A field of a dataclass that is kept in some way, with a default or with what makes one.

    It is kept under the name of the field, or under another.
    """
    return field(default=default, default_factory=make, metadata={"codec": codec, "name": name})


def fields_to_json(value: Any) -> dict[str, Any]:
    """The fields of a value that are kept, as plain JSON."""
    return {
        name: codec.write(getattr(value, each)) for each, name, codec in _kept_fields(type(value))
    }


def fields_from_json(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kind of value that are kept, for its constructor. Raises one of BAD_JSON."""
    return {each: codec.read(data[name]) for each, name, codec in _kept_fields(kind)}


def _kept_fields(kind: Any) -> list[tuple[str, str, Codec]]:
    """The fields that are kept: what each is called, under which name it is kept, and how."""
    return [
        (each.name, each.metadata["name"] or each.name, each.metadata["codec"])
        for each in fields(kind)
        if each.metadata
    ]


def seal(name: str, body: Mapping[str, Any]) -> bytes:
    """The content of a file: a body under its name, with a checksum over it."""
    text = json.dumps(body, separators=(",", ":"))
    checksum = xxhash.xxh64_hexdigest(text.encode())
    return f'{{"checksum":"{checksum}","{name}":{text}}}\n'.encode()


def unseal(name: str, data: bytes) -> dict[str, Any]:
    """The body in a file's content. Raises one of BAD_JSON where it is not what was written."""
    text = data.decode()
    outer = json.loads(text)
    body, checksum = outer[name], outer["checksum"]
    head = f'"{name}":'
    inner = text[text.index(head) + len(head) : text.rindex("}")]
    if xxhash.xxh64_hexdigest(inner.encode()) != checksum:
        raise ValueError("its checksum is another")
    return dict(body)
