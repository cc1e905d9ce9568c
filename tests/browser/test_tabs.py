"""Many tabs of one dashboard: they share one stream of changes, which is closed while none of them is looked at."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.browser.conftest import PATIENCE, Visitor
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

#: More than the six connections that a browser opens to one host.
TABS = 9
_FOLLOWERS = "async () => (await (await fetch('/api/status')).json()).followers"
#: Pages in tests are never hidden by themselves: say that they are, as the browser would.
_HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
_WITHOUT = {
    "a shared worker": "",
    "a leading tab": "delete window.SharedWorker;",
    "a stream for each tab that is looked at": (
        "delete window.SharedWorker; Object.defineProperty(navigator, 'locks', {value: undefined});"
    ),
}


@pytest.fixture
def kubectl(live_cluster: Cluster) -> Kubectl:
    return Kubectl(live_cluster.kubeconfig, live_cluster.home)


@pytest.fixture
def opened(live_dashboard: Visitor) -> Iterator[Callable[[str], BrowserContext]]:
    with ExitStack() as until:

        def context_with(script: str) -> BrowserContext:
            context = live_dashboard.context()
            until.callback(context.close)
            if script:
                context.add_init_script(script)
            return context

        yield context_with


def wait_for_followers(page: Page, number: int) -> None:
    page.wait_for_function(f"async () => (await ({_FOLLOWERS})()) === {number}", timeout=PATIENCE)


def show(page: Page, *, hidden: bool) -> None:
    page.evaluate(_HIDE, hidden)


def test_nine_tabs_share_one_stream(
    live_dashboard: Visitor, opened: Callable[[str], BrowserContext], kubectl: Kubectl
) -> None:
    """All of them load and answer, hear of changes, and travel through time on their own."""
    for way in ("a shared worker", "a leading tab"):
        _share_one_stream(live_dashboard, opened(_WITHOUT[way]), kubectl)


def _share_one_stream(live_dashboard: Visitor, context: BrowserContext, kubectl: Kubectl) -> None:
    tabs = [context.new_page() for _ in range(TABS)]
    for tab in tabs:
        tab.goto(f"{live_dashboard.dashboard.url}#/pending")
    for tab in tabs:
        expect(tab.locator(".source-detail")).to_contain_text("8 nodes")
        expect(tab.locator("moorage-pending h1, moorage-pending h2").first).to_be_visible()
        assert tab.evaluate(
            "async () => (await import('/lib/api.js')).ask('pending', {}).then((parts) => parts.at(-1).done)"
        )
    wait_for_followers(tabs[-1], 1)

    kubectl("create deployment tabs --image=nginx --replicas=2")
    try:
        for tab in tabs:
            expect(tab.locator(".source-detail")).to_contain_text("Up to date; last change")
            _wait_for_workload(tab, 2)

        traveller, *others = tabs
        traveller.goto(f"{live_dashboard.dashboard.url}#/timeline?tab=moments")
        traveller.locator(".moment-list tbody tr").first.click()
        expect(traveller.locator(".past-line")).to_be_visible()
        kubectl("scale deployment tabs --replicas=3")
        for tab in others:
            _wait_for_workload(tab, 3)
        expect(traveller.locator(".source-detail")).to_contain_text("As of")
        traveller.locator(".past-line").get_by_role("button", name="Back to now").click()
        _wait_for_workload(traveller, 3)
        wait_for_followers(tabs[-1], 1)

        # Hidden: the one that holds the connection as well as others; the rest still hears.
        for tab in tabs[:-1]:
            show(tab, hidden=True)
        kubectl("scale deployment tabs --replicas=4")
        _wait_for_workload(tabs[-1], 4)
        wait_for_followers(tabs[-1], 1)
        show(tabs[-1], hidden=True)
        wait_for_followers(tabs[-1], 0)

        # Shown again: each goes on from what it had.
        kubectl("scale deployment tabs --replicas=1")
        show(tabs[2], hidden=False)
        _wait_for_workload(tabs[2], 1)
        show(tabs[5], hidden=False)
        _wait_for_workload(tabs[5], 1)
        wait_for_followers(tabs[2], 1)
        # A tab that is closed leaves; another one goes on.
        tabs[2].close()
        kubectl("scale deployment tabs --replicas=2")
        _wait_for_workload(tabs[5], 2)
        wait_for_followers(tabs[5], 1)
    finally:
        kubectl("delete deployment tabs")
        context.close()


def _wait_for_workload(tab: Page, number: int) -> None:
    """Wait until the tab knows this many pods of the Deployment."""
    tab.wait_for_function(
        "(number) => import('/lib/cluster.js').then(({cluster}) => "
        "(cluster.workloads.get('Deployment default/tabs') ?? 0) === number)",
        arg=number,
        timeout=PATIENCE,
    )


def test_without_workers_and_locks_hidden_tabs_have_no_stream(
    live_dashboard: Visitor, opened: Callable[[str], BrowserContext]
) -> None:
    """A browser that has neither opens a stream for each tab that is looked at: on a phone that is one."""
    context = opened(_WITHOUT["a stream for each tab that is looked at"])
    context.add_init_script("Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});")
    tabs = [context.new_page() for _ in range(TABS)]
    for tab in tabs:
        tab.goto(live_dashboard.dashboard.url)
        expect(tab.locator(".source-detail")).to_contain_text("8 nodes")
    wait_for_followers(tabs[0], 0)
    show(tabs[3], hidden=False)
    wait_for_followers(tabs[0], 1)
    show(tabs[3], hidden=True)
    wait_for_followers(tabs[0], 0)
