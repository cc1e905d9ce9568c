"""Create the roles and bindings of every cluster, and complete those that are there.

What a new version expects and an object lacks is added: rules, selectors, subjects, labels. What users added stays, and
an object whose autoupdate annotation is "false" is left alone. A binding to another role is made anew. Kubernetes: the
rbac/bootstrap-roles hook of kube-apiserver, component-helpers/auth/rbac/reconciliation.
"""

import asyncio
from typing import Any

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.access.rbac import PolicyRule
from moorage.model.types.request import DeleteOptions, Preconditions
from moorage.serve.access.bootstrap.policy import (
    AUTO_UPDATE,
    bootstrap_bindings,
    bootstrap_roles,
    component_bindings,
    component_roles,
)
from moorage.serve.access.coverage import uncovered
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import create, replace
from moorage.serve.verbs.deleting import delete

Raw = dict[str, Any]

_OPTIONS = WriteOptions("kube-apiserver")
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
            await delete(api, ref, DeleteOptions(preconditions=Preconditions(uid=existing["metadata"].get("uid"))))
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
