"""What page and terminal say while a large cluster is read: the page opens at once, and both say how far it is."""

import os
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import PATIENCE, OpenPage, Visitor
from tests.browser.dashboard_process import STOP_SECONDS, moorage_dashboard
from tests.browser.slow_server import PAGE, PAGES, slow_server
from tests.browser.waiting import wait_for


def test_the_page_opens_before_all_pods_are_listed(browser: Browser, tmp_path: Path) -> None:
    with slow_server() as server:
        kubeconfig = server.write_kubeconfig(tmp_path / "kubeconfig")
        with (
            moorage_dashboard(tmp_path, "--kubeconfig", kubeconfig) as dashboard,
            Visitor(browser, dashboard).context() as context,
        ):
            tabs = [context.new_page() for _ in range(8)]
            for tab in tabs:
                tab.goto(dashboard.url)
                expect(tab.locator(".skeleton-text")).to_have_text("Listing pods: 500 of 1,500…", timeout=PATIENCE)
                expect(tab.locator(".source-detail")).to_have_text("Reading the cluster")
            page = tabs[0]
            log = next(tmp_path.glob("dashboard-*.log"))
            wait_for(page, lambda: "Listing pods: 500 of 1,500 …" in log.read_text("utf-8"))
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert violations(page) == []
            server.next_page.release()
            expect(page.locator(".skeleton-text")).to_have_text("Listing pods: 1,000 of 1,500…", timeout=PATIENCE)
            assert page.locator(".skeleton-bar").evaluate("(bar) => [bar.value, bar.max]") == [1000, 1500]
            server.next_page.release()
            for tab in tabs:
                expect(tab.locator(".source-detail")).to_contain_text(f"{PAGE * PAGES:,} pods", timeout=PATIENCE)
                expect(tab.locator("moorage-map")).to_be_visible()


def test_what_cannot_be_read_to_its_end_is_exit_code_2(tmp_path: Path) -> None:
    with slow_server() as server:
        server.refuses = True
        server.next_page.release()
        command = [sys.executable, "-m", "moorage", "dashboard", "--no-open", "--kubeconfig"]
        command.append(server.write_kubeconfig(tmp_path / "kubeconfig"))
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2
    assert "pods cannot be watched: pods is forbidden" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("is_readable", [True, False])
def test_the_page_opens_before_slow_files_are_read(browser: Browser, tmp_path: Path, *, is_readable: bool) -> None:
    """A pipe is a file that takes until the test has written into it."""
    slow = tmp_path / "slow.yaml"
    os.mkfifo(slow)
    (tmp_path / "logs").mkdir()
    with (
        suppress(AssertionError) if not is_readable else nullcontext(),  # how it ended is looked at here
        moorage_dashboard(tmp_path / "logs", str(slow)) as dashboard,
        Visitor(browser, dashboard).context() as context,
    ):
        page = context.new_page()
        page.goto(dashboard.url)
        expect(page.locator(".skeleton-text")).to_have_text("Reading files…")
        expect(page.get_by_role("heading", level=1)).to_have_text("Reading the cluster")
        held: list[Route] = []
        page.route("**/api/state", lambda route: held.append(route))
        slow.write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}" if is_readable else "a: [", "utf-8")
        if is_readable:
            expect(page.locator(".skeleton-text")).to_have_text("Loading the cluster…")
            wait_for(page, lambda: bool(held))
            held.pop().continue_()
            expect(page.locator(".source-detail")).to_contain_text("1 node")
            return
        assert dashboard.process.wait(STOP_SECONDS) == 2
        expect(page.locator("#problem")).to_contain_text("The dashboard does not answer")
        expect(page.locator(".skeleton-text")).to_have_text("Connecting…")  # nothing is read any more
    said = next((tmp_path / "logs").glob("*.log")).read_text("utf-8")
    assert f"nothing could be read: {slow}:1" in said
    assert "Traceback" not in said


def test_a_question_that_waits_says_how_far_the_simulation_is(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/map")
    held: list[Route] = []
    progress = '{"phase": "Simulating 5,000 nodes, placing pods", "done": 12000, "total": 0}'
    page.route("**/api/ask/pending", lambda route: held.append(route))
    page.route("**/api/status", lambda route: route.fulfill(body=f'{{"ready": true, "progress": {progress}}}'))
    page.evaluate("location.hash = '#/pending'")
    waiting = page.locator(".group-list .loading")
    expect(waiting).to_contain_text("Simulating 5,000 nodes, placing pods: 12,000")
    expect(waiting.locator("[data-progress]")).to_have_attribute("aria-hidden", "true")
    assert violations(page) == []
    held.pop().continue_()
    expect(page.locator(".group-list [data-progress]")).to_have_count(0)
    # An answer that takes long says itself how far it is.
    page.route("**/api/ask/story", lambda route: held.append(route))
    page.evaluate("location.hash = '#/timeline'")
    expect(page.locator(".entry-list .loading")).to_contain_text("Simulating 5,000 nodes")
    expect(page.get_by_text("0 entries")).to_have_count(0)  # it is not known yet
    lines = '{"progress": {"phase": "Playing what happened", "done": 7, "total": 0}}\n{"error": "over", "done": true}\n'
    held.pop().fulfill(body=lines)
    expect(page.locator(".entry-list .failed")).to_contain_text("over")
