"""Loads of admission as users extend it: webhooks that misbehave, thousands of policies, expressions at their limit."""

from __future__ import annotations

import asyncio
import base64
import datetime
import ssl
import tempfile
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.stall.hostile import config_map, encoded
from bench.stall.wire import Wire
from moorage.serve.pki.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bench.stall.loads import Context

MAPS = "/api/v1/namespaces/default/configmaps"
GROUP = "/apis/admissionregistration.k8s.io/v1"
WEBHOOKS = f"{GROUP}/validatingwebhookconfigurations"
POLICIES, BINDINGS = f"{GROUP}/validatingadmissionpolicies", f"{GROUP}/validatingadmissionpolicybindings"
CLIENTS, CALLS = 100, 1000
POLICY_COUNT = 10_000
_HOSTILE = {"matchLabels": {"asks": "yes"}}
_PIECE = b" " * 2**20

Behave = "Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]"


async def _hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def _close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def _flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
    for _ in range(100):
        writer.write(_PIECE)
        await writer.drain()


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def _garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer with what is much work to read: many small objects, and as YAML."""
    await reader.readuntil(b"\r\n\r\n")
    body = b'{"a":[' + b"{}," * 2_000_000 + b"{}]}" if id(writer) & 16 else b"- - a\n" * 100_000
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await writer.drain()


@asynccontextmanager
async def _serving(behave: Any) -> AsyncIterator[dict[str, str]]:
    """Serve a webhook; yield its clientConfig."""
    authority = Authority.create(datetime.datetime.now(datetime.UTC))
    issued = authority.issue_server(["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        pair = Path(directory, "pair.pem")
        pair.write_bytes(issued.key + issued.certificate)
        context.load_cert_chain(pair)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.CancelledError):
            await behave(reader, writer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    bundle = base64.b64encode(authority.issued.certificate).decode()
    try:
        yield {"url": f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", "caBundle": bundle}
    finally:
        server.close()


def webhook(behave: Any) -> Callable[[Context], Awaitable[Counter[str]]]:
    """Return a load: a thousand objects about which a webhook is asked, by a hundred clients."""

    async def load(context: Context) -> Counter[str]:
        wire, answers = Wire(context.access), Counter[str]()
        rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        async with _serving(behave) as client:
            hook = {
                "name": "hostile.example.com",
                "clientConfig": client,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "timeoutSeconds": 2,
                "rules": [rule],
                "objectSelector": _HOSTILE,
            }
            document = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
            await wire.ask("POST", WEBHOOKS, encoded({**document, "metadata": {"name": "hostile"}, "webhooks": [hook]}))
            numbers = iter(range(context.count(CALLS)))
            await asyncio.gather(*(_ask(context, numbers, answers) for _ in range(CLIENTS)))
            reply = await wire.ask("DELETE", f"{WEBHOOKS}/hostile")
            answers[f"configuration deleted: {reply.status}"] += 1
        wire.close()
        return answers

    return load


async def _ask(context: Context, numbers: Any, answers: Counter[str]) -> None:
    wire = Wire(context.access)
    for number in numbers:
        document = config_map(f"asks-{number}-{id(numbers)}", {"k": "v" * 1000})
        document["metadata"]["labels"] = {"asks": "yes"}
        reply = await wire.ask("POST", MAPS, encoded(document))
        answers[str(reply.status)] += 1
    wire.close()


def _policy(name: str, resources: list[str], expression: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return a policy and its binding, each with its path."""
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources}
    spec = {"matchConstraints": {"resourceRules": [rule], **more}, "validations": [{"expression": expression}]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        (POLICIES, {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec}),
        (BINDINGS, {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}),
    ]


async def many_policies(context: Context) -> Counter[str]:
    """Make ten thousand policies for a hundred resources, and write objects that one in a hundred is about."""
    answers = Counter[str]()
    numbers = iter(range(context.count(POLICY_COUNT)))

    async def make() -> None:
        wire = Wire(context.access)
        for number in numbers:
            resource = "configmaps" if number % 100 == 0 else f"things{number % 100}"
            for path, document in _policy(f"many-{number}", [resource], f"!has(object.data) || {number} >= 0"):
                reply = await wire.ask("POST", path, encoded(document))
                answers[f"{path.rpartition('/')[2]} {reply.status}"] += 1
        wire.close()

    await asyncio.gather(*(make() for _ in range(4)))
    written = iter(range(context.count(CALLS)))
    await asyncio.gather(*(_ask(context, written, answers) for _ in range(4)))
    await _delete_all(context)
    return answers


async def expensive_policies(context: Context) -> Counter[str]:
    """Ask about objects with an expression that goes on until its cost limit."""
    wire, answers = Wire(context.access), Counter[str]()
    expression = "lists.range(3000).all(x, lists.range(3000).all(y, x + y >= 0)) || object.kind == ''"
    for number in range(5):
        for path, document in _policy(f"expensive-{number}", ["configmaps"], expression, objectSelector=_HOSTILE):
            reply = await wire.ask("POST", path, encoded(document))
            answers[f"{path.rpartition('/')[2]} {reply.status}"] += 1
    numbers = iter(range(context.count(200)))
    await asyncio.gather(*(_ask(context, numbers, answers) for _ in range(20)))
    wire.close()
    await _delete_all(context)
    return answers


async def _delete_all(context: Context) -> None:
    wire = Wire(context.access)
    for path in (BINDINGS, POLICIES):
        await wire.ask("DELETE", path)
    wire.close()


EXTENSIONS = {
    "a webhook that hangs": webhook(_hang),
    "a webhook that closes": webhook(_close),
    "a webhook that floods": webhook(_flood),
    "a webhook that drips": webhook(_drip),
    "a webhook that answers with much to read": webhook(_garbage),
    "10,000 policies": many_policies,
    "expressions of policies at their cost limit": expensive_policies,
}
