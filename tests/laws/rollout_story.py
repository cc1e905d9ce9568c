"""A Deployment's life, played: it is scaled and changed, its pods fail and go, its controllers are killed.

The real API server, store and controllers, in virtual time, with a network between them that takes a while. A witness
sees every revision of the store. Whoever makes decisions does so on a picture that is somewhat old, so what just
happened is not held against them: a change of the Deployment's size, or the loss of a pod, counts after `GRACE` seconds
in which the controllers were running.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.slow_client import SlowClient
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet
from tests.virtual_time import run_virtual, time_of_day

from moorage.client.protocol import Object
from moorage.control.deployment.controller import DeploymentController
from moorage.control.deployment.rollout import Bounds, bounds_of
from moorage.control.framework.controller import Controller
from moorage.control.framework.workloads import available_in, is_active
from moorage.control.replica_set import ReplicaSetController
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.workload import Deployment
from moorage.serve.resources.objects import prefix_of
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change

Raw = dict[str, Any]
Step = tuple[Any, ...]

GRACE = 15.0
_LONG = 400.0
_SECONDS_TO_START = {"quick": 0.5, "slow": 4.0, "never": float("inf")}

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("image"), st.sampled_from([*_SECONDS_TO_START])),
    st.tuples(st.just("scale"), st.integers(0, 7)),
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.1, 1.0, 3.0, 10.0, 30.0])),
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.1, 1.0, 3.0, 10.0, 30.0])),
    st.tuples(st.just("delete pod"), st.integers(0, 9)),
    st.tuples(st.just("fail pod"), st.integers(0, 9)),
    st.tuples(st.just("pause"), st.booleans()),
    st.tuples(st.just("kill"), st.sampled_from([0.0, 0.5, 20.0])),
)
_AMOUNTS = st.sampled_from([0, 1, 2, "25%", "50%"])


class Story(NamedTuple):
    """How it begins, how slow the network can be (it rarely is), and what happens."""

    replicas: int
    surge: int | str
    unavailable: int | str
    min_ready_seconds: int
    lag: float
    seed: int
    steps: list[Step]


STORIES = st.builds(
    Story,
    st.integers(0, 7),
    _AMOUNTS,
    _AMOUNTS,
    st.sampled_from([0, 0, 2]),
    st.sampled_from([0.0, 0.2, 2.0]),
    st.integers(0, 1000),
    st.lists(STEPS, min_size=1, max_size=14),
)


class Witness(MemoryStore):
    """Sees every change of a pod, and what the Deployment demanded at the time."""

    def __init__(self) -> None:
        super().__init__()
        self.pods: dict[str, Pod] = {}
        self.min_ready_seconds = 0
        self.innocent: set[str] = set()  # whom the controllers did not delete
        self.uptime: Callable[[], float] = lambda: 0.0
        self._bounds: deque[tuple[float, Bounds]] = deque()
        self._lost: deque[float] = deque()
        self.complaints: list[str] = []

    def _accept(self, key: str, change: Change) -> Awaitable[None] | None:
        stored = change.new or change.old
        assert stored is not None
        if stored.key.startswith(prefix_of(KINDS.DEPLOYMENT)) and change.new is not None:
            self._deployment_changed(convert_view(msgspec.json.decode(change.new.value), Deployment))
        elif stored.key.startswith(prefix_of(KINDS.POD)):
            self._pod_changed(stored.key, change)
        return super()._accept(key, change)

    def available(self) -> int:
        return sum(self.is_available(pod) for pod in self.pods.values())

    def is_available(self, pod: Pod) -> bool:
        return is_active(pod) and available_in(pod, self.min_ready_seconds, time_of_day()) == 0

    def _deployment_changed(self, deployment: Deployment) -> None:
        bounds = bounds_of(deployment)
        if not self._bounds or self._bounds[-1][1] != bounds:
            self._bounds.append((self.uptime(), bounds))

    def _in_force(self) -> list[Bounds]:
        """What the Deployment demands, and what it demanded a moment ago."""
        past = self.uptime() - GRACE
        while len(self._bounds) > 1 and self._bounds[1][0] < past:
            self._bounds.popleft()
        while self._lost and self._lost[0] < past:
            self._lost.popleft()
        return [bounds for _, bounds in self._bounds]

    def _pod_changed(self, key: str, change: Change) -> None:
        old = self.pods.pop(key, None)
        was_available = old is not None and self.is_available(old)
        new: Pod | None = None
        if change.new is not None:
            new = convert_view(msgspec.json.decode(change.new.value), Pod)
            self.pods[key] = new
        demands = self._in_force()
        if was_available and old is not None and (new is None or not self.is_available(new)):
            is_deleted = new is None or new.metadata.deletionTimestamp is not None
            if is_deleted and old.metadata.uid not in self.innocent:
                self._check_available(demands)
            else:
                self._lost.append(self.uptime())
        if old is None:
            self._check_number(demands)

    def _check_number(self, demands: list[Bounds]) -> None:
        active = sum(is_active(pod) for pod in self.pods.values())
        allowed = max((bounds.max_pods for bounds in demands), default=0)
        if active > allowed:
            self.complaints.append(f"surge: {active} pods where {allowed} are allowed")

    def _check_available(self, demands: list[Bounds]) -> None:
        """A controller took an available pod away. Sharing out another size is not a rolling update."""
        if len(demands) > 1:
            return
        available, needed = self.available() + len(self._lost), min(bounds.min_available for bounds in demands)
        if available < needed:
            self.complaints.append(f"unavailability: {available} pods are left where {needed} are needed")


def real_controllers() -> Iterable[Controller]:
    return (ReplicaSetController(controller_context()), DeploymentController(controller_context()))


class Outcome(NamedTuple):
    """What the witness complains of, and how it ended."""

    complaints: list[str]
    replicas: int
    pods: list[Pod]
    images: set[str]
    status: Any
    stays: bool


def play(story: Story, make: Callable[[], Iterable[Controller]] = real_controllers) -> Outcome:
    return run_virtual(_play(story, make))


async def _play(story: Story, make: Callable[[], Iterable[Controller]]) -> Outcome:
    witness, chance = Witness(), random.Random(story.seed)
    witness.min_ready_seconds = story.min_ready_seconds

    def starts(pod: Object) -> float:
        return _SECONDS_TO_START[pod.view.spec.containers[0].image]

    async with (
        VirtualCluster.running(
            make,
            store=witness,
            seed=story.seed,
            connect=lambda client: SlowClient(client, lambda: story.lag * chance.random() ** 8),
        ) as cluster,
        VirtualKubelet.running(cluster, starts) as kubelet,
    ):
        actor = _Actor(cluster, kubelet, witness)
        witness.uptime = actor.uptime
        await cluster.client.create(KINDS.DEPLOYMENT, _deployment(story))
        await cluster.settle(10.0)
        for step in story.steps:
            await actor.take(step)
        await actor.take(("pause", False))
        await actor.take(("image", "quick"))
        await cluster.settle(_LONG)
        before = witness.revision
        await cluster.settle(_LONG)
        deployment = (await cluster.client.get(KINDS.DEPLOYMENT, "web", "default")).view
        pods = [pod for pod in witness.pods.values() if is_active(pod)]
        images = {pod.spec.containers[0].image for pod in pods}
        stays = witness.revision == before
        return Outcome(witness.complaints, deployment.spec.replicas, pods, images, deployment.status, stays)


class _Actor:
    """Everybody who is not a controller."""

    def __init__(self, cluster: VirtualCluster, kubelet: VirtualKubelet, witness: Witness) -> None:
        self._cluster, self._kubelet, self._witness = cluster, kubelet, witness
        self._down_since: float | None = None
        self._down = 0.0

    def uptime(self) -> float:
        now = asyncio.get_running_loop().time()
        return now - self._down - (now - self._down_since if self._down_since is not None else 0.0)

    async def take(self, step: Step) -> None:
        what, amount = step
        if what == "time":
            await self._cluster.settle(amount)
        elif what == "image":
            await self._change({"template": {"spec": {"containers": [{"name": "c", "image": amount}]}}})
        elif what == "scale":
            await self._change({"replicas": amount})
        elif what == "pause":
            await self._change({"paused": amount})
        elif what == "kill":
            await self._kill(amount)
        else:
            await self._harm(what, amount)

    async def _change(self, spec: Raw) -> None:
        await self._cluster.client.patch(KINDS.DEPLOYMENT, "web", "default", {"spec": spec})

    async def _kill(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        await self._cluster.stop()
        self._down_since = loop.time()
        await asyncio.sleep(seconds)
        self._down, self._down_since = self._down + loop.time() - self._down_since, None
        await self._cluster.start()

    async def _harm(self, what: str, number: int) -> None:
        pods = [pod for pod in await self._cluster.all(KINDS.POD) if is_active(pod.view)]
        if not pods:
            return
        pod = pods[number % len(pods)]
        self._witness.innocent.add(pod.uid)
        if what == "fail pod":
            await self._kubelet.fail(pod)
        else:
            with suppress(ApiError):
                await self._cluster.client.delete(KINDS.POD, pod.name, pod.namespace, uid=pod.uid)


def _deployment(story: Story) -> Raw:
    surge, unavailable = story.surge, story.unavailable
    if surge == 0 and unavailable == 0:
        unavailable = 1
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": story.replicas,
            "minReadySeconds": story.min_ready_seconds,
            "selector": {"matchLabels": labels},
            "strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "quick"}]},
            },
        },
    }
