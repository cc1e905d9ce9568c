"""Make the manifests of a mutating admission policy and of its binding.

Kubernetes: MutatingAdmissionPolicy, admissionregistration.k8s.io/v1, of 1.36 and later.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from moorage.attach.formats import Raw

API_VERSION: Final = "admissionregistration.k8s.io/v1"


def rule(group: str, operations: Sequence[str], *resources: str) -> Raw:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": list(resources),
    }


def mutating_policy(
    name: str, rules: Sequence[Raw], conditions: Mapping[str, str], variables: Mapping[str, str], patches: str
) -> list[Raw]:
    """Return a policy that answers with JSON patches, and a binding of it to everything."""
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": list(rules)},
        "matchConditions": named_expressions(conditions),
        "variables": named_expressions(variables),
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patches}}],
    }
    return [
        {"apiVersion": API_VERSION, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": API_VERSION,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name},
        },
    ]


def named_expressions(named: Mapping[str, str]) -> list[Raw]:
    """Return match conditions or variables as a manifest has them."""
    return [{"name": name, "expression": expression} for name, expression in named.items()]


def one_line(text: str) -> str:
    """Return an expression without its line ends and indentation."""
    return " ".join(text.split())


def text_list(texts: Iterable[str]) -> str:
    """Return texts without quotes in them as a list of CEL."""
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"
