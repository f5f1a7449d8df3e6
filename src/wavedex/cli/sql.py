"""SQL over the entries of a snapshot, by DuckDB, in memory.

The entries are the view that `to_duckdb` makes. So a query may name them as often as it likes, and
only the columns that it names are read. Whatever DuckDB objects to becomes an error of ours with
its message. DuckDB works in a thread of its own. This thread waits for it, and so can be
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from wavedex.errors import BadQuery
from wavedex.extras import require

BATCH_ROWS = 65_536


@contextmanager
def querying(show: Callable[[Any], object], sql: str) -> Iterator[pa.RecordBatchReader]:
    """Run a query; its rows can be read while the context is open. Raises BadQuery.

    `show` makes a view of the entries.
    """
    duckdb = require("duckdb")
    connection = duckdb.connect()
    with ThreadPoolExecutor(max_workers=1) as worker:
        try:
            answer = worker.submit(_run, connection, show, sql).result()

            def batches() -> Iterator[pa.RecordBatch]:
                while (batch := worker.submit(next, answer, None).result()) is not None:
                    yield batch

            yield pa.RecordBatchReader.from_batches(answer.schema, batches())
        except (duckdb.Error, pa.ArrowException) as error:
            raise BadQuery(f"The query failed. {error}") from None
        finally:
            _close(connection, worker)


def _close(connection: Any, worker: ThreadPoolExecutor) -> None:
    """Close the connection once the thread is done with it, and hurry the thread up.

    An interrupt that falls between two statements is lost. So it is repeated until it was heard.
    """
    import duckdb

    closing = worker.submit(connection.close)
    while not closing.done():
        with suppress(duckdb.Error):  # The connection may have closed just now.
            connection.interrupt()
        wait([closing], timeout=0.05)
    closing.result()


def _run(connection: Any, show: Callable[[Any], object], sql: str) -> Any:
    # The names in a query are tables, never variables of this program.
    connection.execute("set python_enable_replacements = false")
    connection.execute("set TimeZone = 'UTC'")
    show(connection)
    relation = connection.sql(sql)
    if relation is None:
        raise BadQuery("The query returns no rows. Give one such as: select * from entries")
    # The name that DuckDB 2 knows, and the one before it.
    modern = hasattr(relation, "to_arrow_reader")
    return (relation.to_arrow_reader if modern else relation.fetch_arrow_reader)(BATCH_ROWS)
