"""Objects of a small cluster, from which usage is computed."""

from collections.abc import Iterable
from typing import Any

from moorage.match.label_selector import Selector
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import ConfigMap
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

Raw = dict[str, Any]
START = 1_800_000_000.0


class SmallCluster:
    """Implements `Objects`."""

    def __init__(self) -> None:
        self.generation = 0
        self._objects: dict[tuple[str, str, str, str], Any] = {}

    def add(self, api_version: str, kind: str, name: str, document: Raw | None = None, **metadata: Any) -> None:
        self.generation += 1
        place = {} if KINDS[api_version, kind].plural == "nodes" else {"namespace": "default"}
        about = {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": time_text(START), **place, **metadata}
        view = KINDS[api_version, kind].view
        self._objects[api_version, kind, place.get("namespace", ""), name] = convert_view(
            {**(document or {}), "metadata": about}, view
        )

    def pod(self, name: str, owner: str = "", *, ready: bool = True, since: float = START, **fields: Any) -> None:
        """Add a running pod; `owner` is a ReplicaSet."""
        metadata: Raw = {"labels": fields.pop("labels", {"app": "web"}), "annotations": fields.pop("annotations", {})}
        if owner:
            reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"ReplicaSet-{owner}"}
            metadata["ownerReferences"] = [{**reference, "controller": True}]
        containers = fields.pop("containers", [{"name": "web", "image": "web:1"}])
        status = {
            "phase": fields.pop("phase", "Running"),
            "startTime": time_text(since),
            "conditions": [{"type": "Ready", "status": str(ready)}],
        }
        document = {"spec": {"nodeName": "node-1", "containers": containers}, "status": status}
        self.add("v1", "Pod", name, document, **metadata)

    def owner(self, kind: str, name: str, above: str = "", **annotations: str) -> None:
        metadata: Raw = {"annotations": {f"simulate.moorage.dev/{key}": value for key, value in annotations.items()}}
        if above:
            reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": above, "uid": f"Deployment-{above}"}
            metadata["ownerReferences"] = [{**reference, "controller": True}]
        self.add("apps/v1", kind, name, **metadata)

    # -- Objects ------------------------------------------------------------------------------------------------------

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> ObjectMeta | None:
        found = self._objects.get((api_version, kind, namespace, name))
        return None if found is None else found.metadata

    def pods(self, namespace: str) -> Iterable[Pod]:
        return self._of("Pod")

    def selected(self, namespace: str, selector: Selector) -> Iterable[Pod]:
        return [pod for pod in self.pods(namespace) if selector.match(pod.metadata.labels)]

    def nodes(self) -> Iterable[Node]:
        return self._of("Node")

    def config_maps(self, namespace: str) -> Iterable[ConfigMap]:
        return self._of("ConfigMap")

    def _of(self, wanted: str) -> list[Any]:
        return [view for (_, kind, _, _), view in self._objects.items() if kind == wanted]


def kind_of(group: str, plural: str) -> Kind | None:
    return next((kind for kind in KINDS.values() if (kind.group, kind.plural) == (group, plural)), None)
