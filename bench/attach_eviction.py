"""`python -m bench.attach_eviction [--nodes N] [--pods N]`: a value crosses on every node at once; who is evicted?

A `moorage up` without the gates, with the mirror's policy and the cluster's own eviction, has as many nodes and running
lowered pods as it is asked for: numbers, versions and expressions. `moorage attach controller` runs beside it as a
process of its own. Then each node gets another value, all as fast as the server takes it. Which pods have to leave is
worked out here, by comparing integers; those that left and those that stayed are compared with it, name by name.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import uvloop

from bench.e2e.problems import RunFailed
from bench.e2e.programs import Program
from bench.e2e.requests import Requests
from bench.e2e.sender import CONNECTIONS, Sender
from bench.e2e.server import Server
from bench.e2e.watch_lines import WatchLines
from bench.result import Result, table
from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered
from moorage.attach.policies.mirror import mirror_policy
from moorage.attached import names
from moorage.model.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from moorage.client.kubeconfig.access import Access

Raw = dict[str, Any]
KEY, NAMESPACE = "example.com/sla", "default"
BEFORE = 990
#: Thresholds of pods; values of nodes afterwards are drawn from the same range.
THRESHOLDS = range(900, 990, 10)
#: How a pod says that it needs more than its threshold, and how many of a hundred say it so.
FORMS = {"Gt": 80, "SemverGt": 10, "CEL": 10}
#: After this long without a write the controller has come to rest.
_QUIET_SECONDS, _STEP = 2.0, 0.05
_PATIENCE = 120.0
#: It leads on while a busy machine keeps it waiting.
_PATIENT = ("--leader-elect-lease-duration=5m", "--leader-elect-renew-deadline=4m")
#: What the controller logs when it has read everything.
_SYNCED = "Caches are synced"
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Sizes(NamedTuple):
    """How many nodes and pods there are, and the seed of their values."""

    nodes: int
    pods: int
    seed: int


class Drawn(NamedTuple):
    """The world: pods by name with their node and threshold, and the value that each node gets."""

    pods: dict[str, tuple[str, int]]
    values: dict[str, int]
    documents: list[Raw]

    @property
    def leaving(self) -> set[str]:
        """Return the pods whose node will have no more than they need."""
        return {name for name, (node, least) in self.pods.items() if self.values[node] <= least}


def taint(value: int, form: str = "Gt") -> Raw:
    """Return a node's taint; versions have a key of their own, whose value is 1.<value>.0."""
    if form == "SemverGt":
        return {"key": f"{KEY}-version", "value": f"1.{value}.0", "effect": "NoExecute"}
    return {"key": KEY, "value": str(value), "effect": "NoExecute"}


def toleration(form: str, least: int) -> Raw:
    values = {"Gt": str(least), "SemverGt": f"1.{least}.0", "CEL": f"int(taint.value) > {least}"}
    key = taint(least, form)["key"]
    return {"key": key, "operator": form, "value": values[form], "effect": "NoExecute"}


def taints(value: int) -> list[Raw]:
    return [taint(value), taint(value, "SemverGt")]


def drawn(sizes: Sizes) -> Drawn:
    """Draw the world."""
    drawing = random.Random(sizes.seed)
    nodes = [f"node-{number}" for number in range(sizes.nodes)]
    pods: dict[str, tuple[str, int]] = {}
    documents = []
    for number in range(sizes.pods):
        name, node, least = f"pod-{number}", nodes[number % sizes.nodes], drawing.choice(THRESHOLDS)
        (form,) = drawing.choices(tuple(FORMS), tuple(FORMS.values()))
        pods[name] = node, least
        documents.append(_pod(name, node, form, least))
    return Drawn(pods, {node: drawing.choice(THRESHOLDS) for node in nodes}, documents)


def _pod(name: str, node: str, form: str, least: int) -> Raw:
    """Return a running pod that is lowered; it tolerates whatever the other key has."""
    other = taint(least, "Gt" if form == "SemverGt" else "SemverGt")["key"]
    plain = {"key": other, "operator": "Exists", "effect": "NoExecute"}
    spec = {
        "nodeName": node,
        "containers": [{"name": "main", "image": "web:1"}],
        "tolerations": [plain, toleration(form, least)],
        "terminationGracePeriodSeconds": 0,
    }
    return lowered({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def _node(name: str) -> Raw:
    document: Raw = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": taints(BEFORE)},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }
    document["metadata"]["labels"] = mirrored(document, None)
    return document


# -- what is seen ------------------------------------------------------------------------------------------------------


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    resourceVersion: str = ""


class _Seen(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()
    message: str = ""


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: _Seen


_EVENTS = msgspec.json.Decoder(_Event)


class Leaving:
    """When each pod was gone."""

    def __init__(self) -> None:
        self.gone: dict[str, float] = {}

    def receive(self, lines: bytes) -> str:
        revision = ""
        for event in _EVENTS.decode_lines(lines):
            if event.type == "ERROR":
                raise RunFailed(event.object.message or "the watch ended")
            if event.type == "DELETED":
                self.gone[event.object.metadata.name] = perf_counter()
            revision = event.object.metadata.resourceVersion
        return revision


class Counted(NamedTuple):
    """One exposition of metrics: values by name and labels."""

    values: dict[tuple[str, frozenset[tuple[str, str]]], float]

    @classmethod
    def read(cls, text: str) -> Counted:
        return cls(
            {(name, frozenset(_LABEL.findall(labels))): float(value) for name, labels, value in _SAMPLE.findall(text)}
        )

    def total(self, wanted: str, **labels: str) -> float:
        return sum(value for (name, has), value in self.values.items() if name == wanted and labels.items() <= has)

    def calls(self) -> Counter[str]:
        """Return the requests to an API server by verb and resource."""
        found: Counter[str] = Counter()
        for (name, has), value in self.values.items():
            if name == "apiserver_request_total":
                labels = dict(has)
                parts = [labels["resource"], labels.get("subresource", "")]
                found[f"{labels['verb']} {'/'.join(filter(None, parts))}"] += int(value)
        return found


# -- the run -----------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What came of it."""

    results: list[Result]
    calls: Counter[str]
    wrong: list[str]


class Run:
    """A server with its nodes and pods, and the controller beside it."""

    def __init__(self, folder: Path, server: Server, access: Access, sizes: Sizes, say: Callable[[str], None]) -> None:
        self._server, self._say = server, say
        self._requests, self._sender = Requests(access), Sender(access, CONNECTIONS)
        self._drawn = drawn(sizes)
        command = (sys.executable, "-m", "moorage", "attach", "controller", "--kubeconfig", str(folder / "kubeconfig"))
        self._log = folder / "controller.log"
        self._controller = Program("the controller", (*command, "--metrics-port", "-1", *_PATIENT), self._log)

    async def outcome(self) -> Outcome:
        """Raises RunFailed."""
        leaving = Leaving()
        await self._set_up()
        watch = WatchLines(KINDS.POD, self._requests, self._sender, leaving.receive)
        await watch.begin()
        watching = asyncio.create_task(watch.run())
        self._controller.start()
        try:
            while _SYNCED not in self._log.read_text(encoding="utf-8"):
                self._check()
                await asyncio.sleep(_STEP)
            await self._rest(_QUIET_SECONDS)
            self._say(f"the controller has synced: {self._controller.memory() / 2**20:,.0f} MiB")
            return await self._change(leaving)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self._controller.stop()
            self._sender.close()

    async def _set_up(self) -> None:
        began = perf_counter()
        await self._send([self._requests.create(each) for each in mirror_policy()])
        await self._send([self._requests.create(_node(name)) for name in self._drawn.values])
        await self._send([self._requests.create(each, NAMESPACE) for each in self._drawn.documents])
        sizes = f"{len(self._drawn.values):,} nodes and {len(self._drawn.pods):,} pods"
        self._say(f"{sizes} made in {perf_counter() - began:.1f} s")

    async def _change(self, leaving: Leaving) -> Outcome:
        before, wanted = await self._counted(), self._drawn.leaving
        cpu, server_cpu, began = self._controller.cpu_seconds(), self._server.cpu_seconds(), perf_counter()
        patches = [
            self._requests.patch(KINDS.NODE, node, {"spec": {"taints": taints(value)}})
            for node, value in self._drawn.values.items()
        ]
        await self._send(patches)
        written = perf_counter() - began
        self._say(f"{len(patches):,} values written in {written:.1f} s")
        await self._until(lambda: wanted <= leaving.gone.keys(), leaving)
        seconds = max(leaving.gone.values(), default=began) - began
        await self._rest(_QUIET_SECONDS)
        cpu, server_cpu = self._controller.cpu_seconds() - cpu, self._server.cpu_seconds() - server_cpu
        calls = (await self._counted()).calls() - before.calls()
        calls["PATCH nodes"] -= len(patches)
        gone = leaving.gone.keys()
        wrong = [f"{name} stayed" for name in sorted(wanted - gone)] + [
            f"{name} left" for name in sorted(gone - wanted)
        ]
        what = f"{len(patches):,} nodes, {len(self._drawn.pods):,} pods, {len(wanted):,} evicted"
        theme = "attach eviction"
        results = [
            Result(theme, f"{what}: until the last is gone", seconds),
            Result(theme, "of that, until the last value is written", written),
            Result(theme, "CPU of the controller", cpu),
            Result(theme, "CPU of the API server", server_cpu),
            Result(theme, "CPU of the controller for an eviction", cpu / max(1, len(wanted))),
            Result(theme, "peak memory of the controller", float(self._controller.peak_memory()), "B"),
        ]
        return Outcome(results, +calls, wrong)

    # -- waiting -------------------------------------------------------------------------------------------------------

    async def _until(self, holds: Callable[[], bool], leaving: Leaving) -> None:
        """Raises RunFailed if nothing more leaves for a while."""
        so_far, since = len(leaving.gone), perf_counter()
        while not holds():
            self._check()
            await asyncio.sleep(_STEP)
            if len(leaving.gone) > so_far:
                so_far, since = len(leaving.gone), perf_counter()
            elif perf_counter() - since > _PATIENCE:
                missing = sorted(self._drawn.leaving - leaving.gone.keys())
                raise RunFailed(f"{len(missing):,} pods stay that have to leave, such as {missing[:3]}")

    async def _rest(self, seconds: float) -> None:
        """Wait until nothing has asked the API server for something but watches for a while, Leases left out."""
        last, since = await self._busy(), perf_counter()
        while perf_counter() - since < seconds:
            self._check()
            await asyncio.sleep(_STEP * 4)
            now = await self._busy()
            if now != last:
                last, since = now, perf_counter()

    async def _busy(self) -> tuple[int, float]:
        """Return what changes while the controller works: requests, and its CPU time in half seconds."""
        calls = (await self._counted()).calls()
        asked = sum(
            number for what, number in calls.items() if not what.endswith((" leases", " ")) and "metrics" not in what
        )
        return asked, self._controller.cpu_seconds() // 0.5

    def _check(self) -> None:
        self._server.check()
        self._controller.check()

    async def _counted(self) -> Counted:
        answer = await self._sender.one(self._requests.get("/metrics"))
        return Counted.read(answer.body.decode())

    async def _send(self, requests: Sequence[bytes]) -> None:
        await self._sender.all(requests, lambda body, sent, answered: None)


async def run(sizes: Sizes, say: Callable[[str], None]) -> Outcome:
    """Run it on a server of its own, of which nothing is left. Raises RunFailed."""
    folder = Path(tempfile.mkdtemp(prefix="moorage-attach-eviction-"))
    server = Server(folder, ("--controllers", "taint-eviction-controller"))
    try:
        access = await server.start()
        try:
            await _make_namespace(access)
            return await Run(folder, server, access, sizes, say).outcome()
        except RunFailed as failure:
            raise RunFailed(f"{failure}; {await server.fate()}") from None
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def _make_namespace(access: Access) -> None:
    """Make the namespace that has the controller's Lease."""
    sender = Sender(access, 1)
    try:
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.NAMESPACE}}
        await sender.one(Requests(access).create(document))
    finally:
        sender.close()


def report(outcome: Outcome) -> Iterable[str]:
    yield table(outcome.results)
    yield ""
    yield "API calls besides the changes themselves: " + ", ".join(
        f"{number:,} {what}" for what, number in outcome.calls.most_common() if not what.endswith(" ")
    )
    yield f"wrong: {len(outcome.wrong)}" + "".join(f"\n  {each}" for each in outcome.wrong[:20])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.attach_eviction", description="Let a value cross everywhere."
    )
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    try:
        sizes = Sizes(options.nodes, options.pods, options.seed)
        outcome = uvloop.run(run(sizes, lambda line: print(line, file=sys.stderr, flush=True)))
    except RunFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for line in report(outcome):
        print(line)
    return bool(outcome.wrong)


if __name__ == "__main__":
    sys.exit(main())
