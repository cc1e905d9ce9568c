"""Refusals are logged at verbosity 2 and requests at 3, those of components in the process, too, which are counted."""

import logging

import pytest
from tests.log_text import log_text
from tests.unit.serve.http.serving import connect, serving
from tests.unit.serve.verbs.bench import new_api

from moorage.match.requirement import trusted_requirement
from moorage.model.api_error import ApiError, bad_request
from moorage.model.kinds import KINDS
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.pki.authenticator import Authenticator
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.requests.request_log import RequestLog
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics


async def answer(request: Request) -> Response:
    if request.method == "POST":
        raise bad_request("nothing may be made")
    request.impersonator, request.user = request.user, User("jane", groups=("dev",))
    return Response(404 if "nothing" in request.path else 200, b"{}")


@pytest.mark.real_time(loop="uvloop")
async def test_requests_over_http_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    gate = Authenticator({"secret": ADMIN}).authenticate
    async with serving(answer, gate=gate) as server:
        server.request_log = RequestLog()
        with caplog.at_level(logging.INFO - 3, "moorage"):
            client = await connect(server)
            client.send("GET /api/v1/pods?limit=5", "Authorization: Bearer secret", "User-Agent: me/1", "Audit-ID: a-1")
            assert (await client.answer()).headers["audit-id"] == "a-1"
            client.send("GET /api/v1/pods/nothing", "Authorization: Bearer secret")
            await client.answer()
            client.send("POST /api/v1/namespaces/default/pods", "Authorization: Bearer secret")
            await client.answer()
            client.send("GET /api/v1/nodes")
            await client.answer()
    lines = log_text(caplog).splitlines()
    assert 'verb="LIST" URI="/api/v1/pods?limit=5"' in lines[0]
    assert 'userAgent="me/1" audit-ID="a-1"' in lines[0]
    assert lines[0].endswith(
        'resp=200 addedInfo="kubernetes-admin[system:masters,system:authenticated] is impersonating jane[dev]"'
    )
    refused = [line for line in lines if '"Refused"' in line]
    assert len(refused) == 2
    assert refused[0].endswith('user="kubernetes-admin" resp=400 reason="BadRequest" err="nothing may be made"')
    assert refused[1].endswith('resp=401 reason="Unauthorized" err="Unauthorized"')


async def test_requests_of_components_are_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    async with new_api() as api:
        api.metrics = ApiServerMetrics(metrics)
        client = LoopbackClient(api, "kubelet")
        with caplog.at_level(logging.INFO - 3, "moorage"):
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "default"}}
            await client.create(KINDS.CONFIG_MAP, document)
            await client.list_all(KINDS.CONFIG_MAP)
            for _ in range(3):
                with pytest.raises(ApiError):
                    await client.get(KINDS.CONFIG_MAP, "two", "default")
            with pytest.raises(ApiError):
                await client.create(KINDS.CONFIG_MAP, document)
        counted = metrics.render()[0].decode()
        for verb, scope, code, times in (
            ("POST", "resource", 201, 1),
            ("LIST", "cluster", 200, 1),
            ("GET", "resource", 404, 3),
            ("POST", "resource", 409, 1),
        ):
            labels = f'verb="{verb}",dry_run="",group="",version="v1",resource="configmaps",subresource=""'
            line = f'apiserver_request_total{{{labels},scope="{scope}",component="apiserver",code="{code}"}} {times}\n'
            assert line in counted
        log = log_text(caplog)
    assert 'verb="LIST" URI="/api/v1/configmaps"' in log
    assert 'URI="/api/v1/namespaces/default/configmaps/two"' in log
    refused = [line for line in log.splitlines() if '"Refused"' in line]
    assert len(refused) == 1
    assert 'userAgent="moorage-kubelet" resp=409 err="configmaps \\"one\\" already exists"' in refused[0]


def test_label_values_that_are_no_versions_are_logged_in_the_keps_words(caplog: pytest.LogCaptureFixture) -> None:
    newer = trusted_requirement("driver", "SemverGt", ["1.2.3"])
    larger = trusted_requirement("cores", "gt", ["3"])
    with caplog.at_level(logging.INFO - 9, "moorage"):
        assert not newer.match({"driver": "abc"})
    assert not caplog.records
    with caplog.at_level(logging.INFO - 10, "moorage"):
        assert not newer.match({"driver": "abc", "a": "b"})
        assert not newer.match({"driver": "1.0"})
        assert newer.match({"driver": "2.0"})
        assert not larger.match({"cores": "x"})
    assert [record.getMessage() for record in caplog.records] == [
        'Parse semver failed for value abc in label a=b,driver=abc, Invalid character(s) found in major number "0abc"',
        'ParseInt failed for value x in label cores=x, strconv.ParseInt: parsing "x": invalid syntax',
    ]
