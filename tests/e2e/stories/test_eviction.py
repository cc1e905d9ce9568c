"""NoExecute taints by kubectl: pods that leave at once, in time or never; an SLA that drops; all gates on."""

import json

from tests.e2e.stories.stage import Raw, Stage, node, pod

UP_OPTIONS = ("--feature-gates=AllAlpha=true",)
SLA = "node.kubernetes.io/sla"
WAIT = "--timeout=120s"


def tolerates(operator: str, value: str = "", key: str = SLA, **more: object) -> Raw:
    toleration: Raw = {"key": key, "operator": operator, "effect": "NoExecute", **more}
    return {**toleration, "value": value} if value else toleration


def is_gone(stage: Stage, *pods: str) -> None:
    stage.kubectl(f"wait --for=delete {' '.join(f'pod/{one}' for one in pods)} {WAIT}")


def left(stage: Stage) -> set[str]:
    return set(stage.read("pods", "{.items[*].metadata.name}").split())


def told(stage: Stage, name: str) -> list[Raw]:
    """The eviction events about a pod, oldest first. They outlive it."""
    selector = f"involvedObject.name={name},reason=TaintManagerEviction"
    events = stage.object(f"events --field-selector {selector}")["items"]
    return sorted(events, key=lambda event: str(event["firstTimestamp"]))


def until_told(stage: Stage, name: str, message: str) -> None:
    """A watch also shows what was there before."""
    selector = f"involvedObject.name={name},reason=TaintManagerEviction"
    path = '{.message}{"\\n"}'
    assert stage.first_line(f"get events --field-selector {selector} -w -o jsonpath='{path}'") == message


def test_at_once_after_a_while_or_never(stage: Stage) -> None:
    stage.create(node("only"))
    stage.create(
        pod("unaware"),
        pod("patient", tolerates("Exists", key="maintenance", tolerationSeconds=4)),
        pod("immune", tolerates("Exists", key="maintenance")),
    )
    stage.lands("unaware", "patient", "immune")
    stage.kubectl("taint nodes only maintenance=soon:NoExecute")
    is_gone(stage, "unaware")
    assert left(stage) == {"patient", "immune"}
    is_gone(stage, "patient")
    assert left(stage) == {"immune"}
    for name in ("unaware", "patient"):
        until_told(stage, name, f"Marking for deletion Pod {stage.kubectl.namespace}/{name}")
        event = told(stage, name)[0]
        assert (event["type"], event["source"]["component"]) == ("Normal", "taint-eviction-controller")
    assert stage.metric("taint_eviction_controller_pod_deletions_total") >= 2


def test_a_taint_that_goes_in_time_evicts_nobody(stage: Stage) -> None:
    stage.create(node("only"), pod("patient", tolerates("Exists", key="maintenance", tolerationSeconds=3600)))
    stage.lands("patient")
    stage.kubectl("taint nodes only maintenance=soon:NoExecute")
    # The time at which it was noticed is written down: it survives a restart of the controller.
    noticed = '{.spec.taints[?(@.key=="maintenance")].timeAdded}'
    stage.kubectl(f"wait --for=jsonpath='{noticed}' node/only {WAIT}")
    stage.kubectl("taint nodes only maintenance-")
    until_told(stage, "patient", f"Cancelling deletion of Pod {stage.kubectl.namespace}/patient")
    assert stage.lands("patient") == ["only"]


def test_an_sla_that_drops_evicts_exactly_those_whose_threshold_it_crosses(stage: Stage) -> None:
    stage.create(node("only", f"{SLA}=990:NoExecute"))
    thresholds = (900, 949, 950, 980)
    stage.create(*(pod(f"above-{number}", tolerates("Gt", str(number))) for number in thresholds))
    stage.create(pod("expressive", {"expression": f"taint.key == '{SLA}' && int(taint.value) >= 950"}))
    stage.create(pod("strict", {"expression": f"taint.key == '{SLA}' && int(taint.value) > 950"}))
    stage.lands(*(f"above-{number}" for number in thresholds), "expressive", "strict")
    stage.kubectl(f"taint nodes only {SLA}=950:NoExecute --overwrite")
    is_gone(stage, "above-950", "above-980", "strict")
    assert left(stage) == {"above-900", "above-949", "expressive"}


def test_versions_decide_who_stays_when_a_node_is_changed(stage: Stage) -> None:
    key = "example.com/runtime"
    stage.create(node("only", f"{key}=2.1.4:NoExecute"))
    stage.create(
        pod("new", tolerates("SemverGt", "2.0.0", key)),
        pod("old", tolerates("SemverLt", "3.0.0", key)),
        pod("same", tolerates("SemverEq", "v2.1.4", key)),
    )
    stage.lands("new", "old", "same")
    stage.kubectl(f"taint nodes only {key}=3.0.0:NoExecute --overwrite")
    is_gone(stage, "old", "same")
    assert left(stage) == {"new"}


def test_what_is_evicted_says_so_while_it_goes(stage: Stage) -> None:
    stage.create(node("only"))
    waits = pod("slow")
    waits["metadata"]["finalizers"] = ["example.com/wait"]
    stage.create(waits)
    stage.lands("slow")
    stage.kubectl("taint nodes only maintenance=now:NoExecute")
    stage.kubectl(f"wait --for=jsonpath='{{.metadata.deletionTimestamp}}' pod/slow {WAIT}")
    condition = next(
        one for one in stage.object("pod slow")["status"]["conditions"] if one["type"] == "DisruptionTarget"
    )
    assert condition["reason"] == "DeletionByTaintManager"
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    stage.kubectl("patch pod slow --type=merge -p " + json.dumps(json.dumps({"metadata": {"finalizers": None}})))
    is_gone(stage, "slow")


def test_a_cordoned_node_says_so_in_a_taint_and_new_nodes_are_taken_in(stage: Stage) -> None:
    stage.create(node("only"))
    stage.kubectl(f"wait --for=condition=Ready node/only {WAIT}")
    stage.kubectl("cordon only")
    key = "node.kubernetes.io/unschedulable"
    stage.kubectl(f"wait --for=jsonpath='{{.spec.taints[0].key}}'={key} node/only {WAIT}")
    stage.kubectl("uncordon only")
    stage.create(pod("first"))
    assert stage.lands("first") == ["only"]
    events = stage.kubectl("get events -n default --field-selector involvedObject.name=only -o jsonpath='{..message}'")
    assert "Node only event: Registered Node only in Controller" in events.out
