"""The data source `format("wavedex")`: read, write, follow the changes, and take a stream, all from Spark.

Spark plans on the driver and works on the executors, each time in a Python of its own, so everything here is small and
can be pickled: a path, some options and the parts of one commit. The options:

- `path`: the index. `columns`: the columns to read, with commas. `since`, `until`: as in `scan`. `expired`: "true" shows
  what a soft window still holds. `shorten`: as in `LifetimeIndex.scan`, a table of windows as JSON. `pushdown`: "true" lets filters on the key and on the time choose what is opened; only
  for a frame that is loaded for one query, because Spark 4.3 goes on with the filters of one query in the next one over
  the same frame or view, and in all branches of a union or join of it with itself, and their rows would be missing.
- `changes`: "true" reads what entered and left the window of a wave index, in batch (`since_commit`, `until_commit`) and
  as a stream.
- for writing, where there is no index yet: `key`, `window` and the other options of `WaveIndex.create`, or with `kind`,
  "lifetime", those of `LifetimeIndex.create`.
- for writing to a lifetime index: `now`, the instant of the refresh, if not the latest insertion time.
- for writing a stream: `delay` of the watermark, `dead_letters`, `takeover`, and `stream`, a name to use in place of the id
  that stands in the checkpoint. The first two are for wave indexes.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from wavedex.errors import BadDefinition
from wavedex.index.changes import change_schema
from wavedex.index.opening import open_index
from wavedex.index.wave import WaveIndex
from wavedex.spark.source_changes import ChangeReader, ChangeStream
from wavedex.spark.source_read import PushingReader, WindowReader
from wavedex.spark.source_write import StreamWriter, WindowWriter
from wavedex.spark.types import spark_schema
from wavedex.store import files_at


class WavedexSource(DataSource):
    """What Spark finds under the name `wavedex`."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "wavedex"

    @property
    def path(self) -> str:
        """The index, named as tasks find it, which run in folders of their own. Raises BadDefinition without a path."""
        if not self.options.get("path"):
            raise BadDefinition(
                "Which index? Give its path: .load(path), .save(path) or option path."
            )
        return str(files_at(self.options["path"]).root)

    def schema(self) -> StructType:
        """The columns that are asked for."""
        if self._says("changes"):
            return spark_schema(change_schema(self._wave().definition))
        index = open_index(self.path)
        schema = index.schema
        if names := self.options.get("columns"):
            wanted = index.snapshot().names([name.strip() for name in names.split(",")])
            schema = pa.schema([schema.field(name) for name in wanted])
        return spark_schema(schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the window, or what changed in it."""
        if self._says("changes"):
            return ChangeReader(self.path, schema, self._commit("since"), self._commit("until"))
        kind = PushingReader if self._says("pushdown") else WindowReader
        return kind(
            self.path,
            schema,
            since=self.options.get("since"),
            until=self.options.get("until"),
            expired=self._says("expired"),
            shorten=self._shorten(),
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """Follows what enters and leaves the window."""
        if not self._says("changes"):
            raise BadDefinition(
                "A stream from an index is the feed of its changes, with the columns _change and _commit. Ask for "
                "it: .option('changes', 'true')."
            )
        return ChangeStream(self.path, schema, self.options.get("starting", "window"))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Appends a batch."""
        _check_mode(overwrite)
        return WindowWriter(self.path, schema, dict(self.options))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Takes a stream, batch by batch."""
        _check_mode(overwrite)
        return StreamWriter(self.path, schema, dict(self.options), self._says("takeover"))

    def _says(self, name: str) -> bool:
        said = self.options.get(name, "false").strip().lower()
        if said not in ("true", "false"):
            raise BadDefinition(f"The option {name} is {said!r}. Say true or false.")
        return said == "true"

    def _wave(self) -> WaveIndex:
        """The index, whose changes are asked for. Raises BadDefinition where it is of another kind."""
        index = open_index(self.path)
        if not isinstance(index, WaveIndex):
            raise BadDefinition(
                f"{self.path} is no wave index, and only those tell what changed. Leave out the option changes."
            )
        return index

    def _shorten(self) -> Any:
        """By how much windows are shorter: a duration, or a table of them, which is written as JSON."""
        said = self.options.get("shorten")
        if said is None or not said.strip().startswith("{"):
            return said
        try:
            return json.loads(said)
        except ValueError:
            raise BadDefinition(
                f"The option shorten is {said!r}. Give a duration, or JSON such as "
                '{"left_at": "2 minutes"}.'
            ) from None

    def _commit(self, end: str) -> int | None:
        said = self.options.get(f"{end}_commit")
        if said is not None and not said.strip().isdecimal():
            raise BadDefinition(
                f"The option {end}_commit is {said!r}. Give the number of a commit."
            )
        return None if said is None else int(said)


def _check_mode(overwrite: bool) -> None:
    if overwrite:
        raise BadDefinition(
            "An index is only appended to; what is old leaves by itself. Use mode('append') in batch and "
            "outputMode('append') in a stream."
        )
