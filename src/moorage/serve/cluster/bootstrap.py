"""Create the objects of every cluster: namespaces, system PriorityClasses, the API's own Service, roles and bindings.

Roles and bindings that exist are completed: rules, selectors, subjects and labels that this version expects are added.
What users added stays, and an object whose autoupdate annotation is "false" is left alone. A binding to another role is
replaced. Kubernetes: kube-apiserver's post-start hooks, among them rbac/bootstrap-roles with
component-helpers/auth/rbac/reconciliation.
"""

import asyncio

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.policy import PolicyRule
from moorage.model.types.request import DeleteOptions, Preconditions
from moorage.serve.access.bootstrap.policy import (
    AUTO_UPDATE,
    bootstrap_bindings,
    bootstrap_roles,
    component_bindings,
    component_roles,
)
from moorage.serve.access.guard import uncovered
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
TOKEN_TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
_PRIORITY_CLASSES = (
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
)
#: No policy or webhook is asked about these: none can keep an API server from starting.
_OPTIONS = WriteOptions("kube-apiserver", is_internal=True)


async def bootstrap(api: Api, port: int) -> bool:
    """Create what is missing. Return whether the cluster is new: it had none of the namespaces."""
    created = [
        await _ensure(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}) for name in NAMESPACES
    ]
    for name, value, description in _PRIORITY_CLASSES:
        document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await _ensure(api, {**document, "value": value, "description": description})
    await _ensure(api, _api_service(port), "default")
    await _ensure(api, _token_tracking(api), "kube-system")
    await reconcile_bootstrap_policy(api)
    return all(created)


async def _ensure(api: Api, document: Raw, namespace: str = "") -> bool:
    """Return whether the object had to be created."""
    try:
        kind = KINDS[document["apiVersion"], document["kind"]]
        await create(api, kind, namespace, document, _OPTIONS)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        await api.catch_up()  # another server was faster, and what comes next may need it
        return False
    return True


def _token_tracking(api: Api) -> Raw:
    """Return the ConfigMap that says since when the use of tokens in Secrets is noted."""
    metadata = {"name": TOKEN_TRACKING}
    data = {"since": api.now_text()[:10]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _api_service(port: int) -> Raw:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {"type": "ClusterIP", "ports": ports, "sessionAffinity": "None"},
    }


_BEING_CHANGED = ("AlreadyExists", "Conflict", "NotFound")


async def reconcile_bootstrap_policy(api: Api) -> None:
    """Bring the roles, then the bindings, to what this version expects."""
    roles, bindings = bootstrap_roles() + component_roles(), bootstrap_bindings() + component_bindings()
    for expected in (roles, bindings):
        await asyncio.gather(*(_reconcile(api, document) for document in expected))


async def _reconcile(api: Api, expected: Raw) -> None:
    kind, metadata = KINDS[expected["apiVersion"], expected["kind"]], expected["metadata"]
    ref = Ref(kind, metadata.get("namespace", ""), metadata["name"])
    stored = await api.store.get(key_of(*ref))
    try:
        if stored is None:
            await create(api, kind, ref.namespace, expected, _OPTIONS)
            return
        existing = decode(kind, stored)
        if (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
            return
        if expected.get("roleRef") != existing.get("roleRef"):
            this_one = Preconditions(uid=existing["metadata"].get("uid"))
            await delete(api, ref, DeleteOptions(preconditions=this_one), _OPTIONS)
            await create(api, kind, ref.namespace, expected, _OPTIONS)
        elif (changed := completed(existing, expected)) != existing:
            await replace(api, ref, changed, _OPTIONS)
    except ApiError as error:
        if error.reason not in _BEING_CHANGED:  # by a client that was faster; the next start looks again
            raise


def completed(existing: Raw, expected: Raw) -> Raw:
    """Return an object with what is expected of it added."""
    changed = {**existing, "metadata": dict(existing["metadata"])}
    for name in ("labels", "annotations"):
        changed["metadata"][name] = (expected["metadata"].get(name) or {}) | (existing["metadata"].get(name) or {})
    if "rules" in expected:
        missing = [] if existing.get("rules") == expected["rules"] else _missing_rules(existing, expected)
        changed["rules"] = [*(existing.get("rules") or ()), *missing] or None
        _complete_aggregation(changed, existing, expected)
    elif missing_subjects := _missing(existing.get("subjects"), expected.get("subjects")):
        changed["subjects"] = [*(existing.get("subjects") or ()), *missing_subjects]
    return changed


def _missing_rules(existing: Raw, expected: Raw) -> list[Raw]:
    owned, wanted = (
        [convert_view(rule, PolicyRule) for rule in document.get("rules") or ()] for document in (existing, expected)
    )
    names = PolicyRule.__struct_fields__
    return [
        {name: list(values) for name in names if (values := getattr(part, name))} for part in uncovered(owned, wanted)
    ]


def _complete_aggregation(changed: Raw, existing: Raw, expected: Raw) -> None:
    if "aggregationRule" not in expected:
        changed.pop("aggregationRule", None)
        return
    selectors = (existing.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    missing = _missing(selectors, expected["aggregationRule"]["clusterRoleSelectors"])
    changed["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *missing]}


def _missing(existing: list[Raw] | None, expected: list[Raw] | None) -> list[Raw]:
    return [one for one in expected or () if one not in (existing or ())]
