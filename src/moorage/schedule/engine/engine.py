"""The engine of one profile over one cluster: `Candidates` by shape, of which the last used are kept."""

from collections import OrderedDict

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.schedule.engine.candidates import Candidates
from moorage.schedule.framework.profile import Profile

SHAPES_KEPT = 512


class Engine:
    """Finds nodes for pods."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        self.profile = profile
        self.cluster = cluster
        self._candidates: OrderedDict[int, Candidates] = OrderedDict()

    def candidates(self, shape: Shape) -> Candidates:
        kept = self._candidates.get(shape.number)
        if kept is None:
            kept = self._candidates[shape.number] = Candidates(self.profile, shape, self.cluster)
            if len(self._candidates) > SHAPES_KEPT:
                self._candidates.popitem(last=False)
        else:
            self._candidates.move_to_end(shape.number)
        return kept

    def find(self, record: PodRecord) -> int:
        """Return the best slot for the pod, or `NO_SLOT`."""
        return self.candidates(self.cluster.refresh(record)).best()

    def reserve(self, record: PodRecord, slot: int) -> None:
        """Have plugins keep the volumes that the pod gets on a slot, before the pod is put there."""
        if record.claims:
            for item in self.candidates(record.shape).filters:
                item.plugin.reserve(item.prepared.want, self.cluster, record, slot)

    def unreserve(self, record: PodRecord) -> None:
        """Give back what was reserved, because the pod was not bound."""
        if record.claims:
            for item in self.candidates(record.shape).filters:
                item.plugin.unreserve(item.prepared.want, self.cluster, record)

    def place(self, record: PodRecord) -> int:
        """Find the best slot and put the pod there."""
        slot = self.find(record)
        if slot >= 0:
            self.reserve(record, slot)
            self.cluster.add_pod(record, slot)
        return slot
