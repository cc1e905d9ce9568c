"""Policies and webhooks for one version of custom objects see what a webhook makes of objects of the other version."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import ME, new_api
from tests.unit.serve.webhooks.gadgets import GROUP, FakeWebhooks, converting, defined, gadget

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.webhooks import request_time
from moorage.serve.webhooks.client import NoAnswer

Raw = dict[str, Any]

_RULE: Raw = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["gadgets"]}
_WHY = f"conversion webhook for {GROUP}/v2, Kind=Gadget failed: "
_ENLARGE = "Object{spec: Object.spec{size: object.spec.size + 1}}"


def _failing(why: str) -> Callable[[Raw], Any]:
    """Return a webhook that converts nothing of what is to be v1."""

    def answer(review: Raw) -> Any:
        if review["request"]["desiredAPIVersion"].endswith("v1"):
            raise NoAnswer(why)
        return converting(review)

    return answer


async def _put(api: Api, kind: Kind, name: str, **fields: Any) -> None:
    document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, **fields}
    await create(api, kind, "", document, ME)


async def _validate(api: Api, name: str, expression: str, **fields: Any) -> None:
    spec = {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": expression}], **fields}
    await _put(api, KINDS.VALIDATING_ADMISSION_POLICY, name, spec=spec)
    bound = {"policyName": name, "validationActions": ["Deny"]}
    await _put(api, KINDS.VALIDATING_ADMISSION_POLICY_BINDING, name, spec=bound)


async def _mutate(api: Api, name: str, expression: str, **fields: Any) -> None:
    mutations = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]
    constraints = {"resourceRules": [_RULE]}
    spec = {"matchConstraints": constraints, "mutations": mutations, "reinvocationPolicy": "Never", **fields}
    await _put(api, KINDS.MUTATING_ADMISSION_POLICY, name, spec=spec)
    await _put(api, KINDS.MUTATING_ADMISSION_POLICY_BINDING, name, spec={"policyName": name})


async def _hook(api: Api, kind: Kind, name: str) -> None:
    hook = {
        "name": f"{name}.example.com",
        "rules": [_RULE],
        "clientConfig": {"url": "https://127.0.0.1:9443/"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    await _put(api, kind, name, webhooks=[hook])


def _answer_reviews(api: Api, fake: FakeWebhooks, response: Raw, monkeypatch: pytest.MonkeyPatch) -> list[Raw]:
    """Let admission webhooks answer a response; return the reviews that they get."""
    seen: list[Raw] = []

    async def answer(calls: Sequence[WebhookCall]) -> list[WebhookAnswer]:
        seen.extend(call.review for call in calls)
        return [
            WebhookAnswer(
                {
                    "apiVersion": call.review["apiVersion"],
                    "kind": call.review["kind"],
                    "response": {"uid": call.review["request"]["uid"], **response},
                }
            )
            for call in calls
        ]

    monkeypatch.setattr(api.webhooks, "answer", answer)
    return seen


async def _refused(api: Api, kind: Any) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await create(api, kind, "default", gadget("v2", "g", width=4), ME)
    return refused.value


async def test_validating_policies_read_the_converted_object_which_is_converted_once() -> None:
    async with new_api() as api:
        fake, _, v2 = await defined(api)
        for name in ("one", "two"):
            await _validate(api, name, "object.spec.size < 5 && (oldObject == null || oldObject.spec.size == 4)")
        made = await create(api, v2, "default", gadget("v2", "g", width=4), ME)
        to_be_stored = 2  # a new object is converted to be stored, and read back
        assert fake.calls == [1] * (1 + to_be_stored)
        document = gadget("v2", "g", width=5)
        document["metadata"]["resourceVersion"] = str(made.stored.revision)
        with pytest.raises(ApiError, match="failed expression"):
            await replace(api, Ref(v2, "default", "g"), document, ME)


async def test_versions_without_policies_are_not_converted_for_them() -> None:
    async with new_api() as api:
        fake, v1, _ = await defined(api)
        await _validate(api, "one", "object.spec.size == 4")
        await create(api, v1, "default", gadget("v1", "g", size=4), ME)
        assert fake.calls == []


async def test_mutating_policies_change_the_converted_object_and_it_is_converted_back() -> None:
    async with new_api() as api:
        _, _, v2 = await defined(api)
        for name in ("one", "two"):
            await _mutate(api, name, _ENLARGE)
        made = await create(api, v2, "default", gadget("v2", "g", width=4), ME)
        assert decode(v2, made.stored)["spec"] == {"width": 6}


async def test_webhooks_get_and_patch_the_converted_object(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_api() as api:
        fake, _, v2 = await defined(api)
        patch = "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3NpemUiLCJ2YWx1ZSI6N31d"  # replace /spec/size by 7
        response = {"allowed": True, "patchType": "JSONPatch", "patch": patch}
        for name in ("one", "two"):
            await _hook(api, KINDS.MUTATING_WEBHOOK_CONFIGURATION, name)
        seen = _answer_reviews(api, fake, response, monkeypatch)
        made = await create(api, v2, "default", gadget("v2", "g", width=4), ME)
        assert [review["request"]["object"]["spec"] for review in seen] == [{"size": 4}, {"size": 7}]
        assert {review["request"]["kind"]["version"] for review in seen} == {"v1"}
        assert decode(v2, made.stored)["spec"] == {"width": 7}


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        (KINDS.VALIDATING_WEBHOOK_CONFIGURATION, "Internal error occurred: "),
        (KINDS.MUTATING_WEBHOOK_CONFIGURATION, "Internal error occurred: Internal error occurred: "),
    ],
)
async def test_webhooks_are_not_asked_about_what_is_not_converted(
    kind: Kind, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with new_api() as api:
        fake, _, v2 = await defined(api, _failing("EOF"))
        await _hook(api, kind, "hook")
        seen = _answer_reviews(api, fake, {"allowed": True}, monkeypatch)
        refusal = await _refused(api, v2)
        assert (refusal.code, refusal.message) == (500, f"{head}{_WHY}EOF")
        assert seen == []


async def test_policies_refuse_what_is_not_converted() -> None:
    async with new_api() as api:
        _, _, v2 = await defined(api, _failing("EOF"))
        await _validate(api, "check", "true")
        assert (await _refused(api, v2)).message.endswith(
            "'check' with binding 'check' denied request: failed to configure binding: "
            f"failed to convert object version: {_WHY}EOF"
        )
        await _mutate(api, "change", "Object{}")
        refusal = await _refused(api, v2)
        expected = f'policy "change" denied request: failed to configure policy: {_WHY}EOF'
        assert (refusal.code, refusal.message) == (403, expected)


async def test_policies_that_ignore_failures_leave_alone_what_is_not_converted() -> None:
    async with new_api() as api:
        fake, _, v2 = await defined(api, _failing("EOF"))
        await _validate(api, "check", "false", failurePolicy="Ignore")
        await _mutate(api, "change", 'Object{metadata: Object.metadata{labels: {"a": "b"}}}', failurePolicy="Ignore")
        asked: list[str] = []

        def answer(review: Raw) -> Any:
            asked.append(review["request"]["desiredAPIVersion"])
            if len(asked) < 3:  # for either policy
                raise NoAnswer("EOF")
            return converting(review)

        fake._fake = answer
        made = await create(api, v2, "default", gadget("v2", "g", width=4), ME)
        assert "labels" not in decode(v2, made.stored)["metadata"]
        assert asked[:3] == [f"{GROUP}/v1"] * 3


async def test_the_time_of_the_request_is_that_of_its_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_api() as api:
        fake, _, v2 = await defined(api)
        await _validate(api, "check", "true")
        given: list[float] = []
        post = fake.post

        async def timed(client: Any, review: Any, query: str, seconds: float, max_answer_bytes: int) -> Any:
            given.append(seconds)
            return await post(client, review, query, seconds, max_answer_bytes)

        monkeypatch.setattr(fake, "post", timed)
        monkeypatch.setattr(request_time, "REQUEST_SECONDS", 12.0)
        await create(api, v2, "default", gadget("v2", "g", width=4), ME)
        assert given[0] <= 12 < given[1] == 30  # what is stored has a time of its own


async def test_other_requests_are_answered_while_one_waits_for_its_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_api() as api:
        gate = asyncio.Event()
        fake, v1, v2 = await defined(api)
        await _validate(api, "check", "true")
        post = fake.post

        async def held(*arguments: Any) -> Any:
            await gate.wait()
            return await post(*arguments)

        monkeypatch.setattr(fake, "post", held)
        waiting = asyncio.create_task(create(api, v2, "default", gadget("v2", "late", width=4), ME))
        await create(api, v1, "default", gadget("v1", "early", size=4), ME)
        assert not waiting.done()
        gate.set()
        assert decode(v2, (await waiting).stored)["spec"] == {"width": 4}


async def test_conversions_for_admission_are_counted() -> None:
    async with new_api() as api:
        _, _, v2 = await defined(api, _failing("EOF"))
        await _validate(api, "check", "true")
        counted: list[tuple[Any, ...]] = []
        api.metrics.admission.converted = lambda *row: counted.append((row[0], row[1], row[3]))  # type: ignore[method-assign]
        await _refused(api, v2)
        assert counted == [(f"gadgets.{GROUP}", ("v2", "v1"), "conversion_webhook_call_failure")]
