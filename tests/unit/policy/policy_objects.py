"""Policies about ConfigMaps, as objects of files."""

from typing import Any

from moorage.policy.cases import PlacedObject

Raw = dict[str, Any]
_RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]
_API = "admissionregistration.k8s.io/v1"


def placed(*objects: Raw) -> list[PlacedObject]:
    return [PlacedObject(raw, f"input:{number}") for number, raw in enumerate(objects, 1)]


def validating(name: str, *validations: Raw, actions: tuple[str, ...] = ("Deny",), **spec: Any) -> list[PlacedObject]:
    """Return a policy and its binding."""
    fields = {"matchConstraints": {"resourceRules": _RULES}, "validations": list(validations), **spec}
    binding = {"policyName": name, "validationActions": list(actions)}
    return placed(
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": fields},
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": binding},
    )


def mutating(name: str, expression: str, **spec: Any) -> list[PlacedObject]:
    """Return a policy that applies a configuration, and its binding."""
    mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]
    fields = {"matchConstraints": {"resourceRules": _RULES}, "reinvocationPolicy": "Never", "mutations": mutations}
    return placed(
        {"apiVersion": _API, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": {**fields, **spec}},
        {
            "apiVersion": _API,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name},
        },
    )


def config_map(**data: str) -> Raw:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team"}, "data": data}
