"""Explanations show each expression with the values that it was decided by."""

import msgspec
import pytest
from tests.unit.policy.policy_objects import config_map, mutating, placed, validating

from moorage.model.gates import default_gates
from moorage.policy.cases import CREATE, PlacedObject, UnreadableCases
from moorage.policy.explaining import explain_policies
from moorage.policy.explanation_text import explanation_document, explanation_lines
from moorage.policy.judging import user_of
from moorage.policy.server import PolicyRequest

pytestmark = pytest.mark.real_time
LABELS = "Object{metadata: Object.metadata{labels: {'by': variables.who}}}"
WHO = {"name": "who", "expression": "request.userInfo.username"}


async def lines_for(objects: list[PlacedObject], *names: str, a: str = "2") -> list[str]:
    request = PolicyRequest(CREATE, config_map(a=a), None, user_of("alice"))
    return explanation_lines(await explain_policies(objects, request, default_gates(), names))


async def test_a_mutation_is_shown_with_variables_and_its_patch() -> None:
    lines = await lines_for(mutating("label", LABELS, variables=[WHO]))
    assert lines[0] == "allow"
    assert '    request.userInfo.username  → "alice"' in lines
    assert '    patch: {"op":"add","path":"/metadata/labels","value":{"by":"alice"}}' in lines


async def test_a_validation_sees_what_mutations_have_made() -> None:
    objects = [
        *mutating("label", LABELS, variables=[WHO]),
        *validating("by", {"expression": "object.metadata.labels.by != 'alice'"}),
    ]
    lines = await lines_for(objects)
    assert lines[0].startswith("deny: configmaps")
    assert "    object.metadata.labels.by != 'alice'  → false" in lines
    assert any(line.startswith("  Deny: failed expression") for line in lines)
    assert "MutatingAdmissionPolicy label, binding label" not in await lines_for(objects, "by")


async def test_policies_that_do_not_apply_say_why() -> None:
    pods = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]}
    elsewhere = validating("pods", {"expression": "true"}, matchConstraints=pods)
    rule = "spec.matchConstraints.resourceRules[0] has resources pods, not configmaps"
    assert f"  does not match the request: {rule}" in await lines_for(elsewhere)
    reference = {"name": "limits", "parameterNotFoundAction": "Allow"}
    limited = validating("one", {"expression": "true"}, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    limited[1].raw["spec"]["paramRef"] = reference
    assert "  is not applied: there is no ConfigMap team/limits in the input" in await lines_for(limited)
    limited[1].raw["spec"]["paramRef"] = {**reference, "parameterNotFoundAction": "Deny"}
    cannot = next(line for line in await lines_for(limited) if line.startswith("  cannot be applied: no params found"))
    assert cannot.endswith("parameterNotFoundAction: there is no ConfigMap team/limits in the input")
    unbound = validating("one", {"expression": "object.data.a == '1'"})[:1]
    lines = await lines_for(unbound)
    assert lines[0] == "allow"
    assert "ValidatingAdmissionPolicy one, which is bound by nothing here" in lines
    assert "    object.data.a == '1'  → false" in lines
    condition = {"name": "never", "expression": "object.data.a == '3'"}
    assert "  its match conditions do not hold" in await lines_for(
        mutating("m", LABELS, variables=[WHO], matchConditions=[condition])
    )


async def test_input_without_the_policy_is_an_error() -> None:
    with pytest.raises(UnreadableCases, match="no ValidatingAdmissionPolicy"):
        await lines_for(placed(config_map(a="1")))
    with pytest.raises(UnreadableCases, match="no policy 'two'; the input has one"):
        await lines_for(validating("one", {"expression": "true"}), "two")


async def test_the_document_has_the_same_facts_as_json() -> None:
    objects = [*mutating("label", LABELS, variables=[WHO]), *validating("by", {"expression": "object.data.a == '1'"})]
    request = PolicyRequest(CREATE, config_map(a="2"), None)
    explanation = await explain_policies(objects, request, default_gates())
    document = msgspec.json.decode(msgspec.json.encode(explanation_document(explanation)))
    assert document["decision"] == "deny"
    mutation, validation = document["policies"]
    assert mutation["params"][0]["mutations"][0]["patch"][0]["path"] == "/metadata/labels"
    assert validation["params"][0]["validations"][0]["value"] == "false"
