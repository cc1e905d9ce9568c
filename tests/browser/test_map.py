"""The map in a real browser: grouping, colours, search, zoom, keys, a node's page, what would happen, accessibility."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.browser.waiting import until
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

#: Reads a pixel of the band at the top of a tile, which has its colour.
_PIXEL = """(name) => {
  const map = document.querySelector("moorage-node-map"), canvas = map.querySelector("canvas");
  const {x, y} = map.tile(name), box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
  const at = [x - box.left + 8, y - box.top + 6].map((one) => Math.round(one * ratio));
  return [...canvas.getContext("2d").getImageData(...at, 1, 1).data].join(",");
}"""
_TILE = "(name) => document.querySelector('moorage-node-map').tile(name)"
#: The map lays itself out in a frame after it has heard of its new size, which is in another one.
_SETTLED = """async () => {
  const {cluster} = await import("/lib/cluster.js");
  const map = document.querySelector("moorage-node-map"), frame = () => new Promise(requestAnimationFrame);
  for (let before = "", same = 0; same < 4; ) {
    await frame();
    const now = JSON.stringify([...cluster.nodes.keys()].map((name) => map.tile(name)));
    same = now === before ? same + 1 : 0;
    before = now;
  }
}"""
_WIDE = {"width": 1280, "height": 800}
_NODES = [f"{pool}-{number}" for number in (1, 2) for pool in ("gpu", "ondemand", "spot", "tenants")]
#: What the legend of dots says of the example: eight workloads have colours.
_DOTS = [
    *("kube-system/logs8", "shop/reports4", "ai/training2", "blue/app2", "red/app2", "shop/web2"),
    *("ai/inference1", "shop/checkout1", "4 smaller workloads: neutral4"),
]


@pytest.fixture
def page(files_dashboard: Visitor, open_page: OpenPage) -> Page:
    """The map with less motion: tiles and dots are where they belong at once."""
    return opened(files_dashboard, open_page, "#/map")


def opened(visitor: Visitor, open_page: OpenPage, address: str, **options: Any) -> Page:
    page = open_page(visitor, address, **{"viewport": _WIDE, "reduced_motion": "reduce", **options})
    expect(page.locator(".map-legend")).not_to_be_empty()
    page.evaluate(_SETTLED)
    return page


def tile(page: Page, name: str) -> dict[str, float]:
    found: dict[str, float] = page.evaluate(_TILE, name)
    return found


def settled_tile(page: Page, name: str) -> dict[str, float]:
    """Where a tile is, once the map has been laid out in the room that it has now."""
    page.evaluate(_SETTLED)
    return tile(page, name)


def pixel(page: Page, name: str) -> str:
    """Return the colour of a tile once what was chosen before is painted: the map paints in the next frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return str(page.evaluate(_PIXEL, name))


def choose(page: Page, label: str, text: str) -> None:
    box = page.get_by_role("combobox", name=label)
    box.fill(text)
    page.locator(".combo-option", has=page.get_by_text(text, exact=True)).first.click()


def test_nodes_are_grouped_by_zone_pool_label_and_taint(page: Page) -> None:
    surface = page.locator(".map-list")
    expect(surface).to_have_attribute("data-groups", "2")
    choose(page, "Group by", "pool")
    expect(surface).to_have_attribute("data-groups", "5")
    assert "group=pool" in page.url
    first, second = tile(page, "gpu-1"), tile(page, "gpu-2")
    beside = abs(first["x"] - second["x"]) == first["width"] and first["y"] == second["y"]
    below = abs(first["y"] - second["y"]) == first["height"] and first["x"] == second["x"]
    assert beside or below, "neighbours in one box"
    choose(page, "Group by", "example.com/kubelet-version")
    expect(surface).to_have_attribute("data-groups", "2")
    choose(page, "Group by", "spot.example.com/failure-probability")
    expect(surface).to_have_attribute("data-groups", "3")
    page.reload()
    expect(surface).to_have_attribute("data-groups", "3")


def test_a_taint_colours_by_its_number(page: Page) -> None:
    choose(page, "Colour by", "spot.example.com/failure-probability")
    entries = page.locator(".legend-entry")
    expect(entries).to_have_text(["31", "151", "untainted6", "bar: cpu requested", *_DOTS, "pending pods1"])
    colours = [pixel(page, name) for name in ("spot-1", "spot-2", "ondemand-1", "gpu-1")]
    assert len(set(colours[:3])) == 3, "3, 15 and untainted differ"
    assert colours[2] == colours[3]


def test_versions_are_in_their_order(page: Page) -> None:
    choose(page, "Colour by", "example.com/cni-version")
    legend = page.locator(".legend-text")
    expect(legend.nth(0)).to_have_text("v3.27.0")  # once the server has read the values
    expect(legend.nth(1)).to_have_text("v3.29.1")
    assert pixel(page, "ondemand-1") != pixel(page, "ondemand-2")


def test_other_colours_are_resources_devices_and_workloads(page: Page) -> None:
    choose(page, "Colour by", "memory")
    title = page.locator(".legend-title").first
    expect(title).to_have_text("memory requested")
    expect(page.locator(".legend-tick")).to_have_text(["0%", "25%", "50%", "75%", "100%"])
    expect(page.locator(".legend-steps")).to_have_attribute("aria-label", re.compile("^0% to 100%"))
    choose(page, "Colour by", "gpu.example.com")
    # Both nodes that have devices use all or none of them, or the same part: then that is one value, and no ramp.
    entries = page.locator(".legend-line").first.locator(".legend-entry")
    expect(entries.filter(has_text="without gpu.example.com")).to_have_text("without gpu.example.com6")
    expect(entries.last).to_have_text("bar: gpu.example.com requested")
    choose(page, "Colour by", "Deployment shop/web")
    expect(title).to_have_text("pods of Deployment shop/web")
    expect(page.locator(".legend-steps")).to_have_count(0)  # one pod on each of two nodes: a swatch, not a ramp
    expect(entries.first).to_have_text("1 pod2")
    page.locator(".map-list").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("option")).to_have_text(re.compile(r"pods of Deployment shop/web \d pods?, \d+ pods$"))


def test_a_search_dims_what_it_does_not_find(page: Page) -> None:
    before = {name: pixel(page, name) for name in ("spot-1", "gpu-1")}
    page.get_by_role("searchbox", name="Find").fill("example.com/pool=spot")
    expect(page.locator(".map-found")).to_have_text("nodes with example.com/pool=spot: 2")
    expect(page.locator("#live")).to_have_text("nodes with example.com/pool=spot: 2")
    until(page, _PIXEL, "gpu-1", lambda seen: seen != before["gpu-1"])
    assert pixel(page, "spot-1") == before["spot-1"]
    page.get_by_role("searchbox", name="Find").fill("shop/reports")
    expect(page.locator(".map-found")).to_have_text(re.compile(r"^pods with “shop/reports”: 4, on \d nodes$"))
    page.get_by_role("searchbox", name="Find").fill("")
    expect(page.locator(".map-found")).to_be_hidden()
    until(page, _PIXEL, "gpu-1", lambda seen: seen == before["gpu-1"])


def test_keys_move_zoom_and_open(page: Page) -> None:
    page.locator(".map-list").focus()
    option = page.get_by_role("option")
    expect(option).to_have_text(re.compile("^gpu-1, cpu requested"))
    page.keyboard.press("ArrowDown")
    expect(option).to_have_text(re.compile("^spot-1,"))
    page.keyboard.press("ArrowRight")
    expect(option).to_have_text(re.compile("^tenants-1,"))
    expect(page.locator(".map-list")).to_have_attribute("aria-activedescendant", re.compile("option$"))
    size = tile(page, "gpu-1")["width"]
    page.keyboard.press("+")
    assert tile(page, "gpu-1")["width"] > size
    left = tile(page, "tenants-1")["x"]
    page.keyboard.press("Shift+ArrowRight")
    assert tile(page, "tenants-1")["x"] < left
    page.keyboard.press("0")
    assert tile(page, "gpu-1")["width"] == size
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("tenants-1")


def test_the_wheel_zooms_at_the_pointer_and_a_drag_pans(page: Page) -> None:
    at = tile(page, "spot-2")
    page.mouse.move(at["x"] + 5, at["y"] + 5)
    expect(page.locator(".map-tip")).to_contain_text("spot-2")
    page.mouse.wheel(0, -300)
    until(page, _TILE, "spot-2", lambda seen: seen["width"] > at["width"] * 1.2)
    zoomed = tile(page, "spot-2")
    assert zoomed["x"] <= at["x"] + 5 <= zoomed["x"] + zoomed["width"], "the same tile is at the pointer"
    page.mouse.down()
    page.mouse.move(at["x"] - 100, at["y"] - 20, steps=4)
    page.mouse.up()
    assert tile(page, "spot-2")["x"] < zoomed["x"]
    expect(page.get_by_role("heading", level=1)).to_have_text("Map of nodes and pods")
    page.get_by_role("button", name="Show all").click()
    assert tile(page, "spot-2") == at


def test_a_tile_opens_the_page_of_its_node(page: Page) -> None:
    at = tile(page, "spot-2")
    page.mouse.click(at["x"] + 10, at["y"] + 10)
    expect(page.get_by_role("heading", level=1)).to_have_text("spot-2")
    expect(page).to_have_url(re.compile(r"#/map\?node=spot-2$"))
    expect(page.locator(".chip.taint")).to_have_text("spot.example.com/failure-probability=15:NoExecute")
    expect(page.get_by_role("img", name=re.compile("^cpu: 750m of 8, 9%"))).to_be_visible()
    expect(page.get_by_role("table", name="Pods on spot-2").locator("tbody tr")).to_have_count(3)
    ready = page.get_by_role("row", name=re.compile("^Ready True"))
    expect(ready).to_be_hidden()
    page.get_by_text("Ready; no pressure", exact=True).click()
    expect(ready).to_be_visible()
    page.get_by_role("button", name="Why are other pods not here").click()
    checkout = page.get_by_role("row").filter(has_text="Deployment shop/checkout")
    expect(checkout).to_contain_text("15 < 5 is false (toleration Lt 5)")
    page.get_by_role("link", name="All nodes").click()
    expect(page.get_by_role("option")).to_have_attribute("data-node", "spot-2")
    expect(page.locator(".map-list")).to_be_focused()


def test_devices_of_a_node_are_listed(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/map?node=gpu-1")
    devices = page.locator("section", has=page.get_by_role("heading", name="Devices"))
    expect(devices.get_by_role("row").nth(1)).to_contain_text("gpu.example.com")
    expect(devices).to_contain_text("ai/training-")


def test_a_node_that_does_not_exist_is_said_to_be_gone(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/map?node=nowhere", reduced_motion="reduce")
    expect(page.get_by_text("There is no such node")).to_be_visible()
    expect(page.locator(".node-grid")).to_be_hidden()
    expect(page.get_by_role("link", name="What if it changes")).to_be_hidden()


def test_what_would_happen_is_painted_over(page: Page) -> None:
    choose(page, "Colour by", "spot.example.com/failure-probability")
    expect(page.locator(".legend-text").nth(1)).to_have_text("15")  # until they are read, values have other colours
    before = pixel(page, "spot-1")
    page.evaluate("""async () => {
      const {cluster} = await import("/lib/cluster.js");
      const [first, second] = [...cluster.nodes.get("spot-1").pods];
      document.querySelector("moorage-node-map").setOverlay({
        leaving: new Map([[first, 0], [second, 30]]), landing: new Map([[first, "ondemand-1"]]),
        pending: new Set([second]), nodes: new Map([["spot-1", {value: "15"}]]),
      });
    }""")
    expect(page.locator(".map-tray")).to_have_text("Not on a node: 1 pod, 1 pod more would be")
    until(page, _PIXEL, "spot-1", lambda seen: seen == pixel(page, "spot-2") != before)
    page.evaluate("document.querySelector('moorage-node-map').setOverlay(null)")
    expect(page.locator(".map-tray")).to_have_text("Not on a node: 1 pod")
    until(page, _PIXEL, "spot-1", lambda seen: seen == before)


def test_the_same_nodes_are_a_table(page: Page) -> None:
    page.get_by_role("button", name="Nodes", exact=True).click()
    table = page.get_by_role("table", name="Nodes")
    rows = table.locator("tbody tr:not(.data-group)")
    expect(table).to_have_attribute("aria-rowcount", "11")  # with two headings
    expect(table.locator(".data-group")).to_have_text(["zone-a4", "zone-b4"])
    expect(rows).to_have_text([re.compile(f"^{name}") for name in _NODES])
    page.get_by_role("group", name="Show as").get_by_role("button", name="Pods").click()
    pods = page.get_by_role("table", name="Pods")
    expect(pods.locator("tr.opens").first).to_be_visible()
    expect(pods.locator(".data-group")).to_have_count(0)
    choose(page, "Group by", "kubelet version")
    expect(pods.locator(".data-group").first).to_have_text("not on a node1")
    page.get_by_role("button", name="Nodes", exact=True).click()
    choose(page, "Group by", "nothing")
    expect(table.locator(".data-group")).to_have_count(0)
    expect(table).to_have_attribute("aria-rowcount", "9")
    choose(page, "Group by", "pool")
    pools = ["gpu2", "on-demand2", "spot2", "tenants-11", "tenants-21"]
    expect(table.locator(".data-group")).to_have_text(pools)
    page.get_by_role("button", name="Node", exact=True).click()
    expect(rows.first).to_contain_text("gpu-2")
    page.get_by_role("searchbox", name="Find").fill("spot")
    expect(table.locator(".data-group")).to_have_text(["spot2"])
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("spot-1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["#/map", "#/map?as=table", "#/map?node=spot-2&why=1"])
def test_it_is_accessible(files_dashboard: Visitor, open_page: OpenPage, address: str, scheme: str) -> None:
    page = open_page(files_dashboard, address, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    waited = ".map-legend .legend-entry, .map-legend .legend-ramp" if address == "#/map" else "tbody tr"
    expect(page.locator(waited).first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, "nothing is wider than a phone"
    if "why=1" in address:
        widths = "() => [...document.querySelectorAll('.stacks tbody td')].map((cell) => cell.offsetWidth)"
        until(page, widths, None, lambda found: found and min(found) > 250)  # sentences have a line of their own


@pytest.fixture
def hostile_dashboard(browser: Any, tmp_path: Path) -> Iterator[Visitor]:
    """A dashboard of files whose names and texts are markup that would change the page's title."""
    folder = tmp_path / "<img src=x onerror=document.title='taken'>"
    folder.mkdir()
    (folder / "nodes.yaml").write_text(_HOSTILE, encoding="utf-8")
    with moorage_dashboard(tmp_path, str(folder)) as dashboard:
        yield Visitor(browser, dashboard)


_MARKUP = "<img src=x onerror=document.title='taken'><script>document.title='taken'</script>"
_HOSTILE = f"""\
apiVersion: v1
kind: Node
metadata: {{name: n1, annotations: {{note: "{_MARKUP}"}}}}
spec: {{taints: [{{key: a, value: b, effect: NoSchedule}}]}}
status:
  allocatable: {{cpu: "1", memory: 1Gi, pods: "10"}}
  conditions:
  - {{type: Ready, status: "True", reason: KubeletReady, message: "{_MARKUP}"}}
---
apiVersion: v1
kind: Node
metadata: {{name: n2}}
spec: {{taints: [{{key: a, value: "{_MARKUP}", effect: NoSchedule}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: astray}}
spec: {{nodeName: gone, containers: [{{name: c, image: "{_MARKUP}"}}]}}
"""


def test_markup_in_names_and_texts_changes_nothing(hostile_dashboard: Visitor, open_page: OpenPage) -> None:
    page = opened(hostile_dashboard, open_page, "#/map")
    expect(page.locator(".source-name")).to_contain_text("<img src=x")
    expect(page.locator(".map-tray")).to_have_text("1 pod on nodes that are not here")
    page.get_by_role("searchbox", name="Find").fill(_MARKUP)
    expect(page.locator(".map-found")).to_contain_text("No node and no pod has “<img src=x")
    page.goto(f"{hostile_dashboard.dashboard.url}#/map?node=n1")
    page.locator(".node-conditions summary").click()
    expect(page.get_by_role("row", name=re.compile("^Ready True"))).to_be_visible()
    unread = page.locator(".unread-line")
    expect(unread.locator("summary")).to_contain_text(
        "1 object could not be read or would be refused, and left out: Node n2"
    )
    page.get_by_role("link", name="Moorage, map").click()
    page.get_by_role("link", name="1 object could not be read: which?").click()
    expect(unread.locator("summary")).to_be_focused()
    expect(unread.locator("li")).to_contain_text(f'Invalid value: "{_MARKUP}"')
    assert page.locator("img, main script, header script").count() == 0
    expect(page).to_have_title("Map · Moorage")


def test_a_change_of_a_live_cluster_is_drawn(
    live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage
) -> None:
    page = opened(live_dashboard, open_page, "#/map")
    expect(page.locator(".source-detail")).to_have_text(re.compile("^Up to date; .* · 8 nodes · 26 pods$"))
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    kubectl.run("cordon spot-1")
    expect(page.locator(".map-legend")).to_contain_text("cordoned1")
    page.get_by_role("searchbox", name="Find").fill("cordoned")
    expect(page.locator(".map-found")).to_have_text("nodes with “cordoned”: 1")
    kubectl.run("delete node spot-1")
    expect(page.locator(".source-detail")).to_contain_text("7 nodes")
    until(page, _TILE, "spot-1", lambda seen: seen is None)
