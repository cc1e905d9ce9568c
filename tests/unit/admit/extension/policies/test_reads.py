"""What policies read of requests, and whether their answers can be kept for a template."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, PlainWorld, config_map, creation

from moorage.admit.extension.policies.asked_policies import creation_dependence
from moorage.admit.extension.policies.reads import (
    Dependence,
    Path,
    dependence,
    paths_read,
    policy_reads,
    reads_only_template,
)


def path(text: str) -> Path:
    return tuple(text.split("."))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", ""),
        ("object.spec.replicas > 3", "object.spec.replicas"),
        ("has(object.metadata.labels) && 'a' in object.metadata.labels", "object.metadata.labels"),
        ("object['spec'].?nodeName.orValue('') == 'x'", "object.spec.nodeName"),
        (
            "object.spec.containers.all(c, c.image == object.spec.hostname)",
            "object.spec.containers object.spec.hostname",
        ),
        ("object.spec.containers.all(object, object.image == 'x')", "object.spec.containers"),
        ("object.data[request.name] == 'x'", "object.data request.name"),
        ("object.data[request.name].size.x == 1", "object.data request.name"),
        ("object.spec[0].x == 'y'", "object.spec"),
        ("object == oldObject", "object oldObject"),
        ("(object.spec.a ? object : params).x == 1", "object.spec.a object params"),
        ("authorizer.requestResource.check('get').allowed()", "authorizer.requestResource"),
        ("variables.a + size(variables)", "variables.a variables"),
        ("dyn(object).spec.x == 1", "object"),
        ("[1, 2].map(i, object.spec.x[i])", "object.spec.x"),
        ("object.spec.x[?'a'].optMap(v, v + request.name)", "object.spec.x.a request.name"),
        ("Object{spec: Object.spec{nodeName: object.metadata.name}}", "object.metadata.name"),
        ("object.", "object oldObject params request namespaceObject authorizer variables"),
    ],
)
def test_paths_end_where_a_value_is_used(expression: str, expected: str) -> None:
    assert paths_read(expression) == {path(each) for each in expected.split()}


def made(*validations: str, **spec: Any) -> Any:
    world = PlainWorld()
    bindings = spec.pop("bindings", ())
    texts = [{"expression": each} for each in validations]
    policy = world.put_policy("p", {"validations": texts, **spec}, *bindings)
    return policy, world.validating_bindings("p")


def test_variables_stand_for_what_they_read_if_they_are_read() -> None:
    variables = [
        {"name": "a", "expression": "object.spec.a"},
        {"name": "b", "expression": "variables.a + object.spec.b"},
        {"name": "unread", "expression": "object.metadata.name"},
    ]
    policy, _ = made("variables.b == 'x'", variables=variables)
    assert policy_reads(policy) == {path("object.spec.a"), path("object.spec.b")}
    policy, _ = made("size(dyn(variables)) == 3", variables=variables)
    assert path("object.metadata.name") in policy_reads(policy)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("object.spec.nodeName == 'x'", Dependence.TEMPLATE),
        ("object.metadata.labels.app == 'x' && request.operation == 'CREATE'", Dependence.TEMPLATE),
        ("oldObject == null || oldObject.spec.x == 1", Dependence.TEMPLATE),
        ("request.namespace == 'x'", Dependence.TEMPLATE),
        ("namespaceObject.metadata.labels.env == 'x'", Dependence.NAMESPACE),
        ("object.metadata.name == 'x'", Dependence.REQUEST),
        ("object.metadata.?generateName.orValue('') == 'x'", Dependence.REQUEST),
        ("has(object.metadata.uid)", Dependence.REQUEST),
        ("size(object.metadata) > 1", Dependence.REQUEST),
        ("object != null", Dependence.REQUEST),
        ("request.name == 'x'", Dependence.REQUEST),
        ("request.userInfo.username == 'x'", Dependence.REQUEST),
        ("request.dryRun", Dependence.REQUEST),
        ("authorizer.path('/').check('get').allowed()", Dependence.REQUEST),
    ],
)
def test_an_answer_depends_on_what_was_read(expression: str, expected: Dependence) -> None:
    policy, bindings = made(expression)
    assert dependence(policy, bindings) is expected
    assert reads_only_template(policy, bindings) is (expected is Dependence.TEMPLATE)


def test_messages_annotations_and_conditions_are_read_as_well() -> None:
    name = "object.metadata.name"
    for spec in (
        {"validations": [{"expression": "true", "messageExpression": name}]},
        {"auditAnnotations": [{"key": "k", "valueExpression": name}]},
        {"matchConditions": [{"name": "n", "expression": f"{name} == 'x'"}]},
    ):
        policy, bindings = made(**spec)
        assert not reads_only_template(policy, bindings)


def test_parameters_names_in_rules_and_selectors_of_namespaces_count_as_read() -> None:
    policy, bindings = made("true", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    assert dependence(policy, bindings) is Dependence.REQUEST
    selector = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
    policy, bindings = made("true", bindings=({"matchResources": selector},))
    assert dependence(policy, bindings) is Dependence.NAMESPACE
    rule = {
        "operations": ["*"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        "resourceNames": ["a"],
    }
    policy, bindings = made("true", matchConstraints={"resourceRules": [rule]})
    assert dependence(policy, bindings) is Dependence.REQUEST


def test_creations_depend_on_what_all_policies_read_that_may_match() -> None:
    world = PlainWorld()
    attributes = creation(config_map())
    assert creation_dependence(attributes, world) is Dependence.TEMPLATE
    world.put_policy("a", {"validations": [{"expression": "object.data.a == 'x'"}]})
    assert creation_dependence(attributes, world) is Dependence.TEMPLATE
    world.put_policy("b", {"validations": [{"expression": "namespaceObject != null"}]})
    assert creation_dependence(attributes, world) is Dependence.NAMESPACE
    constraints = {"resourceRules": [{**CONFIG_MAPS, "resources": ["pods"]}]}
    world.put_policy("c", {"matchConstraints": constraints, "validations": [{"expression": "request.dryRun"}]})
    assert creation_dependence(attributes, world) is Dependence.NAMESPACE
    world.put_policy("d", {"validations": [{"expression": "request.dryRun"}]})
    assert creation_dependence(attributes, world) is Dependence.REQUEST
    world.bindings["d"] = []
    world.generation += 1
    assert creation_dependence(attributes, world) is Dependence.NAMESPACE
