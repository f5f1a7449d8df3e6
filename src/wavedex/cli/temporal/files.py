"""Files of events and of questions, in the types of a set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt

from wavedex.cli.append import Texts
from wavedex.cli.files import as_of_zone, find_source, read_source
from wavedex.errors import BadTime


def read_for(
    schema: pa.Schema | None, path: Path, names: Mapping[str, str], texts: Texts
) -> pa.Table:
    """The rows of a file whose columns have these names for what a set calls otherwise.

    Times that name no zone are local to the one that is said, or else to that of the set.
    Raises Unreadable and BadTime.
    """
    source = find_source(path, texts.kind)
    if schema is None:
        return read_source(source, None, texts.null)
    own = schema.field("time").type
    zone = texts.zone or (own.tz if pt.is_timestamp(own) else None) or "UTC"
    wanted = pa.schema([field.with_name(names.get(field.name, field.name)) for field in schema])
    try:
        table = read_source(source, wanted, texts.null, zone)
        if pt.is_timestamp(own) and own.tz is not None:
            table = as_of_zone(table, wanted, zone, own="")
        return table
    except BadTime as error:
        raise BadTime(f"{path}: {error} Or say with --zone where they are local.") from error
