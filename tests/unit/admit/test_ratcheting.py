"""What an object already uses it may keep, for each gate, in pods, in templates of all kinds and in volumes."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, pod, stored, volume, workload

from moorage.admit.options import options_for_create
from moorage.admit.ratcheting import options_for_update
from moorage.model.gates import (
    SEMVER_COMPARISON_OPERATORS,
    TAINT_TOLERATION_CEL,
    TAINT_TOLERATION_COMPARISON_OPERATORS,
    Gate,
    default_gates,
)
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import PodSpec

NEEDED = {"key": "zone", "operator": "SemverGt", "values": ["1.2"]}
REQUIRED = {"nodeSelectorTerms": [{"matchExpressions": [NEEDED]}]}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": REQUIRED}}
PREFERENCE = {"weight": 1, "preference": {"matchExpressions": [NEEDED]}}
PREFERRED = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERENCE]}}

#: A gate, the fields of a pod spec that need it, and more of the same that an update may add to a pod.
FEATURES: list[tuple[Gate, Raw, Raw]] = [
    (
        TAINT_TOLERATION_COMPARISON_OPERATORS,
        {"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]},
        {"key": "b", "operator": "Lt", "value": "5"},
    ),
    (
        SEMVER_COMPARISON_OPERATORS,
        {"tolerations": [{"key": "a", "operator": "SemverGt", "value": "1.2"}]},
        {"key": "b", "operator": "SemverEq", "value": "1"},
    ),
    (SEMVER_COMPARISON_OPERATORS, {"affinity": AFFINITY}, {"key": "b", "operator": "SemverEq", "value": "1"}),
    (SEMVER_COMPARISON_OPERATORS, {"affinity": PREFERRED}, {"key": "b", "operator": "SemverEq", "value": "1"}),
    (
        TAINT_TOLERATION_CEL,
        {"tolerations": [{"expression": "taint.key == 'gpu'"}]},
        {"expression": "taint.key == 'tpu'"},
    ),
]
NAMES = ["comparison", "semver", "semver-required", "semver-preferred", "cel"]
each_feature = pytest.mark.parametrize(("gate", "spec", "more"), FEATURES, ids=NAMES)
OFF = default_gates()


def with_toleration(document: Raw, toleration: Raw) -> Raw:
    changed = copy.deepcopy(document)
    changed["spec"].setdefault("tolerations", []).append(toleration)
    return changed


@each_feature
def test_pods(gate: Gate, spec: Raw, more: Raw) -> None:
    on = OFF.with_gate(gate, True)
    assert complaints(pod(**spec), gates=on) == []
    assert len(complaints(pod(**spec), gates=OFF)) == 1

    old = stored(pod(**spec), on)
    assert complaints(old, old, OFF) == []
    assert complaints(with_toleration(old, more), old, OFF) == []

    plain = stored(pod(), OFF)
    assert complaints(with_toleration(plain, more), plain, on) == []
    assert len(complaints(with_toleration(plain, more), plain, OFF)) == 2  # once in the spec, once as an addition


@each_feature
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "CronJob"])
def test_templates(kind: str, gate: Gate, spec: Raw, more: Raw) -> None:
    on = OFF.with_gate(gate, True)
    assert len(complaints(workload(kind, **spec), gates=OFF)) == 1
    old = stored(workload(kind, **spec), on)
    assert complaints(old, old, OFF) == []

    plain = stored(workload(kind), OFF)
    using, without = (copy.deepcopy(plain) for _ in range(2))
    _pod_spec(using).update(spec)
    assert complaints(using, plain, on) == []
    assert len(complaints(using, plain, OFF)) == 1
    # Taking it away is always allowed, and then it is gone.
    assert complaints(without, old, OFF) == []


def _pod_spec(document: Raw) -> Any:
    spec = document["spec"]
    spec = spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec
    return spec["template"]["spec"]


@each_feature
def test_jobs(gate: Gate, spec: Raw, more: Raw) -> None:
    on = OFF.with_gate(gate, True)
    old = stored(workload("Job", **spec), on)
    assert complaints(old, old, OFF) == []
    assert len(complaints(workload("Job", **spec), gates=OFF)) == 1


def test_volumes() -> None:
    on = OFF.with_gate(SEMVER_COMPARISON_OPERATORS, True)
    using = volume(nodeAffinity={"required": REQUIRED})
    path = "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator"
    rejection = [f'{path}: Invalid value: "SemverGt": not a valid selector operator']
    assert complaints(using, gates=OFF) == rejection
    old = stored(using, on)
    labelled = copy.deepcopy(old)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert complaints(labelled, old, OFF) == []
    plain = stored(volume(), OFF)
    added = copy.deepcopy(plain)
    added["spec"]["nodeAffinity"] = {"required": REQUIRED}
    assert set(complaints(added, plain, OFF)) == set(rejection)
    assert complaints(added, plain, on) == []


MISTAKES: list[tuple[str, Raw]] = [
    (
        "allow_invalid_label_value_in_selector",
        {
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": {"labelSelector": {"matchLabels": {"a": "-"}}}}
                    ]
                }
            }
        },
    ),
    (
        "allow_invalid_label_value_in_required_node_affinity",
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]},
                        ]
                    }
                }
            }
        },
    ),
    (
        "allow_invalid_topology_spread_constraint_label_selector",
        {"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"a": "-"}}}]},
    ),
    (
        "old_pod_violates_match_label_keys_validation",
        {"topologySpreadConstraints": [{"matchLabelKeys": ["bad key"], "labelSelector": {}}]},
    ),
    (
        "allow_indivisible_huge_pages_values",
        {"containers": [{"resources": {"limits": {"hugepages-2Mi": "3Mi"}}}]},
    ),
    (
        "allow_non_local_projected_token_path",
        {"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "../x"}}]}}]},
    ),
    (
        "allow_namespaced_sysctls_for_host_net_and_host_ipc",
        {"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net/ipv4/ip_forward", "value": "1"}]}},
    ),
    (
        "allow_existing_restart_container_for_non_sidecar_init_container",
        {"initContainers": [{"resizePolicy": [{"restartPolicy": "RestartContainer"}]}]},
    ),
    (
        "allow_user_namespaces_with_volume_devices",
        {"hostUsers": False, "containers": [{"volumeDevices": [{"name": "v"}]}]},
    ),
    ("allow_user_namespaces_host_network_support", {"hostUsers": False, "hostNetwork": True}),
]


@pytest.mark.parametrize(("name", "spec"), MISTAKES)
def test_mistakes_an_old_object_may_keep(name: str, spec: Raw) -> None:
    assert getattr(options_for_create(OFF), name) is False
    options = options_for_update(OFF, convert_view(spec, PodSpec), ObjectMeta())
    assert getattr(options, name) is True


def test_without_an_old_object_or_a_mistake_the_gates_decide_alone() -> None:
    assert options_for_update(OFF, None, None) == options_for_create(OFF)
    assert options_for_update(OFF, PodSpec(), ObjectMeta()) == options_for_create(OFF)


def test_the_rest_of_an_old_pod() -> None:
    meta = ObjectMeta(annotations={"controller.kubernetes.io/pod-deletion-cost": "+5"})
    spec = convert_view({"securityContext": {"seLinuxChangePolicy": "MountOption"}}, PodSpec)
    options = options_for_update(OFF, spec, meta)
    assert options.allow_invalid_pod_deletion_cost
    assert not options.allow_only_recursive_selinux_change_policy


def test_which_violation_of_match_label_keys_counts_depends_on_the_merge_gate() -> None:
    spec = convert_view(MISTAKES[3][1], PodSpec)
    merge_off = OFF.with_gate(_merge_gate(), False)
    options = options_for_update(merge_off, spec, ObjectMeta())
    assert options.old_pod_violates_legacy_match_label_keys_validation
    assert not options.old_pod_violates_match_label_keys_validation


def _merge_gate() -> Gate:
    from moorage.model.gates import MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE

    return MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE
