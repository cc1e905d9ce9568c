"""Name what simulated kubelets want done: statuses, deletions and events to write."""

from typing import Any, NamedTuple

from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

Raw = dict[str, Any]


class WriteStatus(NamedTuple):
    """Write a pod's status, if it is still the same pod."""

    key: str
    uid: str
    status: Raw


class Remove(NamedTuple):
    """Delete a stopped pod."""

    key: str
    uid: str


class ReportEvent(NamedTuple):
    """Record an event about a pod, or about one of its containers."""

    pod: Pod
    kind: str
    reason: str
    message: str
    container: str = ""


class ReportDevices(NamedTuple):
    """Write the status of the devices of a claim that was prepared."""

    claim: str


class ReportShutdown(NamedTuple):
    """Record that a node begins to shut down, or that it comes back, and write its condition Ready."""

    node: Node
    begins: bool


Action = ReportShutdown | WriteStatus | Remove | ReportEvent | ReportDevices
