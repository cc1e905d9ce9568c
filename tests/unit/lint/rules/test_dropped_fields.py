"""Fields that the API server drops because a gate is off, and objects that kubectl apply cannot write."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from tests.unit.lint.linting import CONTAINERS, lint, pod, stream, workload

from moorage.admit.admission import admit
from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.rules import dropped_fields
from moorage.lint.rules.dropped_fields import missing_fields
from moorage.lint.sources import Source
from moorage.model.gates import gates_from

ANTI_AFFINITY = """\
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: web}}
            matchLabelKeys: [pod-template-hash]
"""
ROLLING = "  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}\n"
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: driver.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu, %s}]
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec: {devices: {requests: [{name: gpu, %s}]}}
"""
SPREAD = (
    "  topologySpreadConstraints:\n"
    "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
    "labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [app]}\n"
)
NO_SPREAD_KEYS = {"MatchLabelKeysInPodTopologySpread": False, "MatchLabelKeysInPodTopologySpreadSelectorMerge": False}


def dropped(text: str, **gates: bool) -> list[tuple[str, str, str]]:
    linter = Linter(gates_from(gates), frozenset(rules()))
    findings = [*linter.lint(Source("0.yaml"), BytesIO(text.encode())), *linter.finish()]
    return [
        (finding.place.path, finding.message, finding.hint) for finding in findings if finding.rule == "field-dropped"
    ]


@pytest.mark.parametrize(
    ("text", "gates", "path", "gate"),
    [
        (
            workload("Deployment", ANTI_AFFINITY),
            {"MatchLabelKeysInPodAffinity": False},
            "spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys",
            "MatchLabelKeysInPodAffinity",
        ),
        (
            pod(SPREAD, metadata=", labels: {app: web}"),
            NO_SPREAD_KEYS,
            "spec.topologySpreadConstraints[0].matchLabelKeys",
            "MatchLabelKeysInPodTopologySpread",
        ),
        (
            CLAIM % "exactly: {deviceClassName: x, tolerations: [{key: a, operator: Exists}]}",
            {"DRADeviceTaints": False, "DRADeviceTaintRules": False},
            "spec.devices.requests[0].exactly.tolerations",
            "DRADeviceTaints",
        ),
        (
            CLAIM % "exactly: {deviceClassName: x, capacity: {requests: {memory: 1Gi}}}",
            {"DRAConsumableCapacity": False},
            "spec.devices.requests[0].exactly.capacity",
            "DRAConsumableCapacity",
        ),
        (
            CLAIM % "firstAvailable: [{name: a, deviceClassName: x}]",
            {"DRAPrioritizedList": False},
            "spec.devices.requests[0].firstAvailable",
            "DRAPrioritizedList",
        ),
        (
            SLICE % "taints: [{key: a, effect: NoSchedule}]",
            {"DRADeviceTaints": False, "DRADeviceTaintRules": False},
            "spec.devices[0].taints",
            "DRADeviceTaints",
        ),
        (
            SLICE % "attributes: {model: {strings: [a, b]}}",
            {},
            "spec.devices[0].attributes.model.strings",
            "DRAListTypeAttributes",
        ),
        (
            SLICE % "bindingConditions: [ready], bindingFailureConditions: [failed]",
            {
                "DRADeviceBindingConditions": False,
                "DRAResourceClaimDeviceStatus": False,
                "DRAResourceClaimGranularStatusAuthorization": False,
            },
            "spec.devices[0].bindingConditions",
            "DRADeviceBindingConditions",
        ),
        (
            "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
            "spec: {extendedResourceName: example.com/gpu}\n",
            {"DRAExtendedResource": False},
            "spec.extendedResourceName",
            "DRAExtendedResource",
        ),
    ],
)
def test_a_field_without_its_gate_is_dropped(text: str, gates: dict[str, bool], path: str, gate: str) -> None:
    found = {found_path: (message, hint) for found_path, message, hint in dropped(text, **gates)}
    assert path in found
    message, hint = found[path]
    assert message.endswith(f": the feature gate {gate} is off")
    assert hint.startswith(f"needs --feature-gates={gate}=true (Kubernetes 1.")
    assert dropped(text, AllAlpha=True, AllBeta=True) == []


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        (
            pod("").replace(
                CONTAINERS,
                "  os: {name: linux}\n  containers: [{name: a, image: b, lifecycle: {stopSignal: SIGTERM}}]\n",
            ),
            "ContainerStopSignals",
        ),
        (
            pod("  volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: a, path: b}}]}}]\n"),
            "ClusterTrustBundleProjection",
        ),
        (
            workload("StatefulSet", "", spec="  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}\n"),
            "MaxUnavailableStatefulSet",
        ),
    ],
)
def test_gates_that_moorage_does_not_have(text: str, gate: str) -> None:
    [(_, message, hint)] = dropped(text)
    assert message.endswith(f"the feature gate {gate} is off")
    assert hint.endswith("off by default; Moorage does not)")


@pytest.mark.parametrize(
    "text",
    [
        pod("  hostNetwork: false\n  nodeSelector: {}\n  tolerations: []\n"),
        pod("  unknownField: 1\n"),
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}], externalName: ''}\n",
        workload("Deployment", ANTI_AFFINITY),
        SLICE % "attributes: {model: {string: a}}",
    ],
)
def test_nothing_is_dropped(text: str) -> None:
    assert dropped(text) == []


def test_a_pod_that_exists_keeps_its_fields_and_a_template_makes_new_pods() -> None:
    affinity = ANTI_AFFINITY.replace("      affinity", "  affinity").replace("        ", "    ")
    of_pod = pod(affinity, metadata=", labels: {app: web}")
    assert len(dropped(of_pod, MatchLabelKeysInPodAffinity=False)) == 1
    assert dropped(of_pod.replace("name: web", "name: web, uid: u", 1), MatchLabelKeysInPodAffinity=False) == []
    template = workload("Deployment", ANTI_AFFINITY).replace("name: web", "name: web, uid: u", 1)
    assert len(dropped(template, MatchLabelKeysInPodAffinity=False)) == 1


def test_the_advice_for_a_rollout_does_not_ask_for_what_is_dropped() -> None:
    linter = Linter(gates_from({"MatchLabelKeysInPodAffinity": False}), frozenset(rules()))
    text = workload("Deployment", ANTI_AFFINITY, spec=ROLLING)
    findings = [*linter.lint(Source("0.yaml"), BytesIO(text.encode())), *linter.finish()]
    [deadlock] = [finding for finding in findings if finding.rule == "rollout-deadlock"]
    assert "add to this term" not in deadlock.hint
    assert "helps only with --feature-gates=MatchLabelKeysInPodAffinity=true" in deadlock.hint
    assert [requirement.gate.name for requirement in linter.outcome.requirements] == ["MatchLabelKeysInPodAffinity"]
    assert [finding.rule for finding in lint(text)] == []


def test_gates_are_looked_for_once_for_each_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither unknown fields nor the names of attributes cost further looks."""
    asked: list[object] = []

    def counted(*given: Any) -> Any:
        asked.append(given)
        return admit(*given)

    monkeypatch.setattr(dropped_fields, "admit", counted)
    attributes = ", ".join(f"a{number}: {{strings: [x]}}" for number in range(20))
    slices = [(SLICE % f"attributes: {{{attributes}}}").replace("name: slice", f"name: s{n}") for n in range(3)]
    assert len(dropped(stream(*slices))) == 60
    first = len(asked)
    assert 0 < first < 40
    dropped(pod("".join(f"  unknown{number}: 1\n" for number in range(50))))
    assert len(asked) == first


def test_missing_fields() -> None:
    raw = {"kind": "A", "metadata": {"x": 1}, "spec": {"a": 1, "b": None, "c": [], "d": [{"e": "f"}, 2], "g": {"h": 1}}}
    assert list(missing_fields(raw, {"spec": {"d": [{}, 2], "g": {}}})) == ["spec.a", "spec.d[0].e", "spec.g.h"]
    assert list(missing_fields(raw, raw)) == []


def config_map(size: int, metadata: str = "name: big", character: str = "x") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{{metadata}}}\ndata: {{a: '{character * size}'}}\n"


def too_long(text: str) -> list[str]:
    return [finding.message for finding in lint(text) if finding.rule == "apply-annotation-too-long"]


def test_the_size_is_that_of_kubectl() -> None:
    """Count as kubectl writes: an empty map of annotations, the default namespace, a line feed."""
    key = len("kubectl.kubernetes.io/last-applied-configuration")
    metadata = {"annotations": {}, "name": "big", "namespace": "default"}
    applied = {"apiVersion": "v1", "data": {"a": ""}, "kind": "ConfigMap", "metadata": metadata}
    rest = len(json.dumps(applied, separators=(",", ":"))) + 1 + key
    assert too_long(config_map(262_144 - rest)) == []
    [message] = too_long(config_map(262_144 - rest + 1))
    assert "the annotations have 262,145 bytes, and at most 262,144 are allowed" in message
    assert len(too_long(config_map(50_000, character="<"))) == 1  # escaped: six bytes each
    assert len(too_long(config_map(200_000, "name: big, annotations: {b: " + "y" * 40_000 + "}"))) == 1  # counted twice


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (config_map(300_000, "name: big, uid: u"), 0),
        (config_map(300_000, "generateName: big-"), 0),
        (
            config_map(
                100_000,
                "name: big, annotations: {kubectl.kubernetes.io/last-applied-configuration: " + "y" * 180_000 + "}",
            ),
            0,
        ),
        (config_map(300_000).replace("ConfigMap", "Secret").replace("\ndata:", "\nstringData:"), 1),
        (config_map(300_000).replace("v1", "example.com/v1").replace("ConfigMap", "Backup"), 1),
        (stream(config_map(300_000), config_map(300_000, "name: other")), 2),
    ],
)
def test_objects_that_kubectl_cannot_apply(text: str, number: int) -> None:
    assert len(too_long(text)) == number
