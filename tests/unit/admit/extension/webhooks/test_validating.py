"""Webhooks that refuse requests: which are called, all at the same time, and which of them is answered with."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import config_map, creation
from tests.unit.admit.extension.webhooks.webhook_world import Played, WebhookWorld, reviewed, validate, webhook

from moorage.admit.extension.attributes import ObjectKind, ObjectResource
from moorage.admit.extension.remarks import NotCalled, Remarks
from moorage.admit.extension.steps import NOT_CALLED, WebhookAnswer, WebhookCall, advance, without_calls
from moorage.admit.extension.webhooks.calls import LARGE_ANSWER
from moorage.admit.extension.webhooks.validating import validate_by_webhooks
from moorage.model.api_error import ApiError


def test_all_are_called_at_once_in_the_order_of_their_names() -> None:
    world = WebhookWorld()
    world.put_validating("b", webhook("b1"), webhook("b2"))
    world.put_validating("a", webhook("a1"))
    (calls,) = validate(world, creation(config_map()), {"allowed": True}).calls
    assert [call.webhook for call in calls] == ["a1.example.com", "b1.example.com", "b2.example.com"]
    assert [call.configuration for call in calls] == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("seconds", "message"), [([0.1, 0.2], "w0 denies"), ([0.2, 0.1], "w1 denies"), ([0, 0], "w0 denies")]
)
def test_the_first_refusal_to_arrive_is_the_answer(seconds: list[float], message: str) -> None:
    world = WebhookWorld()
    world.put_validating("c", {}, {})

    def answer(call: WebhookCall) -> WebhookAnswer:
        name = call.webhook.partition(".")[0]
        denial = {"allowed": False, "status": {"message": f"{name} denies"}}
        return reviewed(call, denial)._replace(seconds=seconds[int(name[1:])])

    with pytest.raises(ApiError, match=message):
        validate(world, creation(config_map()), answer)


def test_a_refusal_comes_before_a_webhook_that_takes_longer_to_fail() -> None:
    world = WebhookWorld()
    world.put_validating("c", {}, {})

    def answer(call: WebhookCall) -> WebhookAnswer:
        if call.webhook.startswith("w0"):
            return WebhookAnswer(failure="failed to call webhook: too late", seconds=10)
        return reviewed(call, {"allowed": False, "status": {"message": "no"}})

    played = Played(answer)
    with pytest.raises(ApiError, match="no"):
        played.run(validate_by_webhooks(creation(config_map()), world, played.remarks))
    assert [call.error_type for call in played.remarks.calls] == ["no_error", "calling_webhook_error"]


def test_failures_are_numbered_among_the_webhooks_that_are_called() -> None:
    world = WebhookWorld()
    pods = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    world.put_validating("c", {"rules": [pods]}, {"failurePolicy": "Ignore"})
    played = validate(world, creation(config_map()), lambda call: WebhookAnswer(failure="x"))
    assert played.remarks.audit == {"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "w1.example.com"}


def test_a_request_whose_time_is_over_ends_though_failures_are_ignored() -> None:
    world = WebhookWorld()
    world.put_validating("c", {"failurePolicy": "Ignore"})
    late = WebhookAnswer(failure="failed to call webhook: context deadline exceeded", is_out_of_time=True)
    with pytest.raises(ApiError) as refused:
        validate(world, creation(config_map()), lambda call: late)
    assert (refused.value.code, refused.value.reason) == (504, "Timeout")
    assert refused.value.message == "Timeout: request did not complete within requested timeout"


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_webhooks_that_are_not_called_have_no_say(policy: str) -> None:
    world, remarks = WebhookWorld(), Remarks()
    world.put_validating("c", {"failurePolicy": policy}, {"failurePolicy": policy})
    without_calls(validate_by_webhooks(creation(config_map()), world, remarks))
    assert remarks.not_called == [NotCalled("c", f"w{i}.example.com", False) for i in (0, 1)]
    assert (remarks.calls, remarks.audit) == ([], {})


def test_large_answers_are_read_after_a_pause() -> None:
    world = WebhookWorld()
    world.put_validating("c", {})
    steps = validate_by_webhooks(creation(config_map()), world, Remarks())
    (call,) = advance(steps).calls
    assert isinstance(call, WebhookCall)
    pause = advance(steps, [reviewed(call, {"allowed": False})._replace(size=LARGE_ANSWER + 1)])
    assert (pause.calls, pause.is_over) == ((), False)
    with pytest.raises(ApiError):
        advance(steps, ())


def test_small_answers_are_read_at_once() -> None:
    world = WebhookWorld()
    world.put_validating("c", {})
    steps = validate_by_webhooks(creation(config_map()), world, Remarks())
    (call,) = advance(steps).calls
    assert isinstance(call, WebhookCall)
    assert advance(steps, [reviewed(call, {"allowed": True})._replace(size=LARGE_ANSWER)]).is_over


@pytest.mark.parametrize(
    ("fields", "is_called"),
    [
        ({}, True),
        ({"rules": []}, False),
        ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"env": "dev"}}}, False),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, True),
        ({"objectSelector": {"matchLabels": {"a": "c"}}}, False),
        ({"matchConditions": [{"name": "yes", "expression": "object.data.k == 'v'"}]}, True),
        ({"matchConditions": [{"name": "no", "expression": "request.operation == 'DELETE'"}]}, False),
        (
            {
                "matchConditions": [
                    {"name": "broken", "expression": "object.data.nothing == 'v'"},
                    {"name": "no", "expression": "false"},
                ]
            },
            False,
        ),
        ({"matchConditions": [{"name": "broken", "expression": "object.no == 1"}], "failurePolicy": "Ignore"}, False),
    ],
)
def test_rules_selectors_and_conditions_choose(fields: Any, is_called: bool) -> None:
    world = WebhookWorld()
    world.put_validating("c", fields)
    attributes = creation(config_map(data={"k": "v"}, labels={"a": "b"}))
    assert validate(world, attributes, {"allowed": True}).called == (["w0"] if is_called else [])


def test_conditions_that_cannot_be_evaluated_refuse_a_request() -> None:
    world = WebhookWorld()
    world.put_validating("c", {"matchConditions": [{"name": "broken", "expression": "object.data.no == ''"}]})
    with pytest.raises(ApiError) as refused:
        validate(world, creation(config_map(data={})), {"allowed": True})
    text = """configmaps "c" is forbidden: expression 'object.data.no == ''' resulted in error: no such key: no"""
    assert (refused.value.code, refused.value.reason, refused.value.message) == (403, "Forbidden", text)
    assert refused.value.status["details"] == {"name": "c", "kind": "configmaps"}


def test_conditions_that_take_long_are_evaluated_after_a_pause() -> None:
    world = WebhookWorld()
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    nested = f"{ten}.all(a, {ten}.all(b, {ten}.all(c, {ten}.all(d, a + b + c + d >= 0))))"
    world.put_validating("c", {"matchConditions": [{"name": "long", "expression": nested}]})
    steps = validate_by_webhooks(creation(config_map()), world, Remarks())
    assert advance(steps) == ((), None, False)
    assert len(advance(steps, ()).calls) == 1


def test_webhooks_are_not_called_about_their_own_configurations() -> None:
    world = WebhookWorld()
    anything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    world.put_validating("c", {"rules": [anything]})
    group, version = "admissionregistration.k8s.io", "v1"
    document = {"apiVersion": f"{group}/{version}", "metadata": {"name": "c"}}
    for kind in ("ValidatingWebhookConfiguration", "MutatingAdmissionPolicyBinding"):
        resource = ObjectResource(group, version, f"{kind.lower()}s")
        attributes = creation(document | {"kind": kind}, resource=resource, kind=ObjectKind(group, version, kind))
        assert validate(world, attributes, {"allowed": False}).calls == []


def test_an_answer_that_was_not_called_counts_for_one_of_several() -> None:
    world = WebhookWorld()
    world.put_validating("c", {}, {})

    def answer(call: WebhookCall) -> WebhookAnswer:
        return NOT_CALLED if call.webhook.startswith("w0") else reviewed(call, {"allowed": False})

    with pytest.raises(ApiError, match="w1"):
        validate(world, creation(config_map()), answer)
