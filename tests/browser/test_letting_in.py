"""Who is let in: one browser for each address, by a cookie that neither scripts nor other sites get."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.conftest import EXAMPLE, OpenPage, Visitor
from tests.browser.dashboard_process import RunningDashboard, moorage_dashboard


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[RunningDashboard]:
    with moorage_dashboard(tmp_path, str(EXAMPLE / "nodes.yaml")) as running:
        yield running


def test_an_address_lets_in_one_browser(browser: Browser, dashboard: RunningDashboard) -> None:
    with browser.new_context() as first, browser.new_context() as second:
        page = first.new_page()
        page.goto(dashboard.address)
        page.wait_for_url(dashboard.url)
        expect(page.get_by_role("navigation", name="Views")).to_be_visible()
        cookie = next(one for one in first.cookies() if one["name"].startswith("moorage-dashboard-"))
        assert cookie["httpOnly"] is True
        assert cookie["sameSite"] == "Strict"
        assert page.evaluate("document.cookie") == ""

        other = second.new_page()
        other.goto(dashboard.address)
        expect(other.get_by_role("heading")).to_have_text("This link has been used")
        expect(other.get_by_text("has printed a new link")).to_be_visible()
        other.reload()  # and again, as people do: the new one is not used yet
        expect(other.get_by_text("has printed a new link")).to_be_visible()

        other.goto(dashboard.next_address())
        other.wait_for_url(dashboard.url)
        expect(other.get_by_role("navigation", name="Views")).to_be_visible()


def test_a_wrong_token_is_told(browser: Browser, dashboard: RunningDashboard) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{dashboard.url}?token=guessed")
        expect(page.get_by_role("heading")).to_have_text("This link is not valid")
        page.goto(dashboard.url)
        expect(page.get_by_role("heading")).to_have_text("Open the link with the token")


def test_another_site_gets_nothing(files_dashboard: Visitor, open_page: OpenPage) -> None:
    """A page of another origin in the same browser, with the cookie in its jar, reads no state."""
    page = open_page(files_dashboard)
    with page.context.expect_page() as opened:
        page.evaluate("window.open('about:blank')")
    other = opened.value
    other.route(
        "http://elsewhere.test/", lambda route: route.fulfill(body="<h1>elsewhere</h1>", content_type="text/html")
    )
    other.goto("http://elsewhere.test/")
    url = f"{files_dashboard.dashboard.url}api/state"
    asked = f"fetch('{url}', {{credentials: 'include'}}).then(() => 'read', () => 'refused')"
    assert other.evaluate(asked) == "refused"
