"""A real browser: Debian's chromium, driven by playwright."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from kit.paths import ROOT

HERE = "127.0.0.1"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "There is no chromium on the path. Install it: apt-get install chromium."
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may ask for nothing from elsewhere, and whose scripts must not fail."""
    shown = browser.new_page(viewport={"width": 1300, "height": 900})
    wrong: list[str] = []
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("request", lambda asked: _refuse(asked.url, wrong))
    yield shown
    shown.close()
    assert not wrong


def _refuse(address: str, wrong: list[str]) -> None:
    if not address.startswith(("file:", "data:", "about:", f"http://{HERE}:")):
        wrong.append(f"{address} was asked for")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, which is built without a warning."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    built = subprocess.run(
        [*command, "-d", str(out / "trees"), str(ROOT / "docs"), str(out / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    serve = partial(_Quietly, directory=str(out / "html"))
    with ThreadingHTTPServer((HERE, 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HERE}:{server.server_port}"
        server.shutdown()


class _Quietly(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        pass
