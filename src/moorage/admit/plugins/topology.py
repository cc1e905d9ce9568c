"""Copy the zone and the region of a node to the pods on it, as labels, so that containers can read them.

Bindings get them in `moorage.serve.subresources.pods`, new pods that name their node here. Kubernetes: the plugin
PodTopologyLabels, with the feature gate PodTopologyLabelsAdmission.
"""

from collections.abc import Mapping

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, part
from moorage.admit.world import AdmissionWorld
from moorage.model.kinds import KINDS, Kind
from moorage.model.well_known.labels import REGION, ZONE

_COPIED = (REGION, ZONE)
NO_TOPOLOGY: Mapping[str, str] = {}


def topology_labels(node: Mapping[str, str]) -> Mapping[str, str]:
    """Return those labels of a node that its pods get."""
    return {key: node[key] for key in _COPIED if key in node} or NO_TOPOLOGY


class PodTopologyLabels(Plugin):
    """Labels a new pod that names its node."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.POD or old is not None:
            return
        node = part(new, "spec").get("nodeName")
        if node and (copied := self._world.topology_of(node)):
            metadata = part(new, "metadata")
            metadata["labels"] = {**(metadata.get("labels") or {}), **copied}
