"""`--kubernetes-version`: the gates of a release, and the versions that it serves."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.unit.lint.linting import pod, tolerating

import moorage
from moorage.cli.commands.lint import command
from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.facts.served_kinds import SERVED_KINDS, first_release, served_kinds, version_of_kind
from moorage.lint.finding import Finding
from moorage.lint.sources import Source
from moorage.model.gates import GATES, GateError, Stage, gates_from
from moorage.model.kubernetes_version import NEWEST_MINOR, OLDEST_MINOR, minor_version

CLAIM = """\
apiVersion: resource.k8s.io/{version}
kind: ResourceClaim
metadata: {{name: claim}}
spec: {{devices: {{requests: [{{name: gpu, {request}}}]}}}}
"""
EXACTLY, FLAT = "exactly: {deviceClassName: gpu}", "deviceClassName: gpu"
AFFINITY = """\
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchLabels: {tier: other}}, matchLabelKeys: [app]}
"""


def found(text: str, release: int, **gates: bool) -> list[Finding]:
    linter = Linter(gates_from(gates, release), frozenset(rules()))
    return [*linter.lint(Source("0.yaml"), BytesIO(text.encode())), *linter.finish()]


@pytest.mark.parametrize(
    ("text", "minor"),
    [("1.33", 33), ("v1.33", 33), ("1.36.4", 36), (" v1.29.0-gke.1 ", 29)],
)
def test_versions(text: str, minor: int) -> None:
    assert minor_version(text) == minor


@pytest.mark.parametrize("text", ["", "1", "1.28", "1.37", "2.33", "1.x", "33", "1.٣٣", "1.0033000"])
def test_versions_that_are_not_known(text: str) -> None:
    with pytest.raises(ValueError, match=r"known versions: 1\.29, 1\.30, .*, 1\.36$"):
        minor_version(text)


@pytest.mark.parametrize(
    ("name", "release", "stage", "default", "locked"),
    [
        ("MatchLabelKeysInPodAffinity", 29, Stage.ALPHA, False, False),
        ("MatchLabelKeysInPodAffinity", 31, Stage.BETA, True, False),
        ("MatchLabelKeysInPodAffinity", 33, Stage.GA, True, True),
        ("DynamicResourceAllocation", 31, Stage.ALPHA, False, False),
        ("DynamicResourceAllocation", 33, Stage.BETA, False, False),
        ("DynamicResourceAllocation", 34, Stage.GA, True, False),
        ("DynamicResourceAllocation", 35, Stage.GA, True, True),
        ("DRAAdminAccess", 35, Stage.BETA, True, False),
        ("TaintTolerationComparisonOperators", 35, Stage.ALPHA, False, False),
    ],
)
def test_a_gate_in_a_release(name: str, release: int, stage: Stage, default: bool, locked: bool) -> None:
    [gate] = [gate for gate in GATES if gate.name == name]
    of_release = gate.in_release(release)
    assert of_release is not None
    assert (of_release.stage, of_release.default, of_release.locked) == (stage, default, locked)
    assert (name in gates_from({}, release).names) is default


@pytest.mark.parametrize("gate", [gate for gate in GATES if gate.releases], ids=lambda gate: gate.name)
def test_the_newest_release_has_the_gates_as_moorage_has_them(gate: object) -> None:
    newest = gate.in_release(NEWEST_MINOR)  # type: ignore[attr-defined]
    if gate.name == "MatchLabelKeysInPodAffinity":  # type: ignore[attr-defined]
        assert newest.locked  # Moorage lets it be turned off, and calls it beta so that AllBeta=false does, too
    else:
        assert newest == gate


def test_gates_that_a_release_does_not_have() -> None:
    with pytest.raises(
        GateError, match=r"TaintTolerationComparisonOperators \(since 1\.35\) \(known gates of Kub.* 1\.33: "
    ):
        gates_from({"TaintTolerationComparisonOperators": True}, 33)
    with pytest.raises(GateError, match=r"TaintTolerationCEL \(in no release so far\)"):
        gates_from({"TaintTolerationCEL": True}, 36)
    with pytest.raises(GateError, match="unrecognized feature gate: Foo \\(known"):
        gates_from({"Foo": True}, 30)
    with pytest.raises(
        GateError, match="cannot set feature gate MatchLabelKeysInPodAffinity to false, feature is locked"
    ):
        gates_from({"MatchLabelKeysInPodAffinity": False}, 33)
    assert "MatchLabelKeysInPodAffinity" not in gates_from({"MatchLabelKeysInPodAffinity": False}, 32).names
    assert "DRADeviceTaints" in gates_from({"AllAlpha": True}, 33).names  # without what it needs, as it was then


@pytest.mark.parametrize(
    ("version", "kind", "first", "last"),
    [
        ("resource.k8s.io/v1", "ResourceClaim", 34, 36),
        ("resource.k8s.io/v1beta2", "ResourceClaim", 33, 36),
        ("resource.k8s.io/v1beta1", "ResourceSlice", 32, 36),
        ("resource.k8s.io/v1alpha3", "ResourceClaim", 31, 33),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule", 33, 36),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", 36, 36),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", 30, 36),
        ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy", 29, 33),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 29, 31),
        ("apps/v1", "Deployment", 29, 36),
    ],
)
def test_which_releases_serve_a_version(version: str, kind: str, first: int, last: int) -> None:
    releases = [n for n in range(OLDEST_MINOR, NEWEST_MINOR + 1) if kind in served_kinds(n).get(version, ())]
    assert releases == list(range(first, last + 1))
    assert first_release(version, kind) == first


def test_the_table_of_releases_ends_in_what_is_served_now() -> None:
    assert served_kinds() is served_kinds(NEWEST_MINOR) is SERVED_KINDS
    before = served_kinds(35)
    assert set(before) - set(SERVED_KINDS) == {"scheduling.k8s.io/v1alpha1"}
    assert version_of_kind("ResourceClaim", 33) == "resource.k8s.io/v1beta2"
    assert version_of_kind("ResourceClaim") == "resource.k8s.io/v1"
    assert version_of_kind("Event", 33) == "v1"


@pytest.mark.parametrize(
    ("version", "request_text", "release", "hint"),
    [
        ("v1", EXACTLY, 33, "Kubernetes 1.33 serves ResourceClaim in resource.k8s.io/v1beta2"),
        ("v1", EXACTLY, 32, "Kubernetes 1.32 serves ResourceClaim in resource.k8s.io/v1beta1"),
        ("v1", EXACTLY, 34, None),
        ("v1beta1", FLAT, 31, "Kubernetes 1.31 serves ResourceClaim in resource.k8s.io/v1alpha3"),
        ("v1beta1", FLAT, 32, None),
        ("v1alpha3", FLAT, 32, None),
        ("v1alpha3", FLAT, 34, "Kubernetes 1.34 serves ResourceClaim in resource.k8s.io/v1; there a request has"),
    ],
)
def test_a_version_that_a_release_does_not_serve(
    version: str, request_text: str, release: int, hint: str | None
) -> None:
    findings = found(CLAIM.format(version=version, request=request_text), release)
    assert [finding.rule for finding in findings] == ([] if hint is None else ["unserved-version"])
    if hint is not None:
        assert findings[0].hint.startswith(hint)
        assert findings[0].message == f'no matches for kind "ResourceClaim" in version "resource.k8s.io/{version}"'


def test_a_kind_that_comes_later() -> None:
    policy = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: a}\n"
    [unserved] = [finding for finding in found(policy, 31) if finding.rule == "unserved-version"]
    assert unserved.hint == "Kubernetes 1.36 and later serve it"


def test_fields_and_operators_by_release() -> None:
    text = pod(AFFINITY, metadata=", labels: {app: web}")
    [dropped] = found(text, 30)
    assert (dropped.rule, dropped.hint[:30]) == ("field-dropped", "needs --feature-gates=MatchLab")
    assert found(text, 30, MatchLabelKeysInPodAffinity=True) == found(text, 31) == []
    [refused] = found(tolerating("{key: a, operator: Gt, value: '5'}"), 33)
    assert refused.message.endswith('Unsupported value: "Gt": supported values: "Equal", "Exists"')
    assert refused.hint == (
        "Kubernetes 1.33 does not have the feature gate TaintTolerationComparisonOperators, 1.35 and later do"
    )
    [refused] = found(tolerating("{key: a, operator: Gt, value: '5'}"), 35)
    assert refused.message.endswith('supported values: "Equal", "Exists", "Lt", "Gt"')
    assert "needs --feature-gates=TaintTolerationComparisonOperators=true" in refused.hint


def test_claims_of_pods_are_dropped_where_devices_are_off() -> None:
    claims = "  resourceClaims: [{name: a, resourceClaimName: c}]\n"
    [dropped] = found(pod(claims), 33)
    assert dropped.message == (
        "the API server silently drops resourceClaims: the feature gate DynamicResourceAllocation is off"
    )
    assert found(pod(claims), 33, DynamicResourceAllocation=True) == found(pod(claims), 34) == []
    later = CLAIM.format(
        version="v1beta2", request="exactly: {deviceClassName: gpu, capacity: {requests: {memory: 1Gi}}}"
    )
    [dropped] = found(later, 33, AllAlpha=True, AllBeta=True)
    assert dropped.message.endswith("drops capacity: Kubernetes 1.33 does not know it")


def test_rules_of_device_taints_before_they_had_a_gate_of_their_own() -> None:
    rule = (
        "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {name: a}\n"
        "spec: {deviceSelector: {driver: a.example.com}, taint: {key: a, effect: NoSchedule}}\n"
    )
    [unserved] = found(rule, 33)
    assert unserved.hint.startswith("needs --feature-gates=DRADeviceTaints=true")
    assert found(rule, 33, DRADeviceTaints=True) == []


def test_the_library_takes_a_version() -> None:
    claim = CLAIM.format(version="v1", request=EXACTLY)
    assert [finding.rule for finding in moorage.lint(claim, kubernetes_version="1.33").findings] == ["unserved-version"]
    assert moorage.lint(claim, kubernetes_version="1.36").is_clean
    with pytest.raises(moorage.MoorageError, match=r"unknown Kubernetes version '1\.2'"):
        moorage.lint(claim, kubernetes_version="1.2")
    with pytest.raises(moorage.MoorageError, match="in no release so far"):
        moorage.lint(claim, kubernetes_version="1.36", gates={"TaintTolerationCEL": True})


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--kubernetes-version", "1.33"], 1, "hint: Kubernetes 1.33 serves ResourceClaim in resource.k8s.io/v1beta2"),
        (["--kubernetes-version", "v1.34.2"], 0, "No findings"),
        (["--kubernetes-version", "1.20"], 2, "known versions: 1.29, 1.30, 1.31"),
        (["--kubernetes-version", "1.36", "--feature-gates", "TaintTolerationCEL=true"], 2, "in no release so far"),
    ],
)
def test_the_command_takes_a_version(tmp_path: Path, options: list[str], code: int, text: str) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM.format(version="v1", request=EXACTLY))
    result = CliRunner().invoke(command, [*options, str(file)], standalone_mode=False)
    if code == 2:
        assert isinstance(result.exception, click.UsageError)
        assert text in str(result.exception)
    else:
        assert (result.return_value, text in result.output) == (code, True)
