"""What everything but pods and nodes means to those who wait."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import cluster_of, node, pod
from tests.unit.schedule.storage_objects import attachment, capacity, csi_driver, csi_node, csi_volume

from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.workload import ReplicaSet
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Scheduler
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.live.feed import SurroundingsFeed
from moorage.schedule.plugins.spread_domains import DefaultSelectors


class Heard(Scheduler):
    """Remembers what it was told."""

    heard: list[EventKind]

    def happened(self, event: Event, now: float) -> None:
        self.heard.append(event.kind)


def feed() -> tuple[SurroundingsFeed, Heard, DefaultSelectors]:
    scheduler = Heard({"default-scheduler": default_profile(default_gates())}, cluster_of(node("n1")))
    scheduler.heard = []
    selectors = DefaultSelectors()
    return SurroundingsFeed(scheduler, selectors), scheduler, selectors


@pytest.mark.parametrize(
    ("kind", "old", "new", "events"),
    [
        ("CSIStorageCapacity", None, capacity("c", "1Gi", {}), [EventKind.STORAGE_CAPACITY]),
        ("CSIStorageCapacity", capacity("c", "1Gi", {}), capacity("c", "2Gi", {}), [EventKind.STORAGE_CAPACITY]),
        ("CSIStorageCapacity", capacity("c", "2Gi", {}), capacity("c", "1Gi", {}), []),
        ("CSIDriver", None, csi_driver("d", storageCapacity=True), []),
        ("CSIDriver", csi_driver("d", storageCapacity=True), csi_driver("d"), [EventKind.STORAGE_CAPACITY]),
        ("CSIDriver", csi_driver("d", storageCapacity=True), None, [EventKind.STORAGE_CAPACITY]),
        ("VolumeAttachment", None, attachment("a", "n1", "v"), []),
        ("VolumeAttachment", attachment("a", "n1", "v"), None, [EventKind.ATTACHMENT_REMOVED]),
        ("CSINode", csi_node("n1", disk=1), csi_node("n1", disk=2), [EventKind.CSI_NODE_CHANGED]),
        ("PersistentVolume", None, csi_volume("v"), [EventKind.VOLUME_ADDED]),
    ],
)
def test_changes_of_storage_are_events(kind: str, old: Any, new: Any, events: list[EventKind]) -> None:
    surroundings, scheduler, _ = feed()
    if old is not None:
        surroundings.changed(kind, None, old, 0.0)
        scheduler.heard.clear()
    if new is not None:
        surroundings.changed(kind, old, new, 0.0)
    else:
        surroundings.gone(kind, old, 0.0)
    assert scheduler.heard == events


def test_an_attachment_that_goes_lets_a_pod_in() -> None:
    from moorage.schedule.waiting_pods import RequeueTable

    profile = default_profile(default_gates())
    table = RequeueTable(profile.filters, cluster_of(), lambda name, shape: None)
    assert table.interested(EventKind.ATTACHMENT_REMOVED) == {"NodeVolumeLimits"}
    assert table.interested(EventKind.STORAGE_CAPACITY) == {"VolumeBinding"}


def test_a_selector_counts_when_it_changes_and_not_when_the_status_does() -> None:
    surroundings, scheduler, selectors = feed()
    raw = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}
    old = convert_view(raw, ReplicaSet)
    surroundings.changed("ReplicaSet", None, old, 0.0)
    version = selectors.version
    new = convert_view({**raw, "status": {"replicas": 3}}, ReplicaSet)
    surroundings.changed("ReplicaSet", old, new, 0.0)
    assert selectors.version == version
    owner = {"kind": "ReplicaSet", "name": "web", "controller": True}
    owned = convert_view({"metadata": {"namespace": "default", "ownerReferences": [owner]}, "spec": {}}, type(pod()))
    shape = scheduler.cluster.shape_of(owned)
    assert str(selectors.selector(shape)) == "app=web"
    surroundings.gone("ReplicaSet", new, 0.0)
    assert selectors.selector(shape).everything


def test_budgets_come_and_go() -> None:
    surroundings, scheduler, _ = feed()
    raw = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}
    budget = convert_view(raw, PodDisruptionBudget)
    surroundings.changed("PodDisruptionBudget", None, budget, 0.0)
    record = scheduler.cluster.record("default/p", pod(labels={"app": "web"}))
    assert scheduler.budgets.part([record]) == ([record], [])
    surroundings.gone("PodDisruptionBudget", budget, 0.0)
    assert scheduler.budgets.part([record]) == ([], [record])
