"""What a notebook shows of an index: whole, within its width, and legible on dark ground."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Page

import wavedex as wx

pytestmark = pytest.mark.browser

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [("user", pa.string()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.float64())]
)


@pytest.fixture(scope="module")
def wave(tmp_path_factory: pytest.TempPathFactory) -> wx.WaveIndex:
    path = tmp_path_factory.mktemp("wave") / "sales.wx"
    idx = wx.WaveIndex.create(path, SCHEMA, key="user", time="at", window=30)
    for day in range(37):
        at = [START + dt.timedelta(days=day, seconds=second) for second in range(20)]
        idx.append(pa.table({"user": ["ann"] * 20, "at": at, "amount": [1.0] * 20}, SCHEMA))
    return idx


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> wx.LifetimeIndex:
    path = tmp_path_factory.mktemp("grid") / "calls.wx"
    at = pa.timestamp("us", "UTC")
    schema = pa.schema([("k", pa.string()), ("begun", at), ("until", at)])
    life = wx.LifetimeIndex.create(
        path,
        schema,
        key="k",
        inserted="begun",
        expires="until",
        max_lifetime="20 minutes",
        refresh="2 minutes",
        grid=(5, 5),
    )
    for turn in range(1, 30):
        now = START + dt.timedelta(minutes=2 * turn)
        ends = [now + dt.timedelta(minutes=minutes) for minutes in range(1, 10)]
        life.update(now, pa.table({"k": ["a"] * 9, "begun": [now] * 9, "until": ends}, schema))
    return life


def show(page: Page, html: str, folder: Path, dark: bool = False) -> None:
    """Show a cell as a notebook does, and keep what it looks like."""
    ground = "#111; color: #eee" if dark else "white"
    file = folder / "cell.html"
    file.write_text(f"<!doctype html><body style='background: {ground}'>{html}</body>", "utf-8")
    if dark:
        page.emulate_media(color_scheme="dark")
    page.goto(file.as_uri())
    page.screenshot(path=folder / "cell.png", full_page=True)


@pytest.mark.parametrize("dark", [False, True])
def test_a_wave_shows_columns_dates_and_slots(
    page: Page, wave: wx.WaveIndex, tmp_path: Path, dark: bool
) -> None:
    show(page, wave._repr_html_(), tmp_path, dark)
    shown = page.locator("body").inner_text()
    for said in ("user", "timestamp[us, tz=UTC]", "2025-12-31", "2026-02-06", "600"):
        assert said in shown, said
    _check_fits(page)


def test_a_grid_shows_its_heads_and_what_its_rows_add_up_to(
    page: Page, grid: wx.LifetimeIndex, tmp_path: Path
) -> None:
    show(page, grid._repr_html_(), tmp_path)
    shown = page.locator("body").inner_text()
    for said in ("until", "5", "rows"):
        assert said in shown, said
    _check_fits(page)


def _check_fits(page: Page) -> None:
    """Nothing sticks out to the right, and no text of a picture lies outside of it."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
            const box = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].filter(each => {
                const own = each.getBoundingClientRect();
                return own.width > 0 && (own.left < box.left - 1 || own.right > box.right + 1);
            }).map(each => each.textContent);
        })"""
    )
    assert outside == []
