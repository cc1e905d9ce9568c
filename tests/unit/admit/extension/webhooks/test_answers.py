"""Answers of webhooks: which admit a request, which deny it, which are no answers, and what the client is told."""

from contextlib import suppress
from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import config_map, creation
from tests.unit.admit.extension.webhooks.webhook_world import Played, WebhookWorld, mutate, patch_of, validate

from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import CallOutcome, Remarks
from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.admit.extension.webhooks.mutating import mutate_by_webhooks
from moorage.admit.extension.webhooks.validating import validate_by_webhooks
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError

_INVALID = "received invalid webhook response: "
_CALL = "failed to call webhook: "
_PATCH = patch_of({"op": "add", "path": "/data", "value": {"k": "v"}})


def _world(*, is_mutating: bool = False, **fields: Any) -> WebhookWorld:
    world = WebhookWorld()
    (world.put_mutating if is_mutating else world.put_validating)("c", fields)
    return world


def _refusal(response: Any, *, is_mutating: bool = False, **fields: Any) -> ApiError:
    run = mutate if is_mutating else validate
    with pytest.raises(ApiError) as refused:
        run(_world(is_mutating=is_mutating, **fields), creation(config_map()), response)
    return refused.value


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        (None, 400, "", " without explanation"),
        ({}, 400, "", " without explanation"),
        ({"message": "no way"}, 400, "", ": no way"),
        ({"reason": "OnlyReason"}, 400, "OnlyReason", ": OnlyReason"),
        ({"code": 403, "message": "m", "reason": "Forbidden"}, 403, "Forbidden", ": m"),
        ({"code": 302, "message": "m"}, 400, "", ": m"),
        ({"code": 700, "message": "m"}, 700, "", ": m"),
        ({"code": 1000, "message": "m"}, 500, "", ": m"),
        ({"code": -5}, 400, "", " without explanation"),
        ({"status": "Success", "message": "m"}, 400, "", ": m"),
    ],
)
def test_denials_have_the_status_of_the_webhook(status: Raw | None, code: int, reason: str, message: str) -> None:
    response: Raw = {"allowed": False} if status is None else {"allowed": False, "status": status}
    for is_mutating in (True, False):
        refusal = _refusal(response, is_mutating=is_mutating, failurePolicy="Ignore")
        assert (refusal.code, refusal.reason) == (code, reason)
        assert refusal.message == f'admission webhook "w0.example.com" denied the request{message}'
        assert refusal.status["status"] == "Failure"


def test_a_denial_keeps_its_details() -> None:
    details = {"causes": [{"field": "spec", "message": "m", "other": 1}], "retryAfterSeconds": 7, "odd": 1}
    refusal = _refusal({"allowed": False, "status": {"code": 429, "details": details, "odd": 1}})
    assert refusal.status["details"] == {"causes": [{"field": "spec", "message": "m"}], "retryAfterSeconds": 7}
    assert refusal.headers == (("Retry-After", "7"),)
    assert "odd" not in refusal.status


def _document(**fields: Any) -> Any:
    """Return what answers a call with a document in which some fields are replaced; None leaves one out."""

    def answer(call: WebhookCall) -> WebhookAnswer:
        uid = call.review["request"]["uid"]
        document = {**call.review, "response": {"uid": uid, "allowed": True}, **fields}
        document.pop("request")
        return WebhookAnswer({name: value for name, value in document.items() if value is not None})

    return answer


def _whole(document: Any) -> Any:
    return lambda call: WebhookAnswer(document)


_BROKEN: list[tuple[Any, str]] = [
    ({"allowed": True, "uid": "other"}, f'{_INVALID}expected response.uid="UID", got "other"'),
    (_whole(None), f"{_INVALID}webhook response was absent"),
    (_whole({}), f"{_INVALID}webhook response was absent"),
    (_document(response=None), f"{_INVALID}webhook response was absent"),
    (
        _document(apiVersion=None),
        f"{_INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
        "got /, Kind=AdmissionReview",
    ),
    (
        _document(apiVersion="admission.k8s.io/v1beta1"),
        f"{_CALL}converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        _whole({"apiVersion": "v1", "kind": "Status", "status": "Failure"}),
        f"{_CALL}converting (v1.Status) to (v1.AdmissionReview): unknown conversion",
    ),
    (
        _document(apiVersion="v1"),
        f'{_CALL}no kind "AdmissionReview" is registered for version "v1" in scheme "pkg/util/webhook/client.go:71"',
    ),
    (_document(apiVersion="a/b/c"), f"{_CALL}unexpected GroupVersion string: a/b/c"),
    (
        _document(kind=["AdmissionReview"]),
        f"{_CALL}couldn't get version/kind; json parse error: "
        "json: cannot unmarshal array into Go struct field .kind of type string",
    ),
    (
        {"allowed": "yes"},
        f"{_CALL}json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    ),
    (
        {"allowed": True, "warnings": [5]},
        f"{_CALL}json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string",
    ),
    (
        {"allowed": False, "status": "no"},
        f"{_CALL}json: cannot unmarshal string into Go struct field AdmissionResponse.response.status "
        "of type v1.Status",
    ),
    (
        {"allowed": False, "status": {"code": "x"}},
        f"{_CALL}json: cannot unmarshal string into Go struct field Status.response.status.code of type int32",
    ),
    (
        {"allowed": True, "patch": "@@", "patchType": "JSONPatch"},
        f"{_CALL}illegal base64 data at input byte 0",
    ),
]
_BROKEN_MUTATING: list[tuple[Any, str]] = [
    ({"allowed": True, "patch": _PATCH}, f"{_INVALID}webhook returned response.patch but not response.patchType"),
    (
        {"allowed": True, "patchType": "JSONPatch"},
        f"{_INVALID}webhook returned response.patchType but not response.patch",
    ),
    (
        {"allowed": True, "patch": _PATCH, "patchType": ""},
        f'{_INVALID}webhook returned invalid response.patchType of ""',
    ),
    ({"allowed": True, "patch": _PATCH, "patchType": "MergePatch"}, 'unsupported patch type "MergePatch"'),
    (
        {"allowed": True, "patch": "bm90IGpzb24=", "patchType": "JSONPatch"},
        "received undecodable patch in webhook response: invalid character 'o' in literal null (expecting 'u')",
    ),
    (
        {"allowed": True, "patch": "e30=", "patchType": "JSONPatch"},
        "received undecodable patch in webhook response: "
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    ),
    (
        {"allowed": True, "patch": "WzFd", "patchType": "JSONPatch"},
        "received undecodable patch in webhook response: "
        "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
    ),
]
_BROKEN_VALIDATING: list[tuple[Any, str]] = [
    (
        {"allowed": True, "patch": _PATCH, "patchType": "JSONPatch"},
        f"{_INVALID}validating webhook may not return response.patch",
    ),
    (
        {"allowed": True, "patchType": "JSONPatch"},
        f"{_INVALID}validating webhook may not return response.patchType",
    ),
]
_FAILED: list[tuple[Any, str]] = [
    (
        lambda call: WebhookAnswer(failure=f'{_CALL}Post "https://x/?timeout=5s": EOF'),
        f'{_CALL}Post "https://x/?timeout=5s": EOF',
    ),
    (lambda call: WebhookAnswer(failure="could not get REST client: x", code=500), "could not get REST client: x"),
]
_ALL = [
    *((is_mutating, *each) for is_mutating in (True, False) for each in (*_BROKEN, *_FAILED)),
    *((True, *each) for each in _BROKEN_MUTATING),
    *((False, *each) for each in _BROKEN_VALIDATING),
]


@pytest.mark.parametrize(("is_mutating", "response", "reason"), _ALL)
def test_what_is_no_answer_is_an_internal_error(is_mutating: bool, response: Any, reason: str) -> None:
    played = Played(response)
    world, attributes = _world(is_mutating=is_mutating), creation(config_map())
    with pytest.raises(ApiError) as refused:
        (mutate if is_mutating else validate)(world, attributes, _recorded(played, response))
    text = refused.value.message.replace(played.calls[0][0].review["request"]["uid"], "UID")
    why = f'failed calling webhook "w0.example.com": {reason}'
    assert (refused.value.code, refused.value.reason, text) == (500, "InternalError", f"Internal error occurred: {why}")
    assert [cause["message"] for cause in refused.value.status["details"]["causes"]] == [
        refused.value.message.removeprefix("Internal error occurred: ")
    ]


def _recorded(played: Played, response: Any) -> Any:
    def answer(call: WebhookCall) -> Any:
        played.calls.append([call])
        return response(call) if callable(response) else response

    return answer


@pytest.mark.parametrize(("is_mutating", "response", "reason"), _ALL)
def test_what_is_no_answer_is_passed_over_if_failures_are_ignored(
    is_mutating: bool, response: Any, reason: str
) -> None:
    attributes = creation(config_map())
    run = mutate if is_mutating else validate
    played = run(_world(is_mutating=is_mutating, failurePolicy="Ignore"), attributes, response)
    place = "mutation" if is_mutating else "validating"
    assert played.remarks.audit[f"failed-open.{place}.webhook.admission.k8s.io/round_0_index_0"] == "w0.example.com"
    assert [(call.failed_open, call.is_rejected) for call in played.remarks.calls] == [(True, False)]
    assert attributes.object == config_map()


def test_v1beta1_is_not_as_strict() -> None:
    world = _world(is_mutating=True, admissionReviewVersions=["v2", "v1beta1", "v1"])
    attributes = creation(config_map())
    played = mutate(world, attributes, {"allowed": True, "uid": "other", "patch": _PATCH})
    assert played.calls[0][0].review["apiVersion"] == "admission.k8s.io/v1beta1"
    assert attributes.object == config_map(data={"k": "v"})
    validating = _world(admissionReviewVersions=["v1beta1"])
    assert validate(validating, attributes, {"allowed": True, "patch": _PATCH}).called == ["w0"]


def test_a_review_of_another_version_is_read_before_it_is_found_to_be_of_another_one() -> None:
    def answer(call: WebhookCall) -> WebhookAnswer:
        return WebhookAnswer({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    response: Any = {"allowed": True, "warnings": "w"}
    refusal = _refusal(answer, admissionReviewVersions=["v1beta1"])
    assert "cannot unmarshal string into Go struct field AdmissionResponse.response.warnings" in refusal.message
    response = {"allowed": True}
    refusal = _refusal(answer, admissionReviewVersions=["v1beta1"])
    assert "converting (v1.AdmissionReview) to (v1beta1.AdmissionReview): unknown conversion" in refusal.message


def test_a_webhook_without_a_known_version_is_not_called() -> None:
    refusal = _refusal({"allowed": True}, admissionReviewVersions=["v2"])
    why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    assert refusal.message == f'Internal error occurred: failed calling webhook "w0.example.com": {why}'


@pytest.mark.parametrize("side_effects", ["Some", "Unknown"])
def test_a_webhook_with_side_effects_refuses_dry_runs_uncalled(side_effects: str) -> None:
    world = _world(sideEffects=side_effects, failurePolicy="Ignore")
    with pytest.raises(ApiError) as refused:
        validate(world, creation(config_map(), dry_run=True), {"allowed": True})
    assert refused.value.message == 'admission webhook "w0.example.com" does not support dry run'
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert validate(world, creation(config_map()), {"allowed": True}).called == ["w0"]


@pytest.mark.parametrize("side_effects", ["None", "NoneOnDryRun"])
def test_a_webhook_without_side_effects_is_called_on_dry_runs(side_effects: str) -> None:
    played = validate(_world(sideEffects=side_effects), creation(config_map(), dry_run=True), {"allowed": True})
    assert played.calls[0][0].review["request"]["dryRun"] is True


def test_remarks_are_taken_over_also_from_a_denial() -> None:
    world = _world()
    played = Played(
        {
            "allowed": False,
            "warnings": ["heed", "", "heed"],
            "auditAnnotations": {"k": "v", "K.x_y-z": "w", "a/b": "v", "bad key!": "v", "": "v", "nothing": None},
        }
    )
    with pytest.raises(ApiError):
        played.run(validate_by_webhooks(creation(config_map()), world, played.remarks))
    assert played.remarks.warnings == ["heed", "heed"]
    assert played.remarks.audit == {
        "w0.example.com/k": "v",
        "w0.example.com/K.x_y-z": "w",
        "w0.example.com/nothing": "",
    }


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"allowed": True}, (200, False, "", False)),
        ({"allowed": False, "status": {"code": 418}}, (418, True, "no_error", False)),
        ({"allowed": "x"}, (503, True, "calling_webhook_error", False)),
        (WebhookAnswer(failure="x", code=404), (404, True, "calling_webhook_error", False)),
        (WebhookAnswer(failure="x", is_abandoned=True), (503, True, "", False)),
        (
            {"allowed": True, "patchType": "JSONPatch", "patch": patch_of({"op": "remove", "path": "/data/x"})},
            (0, True, "apiserver_internal_error", False),
        ),
    ],
)
def test_outcomes_are_noted_for_metrics(answer: Any, outcome: tuple[int, bool, str, bool]) -> None:
    world, remarks, seconds = _world(is_mutating=True), Remarks(), 0.25

    def timed(call: WebhookCall) -> Any:
        if isinstance(answer, WebhookAnswer):
            return answer._replace(seconds=seconds)
        response = {"uid": call.review["request"]["uid"], **answer}
        return WebhookAnswer({**call.review, "response": response}, seconds=seconds)

    with suppress(ApiError):
        Played(timed).run(mutate_by_webhooks(creation(config_map()), world, remarks, Reinvocation()))
    assert remarks.calls == [CallOutcome("c", "w0.example.com", True, "CREATE", seconds, *outcome)]
