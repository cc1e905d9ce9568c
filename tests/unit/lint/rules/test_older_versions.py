"""Manifests of resource.k8s.io in older versions."""

from tests.unit.lint.linting import lint

CLAIM = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu
      count: -1
"""
SLICE = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  pool: {name: p, resourceSliceCount: 1}
  allNodes: true
  devices:
  - name: a
    basic:
      attributes:
        model: {string: x, surprise: 1}
      taints:
      - {key: k}
"""


def test_errors_are_found_where_v1beta1_has_the_field() -> None:
    (finding,) = lint(CLAIM)
    assert (finding.rule, finding.place.line) == ("rejected", 9)
    assert finding.message == "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero"
    rejected, unknown = sorted(lint(SLICE), key=lambda finding: finding.rule)
    assert (rejected.rule, rejected.place.line) == ("rejected", 14)
    assert (unknown.rule, unknown.place.line) == ("unknown-field", 12)


def test_fields_that_only_newer_versions_have_there_are_unknown() -> None:
    mixed = CLAIM.replace("deviceClassName: gpu\n      count: -1", "exactly: {deviceClassName: gpu}")
    unknown = next(finding for finding in lint(mixed) if finding.rule == "unknown-field")
    assert unknown.message == 'unknown field "spec.devices.requests[0].exactly"'
    assert unknown.place.line == 8
    assert "resource.k8s.io/v1" in unknown.hint
    flat = (
        SLICE.replace("    basic:\n", "")
        .replace("      attributes", "    attributes")
        .replace("        model", "      model")
    )
    paths = [finding.message for finding in lint(flat.replace("      taints:\n      - {key: k}\n", ""))]
    assert 'unknown field "spec.devices[0].attributes"' in paths
