from typing import Any

import pytest

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.matching.rules import (
    compile_rules,
    is_exempt_from_policies,
    is_exempt_from_webhooks,
)
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import NamedRuleWithOperations

WILD = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def request(operation: str, resource: str, namespace: str = "n", name: str = "x") -> Attributes:
    plural, _, subresource = resource.partition("/")
    return Attributes(
        operation, ObjectResource("apps", "v1", plural), ObjectKind("apps", "v1", "K"), namespace, name, subresource
    )


def matches(rule: dict[str, Any], attributes: Attributes) -> bool:
    (compiled,) = compile_rules([convert_view(WILD | rule, NamedRuleWithOperations)])
    return compiled.matches(attributes, attributes.resource) and compiled.matches_name(attributes.name)


@pytest.mark.parametrize(
    ("listed", "resource", "expected"),
    [
        (["*"], "pods", True),
        (["*"], "pods/status", False),
        (["*/*"], "pods", True),
        (["*/*"], "pods/status", True),
        (["pods/*"], "pods", True),
        (["pods/*"], "pods/status", True),
        (["pods/*"], "nodes/status", False),
        (["*/scale"], "deployments/scale", True),
        (["*/scale"], "deployments", False),
        (["pods"], "pods/status", False),
        (["pods/status"], "pods", False),
        (["nodes", "pods/status"], "pods/status", True),
        ([], "pods", False),
    ],
)
def test_resources_with_subresources_and_wildcards(listed: list[str], resource: str, expected: bool) -> None:
    assert matches({"resources": listed}, request("CREATE", resource)) is expected


@pytest.mark.parametrize(
    ("field", "listed", "expected"),
    [
        ("operations", ["CREATE"], True),
        ("operations", ["UPDATE", "DELETE", "CONNECT"], False),
        ("operations", ["*"], True),
        ("apiGroups", ["apps"], True),
        ("apiGroups", [""], False),
        ("apiGroups", ["", "*"], True),
        ("apiVersions", ["v1"], True),
        ("apiVersions", ["v2"], False),
        ("resourceNames", [], True),
        ("resourceNames", ["y", "x"], True),
        ("resourceNames", ["y"], False),
    ],
)
def test_lists_of_a_rule(field: str, listed: list[str], expected: bool) -> None:
    assert matches({field: listed}, request("CREATE", "pods")) is expected


@pytest.mark.parametrize(
    ("scope", "namespaced", "expected"),
    [
        ("*", True, True),
        ("*", False, True),
        ("Namespaced", True, True),
        ("Namespaced", False, False),
        ("Cluster", True, False),
        ("Cluster", False, True),
        ("Other", True, False),
        ("Other", False, False),
    ],
)
def test_scope(scope: str, namespaced: bool, expected: bool) -> None:
    assert matches({"scope": scope}, request("CREATE", "pods", "n" if namespaced else "")) is expected


def test_a_namespace_is_no_namespaced_object_although_requests_name_it_as_their_namespace() -> None:
    attributes = Attributes(
        "UPDATE", ObjectResource("", "v1", "namespaces"), ObjectKind("", "v1", "Namespace"), "n", "n"
    )
    assert matches({"scope": "Cluster"}, attributes)
    assert not matches({"scope": "Namespaced"}, attributes)


@pytest.mark.parametrize(
    ("group", "resource", "kind", "from_policies", "from_webhooks"),
    [
        ("admissionregistration.k8s.io", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", True, True),
        (
            "admissionregistration.k8s.io",
            "mutatingadmissionpolicybindings",
            "MutatingAdmissionPolicyBinding",
            True,
            True,
        ),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False, True),
        ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", True, False),
        ("authentication.k8s.io", "tokenreviews", "TokenReview", True, False),
        ("example.com", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False, False),
        ("", "pods", "Pod", False, False),
    ],
)
def test_what_is_exempt(group: str, resource: str, kind: str, from_policies: bool, from_webhooks: bool) -> None:
    attributes = Attributes("CREATE", ObjectResource(group, "v1", resource), ObjectKind(group, "v1", kind))
    assert is_exempt_from_policies(attributes) is from_policies
    assert is_exempt_from_webhooks(attributes) is from_webhooks
