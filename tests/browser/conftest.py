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
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)
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
_USUAL_SIZE: ViewportSize = {"width": 1280, "height": 720}  # Playwright's own
_MEDIA = ("media", "color_scheme", "reduced_motion", "forced_colors", "contrast")
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
    """Opens pages of one dashboard: the first exchanges the token, the others bring its cookie.

    A new context costs a second of CPU: processes for the page and for its worker, and all modules of the page. Tests
    one after the other therefore get the same page (`take` and `put_back`), which is loaded again and has forgotten
    what was stored, routed and emulated; a second page of the same test has a context of its own.
    """

    def __init__(self, browser: Browser, dashboard: RunningDashboard) -> None:
        self.browser, self.dashboard = browser, dashboard
        self._state: Any = None
        self._kept: Page | None = None

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

    def take(self, **options: Any) -> Page:
        """Return a page of this size and these media: the one that was put back, or a new one."""
        page, self._kept = self._kept, None
        if page is None or page.is_closed():
            page = self.context().new_page()
        page.set_viewport_size(options.pop("viewport", _USUAL_SIZE))
        page.emulate_media(**{name: options.pop(name, "null") for name in _MEDIA})
        assert not options
        return page

    def put_back(self, page: Page) -> None:
        """Keep the page for the next test, without what a test may have left in it."""
        if page.is_closed() or self._kept is not None or self.dashboard.process.poll() is not None:
            page.context.close()  # there is one already, or the dashboard of this test alone has ended
            return
        page.unroute_all(behavior="ignoreErrors")
        page.context.clear_permissions()
        for other in page.context.pages:
            if other is not page:
                other.close()
        # An address of the same origin keeps the process of the page and ends all that the page does.
        page.goto(f"{self.dashboard.url}icon.svg")
        page.evaluate("() => (localStorage.clear(), sessionStorage.clear())")
        page.mouse.move(0, 0)
        self._kept = page


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
    """Open pages. At the end none of them has logged an error, a page error or a violation of its policy.

    With `alone=True` a page has a context of its own: for tests that add scripts to it, which nothing removes. So have
    pages with options that only a context can have, such as `has_touch`.
    """
    problems: list[str] = []
    with ExitStack() as until:

        def opened(visitor: Visitor, address: str = "", *, alone: bool = False, **options: Any) -> Page:
            def failed(error: Error) -> None:
                problems.append(f"error: {error}")

            def logged(message: ConsoleMessage) -> None:
                problems.extend(_problem_of(message))

            def leave() -> None:
                page.remove_listener("pageerror", failed)
                page.remove_listener("console", logged)
                visitor.put_back(page)

            if alone or not {"viewport", *_MEDIA}.issuperset(options):
                page = visitor.context(**options).new_page()
                until.callback(page.context.close)
            else:
                page = visitor.take(**options)
                until.callback(leave)
            page.on("pageerror", failed)
            page.on("console", logged)
            page.goto(f"{visitor.dashboard.url}{address}")
            return page

        yield opened
    assert problems == []
