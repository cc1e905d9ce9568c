"""Which gates the input needs, where first, and which versions accept it."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, lint_with_outcome, pod, stream, tolerating, workload

GT = tolerating("{key: a, operator: Gt, value: '5'}")
SEMVER = tolerating("{key: a, operator: SemverGt, value: 1.2.3}")
CEL = tolerating("{expression: \"taint.key == 'a'\"}")
PLAIN = tolerating("{key: a, operator: Exists}")
TERM = "{topologyKey: zone, labelSelector: {matchLabels: {app: web}}, %s: [pod-template-hash]}"
AFFINITY = "      affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" + TERM + "]}}\n"
MATCH, MISMATCH = (workload("Deployment", AFFINITY % keys) for keys in ("matchLabelKeys", "mismatchLabelKeys"))
SPREAD = workload(
    "Deployment",
    "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, "
    "labelSelector: {}, matchLabelKeys: [pod-template-hash]}]\n",
)
TOLERATION_GATE, SEMVER_GATE, CEL_GATE = (
    "TaintTolerationComparisonOperators",
    "TaintTolerationNodeAffinitySemverComparisonOperators",
    "TaintTolerationCEL",
)


@pytest.mark.parametrize("gates", [True, False])
@pytest.mark.parametrize(
    ("texts", "names", "sentence"),
    [
        ([PLAIN], [], "No feature gates are needed; every supported Kubernetes version accepts these features."),
        (
            [GT],
            [TOLERATION_GATE],
            f"Kubernetes 1.35 and later accept it as written with --feature-gates={TOLERATION_GATE}=true.",
        ),
        ([SEMVER], [SEMVER_GATE], "No Kubernetes release so far accepts all of it as written."),
        ([CEL, GT], [CEL_GATE, TOLERATION_GATE], "No Kubernetes release so far accepts all of it as written."),
        (
            [MATCH],
            ["MatchLabelKeysInPodAffinity"],
            "Kubernetes 1.31 and later accept it as written, and 1.29 and later with "
            "--feature-gates=MatchLabelKeysInPodAffinity=true.",
        ),
        (
            [SPREAD, MISMATCH],
            ["MatchLabelKeysInPodTopologySpread", "MatchLabelKeysInPodAffinity"],
            "Kubernetes 1.31 and later accept it as written, and 1.29 and later with "
            "--feature-gates=MatchLabelKeysInPodAffinity=true.",
        ),
        (
            [MATCH, GT],
            ["MatchLabelKeysInPodAffinity", TOLERATION_GATE],
            f"Kubernetes 1.35 and later accept it as written with --feature-gates={TOLERATION_GATE}=true.",
        ),
    ],
)
def test_needs(gates: bool, texts: list[str], names: list[str], sentence: str) -> None:
    _, outcome = lint_with_outcome(*texts, gates=gates)
    assert [requirement.gate.name for requirement in outcome.requirements] == names
    assert outcome.acceptance is not None
    assert outcome.acceptance.sentence == sentence
    assert not outcome.rejected_otherwise


def test_the_first_place_that_needs_a_gate_is_named() -> None:
    _, outcome = lint_with_outcome(PLAIN, stream(PLAIN, GT, GT))
    (requirement,) = outcome.requirements
    assert requirement.place.position == "1.yaml:14"
    assert requirement.place.described == "Pod default/web, spec.tolerations[0].operator (1.yaml:14)"


@pytest.mark.parametrize(
    "text", [tolerating("{value: x}"), pod("  hostNetwork: 1\n"), tolerating("{key: a, operator: Nope}")]
)
def test_what_is_rejected_for_other_reasons(text: str) -> None:
    assert lint_with_outcome(text, gates=False)[1].rejected_otherwise


def test_no_version_is_said_to_accept_what_is_rejected() -> None:
    needing = tolerating("{key: sla, operator: Gt, value: '950', effect: NoSchedule}")
    accepted = "accept it as written"
    rejections = (
        pod("  terminationGracePeriodSeconds: -1\n  restartPolicy: Nope\n", name="other"),
        pod("  nodeName: 5\n", name="other"),
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: x}\n",
        tolerating("{key: sla, operator: Gt, value: '0950', effect: NoSchedule}"),
    )
    for gates in (False, True):
        _, outcome = lint_with_outcome(needing, gates=gates)
        assert outcome.acceptance is not None
        assert accepted in outcome.acceptance.sentence
        for rejected in rejections:
            _, outcome = lint_with_outcome(stream(needing, rejected), gates=gates)
            assert outcome.acceptance is not None
            assert accepted not in outcome.acceptance.sentence, rejected
            assert outcome.acceptance.sentence.endswith("what is rejected for other reasons, no version accepts.")


def test_errors_behind_a_disabled_gate_are_reported() -> None:
    hidden = tolerating("{key: sla, operator: Gt, value: '0950', effect: NoSchedule}")
    messages = [finding.message for finding in lint(hidden, gates=False) if finding.rule == "rejected"]
    assert len(messages) == 2
    assert messages[1].startswith("also with the feature gate on: spec.tolerations[0].value: Invalid value:")
