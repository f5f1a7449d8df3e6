"""A word index of dated texts: search by several words, by phrases, and for copies of a text.

A row is a document, with a list of its words. The list is the key, so each word is an entry that
has the document's other columns and its own place in the text. The window is a week: older
documents leave by themselves. These are two of the three uses for which wave indexes were first
studied (docs/words.md). The texts are made here; run `python examples/words.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import wavedex as wx

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("published", pa.date32()),
        ("title", pa.string()),
        ("distinct_words", pa.int32()),
        ("words", pa.list_(pa.string())),
    ]
)
FIRST_DAY = dt.date(2026, 3, 2)
DAYS = 10
WINDOW = 7
HARBOUR = (
    "The new lights of the harbour were lit for the first time on Thursday evening, and a crowd on "
    "the old bridge watched them turn the water green."
)
NIGHT = (
    "We walked home late. A crowd on the old bridge watched them turn the water green, "
    "and somebody sang."
)
NOTICES = {
    0: {
        "Ferry timetable": (
            "The ferry to the island leaves at six and at noon on every day of March."
        ),
        "Old bridge": "The old bridge over the river is closed, and the ferry carries lorries.",
    },
    3: {
        "Harbour lights": HARBOUR,
        "Market day": "Bread, cheese and fresh fish are sold on the old market square on Thursday.",
    },
    5: {
        "Bridge opens": "The bridge over the old river bed is open again to lorries and cyclists.",
        "Choir": "The choir sings songs of the river and of the island in the market hall.",
    },
    7: {"Lights at the harbour": HARBOUR.upper() + "!", "A walk at night": NIGHT},
    9: {
        "Ferry fares": "From April on the ferry to the island costs one coin more; bread does not."
    },
}
"""Texts by the day on which they are published, the first being 0, and by their titles."""
FILLERS = 20
"""Documents a day beside those, of words that mean nothing."""


# -- documents ---------------------------------------------------------------------------------


def split(texts: Sequence[str]) -> pa.Array:
    """The words of each text in lower case, in their order; null where it has none."""
    plain = pc.replace_substring_regex(pc.utf8_lower(pa.array(texts)), r"[^\p{L}\p{N}]+", " ")
    plain = pc.utf8_trim_whitespace(plain)
    some = pc.if_else(pc.equal(plain, ""), pa.scalar(None, pa.string()), plain)
    return pc.split_pattern(some, " ")


def fillers(day: int) -> list[tuple[str, str]]:
    """Documents of a day as noise: words of which few are common and many are rare."""
    chance = random.Random(day)
    words = [a + b + c for a in "bdfgk" for b in ("a", "o", "un") for c in ("ra", "mi", "st", "lo")]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return [
        (f"Filler {day}.{number}", " ".join(chance.choices(words, weights, k=40)))
        for number in range(FILLERS)
    ]


def documents(day: int) -> pa.Table:
    """The documents of one day."""
    found = [*NOTICES.get(day, {}).items(), *fillers(day)]
    words = split([text for _, text in found])
    counted = pa.table({"at": pc.list_parent_indices(words), "word": pc.list_flatten(words)})
    distinct = counted.group_by("at").aggregate([("word", "count_distinct")]).sort_by("at")
    return pa.table(
        {
            "id": [day * 100 + number for number in range(len(found))],
            "published": [FIRST_DAY + dt.timedelta(days=day)] * len(found),
            "title": [title for title, _ in found],
            "distinct_words": distinct["word_count_distinct"].cast(pa.int32()),
            "words": words,
        },
        SCHEMA,
    )


def build(path: Path, days: int = DAYS, **options: Any) -> wx.WaveIndex:
    """An index of the words of all documents, a slot a day."""
    settings = {"window": WINDOW, "indexes": 4, **options}
    idx = wx.WaveIndex.create(
        path, SCHEMA, key="words", position="place", time="published", slot="1 day", **settings
    )
    for day in range(days):
        idx.append(documents(day))
    return idx


# -- questions ---------------------------------------------------------------------------------


def search(idx: wx.WaveIndex, query: str, since: Any = None) -> pa.Table:
    """The documents that have all words of a query, newest first.

    With how often the words occur in each.
    """
    wanted = pc.unique(split([query]).flatten())
    entries = idx.probe_many(wanted, since, columns=["id", "published", "title", "words"])
    groups = entries.group_by(["id", "published", "title"])
    counted = groups.aggregate([("words", "count_distinct"), ("words", "count")])
    whole = counted.filter(pc.field("words_count_distinct") == len(wanted))
    return (
        whole.drop_columns("words_count_distinct")
        .rename_columns({"words_count": "times"})
        .sort_by([("published", "descending"), ("times", "descending"), ("id", "ascending")])
    )


PHRASE = """
    with begun as (
        select id, published, title, e.place - p.place as begins_at
        from entries e join phrase p using (words)
        group by all
        having count(*) = (select count(*) from phrase)
    )
    select id, published, title, min(begins_at) as place, count(*) as times
    from begun group by id, published, title order by published desc, id
"""


def find_phrase(idx: wx.WaveIndex, phrase: str, since: Any = None) -> pa.Table:
    """The documents that have these words one after the other, where first and how often.

    A word at place 17 that is third in the phrase speaks for one that begins at place 15; where all
    words speak for the same beginning, there it is.
    """
    words = split([phrase]).flatten()
    asked = pa.table({"words": words, "place": range(len(words))})
    entries = idx.probe_many(words, since, columns=["id", "published", "title", "words", "place"])
    return _query(PHRASE, entries=entries, phrase=asked)


COPIES = """
    select id, published, title, count(distinct words) as shared,
           shared / $text_words as contained,
           shared / ($text_words + any_value(distinct_words) - shared) as alike
    from entries group by id, published, title
    having contained >= $least
    order by contained desc, alike desc, id
"""


def find_copies(idx: wx.WaveIndex, text: str, since: Any = None, least: float = 0.5) -> pa.Table:
    """The documents that share the most words with a text.

    `contained` is the part of the text's words that a document has, `alike` the part of the words
    of both that both have: a long document with a stolen paragraph has much of the first and little
    of the second.
    """
    words = pc.unique(split([text]).flatten())
    columns = ["id", "published", "title", "distinct_words", "words"]
    entries = idx.probe_many(words, since, columns=columns)
    return _query(COPIES, {"text_words": len(words), "least": least}, entries=entries)


REGISTERED = """
    with registered as (select distinct owner, words from texts),
         sizes as (select owner, count(*) as text_words from registered group by owner)
    select owner, id, title, count(distinct words) / any_value(text_words) as contained
    from entries join registered using (words) join sizes using (owner)
    group by owner, id, title having contained >= $least
    order by owner, contained desc, id
"""


def check_day(
    idx: wx.WaveIndex, day: dt.date, registered: dict[str, str], least: float = 0.5
) -> pa.Table:
    """For each registered text, by its owner: the documents of one day that have most of its words.

    Many texts against one day: the day is scanned once, which opens none but the sub-index that has
    it.
    """
    words = split([*registered.values()])
    owners = pa.array(registered).take(pc.list_parent_indices(words))
    texts = pa.table({"owner": owners, "words": pc.list_flatten(words)})
    entries = idx.scan(day, day, columns=["id", "title", "words"])
    return _query(REGISTERED, {"least": least}, entries=entries, texts=texts)


def _query(sql: str, values: dict[str, Any] | None = None, **tables: Any) -> pa.Table:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(sql, params=values or {}).to_arrow_table()


# -- showing it --------------------------------------------------------------------------------


def shown(answer: pa.Table, title: str) -> Table:
    """An answer for people."""
    table = Table(*answer.column_names, title=title, title_justify="left", box=None)
    for row in answer.to_pylist():
        values = (f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values())
        table.add_row(*values)
    return table


def answers(idx: wx.WaveIndex) -> Iterator[Table]:
    """A question of each kind, and its answer."""
    last = FIRST_DAY + dt.timedelta(days=DAYS - 1)
    recent = last - dt.timedelta(days=2)
    yield shown(search(idx, "old bridge"), "all words of: old bridge")
    yield shown(search(idx, "old bridge", recent), f"the same since {recent}")
    yield shown(find_phrase(idx, "the old bridge"), "the phrase: the old bridge")
    yield shown(find_copies(idx, HARBOUR), f"like: {HARBOUR[:40]}...")
    registered = {"ann": HARBOUR, "bob": NOTICES[0]["Ferry timetable"]}
    day = FIRST_DAY + dt.timedelta(days=7)
    yield shown(check_day(idx, day, registered), f"registered texts in the documents of {day}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the index in a folder, and ask."""
    parser = argparse.ArgumentParser(description="Index the words of a week of texts, and ask.")
    parser.add_argument("--folder", type=Path, help="where to leave the index; none if not given")
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as scratch:
        idx = build((chosen.folder or Path(scratch)) / "words.wx")
        about = idx.describe()
        console.print(f"{about['rows']:,} words of the last {WINDOW} of {DAYS} days.\n")
        for answer in answers(idx):
            console.print(answer)
            console.print()


if __name__ == "__main__":
    main()
