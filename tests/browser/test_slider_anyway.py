"""The view "What if" of a cluster in which pods leave anyway: they are grey, in a list apart, and in no number."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.browser.slider_page import address_of, expect_number, number, wait_for_answer

RETIRING = "example.com/retiring"
CLUSTER = f"""
apiVersion: v1
kind: Node
metadata: {{name: old-1}}
spec: {{taints: [{{key: {RETIRING}, effect: NoExecute}}]}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "20"}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: new-1}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "20"}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: new-2}}
status: {{allocatable: {{cpu: "2", memory: 8Gi, pods: "20"}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: leaver, namespace: default}}
spec:
  nodeName: old-1
  tolerations: [{{key: {RETIRING}, operator: Exists, effect: NoExecute, tolerationSeconds: 300}}]
  containers: [{{name: app, image: app}}]
status: {{phase: Running}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: web, namespace: default}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: app, image: app, resources: {{requests: {{cpu: "3"}}}}}}]}}
"""
GREEDY = """
apiVersion: v1
kind: Pod
metadata: {name: greedy, namespace: default}
spec:
  nodeName: new-2
  containers: [{name: app, image: app, resources: {requests: {cpu: "100"}}}]
"""
#: The names of those colours of the theme that the tile of a node has pixels of.
COLOURS = """([node, names]) => {
    const map = document.querySelector("moorage-node-map"), canvas = map.querySelector("canvas");
    const tile = map.tile(node), box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
    if (!tile) return null;
    const at = [tile.x - box.left, tile.y - box.top, tile.width, tile.height].map((one) => Math.round(one * ratio));
    const { data } = canvas.getContext("2d").getImageData(...at);
    const pixels = new Set();
    for (let i = 0; i < data.length; i += 4) pixels.add(`rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
    const seen = names.filter((name) => {
        const probe = document.createElement("i");
        probe.style.color = `var(--${name})`;
        document.body.append(probe);
        const { color } = getComputedStyle(probe);
        probe.remove();
        return pixels.has(color);
    });
    return seen.join(" ");
}"""


@pytest.fixture(scope="module")
def dashboard(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    directory = tmp_path_factory.mktemp("leaves-anyway")
    manifests = directory / "cluster.yaml"
    manifests.write_text(CLUSTER, encoding="utf-8")
    with moorage_dashboard(directory, str(manifests), ALL_GATES) as running:
        yield Visitor(browser, running)


def expect_colours(page: Page, node: str, wanted: str) -> None:
    """Wait until the tile of a node has these of the colours muted, bad and good, and no other of them."""
    page.wait_for_function(f"(asked) => ({COLOURS})(asked) === {wanted!r}", arg=[node, ["muted", "bad", "good"]])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_happens_anyway_is_grey_and_in_no_number(dashboard: Visitor, open_page: OpenPage, scheme: str) -> None:
    tainted = {"taint": {"nodes": ["new-1"], "key": "example.com/x", "value": "1", "effect": "NoExecute"}}
    page = open_page(
        dashboard,
        address_of(tainted),
        color_scheme=scheme,
        reduced_motion="reduce",
        viewport={"width": 1280, "height": 900},
    )
    wait_for_answer(page)
    expect_number(page, "evicted", 1)
    expect_number(page, "pending", 1)
    expect(page.locator("[data-number]")).to_have_count(2)
    expect_colours(page, "old-1", "muted")
    expect_colours(page, "new-1", "bad")
    expect(page.get_by_role("list", name="Signs on the map")).to_contain_text("leaves anyway")
    anyway = page.get_by_role("table", name="What happens anyway").locator("tbody tr[data-index]")
    expect(anyway).to_have_count(1)
    expect(anyway).to_contain_text("leaves after 5m")
    # Its successor does not exist: it has no state yet.
    row = page.get_by_role("table", name="Evicted pods").locator("tbody tr[data-index]")
    expect(row).to_contain_text("waits for a node")
    expect(row).not_to_contain_text("Pending")
    age = page.locator(".slider-age")
    expect(age).to_have_text(re.compile(r"^As of (now|\d+ (s|min) ago)$"))
    expect(age).not_to_have_text(age.inner_text())  # it goes on
    expect(age).to_have_text(re.compile(r"^As of \d+ (s|min) ago$"))
    assert violations(page) == []


def test_removed_nodes_are_framed_in_red_and_pods_that_fail_are_counted(
    dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(dashboard, address_of({"remove": "new-1"}), viewport={"width": 1280, "height": 900})
    wait_for_answer(page)
    expect_colours(page, "new-1", "bad")
    expect_colours(page, "new-2", "")
    expect(page.get_by_role("table", name="Pods that fail")).to_be_hidden()
    other = open_page(dashboard, address_of({"apply": GREEDY}), viewport={"width": 1280, "height": 900})
    wait_for_answer(other)
    expect_number(other, "failed", 1)
    expect(number(other, "evicted")).to_have_count(0)
    failing = other.get_by_role("table", name="Pods that fail").locator("tbody tr[data-index]")
    expect(failing).to_contain_text("Node didn't have enough resource: cpu")
    expect(failing).to_contain_text("new-2")
