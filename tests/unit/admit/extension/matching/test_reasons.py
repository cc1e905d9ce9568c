"""Every request that a policy leaves alone has a reason."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, WIDGETS, PlainWorld, config_map, creation

from moorage.admit.extension.attributes import ObjectKind, ObjectResource
from moorage.admit.extension.matching.reasons import why_unmatched


def why(constraints: dict[str, Any], **request: Any) -> str | None:
    world = PlainWorld()
    world.put_namespace("team-a", env="dev")
    policy = world.put_policy("p", {"matchConstraints": {"resourceRules": [CONFIG_MAPS], **constraints}})
    assert policy.spec.matchConstraints is not None
    return why_unmatched(policy.spec.matchConstraints, creation(config_map(), **request), world, "its")


def rule(**fields: Any) -> dict[str, Any]:
    return {"resourceRules": [CONFIG_MAPS | fields]}


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ({}, None),
        (rule(operations=["UPDATE", "DELETE"]), "operations DELETE, UPDATE, not CREATE"),
        (rule(apiGroups=["apps", "batch"]), 'apiGroups apps, batch, not ""'),
        (rule(apiVersions=["v2"]), "apiVersions v2, not v1"),
        (rule(resources=["pods", "pods/*"]), "resources pods, pods/*, not configmaps"),
        (rule(resources=["configmaps/status"]), "resources configmaps/status, not configmaps"),
        (rule(scope="Cluster"), "scope Cluster, not namespace team-a"),
        (rule(resourceNames=["b", "a"]), "resourceNames a, b, not c"),
    ],
)
def test_a_rule_is_named_by_the_first_field_that_differs(constraints: dict[str, Any], reason: str | None) -> None:
    assert why(constraints) == (reason and f"its.resourceRules[0] has {reason}")


def test_further_rules_exclusions_and_selectors() -> None:
    rules = [CONFIG_MAPS | {"resources": [name]} for name in "abcdefg"]
    text = why({"resourceRules": rules})
    assert text is not None
    assert text.startswith("its.resourceRules[0] has resources a, not configmaps; its.resourceRules[1] has resources b")
    assert text.endswith("; 2 more rules do not match either")
    excluded = [CONFIG_MAPS | {"operations": ["DELETE"]}, CONFIG_MAPS]
    assert why({"excludeResourceRules": excluded}) == "its.excludeResourceRules[1] leaves it out"
    prod, absent = {"matchLabels": {"env": "prod"}}, {"matchLabels": {"app": "a"}}
    assert why({"namespaceSelector": prod}) == "its.namespaceSelector: label env=dev: dev = prod is false"
    assert why({"objectSelector": absent}) == "its.objectSelector: label app is missing, app=a is required"


def test_a_name_that_is_not_known_yet_and_subresources() -> None:
    names = rule(resourceNames=["a"])
    assert why(names, name="") == "its.resourceRules[0] has resourceNames a, not a name that is still to be generated"
    widgets = ObjectResource(WIDGETS, "v1", "widgets")
    text = why(rule(apiGroups=["*"], resources=["widgets"]), resource=widgets, subresource="scale")
    assert text == "its.resourceRules[0] has resources widgets, not widgets/scale"


def test_what_has_no_labels_is_not_selected() -> None:
    attributes = creation(config_map(), operation="CONNECT", kind=ObjectKind("", "v1", "PodExecOptions"))
    attributes.object = {"apiVersion": "v1", "kind": "PodExecOptions"}
    world = PlainWorld()
    selector = {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}
    constraints = {"resourceRules": [CONFIG_MAPS], "objectSelector": selector}
    policy = world.put_policy("p", {"matchConstraints": constraints})
    assert policy.spec.matchConstraints is not None
    text = why_unmatched(policy.spec.matchConstraints, attributes, world, "its")
    assert text == "its.objectSelector: a PodExecOptions has no labels"
