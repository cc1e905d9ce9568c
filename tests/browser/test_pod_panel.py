"""The panel of a pod in a real browser: opened from lists and by address; of files, live, past and saved clusters."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, EXAMPLE, PATIENCE, OpenPage, Visitor
from tests.browser.test_saved_pages import moorage
from tests.browser.waiting import wait_for
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

_WIDE, _PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
_RISK = "spot.example.com/failure-probability"
#: A pod of its own that spot-1's taint evicts after an hour, and that never starts again.
_GUEST = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "guest", "labels": {"app": "guest"}},
    "spec": {
        "nodeSelector": {"kubernetes.io/hostname": "spot-1"},
        "tolerations": [
            {"key": _RISK, "operator": "Lt", "value": "5", "effect": "NoExecute", "tolerationSeconds": 3600},
            {"key": _RISK, "operator": "Exists", "effect": "NoExecute"},
        ],
        "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}}}
        ],
    },
}


def opened(visitor: Visitor, open_page: OpenPage, address: str, **options: Any) -> Page:
    page = open_page(visitor, address, **{"viewport": _WIDE, "reduced_motion": "reduce", **options})
    expect(page.locator(".source-detail")).to_contain_text("pods")
    return page


def panel(page: Page) -> Locator:
    return page.locator(".pod-panel")


def test_a_row_of_the_node_page_opens_the_panel_and_escape_close_and_back_close_it(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = opened(files_dashboard, open_page, "#/map?node=spot-1")
    row = page.get_by_role("link", name="shop/checkout-").first
    key = row.inner_text()
    heading = panel(page).get_by_role("heading", level=2)

    for _ in range(10):  # a key that is pressed while the row is drawn again goes to nobody
        row.press("Enter")
        with suppress(AssertionError):
            expect(heading).to_have_text(key, timeout=15_000)
            break
    expect(heading).to_have_text(key)
    expect(heading).to_be_focused()
    expect(panel(page)).to_contain_text("Deployment shop/checkout")
    expect(panel(page).get_by_role("link", name="spot-1")).to_be_visible()
    assert "node=spot-1" in page.url, "the view stays as it is"
    assert "look=shop" in page.url
    page.keyboard.press("Escape")
    expect(panel(page)).to_have_count(0)
    expect(row).to_be_focused()
    assert "look=" not in page.url

    row.click()
    expect(heading).to_have_text(key)
    page.get_by_role("button", name="Close the pod's panel").click()
    expect(panel(page)).to_have_count(0)
    expect(row).to_be_focused()

    row.click()
    expect(heading).to_have_text(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("spot-1")
    page.go_back()
    expect(panel(page)).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("spot-1")
    page.go_forward()
    expect(heading).to_have_text(key)
    assert violations(page) == []


def test_a_pod_that_never_was_is_told_so_and_closing_stays_on_the_page(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = opened(files_dashboard, open_page, "#/gates?look=shop/nothing")
    expect(panel(page)).to_contain_text("There is no such pod")
    page.keyboard.press("Escape")
    expect(panel(page)).to_have_count(0)
    expect(page).to_have_url(re.compile("#/gates$"))


def section(page: Page, title: str) -> Locator:
    return panel(page).locator("section", has=page.get_by_role("heading", name=title, exact=True))


def key_of(page: Page, workload: str) -> str:
    """Return a pod of a workload, as the page knows it."""
    script = (
        "(workload) => import('/lib/cluster.js').then(async ({cluster}) => (await cluster.ready, "
        "[...cluster.pods.values()].find((pod) => pod.workload === workload).key))"
    )
    return str(page.evaluate(script, workload))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_says_why_here_what_it_tolerates_and_where_it_would_go(
    files_dashboard: Visitor, open_page: OpenPage, scheme: str
) -> None:
    page = opened(files_dashboard, open_page, "#/map?as=pods", color_scheme=scheme)
    row = page.locator(".data-table tbody tr").filter(has_text="Deployment shop/checkout").first
    row.focus()
    page.keyboard.press("Enter")
    expect(panel(page).get_by_role("heading", level=2)).to_be_focused()
    expect(panel(page)).to_contain_text("On spot-1")

    why = section(page, "Why here")
    expect(why).to_contain_text("spot-1 has the highest score of the 3 nodes that take it")
    table = why.get_by_role("table", name="Scores by plugin, times their weights")
    expect(table.get_by_role("columnheader")).to_have_text(
        ["Points at its turn", "spot-1 here", "ondemand-2", "ondemand-1"]
    )
    expect(table.get_by_role("row", name="NodeAffinity ×2")).to_have_text(re.compile("200\\s*0\\s*0$"))

    expect(section(page, "If it had to move")).to_contain_text(
        "Deployment shop/checkout would make another one on ondemand-2."
    )
    tolerations = section(page, "Tolerations")
    expect(tolerations).to_contain_text(f"{_RISK} Lt 5:NoExecute")
    expect(tolerations).to_contain_text(f"{_RISK}=3:NoExecute on spot-1: 3 < 5 is true")
    rest = tolerations.get_by_text("2 tolerations match no taint in this cluster")
    rest.press("Enter")
    expect(tolerations).to_contain_text("node.kubernetes.io/not-ready:NoExecute for 5m")
    expect(section(page, "Resources")).to_contain_text("cpu 250m, memory 128Mi")
    expect(section(page, "Object")).to_contain_text("app=checkout")
    expect(section(page, "Object")).not_to_contain_text("Created")  # files tell no age
    expect(section(page, "Events")).to_have_count(0)
    assert violations(page) == []

    section(page, "If it had to move").get_by_role("link", name="Look at it in What if").click()
    expect(panel(page)).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("What if")
    expect(page.locator("main")).to_contain_text("evict pod shop/checkout-")
    expect(page.get_by_role("table", name="Evicted pods").locator("tbody tr").first).to_contain_text("ondemand-2")


def test_a_pod_that_waits_leads_to_why_pending(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = opened(files_dashboard, open_page, "#/map")
    key = key_of(page, "Deployment versions/next-release")
    page.goto(f"{files_dashboard.dashboard.url}#/map?look={key}")
    expect(panel(page)).to_contain_text("On no node")
    waits = section(page, "Why it waits")
    expect(waits).to_contain_text("Needs kubelet > 1.36.99; the newest node has 1.36.4.")
    expect(section(page, "If it had to move")).to_have_count(0)
    waits.get_by_role("link").click()
    expect(page).to_have_url(re.compile("#/pending.pod="))
    expect(panel(page)).to_have_count(0)


def test_on_a_phone_the_panel_is_a_sheet_of_the_full_width(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = opened(files_dashboard, open_page, "#/map", viewport=_PHONE)
    key = key_of(page, "Deployment shop/checkout")
    page.goto(f"{files_dashboard.dashboard.url}#/map?look={key}")
    expect(section(page, "Tolerations")).to_contain_text("3 < 5 is true")
    box = page.locator(".pod-drawer").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, _PHONE["width"])
    assert box["y"] > 48, "the header stays"
    assert page.evaluate("document.documentElement.scrollWidth") == _PHONE["width"], "nothing sticks out"
    assert page.evaluate("(panel => panel.scrollWidth === panel.clientWidth)(document.querySelector('.pod-body'))")
    close = page.get_by_role("button", name="Close the pod's panel").bounding_box()
    assert close is not None
    assert min(close["width"], close["height"]) >= 24
    assert violations(page) == []


def _described(kubectl: Kubectl) -> list[str]:
    """Return the reasons of the pod's Events, in the order of kubectl describe."""
    return [line.split()[1] for line in kubectl("describe pod guest").out.partition("\nEvents:")[2].splitlines()[3:]]


def test_a_live_pod_has_events_an_age_and_a_deadline_and_is_told_to_be_gone(
    live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage
) -> None:
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    kubectl("apply -f -", json.dumps(_GUEST))
    kubectl("wait --for=condition=Ready pod/guest --timeout=60s")
    page = opened(live_dashboard, open_page, "#/timeline")
    wait_for(page, lambda: "Started" in _described(kubectl))  # the last Event: it may come after the pod's status
    page.goto(f"{live_dashboard.dashboard.url}#/timeline?look=default/guest")
    shown = panel(page)
    expect(shown).to_contain_text(re.compile(r"On spot-1 for \d+"))
    leaves = re.compile(rf"leaves in 3,[0-9]+ s: {re.escape(_RISK)}=3 is tolerated for 3,600 s")
    expect(shown).to_contain_text(leaves)
    first = shown.locator("p.bad").inner_text()
    expect(shown.locator("p.bad")).not_to_have_text(first)
    expect(shown).to_contain_text(leaves)
    reasons = section(page, "Events").locator(".chip")
    expect(reasons).not_to_have_count(0)
    assert reasons.all_inner_texts() == _described(kubectl), "the order of kubectl describe"
    expect(section(page, "Why here")).to_contain_text(
        "As the cluster is now, spot-1 is the only one of 8 nodes that takes it."
    )
    expect(section(page, "If it had to move")).to_contain_text("No controller makes it again: it is gone.")
    expect(section(page, "Tolerations")).to_contain_text("3 < 5 is true")
    expect(section(page, "Tolerations")).to_contain_text("(an earlier toleration counts)")
    expect(section(page, "Resources")).to_contain_text("memory 64Mi")
    expect(section(page, "Object")).to_contain_text(re.compile(r"none: no controller makes it again.*Created.*ago"))

    kubectl("delete pod guest --now")
    expect(shown).to_contain_text("This pod is gone: these are its last facts")
    expect(section(page, "Resources")).to_contain_text("memory 64Mi")
    expect(section(page, "Tolerations")).to_contain_text("3 < 5 is true")
    expect(shown.locator("p.bad")).to_be_hidden()
    assert violations(page) == []


def test_of_the_past_there_are_rows_only(live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage) -> None:
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    kubectl("apply -f -", json.dumps({**_GUEST, "metadata": {"name": "visitor"}}))
    kubectl("wait --for=condition=Ready pod/visitor --timeout=60s")
    page = opened(live_dashboard, open_page, "#/timeline?tab=moments&look=default/visitor")
    expect(section(page, "Why here")).to_contain_text("As the cluster is now")
    page.get_by_role("button", name="One step back").click()
    expect(page.locator(".past-line")).to_be_visible()
    expect(panel(page)).to_contain_text("Of the past, no more is kept about this pod.")
    expect(section(page, "Why here")).to_have_count(0)
    expect(section(page, "Events")).to_have_count(0)
    page.locator(".past-line").get_by_role("button", name="Back to now").click()
    expect(section(page, "Why here")).to_contain_text("As the cluster is now")
    kubectl("delete pod visitor --now")


def test_a_saved_page_shows_the_rows_of_a_pod(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    path.write_text(moorage("plan", str(EXAMPLE), ALL_GATES, "--output", "html"), "utf-8")
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    try:
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(f"{path.as_uri()}#/map?node=spot-1")
        page.get_by_role("link", name="shop/checkout-").first.click()
        expect(panel(page)).to_contain_text("On spot-1")
        expect(panel(page)).to_contain_text("Deployment shop/checkout")
        expect(panel(page)).to_contain_text("A saved page has no more about this pod.")
        expect(panel(page).get_by_role("heading", level=3)).to_have_text(["Object"])
        expect(page.get_by_role("heading", name="What would still fit")).to_have_count(0)
        assert violations(page) == []
        page.keyboard.press("Escape")
        expect(panel(page)).to_have_count(0)
    finally:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_node_says_what_would_still_fit(
    files_dashboard: Visitor, open_page: OpenPage, scheme: str
) -> None:
    page = opened(files_dashboard, open_page, "#/map?node=spot-1", color_scheme=scheme)
    room = page.locator(".node-room")
    expect(room).to_contain_text("Largest pod: 7 cpu, 31.5Gi (if it tolerates the taints; at most 106 more pods)")
    expect(room).to_contain_text("28 more of Deployment shop/checkout")
    expect(room).to_contain_text("1 more of Deployment shop/reports")
    room.get_by_text("9 workloads would not fit").click()
    web = room.locator("li", has_text="Deployment shop/web")
    expect(web).to_contain_text(f"not here because taint {_RISK}=3 is not tolerated")
    expect(page.locator(".node-page")).not_to_contain_text("Age")  # files tell no age
    assert violations(page) == []
