"""Dots of the map in a real browser: colours, names, panels of pods, pods without a node, groups, search by label."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.test_map import choose, opened, settled_tile
from tests.browser.waiting import until

#: The dot or name of the nth pod on a node, and its key.
_DOT = """async ([node, at]) => {
  const {cluster} = await import("/lib/cluster.js");
  const map = document.querySelector("moorage-node-map");
  const dots = [...cluster.nodes.get(node).pods].map((key) => ({key, ...map.dot(key)}));
  dots.sort((a, b) => a.y - b.y || a.x - b.x);
  return dots[at];
}"""
#: The colour of the dots of the pods whose key begins so.
_COLOURS = """async (start) => {
  const {cluster} = await import("/lib/cluster.js");
  const map = document.querySelector("moorage-node-map"), canvas = map.querySelector("canvas");
  const box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width, found = new Set();
  for (const key of cluster.pods.keys()) {
    const dot = key.startsWith(start) && map.dot(key);
    if (!dot) continue;
    const at = [dot.x - box.left + dot.h / 2, dot.y - box.top + dot.h / 2].map((one) => Math.round(one * ratio));
    found.add([...canvas.getContext("2d").getImageData(...at, 1, 1).data].join());
  }
  return [...found];
}"""
#: Shows a cluster of many nodes: each with the label `example.com/one` of its own, one pod of `workloads`, all as full.
_MANY = """async ([nodes, workloads]) => {
  const {cluster} = await import("/lib/cluster.js");
  const names = Array.from({length: nodes}, (_, at) => `node-${at}`);
  cluster.show({
    nodes: names.map((name, at) => ({
      name, labels: {"example.com/one": name, "topology.kubernetes.io/zone": `zone-${at % 2}`}, taints: [], ready: true,
      schedulable: true, created: "", version: "v1.36.4", devices: {},
      resources: {cpu: [500, 1000], memory: [at, nodes]},
    })),
    pods: {
      workloads: Array.from({length: workloads}, (_, at) => `Deployment team-${at % 3}/app-${at}`), nodes: names,
      labels: ["app=web,tier=front", "app=webshop"],
      rows: names.map((name, at) => [`team-${at % workloads % 3}/app-${at}`, at % workloads, at, "Running", at % 2]),
    },
  }, "a test");
}"""


@pytest.fixture
def page(files_dashboard: Visitor, open_page: OpenPage) -> Page:
    return opened(files_dashboard, open_page, "#/map")


def dot(page: Page, node: str, at: int) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(_DOT, [node, at])
    return found


def look(page: Page, key: str) -> None:
    """The panel of the pod is open."""
    expect(page).to_have_url(re.compile(f"look={key.replace('/', '%2F')}$"))


def test_few_nodes_fill_the_frame(page: Page) -> None:
    for size in ({"width": 1440, "height": 900}, {"width": 768, "height": 1024}, {"width": 390, "height": 844}):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        surface = "() => { const {width, height} = document.querySelector('.map-surface').getBoundingClientRect(); "
        surface += "return [width, height, ...[document.querySelector('moorage-node-map').tile('spot-2')].flatMap("
        surface += "({width, height}) => [width, height])]; }"
        until(page, surface, None, lambda box: 8 * box[2] * box[3] > 0.75 * box[0] * box[1])


def test_a_dot_opens_the_panel_of_its_pod(page: Page) -> None:
    first = dot(page, "spot-1", 0)
    assert first["h"] >= 24
    middle = first["x"] + 30, first["y"] + first["h"] / 2
    page.mouse.move(*middle)
    expect(page.locator(".map-tip")).to_contain_text(first["key"])
    page.mouse.click(*middle)
    look(page, first["key"])
    expect(page.get_by_role("heading", level=1)).to_have_text("Map of nodes and pods")
    # Beside the dots a tile opens its node. The panel takes some of the width: the map is laid out again.
    expect(page.locator(".pod-drawer")).to_be_visible()
    at = settled_tile(page, "spot-1")
    page.mouse.click(at["x"] + 10, at["y"] + 8)
    expect(page.get_by_role("heading", level=1)).to_have_text("spot-1")


def test_keys_go_to_the_pods_of_a_node_and_back(page: Page) -> None:
    page.locator(".map-list").focus()
    option = page.get_by_role("option")
    expect(option).to_have_text(re.compile("^gpu-1, "))
    page.keyboard.press("Space")
    first, second = dot(page, "gpu-1", 0)["key"], dot(page, "gpu-1", 1)["key"]
    expect(option).to_have_text(re.compile(f"^pod {first}, .*, Running, on gpu-1$"))
    expect(option).to_have_attribute("aria-setsize", "3")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("data-pod", second)
    expect(option).to_have_attribute("aria-posinset", "2")
    expect(page.locator(".map-tip")).to_contain_text(second)
    page.keyboard.press("Escape")
    expect(option).to_have_text(re.compile("^gpu-1, "))
    page.keyboard.press("Space")
    page.keyboard.press("End")
    last = dot(page, "gpu-1", 2)["key"]
    expect(option).to_have_attribute("data-pod", last)
    page.keyboard.press("Enter")
    look(page, last)


def test_dots_have_the_colours_of_workloads_or_namespaces(page: Page) -> None:
    lines = page.locator(".legend-line")
    until(page, _COLOURS, "red/", lambda seen: len(seen) == 1)
    assert page.evaluate(_COLOURS, "red/") != page.evaluate(_COLOURS, "blue/")
    assert len(page.evaluate(_COLOURS, "shop/")) > 1
    choose(page, "Dots by", "namespace")
    expect(lines.last).to_contain_text("dots by namespace")
    expect(lines.last.locator(".legend-entry").first).to_have_text(re.compile(r"^(shop|kube-system)\d+$"))
    until(page, _COLOURS, "shop/", lambda seen: len(seen) == 1)
    page.reload()
    expect(lines.last).to_contain_text("dots by namespace")
    assert "dots=namespace" in page.url
    # More workloads than colours: the largest have one, and the legend says so of the others.
    page.evaluate(_MANY, [60, 11])
    choose(page, "Dots by", "workload")
    expect(lines.last.locator(".legend-entry")).to_have_count(9)
    expect(lines.last).to_contain_text("3 smaller workloads: neutral15")


def test_one_value_is_a_swatch_and_a_ramp_has_marks(page: Page) -> None:
    page.evaluate(_MANY, [40, 3])
    nodes = page.locator(".legend-line").first
    expect(nodes.locator(".legend-entry").first).to_have_text("50%40")
    expect(nodes.locator(".legend-ramp")).to_have_count(0)
    choose(page, "Colour by", "memory")
    expect(nodes.locator(".legend-tick")).to_have_text(["0%", "25%", "50%", "75%", "100%"])


def test_a_grouping_with_many_values_warns_and_offers_others(page: Page) -> None:
    warning = page.locator(".map-warning")
    page.evaluate(_MANY, [60, 3])
    expect(page.locator(".map-group")).to_have_count(2)
    expect(warning).to_be_hidden()
    choose(page, "Group by", "example.com/one")
    expect(warning).to_contain_text("This makes 60 groups of 60 nodes, more than can be read.")
    warning.get_by_role("button", name="by zone").click()
    expect(warning).to_be_hidden()
    expect(page).to_have_url(re.compile("group=zone"))
    page.evaluate(_MANY, [1500, 3])
    choose(page, "Group by", "example.com/one")
    expect(page.locator(".map-group").last).to_contain_text("1,381 other groups")
    warning.get_by_role("button", name="by zone").click()
    page.evaluate(_MANY, [50, 3])
    choose(page, "Group by", "example.com/one")
    expect(page.locator(".map-list")).to_have_attribute("data-groups", "50")
    expect(warning).to_be_hidden()


def test_find_understands_labels_keys_namespaces_and_taints(page: Page) -> None:
    box, found = page.get_by_role("searchbox", name="Find"), page.locator(".map-found")
    box.fill("app=reports")
    expect(found).to_have_text("pods with app=reports: 4, on 2 nodes")
    box.fill("shop")
    expect(found).to_have_text(re.compile(r"^pods in namespace shop: \d+, on \d nodes$"))
    box.fill("spot.example.com/failure-probability")
    expect(found).to_have_text("nodes with taint spot.example.com/failure-probability: 2")
    box.fill("spot.example.com/failure-probability=15:NoExecute")
    expect(found).to_have_text("nodes with taint spot.example.com/failure-probability=15:noexecute: 1")
    box.fill("nothing-of-the-sort")
    expect(found).to_have_text("No node and no pod has “nothing-of-the-sort”")
    page.evaluate(_MANY, [20, 2])
    box.fill("app=web")  # not those with app=webshop
    expect(found).to_have_text("pods with app=web: 10, on 10 nodes")
    box.fill("tier")
    expect(found).to_have_text("pods with label tier or “tier” in their name: 10, on 10 nodes")
    box.fill("app=web team-1")
    expect(found).to_have_text(re.compile(r"^No node and no pod has “app=web team-1”$"))
    box.fill("app=we")  # while it is typed
    expect(found).to_have_text("pods with “app=we”: 20, on 20 nodes")
    page.get_by_role("button", name="Nodes", exact=True).click()
    box.fill("tier=front zone-0")
    expect(found).to_have_text(re.compile("^No node and no pod"))
    box.fill("tier=front")
    expect(page.get_by_role("table", name="Nodes").locator("tbody tr.opens")).to_have_count(10)


def test_pods_without_a_node_are_links_to_their_panel(page: Page) -> None:
    pods = page.locator(".map-waiting-pod")
    expect(pods).to_have_count(1)
    expect(pods).to_have_text(re.compile("^next-release-"))
    box = pods.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24
    key = pods.get_attribute("data-pod")
    pods.focus()
    page.keyboard.press("Enter")
    look(page, str(key))
    # Many of them have initials, and past sixty they are counted.
    page.evaluate("""async () => {
      const {cluster} = await import("/lib/cluster.js");
      const rows = Array.from({length: 100}, (_, at) => [`shop/web-front-${at}`, 0, -1, "Pending", -1]);
      const pods = {workloads: ["Job shop/web-front"], nodes: [], labels: [], rows};
      cluster.show({nodes: [...cluster.nodes.values()], pods}, "a test");
    }""")
    expect(page.locator(".map-tray")).to_have_text("Not on a node: 100 pods")
    expect(pods).to_have_count(60)
    expect(pods.first).to_have_text("wfshop/web-front-0")
    sizes = page.evaluate("""() => [...document.querySelectorAll(".map-waiting-pod")].map(
      (one) => Math.min(one.getBoundingClientRect().width, one.getBoundingClientRect().height))""")
    assert min(sizes) >= 24
    expect(page.locator(".map-more")).to_have_text("and 40 pods more")
    assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390, "the line of pods scrolls, not the page"


def test_the_name_of_a_group_leads_to_what_if_it_is_drained(page: Page) -> None:
    head = page.locator(".map-group", has_text="zone-a")
    head.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(head.get_by_role("link")).to_have_text(["What if zone-a is drained", "Find only zone-a"])
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(head.get_by_role("link").first).to_be_hidden()
    page.keyboard.press("Enter")
    head.get_by_role("link", name="What if zone-a is drained").click()
    expect(page).to_have_url(re.compile("#/slider"))
    expect(page.locator("main")).to_contain_text("topology.kubernetes.io/zone=zone-a")


@pytest.mark.parametrize("width", [390, 1280])
def test_tab_goes_to_a_row_that_is_in_sight(page: Page, width: int) -> None:
    """The first node by name is in the last of the groups: it is not drawn, and Tab must not need it."""
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(_MANY, [1000, 3])
    page.evaluate("""async () => {
      const {cluster} = await import("/lib/cluster.js");
      cluster.nodes.get("node-0").labels["topology.kubernetes.io/zone"] = "zone-9";
    }""")
    page.get_by_role("button", name="Nodes", exact=True).click()
    table = page.get_by_role("table", name="Nodes")
    stop = table.locator('tr[tabindex="0"]')
    expect(stop).to_contain_text("node-2")
    stop.press("ArrowDown")
    expect(table.locator("tr:focus")).to_contain_text("node-4")
    table.locator("tr:focus").press("End")
    expect(table.locator("tr:focus")).to_contain_text("node-0")
    expect(table.locator("tr:focus")).to_be_in_viewport(ratio=0.5)
    page.locator(".map-rows .data-scroll").evaluate("(box) => (box.scrollTop = 0)")
    expect(stop).to_contain_text("node-2")
    assert violations(page) == []


def test_rows_are_cards_where_there_is_little_room(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Nodes", exact=True).click()
    table = page.get_by_role("table", name="Nodes")
    card = table.get_by_role("row").filter(has_text="spot-1")
    expect(card.get_by_role("rowheader")).to_have_text("spot-1")
    expect(card.get_by_role("cell").filter(has_text="cpu")).to_have_text("cpu 12%")
    expect(card.get_by_role("cell").filter(has_text="Taints")).to_contain_text("failure-probability=3:NoExecute")
    # Of files without creationTimestamp no age is known.
    expect(card.get_by_role("cell").filter(has_text="Age")).to_have_text("Age –")
    assert page.evaluate(
        "document.querySelector('.data-scroll').scrollWidth <= document.querySelector('.data-scroll').clientWidth"
    )
    expect(table.locator("tr.card").first).to_contain_text("gpu-1")
    page.get_by_role("button", name="Ascending: turn round").click()
    expect(table.locator("tr.card").first).to_contain_text("tenants-1")
    page.get_by_label("Sort by").select_option("Pods")
    expect(table.locator("tr.card").first).to_contain_text("Pods 4")
    table.locator("tr.card").first.focus()
    page.keyboard.press("End")
    expect(table.locator("tr.card").last).to_be_focused()
    assert violations(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("gpu-2")
    pods = page.get_by_role("table", name="Pods on gpu-2")
    expect(pods.locator("tr.card")).to_have_count(2)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(pods.locator("tr.card")).to_have_count(0)
    expect(pods.get_by_role("columnheader").first).to_be_visible()
