"""Check what a user writes: no rights that the user lacks, and no object made by an update without the right to create.

A role may hold the rules that its writer has; a binding may grant the role whose rules its writer has. The verbs
`escalate` on roles and `bind` on the granted role lift this; an aggregationRule needs all rights. Kubernetes: the
policy-based storages of pkg/registry/rbac, withAuthorization of the update and patch handlers.
"""

import re
from collections.abc import Sequence
from typing import Any

from moorage.admit.raw import Raw
from moorage.model.api_error import forbidden, not_found
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind, Ref
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.policy import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.serve.access.authorization import Authorization, resource_attributes
from moorage.serve.access.coverage import ALL_RIGHTS, describe_rules, quoted_list, uncovered
from moorage.serve.access.node import node_of
from moorage.serve.access.rbac import RBAC_GROUP, RoleIndex
from moorage.serve.pki.authentication import User

_RESTRICTED_LABEL = "node-restriction.kubernetes.io"
_MISSING_ROLE = re.compile(rf"\b(?:cluster)?role\.{re.escape(RBAC_GROUP)}")
#: What the garbage collector changes: who may change only these need not have the rights of the role.
_OF_GARBAGE_COLLECTION = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")


class WriteGuard:
    """Checks the writes of one request, whose user is not of system:masters. `verb` is that of the request."""

    def __init__(self, user: User, verb: str, authorization: Authorization, roles: RoleIndex) -> None:
        self._user, self._verb = user, verb
        self._authorization, self._roles = authorization, roles

    def check_new(self, kind: Kind, namespace: str, raw: Raw) -> None:
        """Raise ApiError if the user may not create this object, by whatever verb."""
        name = str(raw["metadata"].get("name") or "")
        if self._verb != "create":
            asked = resource_attributes("create", kind.group, kind.plural, namespace=namespace, name=name)
            decision = self._authorization.authorize(self._user, asked)
            if not decision.allowed:
                raise forbidden(kind, name, decision.reason)
        node = node_of(self._user)
        if node is not None and (why := _of_another_node(node, kind, name, raw)):
            raise forbidden(kind, name, why)
        if kind.group == RBAC_GROUP:
            self._check_rights(Ref(kind, namespace, name), raw, None, "" if self._verb == "create" else name)

    def check_change(self, ref: Ref, new: Raw, old: Raw) -> None:
        """Raise ApiError if the user may not change an object so."""
        node = node_of(self._user)
        if node is not None and ref.kind.name == "Node" and (why := _beyond_a_node(node, new, old)):
            raise forbidden(ref.kind, ref.name, why)
        if ref.kind.group == RBAC_GROUP and not _changes_only_owners(new, old):
            self._check_rights(ref, new, old, ref.name)

    def _check_rights(self, ref: Ref, raw: Raw, old: Raw | None, requested: str) -> None:
        """Check a role or binding; `requested` is the name in the request's path."""
        try:
            view: Any = convert_view(raw, ref.kind.view)
        except ConversionError:
            return  # which admission says better
        if isinstance(view, Role | ClusterRole):
            self._check_role(ref, view, old, requested)
        elif isinstance(view, RoleBinding | ClusterRoleBinding):
            self._check_binding(ref, view)

    def _check_role(self, ref: Ref, role: Role | ClusterRole, old: Raw | None, requested: str) -> None:
        kind, namespace, name = ref
        asked = resource_attributes("escalate", RBAC_GROUP, kind.plural, namespace=namespace, name=requested)
        if self._authorization.authorize(self._user, asked).allowed:
            return
        self._refuse_escalation(ref, role.rules)
        aggregation = role.aggregationRule if isinstance(role, ClusterRole) else None
        aggregates = aggregation is not None and bool(aggregation.clusterRoleSelectors)
        aggregated = old is not None and bool((old.get("aggregationRule") or {}).get("clusterRoleSelectors"))
        owned = self._roles.rules_for(self._user, namespace).rules
        if (aggregates or aggregated) and uncovered(owned, ALL_RIGHTS):
            raise forbidden(kind, name, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, ref: Ref, binding: RoleBinding | ClusterRoleBinding) -> None:
        reference, namespace = binding.roleRef, ref.namespace
        if reference.kind not in ("Role", "ClusterRole"):
            return  # which validation says better
        group, plural = reference.apiGroup or RBAC_GROUP, f"{reference.kind.lower()}s"
        asked = resource_attributes("bind", group, plural, namespace=namespace, name=reference.name)
        if self._authorization.authorize(self._user, asked).allowed:
            return
        rules = self._roles.rules_of(reference, namespace)
        if isinstance(rules, str):
            raise not_found(ref.kind, reference.name)
        self._refuse_escalation(ref, rules)

    def _refuse_escalation(self, ref: Ref, rules: Sequence[PolicyRule]) -> None:
        """Raise ApiError 403 if the user lacks any of these rights."""
        owned = self._roles.rules_for(self._user, ref.namespace)
        missing = uncovered(owned.rules, rules)
        if not missing:
            return
        who = f"user {go_quote(self._user.name)} (groups={quoted_list(self._user.groups)})"
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{describe_rules(missing)}"
        if owned.error:
            # Kubernetes looks roles up at the storage, which names the kind that is written.
            error = _MISSING_ROLE.sub(f"{ref.kind.plural}.{RBAC_GROUP}", owned.error)
            why += f"; resolution errors: [{error}]"
        raise forbidden(ref.kind, ref.name, why)


def _of_another_node(node: str, kind: Kind, name: str, raw: Raw) -> str:
    """Return why a node may not create an object that is not its own. Kubernetes: the NodeRestriction plugin."""
    if kind.name in ("Node", "CSINode", "Lease") and name != node:
        return f'node "{node}" is not allowed to create a {kind.name} for node "{name}"'
    spec = raw.get("spec")
    owner = spec.get("nodeName") if isinstance(spec, dict) else None
    if kind.name in ("Pod", "ResourceSlice") and owner != node:
        return f'node "{node}" can only create {kind.plural} with spec.nodeName set to itself'
    annotations = raw["metadata"].get("annotations") or {}
    if kind.name == "Pod" and MIRROR_POD not in annotations:
        return f'pod does not have "{MIRROR_POD}" annotation, node "{node}" can only create mirror pods'
    return ""


def _beyond_a_node(node: str, new: Raw, old: Raw) -> str:
    """Return why a node may not change its own Node so: what keeps pods away from it is not for it to decide."""
    if _taints(new) != _taints(old):
        return f'node "{node}" is not allowed to modify taints'
    if new["metadata"].get("ownerReferences") != old["metadata"].get("ownerReferences"):
        return f'node "{node}" is not allowed to modify ownerReferences'
    before, after = (raw["metadata"].get("labels") or {} for raw in (old, new))
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if restricted := [name for name in changed if _RESTRICTED_LABEL in name.partition("/")[0]]:
        return f'node "{node}" is not allowed to modify labels: {", ".join(restricted)}'
    return ""


def _taints(raw: Raw) -> Any:
    spec = raw.get("spec")
    return (spec.get("taints") if isinstance(spec, dict) else None) or []


def _changes_only_owners(new: Raw, old: Raw) -> bool:
    return _without_owners(new) == _without_owners(old)


def _without_owners(raw: Raw) -> Raw:
    metadata = {name: value for name, value in raw["metadata"].items() if name not in _OF_GARBAGE_COLLECTION}
    return {**{name: value for name, value in raw.items() if value is not None}, "metadata": metadata}
