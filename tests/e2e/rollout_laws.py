"""A watcher of pods who knows what must never happen to those of a Deployment and of a DaemonSet, whoever is killed.

In: a way to reach the server, which may go away and come back. Out: complaints in the form of failed assertions. Every
event is looked at, so that what holds only at the end is not enough: never more pods than replicas and surge allow,
never fewer ready ones than unavailability allows, never two pods of a DaemonSet for a node, and none bound twice.
"""

import asyncio
from typing import Any

from tests.e2e.crash_load import Watcher
from tests.e2e.wire_client import Access, WireClient

Raw = dict[str, Any]

DEPLOYMENT, DAEMON_SET = "web", "agent"
REPLICAS, SURGE, UNAVAILABLE = 16, 3, 2
VERSION = "version"
_FINISHED = ("Succeeded", "Failed")


class RolloutWatcher(Watcher):
    """See the module. `begins` is called when there are all pods for the first time: from then on they must be."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = False
        self.most = 0

    def begins(self) -> None:
        self.has_begun = True

    async def follow(self, access: Access) -> None:
        """Until cancelled, over all lives of the server."""
        while True:
            await self.run(access)
            await asyncio.sleep(0.02)

    def ready(self, version: str) -> int:
        """How many pods of the Deployment are ready and of this version."""
        return sum(_is_ready(pod) for pod in self._active(DEPLOYMENT) if pod["metadata"]["labels"][VERSION] == version)

    def on_nodes(self, version: str = "") -> list[str]:
        """Where the DaemonSet has ready pods, of this version if one is asked for."""
        pods = [pod for pod in self._active(DAEMON_SET) if version in ("", pod["metadata"]["labels"][VERSION])]
        return sorted(pod["spec"]["nodeName"] for pod in pods if _is_ready(pod))

    def _see(self, kind: str, pod: Raw) -> None:
        super()._see(kind, pod)
        self._check_deployment()
        self._check_daemon_set()

    def _check_deployment(self) -> None:
        pods = self._active(DEPLOYMENT)
        self.most = max(self.most, len(pods))
        assert len(pods) <= REPLICAS + SURGE, _names(pods)
        ready = [pod for pod in pods if _is_ready(pod)]
        assert not self.has_begun or len(ready) >= REPLICAS - UNAVAILABLE, _names(ready)

    def _check_daemon_set(self) -> None:
        nodes = [_meant_for(pod) for pod in self._active(DAEMON_SET)]
        assert len(nodes) == len(set(nodes)), f"two pods of a DaemonSet for one node: {sorted(nodes)}"

    def _active(self, app: str) -> list[Raw]:
        pods = (pod for pod in self.pods.values() if pod["metadata"]["labels"].get("app") == app)
        return [pod for pod in pods if _is_active(pod)]


async def check_owners(client: WireClient) -> None:
    """Nobody outlives its owner, and nobody is without one: pods, and what owns them."""
    there: dict[str, Raw] = {}
    for path in ("/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/apis/apps/v1/daemonsets"):
        for found in (await client.ask("GET", path)).json["items"]:
            there[found["metadata"]["uid"]] = found
    pods = (await client.ask("GET", "/api/v1/pods")).json["items"]
    for owned in (*pods, *there.values()):
        metadata = owned["metadata"]
        owners = metadata.get("ownerReferences") or []
        is_root = metadata["name"] in (DEPLOYMENT, DAEMON_SET)
        assert len(owners) == (0 if is_root else 1), metadata
        for owner in owners:
            assert there.get(owner["uid"], {}).get("metadata", {}).get("name") == owner["name"], metadata


def _is_active(pod: Raw) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod.get("status", {}).get("phase") not in _FINISHED


def _is_ready(pod: Raw) -> bool:
    told = pod.get("status", {}).get("conditions") or ()
    return any((condition["type"], condition["status"]) == ("Ready", "True") for condition in told)


def _meant_for(pod: Raw) -> str:
    """The node whose name a DaemonSet's pod asks for."""
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (name,) = required["nodeSelectorTerms"][0]["matchFields"][0]["values"]
    return str(name)


def _names(pods: list[Raw]) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in pods)
