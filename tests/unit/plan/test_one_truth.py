"""Answers of a plan that were wrong while it had controllers of its own: now they are those of a cluster."""

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload, written

from moorage.control.framework.workloads import template_hash
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.plan.departures import Cause
from moorage.plan.headroom import headroom
from moorage.plan.node_changes import AddedNodes, parse_scale
from moorage.plan.planner import Planner, Settings
from moorage.plan.what_if import Changes

ZONE = "topology.kubernetes.io/zone"


def storage_class(name: str, **fields: object) -> Raw:
    metadata = {"name": name, **fields}
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
    return {**about, "provisioner": "example.com/disk", "volumeBindingMode": "WaitForFirstConsumer"}


def claim_template(storage: str = "fast") -> Raw:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": "data"}, "spec": spec | ({"storageClassName": storage} if storage else {})}


def budget(**rule: object) -> Raw:
    spec = {"selector": {"matchLabels": {"app": "web"}}, **rule}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}


def test_a_pod_with_a_claim_moves_within_the_zone_of_its_volume() -> None:
    nodes = [node("n1"), node("n2")]
    for one in nodes:
        one["metadata"]["labels"][ZONE] = "a"
    database = workload("StatefulSet", "db", replicas=1, serviceName="db", volumeClaimTemplates=[claim_template()])
    plan = Plan(*nodes, storage_class("fast"), database)
    (where,) = plan.where.values()
    difference = plan.what_if(Changes(drains=(where,)))
    (gone,) = difference.departures
    assert (gone.pod, gone.replaced_by) == ("default/db-0", "default/db-0")
    assert gone.new_node == ({"n1", "n2"} - {where}).pop()
    assert not difference.pending


@pytest.mark.parametrize("rule", [{"maxUnavailable": 1}, {"minAvailable": 1}])
def test_the_second_of_two_drains_waits_for_the_budget(rule: Raw) -> None:
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    rules = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}}
    plan = Plan(node("n1"), node("n2"), workload("Deployment", "web", pods=rules, replicas=2), budget(**rule))
    difference = plan.what_if(Changes(drains=("n1", "n2")))
    assert [gone.cause for gone in difference.departures] == [Cause.DRAIN]
    (blocked,) = difference.blocked
    assert blocked.pod.startswith("default/web-")
    assert "disruption budget" in blocked.reason


def test_all_of_a_change_counts_beside_a_rollout() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=2))
    larger = workload("Deployment", "web", replicas=6)
    larger["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    after, _, rollout = plan.planner.what_if(
        plan.simulation, plan.outcome, Changes(files=("f",)), written(larger), "deployment/web"
    )
    assert rollout is not None
    assert not rollout.completes
    assert len(after.pods) > 6
    assert after.pending
    assert not after.is_complete


def test_another_image_is_a_rolling_update() -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    plan = Plan(node("n1", cpu="2"), workload("Deployment", "web", replicas=2, strategy=strategy))
    changed = workload("Deployment", "web", replicas=2, strategy=strategy)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    difference = plan.what_if(Changes(files=("f",)), changed)
    assert not difference.departures  # there is no room for one more, and none may be missing
    assert [one.state.value for one in difference.pending] == ["Pending"]


@pytest.mark.parametrize(("kind", "steps"), [("StatefulSet", 4), ("DaemonSet", 4)])
def test_stateful_sets_and_daemon_sets_are_rolled_out(kind: str, steps: int) -> None:
    made = workload(kind, "w")
    if kind == "StatefulSet":
        made["spec"] |= {"replicas": 2, "serviceName": "w"}
    rollout = Plan(node("n1"), node("n2"), made).rollout(f"{kind.lower()}/default/w")
    assert rollout.completes
    assert rollout.max_unavailable == 1
    assert [step.action.split()[0] for step in rollout.steps] == ["remove", "create"] * (steps // 2)


def test_a_drain_says_what_kubectl_refuses() -> None:
    scratch = {"volumes": [{"name": "s", "emptyDir": {}}]}
    plan = Plan(node("n1"), pod("bare"), workload("Deployment", "web", pods=scratch), workload("DaemonSet", "agent"))
    plan.what_if(Changes(drains=("n1",)))
    notes = "\n".join(plan.notes)
    assert "Pod default/bare: kubectl drain n1 refuses without --force" in notes
    assert "kubectl drain n1 refuses without --delete-emptydir-data" in notes
    assert "agent" not in notes


def test_names_hashes_classes_and_deletions_are_those_of_the_controllers() -> None:
    web = workload("Deployment", "web", replicas=2)
    default = "storageclass.kubernetes.io/is-default-class"
    older = storage_class("older", annotations={default: "true"}, uid="1", creationTimestamp="2025-01-01T00:00:00Z")
    newer = storage_class(
        "newer",
        annotations={default.replace(".kubernetes", ".beta.kubernetes"): "true"},
        uid="2",
        creationTimestamp="2025-02-02T00:00:00Z",
    )
    database = workload("StatefulSet", "db", serviceName="db", volumeClaimTemplates=[claim_template("")])
    plan = Plan(node("n1"), web, older, newer, database)
    pods = [found for found in plan.simulation.world.all(KINDS.POD) if found.name.startswith("web-")]
    template = plan.simulation.api.get(KINDS.DEPLOYMENT, "web", "default").raw["spec"]["template"]
    assert {found.name.split("-")[1] for found in pods} == {template_hash(template, None)}
    assert (
        plan.simulation.api.get(KINDS.PERSISTENT_VOLUME_CLAIM, "data-db-0", "default").view.spec.storageClassName
        == "newer"
    )


def test_scale_cordon_and_more_nodes() -> None:
    plan = Plan(node("n1", cpu="3"), node("n2", cpu="2"), workload("Deployment", "web", replicas=2))
    assert headroom(plan.simulation) == ({"Deployment default/web": 3}, {})
    more = Changes(scales=(parse_scale("deployment/web=7"),), adds=(AddedNodes(1, "n1"),), cordons=("n2",))
    difference = plan.what_if(more)
    assert more.described() == ["scale deployment/web to 7", "cordon node n2", "add 1 node like n1"]
    assert {one.node for one in difference.placed} <= {"n1", "n1-1"}
    assert plan.nodes_of("web").count("n1-1") == 3
    assert len(plan.where) == 7


def test_the_state_after_some_time() -> None:
    job = workload("Job", "j", completions=3, parallelism=1)
    planner = Planner(Settings(gates_from({})))
    planner.load(written(node("n1"), job))
    simulation = planner.build(lives=True)
    assert [one.workload for one in planner.plan(simulation, until=0.5).pods] == ["Job default/j"]
    simulation.run_until(simulation.clock.start + 60)
    status = simulation.api.get(KINDS.JOB, "j", "default").view.status
    assert status.succeeded == 3


def test_the_cheap_pod_goes_first() -> None:
    labels = {"app": "web", "pod-template-hash": "abc"}
    cost = "controller.kubernetes.io/pod-deletion-cost"
    pods = [
        running(
            f"web-abc-{name}",
            "n1",
            ("ReplicaSet", "web-abc"),
            labels=labels,
            metadata={"annotations": {cost: value}, "labels": labels},
        )
        for name, value in (("dear", "10"), ("cheap", "-10"))
    ]
    plan = Plan(node("n1"), *pods, workload("Deployment", "web", replicas=1))
    assert list(plan.where) == ["web-abc-dear"]
