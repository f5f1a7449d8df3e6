"""What a set over time is: the answers given at its creation, written once as `set.json`.

Types of ids, times and rows may be left open. The first events decide then, and each commit says
what they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import xxhash

from wavedex.errors import BadDefinition, Damaged, NewerFormat
from wavedex.files.names import SET
from wavedex.log.codec import (
    BAD_JSON,
    SCHEMA,
    TABLE,
    fields_from_json,
    fields_to_json,
    kept,
    maybe,
)
from wavedex.temporal.events import Columns
from wavedex.temporal.layout import layout_of
from wavedex.temporal.methods.catalogue import make_method, settings_of
from wavedex.temporal.methods.contract import Method
from wavedex.temporal.state import State

SET_FORMAT = 1
"""The format version of sets that this code writes."""


@dataclass(frozen=True, kw_only=True)
class SetDefinition:
    """A set over time as it was created."""

    method: str = kept()
    """The method that keeps it."""
    settings: Mapping[str, Any] = kept(TABLE)
    """All that can be set of the method."""
    page_bytes: int | None = kept(default=None)
    """The size of a page in bytes."""
    page_records: int | None = kept(default=None)
    """The size of a page in records, in place of that."""
    schema: pa.Schema | None = kept(maybe(SCHEMA), default=None)
    """The types of ids, times and rows, if they were given."""
    counted: bool = kept(default=False)
    """Whether ids are counted, each of which may be there many times."""
    fed_by: str = kept(default="")
    """What feeds it, so that nobody else may; empty where anybody may."""
    read_from: str = field(default="", compare=False)
    """The checksum of the file that it was read from; empty where it was not read from one."""

    @classmethod
    def of(
        cls,
        method: str,
        page_bytes: int | None,
        page_records: int | None,
        columns: Columns | None,
        settings: Mapping[str, Any],
        counted: bool = False,
        fed_by: str = "",
    ) -> SetDefinition:
        """The definition of a set that is to be. Raises BadDefinition."""
        found = cls(
            method=method,
            settings=asdict(settings_of(method, settings)),
            page_bytes=page_bytes,
            page_records=page_records,
            schema=None if columns is None else columns.schema,
            counted=counted,
            fed_by=fed_by,
        )
        found.make(has_pointers=True)
        return found

    @property
    def columns(self) -> Columns | None:
        """The types of ids, times and rows; None where they were left open."""
        return None if self.schema is None else Columns(self.schema)

    def make(self, has_pointers: bool) -> Method:
        """An empty set of that kind."""
        layout = layout_of(self.page_bytes, self.page_records, has_pointers)
        return make_method(self.method, layout, settings_of(self.method, self.settings))

    def state(self, columns: Columns) -> State:
        """An empty set with these columns."""
        return State(self.make, columns, self.counted)

    def to_bytes(self) -> bytes:
        """The content of `set.json`."""
        body = {"format": SET_FORMAT, "kind": "set", **fields_to_json(self)}
        return (json.dumps(body, indent=2) + "\n").encode()

    @cached_property
    def checksum(self) -> str:
        """By which every commit knows what the set was created as."""
        return self.read_from or xxhash.xxh64_hexdigest(self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> SetDefinition:
        """What a file says. Raises NewerFormat and Damaged."""
        try:
            body = json.loads(data)
            version = int(body["format"])
        except BAD_JSON as error:
            raise Damaged(f"{SET} is no definition ({error})") from error
        if version > SET_FORMAT:
            raise NewerFormat(
                f"{SET} has format {version}; this version of Wavedex reads up to {SET_FORMAT}. "
                "Install a newer Wavedex."
            )
        try:
            read_from = xxhash.xxh64_hexdigest(data)
            found = cls(**fields_from_json(cls, body), read_from=read_from)
            found.make(has_pointers=True)
            if (columns := found.columns) is not None:
                Columns.of(columns.ids, columns.times, [*columns.rows])
        except (*BAD_JSON, pa.ArrowException, OSError, BadDefinition) as error:
            raise Damaged(f"{SET} is no definition ({error})") from error
        return found
