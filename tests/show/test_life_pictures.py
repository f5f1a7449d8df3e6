"""The picture of a lifetime index in a notebook: well-formed, small, and true to the manifest."""

from __future__ import annotations

import re
import shutil
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import wavedex as wx
from kit.pictures import BOX, SVG, boxes, groups_of, parsed, svg_of
from wavedex.show import grid_svg
from wavedex.show.drawing import GRID
from wavedex.show.grid import GridPicture, span_text
from wavedex.show.html import to_html
from wavedex.show.words import human_bytes

SCHEMA = pa.schema([("k", pa.int64()), ("at", pa.int64()), ("over", pa.int64())])


def rows(now, count=6):
    some = [{"k": n, "at": now, "over": now + 1 + (5 * n + now) % 8} for n in range(count)]
    return pa.Table.from_pylist(some, SCHEMA)


def fill(path, until=12, **options):
    settings = {"max_lifetime": 8, "refresh": 1, "grid": (2, 2), **options}
    life = wx.LifetimeIndex.create(path, SCHEMA, key="k", inserted="at", expires="over", **settings)
    for now in range(1, until + 1):
        life.update(now, rows(now))
    return life


def test_the_title_has_the_facts(tmp_path):
    life = fill(tmp_path / "x")
    about = life.describe()
    text = "".join(parsed(life).itertext())
    for fact in (
        str(tmp_path / "x"),
        "rebuild, 2x2",
        "lifetimes of up to 8 refreshes of 1",
        f"{about['rows_held']} rows held",
        "now 12",
        human_bytes(about["bytes"]),
        f"commit {about['commit']}",
    ):
        assert fact in text


def test_every_sub_index_has_a_box_where_its_births_and_deaths_cross(tmp_path):
    life = fill(tmp_path / "x", grid=(2, 4))
    about, cells = life.describe(), groups_of(life)
    assert list(cells) == [f"I{number}" for number in range(1, 9)]
    places = {}
    for name, cell in cells.items():
        (edge,) = boxes(cell, "none")
        places[name] = edge[:2]
        assert cell.find(f"{SVG}title").text.startswith(
            f"{name}: {about['sub_indexes'][name]['rows']} row"
        )
    lefts = sorted({left for left, _ in places.values()})
    tops = sorted({top for _, top in places.values()})
    for number in range(8):
        assert places[f"I{number + 1}"] == (lefts[number % 4], tops[number // 4])


def test_the_height_of_a_bar_shows_the_rows_and_hidden_ones_are_apart(tmp_path):
    life = fill(tmp_path / "x")
    gone = life.probe(2).slice(0, 1)
    life.retract(12, gone)
    about, cells = life.describe(), groups_of(life)
    assert about["rows_hidden"] == 1
    peak = max(sub["rows"] for sub in about["sub_indexes"].values())
    for name, sub in about["sub_indexes"].items():
        held = sum(box[3] for box in boxes(cells[name], grid_svg.HELD))
        hidden = sum(box[3] for box in boxes(cells[name], grid_svg.HIDDEN))
        assert held + hidden == pytest.approx(grid_svg.BAR * sub["rows"] / peak, abs=0.2)
        assert (hidden > 0) == (sub["rows_hidden"] > 0)
    assert any("1 of them hidden" in cell.find(f"{SVG}title").text for cell in cells.values())


def test_what_was_written_last_has_a_thick_edge(tmp_path):
    life = fill(tmp_path / "x", until=11)
    done = life.update(12, rows(12))
    thick = {
        name
        for name, cell in groups_of(life).items()
        if cell.find(f"{SVG}path").get("stroke") == grid_svg.WRITTEN
    }
    assert thick <= set(done.touched)
    assert len(thick) == 3
    texts = [text.text for text in svg_of(life).iter(f"{SVG}text")]
    assert any(f"written by commit {done.commit}," in text for text in texts)


def test_the_delta_and_what_drains_are_named_below(tmp_path):
    life = fill(tmp_path / "x", refresh=2)
    life.migrate(grid=(4, 2), strategy="drain")
    life.update(13, rows(13))
    texts = "\n".join(text.text for text in svg_of(life).iter(f"{SVG}text"))
    assert re.search(r"^open: 6 rows", texts, re.MULTILINE)
    assert re.search(r"^O1: \d+ rows", texts, re.MULTILINE)


@pytest.mark.parametrize("grid", [(2, 2), (4, 6), (12, 12), (24, 24)])
def test_nothing_leaves_the_picture_and_it_stays_small(tmp_path, grid):
    life = fill(tmp_path / "x", max_lifetime=24, grid=grid, until=4)
    svg = svg_of(life)
    _, _, width, height = map(float, svg.get("viewBox").split())
    for path in svg.iter(f"{SVG}path"):
        left, top, wide, high = map(float, BOX.fullmatch(path.get("d")).groups()[:4])
        assert 0 <= left <= left + wide <= width
        assert 0 <= top <= top + high <= height
    for text in svg.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height
    assert len(groups_of(life)) == min(grid[0], grid_svg.SIDE_MAX) * min(grid[1], grid_svg.SIDE_MAX)
    said = "".join(svg.itertext())
    assert ("not shown: 8 lines and 8 columns" in said) == (grid == (24, 24))
    assert len(life._repr_html_().encode()) < 100_000


def test_more_beside_the_grid_than_fits_is_counted(tmp_path):
    life = fill(tmp_path / "x", max_lifetime=8, grid=(8, 8))
    life.migrate(grid=(2, 2), strategy="drain")
    texts = [text.text for text in svg_of(life).iter(f"{SVG}text")]
    left = len(life.describe()["draining"]) - grid_svg.SIDE_MAX
    assert left > 0
    assert f"and {left} more" in texts


@pytest.mark.parametrize("method", ["r-ins", "wata"])
def test_a_grid_of_one_column_is_drawn_too(tmp_path, method):
    assert len(groups_of(fill(tmp_path / "x", method=method, grid=(4, 1)))) == 4


def test_a_snapshot_shows_its_own_commit(tmp_path):
    life = fill(tmp_path / "x")
    snapshot = life.snapshot()
    before = snapshot._repr_html_()
    assert before == life._repr_html_()
    life.update(13, rows(13))
    assert snapshot._repr_html_() == before
    assert life._repr_html_() != before


def test_an_empty_index_says_so(tmp_path):
    root = parsed(fill(tmp_path / "x", until=0))
    assert "Nothing was inserted yet." in "".join(root.itertext())
    assert "now not yet known" in "".join(root.itertext())
    assert root.find(f"{SVG}svg") is None


def test_cells_without_a_row_are_drawn_empty(tmp_path):
    life = fill(tmp_path / "x", until=0)
    life.update(1)
    assert all(not boxes(cell, grid_svg.HELD) for cell in groups_of(life).values())


def test_no_data_file_is_opened_for_it(tmp_path):
    life = fill(tmp_path / "x")
    shown = life._repr_html_()
    shutil.rmtree(tmp_path / "x" / "data")
    assert wx.open(tmp_path / "x")._repr_html_() == shown


def test_names_are_text_and_nothing_else(tmp_path):
    about = {**fill(tmp_path / "x").describe(), "path": "<script>alert('x')</script> & \x1b[2J"}
    shown = to_html(GRID, about, lambda slot: "<b>&")
    assert "<script>" not in shown
    assert "<b>&" in "".join(ElementTree.fromstring(shown.replace("<br>", "<br/>")).itertext())


def test_lines_and_columns_are_named_by_their_first_and_last_slot(tmp_path):
    life = fill(tmp_path / "x")
    picture = GridPicture.of(life.describe(), str)
    assert [span_text(ends) for ends in picture.births] == ["5 ... 11", "6 ... 12"]
    assert [span_text(ends) for ends in picture.deaths] == ["13 ... 19", "14 ... 20"]
    assert picture.peak_rows == max(cell.rows for line in picture.cells for cell in line)
