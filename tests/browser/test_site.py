"""The site as people see it: its door, its shelves, its search, the API."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

import wavedex as wx

pytestmark = pytest.mark.browser


def test_the_door_shows_the_wave_and_the_four_shelves(page: Page, site: str) -> None:
    page.goto(f"{site}/index.html")
    assert page.title() == "Wavedex"
    captions = page.locator(".sidebar-tree .caption").all_inner_texts()
    assert [caption.casefold() for caption in captions] == ["start", "choose", "run", "inside"]
    pictures = page.locator("article img")
    assert pictures.count() >= 1
    for picture in pictures.all():
        assert picture.evaluate("each => each.complete && each.naturalWidth > 0")
    assert page.locator("article pre").first.is_visible()


def test_every_page_of_the_navigation_is_there(page: Page, site: str) -> None:
    page.goto(f"{site}/index.html")
    links = page.locator(".sidebar-tree a").evaluate_all("all => all.map(each => each.href)")
    assert len(links) > 25
    for link in links:
        page.goto(link)
        assert page.locator("article h1").first.is_visible()


@pytest.mark.parametrize(
    ("words", "found"), [("watermark", "On Spark"), ("prolong", "Rows with lifetimes of their own")]
)
def test_search_finds_pages(page: Page, site: str, words: str, found: str) -> None:
    page.goto(f"{site}/index.html")
    page.fill("input[name=q]", words)
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li")
    page.get_by_text("Search finished").wait_for()
    assert found in page.locator("#search-results").inner_text()


def test_the_api_has_what_users_call_and_nothing_else(page: Page, site: str) -> None:
    page.goto(f"{site}/api.html")
    for name in ("WaveIndex.append", "LifetimeIndex.prolong", "open", "Committed"):
        signature = page.locator(f'[id="wavedex.{name}"]')
        assert signature.count() == 1, name
    assert page.locator('[id="wavedex.spark.append"]').count() == 1
    for name in wx.WaveIndex._inner:
        assert page.locator(f'[id="wavedex.WaveIndex.{name}"]').count() == 0, name
    text = page.locator("article").inner_text()
    assert "ConcurrentWrite" in text
