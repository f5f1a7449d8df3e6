"""A view for SQL that moves on: each query over it sees the newest commit.

Spark analyses the text of a view for each query, and looks a table up in its catalog then. So each
query reads the newest commit. With adaptive execution Spark plans the mentions of a view in one
query separately, at the same time. If a write comes in between, one mention may see it and another
not. A frame that was loaded, and a view made with `using wavedex`, are relations that Spark has
analysed already: they stay at one commit.

Spark 4.3 does not hand the options of such a table on to a data source that is written in Python.
It does hand on those in the text of the query (`with`), and uses the first ones for all mentions of
a table. So each view has a table of its own.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence

from pyspark.sql import SparkSession

from wavedex.files.address import files_at
from wavedex.spark.opening import Path
from wavedex.spark.sessions import session

_NOWHERE = "file:/wavedex"
"""Where the table lies, as Spark has it. It wants a place, and looks for nothing there."""


def view(
    name: str,
    path: Path,
    *,
    spark: SparkSession | None = None,
    **options: str | int | bool | Sequence[str],
) -> None:
    """Make a temporary view of the index at a path. Each query over it sees the newest commit.

    `options` are those of the data source for reading: `columns`, `key`, `keys`, `since`, `until`,
    `expired`, `shorten`. A view of that name is replaced.

    Spark's catalog gets a table, `wavedex_` and a random number. It keeps the table for as long as
    it lives itself: until the session ends, or in a metastore until somebody drops it. The index is
    not touched by that.

    The columns are those that the index has now.
    """
    spark = spark or session()
    asked = {"path": str(files_at(path).root)}
    asked |= {option: _text(option, value) for option, value in options.items()}
    frame = spark.read.format("wavedex").options(**asked).load()
    table = f"wavedex_{secrets.token_hex(8)}"
    spark.catalog.createTable(table, path=_NOWHERE, source="wavedex", schema=frame.schema)
    said = ", ".join(f"`{option}` = {_quoted(value)}" for option, value in asked.items())
    spark.sql(
        f"create or replace temporary view `{name.replace('`', '``')}` "
        f"as select * from {table} with ({said})"
    )


def _text(option: str, value: str | int | bool | Sequence[str]) -> str:
    """An option as the data source takes it: columns with commas, keys as JSON."""
    if isinstance(value, list | tuple):
        return ",".join(value) if option == "columns" else json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
