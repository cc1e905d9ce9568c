"""Policies, their expressions and their bindings; what an update need not repair."""

import copy
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, complaints, document
from tests.unit.admit.stored_objects import MATCHED, mutating_policy, validating_policy

PARAMS: Raw = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}


def matched(**constraints: Any) -> Raw:
    return {"matchConstraints": {**MATCHED["matchConstraints"], **constraints}}


def validation(**fields: Any) -> Raw:
    return {"validations": [{"expression": "true", **fields}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"failurePolicy": "", **matched(matchPolicy="")},
            [
                'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"',
                'spec.matchConstraints.matchPolicy: Unsupported value: "": supported values: "Equivalent", "Exact"',
            ],
        ),
        (
            {"validations": [], "auditAnnotations": []},
            [
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ],
        ),
        (
            {"variables": [{"name": "for", "expression": " "}]},
            [
                'spec.variables[0].name: Invalid value: "for": must be a valid CEL identifier',
                "spec.variables[0].expression: Required value: expression is not specified",
            ],
        ),
        (
            validation(message=" ", messageExpression=" ", reason="Unauthorized"),
            [
                'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
                'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
                'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", '
                '"Invalid", "RequestEntityTooLarge"',
            ],
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            [
                'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string '
                "null_type] but got int"
            ],
        ),
    ],
)
def test_validating_policies(spec: Raw, expected: list[str]) -> None:
    assert complaints(validating_policy(**spec)) == expected


UNDECLARED = "compilation failed: ERROR: <input>:1:1: undeclared reference to '{}' (in container '')"


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        (validation(expression="params.x == 1"), UNDECLARED.format("params")),
        ({**PARAMS, **validation(expression="params.x == 1")}, ""),
        (validation(expression="variables.a"), UNDECLARED.format("variables")),
        ({"variables": [{"name": "a", "expression": "1"}], **validation(expression="variables.a > 0")}, ""),
        (
            {"variables": [{"name": "a", "expression": "1"}], **validation(expression="variables.a")},
            "must evaluate to bool but got int",
        ),
        (
            {"variables": [{"name": "a", "expression": "1"}], **validation(expression="variables.b == 1")},
            "compilation failed: ERROR: <input>:1:10: undefined field 'b'",
        ),
        (validation(expression="request.uid == ''"), "compilation failed: ERROR: <input>:1:8: undefined field 'uid'"),
        (validation(expression="namespaceObject.kind == ''"), "undefined field 'kind'"),
        (validation(expression="object.x"), "must evaluate to bool but got dyn"),
        (validation(expression="int('x') == 1"), "program instantiation failed: type conversion error"),
        (validation(expression="type(object.x) == timestamp"), "reference to undefined type: timestamp"),
        (validation(expression="type(request) == kubernetes.UserInfo"), "reference to undefined type: kubernetes.User"),
        (validation(expression="[1].existsOne(x, x == 1)"), "undeclared reference to 'existsOne'"),
        (validation(expression="int('x')"), "must evaluate to bool but got int"),
        (validation(messageExpression="1"), "must evaluate to string but got int"),
        (validation(messageExpression="authorizer.path('/').check('get').reason()"), "undeclared reference to 'auth"),
    ],
)
def test_expressions_are_compiled_where_they_will_run(spec: Raw, detail: str) -> None:
    found = complaints(validating_policy(**spec))
    assert [detail in complaint for complaint in found] == ([True] if detail else [])


def test_constants_that_cannot_be_computed_are_internal_errors() -> None:
    found = complaints(validating_policy(**validation(expression="uint(-1) == 0u")))
    detail = "program instantiation failed: unsigned integer overflow"
    assert found == [f"spec.validations[0].expression: Internal error: {detail}"]


def test_variables_know_those_before_them() -> None:
    first, second = {"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + 1"}
    assert complaints(validating_policy(variables=[first, second])) == []
    assert "undefined field 'a'" in complaints(validating_policy(variables=[second, first]))[0]


def test_match_conditions_have_no_variables() -> None:
    conditions = [{"name": "c", "expression": "variables.a"}]
    variables = [{"name": "a", "expression": "true"}]
    found = complaints(validating_policy(variables=variables, matchConditions=conditions))
    assert ["undeclared reference to 'variables'" in complaint for complaint in found] == [True]


def test_an_update_need_not_repair_unchanged_match_conditions() -> None:
    old = validating_policy(matchConditions=[{"name": "c", "expression": "params.x"}])
    old["metadata"]["resourceVersion"] = "1"
    new = copy.deepcopy(old)
    new["spec"]["failurePolicy"] = "Ignore"
    assert complaints(new, old) == []
    new["spec"]["matchConditions"][0]["name"] = "d"
    assert "undeclared reference to 'params'" in complaints(new, old)[0]


def test_too_many_audit_annotations_are_shown_as_go_prints_them() -> None:
    annotations = [{"key": f"k{number}", "valueExpression": "'x'"} for number in range(21)]
    found = complaints(validating_policy(auditAnnotations=annotations))
    assert found[0].startswith('spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"\'x\'"},{')
    assert found[0].endswith("]: must not have more than 20 auditAnnotations")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"mutations": []}, ["spec.mutations: Required value: mutations must contain at least one item"]),
        (
            {"mutations": [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}]},
            [
                "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified '
                "when patchType is JSONPatch",
            ],
        ),
        (
            {"reinvocationPolicy": "", "mutations": [{"patchType": "x"}]},
            [
                'spec.mutations[0].patchType: Unsupported value: "x": supported values: "ApplyConfiguration", '
                '"JSONPatch"',
                "spec.reinvocationPolicy: Required value",
            ],
        ),
    ],
)
def test_mutating_policies(spec: Raw, expected: list[str]) -> None:
    assert complaints(mutating_policy(**spec)) == expected


@pytest.mark.parametrize(
    ("patch", "expression", "detail"),
    [
        ("applyConfiguration", "Object{metadata: Object.metadata{labels: {'a': variables.v}}}", ""),
        ("applyConfiguration", "Object.spec{}", "must evaluate to Object but got Object.spec"),
        ("applyConfiguration", "{}", "must evaluate to Object but got map(dyn, dyn)"),
        ("applyConfiguration", "Object{a: variables.w}", "undefined field 'w'"),
        ("jsonPatch", "[JSONPatch{op: 'add', path: jsonpatch.escapeKey('a/b'), value: 1}]", ""),
        ("jsonPatch", "[]", "must evaluate to list(JSONPatch) but got list(dyn)"),
        ("jsonPatch", "[JSONPatch{op: 1}]", "expected type of field 'op' is 'string' but provided type is 'int'"),
    ],
)
def test_mutations_construct_patches(patch: str, expression: str, detail: str) -> None:
    mutation = {
        "patchType": f"{patch[0].upper()}{patch[1:]}".replace("Json", "JSON"),
        patch: {"expression": expression},
    }
    policy = mutating_policy(variables=[{"name": "v", "expression": "'x'"}], mutations=[mutation])
    assert [detail in complaint for complaint in complaints(policy)] == ([True] if detail else [])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"validationActions": ["Deny"]}, []),
        (
            {"policyName": "", "validationActions": []},
            [
                "spec.policyName: Required value",
                "spec.validationActions: Required value: at least one validation action is required",
            ],
        ),
        (
            {"validationActions": ["Deny"], "paramRef": {"parameterNotFoundAction": "x"}},
            [
                "spec.paramRef: Required value: one of name or selector must be specified",
                'spec.paramRef.parameterNotFoundAction: Unsupported value: "x": supported values: "Deny", "Allow"',
            ],
        ),
    ],
)
def test_bindings(spec: Raw, expected: list[str]) -> None:
    binding = document("ValidatingAdmissionPolicyBinding", spec={"policyName": "p", **spec})
    assert complaints(binding) == expected
