import gc
from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, WIDGETS, PlainWorld, config_map, constraints, creation

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.kept import Kept
from moorage.admit.extension.matching.matcher import Matched, match_resources, match_webhook, versioned
from moorage.admit.extension.world import ServedVersion
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import MatchResources, ValidatingWebhook

OWN = Matched(ObjectResource("", "v1", "configmaps"), ObjectKind("", "v1", "ConfigMap"))


@pytest.fixture
def world() -> PlainWorld:
    world = PlainWorld()
    world.put_namespace("team-a", env="prod")
    world.put_namespace("plain")
    return world


def widget(version: str = "v1beta1", subresource: str = "", name: str = "w") -> Attributes:
    document: Raw = {
        "apiVersion": f"{WIDGETS}/{version}",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "team-a"},
    }
    return creation(
        document,
        resource=ObjectResource(WIDGETS, version, "widgets"),
        kind=ObjectKind(WIDGETS, version, "Widget"),
        subresource=subresource,
    )


def widget_rule(version: str, **fields: Any) -> Raw:
    return {
        "operations": ["*"],
        "apiGroups": [WIDGETS],
        "apiVersions": [version],
        "resources": ["widgets", "widgets/*"],
    } | fields


def test_a_rule_matches_the_resource_of_the_request(world: PlainWorld) -> None:
    resources = constraints(resourceRules=[CONFIG_MAPS])
    assert match_resources(resources, creation(config_map()), world) == OWN
    assert match_resources(resources, widget(), world) is None


def test_a_binding_without_rules_matches_what_its_selectors_select(world: PlainWorld) -> None:
    resources = constraints(namespaceSelector={"matchLabels": {"env": "prod"}})
    assert match_resources(resources, creation(config_map()), world) == OWN
    assert match_resources(resources, creation(config_map(namespace="plain")), world) is None


def test_exclusions_come_first(world: PlainWorld) -> None:
    resources = constraints(resourceRules=[CONFIG_MAPS], excludeResourceRules=[CONFIG_MAPS | {"resourceNames": ["c"]}])
    assert match_resources(resources, creation(config_map("c")), world) is None
    assert match_resources(resources, creation(config_map("d")), world) == OWN


def test_equivalent_matches_another_version_and_exact_does_not(world: PlainWorld) -> None:
    matched = match_resources(constraints(resourceRules=[widget_rule("v1")]), widget("v1beta1"), world)
    assert matched == Matched(ObjectResource(WIDGETS, "v1", "widgets"), ObjectKind(WIDGETS, "v1", "Widget"))
    exact = constraints(resourceRules=[widget_rule("v1")], matchPolicy="Exact")
    assert match_resources(exact, widget("v1beta1"), world) is None
    assert match_resources(exact, widget("v1"), world) is not None


def test_equivalent_prefers_the_version_of_the_request_in_any_rule(world: PlainWorld) -> None:
    rules = [widget_rule("v1"), widget_rule("v1beta1")]
    matched = match_resources(constraints(resourceRules=rules), widget("v1beta1"), world)
    assert matched is not None
    assert matched.resource.version == "v1beta1"


def test_equivalent_looks_at_the_names_of_each_rule(world: PlainWorld) -> None:
    resources = constraints(resourceRules=[widget_rule("v1", resourceNames=["other"])])
    assert match_resources(resources, widget("v1beta1"), world) is None
    assert match_resources(resources, widget("v1beta1", name="other"), world) is not None


def test_an_exclusion_is_equivalent_too(world: PlainWorld) -> None:
    resources = constraints(resourceRules=[widget_rule("*")], excludeResourceRules=[widget_rule("v1")])
    assert match_resources(resources, widget("v1beta1"), world) is None


def test_the_kind_of_a_subresource_is_that_of_the_version(world: PlainWorld) -> None:
    matched = match_resources(constraints(resourceRules=[widget_rule("v1")]), widget("v1beta1", "scale"), world)
    assert matched is not None
    assert matched.kind == ObjectKind("autoscaling", "v1", "Scale")


def test_an_unknown_kind_is_an_error(world: PlainWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    nameless = [ServedVersion(ObjectResource(WIDGETS, "v1", "widgets"), ObjectKind("", "", ""))]
    monkeypatch.setattr(world, "served_versions", lambda resource, subresource: nameless)
    with pytest.raises(ApiError, match=r"^unable to convert to vec.example.com/v1, Resource=widgets: unknown kind$"):
        match_resources(constraints(resourceRules=[widget_rule("v1")]), widget(), world)
    with pytest.raises(ApiError, match=r"^Internal error occurred: unable to convert to .*: unknown kind$"):
        match_webhook(webhook(rules=[widget_rule("v1")], matchPolicy="Equivalent"), widget(), world)


PROD: Raw = {"matchLabels": {"env": "prod"}}
NOT_PROD: Raw = {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}


def namespace_request(operation: str, document: Raw | None, subresource: str = "") -> Attributes:
    return Attributes(
        operation,
        ObjectResource("", "v1", "namespaces"),
        ObjectKind("", "v1", "Namespace"),
        "team-a",
        "team-a",
        subresource,
        object=document,
        old=None if operation == "CREATE" else {"kind": "Namespace", "metadata": {"name": "team-a"}},
    )


DEV = {"kind": "Namespace", "metadata": {"name": "team-a", "labels": {"env": "dev"}}}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (creation(config_map()), True),
        (creation(config_map(namespace="plain")), False),
        # Objects outside of namespaces are always selected.
        (creation({"metadata": {"name": "cr"}}, resource=ObjectResource("", "v1", "nodes")), True),
        # A Namespace that is written is selected by what is written, one that is deleted by what is stored.
        (namespace_request("CREATE", DEV), False),
        (namespace_request("UPDATE", DEV), False),
        (namespace_request("UPDATE", DEV, "status"), True),
        (namespace_request("DELETE", None), True),
    ],
)
def test_namespace_selector(world: PlainWorld, attributes: Attributes, expected: bool) -> None:
    assert (match_resources(constraints(namespaceSelector=PROD), attributes, world) is not None) is expected
    assert (match_webhook(webhook(namespaceSelector=PROD), attributes, world) is not None) is expected


def test_a_missing_namespace_is_an_error_of_what_else_matches(world: PlainWorld) -> None:
    attributes = creation(config_map(namespace="gone"))
    with pytest.raises(ApiError, match=r'^namespaces "gone" not found$') as raised:
        match_resources(constraints(namespaceSelector=PROD), attributes, world)
    assert raised.value.code == 404
    assert (
        match_resources(constraints(namespaceSelector=PROD, resourceRules=[widget_rule("v1")]), attributes, world)
        is None
    )
    unselected = constraints(namespaceSelector=PROD, objectSelector=PROD)
    assert match_resources(unselected, attributes, world) is None


PLAIN, LABELLED = config_map(), config_map(labels={"env": "prod"})
OPTIONS: Raw = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["ls"]}


@pytest.mark.parametrize(
    ("new", "old", "selector", "expected"),
    [
        (LABELLED, None, PROD, True),
        (PLAIN, None, PROD, False),
        (PLAIN, LABELLED, PROD, True),
        (LABELLED, PLAIN, PROD, True),
        (None, LABELLED, PROD, True),
        (None, PLAIN, PROD, False),
        (PLAIN, LABELLED, NOT_PROD, True),
        (None, None, NOT_PROD, False),
        (OPTIONS, None, NOT_PROD, False),
        (OPTIONS, None, {}, True),
    ],
)
def test_object_selector(world: PlainWorld, new: Raw | None, old: Raw | None, selector: Raw, expected: bool) -> None:
    attributes = creation(PLAIN, object=new, old=old)
    assert (match_resources(constraints(objectSelector=selector), attributes, world) is not None) is expected


def webhook(**fields: Any) -> ValidatingWebhook:
    everything = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]
    return convert_view(
        {"rules": everything, "namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Exact"} | fields,
        ValidatingWebhook,
    )


def test_a_webhook_without_rules_matches_nothing(world: PlainWorld) -> None:
    assert match_webhook(webhook(rules=[]), creation(config_map()), world) is None
    assert match_webhook(webhook(), creation(config_map()), world) == OWN


def test_a_webhook_matches_equivalent_versions(world: PlainWorld) -> None:
    rules = [widget_rule("v1")]
    assert match_webhook(webhook(rules=rules), widget("v1beta1"), world) is None
    matched = match_webhook(webhook(rules=rules, matchPolicy="Equivalent"), widget("v1beta1"), world)
    assert matched is not None
    assert matched.kind.version == "v1"


def test_a_policy_without_constraints_is_an_error(world: PlainWorld) -> None:
    with pytest.raises(ApiError, match="policy contained no match constraints, a required field"):
        match_resources(None, creation(config_map()), world)
    with pytest.raises(ApiError, match="a nil namespace selector was passed, please ensure"):
        match_resources(MatchResources(), creation(config_map()), world)


def test_objects_are_converted_once_they_have_another_version(world: PlainWorld) -> None:
    attributes = widget("v1beta1")
    attributes.old = attributes.object
    same = versioned(attributes, attributes.kind, world)
    assert same.object is attributes.object
    other = versioned(attributes, ObjectKind(WIDGETS, "v1", "Widget"), world)
    assert other.object is not None
    assert other.object["apiVersion"] == "vec.example.com/v1"
    assert other.old == other.object
    with pytest.raises(ApiError, match="conversion failed"):
        versioned(widget("v1beta1", name="stubborn"), ObjectKind(WIDGETS, "v1", "Widget"), world)


def test_what_was_compiled_is_forgotten_with_its_view() -> None:
    compiled = Kept[MatchResources, object](lambda view: object())
    view = constraints(resourceRules=[CONFIG_MAPS])
    assert compiled.of(view) is compiled.of(view)
    assert len(compiled) == 1
    del view
    gc.collect()
    assert len(compiled) == 0
