"""Object and JSONPatch in CEL."""

from typing import Any

import pytest

from moorage.admit.extension.policies.environment import Offered, policy_environment
from moorage.admit.extension.policies.mutating.mutations import MUTATION_TYPES
from moorage.admit.extension.policies.mutating.object_types import misnamed_parts
from moorage.match.cel import CelError, Program, compile_expression, render_issues

ENVIRONMENT = policy_environment(Offered(), extras=MUTATION_TYPES)


def _program(source: str) -> Program:
    program = compile_expression(source, ENVIRONMENT)
    assert isinstance(program, Program), program
    return program


def _value(source: str) -> Any:
    return _program(source).run({})


@pytest.mark.parametrize(
    ("source", "type_"),
    [
        ("Object{}", "Object"),
        ("Object{spec: Object.spec{replicas: 1}}", "Object"),
        ("Object.spec{a: 1, b: 'x', c: [1], d: null}", "Object.spec"),
        ("true ? Object{} : null", "Object"),
        ("[JSONPatch{op: 'add', path: '/x', value: 1}]", "list(JSONPatch)"),
        ("object.x ? [JSONPatch{op: 'add'}] : []", "list(JSONPatch)"),
        ("[]", "list(dyn)"),
        ("Object{}.anything", "dyn"),
        ("JSONPatch{}.op", "string"),
        ("jsonpatch.escapeKey('a')", "string"),
    ],
)
def test_types(source: str, type_: str) -> None:
    assert str(_program(source).result_type) == type_


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Objects{}", "undeclared reference to 'Objects' (in container '')"),
        ("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("JSONPatch{value: 1, x: 'y'}", "expected type of field 'x' is '' but provided type is 'string'"),
        ("JSONPatch{x: null}", "expected type of field 'x' is '' but provided type is 'null'"),
        ("Object{a: nope}", "undeclared reference to 'nope' (in container '')"),
        ("Object{}.a + JSONPatch{}", "found no matching overload for '_+_' applied to '(dyn, JSONPatch)'"),
    ],
)
def test_wrong_types(source: str, message: str) -> None:
    issues = compile_expression(source, ENVIRONMENT)
    assert not isinstance(issues, Program)
    assert message in render_issues(source, issues)


def test_only_mutations_construct_objects() -> None:
    issues = compile_expression("Object{}", policy_environment(Offered()))
    assert not isinstance(issues, Program)
    assert issues[0].message == "undeclared reference to 'Object' (in container '')"


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("jsonpatch.escapeKey('k8s.io/my~label')", "k8s.io~1my~0label"),
        ("jsonpatch.escapeKey('~1')", "~01"),
        ("JSONPatch{op: 'add', path: '/a', value: 1} == JSONPatch{op: 'add', path: '/a', value: 1.0}", True),
        ("JSONPatch{op: 'add'} == JSONPatch{op: 'add', value: null}", False),
        ("JSONPatch{}.from", ""),
        ("has(JSONPatch{op: ''}.op) || has(JSONPatch{}.value)", False),
        ("has(JSONPatch{op: 'add', value: null}.value)", True),
        ("JSONPatch{value: [1, 2]}.value[1]", 2),
        ("Object{a: 1} == dyn(Object.a{a: 1})", False),
    ],
)
def test_values(source: str, value: Any) -> None:
    assert _value(source) == value


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("JSONPatch{op: dyn(1)}", "unexpected type int64 for JSONPatchType 'op' field"),
        ("JSONPatch{path: dyn([1])}", "unexpected type []ref.Val for JSONPatchType 'path' field"),
        ("JSONPatch{from: dyn(Object{})}", "unexpected type map[string]interface {} for JSONPatchType 'from' field"),
        ("JSONPatch{x: dyn(1)}", "unexpected JSONPatchType field: x"),
        ("Object{a: 1}.a", "no such key: a"),
        ("dyn(JSONPatch{}).x", "unsupported indexer: x"),
        ("has(dyn(JSONPatch{}).x)", "unsupported field: x"),
    ],
)
def test_values_that_cannot_be_made(source: str, reason: str) -> None:
    with pytest.raises(CelError) as failed:
        _value(source)
    assert str(failed.value) == reason


@pytest.mark.parametrize(
    ("source", "misnamed"),
    [
        ("Object{spec: Object.spec{template: Object.spec.template{}}}", []),
        ("Object{a: [Object.a{b: {'x': Object.a.b{}}}]}", []),
        ("Object{a: Object{}}", [("Object", "Object.a")]),
        (
            "Object{a: [dyn(Object.b{}), dyn(Object.a{}), dyn(Object.c{})]}",
            [("Object.b", "Object.a"), ("Object.c", "Object.a")],
        ),
        ("Object.spec{a: Object.a{b: Object.spec.a.b{}}}", [("Object.a", "Object.spec.a")]),
    ],
)
def test_parts_are_named_by_the_path_of_their_field(source: str, misnamed: list[tuple[str, str]]) -> None:
    assert misnamed_parts(_value(source)) == [
        f'unexpected type name "{given}", expected "{path}", which matches field name path from root Object type'
        for given, path in misnamed
    ]
