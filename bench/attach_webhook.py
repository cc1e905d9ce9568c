"""`python -m bench.attach_webhook [--seconds S] [--connections N]`: reviews of `moorage attach webhook` over real TLS.

The webhook is a process of its own; this one is its API server: connections that are kept, each with one review at a
time, as kube-apiserver sends them. Latency is measured with one connection, the rate with several. What counts is the
CPU time of the webhook's process for each review, beside the speed of this machine: a busy one answers later.
The goals of the issue: a median under 2 ms, 2,000 reviews per second on one core, which is 500 µs of CPU each.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import re
import ssl
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, cast

import uvloop

from bench.process import ENVIRONMENT, MOORAGE
from bench.result import Result, table
from moorage.attach.objects import lowered
from moorage.attached import names
from moorage.serve.pki.certificates import Authority

Raw = dict[str, Any]
NAME = f"{names.WEBHOOK}.{names.NAMESPACE}.svc"
_TAINT = {"key": "spot", "value": "950", "effect": "NoSchedule"}


def deployment(*tolerations: Raw, image: str = "web:1") -> Raw:
    """Return a Deployment as an API server shows it, with the fields of its managers."""
    fields = ("replicas", "selector", "strategy", "template")
    owned: Raw = {f"f:{field}": {"f:a": {}, "f:b": {".": {}}} for field in fields}
    container = {"name": "web", "image": image, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container], "tolerations": list(tolerations), "schedulerName": "default-scheduler"},
    }
    manager = {"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": owned}}
    metadata = {"name": "web", "namespace": "default", "uid": "5d1f", "managedFields": [manager]}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def node(*taints: Raw) -> Raw:
    labels = {"kubernetes.io/hostname": "n", "kubernetes.io/os": "linux", "example.com/driver": "535.104.5"}
    metadata = {"name": "n", "labels": labels | {f"example.com/label-{number}": "x" for number in range(20)}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": list(taints)}}


def toleration(operator: str, value: str, key: str = "spot") -> Raw:
    return {"key": key, "operator": operator, "value": value, "effect": "NoSchedule"}


def reviews() -> dict[str, tuple[str, Raw, Raw | None]]:
    """Return path, object and stored object by what they are."""
    one = deployment(toleration("Gt", "950"))
    several = deployment(
        toleration("Gt", "950"), toleration("Equal", "900"), toleration("SemverLt", "1.2", key="example.com/driver")
    )
    expression = deployment(toleration("CEL", "int(taint.value) % 2 == 0 && taint.value != '13'"))
    before = lowered(one)
    after = lowered(deployment(toleration("Gt", "950"), image="web:2"))
    return {
        "lower a new Deployment, one threshold": (names.LOWER_PATH, one, None),
        "lower a new Deployment, three tolerations": (names.LOWER_PATH, several, None),
        "lower a new Deployment, an expression": (names.LOWER_PATH, expression, None),
        "another image of a lowered Deployment": (names.LOWER_PATH, after, before),
        "mirror a node whose taint changes": (names.MIRROR_PATH, node(_TAINT), node(_TAINT | {"value": "940"})),
    }


def request(path: str, document: Raw, old: Raw | None) -> bytes:
    """Return a review as kube-apiserver posts it."""
    about = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "apps", "version": "v1", "kind": document["kind"]},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "name": document["metadata"]["name"],
        "namespace": "default",
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
        "object": document,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl"},
    }
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": about}).encode()
    head = (
        f"POST {path}?timeout=5s HTTP/1.1\r\nHost: {NAME}:443\r\nUser-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    )
    return head.encode() + body


class Caller(asyncio.Protocol):
    """One connection, which sends the next review when it has the answer to the last one."""

    def __init__(self, sent: list[bytes], until: float, seconds: list[float]) -> None:
        self._sent, self._until, self._seconds = sent, until, seconds
        self._received, self._number, self._began = b"", 0, 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def _send(self) -> None:
        self._began = perf_counter()
        self._transport.write(self._sent[self._number % len(self._sent)])
        self._number += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.rpartition(b"Content-Length: ")[2].split(b"\r\n", 1)[0]):
            return
        if not head.startswith(b"HTTP/1.1 200 ") or b'"allowed":true' not in body:
            raise SystemExit(f"the webhook answered {head[:200]!r} {body[:500]!r}")
        now = perf_counter()
        self._seconds.append(now - self._began)
        self._received = b""
        if now < self._until:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


@dataclass(frozen=True)
class Run:
    """What came of sending reviews for a while: per second, seconds each, and CPU seconds of the webhook each."""

    rate: float
    median: float
    p99: float
    cpu: float


async def run(webhook: Webhook, sent: list[bytes], connections: int, seconds: float) -> Run:
    loop = asyncio.get_running_loop()
    taken: list[float] = []
    cpu, began = webhook.cpu_seconds(), perf_counter()
    callers = []
    for _ in range(connections):
        _, caller = await loop.create_connection(
            lambda: Caller(sent, began + seconds, taken),
            "127.0.0.1",
            webhook.port,
            ssl=webhook.context,
            server_hostname=NAME,
        )
        callers.append(caller.done)
    await asyncio.gather(*callers)
    elapsed, spent = perf_counter() - began, webhook.cpu_seconds() - cpu
    taken.sort()
    return Run(len(taken) / elapsed, statistics.median(taken), taken[int(len(taken) * 0.99)], spent / len(taken))


class Webhook:
    """The process of the webhook."""

    def __init__(self, process: subprocess.Popen[str], port: int, context: ssl.SSLContext) -> None:
        self._process, self.port, self.context = process, port, context

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process until now."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving() -> Iterator[Webhook]:
    authority = Authority.create(datetime.datetime.now(datetime.UTC))
    issued = authority.issue_server([NAME])
    files = {"ca.crt": authority.issued.certificate, "tls.crt": issued.certificate, "tls.key": issued.key}
    with tempfile.TemporaryDirectory(prefix="moorage-bench-") as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        command = [str(MOORAGE), "attach", "webhook", "--cert-dir", folder, "--port", "0", "--native", "none"]
        with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            try:
                port = None
                while port is None and (line := process.stderr.readline()):
                    port = re.search(r"serving reviews on https://127\.0\.0\.1:(\d+)/", line)
                if port is None:
                    raise SystemExit("the webhook did not start")
                context = ssl.create_default_context(cadata=authority.issued.certificate.decode())
                yield Webhook(process, int(port[1]), context)
            finally:
                process.terminate()


def machine_speed() -> float:
    """Return the CPU seconds of a fixed piece of Python: 100,000 dictionaries made and looked into."""
    began = process_time()
    for number in range(100_000):
        found: Raw = {"key": number, "value": str(number)}
        found["key"] += len(found["value"])
    return process_time() - began


def measure(seconds: float = 5.0, connections: int = 16) -> Iterator[Result]:
    theme = "attach webhook"
    speed = machine_speed()
    with serving() as webhook:
        all_of_them = [request(*each) for each in reviews().values()]
        uvloop.run(run(webhook, all_of_them, 1, 1.0))  # what is loaded and compiled at first use
        for what, each in reviews().items():
            one = uvloop.run(run(webhook, [request(*each)], 1, seconds / 5))
            yield Result(theme, f"{what}: answer", one.median, p99=one.p99, goal="2 ms")
            yield Result(theme, f"{what}: CPU", one.cpu, goal="500 µs")
        mixed = uvloop.run(run(webhook, all_of_them, connections, seconds))
    what = f"all of them in turn, {connections} connections"
    yield Result(theme, f"{what}: rate", mixed.rate, "1/s")
    yield Result(theme, f"{what}: rate of one core of CPU", 1 / mixed.cpu, "1/s", goal="2,000 /s")
    yield Result(theme, f"{what}: CPU", mixed.cpu, goal="500 µs")
    yield Result(theme, f"{what}: answer", mixed.median, p99=mixed.p99)
    yield Result(theme, "this machine: 100,000 dictionaries in Python", speed)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.attach_webhook", description="Measure the webhook.")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the mixed reviews are sent")
    parser.add_argument("--connections", type=int, default=16, help="how many connections send them")
    options = parser.parse_args()
    print(table(measure(options.seconds, options.connections)))


if __name__ == "__main__":
    main()
