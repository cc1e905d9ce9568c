"""The view "Timeline" in a real browser: what happened, lanes, a rollout to its end, and moments of the past."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenPage, Visitor
from tests.browser.waiting import until
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster

_FRONT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: front}
spec:
  replicas: 4
  selector: {matchLabels: {app: front}}
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: front}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: "i:1", resources: {requests: {cpu: 100m}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: front}
spec: {minAvailable: 3, selector: {matchLabels: {app: front}}}
"""
_TOGETHER = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: %(name)s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %(app)s}}
  template:
    metadata: {labels: {app: %(app)s}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {%(label)s}
      containers: [{name: c, image: "i:1", resources: {requests: {cpu: 10m}}}]
---
"""
_POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 0
  nodeSelector: {kubernetes.io/hostname: %s}
  containers: [{name: c, image: "i:1"}]
"""


@pytest.fixture
def kubectl(live_cluster: Cluster) -> Kubectl:
    return Kubectl(live_cluster.kubeconfig, live_cluster.home)


@pytest.fixture
def front(kubectl: Kubectl) -> Iterator[Kubectl]:
    """A Deployment that rolls out, gone at the end."""
    kubectl("apply -f -", _FRONT)
    kubectl("rollout status deployment/front --timeout=120s")
    yield kubectl
    kubectl("delete deployment/front pdb/front --wait=true")


def rows(page: Page) -> Locator:
    return page.locator(".entry-list tbody tr[data-index]")


def rollouts(page: Page) -> list[dict[str, Any]]:
    text = page.evaluate("() => fetch('/api/rollouts').then((answer) => answer.text())")
    found: list[dict[str, Any]] = json.loads(text)["rollouts"]
    return found


def test_what_happened_before_is_told_from_events_once_and_apart(
    live_dashboard: Visitor, open_page: OpenPage, kubectl: Kubectl
) -> None:
    """The cluster was loaded before its dashboard started: 25 placements are known from Events."""
    page = open_page(live_dashboard, "#/timeline?kinds=placed")
    rule = page.locator(".entry-list tbody tr").filter(has_text="Earlier, from Events")
    expect(rule).to_contain_text("when this dashboard started")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(rule.locator(".wrap")).to_be_visible()
    fits = "() => { const row = document.querySelector('.entry-list tbody tr.data-group'); "
    fits += "return row.scrollWidth <= row.clientWidth && row.scrollHeight <= row.clientHeight; }"
    until(page, fits, None, bool)
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(rule.locator(".cut")).to_be_visible()
    before = page.evaluate("() => fetch('/api/earlier').then((answer) => answer.json())")
    assert before["problem"] == ""
    assert all(entry[0] <= before["until"] for entry in before["entries"])
    placed = [entry[2] for entry in before["entries"] if entry[1] == "placed"]
    assert len(placed) == len(set(placed)) >= 20
    assert "shop/checkout-" in " ".join(placed)
    kubectl("apply -f -", _POD % ("early", "ondemand-1"))
    live = rows(page).filter(has_text="default/early")
    expect(live).to_have_count(1)
    indexes = [int(item.get_attribute("data-index") or -1) for item in (live, rule)]
    assert indexes[0] < indexes[1], "what is seen live is above the rule"
    # A pod that exists leads to its panel, and the row does not open by that.
    link = live.locator("a.pod-link")
    link.click()
    expect(page).to_have_url(re.compile("look=default%2Fearly"))
    expect(page.locator(".pod-drawer")).to_contain_text("early")
    expect(page.locator(".entry-detail")).to_be_hidden()
    page.keyboard.press("Escape")
    kubectl("delete pod/early --wait=true")
    page.get_by_role("button", name=re.compile("Deleted")).click()
    gone = rows(page).filter(has_text="default/early").filter(has_text="Deleted")
    expect(gone).to_have_count(1)
    expect(gone.locator("a")).to_have_count(0)
    expect(page.locator(".timeline-filters ~ * .muted, .muted.nums").filter(has_text="last change")).to_be_visible()
    # Lanes have it, too, left of a line.
    page.get_by_role("tab", name="Lanes").click()
    expect(page.locator(".lane-rule line")).to_have_count(1)
    expect(page.locator(".lane-legend")).to_contain_text("earlier, from Events")
    page.locator(".lane-svg").focus()
    page.keyboard.press("Home")
    expect(page.locator(".lane-chosen")).to_contain_text("(earlier, from Events)")


def test_nothing_has_happened_only_where_that_is_known(live_dashboard: Visitor, open_page: OpenPage) -> None:
    """Events may be forbidden, and the cluster may not answer: then it is not said that nothing happened."""
    url = f"{live_dashboard.dashboard.url}#/timeline"

    def opened(problem: str, *, connected: bool) -> Locator:
        page = open_page(live_dashboard, alone=True)
        nothing = {"until": 1_790_000_000, "entries": [], "leftOut": 0, "problem": problem}
        page.route("**/api/earlier", lambda route: route.fulfill(json=nothing))
        page.route("**/api/state", lambda route: _without_happenings(route, connected=connected))
        if not connected:
            page.add_init_script("delete window.SharedWorker")  # whose requests a page cannot answer
            page.route(
                "**/api/changes*", lambda route: route.fulfill(content_type="text/event-stream", body=": alive\n\n")
            )
        page.goto(url)
        page.reload()
        return page.locator(".entry-list")

    expect(opened("", connected=True)).to_contain_text("Nothing has happened yet")
    forbidden = opened("Events cannot be read: no", connected=True)
    expect(forbidden).to_contain_text("Events cannot be read: no")
    expect(forbidden).to_contain_text("Nothing has happened since")
    silent = opened("", connected=False)
    expect(silent).to_contain_text("The cluster does not answer")
    expect(silent).not_to_contain_text("Nothing has happened")


def _without_happenings(route: Route, *, connected: bool) -> None:
    answer = route.fetch()
    state = answer.json()
    state["happenings"] = []
    state["source"] |= {"connected": connected, "problem": "" if connected else "it cannot be reached"}
    route.fulfill(response=answer, json=state)


def test_only_what_replaces_a_pod_has_moved(live_dashboard: Visitor, open_page: OpenPage, front: Kubectl) -> None:
    """Two rollouts move no pod; a drain moves those of the last revision."""
    page = open_page(live_dashboard, "#/timeline?workload=Deployment%20default/front")
    front("rollout restart deployment/front")
    front("rollout status deployment/front --timeout=120s")
    page.wait_for_timeout(1100)  # kubectl refuses two restarts within a second
    front("rollout restart deployment/front")
    front("rollout status deployment/front --timeout=120s")
    pods = front("get pods -l app=front -o jsonpath={range.items[*]}{.metadata.name}={.spec.nodeName},{end}").out
    where = dict(pair.split("=") for pair in pods.strip(",").split(",") if pair)
    assert len(where) == 4
    evicted = next(iter(where.values()))
    leaving = [name for name, node in where.items() if node == evicted]
    expect(rows(page).filter(has_text="Placed").filter(has_text=leaving[0])).to_have_count(1)
    expect(rows(page).filter(has_text="Moved")).to_have_count(0)
    front(f"taint node {evicted} tests=evict:NoExecute")
    try:
        moved = rows(page).filter(has_text=re.compile("Moved|replaces one of"))
        expect(moved).to_have_count(len(leaving))
        for text in moved.all_inner_texts():
            named = re.search(r"instead of (?!one of)(\S+)", text)
            assert f"from {evicted} to " in text
            assert named is None or named[1] in leaving
    finally:
        front(f"taint node {evicted} tests-")


def test_what_happens_is_listed_newest_first(live_dashboard: Visitor, open_page: OpenPage, kubectl: Kubectl) -> None:
    page = open_page(live_dashboard, "#/timeline")
    page.get_by_role("button", name="Pause").wait_for()
    kubectl("apply -f -", _POD % ("guest", "ondemand-1"))
    placed = rows(page).filter(has_text="default/guest").filter(has_text="Placed")
    expect(placed).to_contain_text("on ondemand-1")
    expect(placed).to_contain_text("scheduler")
    page.get_by_role("button", name="Pause").click()
    kubectl("delete pod/guest --wait=true")
    expect(page.get_by_role("button", name=re.compile("new entr"))).to_be_visible()
    expect(rows(page).filter(has_text="Deleted").filter(has_text="default/guest")).to_have_count(0)
    page.get_by_role("button", name=re.compile("new entr")).click()
    expect(rows(page).first).to_contain_text("default/guest")
    expect(rows(page).first).to_contain_text("Deleted")
    page.get_by_role("button", name=re.compile("^. Deleted|^Deleted")).click()
    expect(rows(page).filter(has_text="Placed")).to_have_count(0)
    expect(page).to_have_url(re.compile("kinds=deleted"))


def test_a_rollout_is_watched_to_its_end_within_its_strategy(
    live_dashboard: Visitor, open_page: OpenPage, front: Kubectl
) -> None:
    page = open_page(live_dashboard, "#/timeline?tab=rollouts")
    page.locator(".rollouts").wait_for()
    page.evaluate(
        """() => {
          window.seen = [];
          const look = () => document.querySelectorAll(".rollout .rollout-svg").forEach((chart) =>
            window.seen.push(chart.getAttribute("aria-label")));
          new MutationObserver(look).observe(document.querySelector(".rollouts"), {childList: true, subtree: true});
        }"""
    )
    front("rollout restart deployment/front")
    uid, generation = front("get deployment front -o jsonpath={.metadata.uid},{.metadata.generation}").out.split(",")
    # Deployments of other tests had the same name.
    card = page.locator(".rollout").filter(has=page.locator(f'[data-rollout="{uid} {generation}"]'))
    expect(card).to_have_attribute("data-state", "complete")
    expect(card).to_contain_text("4 of 4")
    expect(card.locator(".rollout-figures")).to_contain_text(re.compile("surge, at its peak\\s*1 of 1 allowed"))
    expect(card).to_contain_text("budget front")
    told = next(one for one in rollouts(page) if (one["uid"], one["generation"]) == (uid, int(generation)))
    assert (told["state"], told["sawStart"]) == ("complete", True)
    assert (told["steps"][0]["updated"], told["steps"][-1]["updated"]) == (0, 4)
    assert max(step["surge"] for step in told["steps"]) == 1
    assert all(step["surge"] <= step["maxSurge"] == 1 for step in told["steps"])
    assert all(step["unavailable"] <= step["maxUnavailable"] == 0 for step in told["steps"])
    labels = [text for text in page.evaluate("window.seen") if "default/front" in text]
    assert labels
    for label in labels:
        found = re.search(r"at most (\d+) too many \((\d+) allowed\) and (\d+) unavailable", label)
        assert found is not None
        assert int(found[1]) <= int(found[2]) == 1
    card.get_by_text(re.compile(r"^\d+ steps$")).click()
    expect(card.locator(".rollout-steps tbody tr")).to_have_count(len(told["steps"]))
    expect(card.locator(".rollout-steps")).to_contain_text("scaled up from 0 to 1")


def test_a_rollout_that_waits_says_for_what_and_who_is_there(
    live_dashboard: Visitor, open_page: OpenPage, front: Kubectl
) -> None:
    page = open_page(live_dashboard, "#/timeline?tab=rollouts")
    patch = '{"spec":{"template":{"spec":{"nodeSelector":{"no":"where"}}}}}'
    front(f"patch deployment front -p '{patch}'")
    card = page.locator('.rollout[data-workload="Deployment default/front"]').first
    expect(card).to_have_attribute("data-state", "stuck")
    waits = card.locator(".rollout-stuck")
    expect(waits).to_contain_text(re.compile(r"default/front-\S+ stays Pending: 0/\d+ nodes"))
    expect(waits).to_contain_text("No other pod is in its place")
    # Three such pods have room on one node: the fourth waits for the others.
    patch = (
        '{"spec":{"template":{"spec":{"nodeSelector":{"no":null,"kubernetes.io/hostname":"ondemand-2"},'
        '"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}}}'
    )
    front(f"patch deployment front -p '{patch}'")
    expect(waits).to_contain_text("It waits for room on ondemand-2: taken by")
    expect(waits).to_contain_text("its own")
    taken = waits.locator(".rollout-taken a.pod-link")
    name = taken.first.inner_text()
    taken.first.click()
    expect(page.locator(".pod-drawer")).to_contain_text(name)


def test_rollouts_at_once_are_told_apart_and_fit_a_narrow_window(
    live_dashboard: Visitor, open_page: OpenPage, kubectl: Kubectl
) -> None:
    """Three are there on purpose: one with a long name, one that waits for a long reason, two of one workload."""
    page = open_page(live_dashboard, "#/timeline?tab=rollouts", viewport={"width": 1440, "height": 900})
    unlike = f"{'k' * 60}: {'v' * 63}"
    named = {"long": "w" * 63, "waits": "waits-" + "x" * 53}
    drawn = [
        _TOGETHER % {"name": named["long"], "app": "long", "label": "kubernetes.io/os: linux"},
        _TOGETHER % {"name": named["waits"], "app": "waits", "label": unlike},
    ]
    kubectl("apply -f -", "".join(drawn))
    kubectl(f"rollout restart deployment/{named['waits']}")
    waits = page.locator(f'.rollout[data-workload="Deployment default/{named["waits"]}"]')
    expect(waits).to_have_count(2)
    expect(waits.locator(".rollout-stuck").first).to_contain_text("Pending")
    expect(page.locator(f'.rollout[data-workload="Deployment default/{named["long"]}"]')).to_have_count(1)
    # A redrawn card keeps what was opened; the regions of all of them have names of their own.
    page.evaluate("document.querySelectorAll('.rollout details').forEach((one) => (one.open = true))")
    regions = page.locator(".rollout-steps:visible")
    until(page, "() => document.querySelectorAll('.rollout details:not([open])').length", None, lambda shut: shut == 0)
    labels = regions.evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert len(labels) == len(set(labels)) >= 3
    assert violations(page) == []
    for width in (720, 390, 320, 390, 320):  # at once, before the charts are drawn for the new width
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
    kubectl(f"delete deployment/{named['long']} deployment/{named['waits']} --wait=false")


def test_going_back_shows_the_pod_where_it_was(live_dashboard: Visitor, open_page: OpenPage, kubectl: Kubectl) -> None:
    page = open_page(live_dashboard, "#/timeline?tab=moments")
    expect(page.locator(".moment-where")).to_have_text("The cluster as it is now.")
    kubectl("apply -f -", _POD % ("traveller", "ondemand-1"))
    where = (
        "() => import('/lib/cluster.js').then(({cluster}) => [...cluster.pods.values()]"
        ".filter((pod) => pod.key === 'default/traveller').map((pod) => [pod.node, pod.phase]))"
    )
    # Changes of a tenth of a second are one moment: it is not deleted in that in which it began to run.
    until(page, where, None, lambda found: found == [["ondemand-1", "Running"]])
    kubectl("delete pod/traveller --wait=true")
    gone = page.locator(".moment-list tbody tr").filter(has_text=re.compile("traveller .*(deleted|gone)"))
    gone.first.wait_for()
    assert page.evaluate(where) == []
    back = page.get_by_role("button", name="One step back")
    changes = page.locator(".moment-changes")
    for _ in range(200):
        here = str(page.evaluate("location.hash"))
        back.click()
        until(page, "() => location.hash", None, here.__ne__)
        if page.evaluate(where) == [["ondemand-1", "Running"]]:
            break
    assert page.evaluate(where) == [["ondemand-1", "Running"]]
    expect(page.locator(".past-line")).to_contain_text("You are looking at")
    expect(page.locator(".moment-where")).to_contain_text("You are looking at the past")
    expect(changes).to_contain_text("What changed at")
    seq = page.url.partition("at=")[2]
    page.get_by_role("button", name="One step forward").click()
    expect(page).not_to_have_url(re.compile(f"at={seq}$"))

    other = open_page(live_dashboard, f"#/timeline?at={seq}")
    expect(other.locator(".past-line")).to_be_visible()
    assert other.evaluate(where) == [["ondemand-1", "Running"]]

    page.locator(".past-line").get_by_role("button", name="Back to now").click()
    expect(page.locator(".past-line")).to_be_hidden()
    expect(page.locator(".moment-where")).to_have_text("The cluster as it is now.")
    expect(page).not_to_have_url(re.compile("at="))
    assert page.evaluate(where) == []


def test_steps_that_are_asked_for_at_once_are_all_made(
    live_dashboard: Visitor, open_page: OpenPage, kubectl: Kubectl
) -> None:
    page = open_page(live_dashboard, "#/timeline?tab=moments")
    expect(page.locator(".moment-where")).to_have_text("The cluster as it is now.")
    for number in range(4):  # each a change of its own
        kubectl("apply -f -", _POD % (f"stepper-{number}", "ondemand-1"))
        expect(page.locator(".moment-list tbody tr").filter(has_text=f"stepper-{number}")).not_to_have_count(0)
    kubectl("delete pod/stepper-0 pod/stepper-1 pod/stepper-2 pod/stepper-3 --wait=true")
    steps = """async () => {
      const read = async (path) => (await fetch(path)).json();
      const {cluster} = await import("/lib/cluster.js");
      const {last} = await read("/api/history");
      return [cluster.seq === last, ...(await read(`/api/history/${last}/steps?back`)).steps.map(({seq}) => seq)];
    }"""
    back = page.get_by_role("button", name="One step back")
    for _ in range(50):
        known = page.evaluate(steps)
        back.evaluate("(button) => { for (let at = 0; at < 3; at += 1) button.click(); }")
        if known[0] and page.evaluate(steps) == known:
            break
        page.goto(page.url.partition("#")[0] + "#/timeline?tab=moments")  # the cluster has changed in between
        expect(page.locator(".moment-where")).to_have_text("The cluster as it is now.")
    expect(page).to_have_url(re.compile(f"at={known[4]}$"))


def test_an_entry_leads_to_its_moment(live_dashboard: Visitor, open_page: OpenPage, kubectl: Kubectl) -> None:
    page = open_page(live_dashboard, "#/timeline?find=visitor")
    page.get_by_role("tab", name="Newest first").wait_for()
    kubectl("apply -f -", _POD % ("visitor", "ondemand-2"))
    kubectl("wait --for=condition=PodScheduled pod/visitor --timeout=120s")
    kubectl("delete pod/visitor --wait=true")
    placed = rows(page).filter(has_text="Placed").filter(has_text="default/visitor")
    placed.click()
    detail = page.locator(".entry-detail")
    expect(detail).to_contain_text("on ondemand-2")
    detail.get_by_role("button", name="Go to this moment").click()
    expect(page.locator(".past-line")).to_be_visible()
    expect(page.get_by_role("tab", name="Back in time")).to_have_attribute("aria-selected", "true")
    page.locator(".moment-controls").get_by_role("button", name="Back to now").click()
    expect(page.locator(".past-line")).to_be_hidden()


def test_a_restart_is_played_in_the_simulation(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/timeline?tab=rollouts&play=Deployment%20shop/reports")
    expect(page.locator(".chip.good").filter(has_text="completes")).to_be_visible()
    label = page.locator(".rollout-svg").get_attribute("aria-label") or ""
    assert "Deployment shop/reports: 4 of 4 updated, 4 available, 0 old" in label


def test_a_moment_that_is_not_kept_is_told(live_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(live_dashboard, "#/timeline?at=99999999")
    expect(page.locator("#problem")).to_contain_text("has not come yet")
    page.locator("#problem").get_by_role("button", name="Dismiss").press("Enter")
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator(".past-line")).to_be_hidden()


def test_files_tell_the_story_of_their_simulation(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/timeline?find=database")
    expect(rows(page).filter(has_text="versions/database-0").first).to_contain_text("on ondemand-1")
    expect(rows(page).filter(has_text="statefulset-controller")).to_contain_text("created Pod database-0")
    page.get_by_role("tab", name="Lanes").click()
    page.get_by_label("Lanes by", exact=True).select_option("actor")
    expect(page.locator(".lane-name").filter(has_text="statefulset-controller")).to_have_count(1)


def test_lanes_are_walked_by_keyboard_and_shown_as_a_table(files_dashboard: Visitor, open_page: OpenPage) -> None:
    page = open_page(files_dashboard, "#/timeline?tab=lanes&lanes=node")
    expect(page.locator(".lane")).to_have_count(8)
    page.locator(".lane-svg").focus()
    expect(page.locator(".lane-chosen strong")).to_have_text("gpu-1")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".lane-chosen strong")).to_have_text("gpu-2")
    page.keyboard.press("End")
    last = page.locator(".lane-chosen").inner_text()
    page.keyboard.press("Home")
    expect(page.locator(".lane-chosen")).not_to_have_text(last)
    expect(page.locator(".lane-mark.current")).to_have_count(1)
    page.get_by_role("button", name="As a table").click()
    expect(page.locator(".lane-table tbody tr")).to_have_count(8)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("tab", ["list", "lanes", "rollouts", "moments"])
def test_it_is_accessible(live_dashboard: Visitor, open_page: OpenPage, front: Kubectl, tab: str, width: int) -> None:
    page = open_page(live_dashboard, f"#/timeline?tab={tab}", viewport={"width": width, "height": 800})
    something = {"list": ".entry-list tr", "lanes": ".lane", "rollouts": ".rollout", "moments": ".moment-list tr"}
    page.locator(something[tab]).first.wait_for()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
