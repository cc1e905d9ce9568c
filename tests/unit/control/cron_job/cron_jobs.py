"""A cluster with the controllers of CronJobs and Jobs, whose clock begins at 2026-01-01T00:00:00Z."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.controller_context import controller_context
from tests.unit.control.job.jobs import End, EndingKubelet, job
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import BASE

from moorage.client.protocol import Object
from moorage.control.cron_job import CronJobController
from moorage.control.job.controller import JobController
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]


def cron_job(schedule: str = "* * * * *", name: str = "tick", job_spec: Raw | None = None, **spec: Any) -> Raw:
    template = {"metadata": {"labels": {"app": name}}, "spec": {**job()["spec"], **(job_spec or {})}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }


def name_at(minutes: int, name: str = "tick") -> str:
    """Of the Job that is made so many minutes after the beginning."""
    return f"{name}-{int(BASE) // 60 + minutes}"


class Crons(NamedTuple):
    """The cluster, and what tests ask about it."""

    cluster: VirtualCluster
    books: list[Metrics]

    async def create(self, wanted: Raw, settle: float = 5) -> Object:
        made = await self.cluster.client.create(KINDS.CRON_JOB, wanted)
        await self.cluster.settle(settle)
        return made

    async def change(self, spec: Raw, settle: float = 5) -> None:
        await self.cluster.client.patch(KINDS.CRON_JOB, "tick", "default", {"spec": spec})
        await self.cluster.settle(settle)

    async def status(self) -> Raw:
        found = await self.cluster.client.get(KINDS.CRON_JOB, "tick", "default")
        status: Raw = found.raw.get("status") or {}
        return status

    async def jobs(self) -> list[str]:
        return sorted(job.name for job in await self.cluster.all(KINDS.JOB))

    async def active(self) -> list[str]:
        return [reference["name"] for reference in (await self.status()).get("active", ())]

    def messages(self, reason: str) -> list[str]:
        """About CronJobs."""
        about = [event for event in self.cluster.events if event.involved["kind"] == "CronJob"]
        return [event.message for event in about if event.reason == reason]


@asynccontextmanager
async def crons(ends: Callable[[Object], End] = lambda pod: End()) -> AsyncIterator[Crons]:
    books: list[Metrics] = []

    def make() -> tuple[CronJobController, JobController]:
        books.append(Metrics())
        return CronJobController(controller_context(metrics=books[-1])), JobController(
            controller_context(metrics=books[-1])
        )

    async with VirtualCluster.running(make) as cluster, EndingKubelet.running(cluster) as kubelet:
        assert isinstance(kubelet, EndingKubelet)
        kubelet.ends = ends
        yield Crons(cluster, books)
