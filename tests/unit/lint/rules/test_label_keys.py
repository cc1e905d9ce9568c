"""matchLabelKeys in templates: conflicts that wait for the pods, and keys the pods will not have."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, pod, rules_of, workload

HIDDEN, ABSENT, HASH = "template-pods-rejected", "match-label-key-absent", "pod-template-hash-absent"
SELECTOR = "{matchLabels: {app: web}}"


def term(keys: str, *, selector: str = SELECTOR, preferred: bool = False, anti: bool = True, indent: int = 6) -> str:
    one = f"{{topologyKey: zone, labelSelector: {selector}, {keys}}}"
    part = (
        f"preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, podAffinityTerm: {one}}}]"
        if preferred
        else f"requiredDuringSchedulingIgnoredDuringExecution: [{one}]"
    )
    return f"{' ' * indent}affinity: {{{'podAntiAffinity' if anti else 'podAffinity'}: {{{part}}}}}\n"


def spread(keys: str, selector: str = SELECTOR) -> str:
    constraint = f"maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {selector}"
    return f"      topologySpreadConstraints: [{{{constraint}, matchLabelKeys: {keys}}}]\n"


def job(pod_spec: str, *, cron: bool = False) -> str:
    extra = "      restartPolicy: Never\n"
    template = (
        f"  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n{extra}{pod_spec}"
        "      containers: [{name: app, image: 'app:1'}]\n"
    )
    if not cron:
        return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec:\n{template}"
    nested = "".join(f"    {line}\n" for line in template.splitlines())
    return (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: '0 0 * * *'\n"
        f"  jobTemplate:\n    spec:\n{nested}"
    )


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
@pytest.mark.parametrize(
    ("pod_spec", "path"),
    [
        (
            term("matchLabelKeys: [app]"),
            "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]",
        ),
        (
            term("matchLabelKeys: [app]", preferred=True),
            "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys[0]",
        ),
        (
            term("matchLabelKeys: [app]", anti=False, selector="{matchExpressions: [{key: app, operator: Exists}]}"),
            "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]",
        ),
        (spread("[app]"), "topologySpreadConstraints[0].matchLabelKeys[0]"),
    ],
)
def test_a_key_that_is_in_the_selector_too(kind: str, pod_spec: str, path: str) -> None:
    findings = [finding for finding in lint(workload(kind, pod_spec)) if finding.rule == HIDDEN]
    (finding,) = findings
    assert finding.place.path == f"spec.template.spec.{path}"
    assert finding.message.startswith(f"the {kind} is accepted, but its pods will be refused: spec.")
    assert '"app": exists in both matchLabelKeys and labelSelector' in finding.message
    assert "remove the key from one of them" in finding.hint


def test_what_the_controller_adds_counts() -> None:
    selector = "{matchExpressions: [{key: pod-template-hash, operator: Exists}]}"
    assert HIDDEN in rules_of(workload("Deployment", term("matchLabelKeys: [pod-template-hash]", selector=selector)))


@pytest.mark.parametrize("cron", [False, True])
def test_jobs(cron: bool) -> None:
    findings = lint(job(term("matchLabelKeys: [app]"), cron=cron))
    (hidden,) = [finding for finding in findings if finding.rule == HIDDEN]
    prefix = "spec.jobTemplate.spec.template.spec" if cron else "spec.template.spec"
    assert hidden.place.path.startswith(f"{prefix}.affinity.")
    assert rules_of(job(term("matchLabelKeys: ['batch.kubernetes.io/controller-uid']"), cron=cron)) == []
    assert rules_of(job(term("matchLabelKeys: [pod-template-hash]"), cron=cron)) == [HASH]


def test_what_is_wrong_with_the_template_already_is_told_once() -> None:
    found = rules_of(
        workload(
            "Deployment", term("matchLabelKeys: [tenant], mismatchLabelKeys: [tenant]"), labels="{app: web, tenant: t}"
        )
    )
    assert "rejected" in found
    assert HIDDEN not in found


def test_a_pod_with_such_a_conflict_is_simply_rejected() -> None:
    text = pod(term("matchLabelKeys: [app]", indent=2), metadata=", labels: {app: web}")
    (finding,) = lint(text)
    assert finding.rule == "rejected"
    assert finding.place.path.endswith("[0].matchLabelKeys[0]")


def test_a_pod_that_exists_already_has_its_keys_merged() -> None:
    merged = "{matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a]}]}"
    body = term("matchLabelKeys: [tier]", selector=merged, indent=2)
    assert rules_of(pod(body, metadata=", labels: {app: web, tier: a}")) == ["rejected"]
    assert rules_of(pod(body, metadata=", labels: {app: web, tier: a}, uid: abc")) == []


@pytest.mark.parametrize(
    "keys", ["matchLabelKeys: [pod-template-hash]", "matchLabelKeys: [tenant]", "mismatchLabelKeys: [tenant]"]
)
def test_keys_that_are_fine(keys: str) -> None:
    assert rules_of(workload("Deployment", term(keys), labels="{app: web, tenant: t}")) == []


@pytest.mark.parametrize("keys", ["matchLabelKeys: [tenent]", "mismatchLabelKeys: [tenent]"])
def test_keys_no_pod_will_have(keys: str) -> None:
    (finding,) = [
        one for one in lint(workload("StatefulSet", term(keys), labels="{app: web, tenant: t}")) if one.rule == ABSENT
    ]
    assert "the pods of this StatefulSet will have no label 'tenent'" in finding.message
    assert "did you mean tenant?" in finding.hint
    assert ABSENT in rules_of(workload("Deployment", spread("[version]")))
    assert ABSENT in rules_of(pod(term(keys, indent=2), metadata=", labels: {app: web}"))


@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        ("StatefulSet", "controller-revision-hash"),
        ("DaemonSet", "controller-revision-hash"),
        ("ReplicaSet", "remove the key"),
    ],
)
def test_pod_template_hash_where_there_is_none(kind: str, instead: str) -> None:
    (finding,) = lint(workload(kind, term("matchLabelKeys: [pod-template-hash]")))
    assert finding.rule == HASH
    assert instead in finding.hint
    assert rules_of(workload(kind, spread("[pod-template-hash]"))) == [HASH]


def test_a_replica_set_of_a_deployment_has_the_hash() -> None:
    labels = "{app: web, pod-template-hash: abc}"
    assert rules_of(workload("ReplicaSet", term("matchLabelKeys: [pod-template-hash]"), labels=labels)) == []


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_the_revision_hash_is_right_for_them(kind: str) -> None:
    assert rules_of(workload(kind, term("matchLabelKeys: [controller-revision-hash]"))) == []
