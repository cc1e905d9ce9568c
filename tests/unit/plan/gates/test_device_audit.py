"""What depends on the gates of devices, and what would happen to it without."""

from pathlib import Path

import pytest

from moorage.lint.sources import sources_of
from moorage.model.gates import GATES, gates_from
from moorage.plan.gates.audit import Finding, audit
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.audit import AuditText

OFFER = """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu, uid: 11111111-1111-4111-8111-111111111112}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s, uid: 11111111-1111-4111-8111-111111111113}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0TAINTS}]
---
"""
TAINTS = ', taints: [{key: sla, value: "960", effect: NoExecute, timeAdded: "2026-01-01T00:00:00Z"}]'
TOLERATIONS = 'tolerations: [{key: sla, operator: Gt, value: "950", effect: NoExecute}]'


def claim(request: str, more: str = "", kind: str = "ResourceClaim") -> str:
    devices = f"{{devices: {{requests: [{{name: gpu, {request}}}]}}}}"
    spec = devices if kind == "ResourceClaim" else f"{{spec: {devices}}}"
    return f"apiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: c{more}}}\nspec: {spec}\n"


EXISTING = ", uid: 11111111-1111-4111-8111-111111111114"


def findings(text: str, tmp_path: Path) -> dict[str, Finding]:
    """Return the findings about the claim, its template or the rule, by gate."""
    file = tmp_path / "input.yaml"
    file.write_text(text)
    planner = Planner(Settings(gates_from({"AllAlpha": True, "AllBeta": True})))
    planner.load(sources_of([str(file)]), announces_updates=False)
    assert not [str(note) for note in planner.inventory.notes if note.level == "error"]
    found = audit(planner.inventory, GATES)
    return {one.gate.name: one for one in found if one.item.key.name in ("c", "r")}


def said(finding: Finding) -> str:
    return " | ".join(consequence.text for consequence in finding.consequences)


def test_a_new_claim_is_rejected_or_loses_its_fields(tmp_path: Path) -> None:
    exact = f"exactly: {{deviceClassName: gpu, capacity: {{requests: {{memory: 1Gi}}}}, {TOLERATIONS}}}"
    found = findings(claim(exact), tmp_path)
    assert set(found) == {"TaintTolerationComparisonOperators", "DRADeviceTaints", "DRAConsumableCapacity"}
    operator = found["TaintTolerationComparisonOperators"]
    assert operator.paths == ("spec.devices.requests[0].exactly.tolerations[0].operator",)
    assert 'Unsupported value: "Gt": supported values: "Equal", "Exists"' in said(operator)
    assert said(found["DRAConsumableCapacity"]) == "loses the fields without a word when it is created"


def test_a_claim_that_waits_can_only_be_allocated_with_its_operator(tmp_path: Path) -> None:
    exact = claim(f"exactly: {{deviceClassName: gpu, {TOLERATIONS}}}", EXISTING)
    found = findings(OFFER.replace("TAINTS", TAINTS) + exact, tmp_path)
    text = said(found["TaintTolerationComparisonOperators"])
    assert "it cannot be allocated while the gate is off: request gpu (class gpu)" in text
    assert found["TaintTolerationComparisonOperators"].breaks
    found = findings(OFFER.replace("TAINTS", "") + exact, tmp_path)
    assert not found["TaintTolerationComparisonOperators"].breaks
    found = findings(exact, tmp_path)
    assert "the input has no ResourceSlices" in said(found["TaintTolerationComparisonOperators"])


@pytest.mark.parametrize(("taints", "breaks"), [(TAINTS, True), ("", False)])
def test_pods_of_an_allocated_claim_are_evicted_if_nothing_else_tolerates(
    tmp_path: Path, taints: str, breaks: bool
) -> None:
    results = f"[{{request: gpu, driver: gpu.example.com, pool: n1, device: gpu-0, {TOLERATIONS}}}]"
    text = claim(f"exactly: {{deviceClassName: gpu, {TOLERATIONS}}}", EXISTING)
    text += f"status: {{allocation: {{devices: {{results: {results}}}}}}}\n"
    found = findings(OFFER.replace("TAINTS", taints) + text, tmp_path)["TaintTolerationComparisonOperators"]
    assert found.breaks is breaks
    evicted = "would be evicted: device gpu.example.com/n1/gpu-0 has the taint sla=960:NoExecute"
    assert (evicted in said(found)) is breaks


def test_claims_of_a_template_and_a_rule(tmp_path: Path) -> None:
    rule = (
        "---\napiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\n"
        "spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: a, effect: NoExecute}}\n"
    )
    exact = claim("firstAvailable: [{name: a, deviceClassName: gpu}]", EXISTING, "ResourceClaimTemplate")
    found = findings(exact + rule, tmp_path)
    assert "new claims of it are rejected" in said(found["DRAPrioritizedList"])
    assert found["DRADeviceTaintRules"].breaks


def test_locked_gates_cannot_be_disabled(tmp_path: Path) -> None:
    found = findings(claim("exactly: {deviceClassName: gpu, adminAccess: true}"), tmp_path)
    assert not found["DRAAdminAccess"].breaks
    text = "\n".join(AuditText().lines(list(found.values()), GATES))
    assert "DynamicResourceAllocation: is locked on, and cannot be disabled" in text
    assert "It is locked on, and cannot be disabled." in text


def test_a_slice_that_compares_versions_of_nodes_needs_the_gate_of_versions(tmp_path: Path) -> None:
    slice_ = OFFER.split("---\n")[1].replace("TAINTS", "").replace("name: s,", "name: c,")
    by_version = (
        "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: fw, operator: SemverGt, values: [1.2.0]}]}]}"
    )
    published = slice_.replace("nodeName: n1", by_version)
    found = findings(published, tmp_path)
    assert set(found) == {"TaintTolerationNodeAffinitySemverComparisonOperators"}
    finding = found["TaintTolerationNodeAffinitySemverComparisonOperators"]
    assert "its node selectors that compare versions choose no node" in said(finding)
    assert "it stays; a new one like it is rejected" in said(finding)
