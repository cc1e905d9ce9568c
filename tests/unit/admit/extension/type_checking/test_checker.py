"""Types of expressions, by the schemas of the kinds that a policy names."""

from typing import Any

import pytest
from tests.unit.admit.objects import Raw, custom_resource_definition

from moorage.admit.extension.type_checking.checker import check_policy, mistyped_expressions
from moorage.admit.extension.type_checking.known_kinds import KnownKinds
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import ValidatingAdmissionPolicy


def policy(*expressions: str, resources: tuple[str, ...] = ("apps/v1/deployments",), **spec: Any) -> Any:
    rules = []
    for resource in resources:
        group, version, name = resource.split("/", 2)
        rules.append({"apiGroups": [group], "apiVersions": [version], "operations": ["*"], "resources": [name]})
    validations = [{"expression": expression} for expression in expressions]
    document = {"matchConstraints": {"resourceRules": rules}, "validations": validations, **spec}
    return convert_view({"metadata": {"name": "p"}, "spec": document}, ValidatingAdmissionPolicy)


def warnings(checked: Any, *definitions: Raw) -> list[str]:
    """Return the first line of each warning."""
    return [found.warning.partition("\n")[0] for found in mistyped_expressions(checked, definitions)]


FITS = [
    "object.spec.replicas > 1",
    "object.metadata.namespace == 'a'",
    "object.metadata.creationTimestamp < timestamp('2024-01-01T00:00:00Z')",
    "object.spec.template.spec.containers.all(c, c.image.startsWith('x'))",
    "object.spec.strategy.rollingUpdate.maxSurge == 5 || object.spec.strategy.rollingUpdate.maxSurge == '5%'",
    "namespaceObject.metadata.name == request.namespace",
    "authorizer.group('apps').resource('deployments').check('get').allowed()",
    "int('x') == 1",
]
DOES_NOT = [
    ("object.spec.nope", "1:12: undefined field 'nope'"),
    ("object.spec.replicas == 'x'", "1:22: found no matching overload for '_==_' applied to '(int, string)'"),
    (
        "object.spec.template.spec.containers[0].resources.limits['cpu'] == '1'",
        "1:50: undefined field 'limits'",  # a map of amounts, which have no type
    ),
    ("object.spec == object.metadata", "applied to '(Deployment.spec, Deployment.metadata)'"),
]


@pytest.mark.parametrize("expression", FITS)
def test_expressions_that_fit_are_not_reported(expression: str) -> None:
    assert warnings(policy(expression)) == []


@pytest.mark.parametrize(("expression", "problem"), DOES_NOT)
def test_expressions_that_do_not_fit_are_reported(expression: str, problem: str) -> None:
    found = warnings(policy(expression))
    assert [problem in warning for warning in found] == [True]
    assert found[0].startswith("apps/v1, Kind=Deployment: ERROR: <input>:1:")


RUNS = [
    "authorizer.requestResource.check('get').allowed()",
    "object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == '1')",
    "object.metadata.creationTimestamp.startsWith('2024')",
]


@pytest.mark.parametrize("expression", RUNS)
def test_what_runs_all_the_same_may_be_left_out(expression: str) -> None:
    assert len(mistyped_expressions(policy(expression), ())) == 1
    assert mistyped_expressions(policy(expression), (), as_it_runs=True) == []


def test_what_fails_where_it_runs_is_not_left_out() -> None:
    for expression in ("object.spec.nope == 1", "object.metadata.labels == 1", "object.spec.replicas.size() == 1"):
        assert len(mistyped_expressions(policy(expression), (), as_it_runs=True)) == 1


@pytest.mark.parametrize(
    ("schema", "reads", "fails"),
    [
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "a.b == 1", ""),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "date-time"}}}, "a == ''", "a == 1"),
        ({"type": "object", "properties": {"a": {"type": "number"}}}, "a == 1", "b == 1"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "a == 1", "a == ''"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, "all(x, x.a == 1)", "all(x, x.b)"),
    ],
)
def test_custom_objects_as_expressions_meet_them(schema: Raw, reads: str, fails: str) -> None:
    definition = custom_resource_definition(schema)
    resources = ("crd.example.com/v1/widgets",)
    fitting = policy(f"object.spec.{reads}", resources=resources)
    assert mistyped_expressions(fitting, [definition], as_it_runs=True) == []
    if fails:
        wrong = policy(f"object.spec.{fails}", resources=resources)
        assert len(mistyped_expressions(wrong, [definition], as_it_runs=True)) == 1


def test_every_kind_has_its_own_problems() -> None:
    found = mistyped_expressions(policy("object.spec.replicas > 1", resources=("/v1/pods", "apps/v1/deployments")), ())
    assert [(one.field, [kind.kind for kind, _ in one.problems]) for one in found] == [
        ("spec.validations[0].expression", ["Pod"])
    ]


@pytest.mark.parametrize("resource", ["*/v1/deployments", "apps/*/deployments", "apps/v1/*", "apps/v1/pods/log"])
def test_wildcards_and_subresources_name_no_kind(resource: str) -> None:
    assert warnings(policy("object.nope", resources=(resource,))) == []


def test_what_is_not_known_may_be_anything() -> None:
    assert warnings(policy("object.nope", resources=("example.com/v1/others",))) == []
    unknown = {"apiVersion": "example.com/v1", "kind": "Other"}
    assert warnings(policy("params.nope == 1", paramKind=unknown)) == []


def test_parameters_have_types_of_their_own() -> None:
    checked = policy("params.data.x == 1", "params == object", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    assert [warning.rpartition(": ")[2] for warning in warnings(checked)] == [
        "found no matching overload for '_==_' applied to '(string, int)'",
        "found no matching overload for '_==_' applied to '(ConfigMap, Deployment)'",
    ]


def test_variables_are_checked_where_they_are_read() -> None:
    variables = [{"name": "wrong", "expression": "object.nope"}, {"name": "r", "expression": "object.spec.replicas"}]
    assert warnings(policy("variables.wrong == 1", variables=variables)) == []
    assert len(warnings(policy("variables.r == 'x'", variables=variables))) == 1


def test_message_expressions_are_checked_with_their_field() -> None:
    validations = [{"expression": "true", "messageExpression": "object.nope"}]
    found = mistyped_expressions(policy(validations=validations), ())
    assert [one.field for one in found] == ["spec.validations[0].messageExpression"]


def test_custom_kinds_have_the_types_of_their_schema() -> None:
    definition = custom_resource_definition({"type": "object", "properties": {"a": {"type": "integer"}}})
    names = definition["spec"]["names"]
    resource = f"{definition['spec']['group']}/{definition['spec']['versions'][0]['name']}/{names['plural']}"
    wrong = policy("object.spec.a == 'x'", resources=(resource,))
    assert len(warnings(wrong, definition)) == 1
    assert (
        warnings(policy("object.spec.a == 1 && object.metadata.labels.x == ''", resources=(resource,)), definition)
        == []
    )
    del definition["spec"]["versions"][0]["served"]
    assert warnings(wrong, definition) == []


@pytest.mark.parametrize("document", [{}, {"spec": None}, {"spec": {"names": {"kind": 1}, "versions": [1]}}])
def test_definitions_that_are_none_add_no_kinds(document: Raw) -> None:
    assert KnownKinds([document]).of_resource("", "v1", "1") == []


def test_resources_of_the_core_group_are_found_in_every_group_that_has_the_version() -> None:
    found = KnownKinds(()).of_resource("", "v1", "events")
    assert {(known.kind.group, known.kind.kind) for known in found} == {("", "Event"), ("events.k8s.io", "Event")}


def test_long_expressions_may_be_left_out() -> None:
    checked = policy("object.nope", "object.nope == 'aaaaaaaa'")
    steps = check_policy(checked, (), longest=12)
    assert list(steps) == [None, None]  # one for the kind, one for the expression
    found = mistyped_expressions(checked, (), longest=12)
    assert [one.field for one in found] == ["spec.validations[0].expression"]
