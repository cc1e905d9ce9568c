"""Let the metrics APIs know the objects of a simulated cluster, and answer what components ask for by path.

Differs from a cluster of `moorage up`: what pods use that say nothing of it is not known, because in a cluster that was
read containers really run.
"""

from collections.abc import Iterator

from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.match.label_selector import Selector
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.core import ConfigMap
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import SIMULATED_STOPPED
from moorage.plan.simulation.extensions import SimulatedDocuments
from moorage.usage.answers import MetricsApi
from moorage.usage.label_classes import LabelClasses
from moorage.usage.meter import Meter


class SimulatedObjects:
    """The objects of a simulation. `changed` is to be called when one of them changes that usage depends on."""

    def __init__(self, world: World, documents: SimulatedDocuments) -> None:
        self._world, self._documents = world, documents
        self.generation = 0
        self._pods = LabelClasses()
        self._maps: dict[str, list[ConfigMap]] = {}

    def changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is KINDS.POD:
            before, now = (None if one is None else one.view.metadata.labels for one in (old, new))
            changed = new or old
            if changed is not None and before is not now:  # most changes leave the labels as they are
                self._pods.put(changed.key, now)
        if kind is not KINDS.HORIZONTAL_POD_AUTOSCALER:
            self.generation += 1

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> ObjectMeta | None:
        known = KINDS.get((api_version, kind))
        if known is None:
            return None
        view = self._world.view(known, f"{namespace}/{name}" if known.namespaced else name)
        metadata: ObjectMeta | None = None if view is None else view.metadata
        return metadata

    def pods(self, namespace: str) -> Iterator[Pod]:
        found = self._world.in_namespace(KINDS.POD, namespace) if namespace else self._world.all(KINDS.POD)
        return (pod.view for pod in found)

    def selected(self, namespace: str, selector: Selector) -> Iterator[Pod]:
        if not namespace:
            return (pod for pod in self.pods("") if selector.match(pod.metadata.labels))
        found = (self._world.view(KINDS.POD, key) for key in self._pods.selected(namespace, selector))
        return (pod for pod in found if pod is not None)

    def nodes(self) -> Iterator[Node]:
        return (node.view for node in self._world.all(KINDS.NODE))

    def config_maps(self, namespace: str) -> list[ConfigMap]:
        """Return the ConfigMaps of a namespace, which no component of a simulation changes."""
        if namespace not in self._maps:
            self._maps[namespace] = [*_read(self._documents, namespace)]
        return self._maps[namespace]


def _read(documents: SimulatedDocuments, namespace: str) -> Iterator[ConfigMap]:
    for raw in documents.all_of(KINDS.CONFIG_MAP, namespace):
        try:
            yield convert_view(raw, ConfigMap)
        except ConversionError:
            continue


def metrics_api(objects: SimulatedObjects, world: World, epoch: float) -> MetricsApi:
    """Return the metrics APIs of a simulation, which begins at a time."""

    def answers(node: str) -> bool:
        view: Node | None = world.view(KINDS.NODE, node)
        return view is not None and view.metadata.annotations.get(SIMULATED_STOPPED) != "true"

    return MetricsApi(Meter(objects, measures=answers, epoch=epoch), _kind_of)


def _kind_of(group: str, plural: str) -> Kind | None:
    return _KINDS.get((group, plural))


_KINDS: dict[tuple[str, str], Kind] = {(kind.group, kind.plural): kind for kind in KINDS.values()}
