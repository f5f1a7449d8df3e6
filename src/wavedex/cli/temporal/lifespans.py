"""The command `temporal lifespans`: when an id was in a set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wavedex.cli.asked import LIMIT_ROWS
from wavedex.cli.options import Formats, Limit, RowsAsJson, chosen_format
from wavedex.cli.rows import RowAnswer
from wavedex.cli.temporal.asked import Oid, SetPath, find_set


def lifespans(
    path: SetPath,
    oid: Oid = None,
    kind: Formats = None,
    as_json: RowsAsJson = False,
    limit: Limit = LIMIT_ROWS,
) -> RowAnswer:
    """Show from when to when an id was in a set, or all ids if none is given.

    An end that is null has not come yet.
    """
    chosen = chosen_format(kind, as_json)
    found = find_set(path)
    table = found.lifespans(None if oid is None else found.parse_id(oid))
    return RowAnswer(table.to_reader(), chosen, limit)


COMMANDS: dict[Callable[..., Any], str] = {lifespans: "wavedex temporal lifespans members.wxt ann"}
