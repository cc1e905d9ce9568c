"""Plans of pods with devices: claims are made, allocated and shown; those that cannot be have a reason."""

from __future__ import annotations

from tests.unit.plan.device_worlds import (
    BUDGET,
    DRIVER,
    above,
    claim,
    deployment,
    device_class,
    gpu,
    of_claim,
    of_template,
    request,
    template,
    with_claim,
    with_gpus,
)
from tests.unit.plan.planning import Plan, Raw, node

from moorage.model.kinds import KINDS
from moorage.plan.departures import Cause
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import plain
from moorage.plan.report.text import TextReport
from moorage.plan.what_if import Changes

GATES = {"TaintTolerationComparisonOperators": True, "DRADeviceTaintRules": True}


def devices(plan: Plan) -> dict[str, list[str]]:
    return {pod.name: [one.name for one in pod.devices] for pod in plan.outcome.pods}


def test_pods_get_devices_above_their_threshold_and_the_reports_show_which() -> None:
    plan = Plan(
        *with_gpus("n1", gpu("gpu-0", "8"), gpu("gpu-1", "30")),
        device_class(),
        template("fresh", request(tolerations=above("24"))),
        with_claim("p", of_template("fresh")),
        gates=GATES,
    )
    assert devices(plan) == {"p": [f"{DRIVER}/n1/gpu-1"]}
    text = "\n".join(TextReport(colour=False, width=100, everything=False).lines(plan.outcome))
    assert "Devices\n  default/p on n1\n    gpu (claim p-gpu-" in text
    assert f"{DRIVER} 1/2 devices" in text
    assert f"| {DRIVER}/n1/gpu-1 |" in "\n".join(MarkdownReport().lines(plan.outcome))
    document = plain(plan.outcome)
    assert document["pods"][0]["devices"][0]["device"] == "gpu-1"
    assert document["nodes"][0]["devices"] == {DRIVER: {"inUse": 1, "published": 2}}


def test_no_device_is_given_twice_and_who_comes_too_late_waits() -> None:
    plan = Plan(
        *with_gpus("n1", gpu("gpu-0"), gpu("gpu-1")),
        *with_gpus("n2", gpu("gpu-0")),
        device_class(),
        template("any"),
        deployment("web", 4, of_template("any")),
        gates=GATES,
    )
    given = [name for names in devices(plan).values() for name in names]
    assert sorted(given) == [f"{DRIVER}/n1/gpu-0", f"{DRIVER}/n1/gpu-1", f"{DRIVER}/n2/gpu-0"]
    (why,) = plan.why.values()
    assert "2 cannot allocate all claims" in why


def test_claims_and_templates_that_do_not_exist_leave_pods_pending_with_the_reason() -> None:
    plan = Plan(
        node("n1"),
        device_class(),
        claim("other", {"name": "gpu", "exactly": {"deviceClassName": "gpus"}}),
        with_claim("a", of_claim("absent")),
        with_claim("b", of_template("absent")),
        with_claim("c", of_claim("other")),
    )
    assert 'could not find resource claim "default/absent"' in plan.why["a"]
    assert 'pod "default/b": ResourceClaim not created yet' in plan.why["b"]
    assert "request gpu: device class gpus does not exist" in plan.why["c"]
    said = " ".join(plan.notes)
    assert "Pod default/a: uses ResourceClaim absent, which is not in the input" in said
    assert "Pod default/b: uses ResourceClaimTemplate absent, which is not in the input" in said
    assert "ResourceClaim default/other: names DeviceClass gpus, which is not in the input" in said


def test_a_shared_claim_keeps_its_pods_on_one_node() -> None:
    plan = Plan(
        *with_gpus("n1", gpu("gpu-0")),
        *with_gpus("n2", gpu("gpu-0")),
        device_class(),
        claim("shared"),
        with_claim("a", of_claim("shared")),
        with_claim("b", of_claim("shared")),
    )
    assert len(set(plan.where.values())) == 1
    assert len({tuple(names) for names in devices(plan).values()}) == 1


def existing(name: str, on: str) -> list[Raw]:
    """Return a running pod with its claim, as `kubectl get` prints them."""
    uid = f"00000000-0000-4000-8000-{on.encode().hex():0>12}"
    made = with_claim(name, of_claim(f"{name}-claim"))
    made["metadata"] |= {"uid": uid, "resourceVersion": "7"}
    made["spec"] |= {"nodeName": on, "priority": 0}
    made["status"] = {"phase": "Running"}
    held = claim(f"{name}-claim")
    held["metadata"] |= {"uid": f"{uid[:-1]}f", "resourceVersion": "8"}
    held["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
    held["status"] = {
        "allocation": {
            "devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": on, "device": "gpu-0"}]},
            "nodeSelector": {"nodeSelectorTerms": [term]},
        },
        "reservedFor": [{"resource": "pods", "name": name, "uid": uid}],
    }
    return [made, held]


def test_devices_of_pods_that_run_already_are_in_use() -> None:
    plan = Plan(
        *with_gpus("n1", gpu("gpu-0")),
        *existing("old", "n1"),
        device_class(),
        template("any"),
        with_claim("new", of_template("any")),
    )
    assert plan.where == {"old": "n1", "new": ""}
    assert devices(plan)["old"] == [f"{DRIVER}/n1/gpu-0"]


def test_a_drain_frees_devices_for_the_pods_that_come_after() -> None:
    plan = Plan(
        *with_gpus("n1", gpu("gpu-0")),
        *with_gpus("n2", gpu("gpu-0")),
        device_class(),
        template("any"),
        deployment("web", 1, of_template("any")),
    )
    (before,) = plan.nodes_of("web")
    other = "n2" if before == "n1" else "n1"
    plan.what_if(Changes(drains=(before,)))
    assert plan.nodes_of("web") == [other]
    counts = {one.name: one.devices[DRIVER].in_use for one in plan.outcome.nodes}
    assert counts == {before: 0, other: 1}


def test_a_rollout_waits_for_a_device_unless_an_old_pod_may_go_first() -> None:
    world = (*with_gpus("n1", gpu("gpu-0")), device_class(), template("any"))
    stuck = Plan(*world, deployment("web", 1, of_template("any")))
    rollout = stuck.rollout("deployment/web")
    assert not rollout.completes
    assert "cannot allocate all claims" in rollout.message
    strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    fine = Plan(*world, deployment("web", 1, of_template("any"), strategy=strategy))
    assert fine.rollout("deployment/web").completes


def test_a_rule_that_taints_devices_evicts_their_pods() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "bad"},
        "spec": {"deviceSelector": {"pool": "n1"}, "taint": {"key": BUDGET, "value": "0", "effect": "NoExecute"}},
    }
    world = (*with_gpus("n1", gpu("gpu-0")), device_class(), template("any"))
    plan = Plan(*world, deployment("web", 1, of_template("any")), gates=GATES)
    assert plan.nodes_of("web") == ["n1"]
    difference = plan.what_if(Changes(), rule)
    assert plan.nodes_of("web") == [""]
    (gone,) = difference.departures
    assert gone.cause is Cause.DEVICE_TAINT
    assert gone.because == f"device {DRIVER}/n1/gpu-0 has the taint {BUDGET}=0:NoExecute"


def test_a_taint_that_is_tolerated_for_a_while_evicts_later() -> None:
    later = [{**above("24", "NoExecute")[0], "operator": "Exists", "value": "", "tolerationSeconds": 3600}]
    world = (*with_gpus("n1", gpu("gpu-0")), device_class(), template("any", request(tolerations=later)))
    plan = Plan(*world, deployment("web", 1, of_template("any")), gates=GATES)
    (_, tainted) = with_gpus("n1", gpu("gpu-0", "8", effect="NoExecute"))
    tainted["spec"]["pool"]["generation"] = 2
    del tainted["spec"]["devices"][0]["taints"][0]["timeAdded"]
    gone, *again = plan.what_if(Changes(), tainted).departures
    assert again  # its successors get the device, for they tolerate it, but its time is over
    assert "again and again" in plan.notes[-1]
    assert gone.cause is Cause.DEVICE_TAINT
    assert 3500 < gone.after_seconds <= 3600


def test_totals_and_the_markdown_table_have_devices() -> None:
    plan = Plan(*with_gpus("n1", gpu("a"), gpu("b")), node("n2"), device_class(), claim("one", request()))
    page = "\n".join(MarkdownReport().lines(plan.outcome))
    assert "| node | CPU | memory | pods | devices |" in page
    assert f"| {DRIVER} 0/2 |" in page
    assert f"% requested; {DRIVER} 0/2 devices." in page
    assert f"% requested; {DRIVER} 0/2 devices\n" in "\n".join(TextReport().lines(plan.outcome))


def test_a_pod_whose_device_is_not_ready_waits_for_its_conditions() -> None:
    fabric = {
        "name": "f0",
        "bindsToNode": True,
        "bindingConditions": ["attached"],
        "bindingFailureConditions": ["lost"],
    }
    plan = Plan(*with_gpus("n1", fabric), node("n2"), device_class(), claim("c"), with_claim("p", of_claim("c")))
    (waiting,) = plan.outcome.pending
    assert waiting.reason == "BindingConditionsPending"
    assert waiting.message == (
        f"waiting for binding conditions for device on node n1: attached of {DRIVER}/n1/f0 (claim c)"
    )
    assert plan.simulation.api.get(KINDS.POD, "p", "default").raw["status"]["nominatedNodeName"] == "n1"


def rule(name: str, value: str) -> Raw:
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {
            "deviceSelector": {"driver": DRIVER},
            "taint": {"key": BUDGET, "value": value, "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        },
    }


def test_an_eviction_names_the_taints_that_are_not_tolerated_only() -> None:
    plan = Plan(
        *with_gpus("n1", gpu("gpu-0")),
        device_class(),
        rule("mild", "30"),
        template("t", request(tolerations=above("24", "NoExecute"))),
        deployment("web", 1, of_template("t")),
        gates=GATES,
    )
    (gone,) = plan.what_if(Changes(), rule("harsh", "8")).departures
    assert gone.cause is Cause.DEVICE_TAINT
    assert gone.because == f"device {DRIVER}/n1/gpu-0 has the taint {BUDGET}=8:NoExecute"


def test_a_rule_that_the_cluster_does_not_serve_is_refused() -> None:
    plan = Plan(node("n1"), rule("r", "8"), gates={"DRADeviceTaintRules": False})
    assert any("no matches for kind" in str(note) and "DRADeviceTaintRules=true" in str(note) for note in plan.notes)
