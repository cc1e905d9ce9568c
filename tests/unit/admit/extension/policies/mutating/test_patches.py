"""What mutations construct, as JSON, and its application to objects: values, merges, patches, texts of refusals."""

from typing import Any

import pytest

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema, built_in_schema, custom_schema
from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.policies.environment import Offered, policy_environment
from moorage.admit.extension.policies.mutating.mutations import MUTATION_TYPES
from moorage.admit.extension.policies.mutating.patches import (
    RefusedMutation,
    apply_configuration,
    apply_patches,
    json_operation,
)
from moorage.admit.raw import Raw, copy_document
from moorage.custom.structural import compile_schema
from moorage.match.cel import Program, compile_expression
from moorage.model.kinds import KINDS

ENVIRONMENT = policy_environment(Offered(), extras=MUTATION_TYPES)
POD: Raw = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "1"}},
    "spec": {"containers": [{"name": "a", "image": "x"}], "nodeSelector": {"n": "1"}},
}
POD_KIND, WIDGET_KIND = ObjectKind("", "v1", "Pod"), ObjectKind("example.com", "v1", "Widget")
WIDGET: Raw = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}


def value(source: str) -> Any:
    program = compile_expression(source, ENVIRONMENT)
    assert isinstance(program, Program), program
    return program.run({})


def applied(source: str, document: Raw = POD) -> Raw:
    before = copy_document(document)
    merged = apply_configuration(document, value(source), built_in_schema(KINDS.POD), POD_KIND)
    assert document == before
    return merged


def widget_schema(**properties: Raw) -> FieldOwnershipSchema:
    spec = {"type": "object", "properties": properties}
    return custom_schema("Widget", compile_schema({"type": "object", "properties": {"spec": spec}}))


def patched(source: str, document: Raw = POD) -> Raw:
    before = copy_document(document)
    result = apply_patches(document, value(source))
    assert document == before
    return result


_LABELS = "Object{metadata: Object.metadata{labels: %s}}"
_CONTAINERS = "Object{spec: Object.spec{containers: [%s]}}"
_TWO = "Object.spec.containers{name: 'b'}, Object.spec.containers{name: 'a', image: 'y'}"


@pytest.mark.parametrize(
    ("source", "part", "expected"),
    [
        ("Object{}", "metadata", POD["metadata"]),
        (_LABELS % "{'b': '2'}", "metadata", {"name": "p", "labels": {"a": "1", "b": "2"}}),
        (_LABELS % "{?'b': optional.none(), ?'c': optional.of('3')}", "metadata",
         {"name": "p", "labels": {"a": "1", "c": "3"}}),
        ("Object{kind: 'Secret', apiVersion: 'v9'}", "kind", "Pod"),
        (_CONTAINERS % _TWO, "spec",
         {"containers": [{"name": "b"}, {"name": "a", "image": "y"}], "nodeSelector": {"n": "1"}}),
        ("Object{metadata: Object.metadata{generation: 3.0}}", "metadata", {**POD["metadata"], "generation": 3}),
    ],
)  # fmt: skip
def test_an_object_is_merged(source: str, part: str, expected: Any) -> None:
    assert applied(source)[part] == expected


def test_what_is_not_changed_is_shared() -> None:
    merged = applied("Object{metadata: Object.metadata{labels: {'b': '2'}}}")
    assert merged["spec"] is POD["spec"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("Object{spec: Object.spec{tolerations: []}}", ".spec.tolerations"),
        ("Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}", ".spec.nodeSelector"),
        ("Object{spec: Object.spec{imagePullSecrets: [Object.spec.imagePullSecrets{name: 'x'}]}}",
         ".spec.imagePullSecrets[0]"),
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', command: ['x'], args: ['y']}]}}",
            ".spec.containers[0].command, .spec.containers[0].args",
        ),
    ],
)  # fmt: skip
def test_atomic_parts_are_refused(source: str, reason: str) -> None:
    with pytest.raises(RefusedMutation) as refused:
        applied(source)
    text = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
    assert str(refused.value) == text + reason


_UNTYPED = "error applying patch: failed to convert patch object to typed object: "


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("Object{nope: 1}", _UNTYPED + ".nope: field not declared in schema"),
        ("Object{metadata: null}", _UNTYPED + ".metadata: expected map, got &{NULL_VALUE}"),
        (
            "Object{metadata: Object.metadata{name: null}}",
            _UNTYPED + ".metadata.name: expected string, got &value.valueUnstructured{Value:0}",
        ),
        (
            "Object{spec: Object.spec{priority: null}}",
            _UNTYPED + ".spec.priority: expected numeric (int or float), got structpb.NullValue",
        ),
        (
            "Object{metadata: Object.metadata{creationTimestamp: timestamp('2024-03-01T01:02:03.5Z')}}",
            _UNTYPED + ".metadata.creationTimestamp: expected any scalar, got &{2024-03-01 01:02:03.5 +0000 UTC}",
        ),
        (
            "Object{spec: Object.spec{priority: duration('90m')}}",
            _UNTYPED + ".spec.priority: expected numeric (int or float), got time.Duration",
        ),
        (
            "Object{spec: Object.spec{priority: 5u}}",
            _UNTYPED + ".spec.priority: expected numeric (int or float), got uint64",
        ),
        (
            "Object{metadata: Object.metadata{name: 5u}}",
            _UNTYPED + ".metadata.name: expected string, got &value.valueUnstructured{Value:0x5}",
        ),
        (
            "Object{a: 1, b: 2}",
            _UNTYPED + "errors:\n  .a: field not declared in schema\n  .b: field not declared in schema",
        ),
        (
            "Object{metadata: Object.spec{}}",
            'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", '
            "which matches field name path from root Object type",
        ),
        ("Object{metadata: Object.metadata{labels: {1: '2'}}}", "invalid return type: *dynamic.ObjectVal"),
    ],
)
def test_objects_that_do_not_fit_are_refused(source: str, reason: str) -> None:
    with pytest.raises(RefusedMutation) as refused:
        applied(source)
    assert str(refused.value) == reason


def test_kinds_without_a_schema_have_no_merge() -> None:
    with pytest.raises(RefusedMutation) as refused:
        apply_configuration({"kind": "Scale"}, value("Object{}"), None, ObjectKind("autoscaling", "v1", "Scale"))
    assert str(refused.value) == _UNTYPED + "no corresponding type for autoscaling/v1, Kind=Scale"


def test_objects_of_custom_kinds_are_merged_by_their_schema() -> None:
    schema = widget_schema(
        tags={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    )
    document = {**WIDGET, "spec": {"tags": ["t"], "free": {"q": {"r": 1}}}}
    source = "Object{spec: Object.spec{tags: ['n', 't'], free: Object.spec.free{q: {'s': 2}, when: timestamp(0)}}}"
    merged = apply_configuration(document, value(source), schema, WIDGET_KIND)
    free = {"q": {"r": 1, "s": 2}, "when": "1970-01-01T00:00:00Z"}
    assert merged["spec"] == {"tags": ["n", "t"], "free": free}


def test_an_untyped_list_is_atomic() -> None:
    schema = widget_schema(free={"x-kubernetes-preserve-unknown-fields": True})
    with pytest.raises(RefusedMutation, match=r"atomic arrays, maps or structs: \.spec\.free$"):
        apply_configuration(WIDGET, value("Object{spec: Object.spec{free: [1]}}"), schema, WIDGET_KIND)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("1", 1),
        ("-9007199254740991", -9007199254740991),
        ("9007199254740992", "9007199254740992"),
        ("18446744073709551615u", "18446744073709551615"),
        ("3.0", 3),
        ("2.5", 2.5),
        ("1e300", 1e300),
        ("b'ab'", "YWI="),
        ("duration('90m')", "5400s"),
        ("timestamp('2024-01-01T00:00:00Z')", "2024-01-01T00:00:00Z"),
        ("{'a': [dyn(1), dyn(null), dyn('x')]}", {"a": [1, None, "x"]}),
        ("optional.of(1)", 1),
        ("Object.a{b: 9007199254740993, c: [Object.a.c{}]}", {"b": 9007199254740992, "c": [{}]}),
    ],
)
def test_values_of_patches(source: str, result: Any) -> None:
    operation = json_operation(value(f"JSONPatch{{op: 'add', path: '/x', value: {source}}}"))
    assert operation == {"op": "add", "path": "/x", "value": result}
    assert type(operation["value"]) is type(result)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("type(1)", "type conversion not supported for 'type'"),
        ("optional.none()", "optional.none() dereference"),
        ("{1: 2}", "unsupported type conversion from 'int' to string"),
        ("{true: 2}", "type conversion error from bool to 'string'"),
        ("JSONPatch{}", "cannot convert to native type: *structpb.Value"),
        ("quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"),
        ("Object.a{when: timestamp(0)}", "proto: invalid type: time.Time"),
        ("Object.a{x: null}", "proto: invalid type: structpb.NullValue"),
    ],
)
def test_values_that_are_not_json(source: str, reason: str) -> None:
    with pytest.raises(RefusedMutation) as refused:
        json_operation(value(f"JSONPatch{{value: {source}}}"))
    why = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
    assert str(refused.value) == f"{why}: {reason}"


def test_what_is_shared_in_an_expression_cannot_grow_without_limit() -> None:
    tens = "[0]" + ".map(x, [x, x, x, x, x, x, x, x, x, x])" * 8
    with pytest.raises(RefusedMutation, match="value too large"):
        json_operation(value(f"JSONPatch{{value: {tens}}}"))


def test_a_long_text_cannot_be_repeated_without_limit() -> None:
    long = "'" + "x" * 40_000 + "'"
    with pytest.raises(RefusedMutation, match="value too large: texts"):
        json_operation(value(f"JSONPatch{{value: [{long}].map(x, lists.range(100).map(i, x))}}"))
    with pytest.raises(RefusedMutation, match="value too large: texts"):
        applied(f"Object{{data: [{long}].map(x, lists.range(100).map(i, x))}}")


def test_operations_have_from_only_if_it_is_given() -> None:
    assert json_operation(value("JSONPatch{op: 'move', from: '/a'}")) == {"op": "move", "path": "", "from": "/a"}
    assert json_operation(value("JSONPatch{from: ''}")) == {"op": "", "path": ""}


def test_patches_are_carried_out_in_order() -> None:
    source = (
        "[JSONPatch{op: 'add', path: '/spec/x', value: 1}, JSONPatch{op: 'move', from: '/spec/x', path: '/spec/y'}]"
    )
    assert patched(source)["spec"] == {**POD["spec"], "y": 1}


def test_a_patch_whose_test_fails_changes_nothing() -> None:
    source = "[JSONPatch{op: 'remove', path: '/spec'}, JSONPatch{op: 'test', path: '/kind', value: 'Node'}]"
    assert patched(source) is POD


def test_a_null_is_equal_to_nothing_only_if_it_is_left_out() -> None:
    source = "[JSONPatch{op: 'add', path: '/spec/y', value: 1}, JSONPatch{op: 'test', path: '/spec/x', value: null}]"
    assert patched(source) is POD
    assert patched("[JSONPatch{op: 'test', path: '/nope'}, JSONPatch{op: 'remove', path: '/spec'}]") == {
        name: value for name, value in POD.items() if name != "spec"
    }


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "[JSONPatch{op: 'test', path: '/x/y'}]",
            "test operation does not apply: is missing path: /x/y: missing value",
        ),
        ("[JSONPatch{op: 'odd', path: '/x'}]", "Unexpected kind: odd"),
        (
            "[JSONPatch{op: 'remove', path: '/x'}]",
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
    ],
)
def test_patches_that_do_not_apply_are_refused(source: str, reason: str) -> None:
    with pytest.raises(RefusedMutation) as refused:
        patched(source)
    assert str(refused.value) == f"JSON Patch: {reason}"
