"""Reports: what they change, what they leave alone, what they may not say."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, document, pod, stored, volume, workload

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.subresources.status_update import admit_status, finalize_namespace
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, view_of

GATES = default_gates()


def report(old: Raw, status: Raw, **metadata: Any) -> Raw:
    new = copy.deepcopy(old)
    new["status"] = status
    new["metadata"].update(metadata)
    return new


def complaints(new: Raw, old: Raw) -> list[str]:
    answer = admit_status(new, old, GATES)
    if isinstance(answer, Admitted):
        return []
    return [str(error) for error in answer.errors] or [problem.reason for problem in answer.problems]


def admitted(new: Raw, old: Raw, now: str = "") -> Admitted:
    before = copy.deepcopy((new, old))
    answer = admit_status(new, old, GATES, now=now)
    assert (new, old) == before
    assert isinstance(answer, Admitted), answer.status
    assert answer.view == view_of(answer.object)
    return answer


def test_a_report_changes_the_status_alone() -> None:
    old = stored(pod())
    new = report(old, {"phase": "Running"}, generation=9, ownerReferences=[{"name": "x"}], labels={"a": "b"})
    new["spec"] = {"containers": []}
    found = admitted(new, old).object
    assert found["spec"] == old["spec"]
    assert found["status"] == {"phase": "Running", "qosClass": "BestEffort"}
    assert found["metadata"]["generation"] == 1
    assert "ownerReferences" not in found["metadata"]
    assert found["metadata"]["labels"] == {"a": "b"}


def test_an_old_view_is_used_as_it_is() -> None:
    old = stored(pod())
    answer = admit_status(report(old, {**old["status"], "phase": "Running"}), old, GATES, old_view=view_of(old))
    assert isinstance(answer, Admitted)
    assert answer.view == view_of(answer.object)


def ended(name: str, code: int) -> Raw:
    return {"name": name, "state": {"terminated": {"exitCode": code}}}


@pytest.mark.parametrize(
    ("policy", "code", "allowed"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_containers_that_ended_stay_so_unless_they_are_restarted(policy: str, code: int, allowed: bool) -> None:
    old = stored(pod(restartPolicy=policy))
    old["status"] |= {"containerStatuses": [ended("c", code)]}
    new = report(old, {"containerStatuses": [{"name": "c", "state": {"running": {}}}]})
    text = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    assert complaints(new, old) == ([] if allowed else [text])


def test_rules_of_a_container_come_before_its_policy() -> None:
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    old = stored(pod(restartPolicy="Always"))
    old["spec"]["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": rules}
    for code, count in ((42, 0), (1, 1)):
        old["status"]["containerStatuses"] = [ended("c", code)]
        assert len(complaints(report(old, {"containerStatuses": [{"name": "c"}]}), old)) == count


def test_nominations() -> None:
    old = stored(pod())
    assert complaints(report(old, {"nominatedNodeName": "n1"}), old) == []
    assert complaints(report(old, {"nominatedNodeName": "N 1"}), old)[0].startswith(
        'status.nominatedNodeName: Invalid value: "N 1"'
    )
    old["spec"]["nodeName"] = "n1"
    assert complaints(report(old, {"nominatedNodeName": "n2"}), old) == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]


def test_what_a_pod_may_not_report() -> None:
    old = stored(pod())
    assert complaints(report(old, {"qosClass": "Guaranteed"}), old) == [
        'status.qosClass: Invalid value: "Guaranteed": field is immutable'
    ]
    assert complaints(report(old, {"observedGeneration": -1}), old) == [
        "status.observedGeneration: Invalid value: -1: must be a non-negative integer"
    ]
    assert complaints(report(old, {"conditions": [{"type": "a b"}]}), old)[0].startswith("status.conditions[0].Type")
    assert complaints(report(old, {"podIPs": [{"ip": "x"}]}), old)[0].startswith("status.podIPs[0]: Invalid value")
    assert complaints(report(old, {"phase": 5}), old)[0].startswith("json: cannot unmarshal number")


def test_generations_that_were_observed_are_remembered() -> None:
    old = stored(pod())
    old["status"] |= {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 2}]}
    found = admitted(report(old, {"conditions": [{"type": "Ready"}, {"type": "Initialized"}], "podIP": "1.2.3.4"}), old)
    status = found.object["status"]
    assert status["observedGeneration"] == 3
    assert status["conditions"] == [
        {"type": "Ready", "observedGeneration": 2, "lastProbeTime": None},
        {"type": "Initialized", "lastProbeTime": None},
    ]
    assert status["podIPs"] == [{"ip": "1.2.3.4"}]


@pytest.mark.parametrize(
    ("kind", "status", "text"),
    [
        ("Deployment", {"replicas": -1}, "status.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (
            "ReplicaSet",
            {"replicas": 1, "readyReplicas": 2},
            "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        ),
        (
            "StatefulSet",
            {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2},
            "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
        ),
        ("DaemonSet", {"numberReady": -1}, "status.numberReady: Invalid value: -1: must be greater than or equal to 0"),
        ("Job", {"ready": 1}, "status.ready: Invalid value: 1: cannot set more ready pods than active"),
    ],
)
def test_counts_of_workloads(kind: str, status: Raw, text: str) -> None:
    old = stored(workload(kind))
    assert complaints(report(old, status), old)[0] == text
    assert admitted(report(old, {}), old).object["status"] == {}


def test_a_job_is_done_in_one_way() -> None:
    old = stored(workload("Job"))
    times = {"startTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T00:00:01Z"}

    def conditions(*types: str) -> list[Raw]:
        return [{"type": name, "status": "True"} for name in types]

    assert complaints(report(old, {**times, "conditions": conditions("SuccessCriteriaMet", "Complete")}), old) == []
    both = report(old, {**times, "conditions": conditions("SuccessCriteriaMet", "Complete", "Failed", "FailureTarget")})
    assert "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions" in complaints(
        both, old
    )
    assert "status.startTime: Required value: startTime is required for finished job" in complaints(
        report(old, {"conditions": conditions("Failed", "FailureTarget")}), old
    )


def test_collisions_are_only_counted_up() -> None:
    old = stored(workload("Deployment"))
    old["status"] = {"collisionCount": 2}
    assert complaints(report(old, {"collisionCount": 1}), old) == [
        "status.collisionCount: Invalid value: 1: cannot be decremented"
    ]


def test_labels_of_a_deployment_are_not_reported() -> None:
    old = stored(workload("Deployment"))
    assert "labels" not in admitted(report(old, {}, labels={"a": "b"}), old).object["metadata"]


def test_nodes_report_what_they_have() -> None:
    old = stored(document("Node"))
    found = admitted(report(old, {"capacity": {"cpu": "1500m"}, "config": {}}), old).object["status"]
    assert found == {"capacity": {"cpu": "1500m"}, "allocatable": {"cpu": "1500m"}}


def test_volumes_remember_when_they_changed_their_phase() -> None:
    old = stored(volume())
    found = admitted(report(old, {"phase": "Available"}), old, "2025-01-01T00:00:00Z").object
    assert found["status"]["lastPhaseTransitionTime"] == "2025-01-01T00:00:00Z"
    assert admitted(report(found, {"phase": "Available"}), found, "2026-01-01T00:00:00Z").object == found


def test_the_phase_of_a_namespace_follows_its_deletion() -> None:
    old = stored(document("Namespace"))
    text = "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    assert complaints(report(old, {"phase": "Terminating"}), old) == [text]


def test_namespaces_are_finalized() -> None:
    old = stored(document("Namespace"))
    new = {**old, "spec": {}, "status": {"phase": "Gone"}}
    answer = finalize_namespace(new, old, GATES)
    assert isinstance(answer, Admitted)
    assert answer.object["spec"] == {}
    assert answer.object["status"] == {"phase": "Active"}
    assert isinstance(finalize_namespace({**old, "spec": {"finalizers": ["odd"]}}, old, GATES), Rejected)
    assert isinstance(finalize_namespace({**old, "spec": 5}, old, GATES), Rejected)
    with pytest.raises(ValueError, match="only namespaces"):
        finalize_namespace(pod(), pod(), GATES)


def test_load_balancers_report_addresses() -> None:
    old = stored(document("Service", spec={"ports": [{"port": 80}], "type": "LoadBalancer"}))
    balancer = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    assert admitted(report(old, balancer), old).object["status"]["loadBalancer"]["ingress"][0]["ipMode"] == "VIP"
    plain = stored(document("Service", spec={"ports": [{"port": 80}]}))
    assert complaints(report(plain, balancer), plain) == [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]


def test_kinds_without_a_status_have_none() -> None:
    without = {facts.name for facts in KINDS.values() if not facts.has_status}
    assert {"ConfigMap", "Lease", "Event", "StorageClass", "PriorityClass"} <= without
    with pytest.raises(ValueError, match="no status"):
        admit_status(document("ConfigMap"), document("ConfigMap"), GATES)
