"""What a run leaves: one row for each phase, and what the work queues say of all of it."""

from __future__ import annotations

import msgspec

from bench.controllers.latencies import Queue


class Phase(msgspec.Struct, frozen=True):
    """One phase: seconds until all was as it should be, and what the server had used by then.

    `objects` is what `what` counts; `writes` are all of everybody, heartbeats and events among them. `told_seconds` is,
    where pods had to go, the time until the last was told so.
    """

    name: str
    what: str
    objects: int
    seconds: float
    server_cpu_seconds: float
    client_cpu_seconds: float
    memory_bytes: int
    peak_bytes: int
    writes: int
    told_seconds: float | None = None
    queues: list[Queue] = []


class Figures(msgspec.Struct, frozen=True):
    """The whole run. `most_of_an_owner` is the most pods that a Deployment had at a time; `allowed` is what it may."""

    nodes: int
    deployments: int
    pods: int
    phases: list[Phase]
    queues: list[Queue]
    peak_bytes: int
    most_of_an_owner: int
    allowed: int
    moved: int
