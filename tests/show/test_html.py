"""The picture of an index in a notebook: well-formed, escaped, small, and true to the manifest."""

from __future__ import annotations

import datetime as dt
import itertools
import shutil
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from rich.filesize import decimal

import wavedex as wx
from kit.pictures import BOX, SVG, boxes, groups_of, parsed, svg_of
from wavedex.show import wave_svg
from wavedex.show.drawing import WAVE
from wavedex.show.html import to_html
from wavedex.show.wave import EXPIRED, LIVE, OPEN
from wavedex.show.words import human_bytes

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64())])


def fill(path, slots=range(1, 10), counts=(1, 2, 4), **options):
    options = {"window": 5, "indexes": 3, "scheme": "wata", **options}
    index = wx.WaveIndex.create(path, SCHEMA, key="k", time="t", slot=1, **options)
    for slot in slots:
        count = counts[slot % len(counts)]
        index.append(pa.table({"k": list(range(count)), "t": [slot] * count}, schema=SCHEMA), slot)
    return index


def test_the_title_has_the_facts(tmp_path):
    index = fill(tmp_path / "x")
    about = index.describe()
    text = "".join(parsed(index).itertext())
    for fact in (
        str(tmp_path / "x"),
        "wata, runs",
        "window of 5 slots in 3 sub-indexes",
        f"{about['rows']} rows",
        human_bytes(about["bytes"]),
        f"commit {about['commit']}",
    ):
        assert fact in text


def test_every_sub_index_has_a_line_and_every_slot_a_bar_where_it_belongs(tmp_path):
    index = fill(tmp_path / "x")
    layout, window = index.sub_indexes, set(index.slots)
    held = sorted(set().union(*layout.values()))
    expired = set(held) - window
    assert expired, "a soft window holds more than itself"
    lines = groups_of(index)
    assert list(lines) == list(layout)
    step = boxes(lines["I1"], wave_svg.COLOURS[LIVE])[0][2] + 1
    rows = {entry["slot"]: entry["rows"] for entry in index.describe()["slots"]}
    floors = []
    for name, slots in layout.items():
        for state, some in ((LIVE, window), (EXPIRED, expired)):
            drawn = boxes(lines[name], wave_svg.COLOURS[state])
            lefts = [wave_svg.LEFT + held.index(slot) * step for slot in slots if slot in some]
            assert [box[0] for box in drawn] == pytest.approx(lefts, abs=0.1)
            heights = [wave_svg.BAR * rows[slot] / 4 for slot in slots if slot in some]
            assert [box[3] for box in drawn] == pytest.approx(heights, abs=0.1)
            floors += [round(top + height, 1) for _, top, _, height in drawn]
    assert len(set(floors)) == len(layout), "bars stand on the line of their sub-index"


@pytest.mark.parametrize("window", [3, 100, 700])
def test_nothing_leaves_the_picture_and_no_two_bars_meet(tmp_path, window):
    index = fill(tmp_path / "x", slots=(1, 2 * window), window=window, indexes=2, max_gap=2_000)
    svg = svg_of(index)
    _, _, width, height = map(float, svg.get("viewBox").split())
    for path in svg.iter(f"{SVG}path"):
        drawn = sorted(
            tuple(map(float, box[:4])) for box in BOX.findall(path.get("d").replace("\n", ""))
        )
        for left, top, wide, high in drawn:
            assert left >= 0
            assert top >= 0
            assert left + wide <= width
            assert top + high <= height
            assert wide > 0
        for one, next_one in itertools.pairwise(drawn):
            assert one[0] + one[2] <= next_one[0] + 0.15
    for text in svg.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height


def test_temporaries_are_faint_and_thin_and_below(tmp_path):
    index = fill(tmp_path / "x", scheme="reindex++", indexes=2)
    about = index.describe()
    lines = groups_of(index)
    temporaries = list(about["temporaries"])
    assert list(lines) == [*about["sub_indexes"], *temporaries]
    for name, group in lines.items():
        assert (group.get("opacity") is not None) == (name in temporaries)
    name = max(temporaries, key=lambda name: len(about["temporaries"][name]["slots"]))
    assert {box[3] for box in boxes(lines[name], wave_svg.FAINT)} == {wave_svg.THIN}


def test_open_slots_have_a_colour_and_a_line_of_their_own(tmp_path):
    schema = pa.schema([("k", pa.int64()), ("at", pa.timestamp("us"))])
    index = wx.WaveIndex.create(tmp_path / "x", schema, key="k", time="at", window=3)
    at = [dt.datetime(2026, 1, day) for day in (1, 2, 3)]
    index.feed(
        pa.table({"k": [1, 2, 3], "at": at}, schema=schema), stream="s", number=0, delay="1 day"
    )
    lines = groups_of(index)
    assert "open" in lines
    assert boxes(lines["open"], wave_svg.COLOURS[OPEN])
    texts = [text.text for text in svg_of(index).iter(f"{SVG}text")]
    assert "open" in texts
    assert "2025-12-30 to 2026-01-03" in texts or any("2026-01-03" in text for text in texts)


def test_a_snapshot_shows_its_own_commit(tmp_path):
    index = fill(tmp_path / "x")
    snapshot = index.snapshot()
    before = snapshot._repr_html_()
    assert before == index._repr_html_()
    fill_more = pa.table({"k": [1], "t": [10]}, schema=SCHEMA)
    index.append(fill_more)
    assert snapshot._repr_html_() == before
    assert index._repr_html_() != before


def test_an_empty_index_says_so(tmp_path):
    root = parsed(fill(tmp_path / "x", slots=()))
    assert "Nothing was appended yet." in "".join(root.itertext())
    assert root.find(f"{SVG}svg") is None


def test_no_data_file_is_opened_for_it(tmp_path):
    index = fill(tmp_path / "x")
    shown = index._repr_html_()
    shutil.rmtree(tmp_path / "x" / "data")
    assert wx.open(tmp_path / "x")._repr_html_() == shown


def test_names_are_text_and_nothing_else(tmp_path):
    name = "<script>alert('x')</script> & \"q\"\x1b[2J"
    folder = tmp_path / "odd"
    index = fill(folder)
    about = {**index.describe(), "path": name}
    shown = to_html(WAVE, about, lambda slot: "<b>&")
    assert "<script>" not in shown
    root = ElementTree.fromstring(shown.replace("<br>", "<br/>"))
    text = "".join(root.itertext())
    assert "<script>alert('x')</script> & \"q\"\\x1b[2J" in text
    assert "<b>&" in text
    assert root.find(f"{SVG}svg").get("aria-label").endswith("hold")


@pytest.mark.parametrize(
    ("scheme", "indexes"), [("wata", 4), ("rata", 4), ("reindex++", 5), ("del", 50), ("del", 100)]
)
def test_a_picture_stays_small(tmp_path, scheme, indexes):
    options = {"scheme": scheme, "indexes": indexes, "window": 100, "max_gap": 300}
    index = wx.WaveIndex.create(tmp_path / "x", SCHEMA, key="k", time="t", slot=1, **options)
    # A full window, every slot with rows of its own, all at once.
    times = [slot for slot in range(1, 131) for _ in range(slot % 7)]
    index.append(pa.table({"k": times, "t": times}, schema=SCHEMA))
    assert len(index.slots) == 100
    shown = index._repr_html_()
    assert len(shown.encode()) < 30_000
    parsed(index)


def test_more_lines_than_fit_are_counted(tmp_path):
    index = fill(tmp_path / "x", slots=(1,), window=60, indexes=60, scheme="del")
    assert len(groups_of(index)) == wave_svg.LINES_MAX
    texts = [text.text for text in svg_of(index).iter(f"{SVG}text")]
    assert "and 20 more" in texts


@pytest.mark.parametrize(
    "count", [0, 1, 2, 999, 1000, 1001, 123_456, 10**6, 1_999_999, 10**12, 10**16]
)
def test_bytes_are_said_as_elsewhere(count):
    assert human_bytes(count) == decimal(count)


def test_columns_are_named_with_their_types(tmp_path):
    columns = {f"c{n}": [n] for n in range(20)}
    rows = pa.table({"user": ["<a>"], "at": [1], **columns})
    idx = wx.WaveIndex.create(
        tmp_path / "i", rows, key="user", time="at", slot=1, window=3, rows=True
    )
    shown = idx._repr_html_()
    assert "user <i>string</i> (key), at <i>int64</i> (time), c0 <i>int64</i>" in shown
    assert "<summary>and 10 more columns</summary>" in shown


def test_figures_add_up(tmp_path):
    schema = pa.schema([("k", pa.string()), ("t", pa.int64())])
    idx = wx.WaveIndex.create(tmp_path / "i", schema, key="k", time="t", slot=1, window=6)
    for slot in range(1, 12):
        idx.append(pa.table({"k": ["a"] * 5, "t": [slot] * 5}, schema))
    about = idx.describe()
    over = sum(sub["rows"] for sub in about["sub_indexes"].values()) - 30
    assert over > 0
    assert f"30 rows and {over} expired that are still held" in idx._repr_html_()


def test_the_ends_of_the_axis_are_dates(tmp_path):
    at = pa.array([0, 9 * 86_400], pa.timestamp("s"))
    rows = pa.table({"k": ["a", "b"], "at": at})
    idx = wx.WaveIndex.create(tmp_path / "i", rows, key="k", time="at", window=10, rows=True)
    shown = idx._repr_html_()
    assert ">1970-01-01</text>" in shown
    assert 'text-anchor="end" fill-opacity=".7">1970-01-10</text>' in shown
