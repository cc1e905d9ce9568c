"""What the API server changes of its own accord: dropped fields, merged label keys, first generation and status."""

import copy

import pytest
from tests.unit.admit.objects import Raw, complaints, document, pod, stored, workload

from moorage.admit.admission import Admitted, admit
from moorage.admit.prepare.mutate import pod_qos
from moorage.model.gates import (
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE,
    GateSet,
    default_gates,
)

ON = default_gates()
OFF = ON.with_gate(MATCH_LABEL_KEYS_IN_POD_AFFINITY, False)
SPREAD_OFF = ON.with_gate(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, False).with_gate(
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE, False
)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LABELS = {"app": "web", "pod-template-hash": "abc"}
TERM = {
    "labelSelector": {"matchLabels": {"app": "web"}},
    "topologyKey": "zone",
    "matchLabelKeys": ["pod-template-hash"],
    "mismatchLabelKeys": ["tenant"],
}
MERGED = [{"key": "pod-template-hash", "operator": "In", "values": ["abc"]}]


def with_affinity() -> Raw:
    return pod(LABELS, affinity={"podAffinity": {REQUIRED: [copy.deepcopy(TERM)]}})


def term_of(document: Raw) -> Raw:
    found: Raw = document["spec"]["affinity"]["podAffinity"][REQUIRED][0]
    return found


def test_fifteen_steps_of_enabling_and_disabling() -> None:
    """003: pods keep what they were created with, whatever becomes of the gate afterwards."""
    created: list[Raw] = []
    for gates, merged in ((OFF, False), (ON, True), (OFF, False), (ON, True)):
        before = copy.deepcopy(created)
        for earlier in created:
            again = admit(earlier, earlier, gates)
            assert isinstance(again, Admitted)
            assert term_of(again.object) == term_of(earlier)
        assert created == before
        made = stored(with_affinity(), gates)
        selector = term_of(made)["labelSelector"]
        assert selector.get("matchExpressions") == (MERGED if merged else None)
        assert ("matchLabelKeys" in term_of(made)) is merged
        created.append(made)
    assert [("matchLabelKeys" in term_of(one)) for one in created] == [False, True, False, True]


def test_with_the_gate_off_an_update_cannot_bring_label_keys_in() -> None:
    old = stored(with_affinity(), OFF)
    new = copy.deepcopy(old)
    term_of(new)["matchLabelKeys"] = ["app"]
    answer = admit(new, old, OFF)
    assert isinstance(answer, Admitted)
    assert term_of(answer.object) == term_of(old)


def test_templates_are_not_merged_but_lose_fields_of_disabled_gates() -> None:
    weighted = {"weight": 1, "podAffinityTerm": TERM}
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
    for gates, kept in ((ON, True), (OFF, False)):
        made = stored(workload("Deployment", affinity=copy.deepcopy(affinity)), gates)
        spec = made["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
        term = spec["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
        assert ("matchLabelKeys" in term, "mismatchLabelKeys" in term) == (kept, kept)
        assert term["labelSelector"] == TERM["labelSelector"]


@pytest.mark.parametrize(("gates", "keys", "merged"), [(ON, True, True), (SPREAD_OFF, False, False)])
def test_spread_constraints(gates: GateSet, keys: bool, merged: bool) -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["app"],
    }
    made = stored(pod(LABELS, topologySpreadConstraints=[constraint]), gates)
    found = made["spec"]["topologySpreadConstraints"][0]
    assert ("matchLabelKeys" in found, bool(found["labelSelector"])) == (keys, merged)
    assert complaints(made, made, gates) == []
    assert complaints(made, made, ON) == []


def test_fields_of_gates_that_are_off_by_default_go_unless_they_were_there() -> None:
    source = {"clusterTrustBundle": {"name": "b", "path": "p"}}
    token = {"serviceAccountToken": {"path": "t"}}
    made = pod(
        schedulingGroup={"podGroupName": "g"},
        serviceAccountName="a",
        volumes=[{"name": "v", "projected": {"sources": [{**source, **token}]}}],
    )
    made["spec"]["containers"][0]["lifecycle"] = {"stopSignal": "SIGTERM"}
    made["spec"]["containers"].append({"name": "d", "image": "i", "lifecycle": {}})
    spec = stored(made)["spec"]
    assert "schedulingGroup" not in spec
    assert "lifecycle" not in spec["containers"][0]
    assert "clusterTrustBundle" not in spec["volumes"][0]["projected"]["sources"][0]

    old = copy.deepcopy(stored(made))
    old["spec"]["containers"][0]["lifecycle"] = {"stopSignal": "SIGTERM"}
    again = admit(old, old, ON)
    assert again.object is not None
    assert again.object["spec"]["containers"][0]["lifecycle"] == {"stopSignal": "SIGTERM"}


def test_a_new_pod_begins_pending_in_its_first_generation() -> None:
    made = pod(schedulingGates=[{"name": "g"}])
    made["status"] = {"phase": "Running"}
    made["metadata"]["generation"] = 5
    answer = stored(made)
    assert answer["metadata"]["generation"] == 1
    assert answer["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ],
    }


def test_generation_counts_changes_of_the_spec_only() -> None:
    old = stored(pod())
    for change, generation in (("labels", 1), ("image", 2)):
        new = copy.deepcopy(old)
        if change == "labels":
            new["metadata"]["labels"] = {"a": "b"}
        else:
            new["spec"]["containers"][0]["image"] = "j"
        answer = admit(new, old, ON)
        assert isinstance(answer, Admitted)
        assert answer.object["metadata"]["generation"] == generation
        assert answer.object["status"] == old["status"]


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/mine", {"type": "Localhost", "localhostProfile": "mine"}),
    ],
)
def test_apparmor_annotations_become_fields(annotation: str, profile: Raw) -> None:
    made = pod()
    key = "container.apparmor.security.beta.kubernetes.io/c"
    made["metadata"]["annotations"] = {key: annotation}
    assert stored(made)["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}


@pytest.mark.parametrize("annotation", ["odd", "localhost/", "localhost/ padded", "localhost/" + "x" * 4096])
def test_apparmor_annotations_that_no_field_could_hold_stay_annotations(annotation: str) -> None:
    made = pod()
    made["metadata"]["annotations"] = {"container.apparmor.security.beta.kubernetes.io/c": annotation}
    answer = admit(made, None, ON)
    assert answer.object is not None
    assert "securityContext" not in answer.object["spec"]["containers"][0]


def test_apparmor_annotations_that_repeat_the_pods_profile_stay_annotations() -> None:
    made = pod()
    made["metadata"]["annotations"] = {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}
    made["spec"]["securityContext"] = {"appArmorProfile": {"type": "Unconfined", "localhostProfile": None}}
    assert "securityContext" not in stored(made)["spec"]["containers"][0]


def _resources(**lists: Raw) -> Raw:
    return {"containers": [{"resources": lists}]}


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{}]}, "BestEffort"),
        (_resources(requests={"cpu": "0", "nvidia.com/gpu": "1"}), "BestEffort"),
        (_resources(requests={"cpu": 1}), "Burstable"),
        (_resources(requests=BOTH, limits=BOTH), "Guaranteed"),
        (_resources(requests={"cpu": "1000m", "memory": "1Gi"}, limits=BOTH), "Guaranteed"),
        (_resources(requests={"cpu": "1"}, limits=BOTH), "Burstable"),
        ({"containers": [{"resources": {"requests": BOTH, "limits": BOTH}}, {}]}, "Burstable"),
        ({"resources": {"requests": BOTH, "limits": BOTH}, "containers": [{}]}, "Guaranteed"),
        ({"resources": {"requests": {"cpu": None}}, "containers": [{}]}, "BestEffort"),
    ],
)
def test_qos(spec: Raw, expected: str) -> None:
    assert pod_qos(spec) == expected


def test_new_objects_get_their_first_status_and_finalizers() -> None:
    namespace = document("Namespace", "team-a", status={"phase": "Terminating"})
    made = stored(namespace)
    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team-a"}
    changed = copy.deepcopy(made)
    changed["spec"]["finalizers"] = []
    answer = admit(changed, made, ON)
    assert answer.object is not None
    assert answer.object["spec"] == made["spec"]

    bound = document("PersistentVolumeClaim", status={"phase": "Bound"})
    bound["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    assert stored(bound)["status"] == {"phase": "Pending"}

    node = document("Node", spec={"configSource": {}}, status={"config": {}, "capacity": {"cpu": "4"}})
    made = stored(node)
    assert made["spec"] == {}
    implied = {"daemonEndpoints", "nodeInfo"}
    left = {name: value for name, value in made["status"].items() if name not in implied}
    assert left == {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}


def test_max_unavailable_of_a_stateful_set_needs_a_gate_that_is_off() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    made = stored(workload("StatefulSet", {"updateStrategy": strategy}))
    assert made["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    old = copy.deepcopy(made)
    old["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = 1
    answer = admit(old, old, ON)
    assert answer.object is not None
    assert answer.object["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0, "maxUnavailable": 1}
