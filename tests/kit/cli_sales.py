"""The rows that the tests of the command look at: what ann and bob bought in January 2026."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("tag", pa.binary()),
    ]
)


def noon(day):
    return dt.datetime(2026, 1, day, 12, tzinfo=dt.UTC)


def rows_of(day):
    """Ann has one row a day, bob as many as the day's number."""
    ann = {"user": "ann", "at": noon(day), "amount": day, "price": Decimal(day) / 4, "tag": b"\xff"}
    bob = {**ann, "user": "bob", "price": None, "tag": None}
    return [ann, *({**bob, "amount": number} for number in range(day))]


def table_of(*days):
    return pa.Table.from_pylist([row for day in days for row in rows_of(day)], SCHEMA)


def slot_of(day):
    return (noon(day).date() - dt.date(1970, 1, 1)).days
