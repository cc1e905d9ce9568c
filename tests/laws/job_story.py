"""A Job's life, played: its pods fail and are deleted, it is suspended and resized, its controller is killed.

The real API server, store and controller, in virtual time, with a network between them that takes a while. A witness
sees every revision of the store, and compares what the Job says with what became of its pods.
"""

import asyncio
import random
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.slow_client import SlowClient
from tests.unit.control.job.jobs import End, EndingKubelet, job
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual

from moorage.client.protocol import Object
from moorage.control.framework.workloads import is_active
from moorage.control.job.controller import JobController
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.workload import Job, JobStatus
from moorage.serve.resources.objects import prefix_of
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change

Step = tuple[Any, ...]
#: Long enough for every wait after a failure.
_LONG = 6000.0

_TIMES = st.tuples(st.just("time"), st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 30.0]))
STEPS: st.SearchStrategy[Step] = st.one_of(
    _TIMES,
    _TIMES,
    st.tuples(st.just("delete pod"), st.integers(0, 9)),
    st.tuples(st.just("fail pod"), st.integers(0, 9)),
    st.tuples(st.just("suspend"), st.booleans()),
    st.tuples(st.just("parallelism"), st.integers(0, 4)),
    st.tuples(st.just("kill"), st.sampled_from([0.0, 0.5, 20.0])),
    st.tuples(st.just("kill after a write"), st.sampled_from([0.0, 0.5, 20.0])),
)


class Story(NamedTuple):
    """How it begins, how many of ten pods fail, how slow the network can be, and what happens."""

    completions: int
    parallelism: int
    is_indexed: bool
    replaces: str
    failures: int
    lag: float
    seed: int
    steps: list[Step]


STORIES = st.builds(
    Story,
    st.integers(0, 6),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["Failed", "TerminatingOrFailed"]),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(0, 1000),
    st.lists(STEPS, min_size=1, max_size=16),
)


class Witness(MemoryStore):
    """Knows how each pod ended, and complains about a Job that counts more than that."""

    def __init__(self) -> None:
        super().__init__()
        self.made: set[str] = set()
        self.succeeded: set[str] = set()
        self.failed: set[str] = set()
        self.complaints: list[str] = []
        self._before = JobStatus()
        self.written = asyncio.Event()

    def _accept(self, key: str, change: Change) -> Awaitable[None] | None:
        stored = change.new or change.old
        assert stored is not None
        if stored.key.startswith(prefix_of(KINDS.POD)):
            self._pod_changed(convert_view(msgspec.json.decode(stored.value), Pod), is_gone=change.new is None)
        elif stored.key.startswith(prefix_of(KINDS.JOB)) and change.new is not None:
            self._job_changed(convert_view(msgspec.json.decode(stored.value), Job))
        return super()._accept(key, change)

    def _pod_changed(self, pod: Pod, *, is_gone: bool) -> None:
        uid = pod.metadata.uid
        self.made.add(uid)
        if pod.status.phase == "Succeeded":
            self.succeeded.add(uid)
        elif is_gone or pod.status.phase == "Failed" or pod.metadata.deletionTimestamp is not None:
            self.failed.add(uid)

    def _job_changed(self, job: Job) -> None:
        status, before = job.status, self._before
        self._before = status
        self.written.set()
        for what, told, known in (
            ("succeeded", status.succeeded, len(self.succeeded)),
            ("failed", status.failed, len(self.failed)),
            ("pods", status.active + status.succeeded + status.failed, len(self.made)),
            ("completions", status.succeeded, job.spec.completions or 0),
            ("fewer succeeded", before.succeeded, status.succeeded),
            ("fewer failed", before.failed, status.failed),
        ):
            if told > known:
                self.complaints.append(f"{what}: {told} where {known} are known")


class Outcome(NamedTuple):
    """What the witness complains of, and how it ended."""

    complaints: list[str]
    status: JobStatus
    pods: list[Object]
    stays: bool


def play(story: Story, make: type[JobController] = JobController) -> Outcome:
    return run_virtual(_play(story, make))


class _Kubelet(EndingKubelet):
    """Says how a pod ended before it removes it."""

    async def _stop(self, pod: Object) -> None:
        await asyncio.sleep(self._seconds_to_stop)
        await self.end(pod, 137)
        await super()._stop(pod)


async def _play(story: Story, make: type[JobController]) -> Outcome:
    witness, chance = Witness(), random.Random(story.seed)
    rate = [story.failures / 10]
    async with (
        VirtualCluster.running(
            lambda: (make(controller_context()),),
            store=witness,
            seed=story.seed,
            connect=lambda client: SlowClient(client, lambda: story.lag * chance.random()),
        ) as cluster,
        _Kubelet.running(cluster, lambda pod: chance.random()) as kubelet,
    ):
        assert isinstance(kubelet, _Kubelet)
        kubelet.ends = lambda pod: End(3 * chance.random(), int(chance.random() < rate[0]))
        await cluster.client.create(
            KINDS.JOB,
            job(
                completions=story.completions,
                parallelism=story.parallelism,
                completionMode="Indexed" if story.is_indexed else "NonIndexed",
                podReplacementPolicy=story.replaces,
                backoffLimit=10_000,
            ),
        )
        for step in story.steps:
            await _take(step, cluster, kubelet)
        rate[0] = 0.0
        await _take(("suspend", False), cluster, kubelet)
        await _take(("parallelism", 2), cluster, kubelet)
        await cluster.settle(_LONG)
        before = witness.revision
        await cluster.settle(_LONG)
        status = (await cluster.client.get(KINDS.JOB, "pi", "default")).view.status
        return Outcome(witness.complaints, status, await cluster.all(KINDS.POD), witness.revision == before)


async def _next_write(cluster: VirtualCluster) -> None:
    """Until the Job has just been written, if it is soon: much is left undone then."""
    assert isinstance(cluster.store, Witness)
    cluster.store.written.clear()
    with suppress(TimeoutError):
        async with asyncio.timeout(20.0):
            await cluster.store.written.wait()


async def _take(step: Step, cluster: VirtualCluster, kubelet: EndingKubelet) -> None:
    what, amount = step
    if what == "time":
        await cluster.settle(amount)
    elif what in ("kill", "kill after a write"):
        if what != "kill":
            await _next_write(cluster)
        await cluster.stop()
        await asyncio.sleep(amount)
        await cluster.start()
    elif what in ("suspend", "parallelism"):
        await cluster.client.patch(KINDS.JOB, "pi", "default", {"spec": {what: amount}})
    else:
        pods = [pod for pod in await cluster.all(KINDS.POD) if is_active(pod.view)]
        if not pods:
            return
        pod = pods[amount % len(pods)]
        if what == "fail pod":
            await kubelet.end(pod, 1)
        else:
            with suppress(ApiError):
                await cluster.client.delete(KINDS.POD, pod.name, pod.namespace, uid=pod.uid)
