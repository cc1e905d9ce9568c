"""The audit log has a line for each request, with who asked, what came of it and what admission noted."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import ME, document, make, new_api, pod
from tests.unit.serve.verbs.stand_ins import Asked, asked, extended_api

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.audit import audit_log
from moorage.serve.audit.annotations import collected
from moorage.serve.audit.answer_logs import AnswerLogs
from moorage.serve.audit.audit_log import AuditLog
from moorage.serve.http.messages import Peer, Request, Response, render_refusal
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.requests.request_log import RequestLog
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.creating import create
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

__all__ = ["asked"]

pytestmark = pytest.mark.real_time
JANE = User("jane", "7", ("system:authenticated",), {"team": ("a",)})
FAILURE = "validation.policy.admission.k8s.io/validation_failure"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _request(method: str, path: str, body: bytes = b"") -> Request:
    request = Request(method, path, {"user-agent": "kubectl/v1"}, body, Peer("10.0.0.7"))
    request.user = JANE
    return request


def test_a_request_is_a_line(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit"), lambda: 1767323045.5)
    request = _request(
        "POST", "/apis/apps/v1/namespaces/default/deployments?dryRun=All", b'{"metadata":{"name":"web"}}'
    )
    request.audit["a.example.com/note"] = "seen"
    log.answered(request, Response(201, b"{}"), 0.25)
    log.close()
    (event,) = _lines(tmp_path / "audit")
    assert event.pop("auditID")
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "requestURI": "/apis/apps/v1/namespaces/default/deployments?dryRun=All",
        "verb": "create",
        "user": {"username": "jane", "uid": "7", "groups": ["system:authenticated"], "extra": {"team": ["a"]}},
        "sourceIPs": ["10.0.0.7"],
        "userAgent": "kubectl/v1",
        "objectRef": {
            "resource": "deployments",
            "namespace": "default",
            "name": "web",
            "apiGroup": "apps",
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 201},
        "requestReceivedTimestamp": "2026-01-02T03:04:05.250000Z",
        "stageTimestamp": "2026-01-02T03:04:05.500000Z",
        "annotations": {"a.example.com/note": "seen"},
    }


def test_a_refusal_has_its_reason_and_an_impersonated_user_both_names(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit"), lambda: 1.0)
    request = _request("DELETE", "/api/v1/namespaces/default/pods/web")
    request.headers["audit-id"] = "given"
    request.impersonator = ADMIN
    refusal = {"kind": "Status", "status": "Failure", "message": "no", "reason": "Forbidden", "code": 403}
    log.answered(request, render_refusal(ApiError(refusal)), 0.0)
    log.answered(_request("GET", "/healthz"), Response(200, b"ok"), 0.0)
    log.close()
    event, health = _lines(tmp_path / "audit")
    assert event["auditID"] == "given"
    assert (event["user"]["username"], event["impersonatedUser"]["username"]) == (ADMIN.name, "jane")
    status = {"metadata": {}, "status": "Failure", "message": "no", "reason": "Forbidden", "code": 403}
    assert event["responseStatus"] == status
    assert "objectRef" not in health


def test_a_file_is_private_and_appended_to(tmp_path: Path) -> None:
    for _ in range(2):
        log = AuditLog(str(tmp_path / "audit"), lambda: 1.0)
        log.answered(_request("GET", "/version"), Response(200), 0.0)
        log.close()
    assert len(_lines(tmp_path / "audit")) == 2
    assert (tmp_path / "audit").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_is_lost_and_no_request_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_free = threading.Event()
    plain = os.write

    def slow(file: int, text: bytes) -> int:
        is_free.wait(20)
        return plain(file, text)

    monkeypatch.setattr(audit_log, "_MAX_WAITING", 5)
    log = AuditLog(str(tmp_path / "audit"), lambda: 1.0)
    monkeypatch.setattr(os, "write", slow)
    for _ in range(1_000):
        log.answered(_request("GET", "/version"), Response(200), 0.0)
    assert log.lost > 900
    is_free.set()
    log.close()
    assert len(_lines(tmp_path / "audit")) == 1_000 - log.lost


def test_a_full_disk_loses_events_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = AuditLog(str(tmp_path / "audit"), lambda: 1.0)

    def full(file: int, text: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    log.answered(_request("GET", "/version"), Response(200), 0.0)
    log.close()
    assert log.lost == 1


def test_the_request_log_gives_the_id(tmp_path: Path) -> None:
    log = AuditLog(str(tmp_path / "audit"), lambda: 1.0)
    both = AnswerLogs(RequestLog(), log)
    request = _request("GET", "/version")
    answer = both.identify(request, Response(200))
    both.answered(request, answer, 0.0)
    log.close()
    assert both.enabled()
    assert dict(answer.headers)["Audit-Id"] == _lines(tmp_path / "audit")[0]["auditID"]


async def test_components_are_audited_with_what_policies_noted(tmp_path: Path, asked: Asked) -> None:
    asked.notes = {FAILURE: "[]"}
    async with extended_api() as api:
        api.audit = AuditLog(str(tmp_path / "audit"), api.clock)
        await LoopbackClient(api, "kubelet", JANE_MASTER).create(KINDS.POD, pod("web"), "default")
        api.audit.close()
    (event,) = (event for event in _lines(tmp_path / "audit") if event["verb"] == "create")
    assert event["annotations"] == {FAILURE: "[]"}
    assert (event["user"]["username"], event["userAgent"]) == ("jane", "moorage-kubelet")
    assert event["objectRef"] == {"resource": "pods", "namespace": "default", "apiVersion": "v1"}


JANE_MASTER = JANE._replace(groups=("system:masters",))


async def test_a_request_has_its_annotations_and_so_has_a_verb(asked: Asked) -> None:
    asked.notes = {"note.example.com/a": "1"}
    async with extended_api() as api:
        handler = Handler(api, WebPaths((), Metrics().render), ApiServerMetrics(Metrics()))
        body = json.dumps(document(KINDS.CONFIG_MAP, "one")).encode()
        request = _request("POST", "/api/v1/namespaces/default/configmaps", body)
        request.headers["content-type"] = "application/json"
        request.user = ADMIN
        await handler(request)
        with collected() as annotations:
            await create(api, KINDS.CONFIG_MAP, "default", document(KINDS.CONFIG_MAP, "two"), ME)
    assert request.audit == annotations == {"note.example.com/a": "1"}


async def test_without_an_audit_log_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "moorage")
    async with new_api() as api:
        rules = [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
        spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false", "message": "no"}]}
        kind = KINDS.VALIDATING_ADMISSION_POLICY
        await make(api, kind, document(kind, "p", spec=spec))
        kind = KINDS.VALIDATING_ADMISSION_POLICY_BINDING
        await make(api, kind, document(kind, "b", spec={"policyName": "p", "validationActions": ["Audit"]}))
        await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    (record,) = (record for record in caplog.records if record.getMessage() == "Validation failed")
    fields = record.__dict__["fields"]
    assert (fields["policy"], fields["err"]) == ("ValidatingAdmissionPolicy p", "no")
