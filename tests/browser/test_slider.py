"""The view "What if" in a real browser: it says what `moorage plan` says, of files and of a live cluster."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import ALL_GATES, EXAMPLE, OpenPage, Visitor
from tests.browser.dashboard_process import moorage_dashboard
from tests.browser.slider_page import (
    address_of,
    changes_in,
    evicted,
    expect_number,
    number,
    plan,
    planned_evictions,
    wait_for_answer,
)
from tests.e2e.running_cluster import Cluster

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.model.kinds import KINDS

RBAC = "rbac.authorization.k8s.io/v1"
SPOT = "spot.example.com/failure-probability"
DRIVER, HOURS = "gpu.example.com/driver-version", "gpu.example.com/hours-left"
DEVICE_RULE = f"""
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {{name: what-if-1}}
spec:
  deviceSelector: {{driver: gpu.example.com}}
  taint: {{key: {HOURS}, value: "50", effect: NoExecute}}
"""
POOL = {"label": {"key": "example.com/pool", "value": "spot"}}


def tainted(value: str, nodes: Any = POOL) -> dict[str, Any]:
    return {"taint": {"nodes": nodes, "key": SPOT, "value": value, "effect": "NoExecute"}}


#: Counts the questions that are asked at the same time: each until it is aborted, or its answer has been read.
COUNT_QUESTIONS = """() => {
    const counted = { now: 0, most: 0, all: 0 };
    const fetched = window.fetch;
    window.questions = counted;
    window.fetch = async (path, options) => {
        if (!String(path).endsWith("/api/ask/what-if")) return fetched(path, options);
        counted.now += 1;
        counted.all += 1;
        counted.most = Math.max(counted.most, counted.now);
        let over = false;
        const end = () => { if (!over) counted.now -= 1; over = true; };
        options.signal.addEventListener("abort", end);
        const response = await fetched(path, options);
        // It is over before the page sees the end, and can ask the next one.
        return new Response(response.body.pipeThrough(new TransformStream({ flush: end })), response);
    };
}"""


def plan_of_files(*options: str) -> Any:
    return plan(str(EXAMPLE), ALL_GATES, *options)


@pytest.mark.parametrize("value", ["3", "10", "50"])
def test_it_says_what_plan_says_of_files(files_dashboard: Visitor, open_page: OpenPage, value: str) -> None:
    wanted = plan_of_files(*(f"--taint={node}={SPOT}={value}:NoExecute" for node in ("spot-1", "spot-2")))
    page = open_page(files_dashboard, address_of(tainted(value)))
    wait_for_answer(page)
    assert evicted(page) == planned_evictions(wanted)
    expect_number(page, "evicted", len(wanted["evicted"]))
    moved = sum(1 for one in wanted["evicted"] if one["newNode"])
    expect_number(page, "moved", moved)


def test_it_says_what_plan_says_of_a_live_cluster(
    live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage
) -> None:
    taints = [f"--taint={node}={SPOT}=10:NoExecute" for node in ("spot-1", "spot-2")]
    wanted = plan("--kubeconfig", str(live_cluster.kubeconfig), *taints)
    page = open_page(live_dashboard, address_of(tainted("10")))
    wait_for_answer(page)
    assert evicted(page) == planned_evictions(wanted)
    assert evicted(page) != []


def test_several_changes_are_made_together(files_dashboard: Visitor, open_page: OpenPage) -> None:
    wanted = plan_of_files(f"--taint=spot-1={SPOT}=50:NoExecute", "--drain=ondemand-1", "--cordon=ondemand-2")
    page = open_page(files_dashboard, address_of(tainted("50", ["spot-1"]), {"drain": "ondemand-1"}))
    wait_for_answer(page)
    page.get_by_role("button", name="Add a change").click()
    page.get_by_role("group", name="Change 3").get_by_label("Kind of change").select_option("cordon")
    node = page.get_by_role("group", name="Change 3").get_by_role("combobox", name="Node")
    node.fill("ondemand-2")
    node.press("Enter")
    expect(page.get_by_role("group", name="Change 3")).to_contain_text("cordon node ondemand-2.")
    wait_for_answer(page)
    assert evicted(page) == planned_evictions(wanted)
    page.get_by_role("button", name="Take change 2 away").click()
    wait_for_answer(page)
    wanted = plan_of_files(f"--taint=spot-1={SPOT}=50:NoExecute", "--cordon=ondemand-2")
    assert evicted(page) == planned_evictions(wanted)


@pytest.mark.parametrize(
    ("change", "option"),
    [
        (
            {"label": {"nodes": POOL, "key": "example.com/pool", "value": "x"}},
            "--label={example.com/pool=spot}=example.com/pool=x",
        ),
        ({"untaint": {"nodes": ["gpu-1"], "key": DRIVER, "effect": ""}}, f"--untaint=gpu-1={DRIVER}"),
        ({"scale": {"workload": "deployment/shop/web", "replicas": 40}}, "--scale=deployment/shop/web=40"),
        ({"remove": "ondemand-1"}, "--remove=ondemand-1"),
        ({"drain": {"nodes": POOL}}, "--drain={example.com/pool=spot}"),
        ({"apply": DEVICE_RULE}, "--change=RULE"),
        (
            {"deviceTaint": {"driver": "gpu.example.com", "key": HOURS, "value": "50", "effect": "NoExecute"}},
            "--change=RULE",
        ),
    ],
    ids=["label", "untaint", "scale", "remove", "drain of a pool", "apply", "device-taint"],
)
def test_every_kind_of_change_is_that_of_plan(
    files_dashboard: Visitor, open_page: OpenPage, tmp_path: Path, change: dict[str, Any], option: str
) -> None:
    rule = tmp_path / "rule.yaml"
    rule.write_text(DEVICE_RULE, encoding="utf-8")
    wanted = plan_of_files(option.replace("RULE", str(rule)))
    page = open_page(files_dashboard, address_of(change))
    wait_for_answer(page)
    assert evicted(page) == planned_evictions(wanted)
    waiting = sum(1 for one in wanted["evicted"] if one["replacedBy"] and not one["newNode"])
    expect_number(page, "pending", waiting + len(wanted["pending"]))
    expect_number(page, "placed", len(wanted["placed"]))


def test_the_keyboard_is_enough(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3", ["spot-1"])))
    wait_for_answer(page)
    slider = page.get_by_role("slider", name="Value")
    slider.focus()
    slider.press("ArrowRight")
    expect(slider).to_have_value("4")
    slider.press("Alt+ArrowRight")
    expect(slider).to_have_value("5")
    wait_for_answer(page)
    assert [pod.partition("-")[0] for pod, *_ in evicted(page)] == ["shop/checkout"]
    slider.press("Alt+ArrowLeft")
    wait_for_answer(page)
    expect(
        page.get_by_role("status").filter(has_text="No changes: every pod ends as it does without the change")
    ).to_be_visible()
    page.get_by_role("button", name="Add a change").press("Enter")
    expect(page.get_by_role("group", name="Change 2").get_by_label("Kind of change")).to_be_focused()
    page.get_by_role("button", name="Take change 2 away").press("Enter")
    expect(page.get_by_role("group", name="Change 1").get_by_label("Kind of change")).to_be_focused()


def test_thresholds_of_pods_are_marked(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3", ["spot-1"])))
    wait_for_answer(page)
    thresholds = page.get_by_role("group", name="Thresholds that pods name")
    expect(thresholds.get_by_role("button")).to_have_text(["< 51 pod", "< 204 pods"])
    thresholds.get_by_role("button", name="< 20").click()
    expect(page.get_by_role("slider", name="Value")).to_have_value("20")
    wait_for_answer(page)
    wanted = plan_of_files(f"--taint=spot-1={SPOT}=20:NoExecute")
    assert evicted(page) == planned_evictions(wanted)


def test_a_value_that_is_no_number_is_what_was_asked(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("red", ["spot-1"])))
    wait_for_answer(page)
    field = page.get_by_role("textbox", name="Value, typed")
    expect(field).to_have_value("red")
    assert evicted(page) == planned_evictions(plan_of_files(f"--taint=spot-1={SPOT}=red:NoExecute"))
    field.fill("9223372036854775808")
    expect(page.get_by_role("group", name="Change 1")).to_contain_text(f"{SPOT}=9223372036854775808:NoExecute")
    wait_for_answer(page)
    field.fill("-5")
    expect(page.get_by_role("status").filter(has_text='Invalid value: "-5"')).to_be_visible()
    expect(number(page, "evicted")).to_be_hidden()


def test_tiles_say_the_value_that_was_asked(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3")), viewport={"width": 1280, "height": 900})
    wait_for_answer(page)
    labels = "() => [...document.querySelectorAll('moorage-node-map canvas')].map((one) => one.toDataURL()).join()"
    page.wait_for_function(
        f"() => {{ const now = ({labels})(); const same = now === window.last; window.last = now; return same; }}"
    )
    page.get_by_role("slider", name="Value").fill("4")  # nothing else changes on the map
    wait_for_answer(page)
    page.wait_for_function(f"() => ({labels})() !== window.last")


def test_versions_are_a_slider_too(files_dashboard: Visitor, open_page: OpenPage) -> None:
    key = "gpu.example.com/driver-version"
    change = {"taint": {"nodes": {"taint": key}, "key": key, "value": "580.0.0", "effect": "NoExecute"}}
    page = open_page(files_dashboard, address_of(change))
    wait_for_answer(page)
    slider = page.get_by_role("slider", name="Value")
    slider.focus()
    slider.press("Home")
    lowest = slider.get_attribute("aria-valuetext")
    wait_for_answer(page)
    wanted = plan_of_files(*(f"--taint={node}={key}={lowest}:NoExecute" for node in ("gpu-1", "gpu-2")))
    assert evicted(page) == planned_evictions(wanted)
    assert evicted(page) != []


KUBELET, BUDGET = "example.com/kubelet", "example.com/budget"
UNUSUAL_VALUES = f"""
apiVersion: v1
kind: Node
metadata: {{name: candidate}}
spec:
  taints:
  - {{key: {KUBELET}, value: 1.31.0, effect: NoExecute}}
  - {{key: {BUDGET}, value: "9007199254740993", effect: NoExecute}}
status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "20"}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: default}}
spec:
  nodeName: candidate
  tolerations:
  - {{key: {KUBELET}, operator: SemverGt, value: 1.30.0, effect: NoExecute}}
  - {{key: {BUDGET}, operator: Gt, value: "9007199254740992", effect: NoExecute}}
  containers: [{{name: app, image: app}}]
status: {{phase: Running}}
"""


@pytest.fixture(scope="module")
def unusual_dashboard(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    directory = tmp_path_factory.mktemp("unusual-values")
    manifests = directory / "cluster.yaml"
    manifests.write_text(UNUSUAL_VALUES, encoding="utf-8")
    with moorage_dashboard(directory, str(manifests), ALL_GATES) as dashboard:
        yield Visitor(browser, dashboard)


def with_value(key: str, value: str) -> str:
    return address_of({"taint": {"nodes": ["candidate"], "key": key, "value": value, "effect": "NoExecute"}})


def test_a_value_that_is_not_a_version_is_on_no_side_of_a_threshold(
    unusual_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(unusual_dashboard, with_value(KUBELET, "1.32-rc1"))
    expect_number(page, "evicted", 1)
    control = page.locator(".value-control")
    expect(control).to_have_attribute("data-placed", "nowhere")
    expect(control.get_by_role("note")).to_contain_text('"1.32-rc1" is not a semantic version: Short version')
    expect(control.locator(".value-chip")).to_have_attribute("data-holds", "false")
    page.get_by_role("combobox", name="Value, typed").fill("v1.32")
    expect(control).to_have_attribute("data-placed", "stop")
    expect(control.locator(".value-chip")).to_have_attribute("data-holds", "true")
    expect(page.get_by_role("slider", name="Value")).to_have_attribute("aria-valuetext", "v1.32")
    expect_number(page, "evicted", 0)


def test_numbers_that_javascript_cannot_tell_apart_are_two_stops(
    unusual_dashboard: Visitor, open_page: OpenPage
) -> None:
    page = open_page(unusual_dashboard, with_value(BUDGET, "9007199254740993"))
    wait_for_answer(page)
    control, slider = page.locator(".value-control"), page.get_by_role("slider", name="Value")
    expect(control.locator(".value-chip")).to_have_attribute("data-holds", "true")
    slider.focus()
    slider.press("Alt+ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "9007199254740992")
    expect(control.locator(".value-chip")).to_have_attribute("data-holds", "false")
    expect_number(page, "evicted", 1)
    slider.press("Alt+ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "9007199254740993")
    expect_number(page, "evicted", 0)


def test_a_shared_address_restores_everything(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3"), {"cordon": "ondemand-2"}))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wait_for_answer(page)
    page.get_by_role("slider", name="Value").fill("12")
    wait_for_answer(page)
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    shared = page.evaluate("navigator.clipboard.readText()")
    assert changes_in(shared) == [tainted("12"), {"cordon": {"nodes": ["ondemand-2"]}}]
    other = open_page(files_dashboard, shared.partition("#")[1] + shared.partition("#")[2])
    wait_for_answer(other)
    expect(other.get_by_role("slider", name="Value")).to_have_value("12")
    assert evicted(other) == evicted(page)


def test_an_address_that_cannot_be_read_is_told(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/slider?changes=W3siZXZpbCI6MX1d")
    expect(page.get_by_text("cannot be read")).to_be_visible()
    wait_for_answer(page)


def test_a_change_that_cannot_be_made_is_told(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3", ["spot-9"])))
    expect(page.get_by_role("status").filter(has_text="there is no node 'spot-9'")).to_be_visible()


def test_dragging_asks_one_question_at_a_time(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3")))
    wait_for_answer(page)
    page.evaluate(COUNT_QUESTIONS)
    expect(page.get_by_role("group", name="Thresholds that pods name")).to_be_visible()
    slider = page.get_by_role("slider", name="Value")
    for value in range(4, 20):
        slider.fill(str(value))
    wait_for_answer(page)
    expect(page.get_by_role("group", name="Change 1")).to_contain_text(f"{SPOT}=19:NoExecute")
    wanted = plan_of_files(*(f"--taint={node}={SPOT}=19:NoExecute" for node in ("spot-1", "spot-2")))
    assert evicted(page) == planned_evictions(wanted)
    counted = page.evaluate("window.questions")
    assert counted["most"] == 1
    assert counted["all"] >= 1


def test_commands_are_shown(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("10", ["spot-1"])))
    wait_for_answer(page)
    page.get_by_role("button", name="Show as kubectl commands").click()
    dialog = page.get_by_role("dialog", name="As commands")
    expect(dialog).to_contain_text(f"kubectl taint nodes spot-1 {SPOT}=10:NoExecute --overwrite")
    expect(dialog).to_contain_text(f"--taint spot-1={SPOT}=10:NoExecute")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_files_are_not_changed_from_here(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("10", ["spot-1"])))
    wait_for_answer(page)
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()


def test_what_is_applied_is_what_was_asked(live_dashboard: Visitor, live_cluster: Cluster, open_page: OpenPage) -> None:
    page = open_page(
        live_dashboard, address_of({"label": {"nodes": ["tenants-1"], "key": "example.com/level", "value": "7"}})
    )
    wait_for_answer(page)
    page.evaluate(COUNT_QUESTIONS)
    page.get_by_role("button", name="Apply").click()
    dialog = page.get_by_role("dialog", name="Apply to the cluster?")
    expect(dialog).to_contain_text("label node tenants-1 with example.com/level=7")
    expect(dialog.get_by_role("row", name="Node tenants-1")).to_be_visible()
    dialog.get_by_role("button", name="Apply").click()
    done = page.get_by_role("dialog", name="Applying the changes")
    expect(done.get_by_role("row", name="Node tenants-1")).to_contain_text("written")
    done.get_by_role("button", name="Close").last.click()
    page.wait_for_function("""async () => {
        const state = await (await fetch("/api/state")).json();
        return state.nodes.find((one) => one.name === "tenants-1").labels["example.com/level"] === "7";
    }""")
    page.wait_for_function("() => window.questions.all > 0")  # the cluster has changed: it is asked again by itself
    wait_for_answer(page)


def test_what_the_kubeconfig_may_not_do_is_not_offered(
    browser: Browser, live_cluster: Cluster, open_page: OpenPage, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as other:  # this thread has Playwright's event loop
        other.submit(asyncio.run, let_read_everything(live_cluster, "reader")).result()
    kubeconfig = tmp_path / "reader"
    document = yaml.safe_load(live_cluster.kubeconfig.read_text(encoding="utf-8"))
    for user in document["users"]:
        user["user"]["as"] = "reader"
    kubeconfig.write_text(yaml.safe_dump(document), encoding="utf-8")
    with moorage_dashboard(tmp_path, "--kubeconfig", str(kubeconfig), "--allow-changes") as dashboard:
        page = open_page(Visitor(browser, dashboard), address_of({"cordon": "spot-1"}))
        wait_for_answer(page)
        button = page.get_by_role("button", name="Apply")
        expect(button).to_have_attribute("title", "the kubeconfig may not patch nodes")
        expect(button).to_be_disabled()
        page.close()  # before the dashboard ends: it would log that it cannot reach it


async def let_read_everything(cluster: Cluster, user: str) -> None:
    client = HttpClient(load_access(str(cluster.kubeconfig)), "test")
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
    try:
        await client.create(KINDS[RBAC, "ClusterRole"], {"metadata": {"name": user}, "rules": rules})
        binding = {"metadata": {"name": user}, "roleRef": role, "subjects": subjects}
        await client.create(KINDS[RBAC, "ClusterRoleBinding"], binding)
    finally:
        await client.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_is_accessible(files_dashboard: Visitor, open_page: OpenPage, scheme: str, width: int) -> None:
    page = open_page(
        files_dashboard,
        address_of(tainted("50"), {"drain": "ondemand-1"}),
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
        reduced_motion="reduce",
    )
    wait_for_answer(page)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("button", name="Show as kubectl commands").click()
    assert violations(page) == []


def test_an_answer_moves_nothing_on_the_page(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, address_of(tainted("3")))
    wait_for_answer(page)
    expect(page.get_by_role("region", name="What would do something").get_by_role("button")).not_to_have_count(0)
    page.evaluate("""() => {
        window.shifts = 0;
        new PerformanceObserver((list) => {
            for (const one of list.getEntries()) window.shifts += one.value;
        }).observe({ type: "layout-shift" });
    }""")
    page.get_by_role("slider", name="Value").fill("50")
    wait_for_answer(page)
    expect(number(page, "evicted")).to_be_visible()
    assert page.evaluate("window.shifts") == 0
