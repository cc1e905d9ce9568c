"""The map in a real browser: grouping, colours, search, zoom, keys, a node's page, what would happen, accessibility."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import PATIENCE, OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

#: Reads the pixel of a tile's lower right part, where no dot is.
_PIXEL = """(name) => {
  const map = document.querySelector("moorage-node-map"), canvas = map.querySelector("canvas");
  const {x, y, size} = map.tile(name), box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
  const at = [x - box.left + size * 0.8, y - box.top + size * 0.8].map((one) => Math.round(one * ratio));
  return [...canvas.getContext("2d").getImageData(...at, 1, 1).data].join(",");
}"""
_TILE = "(name) => document.querySelector('moorage-node-map').tile(name)"
#: What is not ready yet is asked for again after these milliseconds.
_PAUSE = 30
_WIDE = {"width": 1280, "height": 800}


@pytest.fixture
def page(files_dashboard: Visitor, open_page: OpenPage) -> Page:
    """The map with less motion: tiles and dots are where they belong at once."""
    return opened(files_dashboard, open_page, "#/map")


def opened(visitor: Visitor, open_page: OpenPage, address: str, **options: Any) -> Page:
    page = open_page(visitor, address, **{"viewport": _WIDE, "reduced_motion": "reduce", **options})
    expect(page.locator(".map-legend")).not_to_be_empty()
    return page


def until(page: Page, script: str, argument: Any, wanted: Any) -> None:
    """Wait for a value in the page. (Its policy forbids wait_for_function, which evaluates text.)"""
    seen = None
    for _ in range(int(PATIENCE / _PAUSE)):
        seen = page.evaluate(script, argument)
        if wanted(seen):
            return
        page.wait_for_timeout(_PAUSE)
    raise AssertionError(f"{script} stayed {seen!r}")


def tile(page: Page, name: str) -> dict[str, float]:
    found: dict[str, float] = page.evaluate(_TILE, name)
    return found


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
    assert tile(page, "ondemand-1")["y"] == tile(page, "ondemand-2")["y"], "zones are side by side"
    choose(page, "Group by", "pool")
    expect(surface).to_have_attribute("data-groups", "5")
    assert "group=pool" in page.url
    first, second = tile(page, "gpu-1"), tile(page, "gpu-2")
    assert abs(first["x"] - second["x"]) + abs(first["y"] - second["y"]) == first["size"], "neighbours in one box"
    choose(page, "Group by", "example.com/kubelet-version")
    expect(surface).to_have_attribute("data-groups", "2")
    choose(page, "Group by", "spot.example.com/failure-probability")
    expect(surface).to_have_attribute("data-groups", "3")
    page.reload()
    expect(surface).to_have_attribute("data-groups", "3")


def test_a_taint_colours_by_its_number(page: Page) -> None:
    with page.expect_response("**/api/readings"):
        choose(page, "Colour by", "spot.example.com/failure-probability")
    entries = page.locator(".legend-entry")
    expect(entries).to_have_text(["31", "151", "untainted6", "pending pods1"])
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
    expect(page.locator(".legend-title")).to_have_text("memory requested")
    expect(page.locator(".legend-steps")).to_have_attribute("aria-label", re.compile("^0% to 100%"))
    choose(page, "Colour by", "gpu.example.com")
    expect(page.locator(".legend-entry")).to_have_text(["without gpu.example.com6", "pending pods1"])
    choose(page, "Colour by", "Deployment shop/web")
    expect(page.locator(".legend-title")).to_have_text("pods of Deployment shop/web")
    page.locator(".map-list").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("option")).to_have_text(re.compile(r"pods of Deployment shop/web \d pods?, \d+ pods$"))


def test_a_search_dims_what_it_does_not_find(page: Page) -> None:
    before = {name: pixel(page, name) for name in ("spot-1", "gpu-1")}
    page.get_by_role("searchbox", name="Find").fill("example.com/pool=spot")
    expect(page.locator(".map-found")).to_have_text("2 nodes, 0 pods")
    expect(page.locator("#live")).to_have_text("2 nodes and 0 pods found")
    until(page, _PIXEL, "gpu-1", lambda seen: seen != before["gpu-1"])
    assert pixel(page, "spot-1") == before["spot-1"]
    page.get_by_role("searchbox", name="Find").fill("shop/reports")
    expect(page.locator(".map-found")).to_have_text(re.compile(r"^\d nodes, 4 pods$"))
    page.get_by_role("searchbox", name="Find").fill("")
    expect(page.locator(".map-found")).to_have_text("")
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
    size = tile(page, "gpu-1")["size"]
    page.keyboard.press("+")
    assert tile(page, "gpu-1")["size"] > size
    left = tile(page, "tenants-1")["x"]
    page.keyboard.press("Shift+ArrowRight")
    assert tile(page, "tenants-1")["x"] < left
    page.keyboard.press("0")
    assert tile(page, "gpu-1")["size"] == size
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("tenants-1")


def test_the_wheel_zooms_at_the_pointer_and_a_drag_pans(page: Page) -> None:
    at = tile(page, "spot-2")
    page.mouse.move(at["x"] + 5, at["y"] + 5)
    expect(page.locator(".map-tip")).to_contain_text("spot-2")
    page.mouse.wheel(0, -300)
    until(page, _TILE, "spot-2", lambda seen: seen["size"] > at["size"] * 1.2)
    zoomed = tile(page, "spot-2")
    assert zoomed["x"] <= at["x"] + 5 <= zoomed["x"] + zoomed["size"], "the same tile is at the pointer"
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
    expect(page.get_by_role("row", name=re.compile("^Ready True"))).to_be_visible()
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
    page = files_dashboard.context(reduced_motion="reduce").new_page()
    page.goto(f"{files_dashboard.dashboard.url}#/map?node=nowhere")
    expect(page.get_by_text("There is no such node")).to_be_visible()
    expect(page.locator(".node-grid")).to_be_hidden()
    expect(page.get_by_role("link", name="What if it changes")).to_be_hidden()
    page.context.close()


def test_what_would_happen_is_painted_over(page: Page) -> None:
    with page.expect_response("**/api/readings"):  # until then values are categories, in other colours
        choose(page, "Colour by", "spot.example.com/failure-probability")
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
    page.get_by_role("button", name="Table").click()
    table = page.get_by_role("table", name="Nodes")
    expect(table).to_have_attribute("aria-rowcount", "9")
    expect(table.locator("tbody tr").first).to_contain_text("gpu-1")
    page.get_by_role("button", name="Node").click()
    expect(table.locator("tbody tr").first).to_contain_text("tenants-2")
    page.get_by_role("searchbox", name="Find").fill("spot")
    expect(table).to_have_attribute("aria-rowcount", "3")
    table.locator("tbody tr").first.focus()
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
    expect(page.locator(".map-found")).to_have_text("0 nodes, 0 pods")
    page.goto(f"{hostile_dashboard.dashboard.url}#/map?node=n1")
    expect(page.get_by_role("row", name=re.compile("^Ready True"))).to_be_visible()
    unread = page.locator(".unread-line")
    expect(unread.locator("summary")).to_contain_text(
        "1 object could not be read or would be refused, and left out: Node n2"
    )
    unread.locator("summary").click()
    expect(unread.locator("li")).to_contain_text(f'Invalid value: "{_MARKUP}"')
    assert page.locator("img, main script, header script").count() == 0
    expect(page).to_have_title("Map · Moorage")


def test_a_change_of_a_live_cluster_is_drawn(
    live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage
) -> None:
    page = opened(live_dashboard, open_page, "#/map")
    expect(page.locator(".source-detail")).to_have_text("live · 8 nodes · 26 pods")
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    kubectl.run("cordon spot-1")
    expect(page.locator(".map-legend")).to_contain_text("cordoned1")
    page.get_by_role("searchbox", name="Find").fill("cordoned")
    expect(page.locator(".map-found")).to_have_text(re.compile("^1 node,"))
    kubectl.run("delete node spot-1")
    expect(page.locator(".source-detail")).to_contain_text("7 nodes")
    until(page, _TILE, "spot-1", lambda seen: seen is None)
