"""Find the workload and the node of pods that may be gone: from the objects there are, and from what Events say."""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS
from moorage.model.text.patterns import Pattern
from moorage.model.types.core import Event
from moorage.watch.happenings import workload_of

#: What controllers write when they create or delete a pod or a Job.
MADE = Pattern(
    r"(?:Created|Deleted) (?:pod|job):? (\S+)|(?:[Cc]reate|[Dd]elete) Pod (\S+) in StatefulSet \S+ successful"
)
ASSIGNED = Pattern(r"Successfully assigned \S+ to (\S+)")


class Owners:
    """Workloads by pod and ReplicaSet, and nodes by the UID of a pod."""

    def __init__(self, objects: Iterable[Object], events: Iterable[Event]) -> None:
        self._workloads: dict[str, str] = {}  # of pods, by key
        self._deployments: dict[str, str] = {}  # of ReplicaSets, by key
        self._nodes: dict[str, str] = {}
        for item in objects:
            if item.kind is KINDS.POD:
                self._workloads[item.key] = workload_of(item.view)
                self._nodes[item.uid] = item.view.spec.nodeName
            elif item.kind is KINDS.REPLICA_SET:
                owner = controller_of(item.view.metadata)
                if owner is not None:
                    self._deployments[item.key] = f"{owner.kind} {item.namespace}/{owner.name}"
        for event in events:
            self._learn(event)

    def _learn(self, event: Event) -> None:
        about = event.involvedObject
        if about.kind == "Pod" and (assigned := ASSIGNED.fullmatch(event.message)) is not None:
            self._nodes.setdefault(about.uid, assigned[1])
        elif event.reason in ("SuccessfulCreate", "SuccessfulDelete") and about.kind != "CronJob":
            name = made_in(event.message)
            if name:
                self._workloads.setdefault(
                    f"{about.namespace}/{name}", self.of(about.kind, about.namespace, about.name)
                )

    def of(self, kind: str, namespace: str, name: str) -> str:
        """Return the workload that an object with pods belongs to: the Deployment of a ReplicaSet, else itself."""
        own = f"{kind} {namespace}/{name}"
        return self._deployments.get(f"{namespace}/{name}", own) if kind == "ReplicaSet" else own

    def of_pod(self, key: str) -> str:
        return self._workloads.get(key, "")

    def node_of(self, uid: str) -> str:
        return self._nodes.get(uid, "")


def made_in(message: str) -> str:
    """Return the name of the pod or Job that a controller says it created or deleted; empty if it says otherwise."""
    found = MADE.fullmatch(message)
    return (found[1] or found[2]) if found is not None else ""
