"""Who writes an admission policy or a binding must have the right to read its parameters."""

from typing import Any

from tests.unit.admit.stored_objects import validating_policy
from tests.unit.serve.access.test_rbac_requests import GROUP_VERSION, JANE, RBAC, ask, new_handler

from moorage.serve.requests.handler import Handler

ROOT = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{ROOT}/validatingadmissionpolicies", f"{ROOT}/validatingadmissionpolicybindings"
SECRETS = {"apiVersion": "v1", "kind": "Secret"}
JANE_SHOWN = "&{jane  [system:authenticated] map[]}"


def policy(name: str = "p", **spec: Any) -> dict[str, Any]:
    return {**validating_policy(**spec), "metadata": {"name": name}}


def binding(**reference: Any) -> dict[str, Any]:
    params = {"parameterNotFoundAction": "Deny", **reference}
    spec = {"policyName": "p", "validationActions": ["Deny"], "paramRef": params}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": spec,
    }


async def grant(handler: Handler, name: str, rule: dict[str, Any], namespace: str = "") -> None:
    """Grant something to jane: everywhere, or in a namespace."""
    binding_kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    where = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
    role = {"apiVersion": GROUP_VERSION, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    assert (await ask(handler, "POST", f"{RBAC}/clusterroles", role))["code"] == 201
    bound = {
        "apiVersion": GROUP_VERSION,
        "kind": binding_kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    assert (await ask(handler, "POST", where, bound))["code"] == 201


async def policy_writer(handler: Handler) -> None:
    await grant(handler, "w", {"verbs": ["*"], "apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"]})


def reading(verb: str) -> dict[str, Any]:
    return {"verbs": [verb], "apiGroups": [""], "resources": ["secrets"]}


async def test_a_policy_needs_the_right_to_read_all_objects_of_its_parameters() -> None:
    async with new_handler() as handler:
        await policy_writer(handler)
        assert (await ask(handler, "POST", POLICIES, policy("free"), JANE))["code"] == 201
        refused = await ask(handler, "POST", POLICIES, policy(paramKind=SECRETS), JANE)
        why = 'must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)'
        assert (refused["code"], refused["details"]["causes"]) == (
            422,
            [
                {
                    "reason": "FieldValueForbidden",
                    "message": f"Forbidden: user {JANE_SHOWN} {why}",
                    "field": "spec.paramKind",
                }
            ],
        )
        await grant(handler, "g", reading("get"))
        assert (await ask(handler, "POST", POLICIES, policy(paramKind=SECRETS), JANE))["code"] == 201


async def test_a_policy_that_has_its_parameters_already_may_be_changed() -> None:
    async with new_handler() as handler:
        await policy_writer(handler)
        await ask(handler, "POST", POLICIES, policy(paramKind=SECRETS))
        merge = "application/merge-patch+json"
        same = {"spec": {"failurePolicy": "Ignore"}}
        assert (await ask(handler, "PATCH", f"{POLICIES}/p", same, JANE, merge))["code"] == 200
        other = {"spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}}
        assert (await ask(handler, "PATCH", f"{POLICIES}/p", other, JANE, merge))["code"] == 422


async def test_a_binding_needs_the_right_to_read_what_it_names() -> None:
    async with new_handler() as handler:
        await policy_writer(handler)
        await ask(handler, "POST", POLICIES, policy(paramKind=SECRETS))
        named, selected = binding(name="s", namespace="default"), binding(namespace="default", selector={})
        refused = await ask(handler, "POST", BINDINGS, named, JANE)
        why = f'user {JANE_SHOWN} does not have "get" permission on the object referenced by paramRef'
        assert refused["details"]["causes"][0]["message"] == f"Forbidden: {why}"
        await grant(handler, "g", reading("get"), "default")
        assert (await ask(handler, "POST", f"{BINDINGS}?dryRun=All", named, JANE))["code"] == 201
        refused = await ask(handler, "POST", BINDINGS, selected, JANE)
        assert 'does not have "list" permission' in refused["message"]
        elsewhere = binding(name="s", namespace="kube-system")
        assert (await ask(handler, "POST", BINDINGS, elsewhere, JANE))["code"] == 422


async def test_without_its_policy_a_binding_needs_all_rights() -> None:
    async with new_handler() as handler:
        await policy_writer(handler)
        await grant(handler, "g", reading("get"))
        refused = await ask(handler, "POST", BINDINGS, binding(name="s", namespace="default"), JANE)
        assert "unable to get policy p to determine minimum required permissions" in refused["message"]
