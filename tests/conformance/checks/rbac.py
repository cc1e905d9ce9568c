"""rbac_authorize.json: what users may do by given roles and bindings, all of their rules, and aggregated roles."""

from collections import Counter
from typing import Any

import msgspec
from tests.unit.serve.access.policies import role_index

from moorage.control.cluster_role_aggregation import aggregated_rules
from moorage.model.kinds import view_of
from moorage.model.types.policy import PolicyRule
from moorage.serve.access.authorization import Attributes
from moorage.serve.access.rbac import RoleIndex
from moorage.serve.access.reviews import written_rule
from moorage.serve.pki.authentication import User

Raw = dict[str, Any]
_MAX_ROUNDS = 20


def check_rbac_authorize(case: Raw) -> str | None:
    given, wanted = case["in"], case["out"]
    cluster_roles = given["clusterRoles"]
    if "clusterRoles" in wanted:
        cluster_roles = _settled(cluster_roles)
        shown = [{"name": role["metadata"]["name"], "rules": role["rules"]} for role in cluster_roles]
        if shown != wanted["clusterRoles"]:
            return f"got roles {shown}, want {wanted['clusterRoles']}"
    roles = role_index(
        [*given["roles"], *cluster_roles, *given["roleBindings"], *given["clusterRoleBindings"]],
    )
    for asked, want in zip(given["requests"], wanted["answers"], strict=True):
        decision = roles.authorize(User(asked["user"], groups=tuple(asked["groups"])), _attributes(asked))
        reasons = want.get("reasonAnyOf") or [want["reason"]]
        if decision.allowed is not want["allowed"] or decision.reason not in reasons:
            return f"{asked}: got {decision}, want {want}"
    for asked, want in zip(given["rulesFor"], wanted["rulesFor"], strict=True):
        if problem := _rules_difference(roles, asked, want):
            return f"{asked}: {problem}"
    return None


def _attributes(asked: Raw) -> Attributes:
    if "path" in asked:
        return Attributes(asked["verb"], path=asked["path"])
    names = ("verb", "apiGroup", "", "resource", "subresource", "namespace", "name")
    return Attributes(*(asked.get(name, "") for name in names))._replace(is_resource=True)


def _rules_difference(roles: RoleIndex, asked: Raw, want: Raw) -> str | None:
    found = roles.rules_for(User(asked["user"], groups=tuple(asked["groups"])), asked["namespace"])
    names = ("apiGroups", "resources", "resourceNames")
    for field, shown in (
        ("resourceRules", [written_rule(rule, names) for rule in found.rules if rule.resources]),
        (
            "nonResourceRules",
            [written_rule(rule, ("nonResourceURLs",)) for rule in found.rules if rule.nonResourceURLs],
        ),
    ):
        same = _counted(shown) == _counted(want[field]) if want.get("unordered") else shown == want[field]
        if not same:
            return f"got {field} {shown}, want {want[field]}"
    return None if found.error == want.get("error", "") else f"got error {found.error}, want {want.get('error')}"


def _counted(rules: list[Raw]) -> Counter[bytes]:
    return Counter(msgspec.json.encode(rule, order="sorted") for rule in rules)


def _settled(cluster_roles: list[Raw]) -> list[Raw]:
    """Let the rules of aggregated roles be written until no more changes."""
    for _ in range(_MAX_ROUNDS):
        views: list[Any] = [view_of(role) for role in cluster_roles]
        names = PolicyRule.__struct_fields__
        written = [
            {**role, "rules": [written_rule(rule, names) for rule in rules]}
            if (rules := aggregated_rules(view, views))
            else role
            for role, view in zip(cluster_roles, views, strict=True)
        ]
        if written == cluster_roles:
            break
        cluster_roles = written
    return cluster_roles
