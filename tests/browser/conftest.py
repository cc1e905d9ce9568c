"""A real Chromium, and dashboards to open in it: one of files, one of a live cluster.

A machine without Chromium skips these tests and says so; where `CI` is set they fail instead.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from tests.browser.dashboard_process import RunningDashboard, moorage_dashboard
from tests.e2e.running_cluster import Cluster, moorage_up

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "cluster"
ALL_GATES = "--feature-gates=AllAlpha=true,AllBeta=true"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Milliseconds: only what never comes takes so long, on a busy machine too.
PATIENCE = 120_000.0
expect.set_options(timeout=PATIENCE)


def chromium() -> str | None:
    """Return the path of the machine's Chromium; None if it has none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser for one file. Playwright's event loop runs until it is closed, and would keep out all others."""
    path = chromium()
    if path is None:
        text = "there is no Chromium: install Debian's package chromium, or set CHROMIUM to its path"
        if os.environ.get("CI"):
            pytest.fail(text)
        pytest.skip(text)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS, timeout=PATIENCE)
        try:
            yield started
        finally:
            started.close()


class Visitor:
    """Opens pages of one dashboard: the first exchanges the token, the others bring its cookie."""

    def __init__(self, browser: Browser, dashboard: RunningDashboard) -> None:
        self.browser, self.dashboard = browser, dashboard
        self._state: Any = None

    def context(self, **options: Any) -> BrowserContext:
        context = self.browser.new_context(storage_state=self._state, **options)
        context.set_default_timeout(PATIENCE)
        if self._state is None:
            page = context.new_page()
            page.goto(self.dashboard.address)
            page.wait_for_url(self.dashboard.url)
            self._state = context.storage_state()
            page.close()
        return context


@pytest.fixture(scope="module")
def files_dashboard(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A dashboard of examples/cluster, all gates on."""
    directory = tmp_path_factory.mktemp("files-dashboard")
    with moorage_dashboard(directory, str(EXAMPLE), ALL_GATES) as dashboard:
        yield Visitor(browser, dashboard)


@pytest.fixture(scope="module")
def live_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A `moorage up` with the objects of examples/cluster, all gates on."""
    directory = tmp_path_factory.mktemp("live-cluster")
    with moorage_up(directory, "--nodes", "0", ALL_GATES, "--load", str(EXAMPLE), "--wait") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def live_dashboard(
    browser: Browser, live_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    """A dashboard of that cluster which may change it."""
    directory = tmp_path_factory.mktemp("live-dashboard")
    options = ("--kubeconfig", str(live_cluster.kubeconfig), "--allow-changes")
    with moorage_dashboard(directory, *options) as dashboard:
        yield Visitor(browser, dashboard)


#: Opens a view, such as `#/map`, of a dashboard; options are those of Playwright's `new_context`.
OpenPage = Callable[..., Page]


def _problem_of(message: ConsoleMessage) -> list[str]:
    """Return what a page has logged as an error. That a pod went just before the page asked about it is no error."""
    is_gone = "404" in message.text and "/api/pod/" in message.location["url"]
    return [f"console: {message.text}"] if message.type == "error" and not is_gone else []


@pytest.fixture
def open_page() -> Iterator[OpenPage]:
    """Open pages. At the end none of them has logged an error, a page error or a violation of its policy."""
    problems: list[str] = []
    with ExitStack() as until:

        def opened(visitor: Visitor, address: str = "", **options: Any) -> Page:
            context = visitor.context(**options)
            until.callback(context.close)
            page = context.new_page()
            page.on("pageerror", lambda error: problems.append(f"error: {error}"))
            page.on("console", lambda message: problems.extend(_problem_of(message)))
            page.goto(f"{visitor.dashboard.url}{address}")
            return page

        yield opened
    assert problems == []
