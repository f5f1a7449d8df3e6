"""Pictures of sets over time: true to the numbers, well-formed, and small however long they are."""

from __future__ import annotations

import datetime as dt
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from kit.pictures import SVG, boxes, parsed
from kit.set_events import Told
from wavedex.errors import BadDefinition, BadPlot
from wavedex.show import set_svg
from wavedex.show.set_history import BARS_MAX, Sizes
from wavedex.show.set_svg import COPIED, OVER, USEFUL
from wavedex.temporal import TemporalSet


def filled(count=600, **options):
    found, told = TemporalSet.create(page_records=8, buckets=2, **options), Told(3)
    found.load(told.events(count))
    return found, told


def groups_of(picture):
    root = ElementTree.fromstring(picture.svg)
    return [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]


@pytest.mark.parametrize("width", [1, 7, 480])
def test_a_column_has_the_least_and_the_most_ids_of_all_its_times(width):
    rng = np.random.default_rng(1)
    ticks = np.unique(rng.integers(-50, 1_000, 90))
    sizes, last = rng.integers(0, 40, len(ticks)), int(ticks[-1]) + 30
    found = Sizes.of(ticks, sizes, last, ("a", "b"), width)
    each_tick = sizes[ticks.searchsorted(np.arange(ticks[0], last + 1), "right") - 1]
    span, count = len(each_tick), len(found.highs)
    assert count == width
    for at in range(count):
        column = each_tick[at * span // count : (at + 1) * span // count]
        assert (found.lows[at], found.highs[at]) == (column.min(), column.max())


def test_times_as_far_apart_as_can_be_fit_into_columns():
    ticks = np.array([-(2**62) + 1, 0, 2**62 - 1])
    found = Sizes.of(ticks, np.array([1, 2, 3]), 2**62 - 1, ("a", "b"), 480)
    assert (found.lows[0], found.highs[-1], len(found.highs)) == (1, 3, 480)


def test_the_area_is_as_high_as_the_set_was_large():
    found = TemporalSet.create()
    for number, time in enumerate((0, 1, 2)):
        found.add(number, time)
    found.remove(0, 3)
    root = ElementTree.fromstring(found.draw().svg)
    outline = root.find(f"{SVG}path").get("d")
    heights = [float(each) for each in re.findall(r"v([\d.]+)", outline)]
    assert heights == [40, 80, 120, 80]
    said = "".join(root.itertext())
    assert ("2 now" in said, "3" in said) == (True, True)


def test_the_terminal_has_the_same_area():
    found, told = filled()
    lines = found.draw().lines(60)
    assert max(map(len, lines)) <= 60
    sizes = [each["size"] for each in found.sizes().to_pylist()]
    assert lines[0].startswith(f"{max(sizes)} ")
    assert f"{len(found)} now" in lines[-2]
    assert str(told.time) in lines[8]
    assert str(found.draw()) == "\n".join(found.draw().lines(80))


def test_a_page_is_a_bar_from_when_it_took_records_until_it_was_of_no_use():
    found, _ = filled(2_000)
    picture, pages = found.draw(0), found.bucket(0).to_pylist()[-BARS_MAX:]
    groups = groups_of(picture)
    assert len(groups) == len(pages) > 3
    first, last = pages[0]["start"], found.last
    copies, unit = 0, (set_svg.RIGHT - set_svg.LEFT) / (last - first)
    for page, group in zip(pages, groups, strict=True):
        (bar,) = boxes(group, USEFUL if page["end"] is None else OVER)
        end = last if page["end"] is None else page["end"]
        assert bar[0] == pytest.approx(set_svg.LEFT + (page["start"] - first) * unit, abs=0.1)
        copies += page["copies"]
        width = max((end - page["start"]) * unit, set_svg.THIN)
        assert bar[2] == pytest.approx(width, abs=0.1)
        copied = sum(box[3] for box in boxes(group, COPIED))
        assert copied == pytest.approx(set_svg.BAR * page["copies"] / 8, abs=0.1)
        assert bar[3] + copied == pytest.approx(set_svg.BAR * page["records"] / 8, abs=0.2)
        assert group.find(f"{SVG}title").text.startswith(f"page {page['page']}: ")
    assert copies


def test_the_terminal_has_a_line_for_each_page():
    found, _ = filled()
    pages, lines = found.bucket(0).to_pylist()[-BARS_MAX:], found.draw(0).lines(100)
    assert max(map(len, lines)) <= 100
    for page, line in zip(pages, lines[1:], strict=False):
        assert line.startswith(f"page {page['page']} ")
        assert ("█" in line) == (page["end"] is None)
        assert f"{page['records']} record" in line


def test_a_long_history_gives_a_small_picture():
    found = TemporalSet.create(page_records=2, buckets=1, low=0, high=10**6)
    for time in range(300):
        found.add(time, time)
        if time > 1:
            found.remove(time - 2, time)
    pages = found.bucket(0).num_rows
    assert pages > 2 * BARS_MAX
    picture = found.draw(0)
    assert len(groups_of(picture)) == BARS_MAX
    for said in ("".join(ElementTree.fromstring(picture.svg).itertext()), str(picture)):
        assert f"and {pages - BARS_MAX:,} pages before" in said
    assert len(picture.svg) < 30_000
    assert len(filled(5_000)[0].draw().svg) < 60_000


def test_a_notebook_shows_the_facts_and_the_picture(tmp_path):
    name = "<b>&.wxt"
    found = TemporalSet.create(tmp_path / name)
    found.add("ann", dt.date(2026, 3, 1))
    found.commit()
    root = parsed(found)
    said = "".join(root.itertext())
    for fact in (str(tmp_path / name), "pph-s", "1 ids now", "1 changes, 2026-03-01 to 2026-03-01"):
        assert fact in said
    assert root.find(f"{SVG}svg") is not None
    assert "in memory" in "".join(parsed(filled()[0]).itertext())


def test_empty_sets_and_empty_buckets_say_so():
    assert str(TemporalSet.create().draw()) == "Nothing was loaded yet."
    assert "Nothing was loaded yet." in TemporalSet.create()._repr_html_()
    found = TemporalSet.create(buckets=50)
    found.add(1, 1)
    said = [str(found.draw(bucket)) for bucket in range(50)]
    assert sum(each.startswith("Nothing was in bucket") for each in said) == 49
    with pytest.raises(BadDefinition, match="no bucket 50"):
        found.draw(50)


def test_what_is_forgotten_is_not_drawn():
    found, told = filled()
    found.forget(told.time // 2)
    ends = found.draw().lines(70)[8].split()
    assert ends == [str(told.time // 2), str(told.time)]
    assert "page" in str(found.draw(0))
    found.forget(told.time + 100)
    assert f"{len(found)} now" in str(found.draw())


def test_pictures_are_written_to_svg_files(tmp_path):
    picture = filled()[0].draw()
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == picture.svg == picture._repr_html_()
    with pytest.raises(BadPlot, match=r"ends in \.svg"):
        picture.save(tmp_path / "a.png")
    with pytest.raises(BadPlot, match="no folder"):
        picture.save(tmp_path / "no" / "a.svg")
