"""The shared modules of the page, run in the browser: layout, order, quantities, elements, tables of thousands."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect
from tests.browser.conftest import OpenPage, Visitor

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text('aä<>&"\\/é ', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abß", max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def page(files_dashboard: Visitor, open_page: OpenPage) -> Page:
    page = open_page(files_dashboard, "#/gates")
    expect(page.locator("moorage-gates h1")).to_be_visible()  # not that of the skeleton
    return page


def run(page: Page, script: str, argument: Any = None) -> Any:
    return page.evaluate(script, argument)


def test_layouts_fit_and_no_two_tiles_share_a_place(page: Page) -> None:
    script = """async (cases) => {
      const {layout} = await import("/parts/map/layout.js");
      return cases.map(([counts, width, height]) => {
        let next = 0;
        const groups = counts.map((count) => ({name: "g", members: Array.from({length: count}, () => next++)}));
        const {x, y, wide, tall, boxes, ...rest} = layout(groups, width, height, next);
        return {x: [...x], y: [...y], wide, tall, height: rest.height, boxes: boxes.length};
      });
    }"""
    cases: list[Any] = [
        [[1], 1200, 600],
        [[4, 4], 1340, 620],
        [[2, 2, 2, 1, 1], 370, 600],
        [[40, 40, 40], 1340, 620],
        [[5000], 1200, 600],
        [[1700, 1650, 1650], 1248, 570],
        [[1] * 120, 340, 500],
        [[3000, 1, 1, 400, 17], 340, 420],
        [[], 800, 400],
        [[2, 2], 370, 600],
    ]
    filled, drawn = len(cases), random.Random(5)
    for _ in range(200):
        counts = [drawn.choice((1, 2, 3, 5, 30, 200)) for _ in range(drawn.randint(1, 6))]
        cases.append([counts, drawn.choice((300, 370, 688, 1248)), drawn.choice((300, 600))])
    for number, (case, found) in enumerate(zip(cases, run(page, script, cases), strict=True)):
        counts, width, height = case
        places = list(zip(found["x"], found["y"], strict=True))
        assert len(places) == sum(counts)
        assert len({(round(x), round(y)) for x, y in places}) == len(places), case
        assert all(x >= 0 and x + found["wide"] <= width for x, _ in places), case
        assert all(y >= 0 and y + found["tall"] <= found["height"] for _, y in places), case
        assert found["height"] == height or found["wide"] == 4, "taller than the window only with the smallest tiles"
        # Few tiles fill the frame, but for the lines with names; one has an end to its size.
        if number < filled and 1 < sum(counts) <= 120 and len(counts) < 10:
            assert sum(counts) * found["wide"] * found["tall"] > 0.65 * width * height, case


def test_few_groups_are_side_by_side_and_names_on_tiles_differ(page: Page) -> None:
    script = """async () => {
      const {layout} = await import("/parts/map/layout.js");
      const {sharedDomain, shorten} = await import("/parts/map/names.js");
      const zones = [0, 1, 2].map((number) => ({name: `zone-${number}`, members: [number]}));
      const names = ["ip-10-0-3-7.eu-west-1.compute.internal", "ip-10-0-3-8.eu-west-1.compute.internal"];
      return {
        tops: [...layout(zones, 1200, 600, 3).y],
        short: names.map((name) => shorten(name, 12, sharedDomain(names))),
        others: ["a.b.c", "a.d.c"].map((name) => shorten(name, 3, sharedDomain(["a.b.c", "a.d.c"]))),
      };
    }"""
    found = run(page, script)
    assert len(set(found["tops"])) == 1
    assert found["short"] == ["ip-10-0-3-7", "ip-10-0-3-8"]
    assert found["others"] == ["….c", "….c"], "only what all names end with is left out"


def test_the_map_colours_values_in_the_order_in_which_they_were_read(page: Page) -> None:
    script = """async ([values, numbers, versions]) => {
      const {makeScale} = await import("/parts/map/scale.js");
      const rows = values.map((value, at) => ({name: `n${at}`, labels: {v: value}, taints: []}));
      const scale = makeScale("label:v", {rows}, null, () => ({numbers: new Map(numbers), versions}));
      return [scale.kind, scale.entries.map((one) => one.text), [...scale.codes]];
    }"""
    kind, texts, codes = run(page, script, [["v1.10", "v1.9", "1.32-rc1"], [], ["v1.9", "v1.10"]])
    assert (kind, texts) == ("steps", ["v1.9", "v1.10", "not a version"])
    assert codes[1] < codes[0] < codes[2]
    large = [str(2**53 + 1), str(2**53)]
    kind, texts, _ = run(page, script, [large, [[large[1], 2.0**53], [large[0], 2.0**53]], []])
    assert (kind, texts) == ("steps", large[::-1])
    assert run(page, script, [["1", "2"], [], []])[0] == "categories"


def test_the_map_shows_the_values_that_a_what_if_gives_nodes(page: Page) -> None:
    script = """async (changes) => {
      const {changedNodes} = await import("/views/slider/overlay.js");
      const {makeScale} = await import("/parts/map/scale.js");
      const taint = (value, effect) => ({key: "risk", value, effect});
      const rows = [
        {name: "a", labels: {pool: "x"}, taints: [taint("1", "NoSchedule"), taint("2", "NoExecute")]},
        {name: "b", labels: {pool: "y"}, taints: [taint("3", "NoExecute")]},
      ];
      const values = changedNodes(changes, new Map(rows.map((row) => [row.name, row])));
      const scale = makeScale("label" in changes[0] ? "label:pool" : "taint:risk", {rows}, values);
      return {nodes: [...values.keys()], texts: [scale.text(0), scale.text(1)]};
    }"""
    risk = {"nodes": "all", "key": "risk", "value": "9", "effect": "NoExecute"}
    label = {"label": {"nodes": ["a"], "key": "pool", "value": "z"}}
    cases: list[tuple[list[Any], list[str], list[str]]] = [
        ([{"taint": risk}], ["a", "b"], ["9", "9"]),
        ([{"taint": {**risk, "nodes": ["b"]}}, label], ["b", "a"], ["1", "9"]),  # the label is not the taint's value
        ([{"taint": {**risk, "nodes": ["b"]}}, {"cordon": {"nodes": ["a"]}}], ["b", "a"], ["1", "9"]),
        ([label], ["a"], ["z", "y"]),
        ([{"label": {"nodes": ["a"], "key": "pool", "value": None}}], ["a"], ["without the label", "y"]),
        ([{"untaint": {"nodes": "all", "key": "risk", "effect": "NoExecute"}}], ["a", "b"], ["1", "untainted"]),
        ([{"untaint": {"nodes": "all", "key": "risk", "effect": ""}}], ["a", "b"], ["untainted", "untainted"]),
    ]
    for changes, nodes, texts in cases:
        assert run(page, script, changes) == {"nodes": nodes, "texts": texts}, changes


def test_a_long_name_of_the_source_leaves_the_way_to_the_views(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    run(page, "() => { document.querySelector('.source-name').textContent = 'long/name.yaml, '.repeat(40); }")
    assert (
        run(page, "() => { const nav = document.querySelector('.nav ul'); return nav.scrollWidth - nav.clientWidth; }")
        == 0
    )
    assert run(page, "document.documentElement.scrollWidth") == 1280


def test_points_of_nodes_with_long_names_fit_the_panel(page: Page) -> None:
    script = """async ([names, width]) => {
      const {cluster} = await import("/lib/cluster.js");
      const {scores} = await import("/parts/pod/sections.js");
      const [row] = cluster.nodes.values();
      const pods = {workloads: [], nodes: [], labels: [], rows: []};
      cluster.show({nodes: names.map((name) => ({...row, name})), pods}, "a test");
      const points = (at) => ({rank: at + 1, total: 700 - at, scores: {NodeResourcesBalancedAllocation: 90 - at}});
      const scored = names.map((node, at) => ({node, ...points(at)}));
      const box = document.createElement("div");
      box.style.width = width;
      box.append(...scores({scored, weights: {}, isDecision: false}).filter(Boolean));
      document.querySelector("main").prepend(box);
      const links = [...box.querySelectorAll("thead a")].map((link) => [link.innerText, link.title]);
      return {links, beyond: box.scrollWidth - box.clientWidth};
    }"""
    page.add_style_tag(url="/parts/pod/pod.css")
    domain = ".eu-central-1.compute.internal"
    short = ["ip-10-0-45-15", "ip-10-0-9-153", "ip-10-0-24-158"]
    pools = [f"gke-production-europe-default-pool-3f2a1b9c-{end}" for end in ("x7k2", "p0q9", "zz31")]
    for width in ("20rem", "25rem"):
        found = run(page, script, [[f"{name}{domain}" for name in short], width])
        assert found == {"links": [[name, f"{name}{domain}"] for name in short], "beyond": 0}
        found = run(page, script, [pools, width])
        assert found == {"links": [[name, ""] for name in pools], "beyond": 0}


def test_new_pods_that_wait_for_the_same_are_one_line(page: Page) -> None:
    page.route("**/api/ask/places", lambda route: route.fulfill(body='{"by": [], "text": "", "done": true}\n'))
    script = """async (pending) => {
      const {rolloutWaiting} = await import("/views/timeline/rollout-waiting.js");
      return [...rolloutWaiting(() => {}).of({stuck: [], pending}).children].map((line) => line.innerText);
    }"""
    found = run(page, script, [["a/x-1", "no room."], ["a/x-2", "no room."], ["a/x-3", "taints."]])
    assert found == ["a/x-1 and 1 more stay Pending: no room. Why?", "a/x-3 stays Pending: taints. Why?"]


def test_bars_of_evictions_can_be_told_apart(page: Page) -> None:
    script = """async (seconds) => {
      const {barsOf} = await import("/views/slider/eviction-chart.js");
      const moments = seconds.map((at) => ({at, pods: 2, workloads: new Map([["w", 2]])}));
      const bars = barsOf(moments, Math.max(60, ...seconds));
      return bars.map((one) => [one.at, one.until, one.pods, one.workloads.get("w")]);
    }"""
    assert run(page, script, [0, 30, 300]) == [[0, 0, 2, 2], [30, 30, 2, 2], [300, 300, 2, 2]]
    many = run(page, script, list(range(60, 6000, 60)))
    assert len(many) < 34
    assert sum(pods for _, _, pods, _ in many) == sum(pods for *_, pods in many) == 2 * 99
    assert all(start <= end for start, end, *_ in many)


def test_changes_come_back_from_the_address(page: Page) -> None:
    script = """async (changes) => {
      const {encode, decode} = await import("/views/slider/changes.js");
      const text = encode(changes);
      return text === null ? "too long" : decode(text);
    }"""
    label = {"label": {"nodes": ["a"], "key": "pool", "value": None}}
    assert run(page, script, [label, {"apply": "kind: Pod # ü"}]) == [label, {"apply": "kind: Pod # ü"}]
    assert run(page, script, [{"taint": {**label["label"], "effect": "NoExecute"}}]) is None
    assert run(page, script, [{"apply": "x" * 60_000}]) == "too long"


def test_an_address_that_is_no_address_leads_to_the_map(files_dashboard: Visitor, open_page: OpenPage) -> None:
    for address in ("#/%E0%A4%A", "#/__proto__", "#/%3Cimg%20src=x%3E"):
        page = open_page(files_dashboard, address)
        expect(page.get_by_role("heading", name="Map of nodes and pods")).to_be_visible()


def test_quantities_and_durations_are_written_as_kubernetes_does(page: Page) -> None:
    script = """async () => {
      const f = await import("/lib/format.js");
      return [f.cpu(250), f.cpu(1500), f.cpu(64000), f.cpu(0), f.bytes(1610612736), f.bytes(1023),
        f.quantity("memory", 2 ** 35), f.quantity("nvidia.com/gpu", 8), f.percent(0.004), f.percent(0.999),
        f.percent(290 / 1000), f.percent(1), f.duration(65), f.duration(90000), f.count(1, "node"),
        f.count(1234, "node"), f.taint({key: "a", value: "", effect: "NoSchedule"})];
    }"""
    assert run(page, script) == [
        *["250m", "1.5", "64", "0", "1.5Gi", "1023", "32Gi", "8", "0%", "99%", "28%", "100%", "1m5s", "1d1h"],
        *["1 node", "1,234 nodes", "a:NoSchedule"],
    ]


def test_saved_answers_are_found_under_what_python_writes(page: Page) -> None:
    """Check the key of an answer in an exported page: JSON with sorted keys, the same from both languages."""
    script = """async (texts) => {
      const {canonical} = await import("/lib/api.js");
      return texts.map((text) => canonical(JSON.parse(text)));
    }"""

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(_JSON, min_size=1, max_size=20))
    def law(values: list[Any]) -> None:
        texts = [json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for value in values]
        assert run(page, script, texts) == texts

    law()


def test_elements_take_no_markup_no_scripts_and_no_foreign_schemes(page: Page) -> None:
    script = """async () => {
      const {h} = await import("/lib/dom.js");
      const refused = (props) => { try { h("div", props); return false; } catch { return true; } };
      const link = (href) => h("a", {href}).getAttribute("href");
      return {
        text: h("p", {}, "<img src=x onerror=alert(1)>").childElementCount,
        refused: [{innerHTML: "x"}, {".innerHTML": "x"}, {onclick: "alert(1)"}, {srcdoc: "x"}].map(refused),
        links: ["javascript:alert(1)", " JavaScript:alert(1)", "//elsewhere.test", "data:text/html,x", "#/map",
          "https://k8s.io/"].map(link),
      };
    }"""
    found = run(page, script)
    assert found["text"] == 0
    assert found["refused"] == [True] * 4
    assert found["links"] == [None, None, None, None, "#/map", "https://k8s.io/"]


def test_long_lines_are_coloured_in_linear_time(page: Page) -> None:
    """A line of a hundred thousand letters took the page minutes: it hung."""
    script = """async (texts) => {
      const {highlight} = await import("/views/playground/highlight.js");
      return texts.every((text) => ["yaml", "cel"].every((language) =>
        highlight(text, language).map((line) => line.map(([piece]) => piece).join("")).join("\\n") === text));
    }"""
    words = ["x", "x ", "a: ", "- ", "1", ">1", "'", '"\\', "# ", "{a, ", "x(", "expression: "]
    assert run(page, script, [word * (100_000 // len(word)) for word in words])
    assert run(page, script, [f"{'a ' * 100}{' ' * 100_000}x"])
    keys = """async (text) => {
      const {highlight} = await import("/views/playground/highlight.js");
      return highlight(text, "yaml").flat().filter(([, kind]) => kind === "key").map(([piece]) => piece);
    }"""
    assert run(page, keys, "- key: a:b\n  two words : {c: 1, d-e: x}\n[f: 2]") == ["key", "two words", "c", "d-e", "f"]


def test_a_table_of_thousands_has_few_elements(page: Page) -> None:
    run(
        page,
        """async () => {
      const {dataTable} = await import("/parts/data-table.js");
      const rows = Array.from({length: 20000}, (_, at) => ({name: `n${at}`}));
      const columns = [{id: "name", title: "Name", by: (row) => row.name, cell: (row) => row.name}];
      const opened = (row) => (document.title = row.name);
      const more = {label: "Many", rowKey: (row) => row.name, onopen: opened, sort: "name", height: "20rem"};
      document.querySelector("main").replaceChildren(dataTable({columns, rows, ...more}));
    }""",
    )
    table = page.get_by_role("table", name="Many")
    expect(table).to_have_attribute("aria-rowcount", "20001")
    rows = table.locator("tbody tr[aria-rowindex]")
    expect(rows.first).to_contain_text("n0")
    assert rows.count() < 60
    rows.first.focus()
    page.keyboard.press("End")
    last = table.locator('tr[aria-rowindex="20001"]')
    expect(last).to_be_focused()
    expect(last).to_have_text("n19999")
    page.keyboard.press("PageUp")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_title("n1")


def test_dots_keep_their_place_while_others_come_and_go(page: Page) -> None:
    script = """async () => {
      const {Model, TRAY} = await import("/parts/map/model.js");
      const node = (name) => ({name, pods: new Set()});
      const pod = (key, node, phase = "Running") => ({key, node, phase, workload: ""});
      const cluster = {nodes: new Map([["a", node("a")], ["b", node("b")]]),
        pods: new Map(["1", "2", "3"].map((key) => [key, pod(key, "a")]))};
      const model = new Model();
      model.load(cluster);
      const slot = (key) => [model.podNode[model.podNumbers.get(key)], model.podSlot[model.podNumbers.get(key)]];
      const told = (keys) => ({nodes: new Set(), pods: new Map(keys.map((key) => [key, ""]))});
      const change = (...keys) => model.update(told(keys), cluster);
      cluster.pods.set("2", pod("2", "b"));
      const moved = change("2").moved.length;
      const after = [slot("1"), slot("3"), slot("2")];
      cluster.pods.set("4", pod("4", "a"));
      cluster.pods.set("5", pod("5", "", "Pending"));
      cluster.pods.delete("3");
      change("4", "5", "3");
      return {moved, after, filled: slot("4"), waits: slot("5")[0] === TRAY, gone: model.podNumbers.has("3")};
    }"""
    found = run(page, script)
    assert found == {"moved": 1, "after": [[0, 0], [0, 2], [1, 0]], "filled": [0, 1], "waits": True, "gone": False}
