"""Every query over windows against plain Python, for every way in which a window can be kept."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.matrix import examples
from wavedex.errors import BadCondition, BadDefinition, BadKey, BadQuery, MissingColumn
from wavedex.online import Window
from wavedex.online.indexes.catalogue import KINDS as INDEXES
from wavedex.online.queries import (
    Average,
    Between,
    Changes,
    Count,
    Difference,
    Distinct,
    Histogram,
    Intersection,
    Join,
    JoinNew,
    KeptJoin,
    Lookup,
    Maximum,
    Median,
    Minimum,
    Ordered,
    Quantiles,
    Select,
    Sum,
    TopK,
    Union,
    Variance,
)
from wavedex.online.rings.catalogue import KINDS as RINGS

NAN, INF = math.nan, math.inf
EARLY = dt.datetime(2026, 1, 5, 10)
POOLS = {
    "int64": [None, 0, 1, 2, 3, 5, 8, -4, 2**62, -(2**62)],
    "uint64": [None, 0, 1, 7, 2**63, 2**64 - 1],
    "int8": [None, -128, 127, 3, 0],
    "bool": [None, True, False],
    "float64": [None, 0.0, -0.0, 1.5, 0.1, 0.2, 1e16, -1e16, NAN, INF, -INF, -2.25],
    "float32": [None, 0.5, -0.0, 3.0, NAN, -7.25],
    "string": [None, "", "a", "b", "ab", "Ä", "\U0001f600", "zz"],
    "dictionary": [None, "a", "c", "b", ""],
    "timestamp": [None, *(EARLY + dt.timedelta(minutes=7 * i) for i in range(6))],
}
TYPES = {
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
NO_SUMS = ("string", "dictionary", "timestamp")
BOUNDARIES = {
    "int64": [0, 3, 8],
    "uint64": [1, 2**63],
    "int8": [0],
    "float64": [-1.0, 0.15, 1e15],
    "float32": [0.0, 1.0],
    "timestamp": [EARLY + dt.timedelta(minutes=10), EARLY + dt.timedelta(minutes=20)],
}
EXACT = [kind for kind in INDEXES if kind != "group"]
LAYOUTS = [
    ("list", None, None),
    *(("list", index, None) for index in EXACT),
    *(("list", index, ring) for index in EXACT for ring in RINGS),
    *((storage, index, None) for storage in ("aggr", "hash") for index in (None, *EXACT)),
    ("list", "group", None),
    ("group", None, None),
    ("group", "group", None),
]
BY_ROWS = [layout for layout in LAYOUTS if layout[0] == "list"]
layouts = st.sampled_from(LAYOUTS)
row_layouts = st.sampled_from(BY_ROWS)
paces = st.sampled_from([("rows", 6, 2), ("rows", 9, 3), ("rows", 5, 5), ("time", 6, 2)])


def arrow_type(kind):
    return TYPES.get(kind) or pa.type_for_alias(kind)


def same(value):
    """A value that is equal to itself."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def place(value):
    """Where a value stands in the order."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value


def nones_first(value):
    return (value is not None, 0 if value is None else place(value))


def rounded(kind, value):
    return float(np.float32(value)) if kind == "float32" and value is not None else value


class Judged:
    """A window beside lists of its rows: each is a value, a number of its own, and a time."""

    def __init__(self, kind, pace, layout=("list", None, None), share=None, number="n", **options):
        self.kind, (self.by, self.most, self.basic) = kind, pace
        self.number = number
        storage, index, ring = layout
        if kind not in BOUNDARIES and "group" in layout:
            storage, index = "list" if storage == "list" else "aggr", None
        self.layout = storage, index, ring
        options["storage"] = {"k": storage}
        if index is not None:
            options["index"] = {"k": index if share is None else share.window.index("k")}
        if ring is not None:
            options["ring"] = {"k": ring}
        if "group" in (storage, index):
            options["groups"] = {"k": BOUNDARIES[kind]}
        how = {"rows": self.most} if self.by == "rows" else {"span": self.most, "time": "t"}
        self.schema = pa.schema([("k", arrow_type(kind)), (number, pa.int64()), ("t", pa.int64())])
        self.window = Window(self.schema, basic=self.basic, buckets=3, **how, **options)
        self.all, self.now = [], 0

    @property
    def is_grouped(self):
        return "group" in self.layout

    @property
    def has_rows(self):
        return self.layout[0] == "list"

    def push(self, values, steps):
        rows = []
        for value, step in zip(values, steps, strict=True):
            self.now += step
            rows.append((rounded(self.kind, value), len(self.all) + len(rows), self.now))
        self.all += rows
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        arrays = [pa.array(list(c), t) for c, t in zip(columns, self.schema.types, strict=True)]
        self.window.push(pa.record_batch(arrays, schema=self.schema))

    def number_of(self, row):
        return (row[1] if self.by == "rows" else row[2]) // self.basic

    @property
    def complete(self):
        """The first basic window that is not complete."""
        return (len(self.all) if self.by == "rows" else self.now) // self.basic

    @property
    def seen(self):
        first = self.complete - self.most // self.basic
        return [row for row in self.all if first <= self.number_of(row) < self.complete]

    @property
    def newest(self):
        return [row for row in self.seen if self.number_of(row) == self.complete - 1]

    @property
    def values(self):
        return [row[0] for row in self.seen]

    @property
    def present(self):
        return sorted((value for value in self.values if value is not None), key=place)

    def counts(self):
        return Counter(same(value) for value in self.values)

    def expected(self, rows):
        return [(same(k), n, t) for k, n, t in rows]


def rows_of(answer):
    return [tuple(map(same, row.values())) for row in answer.to_pylist()]


def column_of(answer, name):
    return [same(value) for value in answer.column(name).to_pylist()]


def one_of(answer):
    assert answer.num_rows == answer.num_columns == 1
    return same(answer.column(0)[0].as_py())


@st.composite
def walks(draw, kinds=tuple(POOLS)):
    """A kind of values, and batches of them with the time that goes by before each row."""
    kind = draw(st.sampled_from(kinds))
    rows = st.tuples(st.sampled_from(POOLS[kind]), st.sampled_from([0, 0, 1, 1, 2, 9]))
    batches = draw(st.lists(st.lists(rows, min_size=1, max_size=9), min_size=2, max_size=8))
    return kind, [tuple(zip(*batch, strict=True)) or ((), ()) for batch in batches]


options = st.fixed_dictionaries(
    {
        "pointers": st.sampled_from(["eager", "lazy"]),
        "purge": st.sampled_from([None, 1, "zeros", 20_000]),
    }
)


# -- values and how often they are there -----------------------------------------------------------


def check_frequencies(judged):
    window = judged.window
    if judged.is_grouped:
        assert sum(column_of(window.top("k", 99), "count")) == len(judged.seen)
        assert window.distinct("k").num_rows == window.histogram("k").num_rows
        return
    counts = judged.counts()
    raw = {same(value): value for value in judged.values}
    ordered = [same(raw[each]) for each in sorted(counts, key=lambda v: nones_first(raw[v]))]
    assert column_of(window.distinct("k"), "k") == ordered
    assert rows_of(window.histogram("k")) == [(each, counts[each]) for each in ordered]
    falling = sorted(ordered, key=lambda each: -counts[each])
    for k in (1, 2, 3, 50):
        assert rows_of(window.top("k", k)) == [(each, counts[each]) for each in falling[:k]]


def check_quantiles(judged):
    window, at = judged.window, (0, 0.1, 0.25, 0.5, 0.75, 1)
    answer, present = window.quantiles("k", at), judged.present
    assert column_of(answer, "at") == list(at)
    found = answer.column("value").to_pylist()
    if not present:
        assert found == [None] * len(at)
        return
    expected = [present[max(math.ceil(q * len(present)) - 1, 0)] for q in at]
    if judged.has_rows or not judged.is_grouped:
        assert list(map(same, found)) == list(map(same, expected))
        assert one_of(window.median("k")) == same(expected[3])
        return
    for bounds, value in zip(found, expected, strict=True):
        assert bounds["from"] is None or place(bounds["from"]) <= place(value)
        assert bounds["below"] is None or place(value) < place(bounds["below"])


# -- numbers ---------------------------------------------------------------------------------------


def check_numbers(judged):
    window, present, kind = judged.window, judged.present, judged.kind
    assert one_of(window.count()) == len(judged.seen)
    if judged.is_grouped and not judged.has_rows:
        for query in (Minimum("k"), Maximum("k")):
            with pytest.raises(MissingColumn, match="storage is 'group'"):
                window.ask(query)
        return
    assert one_of(window.minimum("k")) == (same(present[0]) if present else None)
    assert one_of(window.maximum("k")) == (same(present[-1]) if present else None)
    if kind in NO_SUMS:
        return
    check_sums(judged, present)


def check_sums(judged, present):
    window = judged.window
    total, average = one_of(window.sum("k")), one_of(window.average("k"))
    variances = [one_of(window.variance("k", ddof)) for ddof in (0, 1)]
    count = len(present)
    if not count:
        assert (total, average, *variances) == (None,) * 4
        return
    if any(isinstance(value, float) and not math.isfinite(value) for value in present):
        expected = sum(value for value in present if not math.isfinite(value))
        assert total == average == same(expected)
        assert variances == ["nan", "nan" if count > 1 else None]
        return
    exact = sum(map(Fraction, present))
    if isinstance(present[0], float):
        assert total == math.fsum(present) + 0.0
        assert average == pytest.approx(float(exact / count), rel=1e-15, abs=1e-300)
    else:
        assert int(total) == exact
        assert average == float(exact / count)
    squares = sum((Fraction(value) - exact / count) ** 2 for value in present)
    slack = 1e-12 * float(max(map(abs, map(Fraction, present)))) ** 2
    for ddof, found in enumerate(variances):
        if count <= ddof:
            assert found is None
        else:
            assert found == pytest.approx(float(squares / (count - ddof)), rel=1e-9, abs=slack)


# -- rows ------------------------------------------------------------------------------------------


def check_rows(judged):
    window, pool = judged.window, [rounded(judged.kind, each) for each in POOLS[judged.kind]]
    if not judged.has_rows:
        for query in (Lookup("k", None), Ordered("k"), Between("k", None, None)):
            with pytest.raises(MissingColumn, match="Store it as 'list'"):
                window.ask(query)
        return
    seen = judged.seen
    for value in pool:
        met = [row for row in seen if same(row[0]) == same(value)]
        assert rows_of(window.lookup("k", value)) == judged.expected(met)
    asked = [value for value in pool if value is not None]
    for low, high in [(asked[0], asked[1]), (asked[1], None), (None, asked[0]), (None, None)]:
        met = [
            row
            for row in seen
            if row[0] is not None
            and (low is None or place(row[0]) >= place(low))
            and (high is None or place(row[0]) <= place(high))
        ]
        assert rows_of(window.between("k", low, high)) == judged.expected(met)
    ordered = sorted(seen, key=lambda row: nones_first(row[0]))
    assert rows_of(window.ordered("k")) == judged.expected(ordered)
    assert column_of(window.ordered("k", ["n"]), "n") == [row[1] for row in ordered]


@examples(500)
@given(walks(), layouts, paces, options)
def test_every_answer_is_that_of_the_rows_that_can_be_seen(walk, layout, pace, options):
    kind, batches = walk
    judged = Judged(kind, pace, layout, **options)
    for values, steps in batches:
        judged.push(values, steps)
        assert len(judged.window) == len(judged.seen)
        check_frequencies(judged)
        check_quantiles(judged)
        check_numbers(judged)
        check_rows(judged)


@examples(250)
@given(walks(), layouts, paces, st.integers(0, 3))
def test_what_is_kept_gives_the_same_answers(walk, layout, pace, begun):
    kind, batches = walk
    judged = Judged(kind, pace, layout)
    for values, steps in batches[:begun]:
        judged.push(values, steps)
    queries = [Quantiles("k"), Median("k"), Count(), Distinct("k"), Lookup("k", None)]
    if judged.has_rows or not judged.is_grouped:
        queries += [Minimum("k"), Maximum("k")]
        if kind not in NO_SUMS:
            queries += [Sum("k"), Average("k"), Variance("k"), Variance("k", 1)]
    ends = [query.keep(judged.window) for query in queries]
    for values, steps in batches[begun:]:
        judged.push(values, steps)
        check_quantiles(judged)
        check_numbers(judged)
        asked = (
            queries if judged.has_rows else [each for each in queries if each != Lookup("k", None)]
        )
        explained = [judged.window.explain(query) for query in asked]
        assert all(str(each) for each in explained)
    for end in ends:
        end()
        end()
    check_numbers(judged)
    assert not judged.window._keeping
    assert not judged.window.watchers


def test_partial_results_are_kept_once_for_all_who_want_them():
    window = Window({"x": pa.float64()}, rows=4, basic=2)
    first, second = Sum("x").keep(window), Average("x").keep(window)
    assert len(window.watchers) == 1
    first()
    first()
    assert "partial results" in window.explain(Sum("x")).uses
    second()
    assert "all rows" in window.explain(Sum("x")).uses
    assert not window.watchers


def test_what_is_begun_while_watchers_are_told_takes_no_basic_window_twice():
    judged = Judged("int64", ("rows", 6, 2))
    other = Judged("int64", ("rows", 6, 2), number="m")
    other.push([1, 2, 3, 5], [0] * 4)
    joins = []

    class Starter:
        def slid(self, slide):
            if slide.came.number == 1:
                for query in (Sum("k"), Minimum("k"), Quantiles("k"), Changes()):
                    query.keep(judged.window)
                joins.append(KeptJoin(judged.window, other.window, "k"))

    judged.window.watch(Starter())
    for values in ([1, 1], [2, 3], [5, 1], [2, 2], [3, 3]):
        judged.push(values, [0, 0])
        check_numbers(judged)
        check_quantiles(judged)
        for join in joins:
            assert pairs_of(join.result()) == joined(judged.seen, other.seen)
    assert joins
    found = judged.window.ask(Changes()).to_pylist()
    assert [row["n"] for row in found if row["_change"] > 0] == [4, 5, 6, 7, 8, 9]


def test_sums_do_not_drift():
    window = Window({"x": pa.float64(), "n": pa.int64()}, rows=4, basic=2)
    Sum("x").keep(window)
    Sum("n").keep(window)
    window.push({"x": [1e300, 1e300, -1e300, 0.25], "n": [2**63 - 1] * 4})
    assert one_of(window.sum("x")) == 1e300
    assert one_of(window.sum("n")) == Decimal(4 * (2**63 - 1))
    assert window.sum("n").schema.field("sum").type == pa.decimal128(38, 0)
    window.push({"x": [0.1, 0.2], "n": [1, 2]})
    window.push({"x": [0.3, 1e-9], "n": [3, 4]})
    assert one_of(window.sum("x")) == math.fsum([0.1, 0.2, 0.3, 1e-9])
    assert window.sum("n").schema.field("sum").type == pa.int64()
    window.push({"x": [1.7e308] * 4, "n": [0] * 4})
    assert one_of(window.sum("x")) == INF
    assert one_of(window.average("x")) == 1.7e308
    window.push({"x": [1.7e308, 1.7e308, -1.7e308, -1.7e308], "n": [0] * 4})
    assert one_of(window.sum("x")) == 0.0


def test_variance_of_large_numbers_that_differ_little_is_found():
    window = Window({"x": pa.float64()}, rows=400, basic=40)
    end = Variance("x").keep(window)
    values = 1e9 + np.random.default_rng(1).random(1000)
    window.push({"x": values})
    assert one_of(window.variance("x")) == pytest.approx(values[600:].var(), rel=1e-6)
    end()
    assert one_of(window.variance("x")) == pytest.approx(values[600:].var(), rel=1e-6)


def test_quantiles_are_those_of_numpy():
    window = Window({"x": pa.float64()}, rows=300, basic=30)
    Quantiles("x").keep(window)
    rng = np.random.default_rng(2)
    at = (0.0, 0.01, 0.333, 0.5, 0.9, 0.999, 1.0)
    seen = np.empty(0)
    for _ in range(30):
        values = np.round(rng.normal(size=30), 1)
        window.push({"x": values})
        seen = np.concatenate([seen, values])[-300:]
        expected = np.quantile(seen, at, method="inverted_cdf") + 0.0
        assert column_of(window.quantiles("x", at), "value") == expected.tolist()


# -- two windows -----------------------------------------------------------------------------------


def check_sets(one, other):
    first, second = one.counts(), other.counts()
    raw = {same(value): value for value in [*one.values, *other.values]}
    ordered = sorted({*first, *second}, key=lambda each: nones_first(raw[each]))
    for query, is_in in (
        (Intersection("k", other.window), lambda a, b: a and b),
        (Union("k", other.window), lambda a, b: a or b),
        (Difference("k", other.window), lambda a, b: a and not b),
    ):
        expected = [(v, first[v], second[v]) for v in ordered if is_in(first[v], second[v])]
        assert rows_of(one.window.ask(query)) == [(same(v), a, b) for v, a, b in expected]


@examples(350)
@given(walks(), layouts, layouts, paces, paces, st.booleans(), options)
def test_sets_are_those_of_both_windows(walk, layout, layout2, pace, pace2, shares, options):
    kind, batches = walk
    one = Judged(kind, pace, layout, **options)
    shares &= one.layout[1] not in (None, "group")
    if shares:
        storage, _, ring = layout2
        has = storage != "group"
        layout2 = (storage if has else "list", one.layout[1], ring if has else None)
    if shares and kind in ("string", "dictionary"):
        one = Judged(kind, pace, layout, **options)
    other = Judged(kind, pace2, layout2, share=one if shares else None, **options)
    for turn, (values, steps) in enumerate(batches):
        (one if turn % 3 else other).push(values, steps)
        if (one.has_rows or not one.is_grouped) and (other.has_rows or not other.is_grouped):
            check_sets(one, other)
            assert str(one.window.explain(Intersection("k", other.window)))
        else:
            refused(one.window, Union("k", other.window), MissingColumn, "keeps counts only")
    if shares:
        said = one.window.explain(Intersection("k", other.window)).uses
        assert "both windows share" in said


@examples(150)
@given(walks(tuple(BOUNDARIES)), paces, paces, st.sampled_from(["list", "group"]))
def test_ranges_miss_no_common_value_and_bound_how_many_there_are(walk, pace, pace2, storage):
    kind, batches = walk
    one = Judged(kind, pace, ("group", "group", None))
    other = Judged(kind, pace2, (storage, "group", None))
    for turn, (values, steps) in enumerate(batches):
        (one if turn % 2 else other).push(values, steps)
        answer = one.window.ask(Intersection("k", other.window, groups=True)).to_pylist()
        common = {same(v): v for v in one.values if same(v) in other.counts()}
        bounds = [None, *BOUNDARIES[kind], None]
        for row in answer:
            ends = row["k"]
            inside = partial(_is_inside, ends)
            assert row["count"] == sum(map(inside, one.values))
            assert row["other"] == sum(map(inside, other.values))
            found = sum(map(inside, common.values()))
            assert found <= row["at_most"] <= min(row["count"], row["other"])
        named = [row["k"] for row in answer]
        assert all(any(_is_inside(ends, value) for ends in named) for value in common.values())
        assert len(named) <= len(bounds)


def _is_inside(ends, value):
    if ends is None or value is None:
        return ends is None and value is None
    low, high = ends["from"], ends["below"]
    return (low is None or place(value) >= place(low)) and (
        high is None or place(value) < place(high)
    )


def joined(rows, others):
    """All pairs of rows with equal values."""
    return sorted(
        (a[1], b[1]) for a in rows for b in others if a[0] is not None and same(a[0]) == same(b[0])
    )


def pairs_of(table):
    found = table.to_pylist()
    return sorted((row["n"], row["m"]) for row in found)


@examples(350)
@given(walks(), row_layouts, row_layouts, paces, paces, st.booleans(), st.integers(0, 4), options)
def test_joins_are_all_pairs_of_equal_values(
    walk, layout, layout2, pace, pace2, shares, begun, options
):
    kind, batches = walk
    one = Judged(kind, pace, layout, **options)
    shares &= one.layout[1] not in (None, "group")
    if shares:
        layout2 = ("list", one.layout[1], layout2[2])
    other = Judged(kind, pace2, layout2, share=one if shares else None, number="m", **options)
    kept = end = None
    query, back = Join(other.window, "k"), Join(one.window, "k", columns=["n", "m"])
    for turn, (values, steps) in enumerate(batches * 2):
        if turn == begun:
            kept, end = KeptJoin(one.window, other.window, "k"), query.keep(one.window)
        (one if turn % 3 else other).push(values, steps)
        expected = joined(one.seen, other.seen)
        if end is None:
            assert pairs_of(one.window.ask(query)) == expected
        else:
            assert pairs_of(kept.result()) == pairs_of(one.window.ask(query)) == expected
            assert len(kept) == len(expected)
        assert pairs_of(other.window.ask(back)) == expected
        new = one.window.ask(JoinNew(other.window, "k"))
        assert pairs_of(new) == joined(one.newest, other.seen)
        for each in (query, JoinNew(other.window, "k")):
            assert str(one.window.explain(each))


def test_a_join_gives_the_key_once_and_tells_columns_of_one_name_apart():
    left = Window({"k": pa.string(), "a": pa.int64()}, rows=2, basic=1)
    right = Window({"j": pa.string(), "a": pa.int64(), "k": pa.int64()}, rows=2, basic=1)
    left.push({"k": ["x", None], "a": [1, 2]})
    right.push({"j": ["x", None], "a": [3, 4], "k": [5, 6]})
    found = left.join(right, "k", "j").to_pylist()
    assert found == [{"k": "x", "a": 1, "a_right": 3, "k_right": 5}]
    assert left.join(right, "k", "j", ["a_right"]).to_pylist() == [{"a_right": 3}]
    with pytest.raises(MissingColumn, match="It has k, a, a_right, k_right"):
        left.join(right, "k", "j", ["b"])
    with pytest.raises(BadDefinition, match="one type"):
        left.join(right, "k")
    with pytest.raises(BadDefinition, match="one column at least"):
        left.join(right, "k", "j", [])


def test_news_are_what_the_newest_basic_windows_brought():
    one = Judged("int64", ("rows", 8, 2))
    other = Judged("int64", ("rows", 8, 2), number="m")
    one.push([1, 2, 3, 1, 5, 8], [0] * 6)
    other.push([1, 1, 2, 5], [0] * 4)
    new = JoinNew(other.window, "k")
    assert pairs_of(new.news(one.window)) == [(4, 3)]
    assert pairs_of(new.news(one.window, 2)) == [(3, 0), (3, 1), (4, 3)]
    assert pairs_of(new.news(one.window, 9)) == pairs_of(one.window.join(other.window, "k"))
    assert column_of(Select("k < 5").news(one.window, 2), "n") == [2, 3]
    assert Count().news(one.window, 2) == one.window.count()
    empty = Judged("int64", ("rows", 8, 2), number="m")
    assert JoinNew(one.window, "k").news(empty.window).num_rows == 0


@pytest.mark.parametrize("ring", [{}, {"k": "numbered"}], ids=["sorted", "ring"])
def test_a_window_is_joined_with_itself(ring):
    judged = Judged("int64", ("rows", 6, 2), ("list", "counts", ring.get("k")))
    window = judged.window
    join = KeptJoin(window, window, "k")
    rng = np.random.default_rng(3)
    for _ in range(20):
        judged.push(rng.choice([None, 1, 2, 3], 3).tolist(), [0] * 3)
        found = sorted((row["n"], row["n_right"]) for row in join.result().to_pylist())
        assert found == joined(judged.seen, judged.seen)
    join.close()
    assert not window.watchers
    assert join.result().num_rows == len(join) == join.pieces == 0


@pytest.mark.parametrize("ring", ["numbered", "dirty-bits"])
def test_a_kept_join_stays_right_over_a_long_run(ring):
    one = Judged("int64", ("rows", 40, 4), ("list", "counts", ring))
    other = Judged("int64", ("time", 30, 3), ("list", "tree", ring), number="m")
    join = KeptJoin(one.window, other.window, "k")
    rng = np.random.default_rng(4)
    for turn in range(120):
        for each in (one, other) if turn % 5 else (other,):
            count = int(rng.integers(0, 12))
            each.push(rng.integers(0, 12, count).tolist(), rng.integers(0, 3, count).tolist())
        if turn % 4 == 0:
            assert pairs_of(join.result()) == joined(one.seen, other.seen)
    assert join.pieces <= 2 * 10 + 1


def test_pieces_go_whose_results_have_all_left():
    left = Window({"k": pa.int64()}, rows=4, basic=2)
    right = Window({"k": pa.int64(), "b": pa.int64()}, rows=2, basic=1, ring=["k"])
    join = KeptJoin(left, right, "k")
    right.push({"k": [1, 1], "b": [0, 1]})
    left.push({"k": [1, 1]})
    assert (len(join), join.pieces) == (4, 1)
    right.push({"k": [7], "b": [2]})
    assert (len(join), join.pieces) == (2, 1)
    right.push({"k": [7], "b": [3]})
    assert (len(join), join.pieces) == (0, 0)


def test_values_of_different_types_are_not_compared():
    one, other = Judged("int64", ("rows", 2, 1)), Judged("string", ("rows", 2, 1))
    for query in (Intersection("k", other.window), Join(other.window, "k")):
        with pytest.raises(BadDefinition, match=r"[cC]ast one of them"):
            one.window.ask(query)
    with pytest.raises(BadDefinition, match="index='group'"):
        one.window.ask(Intersection("k", one.window, groups=True))
    grouped = [
        Window({"k": pa.int64()}, rows=2, basic=1, index={"k": "group"}, groups={"k": [end]})
        for end in (1, 2)
    ]
    with pytest.raises(BadDefinition, match="different boundaries"):
        grouped[0].ask(Intersection("k", grouped[1], groups=True))


# -- conditions and changes ------------------------------------------------------------------------


@examples(12)
@given(walks(("int64",)), row_layouts, paces)
def test_rows_that_meet_a_condition_are_selected(walk, layout, pace):
    kind, batches = walk
    judged = Judged(kind, pace, layout)
    query = Select("k > 1 and n % 2 = 0", ["n", "k"])
    for values, steps in batches:
        judged.push(values, steps)
        for rows, answer in (
            (judged.seen, judged.window.ask(query)),
            (judged.newest, query.news(judged.window)),
        ):
            met = [(n, k) for k, n, _ in rows if k is not None and k > 1 and n % 2 == 0]
            assert rows_of(answer) == met
    assert judged.window.select("k is null").num_rows == judged.counts()[None]


def test_conditions_that_cannot_be_met_are_refused():
    window = Judged("int64", ("rows", 2, 1), ("aggr", None, None)).window
    with pytest.raises(BadCondition, match="cannot be understood"):
        window.select("nothing > 1")
    with pytest.raises(BadCondition, match="another table"):
        window.select("n in (select 1)")
    with pytest.raises(MissingColumn, match="keeps counts only"):
        window.select("k > 1", ["n"])


def test_conditions_see_times_in_the_zone_of_the_window():
    kind = pa.timestamp("s", "UTC")
    at = dt.datetime(2026, 1, 5, 23, 30, tzinfo=dt.UTC)
    rows = {"at": [at, at + dt.timedelta(days=1)]}
    for zone, day in (("UTC", 5), ("Europe/Berlin", 6)):
        window = Window({"at": kind}, span="1 day", basic="1 hour", time="at", zone=zone)
        window.push({"at": [at]})
        window.advance(rows["at"][0] + dt.timedelta(hours=2))
        assert window.select(f'day("at") = {day}').num_rows == 1


@examples(250)
@given(walks(), layouts, paces, st.integers(0, 3), options)
def test_changes_make_what_was_seen_what_is_seen(walk, layout, pace, begun, options):
    kind, batches = walk
    judged = Judged(kind, pace, layout, **options)
    held = Counter()
    end, number = None, -1
    for turn, (values, steps) in enumerate(batches):
        if turn == begun:
            end, number = Changes().keep(judged.window), judged.complete - 1
            held = Counter(row[1] for row in judged.seen)
        judged.push(values, steps)
        if end is None or turn % 2:
            continue
        for row in judged.window.ask(Changes()).to_pylist():
            held[row["n"]] += row["_change"]
            number, last = row["_commit"], number
            assert number >= last
            assert row["_at"] == (number + 1) * judged.basic
            if judged.has_rows:
                assert same(row["k"]) == same(judged.all[row["n"]][0])
        assert +held == Counter(row[1] for row in judged.seen)
        assert judged.window.ask(Changes()).num_rows == 0


def test_removals_come_before_additions_and_each_reader_has_its_own():
    window = Window({"t": pa.timestamp("s"), "v": pa.string()}, span="2 hours", basic="1 hour",
                    time="t")  # fmt: skip
    with pytest.raises(BadQuery, match="keep"):
        window.ask(Changes())
    stop = Changes("mine").keep(window)
    Changes().keep(window)
    hours = [EARLY + dt.timedelta(hours=i) for i in range(4)]
    window.push({"t": hours, "v": ["a", "b", "c", "d"]})
    assert window.explain(Changes()).nodes == 4
    found = window.ask(Changes())
    said = [(row["v"], row["_change"], row["_at"]) for row in found.to_pylist()]
    assert said == [("a", 1, hours[1]), ("b", 1, hours[2]), ("a", -1, hours[3]), ("c", 1, hours[3])]
    assert found.schema.types == [
        pa.timestamp("s"), pa.string(), pa.int32(), pa.timestamp("s"), pa.int64(),
    ]  # fmt: skip
    assert window.ask(Changes()).num_rows == 0
    assert window.ask(Changes("mine")).num_rows == 4
    stop()
    with pytest.raises(BadQuery):
        window.ask(Changes("mine"))


# -- what is said ----------------------------------------------------------------------------------


def refused(window, query, error, said):
    """Neither answered nor explained, nor subscribed to, therefore."""
    for ask in (window.ask, window.explain):
        with pytest.raises(error, match=said):
            ask(query)


def test_what_cannot_be_asked_is_refused_in_words():
    window = Window(
        {"t": pa.timestamp("s"), "s": pa.string(), "l": pa.list_(pa.int64())}, rows=2, basic=1
    )
    for query in (Sum("t"), Average("s"), Variance("t")):
        refused(window, query, BadDefinition, "Whole numbers, floats and booleans can be summed")
        with pytest.raises(BadDefinition):
            query.keep(window)
    refused(window, Minimum("l"), BadDefinition, "no order")
    for query in (
        Ordered("l"),
        Quantiles("l"),
        Join(window, "l"),
        JoinNew(window, "l"),
        Histogram("l"),
        TopK("l", 1),
        Lookup("l", [1]),
        Union("l", window),
    ):
        refused(window, query, BadDefinition, "type list")
    for query in (
        Sum("x"),
        Quantiles("x"),
        TopK("x", 1),
        Lookup("x", 1),
        Ordered("s", ["x"]),
        Between("t", None, None, ["x"]),
        Join(window, "x"),
        Difference("x", window),
        Select("s = 'a'", ["x"]),
    ):
        refused(window, query, MissingColumn, "There are t, s, l")
    refused(window, Lookup("t", "noon"), BadKey, "cannot be a value")
    refused(window, Between("t", None, "noon"), BadKey, "cannot be a value")
    refused(window, Select("s > "), BadCondition, "cannot be understood")
    for make in (
        partial(TopK, "s", 0),
        partial(Quantiles, "s", (2,)),
        partial(Quantiles, "s", ()),
        partial(Quantiles, "s", ("x",)),
        partial(Variance, "s", -1),
    ):
        with pytest.raises(BadDefinition, match="give"):
            make()


def test_an_answer_says_what_it_takes_and_what_would_save():
    plain = Judged("int64", ("rows", 4, 2))
    ringed = Judged("int64", ("rows", 4, 2), ("list", "counts", "numbered"), number="m")
    for each in (plain, ringed):
        each.push([1, 2, 1, 3], [0] * 4)
    said = plain.window.explain(Lookup("k", 1))
    assert (said.mode, said.incremental, said.nodes) == (4, "yes", 4)
    assert (
        said.would == "ring=['k'] would lead to the rows of a value, without a look at the others"
    )
    assert ringed.window.explain(Lookup("k", 1)).nodes == 3
    assert ringed.window.explain(Lookup("k", 9)).nodes == 1
    assert ringed.window.explain(Between("k", 1, 2)).nodes == 5
    assert ringed.window.explain(Ordered("k")).uses == (
        "the index 'counts' and the ring 'numbered' on 'k'"
    )
    assert plain.window.explain(Variance("k")).incremental == "yes"
    assert "would keep partial results" in plain.window.explain(Variance("k")).would
    assert plain.window.explain(Intersection("k", ringed.window)).would == (
        "index=['k'] would keep the counts of each value"
    )
    join = ringed.window.explain(Join(plain.window, "k"))
    assert (join.mode, join.incremental, join.nodes) == (4, "no", 4 + 6)
    assert plain.window.explain(JoinNew(ringed.window, "k")).nodes == 2 + 3
    assert "ring=['k']" in ringed.window.explain(JoinNew(plain.window, "k")).would
    assert plain.window.explain(Select("k > 1")).mode == 1
    assert Changes().explain(plain.window).would.startswith("keep(window)")
    assert ringed.window.explain(Median("k")).nodes == 3
    assert plain.window.ask(Histogram("k")) == plain.window.histogram("k")
    assert "mode 4" in str(plain.window.explain(TopK("k", 2)))
    assert plain.window.explain(Sum("k")).to_dict()["nodes"] == 4
