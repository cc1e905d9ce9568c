"""Mutating policies as the chain asks them: order, conditions, parameters, rounds, refusals, remarks."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, WIDGETS, config_map, creation
from tests.unit.admit.extension.policies.mutating.mutating_world import (
    MutatingWorld,
    mutated,
    mutated_twice,
    refusal,
)

from moorage.admit.apply.ownership_schema import custom_schema
from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.policies.mutating.dispatch import mutate_by_policies
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Change, Failure, Remarks
from moorage.admit.extension.steps import advance
from moorage.admit.raw import Raw, copy_document
from moorage.custom.structural import compile_schema
from moorage.model.api_error import ApiError

GROW = "[JSONPatch{op: 'add', path: '/data/n', value: object.data[?'n'].orValue('') + '%s'}]"


def world(*mutations: str, **spec: Any) -> MutatingWorld:
    made = MutatingWorld()
    made.put_mutator("m", *mutations, **spec)
    return made


def request(document: Raw | None = None, **changes: Any) -> Attributes:
    return creation(config_map(data={"a": "x"}) if document is None else document, **changes)


def data(given: MutatingWorld, attributes: Attributes | None = None) -> Any:
    result = mutated(given, attributes or request())
    return None if result is None else result.get("data")


def pod(**spec: Any) -> Attributes:
    containers = [{"name": "a", "image": "x:1"}]
    document: Raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {"containers": containers, **spec},
    }
    kind, resource = ObjectKind("", "v1", "Pod"), ObjectResource("", "v1", "pods")
    return creation(document, kind=kind, resource=resource)


@pytest.mark.parametrize(
    ("mutations", "result"),
    [
        (["Object{data: {'b': object.data.a}}"], {"a": "x", "b": "x"}),
        (["[JSONPatch{op: 'remove', path: '/data/a'}]"], None),
        (["Object{data: {'b': 'y'}}", "Object{data: {'c': object.data.b}}"], {"a": "x", "b": "y", "c": "y"}),
        (["[JSONPatch{op: 'remove', path: '/data'}]", "Object{data: {'b': string(has(object.data))}}"], {"b": "false"}),
        (["[JSONPatch{op: 'test', path: '/data/a', value: 'no'}, JSONPatch{op: 'remove', path: '/data'}]"], {"a": "x"}),
        (["[JSONPatch{op: 'copy', from: '/data/none', path: '/data/b'}]"], {"a": "x", "b": ""}),
        (["Object{data: {'n': namespaceObject.metadata.labels.env, 'u': request.userInfo.username}}"],
         {"a": "x", "n": "prod", "u": "alice"}),
    ],
)  # fmt: skip
def test_mutations_change_the_object_one_after_the_other(mutations: list[str], result: Any) -> None:
    assert data(world(*mutations)) == result


def test_the_object_that_came_is_left_alone() -> None:
    attributes = request()
    document, before = attributes.object, copy_document(attributes.object or {})
    mutated(world("Object{data: {'b': 'y'}}"), attributes)
    assert attributes.object is not document
    assert document == before


def test_defaults_are_set_again_before_the_next_mutation() -> None:
    adds = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'b', image: 'y'}]}}"
    reads = (
        "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'pull': object.spec.containers[1].imagePullPolicy}}]"
    )
    result = mutated(world(adds, reads), pod()) or {}
    assert result["metadata"]["labels"] == {"pull": "Always"}


def test_variables_are_evaluated_for_each_mutation() -> None:
    variables = [{"name": "n", "expression": "string(object.data.size())"}]
    mutations = ["Object{data: {'x': variables.n}}", "Object{data: {'y': variables.n}}"]
    assert data(world(*mutations, variables=variables)) == {"a": "x", "x": "1", "y": "2"}


def test_policies_see_what_earlier_ones_have_changed() -> None:
    given = world("Object{data: {'m': string(has(object.data.n))}}")
    given.put_mutator("n", "Object{data: {'n': string(has(object.data.m))}}")
    assert data(given) == {"a": "x", "m": "false", "n": "true"}


def test_which_policies_apply_is_decided_by_the_object_as_it_came() -> None:
    given = world("Object{metadata: Object.metadata{labels: {'on': 'yes'}}}")
    constraints = {"resourceRules": [CONFIG_MAPS], "objectSelector": {"matchLabels": {"on": "yes"}}}
    given.put_mutator("n", "Object{data: {'n': '1'}}", matchConstraints=constraints)
    assert data(given) == {"a": "x"}


def test_match_conditions_see_the_object_as_it_is_by_then() -> None:
    given = world("Object{metadata: Object.metadata{labels: {'on': 'yes'}}}")
    condition = {"name": "on", "expression": "object.metadata.?labels.on.orValue('') == 'yes'"}
    given.put_mutator("n", "Object{data: {'n': '1'}}", matchConditions=[condition])
    assert data(given) == {"a": "x", "n": "1"}


@pytest.mark.parametrize(
    ("changes", "is_asked"),
    [
        ({}, True),
        ({"operation": "UPDATE", "old": config_map(data={})}, True),
        ({"operation": "DELETE", "object": None, "old": config_map()}, False),
        ({"resource": ObjectResource("", "v1", "secrets")}, False),
        ({"resource": ObjectResource("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies")}, False),
    ],
)
def test_which_requests_policies_are_asked_about(changes: Any, is_asked: bool) -> None:
    given = world("Object{data: {'b': 'y'}}")
    assert bool(mutated_data(given, changes)) is is_asked


def mutated_data(given: MutatingWorld, changes: Any) -> Any:
    attributes = request(**changes)
    before = attributes.object
    mutated(given, attributes)
    return attributes.object is not before


def test_policies_without_bindings_are_not_asked() -> None:
    assert data(world("Object{data: {'b': 'y'}}", bindings=())) == {"a": "x"}


def test_a_binding_can_be_about_fewer_objects() -> None:
    selector = {"matchResources": {"objectSelector": {"matchLabels": {"on": "yes"}}}}
    assert data(world("Object{data: {'b': 'y'}}", bindings=[selector])) == {"a": "x"}


def test_each_parameter_is_applied() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"selector": {"matchLabels": {"k": "v"}}, "parameterNotFoundAction": "Deny"}
    mutation = "[JSONPatch{op: 'add', path: '/data/' + params.metadata.name, value: params.data.v}]"
    given = world(mutation, paramKind=kind, bindings=[{"paramRef": reference}])
    for name in ("p1", "p2"):
        given.put_param("ConfigMap", "team-a", name, config_map(name, data={"v": name}, labels={"k": "v"}))
    assert data(given) == {"a": "x", "p1": "p1", "p2": "p2"}


DENIED = "policy 'm' with binding 'b1' denied request: "


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        ("Object{data: {'b': object.data.none}}",
         "expression 'Object{data: {'b': object.data.none}}' resulted in error: no such key: none"),
        ("Object{data: 1}", "error applying patch: failed to convert patch object to typed object: "
         ".data: expected map, got &{1}"),
        ("Object{binaryData: {'b': '@@'}}", "unable to convert unstructured object to /v1, Kind=ConfigMap: "
         "error decoding from json: illegal base64 data at input byte 0"),
        ("Object{metadata: Object.metadata{generation: 1.5}}", "unable to convert unstructured object to /v1, "
         "Kind=ConfigMap: cannot convert float64 to int64"),
        ("Object{}.x", "must evaluate to Object but got dyn"),
        ("[JSONPatch{op: 'remove', path: '/x'}]", "JSON Patch: error in remove for path: '/x': "
         "Unable to remove nonexistent key: x: missing value"),
        ("[]", "must evaluate to list(JSONPatch) but got list(dyn)"),
    ],
)  # fmt: skip
def test_a_mutation_that_fails_refuses_the_request(mutation: str, message: str) -> None:
    status = refusal(world(mutation), request())
    assert (status["code"], status["reason"], status["message"]) == (403, "Invalid", DENIED + message)
    assert status["details"] == {"name": "c", "kind": "configmaps", "causes": [{"message": DENIED + message}]}


def test_a_mutation_that_fails_is_passed_over_if_the_policy_says_so() -> None:
    mutations = ["Object{data: {'b': object.data.none}}", "Object{data: {'c': 'z'}}"]
    remarks = Remarks()
    given = world(*mutations, failurePolicy="Ignore")
    assert (mutated(given, request(), remarks) or {})["data"] == {"a": "x", "c": "z"}
    assert not remarks.failures
    assert [check.error_type for check in remarks.mutations] == ["invalid_error", "no_error"]


def test_all_errors_are_causes() -> None:
    given = world("Object{data: 1}", "Object{data: {'c': 'z'}}", "Object{x: 1}")
    given.put_mutator("n", "Object{}", paramKind={"apiVersion": "v1", "kind": "Nope"})
    causes = [cause["message"] for cause in refusal(given, request())["details"]["causes"]]
    assert [cause.partition(" denied ")[0] for cause in causes] == [
        'policy "n"',
        "policy 'm' with binding 'b1'",
        "policy 'm' with binding 'b1'",
    ]


def test_errors_of_configuration_are_forbidden() -> None:
    status = refusal(world("Object{}", paramKind={"apiVersion": "v1", "kind": "Nope"}), request())
    problem = "failed to find resource referenced by paramKind: '/v1, Kind=Nope'"
    assert (status["reason"], status["message"]) == (
        "Forbidden",
        f'policy "m" denied request: failed to configure policy: {problem}',
    )


def test_a_match_condition_that_fails_refuses_the_request() -> None:
    remarks = Remarks()
    conditions = [{"name": "c", "expression": "object.data.none == 'x'"}]
    status = refusal(world("Object{}", matchConditions=conditions), request(), remarks)
    text = "expression 'object.data.none == 'x'' resulted in error: no such key: none"
    assert (status["reason"], status["message"]) == ("Invalid", DENIED + text)
    place = "spec.matchConditions[0].expression", "object.data.none == 'x'"
    assert remarks.failures == [Failure("MutatingAdmissionPolicy m", "b1", *place, text, ("Deny",))]


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        ("[JSONPatch{op: 'add', path: '/data/n', value: 5}]",
         "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ("[JSONPatch{op: 'add', path: '/odd', value: 5}]", 'strict decoding error: unknown field "odd"'),
        ("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]", "illegal base64 data at input byte 0"),
        ("[JSONPatch{op: 'replace', path: '/apiVersion', value: 'v9'}]",
         'no kind "ConfigMap" is registered for version "v9" in scheme "pkg/api/legacyscheme/scheme.go:30"'),
    ],
)  # fmt: skip
def test_a_patch_that_does_not_decode_is_an_internal_error_in_spite_of_the_policy(mutation: str, message: str) -> None:
    status = refusal(world(mutation, failurePolicy="Ignore"), request())
    assert (status["code"], status["message"]) == (500, f"Internal error occurred: {message}")
    assert status["details"]["causes"] == [{"message": message}]


def test_a_namespace_that_is_not_there_is_not_found() -> None:
    status = refusal(world("Object{}", failurePolicy="Ignore"), request(config_map(namespace="nowhere")))
    assert (status["code"], status["message"]) == (404, 'namespaces "nowhere" not found')


# -- rounds


def test_policies_that_want_it_are_asked_again() -> None:
    given = world("Object{data: {'m': string(has(object.data.n))}}", reinvocationPolicy="IfNeeded")
    given.put_mutator("n", "Object{data: {'n': '1'}}")
    assert (mutated_twice(given, request()) or {})["data"] == {"a": "x", "m": "true", "n": "1"}


def test_both_of_two_are_asked_again_and_nobody_a_third_time() -> None:
    given = world(GROW % "1", reinvocationPolicy="IfNeeded")
    given.put_mutator("n", GROW % "2", reinvocationPolicy="IfNeeded")
    assert (mutated_twice(given, request()) or {})["data"]["n"] == "1212"


def test_policies_that_do_not_want_it_are_asked_once() -> None:
    assert (mutated_twice(world(GROW % "1"), request()) or {})["data"]["n"] == "1"


@pytest.mark.parametrize(
    "mutation",
    ["Object{}", "Object{data: {'a': 'x'}}", "[JSONPatch{op: 'test', path: '/data/a', value: 'no'}]"],
)
def test_nothing_that_changes_nothing_asks_for_a_second_round(mutation: str) -> None:
    given, remarks, reinvocation, attributes = world(mutation), Remarks(), Reinvocation(), request()
    before = attributes.object
    assert mutated(given, attributes, remarks, reinvocation) is before
    assert not reinvocation.is_needed
    assert not remarks.changes
    assert not given.completed


def test_changes_by_others_between_the_rounds_ask_policies_again() -> None:
    given, reinvocation, attributes = world(GROW % "1", reinvocationPolicy="IfNeeded"), Reinvocation(), request()
    mutated(given, attributes, None, reinvocation)
    reinvocation.is_second = True
    assert attributes.object is not None
    attributes.object["data"]["other"] = "1"
    mutated(given, attributes, None, reinvocation)
    assert attributes.object["data"]["n"] == "11"


# -- remarks


def test_changes_are_remarked_as_a_patch() -> None:
    given, remarks = world("Object{data: {'b': 'y'}}", "Object{data: {'c': 'z'}}"), Remarks()
    mutated(given, request(), remarks)
    assert remarks.changes == [
        Change(
            "MutatingAdmissionPolicy m",
            "b1",
            ({"op": "add", "path": "/data/b", "value": "y"}, {"op": "add", "path": "/data/c", "value": "z"}),
        )
    ]
    assert [(check.policy, check.binding, check.error_type) for check in remarks.mutations] == [
        ("m", "b1", "no_error")
    ] * 2


def test_what_is_remarked_does_not_change_with_the_object() -> None:
    given, remarks, attributes = world("Object{metadata: Object.metadata{labels: {'b': 'y'}}}"), Remarks(), request()
    result = mutated(given, attributes, remarks) or {}
    result["metadata"]["labels"]["later"] = "1"
    assert remarks.changes[0].patch == ({"op": "add", "path": "/metadata/labels", "value": {"b": "y"}},)


# -- other versions, and time


def widgets() -> MutatingWorld:
    given = MutatingWorld()
    schema = compile_schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    for version in ("v1", "v1beta1"):
        given.schemas[ObjectKind(WIDGETS, version, "Widget")] = custom_schema("Widget", schema)
        rule = {"operations": ["*"], "apiGroups": [WIDGETS], "apiVersions": [version], "resources": ["widgets"]}
        mutation = f"Object{{seen: Object.seen{{{version}: object.apiVersion}}}}"
        given.put_mutator(f"m-{version}", mutation, matchConstraints={"resourceRules": [rule]})
    return given


def test_policies_see_an_object_in_their_version_and_changes_of_all_count() -> None:
    document: Raw = {
        "apiVersion": f"{WIDGETS}/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "team-a"},
    }
    kind, resource = ObjectKind(WIDGETS, "v1", "Widget"), ObjectResource(WIDGETS, "v1", "widgets")
    result = mutated(widgets(), creation(document, kind=kind, resource=resource)) or {}
    assert result["apiVersion"] == f"{WIDGETS}/v1"
    assert result["seen"] == {"v1": f"{WIDGETS}/v1", "v1beta1": f"{WIDGETS}/v1beta1"}


def test_what_takes_long_goes_on_after_an_empty_list_of_calls() -> None:
    given, attributes = world("Object{data: {'n': string(lists.range(20000).map(x, x * 2).size())}}"), request()
    steps = mutate_by_policies(attributes, given, Remarks(), Reinvocation())
    first = advance(steps)
    assert (first.calls, first.is_over) == ((), False)
    assert advance(steps, ()).is_over
    assert attributes.object is not None
    assert attributes.object["data"]["n"] == "20000"


def test_expressions_over_their_cost_limit_are_errors() -> None:
    costly = "lists.range(1000).map(x, lists.range(1000).map(y, x * y)).size()"
    given, attributes = world(f"Object{{data: {{'n': string({costly})}}}}"), request()
    with pytest.raises(ApiError, match="operation cancelled: actual cost limit exceeded"):
        mutated(given, attributes)
