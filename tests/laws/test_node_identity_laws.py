"""A node reads and writes exactly what the plainest reading of the rules lets it, whatever objects come and go.

After changes of a drawn cluster a table of requests is made as each of two nodes, or as one without a name, and each
answer is compared with an evaluator that looks through all objects. What is written is written as a dry run. The same
table is asked with the nodes' certificates over TLS.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from tests.conformance.checks.platform.server import PlatformServer
from tests.laws.certificate_clients import CertificateClients
from tests.laws.falsify import examples
from tests.laws.naive_node_identity import Naive
from tests.laws.random_node_worlds import (
    KINDS,
    LABELS,
    LEASES,
    NAMES,
    NAMESPACES,
    NODES,
    Change,
    change,
    document,
    first_objects,
    path_of,
    pod,
    slice_of,
)

from moorage.admit.objects_world import SYSTEM_NAMESPACES
from moorage.admit.plugins.node_restriction import nodes as node_checks
from moorage.admit.plugins.node_restriction import pods as pod_checks
from moorage.cluster.api_server import ApiServerSettings, start_api_server
from moorage.model.gates import default_gates
from moorage.serve.access import node_graph
from moorage.serve.access.modes import DEFAULT_MODES
from moorage.serve.access.node_graph import NodeGraph

Raw = dict[str, Any]
#: Makes a request of a user ("" is the administrator), and returns the code and the document.
Ask = Callable[[str, Change], Awaitable[tuple[int, Any]]]

MERGE = "application/merge-patch+json"
NAMELESS = ""
READ = ("Secret", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount", "ResourceClaim", "Pod", "Lease")
READ_WITHOUT_NAMESPACE = ("PersistentVolume", "ResourceSlice", "VolumeAttachment", "Node", "CSINode")


def user_of(node: str) -> str:
    return f"system:node:{node}"


async def look(ask: Ask) -> Naive:
    """Return the whole cluster, as an administrator sees it."""
    objects = {}
    for kind in ("Pod", "PersistentVolume", "ResourceSlice", "VolumeAttachment", "Node"):
        code, listing = await ask("", Change("GET", path_of(kind)))
        assert code == 200
        objects[kind] = listing["items"]
    return Naive(objects)


async def compare(ask: Ask, random: Random, node: str) -> None:
    """Make the requests of a node, in an order that does not matter, and compare each with the plain answer."""
    world = await look(ask)
    for asked, is_allowed in [*reads(world, node), *lists(world, node), *writes(world, node, random)]:
        code, answer = await ask(user_of(node), asked)
        assert (code != 403) is is_allowed, (user_of(node), asked, answer, world.objects)


def reads(world: Naive, node: str) -> list[tuple[Change, bool]]:
    names = (*NAMES, "x0-x0", "x1-x0", *NODES)
    places = [(kind, namespace, name) for kind in READ for namespace in (*NAMESPACES, LEASES) for name in names]
    places += [(kind, "", name) for kind in READ_WITHOUT_NAMESPACE for name in names]
    return [
        (Change("GET", path_of(kind, namespace, name)), world.may_get(node, kind, namespace, name))
        for kind, namespace, name in places
    ]


def lists(world: Naive, node: str) -> list[tuple[Change, bool]]:
    asked = []
    for kind in KINDS:
        namespaces = (*NAMESPACES, "") if KINDS[kind][2] else ("",)
        by_node = [{"spec.nodeName": name} for name in NODES] if kind in ("Pod", "ResourceSlice") else []
        for namespace in namespaces:
            for equal in ({}, *({"metadata.name": name} for name in (*NAMES, *NODES)), *by_node):
                selector = quote(",".join(f"{field}={value}" for field, value in equal.items()))
                path = f"{path_of(kind, namespace)}?fieldSelector={selector}" if equal else path_of(kind, namespace)
                asked.append((Change("GET", path), world.may_list(node, kind, namespace, equal)))
    return asked


def writes(world: Naive, node: str, random: Random) -> list[tuple[Change, bool]]:
    asked = [_created_pod(world, node, random) for _ in range(6)]
    for existing in world.of_kind("Pod"):
        namespace, name = existing["metadata"]["namespace"], existing["metadata"]["name"]
        path, may_touch = path_of("Pod", namespace, name), world.may_touch_pod(node, namespace, name)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        asked += [(Change("DELETE", f"{path}?dryRun=All"), may_touch)]
        asked += [(Change("POST", f"{path}/eviction?dryRun=All", eviction), may_touch)]
        asked += [(Change("PUT", f"{path}?dryRun=All", existing), False)]
        report = random.choice(_REPORTS)
        is_allowed = world.may_report(node, namespace, name, report)
        asked += [(Change("PATCH", f"{path}/status?dryRun=All", report, MERGE), is_allowed)]
    for name in NODES:
        patch = _node_patch(random)
        path = path_of("Node", "", name) + random.choice(("", "/status"))
        asked.append((Change("PATCH", f"{path}?dryRun=All", patch, MERGE), world.may_patch_node(node, name, patch)))
        own = bool(node) and name == node
        for namespace in (LEASES, "a"):
            path = f"{path_of('Lease', namespace)}?dryRun=All"
            asked.append((Change("POST", path, document("Lease", name, namespace)), own and namespace == LEASES))
        driver = {"name": "d.io", "nodeID": "x"}
        csi_node = document("CSINode", name, spec={"drivers": [driver]})
        asked.append((Change("POST", f"{path_of('CSINode')}?dryRun=All", csi_node), own))
        asked.append((Change("POST", f"{path_of('ResourceSlice')}?dryRun=All", slice_of("new", name)), own))
    return asked


def _created_pod(world: Naive, node: str, random: Random) -> tuple[Change, bool]:
    namespace = random.choice(NAMESPACES)
    drawn = pod(random, "new", namespace, random.choice((*NODES, node or "n1", node or "n1")))
    if random.random() < 0.8:
        drawn["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    owner = random.choice((*NODES, node or "n1", node or "n1"))
    uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in world.of_kind("Node")}
    uid = uids[owner] if random.random() < 0.9 else "another"
    reference = {"apiVersion": "v1", "kind": "Node", "name": owner, "uid": uid, "controller": random.random() < 0.9}
    if random.random() < 0.9:
        drawn["metadata"]["ownerReferences"] = [reference] * random.choice((1, 1, 1, 2))
    if len(drawn["metadata"].get("ownerReferences", ())) == 2:
        drawn["metadata"]["ownerReferences"][1] = {**reference, "uid": "another"}  # equal ones are one
    asked = Change("POST", f"{path_of('Pod', namespace)}?dryRun=All", drawn)
    return asked, world.may_create_pod(node, drawn)


_REPORTS: tuple[Raw, ...] = (
    {"status": {"phase": "Running"}},
    {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}},
    {"metadata": {"annotations": {"a": "b"}}},
    {"status": {"resourceClaimStatuses": [{"name": "r", "resourceClaimName": "x0"}]}},
)


def _node_patch(random: Random) -> Raw:
    labels = {label: random.choice(("v", "w", None)) for label in random.sample(LABELS, random.randint(0, 2))}
    taints: tuple[list[Raw], ...] = ([{"key": "t", "effect": "NoSchedule"}], [], [{"key": "u", "effect": "NoExecute"}])
    spec = {"spec": {"taints": random.choice(taints)}} if random.random() < 0.4 else {}
    return {"metadata": {"labels": labels}, **spec}


async def check_worlds(ask_of: Callable[[], Awaitable[Ask]], seeds: range, steps: int) -> None:
    for seed in seeds:
        random, ask = Random(seed), await ask_of()
        for first in first_objects():
            code, answer = await ask("", first)
            assert code == 201, answer
        for namespace, name in product(NAMESPACES, NAMES):
            drawn = pod(random, name, namespace, random.choice(NODES))
            await ask("", Change("POST", path_of("Pod", namespace), drawn))
        for _ in range(steps):
            for _ in range(random.randint(1, 4)):
                await ask("", change(random))
            for node in random.choice((NODES, NODES, NODES, (NAMELESS,))):
                await compare(ask, random, node)


async def in_process() -> Ask:
    """Return requests to a server without a wire, whose administrator impersonates nodes."""
    server = await PlatformServer.started(*SYSTEM_NAMESPACES, *NAMESPACES, modes=DEFAULT_MODES)

    async def ask(user: str, asked: Change) -> tuple[int, Any]:
        headers = {"impersonate-user": user, "impersonate-group": "system:nodes"} if user else {}
        body = b"" if asked.body is None else json.dumps(asked.body).encode()
        answer = await server.ask(asked.method, asked.path, body, content_type=asked.content_type, headers=headers)
        return answer.code, answer.document

    return ask


WORLDS, STEPS = range(examples(12)), 6


async def test_nodes_read_and_write_what_the_plainest_reading_allows() -> None:
    await check_worlds(in_process, WORLDS, STEPS)


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (node_graph, "MIRROR_POD", "no-such-annotation"),
        (NodeGraph, "_displace", lambda graph, key: None),
        (NodeGraph, "_drop_volume", lambda graph, name: None),
        (NodeGraph, "_is_secret_of_volume", lambda graph, referenced, secret: False),
        (node_graph, "_has_same_references", lambda old, new: True),
        (pod_checks, "referenced_resource", lambda pod: ("", "")),
        (pod_checks, "_check_owner", lambda *asked: None),
        (node_checks, "_KUBERNETES_DOMAINS", ()),
    ],
)
async def test_the_law_notices_a_broken_rule(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Any
) -> None:
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError):
        await check_worlds(in_process, range(60), STEPS)


@asynccontextmanager
async def over_tls(directory: Path) -> AsyncIterator[Ask]:
    """Start a server with all its plugins, and ask it with the certificates of nodes."""
    server = await start_api_server(ApiServerSettings(default_gates(), directory))
    clients = CertificateClients(server.url, server._credentials.authority, directory)
    try:
        for name in NAMESPACES:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            assert (await clients.ask("", Change("POST", "/api/v1/namespaces", namespace)))[0] == 201
        yield clients.ask
    finally:
        clients.close()
        await server.stop()


@pytest.mark.real_time(loop="uvloop")
async def test_certificates_of_nodes_have_the_same_rights(tmp_path: Path) -> None:
    async with over_tls(tmp_path) as ask:

        async def the_same() -> Ask:
            return ask

        await check_worlds(the_same, range(1), 2)
