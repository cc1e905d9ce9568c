"""CertificateSigningRequests: their requester, their validation, and who may approve and sign."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.admit.objects import certificate_request
from tests.unit.serve.verbs.bench import new_api

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import ADMIN, AUTHENTICATED, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.options import WriteOptions
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.creating import create
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
JANE = User("jane", "7", (AUTHENTICATED,), {"team": ("a",)})
SIGNER = "kubernetes.io/kube-apiserver-client"
APPROVED = {"type": "Approved", "status": "True", "reason": "Because"}


REQUEST = certificate_request()


def pem(content: bytes, label: str = "CERTIFICATE REQUEST") -> str:
    body = base64.b64encode(content).decode()
    return base64.b64encode(f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n".encode()).decode()


def csr(name: str = "r", **spec: Any) -> Raw:
    spec = {"request": REQUEST, "signerName": SIGNER, "usages": ["client auth"], **spec}
    metadata = {"name": name}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": metadata,
        "spec": spec,
    }


@asynccontextmanager
async def new_handler() -> AsyncIterator[Handler]:
    async with new_api() as api:
        metrics = Metrics()
        for name, resource in (
            ("asks", "certificatesigningrequests"),
            ("approval", "certificatesigningrequests/approval"),
        ):
            rules = [{"apiGroups": ["certificates.k8s.io"], "resources": [resource], "verbs": ["*"]}]
            for document in (
                {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
                {
                    "kind": "ClusterRoleBinding",
                    "metadata": {"name": name},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
                },
            ):
                kind = KINDS["rbac.authorization.k8s.io/v1", str(document["kind"])]
                await create(api, kind, "", {"apiVersion": kind.api_version, **document}, WriteOptions("test"))
        yield Handler(api, WebPaths((), metrics.render), ApiServerMetrics(metrics))


async def ask(handler: Handler, method: str, path: str, body: Raw, user: User = ADMIN, kind: str = "json") -> Raw:
    headers = {"content-type": "application/json" if kind == "json" else "application/merge-patch+json"}
    answer = await handler(Request(method, path, headers, json.dumps(body).encode(), user=user))
    assert isinstance(answer, Response)
    return dict(json.loads(answer.body))


async def test_requester_fields_are_overwritten_with_the_authenticated_user() -> None:
    async with new_handler() as handler:
        made = await ask(
            handler,
            "POST",
            PATH,
            {**csr(username="admin", groups=["system:masters"]), "status": {"conditions": [APPROVED]}},
            JANE,
        )
        spec = made["spec"]
        assert (spec["username"], spec["uid"], spec["groups"], spec["extra"]) == (
            "jane",
            "7",
            [AUTHENTICATED],
            {"team": ["a"]},
        )
        assert made["status"] == {}
        changed = await ask(handler, "PUT", f"{PATH}/r", csr(username="admin", signerName="example.com/x"))
        assert changed["spec"] == spec


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"usages": []}, "spec.usages", "Required value"),
        ({"usages": ["flying"]}, "spec.usages[0]", "Unsupported value"),
        ({"usages": ["any", "any"]}, "spec.usages[1]", "Duplicate value"),
        ({"signerName": "nodomain"}, "spec.signerName", "must be a fully qualified domain and path"),
        ({"signerName": "kubernetes.io/legacy-unknown"}, "spec.signerName", "the legacy signerName is not allowed"),
        ({"expirationSeconds": 599}, "spec.expirationSeconds", "may not specify a duration less than 600 seconds"),
        ({"request": base64.b64encode(b"x").decode()}, "spec.request", "PEM block type must be CERTIFICATE REQUEST"),
        ({"request": pem(b"")}, "spec.request", "asn1: syntax error: sequence truncated"),
        ({"request": pem(b"\x30\x05\x00")}, "spec.request", "asn1: syntax error: data truncated"),
        ({"request": pem(b"\x30\x00\x00")}, "spec.request", "asn1: syntax error: sequence truncated"),
        (
            {"request": pem(b"hello there")},
            "spec.request",
            "asn1: structure error: tags don't match (16 vs {class:1 tag:8 length:101 isCompound:true}) "
            "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
            "timeType:0 set:false omitEmpty:false} certificateRequest @2",
        ),
    ],
)
async def test_a_bad_request_is_refused(spec: Raw, field: str, message: str) -> None:
    async with new_handler() as handler:
        with pytest.raises(ApiError) as error:
            await ask(handler, "POST", PATH, csr(**spec))
        (cause,) = error.value.status["details"]["causes"]
        assert cause["field"] == field
        assert message in cause["message"]


async def test_approval_needs_the_right_to_approve_for_the_signer_and_changes_conditions_only() -> None:
    async with new_handler() as handler:
        made = await ask(handler, "POST", PATH, csr(), JANE)
        body = {**made, "spec": {**made["spec"], "signerName": "example.com/x"}, "status": {"conditions": [APPROVED]}}
        with pytest.raises(ApiError) as error:
            await ask(handler, "PUT", f"{PATH}/r/approval", body, JANE)
        assert error.value.message == (
            'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to approve requests '
            f'with signerName "{SIGNER}"'
        )
        approved = await ask(handler, "PUT", f"{PATH}/r/approval", body)
        assert approved["spec"] == made["spec"]
        (condition,) = approved["status"]["conditions"]
        assert condition["type"] == "Approved"
        assert condition["lastUpdateTime"]
        both = {"conditions": [condition, {"type": "Denied", "status": "True"}]}
        with pytest.raises(ApiError, match="Approved and Denied conditions are mutually exclusive"):
            await ask(handler, "PUT", f"{PATH}/r/approval", {**approved, "status": both})
        with pytest.raises(ApiError, match='updates may not remove a condition of type "Approved"'):
            await ask(handler, "PATCH", f"{PATH}/r/status", {"status": {"conditions": []}}, kind="merge")


async def test_the_status_cannot_approve() -> None:
    async with new_handler() as handler:
        await ask(handler, "POST", PATH, csr(), JANE)
        with pytest.raises(ApiError, match='updates may not add a condition of type "Approved"'):
            await ask(handler, "PATCH", f"{PATH}/r/status", {"status": {"conditions": [APPROVED]}}, kind="merge")


async def test_applied_certificate_requests_have_their_requester_overwritten() -> None:
    async with new_handler() as handler:
        document = csr("applied", username="admin", groups=["system:masters"])
        headers = {"content-type": "application/apply-patch+yaml"}
        target = f"{PATH}/applied?fieldManager=x"
        answer = await handler(Request("PATCH", target, headers, json.dumps(document).encode(), user=JANE))
        assert isinstance(answer, Response)
        spec = json.loads(answer.body)["spec"]
        assert (spec["username"], spec["groups"]) == ("jane", [AUTHENTICATED])


async def test_the_group_of_masters_cannot_be_asked_for() -> None:
    async with new_handler() as handler:
        with pytest.raises(ApiError) as error:
            await ask(handler, "POST", PATH, csr(request=certificate_request("x", "dev", "system:masters")))
        assert error.value.code == 403
        assert error.value.message == (
            'certificatesigningrequests.certificates.k8s.io "r" is forbidden: use of '
            "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
        )


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (base64.b64encode(b"x").decode(), "must contain at least one CERTIFICATE PEM block"),
        (pem(b"x", "PRIVATE KEY"), 'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"'),
        (pem(b"", "CERTIFICATE"), "found CERTIFICATE PEM block containing 0 certificates"),
    ],
)
async def test_a_malformed_certificate_is_refused(certificate: str, message: str) -> None:
    async with new_handler() as handler:
        await ask(handler, "POST", PATH, csr())
        with pytest.raises(ApiError) as error:
            await ask(handler, "PATCH", f"{PATH}/r/status", {"status": {"certificate": certificate}}, kind="merge")
        assert message in error.value.message
