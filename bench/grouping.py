"""A grouped sum by DuckDB over a scan of Wavedex.

It is grouped by the codes of the text, and then joined with its words. DuckDB hashes the text of
Arrow's dictionaries anew for every row, and codes of 16 bits not at all.
"""

from __future__ import annotations

import duckdb

import wavedex as wx
from bench.measure import GROUPED_SUM

GROUPED_BY_CODE = """
    select words.label, units, amount
    from (
        select label as code, sum(units)::bigint as units, sum(amount) as amount
        from entries group by code
    )
    left join words using (code)
"""


def connect() -> duckdb.DuckDBPyConnection:
    """A connection that uses such codes as the numbers of their groups."""
    connection = duckdb.connect()
    connection.execute("set perfect_ht_threshold = 17")
    return connection


def grouped_sum(
    idx: wx.WaveIndex, connection: duckdb.DuckDBPyConnection
) -> list[tuple[str, int, float]]:
    """The sums of all entries by label; where a format keeps no codes, by the text itself."""
    entries = idx.scan(columns=["label", "units", "amount"], dictionaries=True)
    coded, words = wx.split_codes(entries)
    connection.register("entries", coded)
    if "label" not in words:
        return connection.sql(GROUPED_SUM).fetchall()
    connection.register("words", words["label"])
    return connection.sql(GROUPED_BY_CODE).fetchall()
