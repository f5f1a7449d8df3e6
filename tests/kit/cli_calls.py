"""The rows that the tests of the command look at in lifetime indexes.

They are calls of January 5, 2026, each with its own end.
"""

import datetime as dt

import pyarrow as pa

import wavedex as wx

SCHEMA = pa.schema(
    [
        ("caller", pa.string()),
        ("begun", pa.timestamp("us", "UTC")),
        ("until", pa.timestamp("us", "UTC")),
        ("line", pa.int64()),
    ]
)
NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)


def minute(number):
    return NOON + dt.timedelta(minutes=number)


def call(caller, begun, until, line=1):
    return {"caller": caller, "begun": minute(begun), "until": minute(until), "line": line}


CALLS = {
    2: [call("ann", 1, 17), call("bob", 1, 4), call("cid", 2, 6)],
    4: [call("ann", 3, 9, 2), call("bob", 3, 15)],
    6: [call("cid", 5, 11), call("dot", 6, 22)],
    8: [call("ann", 7, 10, 3), call("eve", 8, 24)],
}
"""Calls by the minute of the refresh that brings them."""


def table_of(rows):
    return pa.Table.from_pylist(rows, SCHEMA)


def living(now, calls=None):
    """Those who are on the line at an instant, by caller and beginning."""
    rows = [row for some in CALLS.values() for row in some] if calls is None else calls
    return sorted(
        (row["caller"], row["begun"]) for row in rows if row["begun"] <= minute(now) < row["until"]
    )


def create(path, **options):
    settings = {"max_lifetime": "16 minutes", "refresh": "2 minutes", "grid": (2, 2), **options}
    return wx.LifetimeIndex.create(
        path, SCHEMA, key="caller", inserted="begun", expires="until", **settings
    )


def fill(path, **options):
    life = create(path, **options)
    for now, rows in CALLS.items():
        life.update(minute(now), table_of(rows))
    return life
