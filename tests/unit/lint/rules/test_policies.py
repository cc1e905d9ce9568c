"""Policies without a binding and bindings without a policy."""

from tests.unit.lint.linting import lint, stream
from tests.unit.lint.policy_manifests import MUTATING, VALIDATING, binding, findings, policy

from moorage.lint.finding import Finding, Severity


def test_policy_with_its_binding_has_no_finding() -> None:
    for kind in (VALIDATING, MUTATING):
        assert findings(policy("a", kind), binding("a", kind)) == []
        assert findings(binding("a", kind), policy("a", kind)) == []


def test_policy_is_unbound_and_its_binding_has_no_policy() -> None:
    unbound, missing = findings(policy("limits"), binding("limit"))
    assert (unbound.rule, unbound.severity, unbound.place.line) == ("policy-unbound", Severity.WARNING, 3)
    assert (missing.rule, missing.severity) == ("policy-missing", Severity.WARNING)
    assert missing.place.path == "spec.policyName"
    assert "limits" in missing.hint
    assert "ValidatingAdmissionPolicy limit is not in the input" in missing.message


def test_input_of_one_side_alone_has_notes() -> None:
    (unbound,) = findings(policy("a", MUTATING))
    assert (unbound.rule, unbound.severity) == ("policy-unbound", Severity.INFO)
    (missing,) = findings(binding("a", MUTATING))
    assert (missing.rule, missing.severity) == ("policy-missing", Severity.INFO)


def test_bindings_of_the_other_kind_do_not_count() -> None:
    rules = sorted(finding.rule for finding in findings(policy("a", VALIDATING), binding("a", MUTATING)))
    assert rules == ["policy-missing", "policy-unbound"]


def checked(expression: str, resource: str = "deployments", **more: object) -> list[Finding]:
    """Return the findings about the types of a policy."""
    rule = f"{{apiGroups: [apps, e.example.com], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}"
    document = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n"
        f"spec:\n  matchConstraints: {{resourceRules: [{rule}]}}\n  validations:\n  - expression: {expression}\n"
    )
    found = lint(stream(document, *(str(text) for text in more.values())))
    return [finding for finding in found if finding.rule == "policy-mistyped"]


def test_an_expression_that_does_not_fit_its_kind() -> None:
    (finding,) = checked("object.spec.replica > 1")
    assert finding.message == "the expression does not fit Deployment of apps/v1: undefined field 'replica'"
    assert (finding.severity, finding.place.path, finding.place.line) == (
        Severity.WARNING,
        "spec.validations[0].expression",
        7,
    )
    assert checked("object.spec.replicas > 1") == []


def test_an_expression_that_does_not_compile_is_only_rejected() -> None:
    assert checked("objekt.spec.replica > 1") == []


def test_custom_kinds_are_those_of_the_input() -> None:
    definition = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: es.e.example.com}\n"
        "spec:\n  group: e.example.com\n  scope: Namespaced\n  names: {plural: es, kind: E}\n"
        "  versions:\n  - name: v1\n    served: true\n    storage: true\n"
        "    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}\n"
    )
    assert checked("object.spec.a == 1", "es") == []
    (finding,) = checked("object.spec.a == 1", "es", definition=definition)
    assert "does not fit E of e.example.com/v1" in finding.message


def test_policies_of_older_versions_are_told_of() -> None:
    older = [
        text.replace("k8s.io/v1\n", "k8s.io/v1beta1\n") for text in (policy("a", MUTATING), binding("a", MUTATING))
    ]
    found = findings(*older)
    assert [(one.rule, one.severity, one.place.path) for one in found] == [
        ("policy-older-version", Severity.WARNING, "apiVersion"),
        ("policy-older-version", Severity.WARNING, "apiVersion"),
    ]
    assert found[0].message.startswith("MutatingAdmissionPolicy in admissionregistration.k8s.io/v1beta1 is passed over")
    assert findings(policy("a", MUTATING), binding("a", MUTATING)) == []
