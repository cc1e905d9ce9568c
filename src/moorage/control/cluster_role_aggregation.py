"""Copy the rules of other ClusterRoles into those that aggregate them.

The rules are applied on the server side, so that a selector which matches nothing gives up what was copied and leaves
alone what others wrote. Kubernetes: pkg/controller/clusterroleaggregation.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import NOTHING, Patch, Plan
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.policy import ClusterRole, PolicyRule


def aggregated_rules(role: ClusterRole, roles: Iterable[ClusterRole]) -> list[PolicyRule]:
    """Return the rules of all selected roles but the role itself, each once, in the order of selectors, then names."""
    found: dict[PolicyRule, None] = {}
    selectors = () if role.aggregationRule is None else role.aggregationRule.clusterRoleSelectors
    others = sorted(
        (one for one in roles if one.metadata.name != role.metadata.name), key=lambda one: one.metadata.name
    )
    for selector in selectors:
        try:
            compiled = compile_label_selector(selector)
        except SelectorError:
            continue  # of a role that was stored by an older version
        for other in others:
            if compiled.match(other.metadata.labels):
                found |= dict.fromkeys(other.rules)
    return list(found)


class ClusterRoleAggregationController(Controller):
    """Writes the rules of ClusterRoles that have an aggregationRule."""

    name = "clusterrole-aggregation-controller"
    watches = (KINDS.CLUSTER_ROLE,)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return [role.key for role in world.all(KINDS.CLUSTER_ROLE) if role.view.aggregationRule is not None]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        role = world.view(KINDS.CLUSTER_ROLE, key)
        if role is None or role.aggregationRule is None:
            return NOTHING
        rules = aggregated_rules(role, (found.view for found in world.all(KINDS.CLUSTER_ROLE)))
        if tuple(rules) == tuple(role.rules):
            return NOTHING
        patch: dict[str, Any] = {
            "apiVersion": KINDS.CLUSTER_ROLE.api_version,
            "kind": KINDS.CLUSTER_ROLE.name,
            "metadata": {"name": key},
        }
        if rules:
            patch["rules"] = _written(rules)
        return Plan((Patch(KINDS.CLUSTER_ROLE, "", key, patch, patch_type=PatchType.APPLY),))


def _written(rules: Sequence[PolicyRule]) -> list[dict[str, Any]]:
    names = PolicyRule.__struct_fields__
    return [{name: list(values) for name in names if (values := getattr(rule, name))} for rule in rules]
