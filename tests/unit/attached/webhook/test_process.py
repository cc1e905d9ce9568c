"""The webhook over real TLS: what it answers, certificates that change, hostile clients, and its end."""

import asyncio
import json
import logging
import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.unit.attach.workloads import node, pod, toleration
from tests.unit.attached.webhook.reviewed import patch_of, review
from tests.unit.attached.webhook.serving import NAME, Talk, serving, write_certificate

from moorage.attached.webhook import handler as handling
from moorage.attached.webhook.process import CannotServe, WebhookProcess, WebhookSettings

pytestmark = pytest.mark.real_time

Raw = dict[str, Any]
SPOT = toleration("Gt", "950", effect="NoSchedule")


async def asked(process: WebhookProcess, trusted: bytes, path: str, body: Any = None) -> Any:
    talk = await Talk.begin(process.port, trusted)
    try:
        return await talk.ask("GET" if body is None else "POST", path, body)
    finally:
        talk.close()


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return why warnings and errors were logged."""
    records: list[Any] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    return [record.fields["reason"] for record in records]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tls"


async def test_reviews_health_and_metrics_share_a_port(folder: Path) -> None:
    trusted = write_certificate(folder)
    async with serving(folder, native=frozenset({"Lt"})) as process:
        talk = await Talk.begin(process.port, trusted)
        lowered = await talk.ask("POST", "/lower?timeout=5s", review(pod(SPOT)))
        assert lowered.status == 200
        assert patch_of(lowered.document["response"])
        native = await talk.ask("POST", "/lower", review(pod(toleration("Lt", "5"))))
        assert patch_of(native.document["response"]) == []
        mirrored = await talk.ask("POST", "/mirror", review(node([{"key": "a", "effect": "NoSchedule"}])))
        assert patch_of(mirrored.document["response"])
        refused = await talk.ask("POST", "/lower", review(pod(toleration("Gt", "x"))))
        assert refused.status == 200
        assert not refused.document["response"]["allowed"]
        for path in ("/healthz", "/livez", "/readyz"):
            assert await talk.ask("GET", path) == (200, b"ok")
        text = (await talk.ask("GET", "/metrics")).body.decode()
        counted = 'moorage_attach_webhook_reviews_total{webhook="lower",result="%s"} 1'
        assert all(counted % result in text for result in ("same", "changed", "refused"))
        assert 'moorage_attach_webhook_review_duration_seconds_count{webhook="mirror"} 1' in text
        assert 'moorage_attach_webhook_native_operator{operator="Lt"} 1' in text
        until = f"certificate_expiration_timestamp_seconds {int(process.certificate.expires.timestamp())}"
        assert until in text
        talk.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "content_type", "status"),
    [
        ("POST", "/lower", b"{}", "application/json", 400),
        ("POST", "/lower", b"x" * 100, "application/json; charset=utf-8", 400),
        ("POST", "/lower", b"{}", "application/yaml", 415),
        ("GET", "/lower", b"", "application/json", 405),
        ("POST", "/metrics", b"", "application/json", 405),
        ("POST", "/", b"{}", "application/json", 404),
        ("POST", "/lower/", b"{}", "application/json", 404),
    ],
)
async def test_other_requests_are_refused_and_the_connection_goes_on(
    folder: Path, method: str, path: str, body: bytes, content_type: str, status: int
) -> None:
    trusted = write_certificate(folder)
    async with serving(folder) as process:
        talk = await Talk.begin(process.port, trusted)
        assert (await talk.ask(method, path, body, content_type)).status == status
        assert (await talk.ask("POST", "/lower", review(pod(SPOT)))).status == 200
        talk.close()


async def test_a_body_that_is_too_large_is_not_read(folder: Path) -> None:
    trusted = write_certificate(folder)
    async with serving(folder) as process:
        talk = await Talk.begin(process.port, trusted)
        talk._writer.write(b"POST /lower HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n{")
        answer = await talk.answer()
        assert (answer.status, answer.document["reason"]) == (413, "RequestEntityTooLarge")
        talk.close()


async def test_an_error_of_ours_is_logged_and_costs_one_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: Any) -> Any:
        raise ZeroDivisionError

    trusted = write_certificate(folder)
    async with serving(folder) as process:
        with monkeypatch.context() as patched:
            patched.setattr(handling, "answer_review", broken)
            failed = await asked(process, trusted, "/lower", review(pod(SPOT)))
        assert failed.status == 500
        assert b"ZeroDivision" not in failed.body
        assert "Request failed" in caplog.text
        assert (await asked(process, trusted, "/lower", review(pod(SPOT)))).status == 200
        text = (await asked(process, trusted, "/metrics")).body.decode()
        assert 'moorage_attach_webhook_reviews_total{webhook="lower",result="failed"} 1' in text


async def test_long_reviews_are_answered_in_threads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trusted = write_certificate(folder)
    expression = " || ".join(f"taint.value == '{number}'" for number in range(20))
    long = [
        pod(*(toleration("Gt", str(number)) for number in range(30))),
        pod(toleration("CEL", expression)),
        {**pod(SPOT), "status": {"message": "x" * 100_000}},
    ]
    async with serving(folder) as process:
        run: list[str] = []
        work = process._server.handler.long_work  # type: ignore[attr-defined]
        original = work.run

        async def noted(function: Any, *arguments: Any) -> Any:
            run.append(function.__name__)
            return await original(function, *arguments)

        monkeypatch.setattr(work, "run", noted)
        for document in (pod(SPOT), *long):
            answer = await asked(process, trusted, "/lower", review(document))
            assert patch_of(answer.document["response"])
        assert run == ["answer_review", "answer_review", "_read_and_answer"]


# -- certificates ------------------------------------------------------------------------------------------------------


async def test_a_new_certificate_is_used_without_a_restart(folder: Path) -> None:
    """Clients trust both authorities while the certificate changes; a connection that is open stays."""
    first = write_certificate(folder)
    async with serving(folder) as process:
        old = await Talk.begin(process.port, first)
        assert (await old.ask("GET", "/readyz")).status == 200
        second = write_certificate(folder, trusted=first)
        assert (await asked(process, first + second, "/readyz")).status == 200
        process.look_at_certificate()
        assert (await old.ask("POST", "/lower", review(pod(SPOT)))).status == 200
        for trusted in (first + second, second):
            assert (await asked(process, trusted, "/readyz")).status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            await Talk.begin(process.port, first)
        old.close()


async def test_files_are_looked_at_from_time_to_time(folder: Path) -> None:
    write_certificate(folder)
    async with serving(folder, look_every=0.01) as process:
        before, second = process.certificate.expires, write_certificate(folder, days=10)
        while process.certificate.expires == before:
            await asyncio.sleep(0.01)
        assert (await asked(process, second, "/readyz")).status == 200


async def test_a_pair_that_does_not_fit_is_reported_once_and_the_former_stays(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trusted = write_certificate(folder)
    async with serving(folder) as process:
        key = (folder / "tls.key").read_bytes()
        write_certificate(folder)
        (folder / "tls.key").write_bytes(key)
        with caplog.at_level(logging.ERROR):
            for _ in range(3):
                process.look_at_certificate()
        [why] = reasons(caplog)
        assert "does not belong to the certificate" in why
        assert (await asked(process, trusted, "/readyz")).status == 200
        (folder / "tls.crt").unlink()
        process.look_at_certificate()
        assert reasons(caplog)[1].endswith("tls.crt: No such file or directory")
        fresh = write_certificate(folder)
        process.look_at_certificate()
        assert (await asked(process, fresh, "/readyz")).status == 200
        text = (await asked(process, fresh, "/metrics")).body.decode()
        assert 'certificate_loads_total{result="success"} 2' in text
        assert 'certificate_loads_total{result="error"} 2' in text


@pytest.mark.parametrize(("days", "why"), [(400, "has expired at"), (-1, "is not valid before")])
async def test_a_certificate_out_of_its_time_is_served_but_not_ready(folder: Path, days: float, why: str) -> None:
    write_certificate(folder, days=days)
    async with serving(folder) as process:
        assert why in process.complaint()
        fresh = write_certificate(folder)
        process.look_at_certificate()
        assert process.complaint() == ""
        assert (await asked(process, fresh, "/readyz")).status == 200


async def test_what_is_odd_about_a_certificate_is_told(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_certificate(folder, "other.svc", "127.0.0.1", days=360)
    (folder / "ca.crt").write_bytes(write_certificate(folder.parent / "other"))
    async with serving(folder) as process:
        odd = process.certificate.warnings
    assert odd[0] == f"tls.crt is not for {NAME}, which API servers call: it has other.svc"
    assert odd[1] == "no authority in ca.crt has signed tls.crt"
    assert odd[2].startswith("tls.crt expires at ")
    assert reasons(caplog) == list(odd)


async def test_a_certificate_is_waited_for(folder: Path) -> None:
    process = WebhookProcess(WebhookSettings(folder, wait_seconds=60))
    starting = asyncio.create_task(process.start())
    await asyncio.sleep(0)
    assert not starting.done()
    trusted = write_certificate(folder)
    await starting
    assert (await asked(process, trusted, "/healthz")).status == 200
    await process.stop()


@pytest.mark.parametrize("content", [b"", b"x", b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"])
@pytest.mark.parametrize("file", ["tls.crt", "tls.key", "ca.crt"])
async def test_files_that_are_no_certificates_stop_the_start(folder: Path, file: str, content: bytes) -> None:
    write_certificate(folder)
    (folder / file).write_bytes(content)
    process = WebhookProcess(WebhookSettings(folder, wait_seconds=60))
    if file == "ca.crt" and not content:
        await process.start()
    else:
        with pytest.raises(CannotServe, match=str(folder / file)):
            await process.start()
    await process.stop()


# -- the end -----------------------------------------------------------------------------------------------------------


async def test_a_request_that_is_under_way_is_answered_before_the_end(folder: Path) -> None:
    trusted = write_certificate(folder)
    process = WebhookProcess(WebhookSettings(folder, shutdown_delay=0.2))
    await process.start()
    talk, probe = await Talk.begin(process.port, trusted), await Talk.begin(process.port, trusted)
    body = json.dumps(review(pod(SPOT))).encode()
    talk.begin_request("/lower", body)
    assert (await probe.ask("GET", "/readyz")).status == 200
    stopping = asyncio.create_task(process.stop())
    await asyncio.sleep(0)
    ready = await probe.ask("GET", "/readyz")
    assert (ready.status, b"shutting down" in ready.body) == (500, True)
    assert (await probe.ask("GET", "/healthz")).status == 200
    talk.end_request(body)
    assert patch_of((await talk.answer()).document["response"])
    await stopping
    with pytest.raises(OSError, match=r"."):
        await Talk.begin(process.port, trusted)


async def test_a_port_that_is_taken_is_an_error(folder: Path) -> None:
    write_certificate(folder)
    async with serving(folder) as process:
        other = WebhookProcess(WebhookSettings(folder, port=process.port))
        with pytest.raises(CannotServe, match="cannot listen on"):
            await other.start()
        await other.stop()
