"""What is wrong before there is an object."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, lint_with_outcome, pod, rules_of, tolerating

from moorage.lint.finding import Severity


@pytest.mark.parametrize(
    "data",
    [b"a: [", b"\x00\xff", b"{", b"a: b: c", b"\xff\xfe\x00", b"[" * 5_000, b"a: &a [*a]"],
)
def test_unreadable(data: bytes) -> None:
    findings, outcome = lint_with_outcome(data)
    assert [finding.rule for finding in findings] == ["unreadable"]
    assert outcome.unreadable == 1


def test_a_bad_document_does_not_hide_the_others() -> None:
    findings, outcome = lint_with_outcome("a: [\n---\n" + tolerating("{key: a, operator: Lt, value: '0'}"))
    assert [finding.rule for finding in findings] == ["unreadable", "toleration-never-matches"]
    assert outcome.objects == 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n\t- b\n", "spaces"),
        ("{{ .Values.x }}: 1\n", "helm template"),
        ("  replicas: {{ .n }}\n  b: c\n", "helm template"),
    ],
)
def test_hints_for_common_mistakes_of_syntax(text: str, hint: str) -> None:
    (finding,) = lint(text)
    assert hint in finding.hint
    assert finding.place.excerpt.line


@pytest.mark.parametrize("text", ["a: 1\n", "- a\n", "just text\n", "42\n", "kind: Pod\n", "apiVersion: v1\n"])
def test_not_an_object(text: str) -> None:
    assert rules_of(text) == ["not-an-object"]


@pytest.mark.parametrize("text", ["a: 1\n", "- a\n", "just text\n"])
def test_a_directory_may_hold_other_yaml(text: str) -> None:
    findings, outcome = lint_with_outcome(text, explicit=False)
    assert findings == []
    assert outcome.other_documents == 1
    assert lint("kind: Pod\n", explicit=False)


@pytest.mark.parametrize("text", ["", "---\n---\n", "# nothing\n", "null\n", "\ufeff"])
def test_empty_input_has_no_findings_and_no_objects(text: str) -> None:
    findings, outcome = lint_with_outcome(text)
    assert (findings, outcome.objects) == ([], 0)


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("v1", "Deployment", "write apiVersion: apps/v1"),
        ("extensions/v1beta1", "Deployment", "write apiVersion: apps/v1"),
        ("apps/v1", "Pod", "write apiVersion: v1"),
        ("batch/v1beta1", "CronJob", "write apiVersion: batch/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "write apiVersion: policy/v1"),
        ("v1", "pod", "did you mean Pod?"),
        ("apps/v1", "Deploymnet", "did you mean Deployment?"),
        ("v1", "Whatever", ""),
    ],
)
def test_unserved_versions(version: str, kind: str, hint: str) -> None:
    (finding,) = lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert finding.rule == "unserved-version"
    assert finding.message == f'no matches for kind "{kind}" in version "{version}"'
    assert finding.hint == hint


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "ComponentStatus"),
        ("apps.kruise.io/v1alpha1", "StatefulSet"),
        ("batch.volcano.sh/v1alpha1", "Job"),
    ],
)
def test_kinds_that_are_passed_over(version: str, kind: str) -> None:
    findings, outcome = lint_with_outcome(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert findings == []
    assert outcome.unchecked_kinds == {kind: 1}


def test_unknown_fields_are_warnings_and_strictly_errors() -> None:
    text = pod("  tolerationz: []\n")
    (finding,) = lint(text)
    assert (finding.rule, finding.severity) == ("unknown-field", Severity.WARNING)
    assert finding.message == 'unknown field "spec.tolerationz"'
    assert finding.hint == "did you mean tolerations?"
    assert finding.place.line == 5
    (strict,) = lint(text, strict=True)
    assert strict.severity == Severity.ERROR
    assert strict.message == 'strict decoding error: unknown field "spec.tolerationz"'


def test_fields_one_level_too_high() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  tolerations: []\n"
        "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
        "    spec: {containers: [{name: a, image: b}]}\n"
    )
    (finding,) = lint(text)
    assert finding.hint == "tolerations belongs into the pod's spec (spec.template.spec in a workload)"


def test_duplicate_fields() -> None:
    text = pod("  hostNetwork: false\n  hostNetwork: true\n")
    (finding,) = lint(text)
    assert (finding.rule, finding.message) == ("duplicate-field", 'duplicate field "spec.hostNetwork"')
    (strict,) = lint(text, strict=True)
    assert strict.severity == Severity.ERROR


@pytest.mark.parametrize(
    ("toleration", "hint"),
    [
        ("{key: a, operator: Gt, value: 950}", 'quote it: "950"'),
        ("{key: a, operator: Equal, value: true}", 'quote it: "true"'),
        ("{key: a, operator: Equal, value: no}", 'quote it: "no"'),
        ("{key: a, operator: SemverGt, value: 5.10}", 'quote it: "5.10"'),
        ("{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: '30'}", "write it without quotes"),
    ],
)
def test_values_of_the_wrong_type(toleration: str, hint: str) -> None:
    (finding,) = lint(tolerating(toleration))
    assert finding.rule == "rejected"
    assert finding.message.startswith('Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal ')
    assert finding.hint.startswith(hint)
    assert finding.place.line == 6


def test_quantities() -> None:
    (finding,) = lint(pod("").replace("image: 'app:1'", "image: 'app:1', resources: {limits: {cpu: 1x}}"))
    assert finding.hint == "write a quantity, such as 500m, 2 or 1Gi"


def test_lists_are_taken_apart() -> None:
    items = "".join(f"- apiVersion: v1\n  kind: Pod\n  metadata: {{name: p{i}}}\n  spec: {{}}\n" for i in range(3))
    findings, outcome = lint_with_outcome(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert outcome.objects == 3
    assert [finding.place.line for finding in findings] == [7, 11, 15]
    assert {finding.message for finding in findings} == {"spec.containers: Required value"}


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("extensions/v1beta1", "Ingress", "write apiVersion: networking.k8s.io/v1"),
        ("networking.k8s.io/v1beta1", "Ingress", "write apiVersion: networking.k8s.io/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", "PodSecurityPolicy was removed in Kubernetes 1.25"),
        ("batch/v1beta1", "CronJob", "write apiVersion: batch/v1"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "write apiVersion: autoscaling/v2"),
        ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", "write apiVersion: rbac.authorization.k8s.io/v1"),
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "write apiVersion: apiextensions.k8s.io/v1"),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "write apiVersion: flowcontrol.apiserver.k8s.io/v1"),
        ("networking.k8s.io/v1", "Ingres", "did you mean Ingress?"),
        ("events.k8s.io/v1beta1", "Event", "write apiVersion: v1"),
    ],
)
def test_versions_that_are_gone_are_found_for_kinds_that_are_not_checked(version: str, kind: str, hint: str) -> None:
    (found,) = lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert found.rule == "unserved-version"
    assert found.message == f'no matches for kind "{kind}" in version "{version}"'
    assert found.hint.startswith(hint)


@pytest.mark.parametrize(
    "version_and_kind",
    [
        ("rbac.authorization.k8s.io/v1", "RoleList"),
        ("scheduling.k8s.io/v1alpha2", "Workload"),
        ("gateway.networking.k8s.io/v1beta1", "Gateway"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ("example.com/v1beta1", "Deployment"),
        ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
    ],
)
def test_kinds_that_are_served_or_custom_are_passed_over(version_and_kind: tuple[str, str]) -> None:
    version, kind = version_and_kind
    assert lint(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n") == []


def test_that_our_own_server_calls_no_webhooks_is_no_finding() -> None:
    hooks = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- {name: a.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://example.com"}}
"""
    assert lint(hooks) == []


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("item", ["null", "5", "a: 1"])
def test_an_item_of_a_list_that_is_no_object_is_found_in_files_and_directories(item: str, explicit: bool) -> None:
    text = f"apiVersion: v1\nkind: List\nitems:\n- {item}\n"
    assert [(finding.rule, finding.place.line) for finding in lint(text, explicit=explicit)] == [("not-an-object", 4)]


def test_a_binary_file_is_named_without_an_excerpt() -> None:
    (finding,) = lint(b"\x7fELF\x02\x01\x00\x00\n")
    assert (finding.rule, finding.message) == ("unreadable", "this is a binary file (a program), not YAML or JSON")
    assert finding.place.excerpt.line == ""
