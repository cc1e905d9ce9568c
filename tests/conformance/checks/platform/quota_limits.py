"""quota_limits.json: LimitRanges and ResourceQuotas in a namespace, requests, and what the quotas say afterwards."""

import asyncio
from typing import Any

import msgspec
from tests.conformance.checks.platform.comparison import difference, exactly
from tests.conformance.checks.platform.server import Answer, PlatformServer, built_in
from tests.conformance.checks.platform.steps import built_in_resource, take_step

from moorage.match.quota.usage import count_used
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.policy import ResourceQuota

Raw = dict[str, Any]
_PLURALS = {"Pod": "v1", "Service": "v1", "PersistentVolumeClaim": "v1"}
_CLASSES: tuple[Raw, ...] = (
    *(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, **rest}
        for name, rest in (
            ("high", {"value": 1000}),
            ("low", {"value": 10}),
            ("never", {"value": 50, "preemptionPolicy": "Never"}),
        )
    ),
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "ovh"},
        "handler": "ovh",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"rt": "ovh"}, "tolerations": [{"key": "rt", "operator": "Exists"}]},
    },
)
_QUOTAS = "/api/v1/namespaces/ns/resourcequotas"


def check_quota_limits(case: Raw) -> str | None:
    return asyncio.run(_check(case))


async def _check(case: Raw) -> str | None:
    server = await PlatformServer.started("ns")
    server.use_plugins(protects_storage=True)
    for document in _CLASSES:
        await server.post(document)
    given, wanted = case["in"], case["out"]
    found = await _make(server, given["setup"])
    for number, (step, want) in enumerate(zip(given["steps"], wanted["steps"], strict=True)):
        body = step["body"]
        document = body if "apiVersion" in body else {"apiVersion": _PLURALS[step["kind"]], "kind": step["kind"]}
        resource, version = built_in_resource(document, "ns")
        step = {**step, **({"dryRun": "All"} if step.get("dryRun") is True else {})}
        answer = _without_allocations(await take_step(server, step, resource, version), document["kind"])
        found = found or _difference(answer, want, f"step {number} ({step['op']})")
    found = found or await _make(server, given.get("quotasAfter", []))
    for name, want in wanted.get("quotas", {}).items():
        status = (await server.ask("GET", f"{_QUOTAS}/{name}")).document.get("status")
        if not exactly(status, want):
            found = found or f"quota {name}: got {status}, want {want}"
    return found


def _difference(answer: Answer, want: Raw, where: str) -> str | None:
    if "messageParts" in want:
        head, parts = want["messageHead"], want["messageParts"]
        message = str(answer.document.get("message"))
        inner = message.removeprefix(head).removeprefix("[").removesuffix("]")
        if not message.startswith(head) or sorted(inner.split(", ")) != sorted(", ".join(parts).split(", ")):
            return f"{where}: got {message}, want {head}{parts}"
        want = {name: value for name, value in want.items() if name not in ("messageHead", "messageParts")}
    found = difference(answer, want)
    return f"{where}: {found}" if found else None


async def _make(server: PlatformServer, documents: list[Raw]) -> str | None:
    """Create LimitRanges and ResourceQuotas, and count for these as the quota controller does."""
    for document in documents:
        answer = await server.post(document, "ns")
        if answer.code != 201:
            return f"setup: {answer.document.get('message')}"
    for document in documents:
        if document["kind"] == "ResourceQuota":
            await _count(server, document["metadata"]["name"])
    return None


async def _count(server: PlatformServer, name: str) -> None:
    raw = (await server.ask("GET", f"{_QUOTAS}/{name}")).document
    listed = {kind: await _views(server, kind) for kind in KINDS.values() if kind.namespaced}
    used = count_used(convert_view(raw, ResourceQuota), lambda kind: listed.get(kind, []), server.api.clock())
    status = {"hard": raw["spec"].get("hard") or {}, "used": {name: str(amount) for name, amount in used.items()}}
    body = msgspec.json.encode({**raw, "status": status})
    answer = await server.ask("PUT", f"{_QUOTAS}/{name}/status", body)
    assert answer.code == 200, answer.document


async def _views(server: PlatformServer, kind: Kind) -> list[Any]:
    root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    found = await server.ask("GET", f"{root}/namespaces/ns/{kind.plural}")
    assert built_in(kind.api_version, kind.name) is kind
    return [convert_view(item, kind.view) for item in found.document.get("items") or ()]


def _without_allocations(answer: Answer, kind: str) -> Answer:
    """Return an answer as it was recorded: without a quota's status, with allocated addresses and ports masked."""
    if answer.code >= 400:
        return answer
    document = dict(answer.document)
    if kind == "ResourceQuota":
        document.pop("status", None)
    if kind == "Service":
        spec = dict(document["spec"])
        if spec.get("clusterIP", "None") != "None":
            spec["clusterIP"], spec["clusterIPs"] = "<ip>", ["<ip>"]
        spec["ports"] = [{**port, "nodePort": "<port>"} if port.get("nodePort") else port for port in spec["ports"]]
        if spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = "<port>"
        document["spec"] = spec
    return answer._replace(document=document)
