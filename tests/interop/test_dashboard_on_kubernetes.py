"""The dashboard shows a cluster of real Kubernetes, says what a taint would do to it, and is right."""

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import OpenPage, Visitor, browser, open_page  # noqa: F401 (fixtures)
from tests.browser.dashboard_process import moorage_dashboard
from tests.browser.slider_page import address_of, evicted, wait_for_answer
from tests.e2e.component_processes import until
from tests.interop.binaries import API_SERVER, CONTROLLER_MANAGER, ETCD, KUBECTL, SCHEDULER, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import NODES, start_kubernetes
from tests.interop.programs import Programs

pytestmark = needs(ETCD, API_SERVER, KUBECTL, SCHEDULER, CONTROLLER_MANAGER)

RISK = "example.com/risk"
#: One that stays wherever the risk is low, one that stays everywhere, and one that fits nowhere.
WORKLOADS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: careful}
spec:
  replicas: 6
  selector: {matchLabels: {app: careful}}
  template:
    metadata: {labels: {app: careful}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{key: example.com/risk, operator: Equal, value: low, effect: NoExecute}]
      containers: [{name: main, image: x, resources: {requests: {cpu: 500m}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: brave}
spec:
  replicas: 3
  selector: {matchLabels: {app: brave}}
  template:
    metadata: {labels: {app: brave}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{key: example.com/risk, operator: Exists}]
      containers: [{name: main, image: x, resources: {requests: {cpu: 500m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  tolerations: [{key: example.com/risk, operator: Exists}]
  containers: [{name: main, image: x, resources: {requests: {cpu: "9"}}}]
"""


def placed(user: ClusterUser) -> dict[str, str]:
    """Return the node of every pod that has one."""
    pods = user.items("pods")
    return {one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods if one["spec"].get("nodeName")}


def shown(page: Page) -> dict[str, str]:
    """Return the same from what the dashboard's page is drawn of."""
    pods = page.evaluate("async () => (await (await fetch('/api/state')).json()).pods")
    rows = [(key.removeprefix("default/"), node) for key, _, node, _ in pods["rows"] if key.startswith("default/")]
    return {name: pods["nodes"][node] for name, node in rows if node >= 0}


@pytest.mark.timeout(0)
def test_what_the_dashboard_says_is_what_kubernetes_does(
    programs: Programs,
    browser: Browser,  # noqa: F811
    open_page: OpenPage,  # noqa: F811
) -> None:
    server = start_kubernetes(programs)
    user = ClusterUser(server.kubeconfig, programs.directory / "home")
    user.nodes_ready(NODES)
    user(f"taint nodes node-1 {RISK}=low:NoExecute")
    until(lambda: user.run("get serviceaccount default").status == 0)
    user.apply(WORKLOADS)
    user.rolled_out("deployment/careful")
    user.rolled_out("deployment/brave")
    until(lambda: user.items("events --field-selector reason=FailedScheduling,involvedObject.name=large"))
    options = ("--kubeconfig", str(server.kubeconfig), "--allow-changes")
    with moorage_dashboard(programs.directory, *options) as dashboard:
        visitor = Visitor(browser, dashboard)
        page = open_page(visitor, "#/map")
        until(lambda: shown(page) == placed(user))

        page = open_page(visitor, "#/pending")
        events = user.items("events --field-selector reason=FailedScheduling,involvedObject.name=large")
        assert "3 Insufficient cpu" in events[-1]["message"]
        expect(page.locator("body")).to_contain_text("Insufficient cpu")

        page = open_page(visitor, "#/gates")
        expect(page.locator(".gate-problem")).to_contain_text(
            "kube-scheduler, kube-controller-manager, kubelet do not tell"
        )
        expect(page.get_by_text("agree")).to_have_count(0)  # one component alone agrees with none

        page = open_page(
            visitor, address_of({"taint": {"nodes": ["node-1"], "key": RISK, "value": "high", "effect": "NoExecute"}})
        )
        wait_for_answer(page)
        leaving = {pod.partition("/")[2]: node for pod, node, _, _ in evicted(page)}
        before = placed(user)
        assert leaving == {pod: "node-1" for pod, node in before.items() if node == "node-1" and "careful" in pod}
        assert leaving
        page.get_by_role("button", name="Apply").click()
        page.get_by_role("dialog").get_by_role("button", name="Apply").click()
        until(lambda: not leaving.keys() & placed(user).keys())
        user.rolled_out("deployment/careful")
        after = placed(user)
        assert {pod for pod in before if pod not in after} == leaving.keys()
        assert not [pod for pod, node in after.items() if node == "node-1" and "careful" in pod]
        until(lambda: shown(page) == placed(user))
        for one in (page for context in browser.contexts for page in context.pages):
            one.close()  # before the dashboard ends: they would log that they cannot reach it
