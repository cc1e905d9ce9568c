"""A cluster with the Job controllers, a kubelet whose pods end as tests want, and Jobs as short as tests want them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.controller_context import controller_context
from tests.unit.control.workloads import template
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet
from tests.virtual_time import time_of_day

from moorage.client.protocol import Object
from moorage.control.job.controller import JobController, TimeToLiveController
from moorage.control.job.pods import completion_index
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
FOREVER = float("inf")


class End(NamedTuple):
    """After how many seconds of running a pod ends, and with which code."""

    seconds: float = 1.0
    code: int = 0
    conditions: tuple[str, ...] = ()


def job(name: str = "pi", pod_spec: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template(name, **{"restartPolicy": "Never", **(pod_spec or {})}), **spec},
    }


class EndingKubelet(VirtualKubelet):
    """Its pods end."""

    ends: Callable[[Object], End] = staticmethod(lambda pod: End())

    def __init__(
        self, cluster: VirtualCluster, seconds_to_start: Callable[[Object], float], seconds_to_stop: float, nodes: int
    ) -> None:
        super().__init__(cluster, seconds_to_start, seconds_to_stop, nodes)
        self._ended: set[str] = set()

    async def _start(self, pod: Object, node: int) -> None:
        await super()._start(pod, node)
        end = self.ends(pod)
        if end.seconds != FOREVER:
            await asyncio.sleep(end.seconds)
            await self.end(pod, end.code, end.conditions)

    async def _report(self, pod: Object, status: Raw) -> None:
        if status.get("phase") != "Running" or pod.uid not in self._ended:
            await super()._report(pod, status)

    async def end(self, pod: Object, code: int = 0, conditions: tuple[str, ...] = ()) -> None:
        """Once: what has ended does not end again, and differently."""
        if pod.uid in self._ended:
            return
        self._ended.add(pod.uid)
        at = time_text(time_of_day())
        terminated = {"exitCode": code, "finishedAt": at, "reason": "Error" if code else "Completed"}
        told = [{"type": name, "status": "True", "lastTransitionTime": at} for name in conditions]
        await self._report(
            pod,
            {
                "phase": "Failed" if code else "Succeeded",
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": at}, *told],
                "containerStatuses": [
                    {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
                    | {"state": {"terminated": terminated}}
                ],
            },
        )


class Jobs(NamedTuple):
    """The cluster, its kubelet, and what tests ask about them."""

    cluster: VirtualCluster
    kubelet: EndingKubelet
    books: list[Metrics]

    def metrics(self) -> str:
        """What the controllers have counted since they were started."""
        return self.books[-1].render()[0].decode()

    async def create(self, wanted: Raw, settle: float = 5) -> Object:
        made = await self.cluster.client.create(KINDS.JOB, wanted)
        await self.cluster.settle(settle)
        return made

    async def change(self, spec: Raw, settle: float = 5, name: str = "pi") -> None:
        await self.cluster.client.patch(KINDS.JOB, name, "default", {"spec": spec})
        await self.cluster.settle(settle)

    async def status(self, name: str = "pi") -> Raw:
        status: Raw = (await self.cluster.client.get(KINDS.JOB, name, "default")).raw["status"]
        return status

    async def conditions(self, name: str = "pi") -> dict[str, tuple[str, str, str]]:
        told = (await self.status(name)).get("conditions", ())
        return {one["type"]: (one["status"], one["reason"], one["message"]) for one in told}

    async def counts(self, name: str = "pi") -> tuple[int, int, int]:
        """Active, succeeded, failed."""
        status = await self.status(name)
        return status.get("active", 0), status.get("succeeded", 0), status.get("failed", 0)

    async def pods(self, phase: str = "") -> list[Object]:
        found = [pod for pod in await self.cluster.all(KINDS.POD) if phase in ("", pod.view.status.phase)]
        return sorted(found, key=lambda pod: (completion_index(pod.view) or 0, pod.name))

    async def running(self) -> list[Object]:
        return [pod for pod in await self.pods("Running") if pod.view.metadata.deletionTimestamp is None]

    def messages(self, reason: str) -> list[str]:
        return [event.message for event in self.cluster.events if event.reason == reason]


@asynccontextmanager
async def jobs(
    ends: Callable[[Object], End] = lambda pod: End(), controller: type[JobController] = JobController, **times: Any
) -> AsyncIterator[Jobs]:
    books: list[Metrics] = []

    def make() -> tuple[JobController, TimeToLiveController]:
        books.append(Metrics())
        return controller(controller_context(metrics=books[-1])), TimeToLiveController(
            controller_context(metrics=books[-1])
        )

    async with (
        VirtualCluster.running(make) as cluster,
        EndingKubelet.running(cluster, **times) as kubelet,
    ):
        assert isinstance(kubelet, EndingKubelet)
        kubelet.ends = ends
        yield Jobs(cluster, kubelet, books)
