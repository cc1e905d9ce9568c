"""Findings about devices: versions, missing classes and claims, selectors, tolerations, claims nothing satisfies."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, lint_with_outcome, pod, rules_of, stream

CLASS = """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
"""


def claim(request: str, name: str = "c", device_class: str = "gpu") -> str:
    """A claim with one request; `request` is what stands beside its class, in flow style."""
    exactly = f"{{deviceClassName: {device_class}{', ' + request if request else ''}}}"
    return (
        f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: {name}}}\n"
        f"spec:\n  devices:\n    requests:\n    - name: gpu\n      exactly: {exactly}\n"
    )


def published(*devices: str, node: str = "n1", more: str = "nodeName: n1", slices: int = 1) -> str:
    pool = f"{{name: {node}, generation: 1, resourceSliceCount: {slices}}}"
    listed = "".join(f"  - {one}\n" for one in devices)
    return (
        f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {node}}}\n"
        f"spec:\n  driver: gpu.example.com\n  {more}\n  pool: {pool}\n  devices:\n{listed}"
    )


def tainted(value: str, effect: str = "NoSchedule") -> str:
    return f'{{name: gpu-0, taints: [{{key: example.com/budget, value: "{value}", effect: {effect}}}]}}'


def tolerating(operator: str, value: str, effect: str = "NoSchedule") -> str:
    shown = f", effect: {effect}" if effect else ""
    return f'tolerations: [{{key: example.com/budget, operator: {operator}, value: "{value}"{shown}}}]'


STORY_4 = """apiVersion: resource.k8s.io/v1alpha4
kind: ResourceSlice
metadata: {name: gpu-node-01-slice}
spec:
  driver: nvidia.com
  nodeName: gpu-node-01
  pool: {name: gpu-node-01, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-node-01-device-0
    basic:
      attributes:
        memory: "32Gi"
      capacity:
        count: 1
    taints:
    - {key: node.kubernetes.io/sla, value: "980", effect: NoSchedule}
---
apiVersion: resource.k8s.io/v1alpha4
kind: ResourceClaim
metadata: {name: gpu-claim-high-sla}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: nvidia-a100
      tolerations:
      - key: node.kubernetes.io/sla
        operator: Gt
        value: "950"
        effect: NoSchedule
"""


def test_the_yaml_of_kep_5471_is_told_its_version_and_structure_and_checked_further() -> None:
    findings = lint(STORY_4, gates=False)
    assert [(found.rule, found.place.line) for found in findings] == [
        ("unserved-version", 1),
        ("rejected", 12),
        ("rejected", 14),
        ("unserved-version", 18),
        ("rejected", 28),
    ]
    version, attribute, capacity, claims, operator = findings
    assert version.hint.startswith("write apiVersion: resource.k8s.io/v1; there a device has its attributes")
    assert attribute.hint == 'say of which type it is: {string: "32Gi"}'
    assert capacity.hint == 'write {value: "1"}'
    assert claims.hint.endswith("there a request has deviceClassName, selectors, count and tolerations below exactly")
    assert operator.hint == (
        "needs --feature-gates=TaintTolerationComparisonOperators=true "
        "(no Kubernetes release has it so far, Moorage does)"
    )


def test_story_5_without_a_version_and_without_spec_devices() -> None:
    text = "kind: ResourceClaim\nmetadata: {name: c}\nspec: {requests: [{name: gpu, deviceClassName: gpu}]}\n"
    (found,) = lint(text)
    assert found.hint.endswith("write apiVersion: resource.k8s.io/v1")
    hints = [found.hint for found in lint(f"apiVersion: resource.k8s.io/v1\n{text}")]
    assert "requests belongs into spec.devices of a ResourceClaim (spec.spec.devices of a template)" in hints


def test_fields_beside_exactly_belong_below_it() -> None:
    text = (
        claim("")
        .replace("exactly:", "deviceClassName: gpu, exactly:")
        .replace("    - name: gpu\n      ", "    - {name: gpu, ")
    )
    found = [one for one in lint(text[:-1] + "}\n") if one.rule == "unknown-field"]
    assert [one.hint.partition(":")[0] for one in found] == ["write it below exactly"]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1"])
def test_older_versions_are_checked_and_places_are_those_of_the_text(version: str) -> None:
    request = "{name: gpu, deviceClassName: gpu,\n      count: -1}"
    if version != "v1beta1":
        request = "{name: gpu, exactly: {deviceClassName: gpu,\n      count: -1}}"
    text = (
        f"apiVersion: resource.k8s.io/{version}\nkind: ResourceClaim\nmetadata: {{name: c}}\n"
        f"spec:\n  devices:\n    requests:\n    - {request}\n"
    )
    (found,) = lint(text)
    assert (found.rule, found.place.line) == ("rejected", 8)
    assert "spec.devices.requests[0].exactly.count: Invalid value: -1" in found.message


def test_places_in_devices_of_v1beta1() -> None:
    text = published("{name: gpu-0, basic: {attributes: {model: {string: a}},\n    taints: [{key: a, effect: Bad}]}}")
    (found,) = lint(text.replace("/v1\n", "/v1beta1\n"))
    assert (found.rule, found.place.line) == ("rejected", 10)


def test_device_tolerations_need_gates_that_no_release_has() -> None:
    wanted = stream(claim(tolerating("Gt", "5")), pod("  tolerations:\n  - {key: a, operator: Gt, value: '5'}\n"))
    _, outcome = lint_with_outcome(wanted)
    versions = {one.gate.feature: one.versions for one in outcome.requirements}
    assert versions["operators Lt and Gt in device tolerations"] == "no release so far"
    assert versions["operators Lt and Gt in tolerations"] == "Kubernetes 1.35 and later, off by default"
    assert outcome.acceptance is not None
    assert outcome.acceptance.first is None
    assert outcome.acceptance.gates.count("TaintTolerationComparisonOperators") == 1


def test_a_rule_is_not_served_while_its_gate_is_off() -> None:
    rule = (
        "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\n"
        "spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: a, effect: NoExecute}}\n"
    )
    (found,) = lint(rule, gates=False)
    assert found.rule == "unserved-version"
    assert "DRADeviceTaintRules=true (Kubernetes 1.35 and later have it)" in found.hint
    assert lint(rule) == []


def test_a_class_is_missing_only_if_classes_are_given() -> None:
    assert rules_of(claim("", device_class="gpus")) == []
    (found,) = lint(stream(claim("", device_class="gpus"), CLASS))
    assert (found.rule, found.hint) == ("device-class-missing", "did you mean gpu?")
    assert rules_of(stream(claim(""), CLASS)) == []


def test_a_claim_is_missing_only_if_claims_are_given() -> None:
    using = pod("  resourceClaims: [{name: gpu, resourceClaimName: d}]\n")
    assert rules_of(using) == []
    assert rules_of(stream(using, claim("", name="d"))) == []
    (found,) = lint(stream(using, claim("", name="other")))
    assert found.rule == "device-claim-missing"
    findings = lint(stream(using, claim("", name="d, namespace: team")))
    (found,) = [finding for finding in findings if finding.rule == "device-claim-missing"]
    assert found.hint == "it is in namespace team; pods use claims and templates of their own namespace only"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("1 == 1", "it is always true, so it excludes no device"),
        ("2 < 1", "it is always false, so no device matches"),
        ("device.driver == 'a' || true", "the selector is true whatever the device is"),
        ("!(true && device.driver == 'a' || true)", "the selector is false whatever the device is"),
        ("semver('x').isGreaterThan(semver('1.0.0'))", "fails every time"),
    ],
)
def test_constant_selectors(expression: str, words: str) -> None:
    (found,) = lint(claim(f'selectors: [{{cel: {{expression: "{expression}"}}}}]'))
    assert found.rule == "device-selector-constant"
    assert words in found.message


@pytest.mark.parametrize("expression", ["device.driver == 'a'", "device.attributes['a'].b && true", "no good"])
def test_selectors_that_look_at_the_device_or_do_not_compile(expression: str) -> None:
    found = rules_of(claim(f'selectors: [{{cel: {{expression: "{expression}"}}}}]'))
    assert "device-selector-constant" not in found


def test_a_toleration_that_no_published_taint_matches_shows_the_inequality() -> None:
    wanted = claim(tolerating("Gt", "24"))
    assert rules_of(stream(CLASS, wanted, published("{name: gpu-0}"))) == []
    never, nothing = lint(stream(CLASS, wanted, published(tainted("8"))))
    assert never.rule == "device-toleration-never-matches"
    assert "8 > 24 is false" in never.message
    assert nothing.rule == "device-claim-unsatisfiable"
    assert "8 > 24 is false" in nothing.message
    assert rules_of(stream(CLASS, claim(tolerating("Gt", "1")), published(tainted("8")))) == []


def test_a_device_taint_that_a_comparison_cannot_read() -> None:
    found = lint(stream(claim(tolerating("Gt", "24")), published(tainted("low"))))
    assert found[0].rule == "taint-not-comparable"
    assert found[0].message.startswith("device taint value")
    # A node's toleration does not read the taints of devices.
    tolerates = pod("  tolerations:\n  - {key: example.com/budget, operator: Gt, value: '5'}\n")
    assert rules_of(stream(tolerates, published(tainted("low")))) == []


def test_a_toleration_without_an_effect_lets_pods_be_evicted() -> None:
    exists = "tolerations: [{operator: Exists}]"
    (found,) = lint(stream(CLASS, claim(exists), published(tainted("8", "NoExecute"))))
    assert found.rule == "device-toleration-evicts"
    assert rules_of(stream(CLASS, claim(exists), published(tainted("8")))) == []
    staying = "tolerations: [{operator: Exists, effect: NoExecute}]"
    assert rules_of(stream(CLASS, claim(staying), published(tainted("8", "NoExecute")))) == []


def test_other_findings_of_tolerations_hold_for_devices() -> None:
    seconds = tolerating("Gt", "5", "NoExecute").replace("}]", ", tolerationSeconds: 60}]")
    (found,) = lint(claim(seconds))
    assert found.rule == "toleration-seconds-evicts"
    assert "60 s after the taint was added" in found.message
    assert rules_of(claim(tolerating("Gt", str(2**63 - 1)))) == ["toleration-never-matches"]
    assert rules_of(claim(tolerating("Gt", "5", "None"))) == []
    assert rules_of(claim("tolerations: [{expression: \"taint.value == 'x'\"}]")) == ["cel-ignores-key"]
    assert rules_of(claim(tolerating("SemverGt", "5.15.0-91-generic"))) == ["version-is-prerelease"]


@pytest.mark.parametrize(
    ("request_", "devices", "reason"),
    [
        ("count: 2", ["{name: a}"], "asks for 2 on one node, and at most 1 can be had"),
        ("count: 1", [tainted("8")], "1 of 1 devices: "),
        (
            "selectors: [{cel: {expression: \"device.driver == 'x'\"}}]",
            ["{name: a}"],
            "is not true: device.driver == 'x'",
        ),
        ("allocationMode: All", [tainted("8")], "request gpu (class gpu)"),
    ],
)
def test_a_claim_that_nothing_satisfies(request_: str, devices: list[str], reason: str) -> None:
    (found,) = lint(stream(CLASS, claim(request_), published(*devices)))
    assert found.rule == "device-claim-unsatisfiable"
    assert reason in found.message


def test_claims_are_unsatisfiable_only_if_the_nodes_of_slices_are_known() -> None:
    selecting = "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}"
    offer = published("{name: a}", more=selecting)
    assert rules_of(stream(CLASS, claim("count: 2"), offer)) == []  # which nodes it is for is not known
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {gpu: a}}\n"
    assert rules_of(stream(CLASS, claim("count: 2"), offer, node)) == ["device-claim-unsatisfiable"]
    assert rules_of(stream(CLASS, claim("count: 1"), offer, node)) == []
    assert rules_of(claim("count: 2")) == []
    # Without its class: what its selectors would leave is not known, but there are not more devices.
    assert rules_of(stream(claim("count: 1"), published("{name: a}"))) == []
    assert rules_of(stream(claim("count: 2"), published("{name: a}"))) == ["device-claim-unsatisfiable"]


def test_an_incomplete_pool_is_named() -> None:
    (found,) = lint(stream(CLASS, claim("count: 1"), published("{name: a}", slices=2)))
    assert "pool gpu.example.com/n1 is incomplete" in found.message


def _claim(*tolerations: str) -> str:
    listed = "".join(f"        - {one}\n" for one in tolerations)
    return (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec:\n  devices:\n    requests:\n"
        f"    - name: gpu\n      exactly:\n        deviceClassName: gpu\n        tolerations:\n{listed}"
    )


@pytest.mark.parametrize(
    ("tolerations", "redundant"),
    [
        (("{key: a, operator: Equal, value: '9', effect: NoSchedule}", "{key: a, operator: Gt, value: '8'}"), [0]),
        (("{key: a, operator: Exists}", "{key: a, operator: Exists, effect: NoExecute}"), []),
        (("{key: a, operator: Exists}", "{key: a, operator: Exists, effect: NoSchedule}"), [1]),
        (
            (
                "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 300}",
                "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}",
            ),
            [0],
        ),
        (
            (
                "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}",
                "{key: a, operator: Exists, effect: NoExecute}",
            ),
            [1],
        ),
    ],
)
def test_tolerations_of_devices_that_are_redundant(tolerations: tuple[str, ...], redundant: list[int]) -> None:
    found = [one for one in lint(_claim(*tolerations)) if one.rule == "toleration-redundant"]
    paths = [one.place.path for one in found]
    assert paths == [f"spec.devices.requests[0].exactly.tolerations[{index}]" for index in redundant]
    assert all("first" not in one.message + one.hint for one in found)


def test_a_taint_rule_needs_a_selector() -> None:
    rule = (
        "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec:\n%s"
        "  taint: {key: a, effect: NoExecute}\n"
    )
    (found,) = lint(rule % "")
    assert found.rule == "device-taint-rule-unselective"
    assert "and evicts no pod" in found.message
    assert lint(rule % "  deviceSelector: {}\n") == []
    assert lint(rule % "  deviceSelector: {driver: gpu.example.com}\n") == []


def test_a_device_that_several_nodes_can_use_is_counted_once() -> None:
    published_twice = stream(
        CLASS,
        published("{name: gpu-0}", node="n1"),
        published("{name: nic, attributes: {kind: {string: nic}}}", node="all", more="allNodes: true"),
        published("{name: gpu-0}", node="n2", more="nodeName: n2"),
        claim("selectors: [{cel: {expression: \"device.attributes['gpu.example.com'].size() > 3\"}}]"),
    )
    (found,) = [one for one in lint(published_twice) if one.rule == "device-claim-unsatisfiable"]
    assert "3 of 3 devices: selector #0 of the request is not true" in found.message
