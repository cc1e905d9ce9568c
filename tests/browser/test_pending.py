"""The view "Why pending" in a real browser: it says what `moorage explain` says, tries changes and applies them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page, Route, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, EXAMPLE, OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.e2e.forked_command import forked_moorage
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up

WAITS, FITS = "deployment/versions/next-release", "deployment/shop/checkout"
_CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: spot-1, labels: {kubernetes.io/hostname: spot-1}}
spec: {taints: [{key: sla, value: "95", effect: NoSchedule}]}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "20"}}
---
apiVersion: v1
kind: Node
metadata: {name: small-1, labels: {kubernetes.io/hostname: small-1}}
status: {capacity: {cpu: "1", memory: 8Gi, pods: "20"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: picky, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: picky}}
  template:
    metadata: {labels: {app: picky}}
    spec:
      tolerations: [{key: sla, operator: Gt, value: "99", effect: NoSchedule}]
      containers: [{name: c, image: "example.com/app:1", resources: {requests: {cpu: 1500m}}}]
"""


@pytest.fixture(scope="module")
def picky_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster in which two pods wait: one node's SLA is too low, the other node is too small."""
    directory = tmp_path_factory.mktemp("picky")
    manifest = directory / "picky.yaml"
    manifest.write_text(f"{_CLUSTER}---{_LOOKER}")
    with moorage_up(directory, "--nodes", "0", ALL_GATES, "--load", str(manifest)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def picky(browser: Browser, picky_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    options = ("--kubeconfig", str(picky_cluster.kubeconfig), "--allow-changes", ALL_GATES)
    with moorage_dashboard(tmp_path_factory.mktemp("picky-dashboard"), *options) as dashboard:
        yield Visitor(browser, dashboard)


@pytest.fixture(scope="module")
def read_only(browser: Browser, picky_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    options = ("--kubeconfig", str(picky_cluster.kubeconfig), ALL_GATES)
    with moorage_dashboard(tmp_path_factory.mktemp("picky-read-only"), *options) as dashboard:
        yield Visitor(browser, dashboard)


_LOOKER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: looker}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [nodes], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: looker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: looker}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: looker}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: pod-lister}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pod-lister}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pod-lister}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: pod-lister}]
"""


@pytest.fixture(scope="module")
def looker(browser: Browser, picky_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A dashboard that may change things, of a user who may change nodes only."""
    directory = tmp_path_factory.mktemp("looker")
    kubeconfig = impersonating(picky_cluster, "looker", directory)
    with moorage_dashboard(directory, "--kubeconfig", str(kubeconfig), "--allow-changes", ALL_GATES) as dashboard:
        yield Visitor(browser, dashboard)


def impersonating(cluster: Cluster, user: str, directory: Path) -> Path:
    """Write a kubeconfig of the cluster by which every request is made as the user."""
    document = yaml.safe_load(cluster.kubeconfig.read_text())
    for one in document["users"]:
        one["user"]["as"] = user
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(document))
    return kubeconfig


def explained(pod: str, *options: str, path: Path = EXAMPLE) -> dict[str, Any]:
    done = forked_moorage(["explain", pod, "-f", str(path), ALL_GATES, "-o", "json", *options])
    assert not done.returncode, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def open_pod(open_page: OpenPage, visitor: Visitor, pod: str = WAITS, tab: str = "", **options: Any) -> Page:
    page = open_page(visitor, f"#/pending?pod={pod}{f'&tab={tab}' if tab else ''}", **options)
    page.locator(".pending-explanation").wait_for()
    return page


def cells_of(page: Page) -> list[dict[str, Any]]:
    """What the matrix shows: of each row its nodes, and of each plugin that refuses them what it says."""
    rows = []
    plugins = page.locator(".matrix thead th").all_inner_texts()
    for row in page.locator(".matrix tbody tr").all():
        said = {}
        for index, cell in enumerate(row.locator("th, td").all()):
            button = cell.locator(".cell-no")
            if button.count():
                button.click()
                note = page.locator(".explainer")
                reasons = note.locator("p.wrap").all_inner_texts()
                said["".join(plugins[index].split())] = (reasons, note.locator("li").all_inner_texts())
                button.click()
        rows.append({"nodes": row.locator(".matrix-name").all_inner_texts(), "cells": said})
    return rows


def test_the_names_of_pods_open_their_panels(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard)
    page.get_by_role("heading", level=2).get_by_role("link").click()
    expect(page.locator(".pod-drawer")).to_contain_text("Why it waits")
    assert "#/pending?" in page.url


def test_the_matrix_is_that_of_the_command(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard)
    told = explained(WAITS)
    page.get_by_label("A row for each value").check()
    shown = cells_of(page)
    assert shown == [
        {
            "nodes": group["nodes"],
            "cells": {one["plugin"]: (one["reasons"], one["details"]) for one in group["refusals"]},
        }
        for group in told["refused"]
    ]
    expect(page.get_by_role("heading", name=told["pod"])).to_be_visible()


def test_rows_that_differ_by_values_only_are_one_until_opened(files_dashboard: Visitor, open_page: OpenPage) -> None:
    """At 1280 pixels nothing is cut off: plugins that agree leave their room to the sentences of the others."""
    page = open_pod(open_page, files_dashboard, viewport={"width": 1280, "height": 800})
    rows = page.locator(".matrix tbody tr")
    opener = page.get_by_role("button", name=re.compile("variants"))
    before = rows.count()
    opener.first.press("Enter")
    expect(opener.first).to_be_focused()
    expect(opener.first).to_have_attribute("aria-expanded", "true")
    assert rows.count() > before
    page.locator(".cell-no").first.hover()
    expect(page.locator(".explainer li").first).to_have_text(re.compile(r": \d+ nodes?$"))
    opener.first.press("Enter")
    expect(rows).to_have_count(before)
    scroll = page.locator(".matrix-scroll")
    assert scroll.evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_a_refusal_opens_by_hover_and_by_keyboard(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard)
    page.get_by_label("A row for each value").check()
    first = page.locator(".cell-no").first
    note = page.locator(".explainer")
    expect(note).to_be_hidden()
    first.hover()
    expect(note).to_contain_text("v1.36.4 > v1.36.99 is false")
    page.mouse.move(1, 1)
    expect(note).to_be_hidden()
    page.locator(".matrix-scroll").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    expect(note).to_be_visible()
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()


def test_one_node_is_shown_in_full(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard)
    page.get_by_role("link", name="ondemand-2").click()
    table = page.locator(".node-in-full tbody tr")
    told = explained(WAITS, "--node", "ondemand-2")["column"]
    expect(table).to_have_count(len(told["plugins"]))
    answers = {row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in table.all()}
    assert {plugin: text[2:] for plugin, text in answers.items()} == {
        one["plugin"]: one["answer"] for one in told["plugins"]
    }
    assert "node=ondemand-2" in page.url
    page.go_back()
    expect(page.locator(".node-in-full")).to_have_count(0)


def test_rows_are_filtered_by_node(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard)
    page.get_by_label("Filter by node").fill("tenants")
    expect(page.locator(".matrix tbody tr")).to_have_count(1)
    expect(page.locator(".matrix tbody th")).to_contain_text("tenants-1")
    page.get_by_label("Filter by node").fill("nowhere")
    expect(page.locator(".matrix tbody tr")).to_have_count(0)
    page.get_by_label("Filter by node").fill("")
    columns = page.locator(".matrix thead th").count()
    page.get_by_label("Also plugins with nothing to check").check()
    assert page.locator(".matrix thead th").count() > columns


def test_suggestions_are_those_of_the_command_and_are_tried_on_files(
    files_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_pod(open_page, files_dashboard)
    told = explained(WAITS)["suggestions"]
    cards = page.locator(".help-card")
    assert cards.locator("h4").all_inner_texts() == [one["sentence"] for one in told]
    card = cards.first
    for row, one in zip(cards.all(), told, strict=True):
        expect(row.locator(".help-effect")).to_contain_text(one["effect"])
    expect(card.locator("pre").first).to_be_hidden()
    card.get_by_text("Code", exact=True).click()
    expect(card.locator("pre").first).to_have_text(told[0]["yaml"])
    assert page.locator(".help-remarks li").all_inner_texts() == [
        text[:1].upper() + text[1:] for one in told for text in one["remarks"]
    ]
    expect(page.locator(".help-why")).to_have_text("The cluster is in files: changes are tried in the simulation.")
    card.get_by_role("button", name="Try").click()
    expect(card.locator(".help-result")).to_contain_text(re.compile(r"1 pod would get a node:.*ondemand-[12]", re.S))
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)


def test_scores_and_preemption_are_folded(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard, FITS, "scores")
    told = explained(FITS)
    page.get_by_role("button", name="As a table").click()
    totals = page.locator(".scores tbody tr td:nth-child(2)").all_inner_texts()
    assert [int(text.replace(",", "")) for text in totals] == [row["total"] for row in told["scores"]]
    expect(page.locator(".pending-preemption")).not_to_contain_text("A node fits without it.")
    page.locator(".pending-preemption summary").click()
    expect(page.locator(".pending-preemption")).to_contain_text("A node fits without it.")
    page.wait_for_url(re.compile("tab=preemption"))


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_leads_with_a_sentence_then_help_then_nodes_then_the_event(
    files_dashboard: Visitor, open_page: OpenPage, width: int
) -> None:
    page = open_pod(open_page, files_dashboard, viewport={"width": width, "height": 844})
    told = explained(WAITS)
    assert told["sentence"] == "Needs kubelet > 1.36.99; the newest node has 1.36.4"
    expect(page.locator(".pending-sentence")).to_have_text(told["sentence"])
    expect(page.locator(".pending-sentence abbr")).to_have_attribute("title", "example.com/kubelet-version")
    places = [".pending-sentence", ".help-list", ".matrix", ".pending-event", ".pending-preemption", ".pending-scores"]
    boxes = [page.locator(place).bounding_box() for place in places]
    tops = [box["y"] for box in boxes if box is not None]
    assert len(tops) == len(places)
    assert tops == sorted(tops)
    expect(page.locator("moorage-pending")).not_to_contain_text("Explain again")
    event = "0/8 nodes are available:"
    assert page.locator(".pending-explanation").inner_text().count(event) == told["message"].count(event)
    expect(page.locator(".group-reason")).to_have_text(told["sentence"])
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_next_replica_is_not_called_pending(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, files_dashboard, FITS)
    expect(page.locator(".pending-head .chip")).to_have_text(re.compile("next replica, does not exist yet"))
    expect(page.locator(".pending-sentence")).to_have_text(explained(FITS)["sentence"])
    expect(page.locator(".pending-help")).to_contain_text("Nothing needs to: it has a node, or gets one.")


def test_a_pod_that_is_not_there_is_said_so(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/pending")
    page.get_by_label("Explain any pod or workload").fill("shop/nothing")
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(page.locator(".pending-detail")).to_contain_text("there is no pod 'nothing' in namespace 'shop'")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["preemption", "scores"])
def test_the_view_is_accessible(files_dashboard: Visitor, open_page: OpenPage, tab: str, theme: str) -> None:
    pod = FITS if tab == "scores" else WAITS
    page = open_pod(open_page, files_dashboard, pod, tab, color_scheme=theme)
    assert violations(page) == []


def test_the_view_fits_a_phone(files_dashboard: Visitor, open_page: OpenPage) -> None:
    phone = {"width": 360, "height": 740}
    page = open_pod(open_page, files_dashboard, viewport=phone, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == phone["width"]
    # Each row is a card: what refuses the pod is in sight without scrolling to the side.
    scroll = page.locator(".matrix-scroll")
    assert scroll.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    cell = page.locator(".cell-no").first
    shown = cell.bounding_box()
    assert shown is not None
    assert shown["width"] > phone["width"] * 0.75
    names = (
        "(cell) => getComputedStyle(cell.parentElement, '::before').content.includes(cell.parentElement.dataset.plugin)"
    )
    assert cell.evaluate(names)
    assert violations(page) == []
    cell.tap()
    box = page.locator(".explainer").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= phone["width"]


def test_read_only_offers_no_apply(read_only: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, read_only, "deployment/default/picky", "help")
    expect(page.locator(".help-why")).to_contain_text("Read-only: start the dashboard with --allow-changes")
    expect(page.get_by_role("button", name="Try").first).to_be_visible()
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)
    body = {
        "target": {"apiVersion": "v1", "kind": "Node", "name": "spot-1"},
        "patch": [{"op": "test", "path": "/spec"}],
    }
    origin = read_only.dashboard.url.rstrip("/")
    answer = page.request.post(f"{origin}/api/act/apply", data=body, headers={"Origin": origin})
    assert (answer.status, "without --allow-changes" in answer.text()) == (403, True)


def test_the_event_says_whether_the_scheduler_of_the_cluster_says_the_same(
    read_only: Visitor, open_page: OpenPage
) -> None:
    page = open_pod(open_page, read_only, "deployment/default/picky")
    expect(page.locator(".pending-word")).to_have_text("✓ the same in this cluster")
    page.route("**/api/pod/**", _with_another_message)
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator(".pending-word")).to_have_text("In this cluster: Unschedulable: 0/2 nodes are nice.")


def _with_another_message(route: Route) -> None:
    answer = route.fetch()
    pod = answer.json()
    for one in pod["wrong"]:
        one["message"] = "0/2 nodes are nice."
    route.fulfill(response=answer, json=pod)


def test_what_the_kubeconfig_may_not_do_is_not_offered(looker: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, looker, "deployment/default/picky", "help")
    template = page.locator(".help-card", has_text="changes Deployment default/picky").first
    expect(template).to_contain_text("the kubeconfig may not patch deployments in namespace default")
    expect(template.get_by_role("button", name="Try")).to_be_visible()
    expect(template.get_by_role("button", name="Apply")).to_have_count(0)
    node = page.locator(".help-card", has_text="remove the taint")
    expect(node.get_by_role("button", name="Apply")).to_be_visible()


def test_what_the_kubeconfig_may_not_list_is_told(
    browser: Browser, picky_cluster: Cluster, open_page: OpenPage, tmp_path: Path
) -> None:
    kubeconfig = impersonating(picky_cluster, "pod-lister", tmp_path)
    with moorage_dashboard(tmp_path, "--kubeconfig", str(kubeconfig)) as dashboard:
        page = open_page(Visitor(browser, dashboard), "#/map")
        expect(page.locator(".unread-line summary")).to_have_text(
            re.compile(
                r"^The kubeconfig may not list nodes, \S+, \S+ and \d+ more: what depends on them is missing here$"
            )
        )
        expect(page.locator(".map-state")).to_contain_text('User "pod-lister" cannot list resource "nodes"')
        page.goto(f"{dashboard.url}#/pending")
        expect(page.locator(".pending-explanation .empty")).to_contain_text("Nodes cannot be read")
        page.goto("about:blank")


def test_a_pod_that_comes_later_is_explained_then(
    picky_cluster: Cluster, read_only: Visitor, open_page: OpenPage
) -> None:
    page = open_page(read_only, "#/pending?pod=default/late")
    expect(page.locator(".pending-detail")).to_contain_text("there is no pod 'late'")
    kubectl = Kubectl(picky_cluster.kubeconfig, picky_cluster.home)
    kubectl.run("""run late --image=x --overrides='{"spec": {"nodeSelector": {"a": "b"}}}'""")
    try:
        expect(page.get_by_role("heading", name="default/late")).to_be_visible()
    finally:
        kubectl.run("delete pod late --wait=false")


def test_a_suggestion_is_tried_and_applied(picky: Visitor, open_page: OpenPage) -> None:
    page = open_pod(open_page, picky, "deployment/default/picky", "help")
    card = page.locator(".help-card", has_text="sla").first
    card.get_by_role("button", name="Try").click()
    expect(card.locator(".help-result")).to_contain_text("The API server would accept it (dry run).")
    expect(card.locator(".help-result")).to_contain_text("→ spot-1")
    card.get_by_role("button", name="Apply").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("kubectl patch deployment picky -n default --type=json")
    expect(dialog).to_contain_text("would accept it")
    dialog.get_by_role("button", name="Cancel").click()
    expect(card.locator(".help-result")).not_to_contain_text("Applied")
    card.get_by_role("button", name="Apply").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply", exact=True).click()
    expect(card.locator(".help-result")).to_contain_text("The API server has stored it.")
    expect(page.locator(".view-head .lead")).to_have_text("Every pod has a node")
    expect(page.locator(".pending-gone")).to_contain_text("is gone meanwhile")
    page.get_by_role("link", name="Explain Deployment default/picky").click()
    expect(page.locator(".pending-head")).to_contain_text("2 of 2 pods exist: on spot-1")
    expect(page.locator(".pending-head")).to_contain_text("next replica, does not exist yet")
