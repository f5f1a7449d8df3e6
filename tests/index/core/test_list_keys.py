"""A column of lists as key.

There is an entry for each value, with its place in the list where that is asked for.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from kit.matrix import examples
from kit.ways import WAYS
from wavedex import errors
from wavedex.testing.oracle import Oracle, same_rows

SCHEMA = pa.schema(
    [("id", pa.int64()), ("t", pa.int64()), ("words", pa.list_(pa.string())), ("v", pa.string())]
)
WINDOW = 3
WORDS = ["", "a", "b", "wave", "é"]


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def make(path, schema: pa.Schema = SCHEMA, key="words", **options) -> wx.WaveIndex:
    options = {"window": WINDOW, "indexes": 2, "shards": 2, "position": "place", **options}
    return wx.WaveIndex.create(path, schema, key=key, time="t", slot=10, **options)


def table(rows: list[dict], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def entries(rows: list[dict], position: bool = True) -> list[dict]:
    """What the rows are as entries, by hand.

    A list that is empty or null has none, nor has a null in one.
    """
    return [
        {**row, "words": word, **({"place": place} if position else {})}
        for row in rows
        for place, word in enumerate(row["words"] or [])
        if word is not None
    ]


lists = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.sampled_from(WORDS)), max_size=5))
documents = st.lists(st.tuples(lists, st.integers(0, 9)), min_size=1, max_size=5)


@pytest.mark.slow
@pytest.mark.parametrize("position", ["place", None])
@pytest.mark.parametrize("way", WAYS)
@examples(6)
@given(batches=st.lists(documents, min_size=1, max_size=5), late=documents, chunk=st.integers(1, 3))
def test_the_values_of_lists_are_found_with_their_places(
    tmp_path_factory, way, position, batches, late, chunk
):
    folder = tmp_path_factory.mktemp("lists")
    index = make(folder / "x", position=position, nulls="skip", **WAYS[way])
    oracle = Oracle(WINDOW, "words", lambda row: row["t"] // 10)

    def rows(slot: int, drawn) -> list[dict]:
        return [
            {"id": place, "t": slot * 10 + at, "words": words, "v": None if at == 3 else str(at)}
            for place, (words, at) in enumerate(drawn)
        ]

    for slot, drawn in enumerate(batches):
        arriving = rows(slot, drawn)
        # Slices and chunks, below which a list's values lie somewhere else than its rows do.
        whole = pa.concat_tables([table(arriving[:1]), table(arriving).slice(1)])
        batch = pa.Table.from_batches(whole.to_batches(max_chunksize=chunk))
        done = index.append(batch, slot=slot)
        made = entries(arriving, position is not None)
        nulls = sum(word is None for row in arriving for word in row["words"] or [])
        assert (done.rows, done.null_keys) == (len(made), nulls)
        oracle.append(made, slot)
        before = index.snapshot().commit
        assert index.append(table(arriving[::-1]), slot=slot).slots == []
        assert index.snapshot().commit == before
    added = rows(len(batches) - 1, late)
    index.amend(table(added))
    oracle.amend(entries(added, position is not None))
    index.verify()
    assert same_rows(index.scan().read_all().to_pylist(), oracle.rows())
    for word in [*WORDS, "absent"]:
        assert same_rows(index.probe(word).to_pylist(), oracle.probe(word))
    assert same_rows(
        index.probe_many(["a", "wave", "a"]).to_pylist(),
        oracle.rows(lambda row: row["words"] in ("a", "wave")),
    )


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_positions_are_small_numbers_beside_single_keys(tmp_path, kind):
    schema = SCHEMA.set(2, pa.field("words", kind(pa.string())))
    index = make(tmp_path / "x", schema)
    assert index.schema.field("words").type == pa.string()
    assert index.schema.field("place") == pa.field("place", pa.int32(), nullable=False)
    index.append(table([{"id": 1, "t": 1, "words": ["a", "b", "a"]}], schema))
    assert index.probe("a", columns=["place"]).to_pydict() == {"place": [0, 2]}
    again = wx.open(tmp_path / "x")
    assert again.definition == index.definition
    assert again.definition.position == "place"


def test_rows_without_keys_are_no_entries_and_make_a_slot_all_the_same(tmp_path):
    index = make(tmp_path / "x")
    done = index.append(
        table([{"id": 1, "t": 1, "words": []}, {"id": 2, "t": 5, "words": None}]), slot=0
    )
    assert (done.slots, done.rows) == ([0], 0)
    assert index.scan().read_all().num_rows == 0
    with pytest.raises(errors.NullKeys, match="1 of 2 rows have no 'words'"):
        index.append(table([{"id": 1, "t": 11, "words": ["a", None]}]))
    assert index.slots[-1] == 0


def test_a_single_value_stands_at_the_beginning_and_other_values_fit_as_ever(tmp_path):
    index = make(tmp_path / "x")
    index.append(pa.table({"id": [1], "t": [1], "words": ["a"], "v": ["x"]}))
    assert index.probe("a").to_pylist() == [{"id": 1, "t": 1, "words": "a", "v": "x", "place": 0}]
    encoded = pa.array([["b", "a"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))
    index.append(pa.table({"id": [2], "t": [11], "words": encoded, "v": ["y"]}))
    assert index.probe("a", since=1)["place"].to_pylist() == [1]
    with pytest.raises(errors.SchemaMismatch):
        index.append(pa.table({"id": [2], "t": [21], "words": [[5]], "v": ["y"]}))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_may_have_columns_of_lists(tmp_path, library):
    frames = pytest.importorskip(library)
    index = make(tmp_path / "x")
    columns = {
        "id": [1, 2, 3],
        "t": [1, 2, 3],
        "words": [["b", "a"], None, []],
        "v": ["x", "y", "z"],
    }
    index.append(frames.DataFrame(columns))
    assert index.probe("a").to_pylist() == [{"id": 1, "t": 1, "words": "a", "v": "x", "place": 1}]
    assert index.scan().read_all().num_rows == 2


def test_a_batch_may_bring_places_of_its_own_where_it_has_no_lists(tmp_path):
    index = make(tmp_path / "x")
    index.append(pa.table({"id": [1], "t": [1], "words": ["a"], "v": ["x"], "place": [4]}))
    assert index.probe("a")["place"].to_pylist() == [4]
    both = table([{"id": 1, "t": 11, "words": ["a"], "v": "x"}]).append_column("place", [[4]])
    with pytest.raises(errors.SchemaMismatch, match="both lists of keys and the column 'place'"):
        index.append(both)


@pytest.mark.parametrize("position", ["id", 5, "__slot", "_change"])
def test_a_place_needs_a_column_of_its_own(tmp_path, position):
    with pytest.raises(errors.BadDefinition):
        make(tmp_path / "x", position=position)
    assert not (tmp_path / "x").exists()


def test_positions_need_a_column_of_lists_or_single_keys_that_are_exploded_elsewhere(tmp_path):
    schema = SCHEMA.set(2, pa.field("words", pa.string()))
    index = make(tmp_path / "x", schema)
    index.append(table([{"id": 1, "t": 1, "words": ["a", "b"]}]))
    assert index.probe("b")["place"].to_pylist() == [1]


PAIRS = pa.schema(
    [("t", pa.int64()), ("lang", pa.string()), ("words", pa.list_(pa.string()))]
)  # fmt: skip


def test_one_column_of_a_composite_key_may_be_lists(tmp_path):
    index = make(tmp_path / "x", PAIRS, key=["lang", "words"], nulls="skip")
    rows = [
        {"t": 1, "lang": "en", "words": ["a", "b", "a"]},
        {"t": 2, "lang": "fr", "words": ["a", None]},
        {"t": 3, "lang": None, "words": ["a"]},
        {"t": 4, "lang": "fr", "words": []},
    ]
    done = index.append(table(rows, PAIRS))
    assert (done.rows, done.null_keys) == (4, 2)
    assert index.probe(("en", "a"))["place"].to_pylist() == [0, 2]
    assert index.probe(("fr", "a")).to_pylist() == [
        {"t": 2, "lang": "fr", "words": "a", "place": 0}
    ]
    assert index.append(table(rows, PAIRS)).slots == []
    assert index.probe_range(("en", "b"), ("fr", "a")).num_rows == 2


def test_two_columns_of_lists_are_refused(tmp_path):
    schema = PAIRS.set(1, pa.field("lang", pa.list_(pa.string())))
    index = make(tmp_path / "x", schema, key=["lang", "words"])
    before = index.describe()
    with pytest.raises(errors.SchemaMismatch, match="'lang' and 'words' are lists, and only one"):
        index.append(table([{"t": 1, "lang": ["en"], "words": ["a"]}], schema))
    assert index.describe() == before
    # Either alone is as good as with one column.
    index.append(pa.table({"t": [1], "lang": ["en"], "words": [["a", "b"]]}))
    assert index.probe(("en", "b"))["place"].to_pylist() == [1]


def test_a_stream_brings_lists_as_an_append_does(tmp_path):
    index = make(tmp_path / "x")
    index.feed(table([{"id": 1, "t": 1, "words": ["a", "b"]}]), stream="s", number=0, delay=5)
    index.feed(table([{"id": 2, "t": 17, "words": ["b", "c"]}]), stream="s", number=1, delay=5)
    assert index.probe("b", columns=["id", "place"]).to_pylist() == [
        {"id": 1, "place": 1},
        {"id": 2, "place": 0},
    ]
    index.verify()
