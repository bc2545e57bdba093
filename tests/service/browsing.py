"""A real browser on the page: what it asked for, what it complained of, and whether people can use what it shows."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever the page would ask of another host fails at once, and is on record.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
CHECKS = (Path(__file__).parent / "accessible.js").read_text()
PROBLEM_ANSWERED = "Failed to load resource: the server responded with a status of 4"
"""The browser's own note of an answer that is a problem; what the page makes of it is tested."""
TABS = 90


@contextmanager
def run_browser() -> Iterator[Browser]:
    """Run a headless Chromium."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.fail("the tests of the page need a Chromium on the path: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Visit:
    """One tab, and all that happened in it."""

    page: Page
    origin: str
    addresses: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, address: str = "/") -> Page:
        """Go to an address of the service, as if for the first time."""
        self.page.goto("about:blank")
        self.page.goto(self.origin + address)
        return self.page

    def hosts(self) -> set[str]:
        """Every host that was asked for something."""
        return {urlsplit(address).netloc for address in self.addresses if address.startswith(("http", "ws"))}

    def faults(self) -> list[str]:
        """What keeps people from using what is shown now."""
        found: list[str] = self.page.evaluate(CHECKS)
        return found

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return wider

    def tab_to(self, wanted: str) -> int:
        """Press Tab until what has the focus is called `wanted`, and return how often that took."""
        seen: list[str] = []
        while len(seen) < TABS:
            self.page.keyboard.press("Tab")
            name: str = self.page.evaluate(
                "(() => { const at = document.activeElement;"
                " return (at.labels?.[0] ?? at).textContent.trim() || at.getAttribute('aria-label') || at.tagName; })()"
            )
            seen.append(name)
            if name == wanted:
                return len(seen)
        return pytest.fail(f"{TABS} presses of Tab did not lead to {wanted}, only to {seen}")


@contextmanager
def visit(browser: Browser, origin: str, *, width: int = 1200, dark: bool = False) -> Iterator[Visit]:
    """Open a tab; at the end, nothing may have been asked of others, and nothing complained of."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    tab = Visit(page, origin)

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(PROBLEM_ANSWERED):
            tab.complaints.append(message.text)

    page.on("request", lambda request: tab.addresses.append(request.url))
    page.on("console", hear)
    page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    try:
        yield tab
    finally:
        context.close()
    assert tab.hosts() <= {urlsplit(origin).netloc}
    assert tab.complaints == []
