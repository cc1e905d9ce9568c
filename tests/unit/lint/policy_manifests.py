"""Policies and bindings as manifests, and what lint finds about policies."""

from tests.unit.lint.linting import lint, stream

from moorage.lint.finding import Finding

VALIDATING, MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
RULES = "[{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]"


def policy(name: str, kind: str = VALIDATING) -> str:
    of_kind = (
        "  validations: [{expression: 'true'}]\n"
        if kind == VALIDATING
        else "  reinvocationPolicy: Never\n  mutations:\n  - patchType: JSONPatch\n"
        '    jsonPatch: {expression: \'[JSONPatch{op: "remove", path: "/data"}]\'}\n'
    )
    return (
        f"apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"
        f"spec:\n  matchConstraints: {{resourceRules: {RULES}}}\n{of_kind}"
    )


def binding(of: str, kind: str = VALIDATING) -> str:
    actions = "  validationActions: [Deny]\n" if kind == VALIDATING else ""
    return (
        f"apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}Binding\nmetadata: {{name: b-{of}}}\n"
        f"spec:\n  policyName: {of}\n{actions}"
    )


def findings(*documents: str) -> list[Finding]:
    return [finding for finding in lint(stream(*documents)) if finding.rule.startswith("policy-")]
