"""Run the webhook of attach: listen, take new certificates into use, ask what the cluster knows, stop without haste.

One HTTPS port has reviews, health and metrics. After SIGTERM reviews are answered on for a while in which /readyz says
no, until the last API server has noticed; then requests that are under way are finished.
Kubernetes: the serving options of its components. Differs: /metrics needs no login; it has counts only.
"""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from moorage.attached import names
from moorage.attached.native import COMPARING, Native, read_native
from moorage.attached.webhook.certificates import ServingCertificate
from moorage.attached.webhook.handler import WebhookHandler
from moorage.attached.webhook.metrics import WebhookMetrics
from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access
from moorage.cluster.event_loop import first_failure
from moorage.serve.http.receiving import Limits
from moorage.serve.http.server import Server
from moorage.serve.pki.certificates import CertificateError
from moorage.serve.requests.request_log import RequestLog
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics, add_process_metrics
from moorage.telemetry.watchdog import Watchdog

#: Two objects of the largest size there is, and what is around them.
_MAX_REVIEW_BYTES: Final = 8 * 1024 * 1024
_LOOK_EVERY, _ASK_EVERY = 10.0, 300.0
_WAIT_STEP: Final = 0.2
_GRACE_SECONDS: Final = 5.0
_LOG = get_logger("attach-webhook")


class CannotServe(Exception):
    """The certificate cannot be used, or the address cannot be had."""


class WebhookSettings(msgspec.Struct, frozen=True):
    """Where to listen, with the certificate in which directory, and how long to wait for that.

    With `access` the cluster is asked which operators it knows; else they are `native`.
    """

    certificates: Path
    bind_address: str = "127.0.0.1"
    port: int = 0
    namespace: str = names.NAMESPACE
    native: frozenset[str] = frozenset()
    access: Access | None = None
    wait_seconds: float = 0.0
    shutdown_delay: float = 0.0
    look_every: float = _LOOK_EVERY
    refuses_new: bool = False


class WebhookProcess:
    """The webhook, from `start` to `stop`."""

    def __init__(self, settings: WebhookSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        add_process_metrics(self.metrics)
        self.watchdog = Watchdog(self.metrics)
        self.certificate = ServingCertificate(settings.certificates, f"{names.WEBHOOK}.{settings.namespace}.svc")
        self._native = Native(settings.native)
        self._counts = WebhookMetrics(self.metrics, lambda: self.certificate.expires.timestamp(), self._operators)
        handler = WebhookHandler(
            self.metrics, self._counts, lambda: self._native.operators, self.complaint, refuses_new=settings.refuses_new
        )
        self._server = Server(
            handler,
            Limits(body_bytes=_MAX_REVIEW_BYTES),
            request_log=RequestLog(),
            client_gone=handler.long_work.abandon,
        )
        self._client = None if settings.access is None else HttpClient(settings.access, names.WEBHOOK)
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._last_problem = ""

    @property
    def port(self) -> int:
        return self._server.port

    def complaint(self) -> str:
        """Return why no API server should call; empty if it may."""
        return "shutdown failed: process is shutting down" if self._is_stopping else self._certificate_complaint()

    def _certificate_complaint(self) -> str:
        complaint = self.certificate.complaint()
        return f"certificate failed: {complaint}" if complaint else ""

    async def start(self) -> None:
        """Raises CannotServe."""
        await self._first_certificate()
        settings = self.settings
        try:
            await self._server.start(settings.bind_address, settings.port, self.certificate.context)
        except OSError as error:
            where = f"{settings.bind_address} port {settings.port}"
            raise CannotServe(f"cannot listen on {where}: {error.strerror or error}") from None
        self._tasks.append(asyncio.create_task(self._watch_certificate()))
        if self._client is not None:
            await self._ask(self._client)
            self._tasks.append(asyncio.create_task(self._ask_again(self._client)))
        address = f"https://{settings.bind_address}:{self.port}"
        _LOG.info("Serving admission reviews", address=address, native=",".join(sorted(self._native.operators)))

    async def failure(self) -> BaseException:
        return await first_failure(self._tasks)

    async def stop(self) -> None:
        had_started, self._is_stopping = bool(self._tasks), True
        if had_started and self.settings.shutdown_delay:
            await asyncio.sleep(self.settings.shutdown_delay)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.stop(_GRACE_SECONDS)
        if self._client is not None:
            await self._client.close()

    # -- the certificate

    async def _first_certificate(self) -> None:
        """Read the certificate; wait for files that are not there yet. Raises CannotServe."""
        until = time.monotonic() + self.settings.wait_seconds
        told = False
        while True:
            try:
                self.certificate.refresh()
            except (OSError, CertificateError) as error:
                may_come = isinstance(error, FileNotFoundError) and time.monotonic() < until
                if not may_come:
                    raise CannotServe(_reason(error)) from None
                if not told:
                    seconds = f"{self.settings.wait_seconds:g}"
                    _LOG.info("Waiting for the certificate", reason=_reason(error), seconds=seconds)
                    told = True
                await asyncio.sleep(_WAIT_STEP)
            else:
                self._note_certificate()
                return

    async def _watch_certificate(self) -> None:
        while True:
            await asyncio.sleep(self.settings.look_every)
            self.look_at_certificate()

    def look_at_certificate(self) -> None:
        """Take changed files into use. What cannot be used is logged once, and the former certificate stays."""
        try:
            if not self.certificate.refresh():
                self._note_problem(self.certificate.complaint())
                return
        except (OSError, CertificateError) as error:
            if self._note_problem(_reason(error)):
                self._counts.loaded(is_good=False)
            return
        self._note_certificate()

    def _note_certificate(self) -> None:
        self._counts.loaded(is_good=True)
        self._last_problem = ""
        _LOG.info("Using the certificate", until=f"{self.certificate.expires:%Y-%m-%d %H:%M} UTC")
        for warning in self.certificate.warnings:
            _LOG.warning("Odd certificate", reason=warning)
        self._note_problem(self.certificate.complaint())

    def _note_problem(self, why: str) -> bool:
        """Log what is wrong with the certificate, unless it was logged before; return whether it is new."""
        is_new, self._last_problem = why != self._last_problem, why
        if why and is_new:
            _LOG.error("The certificate cannot be used", reason=why)
        return is_new

    # -- what the cluster knows

    async def _ask_again(self, client: HttpClient) -> None:
        while True:
            await asyncio.sleep(_ASK_EVERY)
            await self._ask(client)

    async def _ask(self, client: HttpClient) -> None:
        """Ask which operators the cluster knows. While it does not tell, what it told before holds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_EVERY):
                found = await read_native(client)
                if found.problem:
                    _LOG.warning("Which operators the cluster knows cannot be read", reason=found.problem)
                else:
                    self._native = found

    def _operators(self) -> dict[str, bool]:
        return {name: name in self._native.operators for name in COMPARING}


def _reason(error: OSError | CertificateError) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
