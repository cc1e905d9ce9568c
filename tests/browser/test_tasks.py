"""Five things that people open the page for, played from opening: each takes four clicks at most.

docs/dashboard.md has the number of clicks of each; the scripts are how a person would do it who sees the page for the
first time: by what it says, not by what one has to know.
"""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.person import Person
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

MOST = 4
CEL = "TaintTolerationCEL"
#: Waits because it has to go to spot nodes and does not tolerate their taint.
NIGHTLY = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "nightly"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "nightly"}},
        "template": {
            "metadata": {"labels": {"app": "nightly"}},
            "spec": {"nodeSelector": {"example.com/pool": "spot"}, "containers": [{"name": "c", "image": "x"}]},
        },
    },
}
Opens = Callable[[], Person]


@pytest.fixture
def opens(live_dashboard: Visitor, open_page: OpenPage) -> Iterator[Opens]:
    """Open the page of the example cluster, as the printed address does."""
    people: list[Person] = []

    def opened() -> Person:
        people.append(Person(open_page(live_dashboard, "", viewport={"width": 1280, "height": 800})))
        return people[-1]

    yield opened
    for person in people:
        assert person.clicks <= MOST


def test_see_what_the_drain_of_a_zone_does(opens: Opens) -> None:
    person = opens()
    question = person.page.get_by_role("link", name="What would a drain of zone-a do?")
    person.unfold("button", re.compile("more question"), for_=question)
    person.click("link", "What would a drain of zone-a do?")
    person.sees(re.compile("drain nodes with topology.kubernetes.io/zone=zone-a"))
    expect(person.page.locator("moorage-slider")).to_have_attribute("data-state", "done")
    evicted = person.page.get_by_role("table", name="Evicted pods")
    person.sees(re.compile("^shop/checkout-"), within=evicted)
    assert person.clicks <= 2


def test_find_the_threshold_at_which_a_workload_leaves(opens: Opens) -> None:
    person = opens()
    person.click("link", "spot-1 would lose checkout at 5: look")
    expect(person.page.locator("moorage-slider")).to_have_attribute("data-state", "done")
    expect(person.page.get_by_role("slider", name="Value").first).to_have_value("5")
    person.sees(re.compile("^shop/checkout-"), within=person.page.get_by_role("table", name="Evicted pods"))
    assert person.clicks == 1


def test_see_which_pods_are_on_risky_nodes(opens: Opens) -> None:
    person = opens()
    person.click("link", "7 pods are on nodes with failure-probability: which?")
    rows = person.page.get_by_role("table", name="Pods").locator("tbody tr[data-index]")
    expect(rows).to_have_count(7)
    expect(rows.filter(has_text="spot-2").first).to_contain_text("15")
    expect(rows.filter(has_text="shop/checkout-")).to_contain_text(["spot-1"])
    assert person.clicks == 1


def test_check_that_all_components_have_a_gate_on(opens: Opens) -> None:
    person = opens()
    person.click("link", "Gates")
    row = person.page.get_by_role("row").filter(has=person.page.get_by_role("link", name=CEL, exact=True))
    expect(row.locator(".gate-value.on")).to_have_count(4)
    person.click("link", CEL)
    person.sees("On in all 4 components that read it.")
    assert person.clicks == 2


def test_find_why_a_pod_waits_and_fix_it(opens: Opens, live_cluster: Cluster) -> None:
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    kubectl("delete deployment next-release -n versions")
    kubectl("create -f -", stdin=json.dumps(NIGHTLY))
    person = opens()
    page = person.page
    person.click("link", "1 pod waits: why?")
    person.sees(re.compile(r"spot\.example\.com/failure-probability"))
    apply = page.get_by_role("button", name=re.compile("^Apply"))
    apply.first.click()
    person.clicks += 1
    person.click("button", "Apply", within=page.get_by_role("dialog"))
    expect(page.get_by_role("link", name="Why pending", exact=True)).to_be_visible()
    assert person.clicks == 3
    assert "spot-" in kubectl("get pods -l app=nightly -o wide").out
