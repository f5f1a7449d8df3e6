"""Continuous queries: handed on each few basic windows, and less often where there is no time."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wavedex as wx
from kit.matrix import examples
from wavedex import errors
from wavedex.online import Window
from wavedex.online.load import SAMPLE_LEAST, STRETCH_MOST, Cost, plan_measures
from wavedex.online.queries import Changes, JoinNew, Select
from wavedex.online.queries.histograms import Histogram
from wavedex.online.subscriptions import SAMPLED, SAMPLED_OTHER

SCHEMA = pa.schema([("src", pa.int64())])


def window(**settings: Any) -> Window:
    return Window(SCHEMA, **{"rows": 6, "basic": 2, "index": ["src"], **settings})


def pushed(to: Window, numbers: range) -> None:
    for number in numbers:
        to.push({"src": number})


def test_an_answer_comes_each_few_basic_windows():
    w, found = window(), []
    every = w.subscribe(Histogram("src"), every=2, to=found.append)
    each = w.subscribe(Histogram("src"))
    pushed(w, range(13))
    assert [answer.column("src").to_pylist() for answer in found] == [
        [0, 1, 2, 3],
        [2, 3, 4, 5, 6, 7],
        [6, 7, 8, 9, 10, 11],
    ]
    assert (every.evaluated, each.evaluated, each.skipped) == (3, 6, 0)
    assert each.latest == found[-1]
    every.close()
    pushed(w, range(13, 20))
    assert (every.evaluated, each.evaluated) == (3, 10)
    w.push({"src": list(range(100))})  # All at once: each basic window is told of all the same.
    assert each.evaluated == 60


def test_answers_go_into_queues_and_windows():
    w, plain = window(), queue.SimpleQueue()
    w.subscribe(Histogram("src"), to=plain)
    results = Window([("src", pa.int64()), ("count", pa.int64())], rows=8, basic=2, index=["src"])
    w.subscribe(Histogram("src"), every=2, to=results)
    pushed(w, range(4))
    assert plain.get_nowait().num_rows == 2
    assert plain.get_nowait().num_rows == 4
    assert len(results) == 4
    assert results.rows().to_pylist()[0] == {"src": 0, "count": 1}


def test_a_reader_cannot_push_into_the_window_that_tells_it():
    w = window()
    told = w.subscribe(Histogram("src"), to=lambda answer: w.push({"src": 99}))
    assert w.push({"src": [1, 2, 3]}, stream="s", number=0) == 1
    assert isinstance(told.error, errors.WindowBusy)
    assert w.streams.position == {"s": 1}
    assert (w.rows()["src"].to_pylist(), w.waiting) == ([1, 2], 1)


def test_a_watcher_that_raises_leaves_a_window_that_says_so():
    w = window()

    class Bad:
        def slid(self, slide: Any) -> None:
            raise errors.LateRows("of another window")

    w.push({"src": 1})
    w.watch(Bad())
    with pytest.raises(errors.LateRows):
        w.push({"src": [2, 3]}, stream="s", number=0)
    with pytest.raises(errors.WindowBroken, match=r"Window\.restore"):
        w.push({"src": 1})
    with pytest.raises(errors.WindowBroken, match="LateRows"):
        w.histogram("src")


def test_subscribers_to_changes_have_them_all():
    w = window()
    one, other = w.subscribe(Changes()), w.subscribe(Changes())
    pushed(w, range(2))
    assert one.latest is not None
    assert one.latest == other.latest
    assert one.latest.num_rows == 2


def test_a_selection_is_handed_on_row_by_row_and_kept_as_a_window():
    w, found = window(), []
    large = Window(SCHEMA, rows=4, basic=1)
    w.subscribe(Select("src % 3 = 0"), every=2, to=found.append)
    w.subscribe(Select("src % 3 = 0"), to=large)
    pushed(w, range(13))
    assert [answer.column("src").to_pylist() for answer in found] == [[0, 3], [6], [9]]
    assert large.rows().column("src").to_pylist() == [0, 3, 6, 9]


def test_answers_go_into_a_queue_of_the_loop_from_any_thread():
    async def listen() -> list[int]:
        answers: asyncio.Queue[Any] = asyncio.Queue()
        w = window()
        w.subscribe(Histogram("src"), to=answers)
        pushed(w, range(2))
        found = [(await answers.get()).num_rows]
        thread = threading.Thread(target=pushed, args=(w, range(2, 6)))
        thread.start()
        found += [(await answers.get()).num_rows for _ in range(2)]
        thread.join()
        return found

    assert asyncio.run(listen()) == [2, 4, 6]


def test_a_reader_that_fails_is_told_of_and_the_stream_goes_on(caplog):
    w, found = window(), []

    def fails(answer: pa.RecordBatch) -> None:
        raise ValueError("no room on the screen")

    bad = w.subscribe(Histogram("src"), to=fails)
    w.subscribe(Histogram("src"), to=found.append)
    full: queue.Queue[Any] = queue.Queue(1)
    lossy = w.subscribe(Histogram("src"), to=full)
    pushed(w, range(6))
    assert (bad.failed, bad.evaluated, str(bad.error)) == (3, 0, "no room on the screen")
    assert bad.latest is not None
    assert len(found) == 3
    assert (lossy.failed, lossy.evaluated) == (2, 1)
    assert "ValueError: no room on the screen" in caplog.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"every": 0}, "every=0"),
        ({"every": "1 minute"}, "number of basic windows"),
        ({"to": 17}, "give a function"),
        ({"importance": "high"}, "importance="),
    ],
)
def test_subscriptions_that_cannot_be_are_refused(options, said):
    w = window()
    with pytest.raises(errors.BadDefinition, match=said):
        w.subscribe(Histogram("src"), **options)
    with pytest.raises(errors.MissingColumn, match="no column 'x'"):
        w.subscribe(Histogram("x"))
    assert not w.schedule


class Machine:
    """A clock that goes on as work is done."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def works(self, seconds: float) -> Any:
        """Something that takes so long."""

        def take(answer: object) -> None:
            self.seconds += seconds

        return take


def test_where_there_is_no_time_the_dear_queries_wait_first_and_the_important_last():
    machine = Machine()
    w = window(keep_up=1.0, timer=machine)
    dear = w.subscribe(Histogram("src"), to=machine.works(1.9))
    cheap = w.subscribe(Histogram("src"), to=machine.works(0.05))
    held = w.subscribe(Histogram("src"), to=machine.works(0.5), importance=5)
    pushed(w, range(400))
    assert (cheap.stretch, held.stretch) == (1, 1)
    assert dear.stretch == 8
    assert (cheap.evaluated, held.evaluated) == (200, 200)
    assert 200 // 8 <= dear.evaluated <= 200 // 8 + 3
    assert dear.skipped == 200 - dear.evaluated
    assert w.load is not None
    assert w.load.sample == 1.0
    dear.close()
    pushed(w, range(20))
    assert cheap.stretch == 1


def test_past_that_rows_are_left_out_and_answers_say_so():
    machine = Machine()
    w = Window(
        SCHEMA, rows=400, basic=100, index=["src"], keep_up=1.0, shed=True, timer=machine, seed=3
    )

    class Slow:
        """Upkeep that takes a fiftieth of a second for each row."""

        def slid(self, slide: Any) -> None:
            machine.seconds += (slide.came.stop - slide.came.first) / 50

    w.watch(Slow())
    each = w.subscribe(Histogram("src"))
    for number in range(1_200):
        w.push({"src": [number] * 25})
    assert w.load is not None
    assert 0 < w.load.shed < 30_000
    assert w.load.sample < 1.0
    assert each.latest is not None
    said = float(each.latest.schema.metadata[SAMPLED])
    assert said == pytest.approx(w.schedule.sampled, rel=1e-3)
    assert float(w.ask(Histogram("src")).schema.metadata[SAMPLED]) == said
    # A basic window of 100 rows takes two seconds, and there is 0.8 of one: 40 rows in 100.
    assert w.load.sample == pytest.approx(0.4, rel=0.05)


def test_a_window_that_goes_by_time_keeps_up_with_its_time():
    machine = Machine()
    schema = pa.schema([("at", pa.timestamp("s")), ("src", pa.int64())])
    w = Window(schema, span="1 minute", basic="10 seconds", time="at", index=["src"], timer=machine)
    slow = w.subscribe(Histogram("src"), to=machine.works(15))
    quick = Window(schema, span="1 minute", basic="10 seconds", time="at", index=["src"])
    swift = quick.subscribe(Histogram("src"))
    for second in range(0, 400, 5):
        for each in (w, quick):
            each.push(pa.record_batch([[second], [1]], schema=schema))
    assert slow.stretch == 2
    assert swift.stretch == 1
    assert w.load is not None
    assert w.load.interval_s == 10
    assert window().load is None


def test_time_that_goes_by_without_work_is_not_work():
    machine = Machine()
    schema = pa.schema([("at", pa.int64()), ("src", pa.int64())])
    w = Window(schema, span=60, basic=10, time="at", index=["src"], keep_up=1.0, timer=machine)
    w.subscribe(Histogram("src"))
    for second in range(0, 2_000, 10):
        w.push({"at": second, "src": 1})
        machine.seconds += 100  # nobody asks for anything
        w.advance(second + 5)
    assert w.load is not None
    assert (w.load.sample, w.load.shed, w.load.work_s) == (1.0, 0, 0.0)


def test_a_window_that_may_leave_rows_out_is_no_source_of_an_archive(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("at", pa.int64())])
    idx = wx.WaveIndex.create(tmp_path / "i.wx", schema, key="k", time="at", slot=100, window=90)
    w = Window(schema, rows=40, basic=20, keep_up=1.0, shed=True)
    with pytest.raises(errors.BadDefinition, match="shed=False"):
        w.archive(idx, stream="s")


def test_without_a_word_no_row_is_left_out():
    machine = Machine()
    w = window(keep_up=1.0, timer=machine)
    slow = w.subscribe(Histogram("src"), to=machine.works(50))
    pushed(w, range(400))
    assert w.load is not None
    assert (w.load.sample, w.load.shed) == (1.0, 0)
    assert slow.stretch == 64


def test_one_basic_window_that_is_held_up_changes_nothing():
    machine = Machine()
    w = Window(SCHEMA, rows=4, basic=2, keep_up=1.0, shed=True, timer=machine)

    class Stall:
        def slid(self, slide: Any) -> None:
            machine.seconds += 60 if slide.came.number == 5 else 0.1

    w.watch(Stall())
    pushed(w, range(100))
    assert w.load is not None
    assert w.load.shed == 0


def test_every_answer_says_of_which_part_of_the_rows_it_is():
    """Whenever the part changes, in the midst of a batch or while rows wait."""
    machine = Machine()
    schema = pa.schema([("at", pa.int64()), ("n", pa.int64())])
    w = Window(
        schema, span=40, basic=10, time="at", delay=10, keep_up=1.0, shed=True, timer=machine
    )
    assert w.load is not None
    rates = [1.0, 0.5, 1.0, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    taken: list[tuple[int, float]] = []
    for number, rate in enumerate(rates):
        w.load.sample = rate
        at = list(range(15 * number, 15 * number + 15))
        w.push({"at": at, "n": at})
        taken += [(each, rate) for each in at]
        assert len(w) <= 40
        of = dict(taken)
        seen = [of[each] for each in w.rows()["n"].to_pylist()]
        said = float((w.count().schema.metadata or {}).get(SAMPLED, 1))
        assert said <= min(seen, default=1.0)
    assert w.count().schema.metadata is None


def test_a_batch_of_many_basic_windows_says_so_in_all_of_them():
    w = Window({"n": pa.int64()}, rows=4, basic=2, keep_up=1.0, shed=True, timer=Machine())
    said = w.subscribe(Histogram("n"), to=(answers := []).append)
    assert w.load is not None
    w.load.sample = 0.25
    w.push({"n": [*range(99)]})
    assert said.evaluated > 4
    assert [each.schema.metadata for each in answers] == [{SAMPLED: b"0.25"}] * len(answers)


def test_an_answer_over_two_windows_says_of_which_part_of_either_it_is():
    settings: dict[str, Any] = {"rows": 4, "basic": 2, "ring": ["n"], "timer": Machine()}
    whole = Window({"n": pa.int64()}, **settings)
    part = Window({"n": pa.int64()}, **settings, keep_up=1.0, shed=True)
    joined = whole.subscribe(JoinNew(part, "n"))
    assert part.load is not None
    part.load.sample = 0.25
    part.push({"n": [*range(99)]})
    whole.push({"n": [*range(4)]})
    other = {SAMPLED_OTHER: b"0.25"}
    assert joined.latest.schema.metadata == other
    for answer in (whole.intersect(part, "n"), whole.join(part, "n")):
        assert answer.schema.metadata == other
    assert part.union(whole, "n").schema.metadata == {SAMPLED: b"0.25"}
    assert whole.histogram("n").schema.metadata is None


@examples(200)
@given(
    costs=st.lists(
        st.builds(Cost, st.floats(0, 10), st.integers(1, 9), st.sampled_from([1.0, 2.0])),
        max_size=6,
    ),
    upkeep=st.floats(0, 10),
    interval=st.floats(0.01, 10),
)
def test_what_is_left_out_is_no_more_than_must_be(costs, upkeep, interval):
    found = plan_measures(costs, upkeep, interval)

    def work(stretches: tuple[int, ...]) -> float:
        return sum(
            cost.seconds / (cost.every * stretch)
            for cost, stretch in zip(costs, stretches, strict=True)
        )

    budget = 0.8 * interval
    assert all(1 <= stretch <= STRETCH_MOST for stretch in found.stretches)
    assert SAMPLE_LEAST <= found.sample <= 1
    if found.sample == 1 and any(stretch < STRETCH_MOST for stretch in found.stretches):
        assert upkeep + work(found.stretches) <= budget * (1 + 1e-9)
    if found.sample < 1:
        assert all(stretch == STRETCH_MOST for stretch in found.stretches)
    if upkeep + work((1,) * len(costs)) <= budget:
        assert found.stretches == (1,) * len(costs)
    # No important query waits while one that is less so could wait longer.
    for cost, stretch in zip(costs, found.stretches, strict=True):
        for other, others in zip(costs, found.stretches, strict=True):
            if other.importance < cost.importance and stretch > 1:
                assert others == STRETCH_MOST
