"""Pages that `moorage plan` and `explain` write open from a file, say what the other forms say, and load nothing."""

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, EXAMPLE, PATIENCE
from tests.e2e.forked_command import forked_moorage

TAINT = "--taint=spot-1=spot.example.com/failure-probability=90:NoExecute"
BAD = "<img src=x onerror=\"document.title='taken'\">"
HOSTILE = f"""
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations:
    note: {json.dumps("</script><script>document.title='taken'</script>" + BAD)}
  labels: {{zone: a}}
spec:
  taints: [{{key: level, value: "1", effect: NoExecute}}]
---
apiVersion: v1
kind: Pod
metadata: {{name: {json.dumps(BAD)}}}
spec: {{containers: [{{name: c, image: i}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: waits}}
spec:
  schedulerName: {json.dumps(BAD)}
  containers: [{{name: c, image: {json.dumps("</script>" + BAD)}}}]
"""

SPOT = """
apiVersion: v1
kind: Node
metadata: {name: spot}
spec: {taints: [{key: fp, value: "3", effect: NoExecute}]}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: short}
spec:
  nodeName: spot
  tolerations: [{key: fp, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
  containers: [{name: c, image: i}]
---
apiVersion: v1
kind: Pod
metadata: {name: long}
spec:
  nodeName: spot
  tolerations: [{key: fp, operator: Exists}]
  containers: [{name: c, image: i}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{key: fp, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
      containers: [{name: c, image: i}]
"""

Open = Callable[..., Page]


_DAEMONS = """
apiVersion: v1
kind: Node
metadata: {name: worker-1, labels: {disk: hdd}}
---
apiVersion: v1
kind: Node
metadata: {name: gpu-1, labels: {disk: ssd}}
spec: {taints: [{key: dedicated, value: gpu, effect: NoSchedule}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {disk: ssd}
      containers: [{name: agent, image: "agent:1"}]
"""


@lru_cache(maxsize=8)
def moorage(*arguments: str) -> str:
    """What the command writes; the same arguments, and files of the same names, give the same."""
    done = forked_moorage(arguments)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(PATIENCE)
        yield context


@pytest.fixture
def opened(context: BrowserContext, tmp_path: Path) -> Iterator[Open]:
    """Return what writes a page and opens it; in the end nothing else was loaded, and nothing went wrong."""
    asked: list[str] = []
    wrong: list[str] = []

    def open_page(*arguments: str, address: str = "") -> Page:
        path = tmp_path / "page.html"
        path.write_text(moorage(*arguments, "--output", "html"), "utf-8")
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(f"{path.as_uri()}{address}")
        return page

    yield open_page
    for page in context.pages:
        page.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == 1


def plan_of(*arguments: str) -> Any:
    return json.loads(moorage("plan", *arguments, "--output", "json"))


def number(page: Page, name: str) -> int:
    """Return a number of the plan that is shown; a row that would have only zeros is left out."""
    if not page.locator(f'td[data-number="{name}"]').count():
        return 0
    return int(page.locator(f'td[data-number="{name}"]').last.inner_text().replace(",", ""))


@pytest.mark.parametrize("changes", [(), (TAINT, "--drain=gpu-1")], ids=["plain", "what if"])
def test_a_plan_has_the_numbers_of_its_other_forms(opened: Open, changes: tuple[str, ...]) -> None:
    arguments = (str(EXAMPLE), ALL_GATES, *changes)
    told = plan_of(*arguments)
    page = opened("plan", *arguments)
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.locator("td[data-number]").first).to_be_visible()
    shown = {name: number(page, name) for name in ("nodes", "bound", "placed", "pending", "rejectedObjects")}
    assert shown == {name: told["summary"][name] for name in shown}
    assert number(page, "present") == sum(told["summary"][name] for name in ("bound", "placed", "pending", "evicting"))
    page.get_by_role("link", name="Map", exact=True).click()
    expect(page.locator(".map-legend")).not_to_be_empty()
    assert page.locator(".start-line, .nav-badge").count() == 0  # questions and counts of a cluster that runs
    page.get_by_role("link", name="Why pending", exact=True).click()
    pending = told["summary"]["pending"]
    expect(page.get_by_role("status").filter(has_text="for a node").first).to_contain_text(
        f"{pending} pod{'' if pending == 1 else 's'} in"
    )
    expect(page.get_by_role("table").first).to_be_visible()  # the matrix of the first group


def test_a_what_if_is_shown_on_the_map(opened: Open) -> None:
    arguments = (str(EXAMPLE), ALL_GATES, TAINT)
    sentence = plan_of(*arguments)["whatIf"]["sentence"]
    page = opened("plan", *arguments)
    page.get_by_role("link", name="What if").click()
    expect(page.get_by_role("status").filter(has_text=sentence).first).to_be_visible()
    expect(page.get_by_role("button", name="Add a change")).to_be_disabled()


def test_every_view_says_whether_it_is_before_or_after_the_changes(opened: Open) -> None:
    arguments = (str(EXAMPLE), ALL_GATES, TAINT, "--add-nodes=1", "--like=spot-1", "--at=5m")
    told = plan_of(*arguments)
    page = opened("plan", *arguments)
    heads = page.locator(".plan-numbers thead th")
    expect(heads).to_have_text(["Number", "Before the changes", "300 s after the changes", "Difference"])
    cells = page.locator(".plan-numbers tr", has=page.get_by_text("Pods on nodes or waiting")).locator("td")
    expect(cells).to_have_text(["26", "27", "+1"])
    expect(page.locator(".lead")).to_contain_text("300 s after the changes: 27 pods on 9 nodes")
    header = page.locator(".source-detail")
    expect(header).to_contain_text("8 nodes, 26 pods before · 9 nodes, 27 pods as of 300 s after the changes")
    expect(page).to_have_title("Plan, as of 300 s after the changes · Moorage")
    for heading in (
        page.locator(".plan-panel .panel-head").filter(has_not_text=re.compile("Numbers|What the|Notes")).all()
    ):
        assert re.search(r"because of the changes|300 s after the changes", heading.inner_text())

    page.get_by_role("link", name="Map", exact=True).click()
    moments = page.get_by_role("navigation", name="Moments of the plan")
    expect(moments.get_by_role("link")).to_have_text(
        ["Before the changes: 26 pods", "300 s after the changes: 27 pods"]
    )
    expect(moments.locator("[aria-current]")).to_have_text("300 s after the changes: 27 pods")
    signs = page.locator(".map-signs")
    expect(signs).to_contain_text("is here because of the changes")
    expect(signs).to_contain_text("node that is changednode that is added")
    expect(page.locator(".map-list")).to_have_attribute("aria-label", re.compile("^9 nodes"))
    assert violations(page) == []
    moments.get_by_text("Before the changes").click()
    expect(page).to_have_title("Map, before the changes · Moorage")
    expect(page.locator(".map-list")).to_have_attribute("aria-label", re.compile("^8 nodes"))
    expect(signs).to_have_text("leaves because of the changesnode that is changed")
    expect(moments.get_by_text("Before the changes")).to_be_focused()

    # The moment stays while one goes from view to view, and each has its own answers.
    page.get_by_role("link", name="Why pending").click()
    waits = page.get_by_role("status").filter(has_text="for a node").first
    expect(waits).to_contain_text("1 pod in")
    moments.get_by_text("300 s after the changes").click()
    expect(waits).to_contain_text(f"{told['summary']['pending']} pods in")
    for moment, value in (("&moment=before", "3"), ("", "90")):
        page.goto(f"{page.url.partition('#')[0]}#/map?node=spot-1{moment}")
        expect(page.locator(".node-page .chip.taint").first).to_contain_text(f"failure-probability={value}")
    page.get_by_role("link", name="What if").click()
    expect(page.get_by_role("status").filter(has_text=told["whatIf"]["sentence"]).first).to_be_visible()
    expect(page).to_have_title("What if, as of 300 s after the changes · Moorage")
    expect(moments).to_be_hidden()


def test_removed_nodes_are_marked_before_the_changes(opened: Open) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES, "--remove=gpu-2", address="#/map?moment=before")
    expect(page.locator(".map-signs")).to_have_text("leaves because of the changesnode that is removed")
    page.get_by_role("navigation", name="Moments of the plan").get_by_text("After the changes").click()
    expect(page.locator(".map-signs")).not_to_contain_text("removed")


def test_a_plan_without_changes_has_no_before_and_after(opened: Open) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES, "--at=10m", address="#/map")
    expect(page.locator(".source-detail")).to_contain_text("as planned, 600 s from now: 8 nodes · 26 pods · Saved ")
    expect(page).to_have_title("Map, as planned, 600 s from now · Moorage")
    expect(page.get_by_role("navigation", name="Moments of the plan")).to_be_hidden()
    expect(page.locator(".map-signs")).to_have_count(0)
    page.get_by_role("link", name="Plan", exact=True).click()
    expect(page.locator(".plan-numbers thead th")).to_have_text(["Number", "As planned, 600 s from now"])
    assert "the changes" not in page.locator("main").inner_text()


def test_a_page_is_printed_whole(opened: Open) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES, TAINT)
    rows = page.locator('moorage-table[aria-label^="Pods"] tbody tr, table[aria-label^="Pods"] tbody tr')
    expect(rows.first).to_be_visible()
    total = len(plan_of(str(EXAMPLE), ALL_GATES, TAINT)["pods"])
    page.emulate_media(media="print", color_scheme="dark")
    expect(rows).to_have_count(total)
    expect(page.get_by_role("navigation", name="Views")).to_be_hidden()
    expect(page.get_by_role("button", name=re.compile("theme"))).to_be_hidden()
    style = "getComputedStyle(document.querySelector({!r})).{}"
    assert page.evaluate(style.format("html", "backgroundColor")) == "rgb(255, 255, 255)"
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll, .data-scroll')].every((e) => e.scrollHeight <= e.clientHeight)"
    )
    page.emulate_media(media="screen")
    expect(page.get_by_role("navigation", name="Views")).to_be_visible()


@pytest.mark.parametrize(
    ("value", "placed", "holds"),
    [("90", "stop", ["false", "false"]), ("red", "nowhere", ["false", "false"]), ("4", "stop", ["true", "true"])],
)
def test_the_slider_of_a_saved_page_shows_where_the_value_stands(
    opened: Open, value: str, placed: str, holds: list[str]
) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES, TAINT.replace("=90:", f"={value}:"))
    page.get_by_role("link", name="What if").click()
    control = page.locator(".value-control")
    expect(control).to_have_attribute("data-placed", placed)
    chips = control.locator(".value-chip")
    assert [chip.get_attribute("data-holds") for chip in chips.all()] == holds
    if placed == "nowhere":
        expect(control.get_by_role("note")).to_have_text('"red" is not a 64-bit integer.')
    else:
        expect(page.get_by_role("slider", name="Value")).to_have_attribute("aria-valuetext", value)


def test_views_without_answers_are_not_offered(opened: Open) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES)
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    assert page.locator(".nav-link").all_inner_texts() == ["Plan", "Map", "Why pending", "Timeline"]


def test_a_plan_tells_what_happened_and_draws_its_rollout(opened: Open) -> None:
    arguments = (str(EXAMPLE), ALL_GATES, "--rollout=deployment/shop/checkout")
    rollout = plan_of(*arguments)["rollout"]
    page = opened("plan", *arguments)
    panel = page.locator("section", has=page.get_by_role("heading", name="Rollout of Deployment shop/checkout"))
    expect(panel.get_by_role("img")).to_have_accessible_name(re.compile(f"after {len(rollout['steps'])} steps"))
    panel.get_by_text("The steps").click()
    expect(panel.get_by_role("row")).to_have_count(len(rollout["steps"]) + 1)
    assert violations(page) == []
    page.get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("tab")).to_have_text(["Newest first", "Lanes"])
    page.get_by_label("Find").fill("checkout")
    expect(page.get_by_text("scheduler").first).to_be_visible()
    assert violations(page) == []


def test_an_explanation_opens_with_its_pod(opened: Open) -> None:
    target = ("deployment/versions/next-release", "-f", str(EXAMPLE), ALL_GATES)
    told = json.loads(moorage("explain", *target, "--output", "json"))
    page = opened("explain", *target)
    expect(page.get_by_role("heading", name=told["pod"])).to_be_visible()
    for one in told["refused"]:
        for node in one["nodes"]:
            expect(page.get_by_role("table").get_by_text(node, exact=True).first).to_be_visible()


def test_a_daemon_set_opens_with_a_row_for_each_reason(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "daemons.yaml"
    path.write_text(_DAEMONS)
    target = ("daemonset/agent", "-f", str(path))
    told = json.loads(moorage("explain", *target, "--output", "json"))
    page = opened("explain", *target)
    expect(page.locator(".pending-verdict")).to_have_text(told["message"])
    expect(page.locator(".pending-head")).to_contain_text("DESIRED 0 · CURRENT 0 · READY 0")
    rows = page.locator(".daemon-nodes tbody tr")
    assert rows.locator("th").all_inner_texts() == [", ".join(group["nodes"]) for group in told["groups"]]
    expect(rows.first).to_contain_text("label disk=hdd: hdd = ssd is false")
    expect(page.locator(".help-card h4").first).to_have_text(told["suggestions"][0]["sentence"])
    assert violations(page) == []


def test_a_node_opens_with_its_page(opened: Open) -> None:
    page = opened("explain", "node/spot-1", "-f", str(EXAMPLE), ALL_GATES)
    expect(page.get_by_role("heading", name="spot-1", level=1)).to_be_visible()
    page.get_by_text("no pressure").click()
    expect(page.get_by_text("MemoryPressure")).to_be_visible()


def test_strings_of_the_cluster_stay_strings(opened: Open, tmp_path: Path) -> None:
    folder = tmp_path / "<img src=x onerror=document.title=1>"
    folder.mkdir()
    manifest = folder / "cluster.yaml"
    manifest.write_text(HOSTILE, "utf-8")
    page = opened("plan", str(folder))
    expect(page.get_by_text("document.title='taken'").first).to_be_visible()  # the pod that is refused, in the notes
    for view in ("Map", "Why pending", "Timeline", "Plan"):
        page.get_by_role("link", name=view, exact=True).click()
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
    page.goto(f"{page.url.partition('#')[0]}#/map?node=n1")
    expect(page.get_by_role("heading", name="n1", level=1)).to_be_visible()
    assert "taken" not in page.title()
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_plan_is_accessible(opened: Open, scheme: Any) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES, TAINT)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.get_by_role("table", name="Evicted")).to_be_visible()
    assert violations(page) == []


def test_a_plan_fits_a_phone(opened: Open) -> None:
    page = opened("plan", str(EXAMPLE), ALL_GATES, TAINT)
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.get_by_role("table", name="Evicted")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (
            ("plan", "--at", "10s"),
            ["TaintEviction: leaves in 20 s: fp=3 is tolerated for 30 s; then: it is not replaced"],
        ),
        (
            ("explain", "pod/short", "-f"),
            ["But it leaves in 30 s: fp=3 is tolerated for 30 s", "Then it is not replaced: it has no controller"],
        ),
        (
            ("explain", "pod/long", "-f"),
            ["It stays: every NoExecute taint of its node is tolerated without limit"],
        ),
        (
            ("explain", "daemonset/agent", "-f"),
            [
                "DaemonSet default/agent: evicted again every 30 s: fp=3 is tolerated for 30 s",
                "Pods that have to leave",
            ],
        ),
        (("explain", "node/spot", "-f"), ["Leaves", "leaves in 30 s: fp=3 is tolerated for 30 s"]),
    ],
)
def test_pages_of_plans_pods_and_nodes_have_deadlines(
    opened: Open, tmp_path: Path, arguments: tuple[str, ...], texts: list[str]
) -> None:
    path = tmp_path / "spot.yaml"
    path.write_text(SPOT, "utf-8")
    page = opened(*arguments, str(path))
    for text in texts:
        expect(page.get_by_text(text).first).to_be_visible()
