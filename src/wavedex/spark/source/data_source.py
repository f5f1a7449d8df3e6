"""The data source `format("wavedex")`: read, write, follow the changes, take a stream.

Spark plans on the driver and works on the executors, each time in a Python of its own. So
everything here is small and can be pickled: a path, some options and the parts of one commit.

Options for reading; `path` and `server` are for writing too:

- `path`: the index.
- `columns`: the columns to read, with commas.
- `key`: one key; `keys`: several, as JSON.
- `since`, `until`: as in `scan`.
- `expired`: "true" shows what a soft window still holds.
- `shorten`: as in `LifetimeIndex.scan`, a table of windows as JSON.
- `server`: the address of the PostgreSQL server that the index lies on. It is not connected to
  otherwise.
- `changes`: "true" reads what came and what went, in batch (`since_commit`, `until_commit`) and as
  a stream (`starting`, and `follower`, a name under which what was not read is kept).

Options for writing:

- where there is no index yet: `key`, `window` and the other options of `WaveIndex.create`, or with
  `kind`, "lifetime", those of `LifetimeIndex.create`.
- to a lifetime index: `now`, the instant of the refresh, if not the latest insertion time;
  `apply_by`, a column that says of each row whether to insert, retract or prolong it.
- a stream: `delay` of the watermark, `dead_letters`, `takeover`, and `stream`, a name to use in
  place of the id that stands in the checkpoint. The first two are for wave indexes.

At the path of a set over time there are other options:

- for reading: `at`, the time as of which the set is wanted, and `columns`. Without a time all
  lifespans are read.
- for writing, in batch and as a stream: `oid`, `time` and `op`, what these columns of the events
  are called, and `stream` as above.

Any other is refused. A frame stays at the commit that was the newest when it was loaded. Load
another to see what has come since, or use `wavedex.spark.view`.
"""

from __future__ import annotations

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
from wavedex.files.address import files_at
from wavedex.files.names import SET
from wavedex.index.kinds import find_kind
from wavedex.index.opening import open_index
from wavedex.spark.held_commit import HeldCommit, hold_newest
from wavedex.spark.source.changes import ChangeReader, ChangeStream
from wavedex.spark.source.options import (
    CHANGES,
    FEEDING,
    FEEDING_SET,
    FOLLOWING,
    READING,
    READING_SET,
    WRITING,
    WRITING_SET,
    check_known,
    read_commit,
    read_flag,
    read_keys,
    read_shorten,
)
from wavedex.spark.source.reader import Wanted, WindowReader
from wavedex.spark.source.set_reader import SetReader, answer_schema, hold_set
from wavedex.spark.source.set_writer import SetStreamWriter, SetWriter
from wavedex.spark.source.writer import StreamWriter, WindowWriter, kind_at
from wavedex.spark.types import spark_schema
from wavedex.store.databases.server_address import trust_server

_SETS = "a set over time"


class WavedexSource(DataSource):
    """What Spark finds under the name `wavedex`."""

    _held: HeldCommit | None = None
    """The commit at which a frame stays.

    Spark asks for the schema when the frame is loaded, and keeps this object then.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "wavedex"

    @property
    def path(self) -> str:
        """The index, named so that tasks find it, which run in folders of their own.

        Raises BadDefinition without a path.
        """
        if not self.options.get("path"):
            raise BadDefinition(
                "Which index? Give the path of one: .load(path), .save(path) or option path."
            )
        if server := self.options.get("server"):
            trust_server(server)
        return str(files_at(self.options["path"]).root)

    def schema(self) -> StructType:
        """The columns that are asked for."""
        if self._is_set:
            self._check(READING_SET, what=f"reading {_SETS}")
            known, self._held = hold_set(self.path)
            return spark_schema(answer_schema(known, self.options.get("at"), self._columns()))
        if self._says("changes"):
            self._check(CHANGES, FOLLOWING, what="reading changes")
            return spark_schema(open_index(self.path).change_feed.schema)
        self._check(READING, what="reading")
        index = open_index(self.path)
        read_keys(self.options, index.definition)
        manifest, self._held = hold_newest(index)
        schema = index.schema
        if named := self._columns():
            wanted = index.at(manifest).names(named)
            schema = pa.schema([schema.field(name) for name in wanted])
        return spark_schema(schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the window, or what changed in it, or a set over time."""
        if self._is_set:
            self._check(READING_SET, what=f"reading {_SETS}")
            return SetReader(self.path, schema, self.options.get("at"), self._held)
        if self._says("changes"):
            self._check(CHANGES, what="reading changes")
            ends = (read_commit(self.options, f"{end}_commit") for end in ("since", "until"))
            return ChangeReader(self.path, schema, *ends)
        self._check(READING, what="reading")
        if (named := self._columns()) and named != schema.names:
            raise BadDefinition(
                f"The option columns names {', '.join(named)}, and .schema(...) "
                f"{', '.join(schema.names)}. Say which columns to read in one place; "
                "an index knows their types."
            )
        wanted = Wanted(
            keys=read_keys(self.options, open_index(self.path).definition),
            since=self.options.get("since"),
            until=self.options.get("until"),
            expired=self._says("expired"),
            shorten=read_shorten(self.options),
        )
        return WindowReader(self.path, schema, wanted, self._held)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """Follows what comes and goes."""
        if self._is_set:
            raise BadDefinition(f"There is no stream from {_SETS}. Read it in batch.")
        if not self._says("changes"):
            raise BadDefinition(
                "A stream from an index is the feed of its changes, with the columns _change, "
                "_at and _commit. Ask for it: .option('changes', 'true')."
            )
        self._check(FOLLOWING, what="following changes")
        starting, follower = self.options.get("starting", "window"), self.options.get("follower")
        return ChangeStream(self.path, schema, starting, follower)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Appends a batch."""
        _check_mode(overwrite)
        if self._is_set:
            self._check(WRITING_SET, what=f"writing to {_SETS}")
            return SetWriter(self.path, schema, dict(self.options))
        self._check_writing(WRITING)
        return WindowWriter(self.path, schema, dict(self.options))

    def streamWriter(  # noqa: N802 - Spark's
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamWriter:
        """Takes a stream, batch by batch."""
        _check_mode(overwrite)
        if self._is_set:
            self._check(FEEDING_SET, what=f"writing to {_SETS}")
            return SetStreamWriter(self.path, schema, dict(self.options))
        self._check_writing(FEEDING)
        return StreamWriter(self.path, schema, dict(self.options), self._says("takeover"))

    @property
    def _is_set(self) -> bool:
        """Whether a set over time is at the path, and no index."""
        return bool(self.options.get("path")) and files_at(self.path).exists(SET)

    def _check(self, *known: tuple[str, ...], what: str) -> None:
        check_known(self.options, *known, what=what)

    def _check_writing(self, known: tuple[str, ...]) -> None:
        kind = find_kind(kind_at(self.path, self.options))
        self._check(known, tuple(kind.hints), what=f"writing to a {kind.name} index")

    def _columns(self) -> list[str]:
        """The columns that are named; an empty list if no option names any."""
        names = self.options.get("columns")
        return [name.strip() for name in names.split(",")] if names else []

    def _says(self, name: str) -> bool:
        return read_flag(self.options, name)


def _check_mode(overwrite: bool) -> None:
    if overwrite:
        raise BadDefinition(
            "An index is only appended to; what is old leaves by itself. So is a set over time. "
            "Use mode('append') in batch and outputMode('append') in a stream."
        )
