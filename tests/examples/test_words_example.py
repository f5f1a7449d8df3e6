"""The example of a word index runs.

Its answers are those of reading every document of the week.
"""

from __future__ import annotations

import datetime as dt
import runpy

import pytest

from kit.paths import ROOT

EXAMPLE = ROOT / "examples" / "words.py"


@pytest.fixture(scope="module")
def words():
    return runpy.run_path(str(EXAMPLE))


@pytest.fixture(scope="module")
def idx(words, tmp_path_factory):
    index = words["build"](tmp_path_factory.mktemp("words") / "words.wx")
    index.verify()
    return index


@pytest.fixture(scope="module")
def week(words):
    """The documents of the window, as plain rows."""
    return [row for day in range(3, 10) for row in words["documents"](day).to_pylist()]


def titles(answer) -> list[str]:
    return answer["title"].to_pylist()


def day(number: int) -> dt.date:
    return dt.date(2026, 3, 2) + dt.timedelta(days=number)


def test_all_words_of_a_query_are_in_the_documents_that_are_found(words, idx):
    search = words["search"]
    assert titles(search(idx, "Old bridge!")) == [
        "Lights at the harbour",
        "A walk at night",
        "Bridge opens",
        "Harbour lights",
    ]
    assert titles(search(idx, "old bridge", day(7))) == ["Lights at the harbour", "A walk at night"]
    # What was published on the first days has left.
    assert titles(search(idx, "ferry")) == ["Ferry fares"]
    assert titles(search(idx, "ferry island")) == ["Ferry fares"]
    assert titles(search(idx, "ferry bridge")) == []
    assert search(idx, "the").slice(0, 2).to_pylist() == [
        {"id": 900, "published": day(9), "title": "Ferry fares", "times": 2},
        {"id": 700, "published": day(7), "title": "Lights at the harbour", "times": 5},
    ]
    assert titles(search(idx, "?!")) == []


def test_the_words_of_a_phrase_stand_one_after_the_other(words, idx):
    phrase = words["find_phrase"]
    assert titles(phrase(idx, "the old bridge")) == [
        "Lights at the harbour",
        "A walk at night",
        "Harbour lights",
    ]
    assert titles(phrase(idx, "bridge over the old river")) == ["Bridge opens"]
    assert titles(phrase(idx, "bridge over the river")) == []
    assert titles(phrase(idx, "to the island", day(8))) == ["Ferry fares"]
    (found,) = phrase(idx, "songs of the river and of the island").to_pylist()
    assert (found["title"], found["place"], found["times"]) == ("Choir", 3, 1)
    # One word, and one that comes twice in the phrase itself.
    assert phrase(idx, "the", day(9)).to_pylist()[0]["times"] == 2
    assert titles(phrase(idx, "of the river and of the island")) == ["Choir"]


def test_copies_are_found_whole_and_in_part(words, idx):
    copies = words["find_copies"](idx, words["HARBOUR"]).to_pylist()
    assert [
        (row["title"], round(row["contained"], 2), round(row["alike"], 2)) for row in copies
    ] == [
        ("Harbour lights", 1.0, 1.0),
        ("Lights at the harbour", 1.0, 1.0),
        ("A walk at night", 0.52, 0.41),
    ]
    later = words["find_copies"](idx, words["HARBOUR"], since=day(6), least=0.9)
    assert titles(later) == ["Lights at the harbour"]
    assert titles(words["find_copies"](idx, "nothing of this kind anywhere")) == []


def test_registered_texts_are_checked_against_one_day(words, idx):
    registered = {"ann": words["HARBOUR"], "bob": words["NOTICES"][0]["Ferry timetable"]}
    found = words["check_day"](idx, day(7), registered).to_pylist()
    assert [(row["owner"], row["title"]) for row in found] == [
        ("ann", "Lights at the harbour"),
        ("ann", "A walk at night"),
    ]
    assert words["check_day"](idx, day(4), registered).num_rows == 0


def test_every_answer_is_what_reading_the_week_gives(words, idx, week):
    assert len(week) == 7 * 20 + 7
    for filler in week[5::30]:
        some = filler["words"][4:7]
        query = " ".join(some)
        assert sorted(words["search"](idx, query)["id"].to_pylist()) == [
            row["id"] for row in week if set(some) <= set(row["words"])
        ]
        found = words["find_phrase"](idx, query)
        assert {row["id"]: row["times"] for row in found.to_pylist()} == {
            row["id"]: times
            for row in week
            if (times := sum(row["words"][at : at + 3] == some for at in range(len(row["words"]))))
        }
        text = set(filler["words"])
        copies = words["find_copies"](idx, " ".join(filler["words"]), least=0.4).to_pylist()
        shared = {row["id"]: len(text & set(row["words"])) for row in week}
        assert {row["id"]: row["shared"] for row in copies} == {
            id_: count for id_, count in shared.items() if count / len(text) >= 0.4
        }
        one = words["check_day"](idx, filler["published"], {"me": " ".join(text)}, least=0.4)
        assert sorted(one["id"].to_pylist()) == [
            row["id"]
            for row in week
            if row["published"] == filler["published"] and shared[row["id"]] / len(text) >= 0.4
        ]


def test_the_example_shows_an_answer_of_each_kind(words, tmp_path, capsys):
    words["main"](["--folder", str(tmp_path)])
    said = capsys.readouterr().out
    assert "5,733 words of the last 7 of 10 days" in said
    for title in ("all words of", "the phrase", "like:", "registered texts"):
        assert title in said
    assert (tmp_path / "words.wx" / "index.json").exists()
