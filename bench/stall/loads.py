"""The loads: each drives the server for some seconds and says what the answers were."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from bench.stall import hostile
from bench.stall.claims import hostile_claims
from bench.stall.custom import custom_definitions, custom_objects, large_service
from bench.stall.expressions import expensive_pods
from bench.stall.extensions import EXTENSIONS
from bench.stall.generated import generated
from bench.stall.hostile import config_map, encoded, pod
from bench.stall.scale import large_deployment
from bench.stall.texts import long_texts, slow_refusals
from bench.stall.wire import Wire, gone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moorage.client.kubeconfig.access import Access

PODS, MAPS = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
APPLY, STRATEGIC = "application/apply-patch+yaml", "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class Context(NamedTuple):
    """How to reach the server, how large loads are (1 is full size), and how long which random documents are sent."""

    access: Access
    scale: float = 1.0
    seconds: float = 20.0
    seed: int = 1

    def count(self, full: int) -> int:
        return max(1, int(full * self.scale))


Answers = Counter[str]
Load = "Callable[[Context], Awaitable[Answers]]"


async def _send_all(context: Context, requests: list[tuple[str, str, str, bytes, str]], clients: int = 4) -> Answers:
    """Send (label, method, path, body, content type) over a few connections; count the statuses by label."""
    answers: Answers = Counter()
    waiting = iter(requests)

    async def client() -> None:
        wire = Wire(context.access)
        for label, method, path, body, content_type in waiting:
            reply = await wire.ask(method, path, body, content_type)
            answers[f"{label} {reply.status}".strip()] += 1
        wire.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


async def large_bodies(context: Context) -> Answers:
    requests = []
    for label, body in hostile.json_bodies().items():
        path = MAPS if b'"ConfigMap"' in body[:60] else PODS
        requests += [(label, "POST", path, body, "application/json")] * 2
    return await _send_all(context, requests)


async def yaml_bodies(context: Context) -> Answers:
    requests = []
    for label, body in hostile.yaml_bodies().items():
        path = MAPS if b"ConfigMap" in body[:60] else PODS
        requests.append((label, "POST", path, body, "application/yaml"))
    return await _send_all(context, requests)


async def protobuf_bombs(context: Context) -> Answers:
    kind = "application/vnd.kubernetes.protobuf"
    return await _send_all(
        context, [(label, "POST", PODS, body, kind) for label, body in hostile.protobuf_bodies().items()]
    )


async def patches(context: Context) -> Answers:
    wire = Wire(context.access)
    await wire.ask("POST", MAPS, encoded(config_map("patched", {f"k{i}": "v" for i in range(5_000)})))
    wire.close()
    requests = [(label, "PATCH", f"{MAPS}/patched", body, JSON_PATCH) for label, body in hostile.json_patches().items()]
    env = [{"name": f"V{i}", "value": "v"} for i in range(20_000)]
    document = pod("merged")
    document["spec"]["containers"][0]["env"] = env
    requests.append(("pod with 20,000 variables", "POST", PODS, encoded(document), "application/json"))
    merge = {"spec": {"containers": [{"name": "app", "env": env}]}}
    requests += [("strategic merge of lists", "PATCH", f"{PODS}/merged", encoded(merge), STRATEGIC)] * 2
    # Large documents that many managers own.
    for manager in range(8):
        path = f"{MAPS}/applied?fieldManager=m{manager}&force=true"
        applied = config_map("applied", {f"k{i}": f"v{manager}" for i in range(20_000)})
        requests.append(("apply 20,000 keys", "PATCH", path, encoded(applied), APPLY))
    deep = config_map("deep", {}, annotations={"a": "b"})
    deep["data"] = json.loads("[" * 150 + "]" * 150)
    requests.append(("apply deep", "PATCH", f"{MAPS}/deep?fieldManager=m", encoded(deep), APPLY))
    return await _send_all(context, requests, clients=2)


async def selectors(context: Context) -> Answers:
    """Pods and selectors with 10,000 values, and queries as long as they may be."""
    values = [f"v{i}" for i in range(10_000)]
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": values}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    requests = []
    for i in range(context.count(20)):
        terms[0]["matchExpressions"][0]["values"] = [*values[1:], f"w{i}"]
        requests.append(("pod", "POST", PODS, encoded(pod(f"picky-{i}", affinity=affinity)), "application/json"))
    labels = {"matchExpressions": [{"key": "app", "operator": "In", "values": values}]}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "wide"}}
    budget |= {"spec": {"minAvailable": 1, "selector": labels}}
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    requests.append(("budget", "POST", path, encoded(budget), "application/json"))
    text = quote(f"app in ({','.join(values)})")[:32_000].rpartition("%2C")[0] + ")"
    long = ",".join(f"!k{i}" for i in range(2_500))
    fields = ",".join(["metadata.name!=a"] * 1_500)
    for _ in range(context.count(20)):
        requests.append(("labels in", "GET", f"/api/v1/configmaps?labelSelector={text}", b"", ""))
        requests.append(("labels not", "GET", f"/api/v1/configmaps?labelSelector={quote(long)}", b"", ""))
        requests.append(("fields", "GET", f"/api/v1/configmaps?fieldSelector={quote(fields)}"[:32_000], b"", ""))
    return await _send_all(context, requests)


async def regular_expressions(context: Context) -> Answers:
    """Tolerations and device classes whose patterns other engines take for ever for."""
    patterns = [
        "(a+)+$",
        "(a|a)*b",
        "((a*)*)*c",
        "(.*){1,32}x",
        "(a?){500}a{500}",
        "(x{1000}){1000}",
        "((a{30}){30}){30}",
    ]
    patterns.append("(" + "(a|b|c|d)?" * 60 + "){1000}z")
    requests = []
    for i, pattern in enumerate(patterns):
        text = f"'{'a' * 1000}'.matches('{pattern}') && taint.key == 'zz'"
        tolerations = [{"operator": "CEL", "expression": text}, {"expression": text}]
        for j, toleration in enumerate(tolerations):
            document = pod(f"pattern-{i}-{j}", tolerations=[toleration])
            requests.append(("toleration", "POST", PODS, encoded(document), "application/json"))
        name = {"name": f"pattern-{i}"}
        selectors = [{"cel": {"expression": f"device.driver.matches('{pattern}')"}}]
        device = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": name}
        device |= {"spec": {"selectors": selectors}}
        path = "/apis/resource.k8s.io/v1/deviceclasses"
        requests.append(("device class", "POST", path, encoded(device), "application/json"))
    return await _send_all(context, requests)


async def fill(context: Context) -> Answers:
    """Create 50,000 objects, in forty namespaces: most of them labelled, all of them unlike."""
    count, answers = context.count(50_000), Counter[str]()
    numbers = iter(range(count))

    async def client() -> None:
        wire = Wire(context.access)
        for number in numbers:
            labels = {"app": f"app-{number % 100}", "number": f"n{number}"}
            body = encoded(config_map(f"object-{number}", {"text": "x" * 600}, labels=labels))
            answers[str((await wire.ask("POST", MAPS, body)).status)] += 1
        wire.close()

    await asyncio.gather(*(client() for _ in range(30)))
    return answers


def lists(
    accept: str, query: str = "", clients: int = 10, encoding: str = ""
) -> Callable[[Context], Awaitable[Answers]]:
    async def load(context: Context) -> Answers:
        answers: Answers = Counter()

        async def client() -> None:
            wire = Wire(context.access)
            reply = await wire.ask("GET", f"/api/v1/configmaps{query}", Accept=accept, Accept_Encoding=encoding)
            answers[f"{reply.status} {reply.length >> 20} MiB"] += 1
            wire.close()

        await asyncio.gather(*(client() for _ in range(clients)))
        return answers

    return load


async def watches(context: Context) -> Answers:
    """A thousand watches of one kind while it changes, and some that begin with all objects."""
    answers: Answers = Counter()
    writers = []
    for number in range(context.count(1_000)):
        wire = Wire(context.access)
        await wire.open()
        assert wire.writer is not None
        start = "&resourceVersion=0" if number % 20 == 0 else "&labelSelector=app%3Dwatched" if number % 3 else ""
        newest = "" if "Version" in start else "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
        wire.writer.write(wire.head("GET", f"/api/v1/configmaps?watch=true{start}{newest}", 0, {}))
        writers.append(wire)

    async def follow(wire: Wire) -> None:
        assert wire.reader is not None
        with suppress(OSError, EOFError, ssl.SSLError):
            while data := await wire.reader.read(2**18):
                answers["MiB"] += len(data)

    following = [asyncio.create_task(follow(wire)) for wire in writers]
    requests = []
    for number in range(context.count(300)):
        body = encoded(config_map(f"watched-{number}", {"text": "x" * 600}, labels={"app": "watched"}))
        requests.append(("create", "POST", MAPS, body, "application/json"))
    answers += await _send_all(context, requests)
    await asyncio.sleep(3)
    for task in following:
        task.cancel()
    await asyncio.gather(*(gone(wire.writer) for wire in writers if wire.writer is not None))
    answers["MiB"] >>= 20
    return answers


async def slow_clients(context: Context) -> Answers:
    """Heads and bodies that come byte by byte, answers that are not read, very many connections."""
    answers: Answers = Counter()
    wires = []
    for number in range(context.count(2_000)):
        wire = Wire(context.access)
        try:
            await wire.open()
        except OSError:
            answers["refused"] += 1
            continue
        wires.append(wire)
        assert wire.writer is not None
        if number % 3 == 0:
            wire.writer.write(b"GET /api/v1/pods HTTP/1.1\r\nX-Slow: ")
        elif number % 3 == 1:
            wire.writer.write(wire.head("POST", MAPS, 3_000_000, {"Content-Type": "application/json"}))
        elif number % 30 == 2:
            wire.writer.write(wire.head("GET", "/api/v1/configmaps", 0, {}))
    answers["connections"] = len(wires)
    for _ in range(10):
        for wire in wires:
            assert wire.writer is not None
            with suppress(OSError):
                if not wire.writer.transport.is_closing():
                    wire.writer.write(b"a")
        await asyncio.sleep(0.3)
    await asyncio.gather(*(gone(wire.writer) for wire in wires if wire.writer is not None))
    return answers


async def documents(context: Context) -> Answers:
    """OpenAPI, discovery and metrics, from ten clients."""
    paths = [
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/api/v1",
        "/openapi/v3/apis/apps/v1",
        "/metrics",
        "/apis",
        "/api",
    ]
    return await _send_all(context, [(path, "GET", path, b"", "") for path in paths * 10], clients=10)


async def gzip_bomb(context: Context) -> Answers:
    import zlib

    wire = Wire(context.access)
    body = zlib.compress(b"0" * 100_000_000)
    reply = await wire.ask("POST", PODS, body, Content_Encoding="gzip")
    wire.close()
    return Counter([f"{reply.status}"])


async def delete_all(context: Context) -> Answers:
    wire = Wire(context.access)
    reply = await wire.ask("DELETE", MAPS)
    wire.close()
    return Counter([f"{reply.status} {reply.length >> 20} MiB"])


LOADS: dict[str, Callable[[Context], Awaitable[Answers]]] = {
    "large JSON bodies": large_bodies,
    "YAML bodies": yaml_bodies,
    "protobuf bombs": protobuf_bombs,
    "gzip bomb": gzip_bomb,
    "patches and apply": patches,
    "regular expressions": regular_expressions,
    "1,000 pods with an expensive expression": expensive_pods(1000, 1),
    "claims among many combinations": hostile_claims,
    "100 pods with ten expensive expressions": expensive_pods(100, 10),
    "hostile CustomResourceDefinitions": custom_definitions,
    "hostile custom objects": custom_objects,
    "Services of 5,000 pods": large_service,
    "a Deployment of 20,000 replicas with two budgets": large_deployment(20_000),
    "a Deployment of 50,000 replicas with two budgets": large_deployment(50_000),
    "Tables of 12,000 pods while they are created": large_deployment(12_000, tables=True),
    **EXTENSIONS,
    "OpenAPI, discovery, metrics": documents,
    "50,000 creates": fill,
    "10 lists": lists("application/json"),
    "10 compressed lists": lists("application/json", encoding="gzip"),
    "10 tables": lists(TABLE),
    "10 metadata lists": lists(METADATA),
    "10 lists with a selector": lists("application/json", "?labelSelector=app%3Dapp-1"),
    "2 lists as YAML": lists("application/yaml", clients=2),
    "long selectors": selectors,
    "1,000 watches": watches,
    "slow clients": slow_clients,
    "long texts": long_texts,
    "slow refusals": slow_refusals,
    "generated": generated,
    "delete 50,000": delete_all,
}
