"""What the page says on opening: the questions that the cluster raises, and how many pods wait."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

RISK = "spot.example.com/failure-probability"
#: Asks the questions of made-up facts, which are lists and objects where the page has maps and sets.
_ASK = """async (given) => {
  const {questions} = await import("/parts/start/line.js");
  const {survey} = await import("/parts/start/survey.js");
  const {cluster: real} = await import("/lib/cluster.js");
  const pods = new Map((given.pods ?? []).map((pod) => [pod.key, {workload: "", node: "", phase: "Running", ...pod}]));
  const row = {taints: [], labels: {}, ready: true, schedulable: true, resources: {cpu: [0, 1000]}};
  const on = (name) => new Set([...pods.values()].filter((pod) => pod.node === name).map((pod) => pod.key));
  const nodes = new Map((given.nodes ?? []).map((node) => [node.name, {...row, ...node, pods: on(node.name)}]));
  const source = {kind: given.source ?? "live", unread: given.unread ?? []};
  const cluster = {pods, nodes, names: real.names, source, happenings: given.happenings ?? []};
  const all = [...pods.values()];
  const tally = {
    waiting: new Set(all.filter((pod) => pod.phase === "Pending" && !pod.node).map((pod) => pod.key)),
    leaving: new Set(all.filter((pod) => pod.deadline).map((pod) => pod.key)),
  };
  const numbers = new Map((given.numbers ?? []).map((text) => [text, 1]));
  const facts = {cluster, tally, seen: survey(cluster), answers: given.answers ?? {}, numbers, now: 1000};
  return questions(facts).map(({name, text, href}) => [name, text, decodeURIComponent(href)]);
}"""
Raw = dict[str, Any]


@pytest.fixture(scope="module")
def blank(files_dashboard: Visitor) -> Iterator[Page]:
    """A page in which functions of the start line are called."""
    with files_dashboard.context() as context:
        page = context.new_page()
        page.goto(f"{files_dashboard.dashboard.url}#/gates")
        expect(page.locator("moorage-gates h1")).to_be_visible()  # not that of the skeleton
        yield page


def pod(name: str, workload: str = "", node: str = "", **fields: Any) -> Raw:
    return {"key": f"shop/{name}", "workload": workload and f"Deployment shop/{workload}", "node": node, **fields}


def waiting(name: str, workload: str = "") -> Raw:
    return pod(name, workload, phase="Pending")


def node(name: str, **fields: Any) -> Raw:
    return {"name": name, **fields}


def zone(value: str) -> Raw:
    return {"labels": {"topology.kubernetes.io/zone": value}}


def taint(key: str, value: str = "", effect: str = "NoExecute") -> Raw:
    return {"taints": [{"key": key, "value": value, "effect": effect}]}


def gates(*values: dict[str, bool], skews: tuple[str, ...] = (), told: bool = True) -> Raw:
    listed = [{"name": f"Gate{number}", "values": each} for number, each in enumerate(values)]
    return {"gates": {"told": told, "gates": listed, "skews": [{"gates": [name]} for name in skews]}}


PRESSED = taint("node.kubernetes.io/memory-pressure", effect="NoSchedule")
CASES: list[tuple[str, Raw, list[tuple[str, str]]]] = [
    ("an empty cluster", {}, []),
    ("one pod", {"pods": [waiting("a")]}, [("1 pod waits: why?", "#/pending?pod=shop/a")]),
    ("bare pods", {"pods": [waiting("a"), waiting("b")]}, [("2 pods wait: why?", "#/pending?pod=shop/a")]),
    (
        "one workload",
        {"pods": [waiting("a", "web"), waiting("b", "web")]},
        [("2 pods of web wait: why?", "#/pending?pod=shop/a")],
    ),
    (
        "two workloads",
        {"pods": [waiting("a", "web"), waiting("b", "web"), waiting("c", "api")]},
        [("3 pods of 2 workloads wait: why?", "#/pending")],
    ),
    ("a pod that starts", {"pods": [pod("a", node="n1", phase="Pending")], "nodes": [node("n1")]}, []),
    (
        "the first to leave",
        {
            "pods": [
                pod("a", "web", "n1", deadline=[1090, "later"]),
                pod("b", "checkout", "n1", deadline=[1023, "fp=3 is tolerated for 30 s"]),
            ],
            "nodes": [node("n1")],
        },
        [("checkout leaves n1 in 23s, 1 more later: why?", "#/map?look=shop/b")],
    ),
    (
        "at once",
        {"pods": [pod("a", node="n1", deadline=[-1, "x"])], "nodes": [node("n1")]},
        [("a leaves n1 now: why?", "#/map?look=shop/a")],
    ),
    (
        "a node that is not ready",
        {"pods": [pod("a", node="n1")], "nodes": [node("n1", ready=False)]},
        [("n1 is not ready, with 1 pod: look", "#/map?node=n1")],
    ),
    (
        "nodes that are not ready",
        {"nodes": [node("n1", ready=False), node("n2", ready=False)]},
        [("2 nodes are not ready: which?", "#/map?find=notready")],
    ),
    (
        "pressure",
        {"pods": [pod("a", node="n1")], "nodes": [node("n1", **PRESSED)]},
        [("n1 is under memory pressure, with 1 pod: look", "#/map?node=n1")],
    ),
    (
        "a loop that goes on",
        {
            "happenings": [
                [10, "loop", "Deployment shop/web", "Deployment shop/web", "…"],
                [900, "evicted", "shop/web-1", "Deployment shop/web", "…"],
                [10, "loop", "Deployment shop/old", "Deployment shop/old", "…"],
            ]
        },
        [("web is evicted again and again: why?", "#/timeline?workload=Deployment+shop/web&kinds=loop,evicted")],
    ),
    (
        "kinds that may not be listed",
        {"unread": [{"what": "nodes", "why": "forbidden"}]},
        [("1 kind could not be read: which?", "#unread")],
    ),
    (
        "manifests that were refused",
        {"source": "files", "unread": [{"what": "Node a", "why": "x"}, {"what": "Node b", "why": "x"}]},
        [("2 objects could not be read: which?", "#unread")],
    ),
    ("gates that agree", {"answers": gates({"a": True, "b": True})}, []),
    ("gates of files", {"answers": gates({"a": True, "b": False}, told=False)}, []),
    (
        "a gate that differs",
        {"answers": gates({"a": True, "b": False}, {"a": True})},
        [("1 gate differs between components: which?", "#/gates?gate=Gate0")],
    ),
    (
        "gates that do harm come first",
        {"answers": gates({"a": True, "b": False}, {"a": True}, skews=("Gate1",))},
        [("2 gates differ between components: which?", "#/gates?gate=Gate1")],
    ),
    (
        "a cordoned node",
        {"pods": [pod("a", node="n1")], "nodes": [node("n1", schedulable=False)]},
        [("n1 is cordoned and still has 1 pod: drain it?", "#/slider?changes=")],
    ),
    (
        "a cordoned node with daemons only",
        {"pods": [{**pod("a", node="n1"), "workload": "DaemonSet x/y"}], "nodes": [node("n1", schedulable=False)]},
        [],
    ),
    (
        "a budget",
        {"answers": {"budgets": {"budgets": [{"budget": "shop/web", "pod": "shop/a", "node": "n1"}]}}},
        [("A drain of n1 would wait for budget web: look", "#/slider?changes=")],
    ),
    (
        "a tipping point",
        {
            "answers": {
                "tips": {"tips": [{"sentence": "n1 would lose web at 5", "key": "risk", "change": {"drain": "n1"}}]}
            }
        },
        [("n1 would lose web at 5: look", "#/slider?changes=")],
    ),
    (
        "a taint with a number",
        {"pods": [pod("a", node="n1")], "nodes": [node("n1", **taint(RISK, "3"))], "numbers": ["3"]},
        [("1 pod is on a node with failure-probability: which?", f"#/map?as=pods&find={RISK}&colour=taint:{RISK}")],
    ),
    (
        "a taint without a number",
        {"pods": [pod("a", node="n1")], "nodes": [node("n1", **taint("dedicated", "yes"))]},
        [],
    ),
    (
        "zones, and nothing wrong",
        {
            "pods": [pod("a", node="n2"), pod("b", node="n1")],
            "nodes": [
                node("n1", **zone("b"), resources={"cpu": [500, 1000]}),
                node("n2", **zone("a"), resources={"cpu": [400, 1000]}),
                node("n3", schedulable=False),
            ],
        },
        [
            ("What would a drain of zone a do?", "#/slider?changes="),
            ("n2 is the emptiest node: could it go?", "#/slider?changes="),
        ],
    ),
    ("one zone", {"pods": [pod("a", node="n1")], "nodes": [node("n1", **zone("a"))]}, []),
]


@pytest.mark.parametrize(("given", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_kind_of_question_is_raised_by_its_facts(blank: Page, given: Raw, wanted: list[tuple[str, str]]) -> None:
    raised = [one for one in blank.evaluate(_ASK, given) if one[0] != "room"]
    assert [text for _, text, _ in raised] == [text for text, _ in wanted]
    assert all(href.startswith(start) for (_, _, href), (_, start) in zip(raised, wanted, strict=True)), raised


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        (
            [node("minikube", labels={"node-role.kubernetes.io/control-plane": ""})],
            ["What else would fit on minikube?"],
        ),
        ([node("n1", ready=False)], []),
        ([node("n1", schedulable=False)], []),
        ([node("n1"), node("n2")], []),
    ],
)
def test_the_only_node_raises_what_else_would_fit(blank: Page, nodes: list[Raw], wanted: list[str]) -> None:
    raised = blank.evaluate(_ASK, {"nodes": nodes})
    assert [text for name, text, _ in raised if name == "room"] == wanted


def test_the_most_urgent_questions_come_first(blank: Page) -> None:
    given = {
        "pods": [waiting("a"), pod("b", node="n1", deadline=[1010, "x"])],
        "nodes": [
            node("n1", **zone("a"), schedulable=False),
            node("n2", **zone("b"), ready=False, **taint(RISK, "3")),
            node("n3", **PRESSED),
        ],
        "happenings": [[990, "loop", "Deployment shop/web", "Deployment shop/web", "…"]],
        "answers": {
            **gates({"a": True, "b": False}),
            "tips": {"tips": [{"sentence": "x", "key": "risk", "change": {"drain": "n1"}}]},
            "budgets": {"budgets": [{"budget": "shop/web", "pod": "shop/a", "node": "n1"}]},
        },
    }
    names = [name for name, *_ in blank.evaluate(_ASK, given)]
    order = ["waiting", "notReady", "leaving", "loops", "pressed", "gates", "budgets", "tipping", "cordoned"]
    assert names == [*order, "drainZone", "emptiest"]


HUGE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "huge"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "huge"}},
        "template": {
            "metadata": {"labels": {"app": "huge"}},
            "spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "x"}]},
        },
    },
}


def start(page: Page) -> Any:
    return page.get_by_role("navigation", name="Questions that this cluster raises")


def test_the_page_speaks_on_opening_and_follows_the_cluster(
    browser: Browser, live_cluster: Cluster, open_page: OpenPage, tmp_path: Path
) -> None:
    kubectl = Kubectl(live_cluster.kubeconfig, live_cluster.home)
    with moorage_dashboard(tmp_path, "--kubeconfig", str(live_cluster.kubeconfig)) as dashboard:
        visitor = Visitor(browser, dashboard)
        page = open_page(visitor, "", viewport={"width": 1280, "height": 800})
        links = start(page).get_by_role("link")
        tip = "spot-1 would lose checkout at 5: look"
        risk = "7 pods are on nodes with failure-probability: which?"
        expect(links).to_have_text(["1 pod waits: why?", tip, risk])
        badge = page.get_by_role("link", name="Why pending 1 pod waits for a node", exact=True)
        expect(badge).to_be_visible()
        expect(page).to_have_title("(1) Map · Moorage")
        start(page).get_by_role("button", name=re.compile("more question")).click()
        expect(start(page)).to_contain_text("What would a drain of zone-a do?")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == []
        kubectl("create -f -", stdin=json.dumps(HUGE))
        expect(links.first).to_have_text("3 pods of 2 workloads wait: why?")
        kubectl("cordon spot-2")
        expect(start(page)).to_contain_text("spot-2 is cordoned and still has 2 pods: drain it?")
        kubectl("uncordon spot-2")
        kubectl("delete deployment huge")
        kubectl("delete deployment next-release -n versions")
        expect(page.get_by_role("link", name="Why pending", exact=True)).to_be_visible()
        expect(page).to_have_title("Map · Moorage")
        expect(start(page)).not_to_contain_text("wait")
        start(page).get_by_role("link", name="7 pods are on nodes").click()
        table = page.get_by_role("table", name="Pods")
        expect(table.locator("tbody tr[data-index]")).to_have_count(7)
        expect(table.locator("tbody tr[data-index]").first).to_contain_text("spot-2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_questions_and_pods_are_accessible(
    files_dashboard: Visitor, open_page: OpenPage, width: int, scheme: str
) -> None:
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    page = open_page(files_dashboard, f"#/map?as=pods&find={RISK}&colour=taint:{RISK}", **options)
    expect(page.get_by_role("table", name="Pods").get_by_role("row").filter(has_text="checkout")).to_be_visible()
    expect(start(page).get_by_role("link")).to_have_count(3)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        "() => [...document.querySelectorAll('.start-link, .start-more, .map-as .button')]"
        ".filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect())"
        ".map(({width, height}) => Math.min(width, height))"
    )
    assert len(sizes) >= 6
    assert min(sizes) >= 24
