"""Custom objects and access by many rules: create, apply and list, over HTTPS, with the store on disk.

`python -m bench.custom_resources [--objects N] [--bindings N]` starts a `moorage up` of its own. ConfigMaps of the same
size are created before as the twin of custom objects, and lists are asked for by an administrator before those by a
user whose right is in the last of many bindings. CPU time is the server's, which is what to compare on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bench.e2e.requests import Requests
from bench.e2e.sender import Sender
from bench.e2e.server import Server
from bench.result import Result, table

if TYPE_CHECKING:
    from collections.abc import Sequence

Raw = dict[str, Any]
GROUP, PLURAL, USER = "bench.example.com", "widgets", "alice"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}"
THEME = "custom resources"
_LISTS = 5
_PATIENCE = 30.0
_POLL = 0.05


def definition() -> Raw:
    properties = {
        "size": {"type": "integer", "minimum": 1},
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "parts": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 40}},
    }
    rule = {"rule": "self.size < 1000 || self.colour == 'red'", "message": "large ones are red"}
    spec = {"type": "object", "required": ["size"], "properties": properties, "x-kubernetes-validations": [rule]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": PLURAL, "singular": "widget", "kind": "Widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def widget(number: int, size: int = 0) -> Raw:
    spec = {"size": size or 1 + number % 900, "colour": ("red", "green", "blue")[number % 3], "parts": ["a", "b", "c"]}
    metadata = {"name": f"widget-{number:06}", "labels": {"app": f"app-{number % 50}"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def config_map(number: int) -> Raw:
    metadata = {"name": f"twin-{number:06}", "namespace": "default", "labels": {"app": f"app-{number % 50}"}}
    data = {"size": str(1 + number % 900), "colour": ("red", "green", "blue")[number % 3], "parts": "a b c"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def rights(bindings: int) -> list[Raw]:
    """Roles and their bindings, of which only the last lets the user list custom objects."""
    api, documents = "rbac.authorization.k8s.io", list[Raw]()
    for number in range(bindings):
        name, is_last = f"bench-{number:05}", number == bindings - 1
        rule = {"apiGroups": [GROUP], "resources": [PLURAL if is_last else f"others-{number}"], "verbs": ["list"]}
        role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
        subjects = [{"kind": "User", "name": USER, "apiGroup": api}]
        reference = {"apiGroup": api, "kind": "ClusterRole", "name": name}
        binding = {"kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
        documents += [role, {"apiVersion": f"{api}/v1", "metadata": {"name": name}, **binding}]
    return documents


class _Run:
    def __init__(self, server: Server, sender: Sender, requests: Requests) -> None:
        self._server, self._sender, self.requests = server, sender, requests
        self.results: list[Result] = []
        self._costs: dict[str, float] = {}

    async def one(self, request: bytes, *allowed: int) -> int:
        return (await self._sender.one(request, *allowed)).status

    async def many(self, what: str, requests: Sequence[bytes], *, twin: str = "", each: str = "object") -> None:
        """Send requests over all connections; note how many there are in a second, and their cost."""
        times: list[float] = []
        began, cpu = perf_counter(), self._server.cpu_seconds()
        await self._sender.all(requests, lambda _, sent, now: times.append(now - sent))
        wall, cpu = perf_counter() - began, self._server.cpu_seconds() - cpu
        self._costs[what] = cost = cpu / len(requests)
        ratio = cost / self._costs[twin] if twin and self._costs[twin] else None
        self.results += [
            Result(THEME, what, len(requests) / wall, "1/s"),
            Result(THEME, f"{what}, CPU of the server for each {each}", cost, ratio=ratio, compared_with=twin),
            Result(THEME, f"{what}, latency", statistics.median(times), p99=sorted(times)[len(times) * 99 // 100]),
        ]

    async def lists(self, what: str, request: bytes, *, twin: str = "") -> None:
        """Ask for one list after the other."""
        times, size = list[float](), 0
        cpu = self._server.cpu_seconds()
        for _ in range(_LISTS):
            began = perf_counter()
            size = len((await self._sender.one(request)).body)
            times.append(perf_counter() - began)
        self._costs[what] = cost = (self._server.cpu_seconds() - cpu) / _LISTS
        ratio = cost / self._costs[twin] if twin and self._costs[twin] else None
        shown = f"{what} ({size / 2**20:.1f} MiB)"
        self.results += [
            Result(THEME, shown, statistics.median(times), p99=max(times)),
            Result(THEME, f"{what}, CPU of the server", cost, ratio=ratio, compared_with=twin),
        ]


async def measure(objects: int, bindings: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), ["--feature-gates=AllAlpha=true"])
        access = await server.start()
        sender = Sender(access)
        try:
            run = _Run(server, sender, Requests(access))
            await _measure(run, objects, bindings)
            memory = Result(THEME, "peak memory of the server", server.peak_memory(), "B")
            return [*run.results, memory]
        finally:
            sender.close()
            server.close()


async def _measure(run: _Run, objects: int, bindings: int) -> None:
    ask = run.requests
    await run.one(ask.create(definition()))
    until = perf_counter() + _PATIENCE
    while await run.one(ask.get(WIDGETS), 404) != 200 and perf_counter() < until:
        await asyncio.sleep(_POLL)
    maps = "create ConfigMaps"
    await run.many(maps, [ask.create(config_map(number), "default") for number in range(objects)])
    await run.many("create custom objects", [ask.post(WIDGETS, widget(n)) for n in range(objects)], twin=maps)
    some = range(0, objects, 10)
    paths = [f"{WIDGETS}/widget-{number:06}" for number in some]
    first = [ask.apply(path, widget(n, 7), "first") for path, n in zip(paths, some, strict=True)]
    again = [ask.apply(path, widget(n, 7), "first") for path, n in zip(paths, some, strict=True)]
    await run.many("apply custom objects, a field changes", first)
    await run.many("the same applied again", again, twin="apply custom objects, a field changes")
    whole = "list custom objects, administrator"
    await run.lists(whole, ask.get(WIDGETS))
    await run.lists("list by label, administrator", ask.get(WIDGETS, labelSelector="app=app-7"), twin=whole)
    await run.many("create roles and bindings", [ask.create(document) for document in rights(bindings)])
    mine = ask.as_user(ask.get(WIDGETS), USER)
    await run.lists(f"list custom objects, user with {bindings:,} bindings", mine, twin=whole)
    page = ask.as_user(ask.get(WIDGETS, limit="500"), USER)
    await run.many("first page of 500, by that user", [page] * 200, each="page")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.custom_resources", description=__doc__)
    parser.add_argument("--objects", type=int, default=50_000, help="custom objects, and as many ConfigMaps (50000)")
    parser.add_argument("--bindings", type=int, default=2_000, help="ClusterRoleBindings of the user (2000)")
    options = parser.parse_args()
    print(table(asyncio.run(measure(options.objects, options.bindings))))


if __name__ == "__main__":
    main()
