"""Metrics of an index: for Prometheus, and beside what Spark reports of a stream.

    pip install '.[spark]' prometheus-client
    python examples/metrics.py append     a few days, and what Prometheus then reads
    python examples/metrics.py stream     the same through a stream of Spark's, batch by batch

`export` is all that a program of yours needs. It counts every commit that the process makes, to any
index. `prometheus_client.start_http_server(9000)` then serves the figures.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import prometheus_client as prometheus
import pyarrow as pa

import wavedex as wx

SCHEMA = pa.schema(
    [("customer", pa.string()), ("sold_at", pa.timestamp("us", "UTC")), ("amount", pa.int64())]
)
FIRST_DAY = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def export(registry: prometheus.CollectorRegistry) -> Callable[[], None]:
    """Count commits for Prometheus, and return what ends that.

    The index is a label, and the operation. A slot is not: there would be a new one each day.
    """
    labels = ["index", "operation"]

    def counter(name: str, text: str) -> prometheus.Counter:
        return prometheus.Counter(f"wavedex_{name}", text, labels, registry=registry)

    rows = counter("rows", "Rows that came")
    written = counter("bytes", "Bytes that were written")
    left_out = counter("rows_left_out", "Rows that came too late, or without a key")
    slots_left = counter("slots_left", "Slots that left the window")
    seconds = prometheus.Histogram(
        "wavedex_commit_seconds", "Time of a commit", labels, registry=registry
    )

    def count(event: wx.Committed) -> None:
        of = (event.path, event.operation)
        rows.labels(*of).inc(event.rows)
        written.labels(*of).inc(event.bytes)
        left_out.labels(*of).inc(event.late + event.null_keys)
        slots_left.labels(*of).inc(len(event.left))
        seconds.labels(*of).observe(event.seconds)

    return wx.observe(count)


def sales(day: int, rows: int) -> pa.Table:
    """The sales of a day."""
    begin = FIRST_DAY + dt.timedelta(days=day)
    return pa.table(
        {
            "customer": [f"c{number % 50}" for number in range(rows)],
            "sold_at": [begin + dt.timedelta(seconds=number) for number in range(rows)],
            "amount": [*range(rows)],
        },
        schema=SCHEMA,
    )


def create(folder: str) -> wx.WaveIndex:
    """An index of the last three days."""
    return wx.WaveIndex.create(
        f"{folder}/sales.wx", SCHEMA, key="customer", time="sold_at", window=3, indexes=2
    )


def append_days(folder: str, days: int = 5, rows: int = 1_000) -> str:
    """Append day by day, and return what Prometheus reads then."""
    registry = prometheus.CollectorRegistry()
    stop = export(registry)
    try:
        with create(folder) as idx:
            for day in range(days):
                idx.append(sales(day, rows))
    finally:
        stop()
    return prometheus.generate_latest(registry).decode()


def stream_days(folder: str, days: int = 3, rows: int = 1_000) -> list[dict[str, Any]]:
    """Feed day by day from a stream, and return what was read and what was kept of each batch."""
    import pyarrow.parquet as pq
    from pyspark.sql.streaming import StreamingQueryListener

    from wavedex import spark as wxs

    class Read(StreamingQueryListener):
        """What Spark has read, batch by batch. It is told by another thread, soon after."""

        def __init__(self) -> None:
            self.rows: dict[int, int] = {}

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
            self.rows[event.progress.batchId] = event.progress.numInputRows

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
            pass

    arriving = Path(folder, "arriving")
    arriving.mkdir()
    for day in range(days):
        path = arriving / f"{day}.parquet"
        pq.write_table(sales(day, rows), path)
        os.utime(path, (1_700_000_000 + day,) * 2)  # Spark reads files in the order of their times.
    spark = wxs.session()
    idx = create(folder)
    read, kept = Read(), {}
    spark.streams.addListener(read)
    frames = spark.readStream.schema("customer string, sold_at timestamp, amount long")
    query = (
        frames.option("maxFilesPerTrigger", 1)
        .parquet(str(arriving))
        .writeStream.foreachBatch(
            wxs.sink(
                idx.path, delay="0 seconds", say=lambda number, did: kept.update({number: did})
            )
        )
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    reported = {each.batchId: each.numInputRows for each in query.recentProgress}
    spark.streams.removeListener(read)
    return [
        {
            "batch": number,
            "read": read.rows.get(number, reported[number]),
            "kept": did.rows,
            "late": did.late,
        }
        for number, did in sorted(kept.items())
    ]


def main() -> None:
    """Show one of the two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["append", "stream"])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if chosen.what == "append":
            sys.stdout.write(append_days(folder))
        else:
            for each in stream_days(folder):
                sys.stdout.write(f"{each}\n")


if __name__ == "__main__":
    main()
