"""How a policy decides, part by part."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, PlainWorld, config_map, creation

from moorage.admit.extension.policies.tracing import PolicyTrace, trace_policy
from moorage.admit.raw import Raw


def traced(spec: Any, binding: Any = None, **data: str) -> PolicyTrace:
    world = PlainWorld()
    world.put_namespace("team-a", env="prod")
    policy = world.put_policy("p", spec, binding or {})
    for name in ("one", "two"):
        world.put_param("ConfigMap", "team-a", name, config_map(name, data={"x": name}, labels={"k": "v"}))
    return trace_policy(policy, world.bindings["p"][0], creation(config_map(data=data)), world)


def values(expressions: Any) -> list[Any]:
    return [each.trace.error or each.trace.result for each in expressions]


def test_variables_and_expressions_are_shown_with_their_parts() -> None:
    trace = traced(
        {
            "variables": [
                {"name": "env", "expression": "namespaceObject.metadata.labels.env"},
                {"name": "broken", "expression": "object.data.nothing"},
            ],
            "validations": [
                {"expression": "variables.env == 'prod' && object.data.a == 'y'", "messageExpression": "request.name"},
                {"expression": "variables.broken == 'x'"},
            ],
            "auditAnnotations": [{"key": "who", "valueExpression": "request.userInfo.username"}],
        },
        a="x",
    )
    (params,) = trace.params
    assert (trace.unmatched, trace.missing) == ("", "")
    assert params.param is None
    assert values(params.variables) == ["prod", "no such key: nothing"]
    assert [each.name for each in params.variables] == ["env", "broken"]
    assert values(params.validations) == [False, 'composited variable "broken" fails to evaluate: no such key: nothing']
    assert params.validations[0].field == "spec.validations[0].expression"
    first = params.validations[0].trace
    assert first is not None
    assert [(part.expression, part.value) for part in first.root.parts] == [
        ("variables.env == 'prod'", "true"),
        ("object.data.a == 'y'", "false"),
    ]
    assert values(params.messages) == ["c"]
    assert values(params.annotations) == ["alice"]
    assert trace.refusal is not None
    assert trace.refusal.message.endswith("denied request: c")
    assert [failure.field for failure in trace.remarks.failures] == [
        "spec.validations[0].expression",
        "spec.validations[1].expression",
    ]


def test_each_parameter_has_a_trace_of_its_own() -> None:
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "two", "expression": "params.data.x == 'two'"}],
        "validations": [{"expression": "params.data.x == 'one'"}],
    }
    reference = {"selector": {"matchLabels": {"k": "v"}}, "parameterNotFoundAction": "Deny"}
    trace = traced(spec, {"paramRef": reference})
    assert [values(params.conditions) for params in trace.params] == [[False], [True]]
    assert [values(params.validations) for params in trace.params] == [[True], [False]]
    assert len(trace.remarks.failures) == 1


def test_a_request_that_does_not_match_has_no_traces() -> None:
    trace = traced({"matchConstraints": {"objectSelector": {"matchLabels": {"a": "b"}}}})
    assert (trace.params, trace.refusal) == ((), None)
    assert trace.unmatched == "spec.matchConstraints.objectSelector: label a is missing, a=b is required"
    trace = traced({}, {"matchResources": {"resourceRules": [{**CONFIG_MAPS, "operations": ["UPDATE"]}]}})
    assert trace.unmatched == "its binding's spec.matchResources.resourceRules[0] has operations UPDATE, not CREATE"


@pytest.mark.parametrize(
    ("reference", "missing"),
    [
        ({"name": "limits"}, "ConfigMap team-a/limits"),
        ({"name": "limits", "namespace": "other"}, "ConfigMap other/limits"),
        ({"selector": {"matchLabels": {"k": "absent"}}}, "ConfigMap in team-a with k=absent"),
        ({"selector": {}, "namespace": "other"}, "ConfigMap in other with any labels"),
    ],
)
@pytest.mark.parametrize("action", ["Allow", "Deny"])
def test_parameters_that_are_missing_are_described(reference: Raw, missing: str, action: str) -> None:
    spec = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "true"}]}
    trace = traced(spec, {"paramRef": {**reference, "parameterNotFoundAction": action}})
    assert (trace.missing, trace.params) == (missing, ())
    assert bool(trace.problem) is (action == "Deny")


def test_errors_of_configuration_and_of_compilation_are_shown() -> None:
    trace = traced({"paramKind": {"apiVersion": "v1", "kind": "Nope"}, "validations": [{"expression": "true"}]})
    assert trace.problem == "failed to find resource referenced by paramKind: '/v1, Kind=Nope'"
    trace = traced({"validations": [{"expression": "nothing == 1"}]})
    assert "undeclared reference to 'nothing'" in trace.params[0].validations[0].problem
