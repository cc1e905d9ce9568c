"""Clusters without thresholds, gates or taints: every view opens on something that is true and of use."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.browser.slider_page import expect_number, wait_for_answer

Raw = dict[str, Any]
#: Opens a view of a dashboard of these objects.
OpenCluster = Callable[..., Page]


def node(name: str, cpu: str = "4") -> Raw:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    status = {"allocatable": amounts, "capacity": amounts}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def workload(kind: str, name: str, replicas: int, cpu: str) -> Raw:
    labels = {"app": name}
    container = {"name": "app", "image": f"{name}:v1", "resources": {"requests": {"cpu": cpu}}}
    spec: Raw = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    if kind == "StatefulSet":
        spec["serviceName"] = name
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


@pytest.fixture
def dashboards() -> Iterator[ExitStack]:
    """Stop the dashboards after the pages of `open_page`, which come later, are closed."""
    with ExitStack() as until:
        yield until


@pytest.fixture
def open_cluster(browser: Browser, dashboards: ExitStack, open_page: OpenPage, tmp_path: Path) -> OpenCluster:
    def opened(objects: list[Raw], address: str, **options: Any) -> Page:
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), "utf-8")
        dashboard = dashboards.enter_context(moorage_dashboard(tmp_path, str(path)))
        return open_page(Visitor(browser, dashboard), address, **options)

    return opened


def test_one_node_where_all_is_well(open_cluster: OpenCluster) -> None:
    page = open_cluster([node("minikube"), workload("Deployment", "hello", 2, "100m")], "")
    page.get_by_role("link", name="What else would fit on minikube?").click()
    expect(page.get_by_role("heading", name="What would still fit")).to_be_visible()
    page.get_by_role("link", name="What if", exact=True).click()
    wait_for_answer(page)  # a drain: there is no value that could be moved
    expect_number(page, "evicted", 2)
    expect_number(page, "pending", 2)
    page.get_by_role("link", name="Gates").click()
    expect(page.get_by_role("heading", name="Turning it on")).to_be_visible()  # it is off everywhere
    expect(page.locator(".gate-steps code").first).to_contain_text("=true")


def test_pods_that_do_not_exist_yet_are_not_counted_as_waiting(open_cluster: OpenCluster) -> None:
    objects = [node("n1", cpu="1"), workload("StatefulSet", "kafka", 3, "700m")]
    page = open_cluster(objects, "#/pending", viewport={"width": 390, "height": 844})
    expect(page.locator(".lead")).to_have_text("1 pod in 1 group waits for a node; 1 more does not exist yet")
    expect(page.locator(".nav-badge")).to_contain_text("1")
    expect(page.locator(".pending-detail")).to_be_hidden()  # until a group is chosen
    # The ways to all views are seen, on a phone, too.
    edges = "() => [...document.querySelectorAll('.nav-link')].map((one) => one.getBoundingClientRect().right)"
    assert max(page.evaluate(edges)) <= 390


def test_a_cluster_without_pods_does_not_call_them_placed(open_cluster: OpenCluster) -> None:
    page = open_cluster([node("n1"), node("n2")], "")
    expect(page.locator(".map-tray")).to_have_text("There are no pods")
    page.get_by_role("link", name="Why pending").click()
    expect(page.locator(".lead")).to_have_text("There are no pods")
