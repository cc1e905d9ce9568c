"""A DaemonSet's life, played: nodes come, go, and are tainted and labelled; its template changes, its pods fail and go,
its controller is killed.

The real API server, store and controller, in virtual time, with a network between them that takes a while. A witness
sees every revision of the store. Pods of nodes that are gone are removed by the story, as the pod garbage collector
would.
"""

import random
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.slow_client import SlowClient
from tests.unit.control.workloads import template
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet
from tests.virtual_nodes import VirtualNodes, add_node, change_node, taint
from tests.virtual_time import run_virtual

from moorage.client.protocol import Object, PatchType
from moorage.control.daemon_set.controller import DaemonSetController
from moorage.control.framework.controller import Controller
from moorage.match.daemon_pods import DaemonTemplate, pinned_to
from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.serve.resources.objects import prefix_of
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change

Raw = dict[str, Any]
Step = tuple[Any, ...]

GATES = gates_from({"TaintTolerationCEL": True, "TaintTolerationComparisonOperators": True})
_LONG = 4000.0
_SECONDS_TO_START = {"quick": 0.5, "slow": 4.0, "never": float("inf")}
_NODES = st.integers(0, 4)
_TAINTS: dict[str, list[Raw]] = {
    "none": [],
    "closed": [taint("closed")],
    "out": [taint("out", effect="NoExecute")],
    "low": [taint("sla", "90")],
    "high": [taint("sla", "99", "NoExecute")],
    "both": [taint("sla", "99"), taint("closed", effect="NoExecute")],
}
_POD_SPECS: dict[str, Raw] = {
    "plain": {"tolerations": [], "nodeSelector": None},
    "closed": {"tolerations": [{"key": "closed", "operator": "Exists"}], "nodeSelector": None},
    "expression": {"tolerations": [{"expression": "taint.key == 'sla' && int(taint.value) > 95"}]},
    "number": {"tolerations": [{"key": "sla", "operator": "Gt", "value": "80"}]},
    "ssd": {"tolerations": [], "nodeSelector": {"disk": "ssd"}},
}

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.1, 1.0, 5.0, 30.0])),
    st.tuples(st.just("node"), _NODES),
    st.tuples(st.just("no node"), _NODES),
    st.tuples(st.just("taint"), _NODES, st.sampled_from([*_TAINTS])),
    st.tuples(st.just("label"), _NODES, st.sampled_from(["ssd", "hdd"])),
    st.tuples(st.just("image"), st.sampled_from([*_SECONDS_TO_START])),
    st.tuples(st.just("spec"), st.sampled_from([*_POD_SPECS])),
    st.tuples(st.just("fail pod"), st.integers(0, 9)),
    st.tuples(st.just("delete pod"), st.integers(0, 9)),
    st.tuples(st.just("kill"), st.sampled_from([0.0, 0.5, 20.0])),
)


class Story(NamedTuple):
    """How it begins, how slow the network can be, and what happens."""

    nodes: int
    surge: int | str
    unavailable: int | str
    min_ready_seconds: int
    lag: float
    seed: int
    steps: list[Step]


STORIES = st.builds(
    Story,
    st.integers(0, 4),
    st.sampled_from([0, 0, 1, "50%"]),
    st.sampled_from([1, 2, "50%"]),
    st.sampled_from([0, 0, 2]),
    st.sampled_from([0.0, 0.2, 2.0]),
    st.integers(0, 1000),
    st.lists(STEPS, min_size=1, max_size=14),
)


class Witness(MemoryStore):
    """Sees every pod that is made, and complains if a node gets more than it may have."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.complaints: list[str] = []
        self._most, self._pods = most, dict[str, Pod]()

    def _accept(self, key: str, change: Change) -> Awaitable[None] | None:
        stored = change.new or change.old
        assert stored is not None
        if stored.key.startswith(prefix_of(KINDS.POD)):
            self._pods.pop(stored.key, None)
            if change.new is not None:
                pod = convert_view(msgspec.json.decode(change.new.value), Pod)
                if pod.metadata.deletionTimestamp is None:
                    self._pods[stored.key] = pod
                if change.old is None:
                    self._check(pinned_to(pod.spec))
        return super()._accept(key, change)

    def _check(self, node: str) -> None:
        there = sum(pinned_to(pod.spec) == node for pod in self._pods.values())
        if there > self._most:
            self.complaints.append(f"{there} pods on {node} where {self._most} are allowed")


class Found(NamedTuple):
    """A node in the end: what should be there, and which images are."""

    should_run: bool
    should_continue: bool
    images: list[str]


class Outcome(NamedTuple):
    """How it ended."""

    nodes: dict[str, Found]
    elsewhere: int
    status: Any
    stays: bool
    complaints: list[str]


def real_controllers() -> Iterable[Controller]:
    return (DaemonSetController(controller_context(GATES)),)


def play(story: Story, make: Callable[[], Iterable[Controller]] = real_controllers) -> Outcome:
    return run_virtual(_play(story, make))


async def _play(story: Story, make: Callable[[], Iterable[Controller]]) -> Outcome:
    chance = random.Random(story.seed)
    witness = Witness(2 if story.surge else 1)

    def starts(pod: Object) -> float:
        return _SECONDS_TO_START[pod.view.spec.containers[0].image]

    async with (
        VirtualCluster.running(
            make,
            store=witness,
            seed=story.seed,
            gates=GATES,
            connect=lambda client: SlowClient(client, lambda: story.lag * chance.random() ** 8),
        ) as cluster,
        VirtualNodes.running(cluster, starts) as nodes,
    ):
        actor = _Actor(cluster, nodes)
        for number in range(story.nodes):
            await actor.take(("node", number))
        await cluster.client.create(KINDS.DAEMON_SET, _daemon_set(story))
        await cluster.settle(5.0)
        for step in story.steps:
            await actor.take(step)
        await actor.take(("image", "quick"))
        await cluster.settle(_LONG)
        before = witness.revision
        await cluster.settle(_LONG)
        return await _outcome(cluster, witness.revision == before, witness.complaints)


async def _outcome(cluster: VirtualCluster, stays: bool, complaints: list[str]) -> Outcome:
    daemon_set = (await cluster.client.get(KINDS.DAEMON_SET, "agent", "default")).view
    wanted = DaemonTemplate(daemon_set.spec.template.spec, GATES)
    pods: dict[str, list[str]] = {}
    for pod in await cluster.all(KINDS.POD):
        pods.setdefault(pod.view.spec.nodeName, []).append(pod.view.spec.containers[0].image)
    nodes = {}
    for node in await cluster.all(KINDS.NODE):
        fit = wanted.fits(node.view)
        nodes[node.name] = Found(fit.should_run, fit.should_continue, pods.pop(node.name, []))
    return Outcome(nodes, sum(map(len, pods.values())), daemon_set.status, stays, complaints)


class _Actor:
    """Everybody who is not the controller."""

    def __init__(self, cluster: VirtualCluster, nodes: VirtualKubelet) -> None:
        self._cluster, self._nodes = cluster, nodes

    async def take(self, step: Step) -> None:
        what, *how = step
        with suppress(ApiError):
            await getattr(self, f"_{what.replace(' ', '_')}")(*how)

    async def _time(self, seconds: float) -> None:
        await self._cluster.settle(seconds)

    async def _node(self, number: int) -> None:
        await add_node(self._cluster, f"n{number}")

    async def _no_node(self, number: int) -> None:
        name = f"n{number}"
        await self._cluster.client.delete(KINDS.NODE, name)
        for pod in await self._cluster.all(KINDS.POD):
            if pod.view.spec.nodeName == name:
                await self._cluster.client.delete(KINDS.POD, pod.name, pod.namespace, grace_seconds=0)

    async def _taint(self, number: int, which: str) -> None:
        await change_node(self._cluster, f"n{number}", {"spec": {"taints": _TAINTS[which]}})

    async def _label(self, number: int, disk: str) -> None:
        await change_node(self._cluster, f"n{number}", {"metadata": {"labels": {"disk": disk}}})

    async def _image(self, image: str) -> None:
        await self._change({"containers": [{"name": "c", "image": image}]})

    async def _spec(self, which: str) -> None:
        await self._change(_POD_SPECS[which])

    async def _change(self, spec: Raw) -> None:
        patch = {"spec": {"template": {"spec": spec}}}
        await self._cluster.client.patch(KINDS.DAEMON_SET, "agent", "default", patch, patch_type=PatchType.STRATEGIC)

    async def _pod(self, number: int) -> Object | None:
        """Names are random: pods are told apart by their nodes and ages."""
        pods = await self._cluster.all(KINDS.POD)
        pods.sort(key=lambda pod: (pinned_to(pod.view.spec), pod.view.metadata.creationTimestamp, pod.revision))
        return pods[number % len(pods)] if pods else None

    async def _fail_pod(self, number: int) -> None:
        pod = await self._pod(number)
        if pod is not None:
            await self._nodes.fail(pod)

    async def _delete_pod(self, number: int) -> None:
        pod = await self._pod(number)
        if pod is not None:
            await self._cluster.client.delete(KINDS.POD, pod.name, "default")

    async def _kill(self, seconds: float) -> None:
        await self._cluster.stop()
        await self._cluster.settle(seconds)
        await self._cluster.start()


def _daemon_set(story: Story) -> Raw:
    limits = {"maxSurge": story.surge, "maxUnavailable": 0 if story.surge else story.unavailable}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {
            "minReadySeconds": story.min_ready_seconds,
            "selector": {"matchLabels": {"app": "agent"}},
            "updateStrategy": {"rollingUpdate": limits},
            "template": template("agent", "quick"),
        },
    }
