"""The view of capacity: the curve of a taint, of a threshold and of a share, and the pools with their prices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, EXAMPLE, OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard

KEY = "spot.example.com/failure-probability"


def _group(name: str, price: float | None, taints: list[dict[str, str]]) -> dict[str, object]:
    labels = {"example.com/pool": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"taints": taints},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }
    spec = {"maxSize": 4, "template": template, **({} if price is None else {"price": price})}
    return {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def visitor(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A dashboard of the example cluster with two pools beside it."""
    directory = tmp_path_factory.mktemp("capacity")
    pools = Path(directory) / "pools.yaml"
    spot = [{"key": KEY, "value": "3", "effect": "NoExecute"}]
    groups = [
        _group("on-demand", 0.5, []),
        _group("spot", 0.125, spot),
        {**_group("full", 0.2, []), "metadata": {"name": "full"}},
    ]
    groups[2]["spec"] = {**groups[2]["spec"], "maxSize": 0}  # type: ignore[dict-item]
    pools.write_text(yaml.safe_dump_all([*groups, _scaler()]))
    with moorage_dashboard(directory, str(EXAMPLE), str(pools), ALL_GATES) as dashboard:
        yield Visitor(browser, dashboard)


def _scaler() -> dict[str, object]:
    """Return an autoscaler of pods, of whose metric nothing is known."""
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "reports"}
    spec = {"scaleTargetRef": target, "maxReplicas": 6, "metrics": [metric]}
    about = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**about, "metadata": {"name": "reports", "namespace": "shop"}, "spec": spec}


@pytest.fixture
def page(visitor: Visitor, open_page: OpenPage) -> Page:
    return open_page(visitor, "#/capacity", reduced_motion="reduce")


def rows(page: Page) -> list[str]:
    return page.locator(".curve-table tbody tr").all_inner_texts()


def test_curve_of_the_taint_that_pods_compare_is_there_on_opening(page: Page) -> None:
    expect(page.get_by_role("heading", level=2, name=re.compile("^Curve of taint"))).to_contain_text(KEY)
    table = page.locator(".curve-table tbody tr")
    expect(table).to_have_count(4)
    expect(table.first).to_contain_text("as it is")
    expect(table.nth(1)).to_contain_text("< 5")
    expect(page.locator(".curve-table tr.worse").last).to_contain_text("Deployment shop/reports")
    expect(page.locator(".curve-svg polyline")).to_have_count(4)
    expect(page.locator(".capacity-curve [role=status]")).to_have_count(0)  # all values were played
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []


def test_thresholds_and_shares_are_in_the_address(page: Page) -> None:
    expect(page.locator(".curve-table tbody tr")).to_have_count(4)
    page.get_by_label("Vary").select_option("threshold")
    expect(page.get_by_role("heading", level=2, name=re.compile("^Curve of threshold Lt"))).to_be_visible()
    expect(page.locator(".curve-table tr.now").last).to_contain_text("(now)")
    page.get_by_label("Vary").select_option("share")
    expect(page.get_by_role("heading", level=2, name=re.compile("^Curve of share"))).to_be_visible()
    expect(page.locator(".curve-table tbody tr").last).to_contain_text("100 %")
    assert "form=share" in page.url
    page.reload()
    expect(page.get_by_role("heading", level=2, name=re.compile("^Curve of share"))).to_be_visible()


def test_pools_have_nodes_prices_and_room_to_grow(page: Page) -> None:
    table = page.locator(".pool-table tbody tr")
    expect(table).to_have_count(3)
    expect(table.filter(has_text="spot")).to_contain_text("0.125/h")
    expect(table.filter(has_text="spot").get_by_role("link", name="spot-1")).to_be_visible()
    expect(page.locator(".capacity-pools")).to_contain_text("without a known price")


def test_phone_and_unknown_keys(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".curve-table tbody tr")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(re.sub("#.*", "#/capacity?key=nobody", page.url))
    expect(page.get_by_role("alert")).to_contain_text("no node has a taint 'nobody'")


def test_autoscalers_of_nodes_and_pods_say_what_they_do_and_why_not(page: Page) -> None:
    autoscaling = page.get_by_role("region", name="Autoscaling", exact=True)
    expect(autoscaling).to_contain_text("cluster-autoscaler in 30m0s")
    expect(autoscaling.get_by_role("region", name="Pools in this time")).to_contain_text("on-demand")
    autoscaling.get_by_label("For", exact=True).select_option("7200")
    expect(autoscaling).to_contain_text("cluster-autoscaler in 2h0m0s")
    row = page.locator(".horizontal-table tbody tr")
    expect(row).to_contain_text("Deployment shop/reports")
    expect(row).to_contain_text("ScalingActive False FailedGetResourceMetric")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []


def test_pools_are_ghost_nodes_below_the_map(page: Page) -> None:
    page.goto(re.sub("#.*", "#/map", page.url))
    ghosts = page.locator(".ghost")
    expect(ghosts).to_have_count(3)
    expect(ghosts.filter(has_text="spot")).to_contain_text("0.125/h")
    expect(ghosts.filter(has_text="full")).to_contain_text("starts none: maxSize is 0, and it has 0")
    nodes = page.evaluate("document.querySelector('moorage-node-map [role=listbox]').ariaLabel")
    assert nodes.startswith("8 nodes"), nodes
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    page.locator(".ghosts summary").click()
    expect(ghosts.first).to_be_hidden()
    page.reload()
    expect(page.locator(".ghosts summary")).to_be_visible()
    expect(ghosts.first).to_be_hidden()
