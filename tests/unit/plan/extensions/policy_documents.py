"""Policies and their bindings in few words."""

from typing import Any

Raw = dict[str, Any]
API = "admissionregistration.k8s.io/v1"
PODS: Raw = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
DEPLOYMENTS: Raw = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["deployments"],
}


def _policy(kind: str, name: str, rule: Raw, spec: Raw) -> Raw:
    about = {"apiVersion": API, "kind": kind, "metadata": {"name": name}}
    return {**about, "spec": {"matchConstraints": {"resourceRules": [rule]}, **spec}}


def _binding(kind: str, name: str, spec: Raw) -> Raw:
    about = {"apiVersion": API, "kind": f"{kind}Binding", "metadata": {"name": name}}
    return {**about, "spec": {"policyName": name, **spec}}


def demands(
    name: str, expression: str, rule: Raw = PODS, *, action: str = "Deny", params: Raw | None = None, **validation: Any
) -> list[Raw]:
    """A validating policy with its binding. `params` are paramKind and paramRef."""
    kind = "ValidatingAdmissionPolicy"
    spec: Raw = {"validations": [{"expression": expression, **validation}]}
    bound: Raw = {"validationActions": [action]}
    if params is not None:
        spec["paramKind"], bound["paramRef"] = params["paramKind"], params["paramRef"]
    return [_policy(kind, name, rule, spec), _binding(kind, name, bound)]


def patches(name: str, *operations: str, rule: Raw = PODS) -> list[Raw]:
    """A mutating policy with its binding: each operation is what is written in `JSONPatch{…}`."""
    kind = "MutatingAdmissionPolicy"
    expression = f"[{', '.join(f'JSONPatch{{{one}}}' for one in operations)}]"
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    spec = {"reinvocationPolicy": "Never", "mutations": [mutation]}
    return [_policy(kind, name, rule, spec), _binding(kind, name, {})]


def webhook(name: str, kind: str = "ValidatingWebhookConfiguration", rule: Raw = PODS, **fields: Any) -> Raw:
    """A configuration with one webhook, at which nothing listens."""
    hook: Raw = {
        "name": f"{name}.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "webhooks": [hook]}
