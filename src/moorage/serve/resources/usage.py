"""Let the metrics APIs know the objects of a store: what pods and nodes use is computed from them when it is asked for.

Kubernetes: metrics-server and metrics adapters, registered as APIServices. Differs: the API server itself answers, and
nodes are simulated: those whose kubelet is stopped are silent; what containers on others really use is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from moorage.match.label_selector import Selector
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.core import ConfigMap
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import SIMULATED_STOPPED
from moorage.model.well_known.labels import SIMULATED_BY
from moorage.serve.resources.objects import key_of, object_of, prefix_of
from moorage.serve.resources.served import Resources
from moorage.serve.verbs.registry import at_once
from moorage.store.protocol import Store
from moorage.usage.answers import GROUP, NODE_METRICS, POD_METRICS, VERSIONS, MetricsApi
from moorage.usage.meter import Meter

#: What discovery lists: metrics of pods, objects and others are listed by their names where they are asked for.
METRICS_GROUPS: Final[Mapping[str, Mapping[str, Sequence[Kind]]]] = {
    group: dict.fromkeys(versions, (NODE_METRICS, POD_METRICS) if group == GROUP else ())
    for group, versions in VERSIONS.items()
}


class StoredObjects:
    """The objects of a store, as they are when this is made: a thread may look at them."""

    generation = 0

    def __init__(self, store: Store, resources: Resources, namespace: str) -> None:
        """Only the pods and ConfigMaps of a namespace, if one is given, are looked at."""
        self._store, self._resources = store, resources
        places = ((KINDS.POD, namespace), (KINDS.CONFIG_MAP, namespace), (KINDS.NODE, ""))
        self._listed = {kind: at_once(store.list(prefix_of(kind, place))).items for kind, place in places}

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> ObjectMeta | None:
        known = KINDS.get((api_version, kind)) or self._resources.custom_kind(api_version, kind)
        stored = None if known is None else self._store.peek(key_of(known, namespace, name))
        if known is None or stored is None:
            return None
        metadata: ObjectMeta = object_of(known, stored, stored.revision).view.metadata
        return metadata

    def pods(self, namespace: str) -> Iterator[Pod]:
        return self._all(KINDS.POD)

    def selected(self, namespace: str, selector: Selector) -> Iterator[Pod]:
        matches: dict[int, bool] = {}  # pods of one template share their labels
        for pod in self.pods(namespace):
            labels = pod.metadata.labels
            is_selected = matches.get(id(labels))
            if is_selected is None:
                is_selected = matches[id(labels)] = selector.match(labels)
            if is_selected:
                yield pod

    def nodes(self) -> Iterator[Node]:
        return self._all(KINDS.NODE)

    def __len__(self) -> int:
        return len(self._listed[KINDS.POD])

    def config_maps(self, namespace: str) -> Iterator[ConfigMap]:
        maps = self._all(KINDS.CONFIG_MAP)
        return (one for one in maps if one.metadata.namespace == namespace or not namespace)

    def _all(self, kind: Kind) -> Iterator[Any]:
        return (object_of(kind, stored, stored.revision).view for stored in self._listed[kind])


def metrics_api(objects: StoredObjects, resources: Resources) -> MetricsApi:
    """Return the metrics APIs over objects of a store."""

    def answers(node: str) -> bool:
        metadata = objects.find("v1", "Node", "", node)
        return metadata is not None and metadata.annotations.get(SIMULATED_STOPPED) != "true"

    def idles(node: str) -> bool:
        metadata = objects.find("v1", "Node", "", node)
        return metadata is not None and SIMULATED_BY in metadata.labels

    def kind_of(group: str, plural: str) -> Kind | None:
        found = (kind for kind in (*KINDS.values(), *resources.custom) if (kind.group, kind.plural) == (group, plural))
        return next(found, None)

    return MetricsApi(Meter(objects, measures=answers, idles=idles), kind_of)
