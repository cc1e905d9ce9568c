"""The run: Deployments on many nodes are created, rolled, evicted twice and deleted, phase after phase.

In: sizes, a server with its nodes. Out: figures. First one change of a taint, on as many nodes as have the pods that
are to be evicted; then, these being good again, the same change on all others, so that every pod was evicted once.
All of it again and again if there are several rounds: a server whose memory is bounded needs no more in a later one.
"""

from __future__ import annotations

import asyncio
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import msgspec

from bench.controllers.documents import BAD_SLA, GOOD_SLA, NAMESPACE, deployment, new_template, sla_of
from bench.controllers.figures import Figures, Phase
from bench.controllers.follow import Following
from bench.controllers.latencies import Scrape
from moorage.client.http_wire import collection_path, read_page
from moorage.model.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bench.e2e.requests import Requests
    from bench.e2e.sender import Sender
    from bench.e2e.server import Server

_SAMPLE_SECONDS = 0.25
#: What a simulated node allows.
PODS_OF_A_NODE = 110


class Sizes(msgspec.Struct, frozen=True):
    """How much of everything; `evicted` is for the first of the two evictions."""

    nodes: int
    deployments: int
    pods: int
    evicted: int

    @property
    def replicas(self) -> int:
        return self.pods // self.deployments

    def problem(self) -> str:
        """Return why the pods cannot all find a place in every phase; empty if they can.

        Each eviction leaves one part of the nodes to all pods. They are spread evenly before the first one.
        """
        pods = self.replicas * self.deployments
        first = min(self.nodes - 1, -(-self.evicted * self.nodes // pods))
        for phase, nodes in (("evict", self.nodes - first), ("evict the others", first)):
            if nodes * PODS_OF_A_NODE < pods:
                return (
                    f"in the phase '{phase}' {pods:,} pods would have {nodes:,} of {self.nodes:,} nodes, which hold "
                    f"{nodes * PODS_OF_A_NODE:,}: choose more --nodes, or an --evicted nearer to half of --pods"
                )
        return ""


class Scenario:
    """See the module. `patience` is how long nothing may happen."""

    def __init__(
        self,
        sizes: Sizes,
        server: Server,
        requests: Requests,
        sender: Sender,
        *,
        patience: float,
        rounds: int,
        say: Callable[[str], None],
    ) -> None:
        self._rounds = rounds
        self._sizes, self._server, self._requests, self._sender = sizes, server, requests, sender
        self._patience, self._say = patience, say
        self._following = Following(requests, sender)
        self._nodes = [f"node-{number + 1}" for number in range(sizes.nodes)]
        self._names = [f"web-{number}" for number in range(sizes.deployments)]
        self._phases: list[Phase] = []
        self._peak = 0
        self._generation = 1

    async def run(self) -> Figures:
        """Raises RunFailed."""
        sampling = asyncio.create_task(self._sample())
        await self._following.begin()
        try:
            first = await self._scrape()
            for _ in range(self._rounds):
                await self._round()
            queues = (await self._scrape()).since(first)
        finally:
            sampling.cancel()
            await self._following.end()
        pods = self._following.pods
        replicas = self._sizes.replicas
        return Figures(
            nodes=self._sizes.nodes,
            deployments=self._sizes.deployments,
            pods=replicas * self._sizes.deployments,
            phases=self._phases,
            queues=queues,
            peak_bytes=self._server.peak_memory(),
            most_of_an_owner=pods.most_of_an_owner,
            allowed=replicas + -(-replicas // 4),
            moved=pods.moved,
        )

    async def _round(self) -> None:
        await self._phase("taint", "nodes", lambda: self._taint(self._nodes, GOOD_SLA))
        await self._phase("create", "pods", self._create)
        await self._phase("roll", "pods", self._roll)
        some, others = self._first_to_go()
        await self._phase("evict", "pods", lambda: self._evict(some))
        await self._taint(some, GOOD_SLA)
        await self._phase("evict the others", "pods", lambda: self._evict(others))
        await self._phase("delete", "pods", self._delete)

    # -- phases -------------------------------------------------------------------------------------------------------

    async def _taint(self, nodes: Sequence[str], sla: int) -> int:
        await self._send([self._requests.patch(KINDS.NODE, name, sla_of(sla)) for name in nodes])
        return len(nodes)

    async def _create(self) -> int:
        before = self._following.pods.created
        self._generation = 1
        documents = [deployment(name, self._sizes.replicas) for name in self._names]
        await self._send([self._requests.create(document, NAMESPACE) for document in documents])
        await self._settled("create")
        return self._following.pods.created - before

    async def _roll(self) -> int:
        before = self._following.pods.created
        patch = new_template()
        await self._send([self._requests.patch(KINDS.DEPLOYMENT, name, patch, NAMESPACE) for name in self._names])
        self._generation += 1
        await self._settled("roll")
        return self._following.pods.created - before

    async def _evict(self, nodes: Sequence[str]) -> int:
        leaving = set(nodes)
        node_of = self._following.pods.node_of
        before = {uid for uid, node in node_of.items() if node in leaving}
        await self._taint(nodes, BAD_SLA)
        await self._following.until(lambda: node_of.keys().isdisjoint(before), "evict", self._patience)
        await self._settled("evict")
        return len(before)

    async def _delete(self) -> int:
        pods = self._following.pods
        before = pods.gone
        await self._send([self._requests.delete(KINDS.DEPLOYMENT, name, NAMESPACE) for name in self._names])
        await self._following.until(lambda: not pods.node_of, "delete", self._patience)
        return pods.gone - before

    def _first_to_go(self) -> tuple[list[str], list[str]]:
        """As many nodes as have together the pods that are to be evicted, and the other nodes."""
        has = dict.fromkeys(self._nodes, 0)
        for node in self._following.pods.node_of.values():
            has[node] += 1
        count = so_far = 0
        while count < len(self._nodes) - 1 and so_far < self._sizes.evicted:
            so_far += has[self._nodes[count]]
            count += 1
        return self._nodes[:count], self._nodes[count:]

    # -- what they are made of ----------------------------------------------------------------------------------------

    async def _phase(self, name: str, what: str, do: Callable[[], Awaitable[int]]) -> None:
        pods = self._following.pods
        before, told, revision = await self._scrape(), pods.told_to_go, await self._revision()
        self._peak = self._server.memory()
        began, server_cpu, client_cpu = perf_counter(), self._server.cpu_seconds(), process_time()
        objects = await do()
        seconds = perf_counter() - began
        phase = Phase(
            name=name,
            what=what,
            objects=objects,
            seconds=seconds,
            server_cpu_seconds=self._server.cpu_seconds() - server_cpu,
            client_cpu_seconds=process_time() - client_cpu,
            memory_bytes=self._server.memory(),
            peak_bytes=max(self._peak, self._server.memory()),
            writes=await self._revision() - revision,
            told_seconds=pods.last_told - began if pods.told_to_go > told else None,
            queues=(await self._scrape()).since(before),
        )
        self._phases.append(phase)
        self._say(f"{name}: {objects:,} {what} in {seconds:.1f} s, {phase.memory_bytes / 2**20:,.0f} MiB")

    async def _settled(self, what: str) -> None:
        """Every Deployment has what it should, and says so."""
        deployments, ready, names = self._following.deployments, self._following.pods.ready, len(self._names)
        pods = names * self._sizes.replicas

        def holds() -> bool:
            return len(ready) == pods and deployments.settled(self._generation) == names

        await self._following.until(holds, what, self._patience)

    async def _send(self, requests: Sequence[bytes]) -> None:
        await self._sender.all(requests, lambda body, sent, answered: None)

    async def _scrape(self) -> Scrape:
        answer = await self._sender.one(self._requests.get("/metrics"))
        return Scrape(answer.body.decode("utf-8"))

    async def _revision(self) -> int:
        answer = await self._sender.one(self._requests.get(collection_path(KINDS.NODE, ""), limit="1"))
        return read_page(KINDS.NODE, answer.body).revision

    async def _sample(self) -> None:
        """The server's memory, again and again: the kernel knows the peak of all time only."""
        while True:
            self._peak = max(self._peak, self._server.memory())
            await asyncio.sleep(_SAMPLE_SECONDS)
