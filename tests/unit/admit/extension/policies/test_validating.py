"""Validating policies as the chain asks them: refusals, warnings, audit annotations, failures."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import CONFIG_MAPS, PlainWorld, config_map, creation

from moorage.admit.extension.attributes import ObjectKind, ObjectResource
from moorage.admit.extension.policies.validating import validate_by_policies
from moorage.admit.extension.remarks import Failure, Remarks
from moorage.admit.extension.steps import advance, without_calls
from moorage.model.api_error import ApiError


def world(*validations: Any, **spec: Any) -> PlainWorld:
    """Return a world with one policy; a validation is an expression, or a document."""
    made = PlainWorld()
    made.put_namespace("team-a", env="prod")
    bindings = spec.pop("bindings", ())
    texts = [{"expression": each} if isinstance(each, str) else each for each in validations]
    made.put_policy("p", {"validations": texts, **spec}, *bindings)
    return made


def ask(given: PlainWorld, document: Any = None, **changes: Any) -> tuple[ApiError | None, Remarks]:
    remarks = Remarks()
    attributes = creation(document or config_map(data={"a": "x"}), **changes)
    try:
        without_calls(validate_by_policies(attributes, given, remarks))
    except ApiError as error:
        return error, remarks
    return None, remarks


def refusal(given: PlainWorld, document: Any = None, **changes: Any) -> str | None:
    error, _ = ask(given, document, **changes)
    return None if error is None else error.message


HEAD = "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b1' denied request: "


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ("object.data.a == 'x'", None),
        ("  object.data.a == 'y' ", "failed expression: object.data.a == 'y'"),
        ({"expression": "false", "message": " told "}, "told"),
        ({"expression": "false", "message": "told", "messageExpression": "' no ' + object.data.a"}, "no x"),
        ({"expression": "false", "message": "told", "messageExpression": "'a\\nb'"}, "told"),
        ({"expression": "false", "message": "told", "messageExpression": "object.data.b"}, "told"),
        ("object.data.b == 'y'", "expression 'object.data.b == 'y'' resulted in error: no such key: b"),
        ("namespaceObject.metadata.labels.env == 'prod' && request.namespace == 'team-a'", None),
        ("request.userInfo.username == 'alice' && oldObject == null && !request.dryRun", None),
        ("request.requestKind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'", None),
    ],
)
def test_a_validation_that_does_not_hold_refuses_the_request(validation: Any, message: str | None) -> None:
    assert refusal(world(validation)) == (None if message is None else HEAD + message)


@pytest.mark.parametrize(
    ("reason", "code", "shown"),
    [("", 422, "Invalid"), ("Forbidden", 403, "Forbidden"), ("RequestEntityTooLarge", 413, "RequestEntityTooLarge")],
)
def test_a_refusal_has_the_code_of_its_reason(reason: str, code: int, shown: str) -> None:
    error, _ = ask(world({"expression": "false", **({"reason": reason} if reason else {})}))
    assert error is not None
    assert (error.code, error.reason) == (code, shown)
    assert error.status["details"] == {
        "name": "c",
        "kind": "configmaps",
        "causes": [
            {"message": "ValidatingAdmissionPolicy 'p' with binding 'b1' denied request: failed expression: false"}
        ],
    }


def test_an_error_is_invalid_whatever_the_reason_of_the_validation() -> None:
    error, _ = ask(world({"expression": "object.data.b == 'y'", "reason": "Forbidden"}))
    assert error is not None
    assert error.reason == "Invalid"


def test_errors_are_passed_over_if_the_policy_says_so_and_failures_are_not() -> None:
    assert refusal(world("object.data.b == 'y'", failurePolicy="Ignore")) is None
    assert refusal(world("object.data.b == 'y'", "false", failurePolicy="Ignore")) == HEAD + "failed expression: false"


def test_bindings_say_what_a_failure_leads_to() -> None:
    given = world("false", "true", "object.data.a == '<'", bindings=({"validationActions": ["Warn", "Audit"]},))
    error, remarks = ask(given)
    assert error is None
    head = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b1': failed expression: "
    assert remarks.warnings == [f"{head}false", f"{head}object.data.a == '<'"]
    assert remarks.audit == {
        "validation.policy.admission.k8s.io/validation_failure": '[{"message":"failed expression: false","policy":"p",'
        '"binding":"b1","expressionIndex":0,"validationActions":["Warn","Audit"]}]'
    }
    assert remarks.failures[1] == Failure(
        "ValidatingAdmissionPolicy p",
        "b1",
        "spec.validations[2].expression",
        "object.data.a == '<'",
        "failed expression: object.data.a == '<'",
        ("Warn", "Audit"),
    )
    assert [(check.action, check.error_type) for check in remarks.checks] == [
        ("warn", "invalid_error"),
        ("audit", "invalid_error"),
    ] * 2


def test_the_first_denial_counts_and_all_policies_are_asked() -> None:
    given = world("false", bindings=({}, {"validationActions": ["Warn"]}))
    given.put_policy("q", {"validations": [{"expression": "1 == 2"}]})
    error, remarks = ask(given)
    assert error is not None
    assert error.message == HEAD + "failed expression: false"
    assert [failure.binding for failure in remarks.failures] == ["b1", "b2", "b1"]
    assert len(remarks.warnings) == 1


def test_variables_are_evaluated_once_where_they_are_read() -> None:
    checked = "authorizer.path('/a').check('get').allowed()"
    variables = [
        {"name": "allowed", "expression": checked},
        {"name": "both", "expression": "variables.allowed && object.data.a == 'x'"},
        {"name": "unread", "expression": "object.data.nothing"},
    ]
    given = world("variables.both", "variables.both && variables.allowed", variables=variables)
    given.allows = lambda user, question: True
    assert refusal(given) is None
    broken = world("variables.both == 'x'", variables=[{"name": "both", "expression": "object.data.no"}])
    assert refusal(broken) == HEAD + (
        "expression 'variables.both == 'x'' resulted in error: "
        'composited variable "both" fails to evaluate: no such key: no'
    )


def test_audit_annotations_are_joined_over_bindings_and_blank_ones_left_out() -> None:
    annotations = [
        {"key": "who", "valueExpression": "request.name + params.data.x"},
        {"key": "blank", "valueExpression": "' '"},
        {"key": "null", "valueExpression": "null"},
    ]
    references = [{"paramRef": {"name": name, "parameterNotFoundAction": "Deny"}} for name in ("one", "two", "one")]
    given = world(
        auditAnnotations=annotations, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, bindings=references
    )
    for name in ("one", "two"):
        given.put_param("ConfigMap", "team-a", name, config_map(name, data={"x": name}))
    _, remarks = ask(given)
    assert remarks.audit == {"p/who": "cone, ctwo"}
    given.put_param("ConfigMap", "team-a", "two", config_map("two"))
    assert refusal(given) == HEAD.replace("b1", "b2") + (
        "expression 'request.name + params.data.x' resulted in error: no such key: data"
    )


KIND = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize(
    ("kind", "reference", "message"),
    [
        (KIND, {"name": "limit", "parameterNotFoundAction": "Deny"}, None),
        (KIND, {"name": "limit", "namespace": "team-b"}, "failed expression: params.data.max == '1'"),
        (KIND, {"name": "no", "parameterNotFoundAction": "Allow"}, None),
        (
            KIND,
            {"name": "no", "parameterNotFoundAction": "Deny"},
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
        ),
        (KIND, {"selector": {"matchLabels": {"k": "v"}}, "parameterNotFoundAction": "Deny"}, None),
        (KIND, None, "expression 'params.data.max == '1'' resulted in error: no such key: data"),
        (
            {"apiVersion": "vec.example.com/v1", "kind": "ClusterLimit"},
            {"name": "limit", "namespace": "team-a"},
            "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
        ),
    ],
)
def test_parameters_are_found_by_name_or_selector_in_their_namespace(
    kind: Any, reference: Any, message: str | None
) -> None:
    binding = {} if reference is None else {"paramRef": reference}
    given = world("params.data.max == '1'", paramKind=kind, bindings=(binding,))
    given.put_param("ConfigMap", "team-a", "limit", config_map("limit", data={"max": "1"}, labels={"k": "v"}))
    given.put_param("ConfigMap", "team-b", "limit", config_map("limit", data={"max": "2"}))
    assert refusal(given) == (None if message is None else HEAD + message)


def test_an_unknown_kind_of_parameters_is_an_error_of_the_policy() -> None:
    given = world("true", paramKind={"apiVersion": "x.example.com/v1", "kind": "Nope"})
    assert refusal(given) == HEAD.replace(" with binding 'b1'", "") + (
        "failed to configure policy: failed to find resource referenced by paramKind: 'x.example.com/v1, Kind=Nope'"
    )


def test_policies_without_bindings_are_not_asked() -> None:
    given = world("false")
    given.bindings["p"] = []
    assert refusal(given) is None


def test_match_conditions_leave_requests_alone_or_are_errors() -> None:
    conditions = [{"name": "only-x", "expression": "object.data.a == 'y'"}]
    assert refusal(world("false", matchConditions=conditions)) is None
    conditions = [{"name": "only-x", "expression": "object.data.b == 'y'"}]
    error, remarks = ask(world("false", matchConditions=conditions))
    assert error is not None
    assert remarks.failures[0].field == "spec.matchConditions[0].expression"
    assert error.message == HEAD + "expression 'object.data.b == 'y'' resulted in error: no such key: b"


def test_long_policies_are_evaluated_after_a_pause_with_the_same_answer() -> None:
    long = "object.data.all(k, object.data.all(l, object.data.all(m, k + l + m != ''))) && object.data.k1 == 'w'"
    document = config_map(data={f"k{number}": "v" for number in range(20)})
    remarks = Remarks()
    steps = validate_by_policies(creation(document), world(long), remarks)
    assert list(advance(steps).calls) == []
    with pytest.raises(ApiError, match="failed expression"):
        advance(steps, [])
    assert len(remarks.failures) == 1


def test_policies_are_not_asked_about_policies() -> None:
    every = {"resourceRules": [{**CONFIG_MAPS, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]}
    given = world("false", matchConstraints=every)
    resource = ObjectResource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
    kind = ObjectKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy")
    assert refusal(given, resource=resource, kind=kind) is None
    assert refusal(given) is not None
